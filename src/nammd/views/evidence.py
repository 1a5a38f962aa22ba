"""What a pair of columns is known from: `CountEvidence`, the statistics' `Evidence` made from counts.

The rows of a sample are not told apart but by their places, so every average over rows is one over places,
weighted by the rows that are there. A row is not compared with itself: its own kernel value, 1, is taken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.errors.advice import Caution
from nammd.statistics.evidence import Terms
from nammd.statistics.moments import Moments
from nammd.statistics.near_zero import standardised
from nammd.statistics.skewness import quadratic_part
from nammd.statistics.standing import SampleTerms, Together
from nammd.views.counts import Counts
from nammd.views.support import Support, support_of

_ACCURACY = 1e-3
"""Of the largest eigenvalue, which only sets how the law near zero is spread."""


_SMALL = 100
"""Up to so many places the operator is a matrix: an iteration would take longer to set up."""


@dataclass(frozen=True, eq=False)
class PlacedSample:
    """One sample on a support, with what belongs to it alone.

    Attributes
    ----------
    support : Support
        The places.
    rows : array
        How many rows are at each.
    """

    support: Support
    rows: FloatArray = field(repr=False)

    @cached_property
    def size(self) -> int:
        """The number of rows."""
        return round(float(self.rows.sum()))

    @cached_property
    def seen(self) -> FloatArray:
        """The sum of the kernel values between each place and all rows."""
        return self.support.apply(self.rows[:, None])[:, 0]

    @cached_property
    def seen_squared(self) -> FloatArray:
        """The same of squared kernel values."""
        return self.support.apply(self.rows[:, None], squared=True)[:, 0]

    def mean(self, values: FloatArray) -> float:
        """Return the mean over the rows of something that is known at each place."""
        return float(self.rows @ values) / self.size

    @cached_property
    def within(self) -> FloatArray:
        """The mean kernel value of a row at each place with the others, centred."""
        p = (self.seen - 1.0) / (self.size - 1)
        centred: FloatArray = p - self.mean(p)
        return centred

    def across(self, other: PlacedSample) -> FloatArray:
        """Return the mean kernel value of a row at each place with the rows of another sample, centred."""
        q = other.seen / other.size
        centred: FloatArray = q - self.mean(q)
        return centred

    @cached_property
    def constant(self) -> bool:
        """Whether all rows are at one place."""
        return int(np.count_nonzero(self.rows)) <= 1

    @cached_property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator."""
        if self.constant:
            return 0.0
        support, rows = self.support.around(self.rows)
        shares = rows / self.size
        root = np.sqrt(shares)

        def product(vector: FloatArray) -> FloatArray:
            spread = root * vector.ravel()
            moved = support.apply((spread - shares * spread.sum())[:, None])[:, 0]
            out: FloatArray = root * (moved - float(shares @ moved))
            return out

        size = support.size
        if size <= _SMALL:
            matrix = support.apply(np.eye(size))
            matrix = matrix - (matrix @ shares)[:, None]
            matrix = root[:, None] * (matrix - shares @ matrix) * root
            return max(float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[-1]), 0.0)
        from scipy.sparse.linalg import LinearOperator, eigsh

        operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
        start = root * np.random.default_rng(0).standard_normal(size)
        [value] = eigsh(operator, k=1, which="LA", v0=start, tol=_ACCURACY, return_eigenvectors=False)
        return max(float(value), 0.0)


@dataclass(frozen=True, eq=False)
class CountEvidence:
    """What two samples of one column are known from: their counts.

    Attributes
    ----------
    x, y : PlacedSample
        The samples, on one support.
    """

    x: PlacedSample
    y: PlacedSample
    spread: None = field(default=None, init=False, repr=False)
    obstacle: Caution | None = field(default=None, init=False, repr=False)

    @cached_property
    def moments(self) -> Moments:
        """The first and second moments."""
        x, y = self.x, self.y
        own = tuple((s.rows @ (s.seen - 1.0), s.rows @ (s.seen - 1.0) ** 2, s.rows @ (s.seen_squared - 1.0))
                    for s in (x, y))  # fmt: skip
        cross = (x.rows @ y.seen, x.rows @ y.seen**2, y.rows @ x.seen**2, x.rows @ y.seen_squared)
        mixed = x.rows @ ((x.seen - 1.0) * y.seen), y.rows @ ((y.seen - 1.0) * x.seen)
        first, second = (tuple(map(float, each)) for each in own)
        return Moments.from_totals(
            (x.size, y.size),
            (first, second),  # type: ignore[arg-type]
            tuple(map(float, cross)),  # type: ignore[arg-type]
            (float(mixed[0]), float(mixed[1])),
            1.0,
        )

    @cached_property
    def influences(self) -> tuple[FloatArray, FloatArray]:
        """For x and for y: the centred means p and q of a row at each place, as two columns."""
        return (
            np.column_stack([self.x.within, self.x.across(self.y)]),
            np.column_stack([self.y.within, self.y.across(self.x)]),
        )

    @cached_property
    def moved(self) -> tuple[FloatArray, FloatArray]:
        """For x and for y: the kernel times the influences of all rows."""
        both = np.column_stack(
            [s.rows[:, None] * g for s, g in zip(self._sides, self.influences, strict=True)]
        )
        found = self.x.support.apply(both)
        return found[:, :2], found[:, 2:]

    @property
    def _sides(self) -> tuple[PlacedSample, PlacedSample]:
        return self.x, self.y

    @property
    def higher_order(self) -> CountSkewness:
        """What is of higher order than the variance, from all rows."""
        return CountSkewness(self)

    @property
    def alike(self) -> tuple[bool, bool]:
        """Whether all rows of x are equal, and all rows of y."""
        return self.x.constant, self.y.constant

    def terms(self, slope: float, scale: float, normed: bool) -> Terms:
        """Return how the rows take part in a distance of that slope and scale."""
        mix = 2 * np.array([slope, -1.0]) / scale
        found, moved = [], []
        for sample, g, kg in zip(self._sides, self.influences, self.moved, strict=True):
            phi, k_phi, m = g @ mix, kg @ mix, sample.size
            eta = 2 * g[:, 0] / scale if normed else np.zeros(len(g))
            second = sample.mean(phi * phi)
            form = (float((sample.rows * phi) @ k_phi) - m * second) / (m * (m - 1))
            found.append(SampleTerms(m, second, sample.mean(phi**3), sample.mean(phi * eta), form))
            moved.append(k_phi)
        felt = moved[1] / self.y.size
        phi = self.influences[0] @ mix
        seen = PlacesOfX(self.x, slope, scale, normed, self.influences[0], felt)
        return found[0], found[1], self.x.mean(phi * felt), seen


