"""One sample of a pair, as the tests see it: `Side`.

A unit (a row, a group of rows, a place where rows are) has an influence ``g = (p, q)``: p is its mean kernel
value with its own sample, q that with the other one, both centred. It moves ``U`` by ``2 (a p - q)`` over the
number of units. Everything that tests, intervals, comparisons and forecasts need of a sample is a contraction
of a few averages over these influences, whatever they are known from: units one by one
(`nammd.statistics.atoms`), totals that were kept (`nammd.statistics.totals`), or the averages themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.elementwise import choose, number, root


class Side(Protocol):
    """The influences of one sample's units, by their averages; of many pairs, arrays with a row for each."""

    @property
    def size(self) -> float:
        """The effective number of units."""

    def second(self) -> FloatArray:
        """Return the means of the products of p and q, as a matrix."""

    def third(self, w: FloatArray) -> float:
        """Return the mean of ``(g w)³``; NaN where it is not known."""

    def form(self) -> FloatArray:
        """Return the means of ``g_i k(i, j) g_j`` over pairs of distinct units, as a matrix."""

    @property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator."""

    def beside(self, first: KeptX, second: KeptX) -> SharedX:
        """Return how two distances depend on this sample, the x of both; it is that of the second."""


@dataclass(frozen=True, eq=False)
class KeptX:
    """What a distance keeps of the units of its x, in case that another one has the same x.

    Attributes
    ----------
    across : array
        The q of every unit, as its side tells units apart.
    felt : array
        For the units that stand for x: the mean of ``k(i, j) phi(j)`` over the units j of y, with phi their
        influence on the distance.
    joint : bool
        Whether units of x are in y too; `across` then has what they do there.
    """

    across: FloatArray = field(repr=False)
    felt: FloatArray = field(repr=False)
    joint: bool = False


@dataclass(frozen=True, eq=False)
class SharedX:
    """How two distances depend on the x that they share, by the influences ``(p, q_1, q_2)`` of its units.

    Attributes
    ----------
    second, form : array of shape (3, 3)
        As of a `Side`.
    covariance : array of shape (3, 3)
        The covariances of the influences over the units, by leaving out one at a time.
    felt : array of shape (3, 2)
        The means of the influences times what is `felt` of the y of each distance.
    thirds : array of shape (3, 3, 3)
        The means of the products of three influences; NaN where they are not known.
    joint : bool
        Whether units of x are in a y too.
    """

    second: FloatArray
    form: FloatArray
    covariance: FloatArray
    felt: FloatArray
    thirds: FloatArray
    joint: bool = False

    def third(self, w: FloatArray) -> float:
        """Return the mean of ``(g w)³``; NaN where it is not known."""
        return float(self.thirds @ w @ w @ w)

    @property
    def swapped(self) -> SharedX:
        """The same with the two distances in each other's place."""
        turn = np.array([0, 2, 1])
        square = np.ix_(turn, turn)
        return SharedX(
            self.second[square],
            self.form[square],
            self.covariance[square],
            self.felt[turn][:, ::-1],
            self.thirds[np.ix_(turn, turn, turn)],
            self.joint,
        )


@dataclass(frozen=True, eq=False)
class Known:
    """A side of which the averages are known, and nothing else: read from a file, or forecast.

    Attributes
    ----------
    size : float
        The effective number of units.
    seconds, forms : array of shape (2, 2)
        See `Side.second` and `Side.form`.
    thirds : array of shape (4,)
        The means of ``p³, p² q, p q², q³``; NaN where they are not known.
    eigenvalue : float
        The largest eigenvalue of the covariance operator.
    """

    size: float
    seconds: FloatArray
    forms: FloatArray
    thirds: FloatArray
    eigenvalue: float

    @classmethod
    def of(cls, side: Side) -> Known:
        """Take the averages of a side."""
        p, q, both, apart = (
            side.third(np.array(w)) for w in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, -1.0))
        )
        # (p + q)³ and (p - q)³ tell the mixed moments.
        thirds = np.array([p, (both - apart) / 6 - q / 3, (both + apart) / 6 - p / 3, q])
        return cls(side.size, side.second(), side.form(), thirds, side.eigenvalue)

    def second(self) -> FloatArray:
        """Return the means of the products of p and q."""
        return self.seconds

    def third(self, w: FloatArray) -> float:
        """Return the mean of ``(g w)³``."""
        return cube(self.thirds, w)

    def form(self) -> FloatArray:
        """Return the means of ``g_i k(i, j) g_j``."""
        return self.forms

    def beside(self, first: KeptX, second: KeptX) -> SharedX:
        """Refuse: the units are not known any more."""
        raise ValueError("the units of this sample are not known any more")


