"""How far the difference of two distances varies, also where both are from the same reference."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.questions.distance import Estimate
from nammd.sketches.statistics import SketchPair, frequency_variance


@dataclass(frozen=True)
class Shared:
    """What of a distance is needed to know how it varies together with another from the same x.

    Attributes
    ----------
    slope, scale : float
        1 + the distance (or 1 for MMD²), and what its numerator is divided by.
    w : float
        The covariance over x of the within-sample and cross means.
    cross_means : array of shape (m,) or SketchPair
        The mean kernel value of every row of x with the rows of y; or the sketches, which know how such
        means vary together.
    """

    slope: float
    scale: float
    w: float
    cross_means: FloatArray | SketchPair = field(repr=False)

    @classmethod
    def of(cls, estimate: Estimate) -> Shared:
        """Take it from a distance."""
        pair, source = estimate.pair, estimate.made_from
        means = source if isinstance(source, SketchPair) else source.sums.xy_rows / estimate.n
        return cls(pair.slope(estimate.value), pair.scale, pair.moments.x.w, means)

    def cross_covariance(self, other: Shared) -> float:
        """Return the covariance of the cross means of both distances over the rows of x."""
        one, two = self.cross_means, other.cross_means
        if isinstance(one, SketchPair) and isinstance(two, SketchPair):
            return one.cross_covariance(two)
        return float(np.cov(one, two)[0, 1])  # type: ignore[arg-type]


def variance_parts(estimate: Estimate) -> FloatArray:
    """Return the variance of a distance: the part due to single rows, and all of it."""
    a, moments = estimate.pair.slope(estimate.value), estimate.pair.moments
    parts = np.array([moments.linear_variance(a), moments.variance(a)])
    return parts / estimate.pair.scale**2


def covariance_parts(first: Shared, second: Estimate) -> FloatArray:
    """Return the covariance of two distances from the same x: due to single rows, and all of it."""
    other = Shared.of(second)
    x, m = second.pair.moments.x, second.m  # its v1 and v2 are the same for both distances
    a1, a2 = first.slope, other.slope
    crossed = 4 * (first.cross_covariance(other) - a1 * other.w - a2 * first.w) / m
    parts = np.array([a1 * a2 * 4 * x.v1 / m + crossed, a1 * a2 * x.own() + crossed])
    return parts / (first.scale * other.scale)


def difference_by_frequencies(first: Estimate, second: Estimate) -> float:
    """Return the variance of the difference that is due to random frequencies, the same for both."""
    one, two = first.pair, second.pair
    if one.spread is None or two.spread is None:
        return 0.0
    margins = one.slope(first.value) - 1.0, two.slope(second.value) - 1.0
    return frequency_variance(one.spread, two.spread, (one.scale, two.scale), margins)


def degrees_of_freedom(first: Estimate, second: Estimate, variance: float) -> float:
    """Return how well the variance of the difference is known, where frequencies have a part in it."""
    due = difference_by_frequencies(first, second)
    return min(estimate.pair.degrees_of_freedom(due, variance) for estimate in (first, second))
