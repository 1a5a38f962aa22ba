"""Third-order terms of a pair of samples, and the scale of its null distribution near zero.

The normal approximation of U is wrong in the next order by its skewness, which has two sources:
the skewness A of the rows' influences, and B, how influences of different rows meet through the
kernel. B needs matrix-vector products with the Gram matrix; so does the largest eigenvalue of the
covariance operator, which bounds how much U can vary when the two laws are close.

Both enter only through corrections of relative order 1/sqrt(m), so their precision does not matter
much, and they are averaged over at most `ROWS` rows of each sample, chosen at random by a fixed generator.
Samples up to that size are used whole, and the cost stays a small constant for larger ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from nammd.data.arrays import Array, FloatArray, take_rows, to_numpy
from nammd.engines.blas import single_threaded_blas
from nammd.engines.sums import KernelSums
from nammd.kernels import Kernel
from nammd.statistics.moments import centred_row_means

ROWS = 1024

# Up to here a full decomposition costs less than the iteration's overhead.
_DENSE_ROWS = 64


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


@dataclass(frozen=True, eq=False)
class Influences:
    """One sample's rows that the second-order terms are averaged over, and their influences.

    Attributes
    ----------
    rows : array of shape (r, d)
        Rows of the sample, at most `ROWS`.
    parts : array of shape (r, 2)
        Their centred within-sample means p and cross means q; the influence is ``a p - q``.
    cubes : array of shape (4,)
        Means over *all* rows of ``p^3, p^2 q, p q^2, q^3``.
    size : int
        The number of rows of the whole sample.
    """

    rows: Array = field(repr=False)
    parts: FloatArray = field(repr=False)
    cubes: FloatArray
    size: int

    @classmethod
    def of(cls, sample: Array, p: FloatArray, q: FloatArray) -> Influences:
        """Take rows of a sample: all of them, or a random choice that is always the same."""
        size = len(p)
        chosen = np.arange(size)
        if size > ROWS:  # not evenly spaced ones: data may have a period
            chosen = np.sort(np.random.default_rng(0).choice(size, ROWS, replace=False))
        cubes = np.array([np.mean(p**3), np.mean(p * p * q), np.mean(p * q * q), np.mean(q**3)])
        # A copy: what the caller does to the data later must not change an interval.
        return cls(take_rows(sample, chosen), np.column_stack([p, q])[chosen], cubes, size)

    def third_moment(self, a: float) -> float:
        """Return the mean of ``(a p - q)^3``."""
        return float(self.cubes @ np.array([a**3, -3 * a * a, 3 * a, -1.0]))


@dataclass(frozen=True, eq=False)
class Skewness:
    """Everything about a pair of samples that is of higher order than its variance.

    Built cheaply; the Gram matrices of the chosen rows are evaluated when first asked for.
    """

    x: Influences
    y: Influences
    kernel: Kernel = field(repr=False)
    knows_cubic = True

    @classmethod
    def of(cls, x: Array, y: Array, kernel: Kernel, sums: KernelSums) -> Skewness:
        """Prepare the terms for a pair of samples whose sums are known."""
        (px, qx), (py, qy) = centred_row_means(sums)
        return cls(Influences.of(x, px, qx), Influences.of(y, py, qy), kernel)

    @property
    def rows_used(self) -> tuple[int, int]:
        """How many rows of each sample the second-order terms are averaged over."""
        return len(self.x.parts), len(self.y.parts)

    def cubic_and_quadratic(self, a: float) -> tuple[float, float]:
        """Return A and B, the two parts of the third cumulant of U."""
        m, n = self.x.size, self.y.size
        cubic = 8 * (self.x.third_moment(a) / m**2 + self.y.third_moment(a) / n**2)
        return cubic, quadratic_part(a, (m, n), self._forms)

    @cached_property
    def _forms(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Means of ``g_i k(i, j) g_j`` over distinct pairs, for g any of p and q."""
        return (
            self._own(self.x, self._gram_x),
            self._own(self.y, self._gram_y),
            self._crossed(),
        )

    @staticmethod
    def _own(side: Influences, gram: FloatArray) -> FloatArray:
        count = len(side.parts)
        diagonal = (side.parts * np.diagonal(gram)[:, None]).T @ side.parts
        form: FloatArray = (side.parts.T @ (gram @ side.parts) - diagonal) / (count * (count - 1))
        return form

    def _crossed(self) -> FloatArray:
        gram = to_numpy(self.kernel(self.x.rows, self.y.rows))
        form: FloatArray = self.x.parts.T @ (gram @ self.y.parts) / gram.size
        return form

    @cached_property
    def _gram_x(self) -> FloatArray:
        return to_numpy(self.kernel(self.x.rows, self.x.rows))

    @cached_property
    def _gram_y(self) -> FloatArray:
        return to_numpy(self.kernel(self.y.rows, self.y.rows))

    @cached_property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators, estimated."""
        with single_threaded_blas:  # many small products: more threads would mostly wait for each other
            return largest_eigenvalue(self._gram_x), largest_eigenvalue(self._gram_y)


def quadratic_part(
    a: float, sizes: tuple[int, int], forms: tuple[FloatArray, FloatArray, FloatArray]
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
    [value] = eigsh(centred, k=1, which="LA", v0=start, return_eigenvectors=False)
    return max(float(value), 0.0)
