"""Third-order terms of a pair of samples, and the scale of its null distribution near zero.

The normal approximation of U is wrong in the next order by its skewness, which has two sources:
the skewness A of the rows' influences, and B, how influences of different rows meet through the
kernel. B needs matrix-vector products with the Gram matrix; so does the largest eigenvalue of the
covariance operator, which bounds how much U can vary when the two laws are close.

Both enter only through corrections of relative order 1/sqrt(m), so their precision does not matter
much, and they are averaged over some rows of each sample that stand for all of them. Small samples are
used whole, and the cost stays a small constant for larger ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.engines.sums import KernelSums
from nammd.statistics.moments import centred_row_means
from nammd.statistics.near_zero import standardised

# Up to here a full decomposition costs less than the iteration's overhead.
_DENSE_ROWS = 64
# Of the iteration; asked for more than that, ARPACK goes on for seconds where rows have few distinct values.
_ACCURACY = 1e-11


class HigherOrder(Protocol):
    """What the tests ask about a pair of samples beyond its variance."""

    knows_cubic: bool
    """Whether A is known; where it is not, it is zero, and B counts only where it adds caution."""

    @property
    def rows_used(self) -> tuple[int, int]:
        """How many rows of each sample it is averaged over."""

    @property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators."""

    def cubic_and_quadratic(self, a: float) -> tuple[float, float]:
        """Return A and B, the two parts of the third cumulant of U."""

    def of_influences(self, a: float) -> tuple[float, float]:
        """Return the skewness of each sample's influences; zero where it is not known."""