@dataclass(frozen=True, eq=False)
class CountSkewness:
    """The terms of higher order, from all rows."""

    evidence: CountEvidence
    knows_cubic = True

    @property
    def rows_used(self) -> tuple[int, int]:
        """All of them."""
        return self.evidence.x.size, self.evidence.y.size

    @property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators."""
        return self.evidence.x.eigenvalue, self.evidence.y.eigenvalue

    def cubic_and_quadratic(self, a: float) -> tuple[float, float]:
        """Return A and B, the two parts of the third cumulant of U."""
        evidence, mix = self.evidence, np.array([a, -1.0])
        sides = evidence.x, evidence.y
        cubic = sum(
            8 * s.mean((g @ mix) ** 3) / s.size**2 for s, g in zip(sides, evidence.influences, strict=True)
        )
        own = []
        for sample, g, moved in zip(sides, evidence.influences, evidence.moved, strict=True):
            weighted = sample.rows[:, None] * g
            own.append((weighted.T @ moved - weighted.T @ g) / (sample.size * (sample.size - 1)))
        x, y = sides
        cross = (x.rows[:, None] * evidence.influences[0]).T @ evidence.moved[1] / (x.size * y.size)
        return cubic, quadratic_part(a, (x.size, y.size), (own[0], own[1], cross))

    def of_influences(self, a: float) -> tuple[float, float]:
        """Return the skewness of each sample's influences."""
        mix, evidence = np.array([a, -1.0]), self.evidence
        x, y = (
            standardised(sample.mean((g @ mix) ** 2), sample.mean((g @ mix) ** 3))
            for sample, g in zip((evidence.x, evidence.y), evidence.influences, strict=True)
        )
        return x, y


@dataclass(frozen=True, eq=False)
class PlacesOfX:
    """The places of x as they enter a distance, in case that another one has the same x.

    Attributes
    ----------
    x : PlacedSample
        The sample.
    slope, scale : float
        Of the distance.
    normed : bool
        Whether the denominator varies too.
    influences : array of shape (places, 2)
        The centred means p and q of a row at each place.
    felt : array
        At each place: the mean of ``k(i, j) phi_y(j)`` over j.
    """

    x: PlacedSample
    slope: float
    scale: float
    normed: bool
    influences: FloatArray = field(repr=False)
    felt: FloatArray = field(repr=False)

    def together(self, other: PlacesOfX) -> Together:
        """Return how two distances depend on their common x; both are on one support."""
        sample, m = other.x, other.x.size
        p = other.influences[:, 0]
        phi = [2 * (one.slope * p - one.influences[:, 1]) / one.scale for one in (self, other)]
        eta = [2 * p / one.scale if one.normed else np.zeros(len(p)) for one in (self, other)]
        x = phi[1] - phi[0]
        weighted = sample.rows * x
        moved = sample.support.apply(weighted[:, None])[:, 0]
        product = sample.mean(self.influences[:, 1] * other.influences[:, 1])
        return Together(
            covariance=product * m / (m - 1),
            third=sample.mean(x**3),
            form=(float(weighted @ moved) - float(weighted @ x)) / (m * (m - 1)),
            with_phi=(sample.mean(x * phi[0]), sample.mean(x * phi[1])),
            with_eta=(sample.mean(x * eta[0]), sample.mean(x * eta[1])),
            with_other=(sample.mean(x * self.felt), sample.mean(x * other.felt)),
        )


def placed(samples: Sequence[Counts]) -> list[PlacedSample]:
    """Return samples of one column on a common support."""
    support = support_of(samples)
    return [PlacedSample(support, support.weights(sample)) for sample in samples]


def evidence_of(x: Counts, y: Counts) -> CountEvidence:
    """Return what two samples of one column are known from."""
    return CountEvidence(*placed([x, y]))
