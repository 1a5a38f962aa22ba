"""Random relabellings of a pooled sample as columns of signs, and the means that they give.

With s the vector of signs, +1 for rows of x and -1 for rows of y, and K the pooled Gram matrix less its
diagonal, three numbers give every mean that the statistics need::

    s'Ks = Sxx + Syy - 2 Sxy        s'K1 = Sxx - Syy        1'K1 = Sxx + Syy + 2 Sxy

So all permutations together cost one streamed product of K with the matrix of their signs.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray

# Signs are held for this many (row, permutation) pairs at a time: 4 bytes each.
SIGNS_AT_ONCE = 1 << 25

# Statistics closer than this share of the null distribution's spread count as equal. Permutations
# that only exchange equal rows, or the two labels, give equal statistics up to rounding.
TIE = {"float32": 2e-5, "float64": 1e-9}


class SignedMeans(NamedTuple):
    """Mean kernel values within x, within y and across, for every relabelling."""

    xx: FloatArray
    yy: FloatArray
    xy: FloatArray

    @property
    def mmd2(self) -> FloatArray:
        """The squared MMD."""
        return self.xx + self.yy - 2 * self.xy

    def nammd(self, bound: float = 1.0) -> FloatArray:
        """Return NAMMD; its denominator belongs to the labels too, so every relabelling has its own."""
        return self.mmd2 / (4 * bound - self.xx - self.yy)


def signed_means(forms: FloatArray, total: Any, differences: Any, sizes: tuple[int, int]) -> SignedMeans:
    """Return the means from ``s'Ks``, the total ``1'K1``, and ``s'K1``, which cancels for equal sizes."""
    m, n = sizes
    both, cross = (forms + total) / 2, (total - forms) / 4
    xx = (both + differences) / 2 / (m * (m - 1))
    yy = (both - differences) / 2 / (n * (n - 1))
    return SignedMeans(xx, yy, cross / (m * n))


def signs_at_once(m: int, n: int, permutations: int) -> list[int]:
    """Return how many columns of signs to make at a time: the data's own, and those of the permutations."""
    at_once = max(1, SIGNS_AT_ONCE // (m + n))
    every = permutations + 1
    return [min(at_once, every - start) for start in range(0, every, at_once)]


def permutation_pvalue(null: FloatArray, observed: float, tie: float) -> float:
    """Return the share of relabellings that are at least as far apart, the data as they are among them."""
    return (1 + int(np.count_nonzero(null >= observed - tie))) / (len(null) + 1)


def permutation_threshold(null: FloatArray, observed: float, alpha: float) -> float:
    """Return the (1 - alpha) quantile of the permutations and the data together."""
    every = np.sort(np.append(null, observed))
    rejected = math.floor(alpha * len(every) + 1e-9)  # so many of them may be at least as large
    return float(every[len(every) - 1 - rejected])


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