class Grams(Protocol):
    """The Gram matrices of some rows of x and some rows of y; evaluated when they are asked for."""

    @property
    def x(self) -> FloatArray:
        """The kernel values between the rows of x, the diagonal included."""

    @property
    def y(self) -> FloatArray:
        """The kernel values between the rows of y, the diagonal included."""

    @property
    def cross(self) -> FloatArray:
        """The kernel values between the rows of x and those of y."""

    @property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators."""


@dataclass(frozen=True, eq=False)
class Influences:
    """The influences of one sample's rows.

    Attributes
    ----------
    parts : array of shape (r, 2)
        Of the rows that stand for the sample: their centred within-sample means p and cross means q; the
        influence is ``a p - q``.
    squares : array of shape (3,)
        Means over *all* rows of ``p^2, p q, q^2``.
    cubes : array of shape (4,)
        Likewise of ``p^3, p^2 q, p q^2, q^3``.
    size : int or float
        The number of rows of the whole sample; of rows that belong together, the effective number of units.
    """

    parts: FloatArray = field(repr=False)
    squares: FloatArray
    cubes: FloatArray
    size: float

    @classmethod
    def of(cls, p: FloatArray, q: FloatArray, chosen: NDArray[np.intp]) -> Influences:
        """Take the influences of all rows, and of those that are chosen."""
        return cls.summed(p, q, chosen, len(p))

    @classmethod
    def summed(cls, p: FloatArray, q: FloatArray, chosen: NDArray[np.intp], size: float) -> Influences:
        """Take the influences of all rows or units, and average them over so many."""
        squares = np.array([p @ p, p @ q, q @ q]) / size
        cubes = np.array([np.sum(p**3), np.sum(p * p * q), np.sum(p * q * q), np.sum(q**3)]) / size
        return cls(np.column_stack([p, q])[chosen], squares, cubes, size)

    def second_moment(self, a: float) -> float:
        """Return the mean of ``(a p - q)^2``."""
        return float(self.squares @ np.array([a * a, -2 * a, 1.0]))

    def third_moment(self, a: float) -> float:
        """Return the mean of ``(a p - q)^3``."""
        return float(self.cubes @ np.array([a**3, -3 * a * a, 3 * a, -1.0]))


@dataclass(frozen=True, eq=False)
class Skewness:
    """Everything about a pair of samples that is of higher order than its variance."""

    x: Influences
    y: Influences
    grams: Grams = field(repr=False)
    knows_cubic = True

    @classmethod
    def of(
        cls, sums: KernelSums, chosen: tuple[NDArray[np.intp], NDArray[np.intp]], grams: Grams
    ) -> Skewness:
        """Take the terms from sums, and from the Gram matrices of chosen rows of x and of y."""
        (px, qx), (py, qy) = centred_row_means(sums)
        return cls(Influences.of(px, qx, chosen[0]), Influences.of(py, qy, chosen[1]), grams)

    @property
    def rows_used(self) -> tuple[int, int]:
        """How many rows of each sample the second-order terms are averaged over."""
        return len(self.x.parts), len(self.y.parts)

    def cubic_and_quadratic(self, a: float) -> tuple[float, float]:
        """Return A and B, the two parts of the third cumulant of U."""
        m, n = self.x.size, self.y.size
        cubic = 8 * (self.x.third_moment(a) / m**2 + self.y.third_moment(a) / n**2)
        return cubic, quadratic_part(a, (m, n), self._forms)

    def of_influences(self, a: float) -> tuple[float, float]:
        """Return the skewness of each sample's influences."""
        x, y = (standardised(one.second_moment(a), one.third_moment(a)) for one in (self.x, self.y))
        return x, y

    @cached_property
    def _forms(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Means of ``g_i k(i, j) g_j`` over distinct pairs, for g any of p and q."""
        return (
            self._own(self.x, self.grams.x),
            self._own(self.y, self.grams.y),
            self._crossed(),
        )

    @staticmethod
    def _own(side: Influences, gram: FloatArray) -> FloatArray:
        count = len(side.parts)
        diagonal = (side.parts * np.diagonal(gram)[:, None]).T @ side.parts
        form: FloatArray = (side.parts.T @ (gram @ side.parts) - diagonal) / (count * (count - 1))
        return form

    def _crossed(self) -> FloatArray:
        gram = self.grams.cross
        form: FloatArray = self.x.parts.T @ (gram @ self.y.parts) / gram.size
        return form

    @property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators, estimated."""
        return self.grams.eigenvalues


@dataclass(frozen=True, eq=False)
class CarefulSkewness(Skewness):
    """The same where B is known in two ways, which differ by what is of higher order still.

    Of few groups of different sizes that matters; each test takes the one that makes it more careful.
    """

    others: Grams | None = field(default=None, repr=False)

    def bounds(self, a: float) -> tuple[float, float]:
        """Return the smaller B and the larger one."""
        _, one = self.cubic_and_quadratic(a)
        other = quadratic_part(a, (self.x.size, self.y.size), self._other_forms)
        return min(one, other), max(one, other)

    @cached_property
    def _other_forms(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        assert self.others is not None
        return Skewness(self.x, self.y, self.others)._forms


def quadratic_part(
    a: float, sizes: tuple[float, float], forms: tuple[FloatArray, FloatArray, FloatArray]
) -> float:
    """Return B from the means of ``g_i k(i, j) g_j`` within x, within y and across, g any of p and q."""
    (m, n), (own_x, own_y, cross) = sizes, forms
    g = np.array([a, -1.0])
    return 8 * (
        a * float(g @ own_x @ g) / m**2 + a * float(g @ own_y @ g) / n**2 - 2 * float(g @ cross @ g) / (m * n)
    )


def largest_eigenvalue(gram: FloatArray) -> float:
    """Return the largest eigenvalue of a Gram matrix, centred and divided by its size."""
    size, means = len(gram), gram.mean(axis=0)
    centred = gram - means - means[:, None] + means.mean()
    return top_eigenvalue(centred, float(np.trace(gram))) / size


def top_eigenvalue(centred: FloatArray, trace: float) -> float:
    """Return the largest eigenvalue of a positive semi-definite matrix; `trace`, before it was centred."""
    size = len(centred)
    if size <= _DENSE_ROWS or np.trace(centred) <= 1e-12 * trace:
        return max(float(np.linalg.eigvalsh(centred)[-1]), 0.0)
    from scipy.sparse.linalg import eigsh

    # Lanczos. The start is fixed, so that the same data give the same number.
    start = np.random.default_rng(0).standard_normal(size)
    [value] = eigsh(centred, k=1, which="LA", v0=start, tol=_ACCURACY, return_eigenvectors=False)
    return max(float(value), 0.0)
