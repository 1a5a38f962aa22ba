"""How far the difference of two distances varies, also where both are from the same reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.evidence import CrossMeans
from nammd.statistics.margin import Pair
from nammd.statistics.spread import frequency_variance


@dataclass(frozen=True, eq=False)
class RowMeans:
    """The mean kernel value of every row of x with the rows of some y."""

    values: FloatArray = field(repr=False)

    def covariance(self, other: Any) -> float:
        """Return the covariance, over the rows of x, with the means to another y."""
        return float(np.cov(self.values, other.values)[0, 1])


@dataclass(frozen=True)
class Shared:
    """What of a distance is needed to know how it varies together with another from the same x.

    Attributes
    ----------
    slope, scale : float
        1 + the distance (or 1 for MMD²), and what its numerator is divided by.
    w : float
        The covariance over x of the within-sample and cross means.
    cross_means : CrossMeans
        How similar every row of x is to the rows of y.
    """

    slope: float
    scale: float
    w: float
    cross_means: CrossMeans = field(repr=False)

    @classmethod
    def of(cls, pair: Pair, cross_means: CrossMeans) -> Shared:
        """Take it from a distance."""
        return cls(pair.slope(pair.value), pair.scale, pair.moments.x.w, cross_means)


def variance_parts(pair: Pair) -> FloatArray:
    """Return the variance of a distance: the part due to single rows, and all of it."""
    a, moments = pair.slope(pair.value), pair.moments
    return np.array([moments.linear_variance(a), moments.variance(a)]) / pair.scale**2


def covariance_parts(first: Shared, second: Shared, pair: Pair) -> FloatArray:
    """Return the covariance of two distances from the same x: due to single rows, and all of it.

    `pair` is the second one.
    """
    x = pair.moments.x  # its v1 and v2 are the same for both distances
    a1, a2 = first.slope, second.slope
    crossed = 4 * (first.cross_means.covariance(second.cross_means) - a1 * second.w - a2 * first.w) / x.size
    parts = np.array([a1 * a2 * 4 * x.v1 / x.size + crossed, a1 * a2 * x.own() + crossed])
    return parts / (first.scale * second.scale)


def difference_by_frequencies(one: Pair, two: Pair) -> float:
    """Return the variance of the difference that is due to random frequencies, the same for both."""
    if one.spread is None or two.spread is None:
        return 0.0
    margins = one.slope(one.value) - 1.0, two.slope(two.value) - 1.0
    return frequency_variance(one.spread, two.spread, (one.scale, two.scale), margins)


def degrees_of_freedom(one: Pair, two: Pair, variance: float) -> float:
    """Return how well the variance of the difference is known, where frequencies have a part in it."""
    due = difference_by_frequencies(one, two)
    return min(pair.degrees_of_freedom(due, variance) for pair in (one, two))
