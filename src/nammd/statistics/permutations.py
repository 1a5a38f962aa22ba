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
    if 64 * min(m, n) < size:  # coins cannot be made unfair enough; so few rows are drawn directly
        return _few(m, n, count, rng)
    marked = _coins(m / size, (size, count), rng)
    surplus = marked.sum(axis=0, dtype=np.int32) - m
    open_columns = np.flatnonzero(surplus)
    while open_columns.size:
        rows = rng.integers(0, size, open_columns.size)
        too_many = surplus[open_columns] > 0
        turn = marked[rows, open_columns] == too_many
        columns = open_columns[turn]
        marked[rows[turn], columns] ^= True
        surplus[columns] -= np.where(too_many[turn], 1, -1)
        open_columns = open_columns[surplus[open_columns] != 0]
    signs = marked.view(np.int8)
    signs += signs
    signs -= 1
    return signs.astype(np.float32)


def _few(m: int, n: int, count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the signs where one sample is much smaller: its rows are drawn for every column."""
    signs = np.full((m + n, count), -1.0 if m < n else 1.0, np.float32)
    for column in range(count):
        signs[rng.choice(m + n, min(m, n), replace=False), column] *= -1.0
    return signs


def _coins(chance: float, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return coins that show heads with about that chance; being off by 1/512 is mended like any surplus."""
    count = shape[0] * shape[1]
    if chance == 0.5:  # a bit is enough
        bits = np.unpackbits(np.frombuffer(rng.bytes(-(-count // 8)), np.uint8), count=count)
        return bits.view(np.bool_).reshape(shape)
    cut = min(max(round(256 * chance), 1), 255)
    return rng.integers(0, 256, shape, dtype=np.uint8) < cut