def cube(thirds: FloatArray, w: FloatArray) -> float:
    """Return the mean of ``(g w)³`` from the means of ``p³, p² q, p q², q³``."""
    p, q = w.tolist() if w.ndim == 1 else w.T  # floats are quicker than numbers of NumPy
    powers = np.array([p**3, 3 * p * p * q, 3 * p * q * q, q**3])
    return number(thirds @ powers if thirds.ndim == 1 else (thirds * powers.T).sum(-1))


def along(matrix: FloatArray, one: FloatArray, other: FloatArray | None = None) -> float:
    """Return the form of a matrix along one direction, or between two."""
    two = one if other is None else other
    if matrix.ndim == 2 and one.ndim == 1:
        return number(one @ matrix @ two)
    return number(np.einsum("...i,...ij,...j", one, matrix, two))


def standardised(second: float, third: float) -> float:
    """Return the skewness by two moments; zero where there is none, or where the third is not known."""
    there = (third == third) & (second > 0)
    second = choose(there, second, 1.0)
    return choose(there, third / second / root(second), 0.0)


# Up to here a full decomposition costs less than the iteration's overhead.
DENSE_ROWS = 64
NO_TRACE = 1e-12
"""Less than so much of a trace is rounding."""

_ACCURACY, _NEIGHBOURS = 1e-12, 1e-4


def top_eigenvalue(centred: FloatArray, trace: float) -> float:
    """Return the largest eigenvalue of a positive semi-definite matrix; `trace`, before it was centred."""
    if len(centred) <= DENSE_ROWS or np.trace(centred) <= NO_TRACE * trace:
        return max(float(np.linalg.eigvalsh(centred)[-1]), 0.0)
    return max(by_lanczos(lambda step: centred @ step, len(centred)), 0.0)


def by_lanczos(product: Callable[[FloatArray], FloatArray], size: int) -> float:
    """Return the largest eigenvalue of a symmetric matrix of so many rows, by its products with vectors.

    A few dozen steps do, so every step is made orthogonal to all before it and nothing is restarted. ARPACK
    goes to and fro for every product: of some hundred rows this takes .3 to .9 of its time, of a thousand as
    long. What is left is of the second order in the residual, over the distance to the next eigenvalue; of
    two that are so close that they look like one, it is the residual at most, 1e-8 of them.
    """
    # The start is fixed, so that the same data give the same number.
    step = np.random.default_rng(0).standard_normal(size)
    step /= math.sqrt(float(step @ step))
    basis, small, count, look = np.empty((min(32, size), size)), np.zeros((size, size)), 0, 8
    while True:
        basis[count] = step
        count += 1
        done, moved = basis[:count], product(step)
        parts = done @ moved
        moved -= parts @ done
        moved -= (done @ moved) @ done  # once more, for what rounding left
        small[count - 1, count - 1] = parts[-1]
        left = math.sqrt(float(moved @ moved))
        ends = count == size or left <= _ACCURACY * parts[-1]
        if ends or count == look:
            values, vectors = np.linalg.eigh(small[:count, :count])
            top, residual = values[-1], left * abs(vectors[-1, -1])
            if ends or residual <= _ACCURACY * top:
                return float(top)
            if residual**2 <= _ACCURACY * top * min(top - values[-2], _NEIGHBOURS * top):
                return float(top)
            look += max(count // 4, 2)
        if count == len(basis):
            basis = np.concatenate([basis, np.empty((min(count, size - count), size))])
        small[count, count - 1] = small[count - 1, count] = left
        step = moved / left
