"""Random relabellings of a pooled sample, as columns of signs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def random_signs(m: int, n: int, count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return an (m + n, count) array: each column a uniformly random choice of m rows, marked +1.

    Shuffling every column would take longer than the test it serves. Instead each row is marked by
    an independent coin, and columns that got too many or too few marks are mended: rows are drawn
    at random, and marks of the kind in surplus are turned, until the count is right. Coins make all
    choices of a given size equally likely, and so does turning uniformly chosen marks.
    """
    size = m + n
    # A byte per coin; a probability off by up to 1/512 is mended like any other surplus.
    cut = min(max(round(256 * m / size), 1), 255)
    marked = rng.integers(0, 256, (size, count), dtype=np.uint8) < cut
    surplus = marked.sum(axis=0, dtype=np.int64) - m
    open_columns = np.flatnonzero(surplus)
    while open_columns.size:
        rows = rng.integers(0, size, open_columns.size)
        too_many = surplus[open_columns] > 0
        turn = marked[rows, open_columns] == too_many
        columns = open_columns[turn]
        marked[rows[turn], columns] ^= True
        surplus[columns] -= np.where(too_many[turn], 1, -1)
        open_columns = open_columns[surplus[open_columns] != 0]
    signs = marked.astype(np.float32)
    signs *= 2.0
    signs -= 1.0
    return signs
