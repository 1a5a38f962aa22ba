"""Pairs of laws with two values each, of which everything is known exactly, by counting.

With m rows from each law the estimates depend on how many of the m pairs of rows (x_i, y_i) have each of the
four combinations of values. So probabilities are sums over the multinomial law, however small they are: the
place to look where a bound promises something rare.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, xlogy

from experiments.paper.theory import Population


@dataclass(frozen=True)
class TwoValues:
    """A pair: x has its first value with probability p, y with probability q; the kernel's bound is 1.

    Attributes
    ----------
    p, q : float
        The probabilities.
    own : float
        The kernel between the two values of x, and between those of y.
    apart : bool
        Whether the values of y are others, with a kernel of 0 to those of x; else they are the same.
    """

    p: float
    q: float
    own: float = 0.0
    apart: bool = False

    @property
    def cross(self) -> np.ndarray:
        """The kernel between the values of x and those of y."""
        return np.zeros((2, 2)) if self.apart else np.array([[1.0, self.own], [self.own, 1.0]])

    @property
    def norms(self) -> tuple[float, float]:
        """The squared norms of both."""
        one, other = (1 - 2 * w * (1 - w) * (1 - self.own) for w in (self.p, self.q))
        return one, other

    @property
    def population(self) -> Population:
        """The distance of the pair."""
        x, y = np.array([self.p, 1 - self.p]), np.array([self.q, 1 - self.q])
        mmd2 = sum(self.norms) - 2 * float(x @ self.cross @ y)
        return Population(mmd2, 4 - sum(self.norms))

    def variance(self, a: float = 1.0) -> float:
        """Return the limit of m times the variance of ``a (xx + yy) - 2 xy``; a = 1 is σ_M² of the paper."""
        within = np.array([[1.0, self.own], [self.own, 1.0]])
        x, y = np.array([self.p, 1 - self.p]), np.array([self.q, 1 - self.q])
        influences = ((x, a * within @ x - self.cross @ y), (y, a * within @ y - self.cross.T @ x))
        return 4 * sum(float(w @ g**2 - (w @ g) ** 2) for w, g in influences)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """All that can be seen with m rows of each law, and how likely it is.

    Attributes
    ----------
    rows : int
        m.
    probability : array
        Of every outcome.
    mmd2, denominator : array
        The estimates, without the cross pairs of equal number, as the paper has them.
    zeta1, zeta2 : array
        The paper's estimates of the variance components.
    """

    rows: int
    probability: np.ndarray
    mmd2: np.ndarray
    denominator: np.ndarray
    zeta1: np.ndarray
    zeta2: np.ndarray

    @property
    def nammd(self) -> np.ndarray:
        """The estimates of NAMMD."""
        found: np.ndarray = self.mmd2 / self.denominator
        return found

    @property
    def variance(self) -> np.ndarray:
        """The paper's σ²_XY."""
        m = self.rows
        found: np.ndarray = ((4 * m - 8) * self.zeta1 + 2 * self.zeta2) / (m - 1) / self.denominator**2
        return found

    def chance(self, event: np.ndarray) -> float:
        """Return the probability of an event, a truth value for each outcome."""
        return float(self.probability[event].sum())

    def expected(self, value: np.ndarray) -> float:
        """Return the mean of a value."""
        return float(self.probability @ value)

    def rejects(self, epsilon: float, z: float) -> np.ndarray:
        """Return whether the published test rejects; where its variance is negative it has no answer."""
        variance = self.variance
        error = np.sqrt(np.maximum(variance, 0.0) / self.rows)
        found: np.ndarray = (variance > -1e-12) & (self.nammd - epsilon > z * error)
        return found


@lru_cache(maxsize=2)
def _counts(m: int) -> np.ndarray:
    """Return all ways to write m as a sum of four numbers."""
    a, b, c = np.meshgrid(*(np.arange(m + 1),) * 3, indexing="ij", sparse=True)
    left = m - a - b - c
    keep = np.nonzero(left >= 0)
    return np.stack([*keep, left[keep]])


def outcomes(pair: TwoValues, m: int) -> Outcomes:
    """Return all outcomes with m rows of each law; up to some 150 rows, as they are m³/6."""
    counts = _counts(m).astype(float)
    shares = np.outer([pair.p, 1 - pair.p], [pair.q, 1 - pair.q]).ravel()
    logs = gammaln(m + 1) - gammaln(counts + 1).sum(axis=0) + xlogy(counts, shares[:, None]).sum(axis=0)
    possible = np.isfinite(logs)
    counts, probability = counts[:, possible], np.exp(logs[possible])
    x, y = counts[0] + counts[1], counts[0] + counts[2]
    same = np.tensordot(pair.cross.ravel(), counts, 1)
    return Outcomes(m, probability, *_estimates(pair, m, x, y, same))


def _estimates(
    pair: TwoValues, m: int, x: np.ndarray, y: np.ndarray, same: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield MMD², denominator, ζ₁ and ζ₂ as in the appendix, from how many rows have their first value.

    `same` is the sum of the kernel over the cross pairs of equal number.
    """
    two, three, four = (math.perm(m, k) for k in (2, 3, 4))
    within = [_within(count, m, pair.own) for count in (x, y)]
    kernel = pair.cross
    rows = tuple(y * kernel[i, 0] + (m - y) * kernel[i, 1] for i in (0, 1))
    columns = tuple(x * kernel[0, j] + (m - x) * kernel[1, j] for j in (0, 1))
    total = x * rows[0] + (m - x) * rows[1]
    by_rows = x * rows[0] ** 2 + (m - x) * rows[1] ** 2
    by_columns = y * columns[0] ** 2 + (m - y) * columns[1] ** 2
    squares = sum(
        one * other * kernel[i, j] ** 2
        for i, one in enumerate((x, m - x))
        for j, other in enumerate((y, m - y))
    )
    mean = (total**2 - by_rows - by_columns + squares) / two**2
    zeta1 = (by_rows + by_columns - 2 * squares) / (m * two) - 2 * mean
    zeta2 = 2 * squares / m**2 - 2 * mean
    for count, (own, cross) in zip((x, y), zip(within, (rows, columns), strict=True), strict=True):
        sums = own.rows
        norm = (count * sums[0] ** 2 + (m - count) * sums[1] ** 2, own.squares)
        square = (own.total**2 - 4 * norm[0] + 2 * norm[1]) / four
        both = count * sums[0] * cross[0] + (m - count) * sums[1] * cross[1]
        shared = both / (m * two) - (own.total * total - 2 * both) / (m * three)
        zeta1 = zeta1 + (norm[0] - norm[1]) / three - square - 2 * shared
        zeta2 = zeta2 + norm[1] / two - square - 4 * shared
    similar = (within[0].total + within[1].total) / two
    yield similar - 2 * (total - same) / two
    yield 4 - similar
    yield zeta1
    yield zeta2


@dataclass(frozen=True, eq=False)
class _Within:
    """Sums of the kernel within a sample, without its diagonal."""

    rows: tuple[np.ndarray, np.ndarray]
    total: np.ndarray
    squares: np.ndarray


def _within(count: np.ndarray, m: int, own: float) -> _Within:
    other = m - count
    rows = (count - 1 + other * own, other - 1 + count * own)
    total = count * rows[0] + other * rows[1]
    squares = count * (count - 1) + other * (other - 1) + 2 * count * other * own**2
    return _Within(rows, total, squares)
