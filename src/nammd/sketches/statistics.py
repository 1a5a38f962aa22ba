"""Everything that tests need, from the sums of two sketches.

With features f of length sqrt(K), S their sum and C the sum of their outer products, the Gram matrix less
its diagonal has row sums ``f_i'S - K``, and every sum over rows of a product of two such terms is a form
in C and S. So the moments are those of the rows themselves, up to rounding.

Influences of rows are linear in their features too. Hence B, how influences meet through the kernel, and
the eigenvalues of the covariance operator are exact and over all rows; only A, the third moment of the
influences, would need the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.sketches.sketch import Sketch
from nammd.statistics.moments import Moments, Spread, effective_number
from nammd.statistics.skewness import quadratic_part, top_eigenvalue

CONSTANT = 1e-10
"""Share of the features' squared length below which their variance is rounding."""


@dataclass(frozen=True, eq=False)
class SketchPair:
    """Two sketches of the same features, as they were when they were compared."""

    x: Sketch
    y: Sketch

    def moments(self) -> Moments:
        """Return the moments of the pair of samples that was sketched."""
        x, y, bound = self.x, self.y, self.x.features.bound
        return Moments.from_totals(
            (x.n, y.n),
            (_within(x, bound), _within(y, bound)),
            (
                float(x.total @ y.total),
                float(y.total @ x.products @ y.total),
                float(x.total @ y.products @ x.total),
                float(np.vdot(x.products, y.products)),
            ),
            (_mixed(x, y, bound), _mixed(y, x, bound)),
            bound,
        )

    def skewness(self) -> SketchSkewness:
        """Return what is of higher order."""
        return SketchSkewness(Directions.of(self.x, self.y), Directions.of(self.y, self.x))

    def spread(self) -> Spread:
        """Return how the two means vary over the frequencies."""
        x, y, bound = self.x, self.y, self.x.features.bound
        half = len(x.total) // 2

        def for_each(one: Sketch, other: Sketch) -> FloatArray:
            waves = one.total * other.total * half
            return waves[:half] + waves[half:]

        own_x, own_y = ((for_each(z, z) - z.n * bound) / (z.n * (z.n - 1)) for z in (x, y))
        own = own_x + own_y
        return Spread(own - 2 * for_each(x, y) / (x.n * y.n), 4 * bound - own, self.carriers)

    @cached_property
    def carriers(self) -> float:
        """How many frequencies carry the distance, or the mean kernel values, whichever are fewer.

        By squares of mean features, which are never negative. Where they are all noise of the rows, that is
        spread over all frequencies, and so it is taken: the error of the rows is then the larger one.
        """
        x, y = self.x.total / self.x.n, self.y.total / self.y.n
        return min(effective_number(_powers(x - y)), effective_number(_powers(x) + _powers(y)))

    @property
    def constant(self) -> bool:
        """Whether each sample is one row repeated."""
        return all(
            np.trace(z.products) / z.n - float(z.total @ z.total) / z.n**2 <= CONSTANT * z.features.bound
            for z in (self.x, self.y)
        )

    def cross_covariance(self, other: SketchPair) -> float:
        """Return the covariance, over the rows of x, of their means with y and with another y."""
        x = self.x
        first, second = self.y.total / self.y.n, other.y.total / other.y.n
        return float(first @ _centred(x) @ second) / (x.n - 1)


def _powers(means: FloatArray) -> FloatArray:
    """Return the squared length of the mean wave of each frequency."""
    half = len(means) // 2
    powers: FloatArray = means[:half] ** 2 + means[half:] ** 2
    return powers


def _within(z: Sketch, bound: float) -> tuple[float, float, float]:
    """Return the total, the squared norm of the row sums and the sum of squares, less the diagonal."""
    norm = float(z.total @ z.total)
    rows = float(z.total @ z.products @ z.total) - 2 * bound * norm + z.n * bound**2
    return norm - z.n * bound, rows, float(np.vdot(z.products, z.products)) - z.n * bound**2


def _mixed(z: Sketch, other: Sketch, bound: float) -> float:
    """Return the dot product of the row sums within a sample and across to the other."""
    return float(z.total @ z.products @ other.total) - bound * float(z.total @ other.total)


def _centred(z: Sketch) -> FloatArray:
    return z.products - np.outer(z.total, z.total) / z.n


@dataclass(frozen=True, eq=False)
class Directions:
    """The influences of one sample's rows as directions in the space of features.

    Attributes
    ----------
    covariance : array of shape (F, F)
        The centred sum of outer products.
    parts : array of shape (F, 2)
        The directions along which the features give the centred means p within the sample, and q across.
    """

    size: int
    bound: float
    covariance: FloatArray = field(repr=False)
    parts: FloatArray = field(repr=False)

    @classmethod
    def of(cls, z: Sketch, other: Sketch) -> Directions:
        """Take them from the sketch of a sample and that of the other."""
        parts = np.column_stack([z.total / (z.n - 1), other.total / other.n])
        return cls(z.n, z.features.bound, _centred(z), parts)

    @cached_property
    def moved(self) -> FloatArray:
        """The sums of influences times features, for p and for q."""
        return self.covariance @ self.parts

    def own(self) -> FloatArray:
        """Return the means of ``g_i k(i, j) g_j`` over distinct pairs, for g any of p and q."""
        diagonal = self.bound * (self.parts.T @ self.moved)
        form: FloatArray = (self.moved.T @ self.moved - diagonal) / (self.size * (self.size - 1))
        return form

    def eigenvalue(self) -> float:
        """Return the largest eigenvalue of the covariance operator."""
        return top_eigenvalue(self.covariance, self.size * self.bound) / self.size


@dataclass(frozen=True, eq=False)
class SketchSkewness:
    """What is of higher order than the variance, as far as sketches know it."""

    x: Directions
    y: Directions
    knows_cubic = False

    @property
    def rows_used(self) -> tuple[int, int]:
        """All rows."""
        return self.x.size, self.y.size

    def cubic_and_quadratic(self, a: float) -> tuple[float, float]:
        """Return A, which is not known and taken as zero, and B."""
        return 0.0, quadratic_part(a, (self.x.size, self.y.size), self._forms)

    @cached_property
    def _forms(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.x.own(), self.y.own(), self.x.moved.T @ self.y.moved / (self.x.size * self.y.size)

    @cached_property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators."""
        return self.x.eigenvalue(), self.y.eigenvalue()


def frequency_variance(
    first: Spread, second: Spread, scales: tuple[float, float], eps: tuple[float, float]
) -> float:
    """Return the variance over frequencies of the difference of two distances."""
    one, two = (
        (spread.mmd2 - e * spread.denominator) / scale
        for spread, e, scale in zip((first, second), eps, scales, strict=True)
    )
    return float(np.var(two - one, ddof=1)) / len(one)


def same_rows(one: Sketch, other: Sketch) -> bool:
    """Tell whether two sketches are of the same rows, as far as their sums tell."""
    return one.n == other.n and one.features == other.features and np.array_equal(one.total, other.total)


def snapshot(sketch: Sketch) -> Sketch:
    """Return a sketch that later updates do not reach; its arrays are shared, since none is written to."""
    return Sketch(sketch.features, sketch.n, sketch.columns, sketch.total, sketch.products, sketch.encoding)
