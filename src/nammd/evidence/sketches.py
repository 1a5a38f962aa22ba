"""Everything that tests need, from the sums of two sketches.

With features f of length sqrt(K), S their sum and C the sum of their outer products, the Gram matrix less
its diagonal has row sums ``f_i'S - K``, and every sum over rows of a product of two such terms is a form
in C and S. So the moments are those of the rows themselves, up to rounding.

Influences of rows are linear in their features too. Hence B, how influences meet through the kernel, and
the eigenvalues of the covariance operator are exact and over all rows; only A, the third moment of the
influences, would need the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.engines.sums import KernelSums
from nammd.errors.advice import Caution
from nammd.evidence.cautions import few_frequencies, few_rows, few_sketched_rows, same_rows, unread
from nammd.sketches.sample import SketchSample
from nammd.sketches.sketch import Sketch
from nammd.statistics.evidence import Terms
from nammd.statistics.moments import Moments
from nammd.statistics.skewness import quadratic_part, top_eigenvalue
from nammd.statistics.spread import Spread, effective_number
from nammd.statistics.standing import SampleTerms, Together


@dataclass(frozen=True, eq=False)
class SketchEvidence:
    """What two sketches of the same features tell of the samples that were sketched.

    Attributes
    ----------
    x, y : SketchSample
        The sketches, as they were when they were compared.
    exact : bool
        Whether the kernel that the features approximate is meant, and not the features themselves.
    """

    x: SketchSample
    y: SketchSample
    exact: bool

    @property
    def _sketches(self) -> tuple[Sketch, Sketch]:
        return self.x.sketch, self.y.sketch

    @property
    def _bound(self) -> float:
        return self.x.sketch.features.bound

    @cached_property
    def moments(self) -> Moments:
        """The moments of the pair of samples that was sketched."""
        (x, y), bound = self._sketches, self._bound
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

    @cached_property
    def higher_order(self) -> SketchSkewness:
        """What is of higher order, as far as sketches know it."""
        x, y = self._sketches
        return SketchSkewness(Directions.of(x, y), Directions.of(y, x))

    @cached_property
    def spread(self) -> Spread | None:
        """How the distance varies over the frequencies, where the exact kernel is meant."""
        if not self.exact:
            return None
        (x, y), bound = self._sketches, self._bound
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
        x, y = (sketch.total / sketch.n for sketch in self._sketches)
        return min(effective_number(powers(x - y)), effective_number(powers(x) + powers(y)))

    @property
    def alike(self) -> tuple[bool, bool]:
        """Whether all rows of x are equal, and all rows of y."""
        return self.x.constant, self.y.constant

    def terms(self, slope: float, scale: float, normed: bool) -> Terms:
        """Return how the rows take part in a distance of that slope and scale, third moments aside."""
        x, y = self.higher_order.x, self.higher_order.y
        along = [side.along(slope, scale) for side in (x, y)]
        norm = [side.along(1.0, scale, across=0.0) * normed for side in (x, y)]
        terms = [
            SampleTerms(
                size=side.size,
                second=side.product(phi, phi),
                third=math.nan,
                bias=side.product(phi, eta),
                form=side.form(phi),
            )
            for side, phi, eta in zip((x, y), along, norm, strict=True)
        ]
        felt = y.covariance @ along[1] / y.size
        crossed = x.product(along[0], felt)
        return terms[0], terms[1], crossed, SketchOfX(x, along[0], norm[0], felt)

    @property
    def sums(self) -> KernelSums:
        """Nothing: there are no rows to have sums."""
        raise ValueError(
            "this distance was made from sketches, which keep no rows: there are no values for single rows, "
            "no data and no report; compare the data themselves for those"
        )

    @property
    def computed_by(self) -> str:
        """The sketches themselves."""
        return f"sketches of {self.x.sketch.features!r}"

    @property
    def approximation(self) -> str:
        """The random features, where the exact kernel is meant."""
        if not self.exact:
            return ""
        return f"{self.x.sketch.features.n_features} random features (their error is included)"

    @cached_property
    def obstacle(self) -> Caution | None:
        """Why there is nothing to test with: the same rows on both sides."""
        return same_rows(self.x, self.y)

    @cached_property
    def cautions(self) -> tuple[Caution, ...]:
        """What to know: few rows, few frequencies, or nothing to test with."""
        cells = unread(*dict.fromkeys([self.x, self.y]))
        if self.obstacle is not None:
            return (self.obstacle, *cells)
        few = self._few()
        return few + few_frequencies(self.spread, self.x.sketch.features.n_features) + cells

    def _few(self) -> tuple[Caution, ...]:
        m, n = self.x.size, self.y.size
        return few_rows(m, n) or few_sketched_rows(m, n)


def powers(means: FloatArray) -> FloatArray:
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

    def along(self, slope: float, scale: float, across: float = 1.0) -> FloatArray:
        """Return the direction along which the features give the influences of the rows on a distance."""
        direction: FloatArray = self.parts @ np.array([2 * slope / scale, -2 * across / scale])
        return direction

    def product(self, one: FloatArray, other: FloatArray) -> float:
        """Return the mean product of two influences, given by their directions."""
        return float(one @ self.covariance @ other) / self.size

    def form(self, direction: FloatArray) -> float:
        """Return the mean of ``g_i k(i, j) g_j`` over distinct pairs, g being given by its direction."""
        moved = self.covariance @ direction
        own = self.bound * float(direction @ moved)
        return (float(moved @ moved) - own) / (self.size * (self.size - 1))

    def eigenvalue(self) -> float:
        """Return the largest eigenvalue of the covariance operator."""
        return top_eigenvalue(self.covariance, self.size * self.bound) / self.size


@dataclass(frozen=True, eq=False)
class SketchOfX:
    """What a distance keeps of the sketch of x: directions in the space of features.

    Attributes
    ----------
    rows : Directions
        The sample, and where the other one is seen from it.
    along, norm, felt : array of shape (F,)
        The directions of phi, of eta, and of the mean of ``k(i, j) phi_y(j)``.
    """

    rows: Directions
    along: FloatArray = field(repr=False)
    norm: FloatArray = field(repr=False)
    felt: FloatArray = field(repr=False)

    def together(self, other: SketchOfX) -> Together:
        """Return how two distances depend on their common x."""
        rows, pair = other.rows, (self, other)
        apart = other.along - self.along
        # The covariance over a sample, which is unbiased.
        across = rows.product(self.rows.parts[:, 1], rows.parts[:, 1]) * rows.size / (rows.size - 1)
        return Together(
            covariance=across,
            third=math.nan,
            form=rows.form(apart),
            with_phi=(rows.product(apart, pair[0].along), rows.product(apart, pair[1].along)),
            with_eta=(rows.product(apart, pair[0].norm), rows.product(apart, pair[1].norm)),
            with_other=(rows.product(apart, pair[0].felt), rows.product(apart, pair[1].felt)),
        )


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

    def of_influences(self, a: float) -> tuple[float, float]:
        """Return zeros: it is not known."""
        return 0.0, 0.0

    @cached_property
    def _forms(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.x.own(), self.y.own(), self.x.moved.T @ self.y.moved / (self.x.size * self.y.size)

    @cached_property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators."""
        return self.x.eigenvalue(), self.y.eigenvalue()
