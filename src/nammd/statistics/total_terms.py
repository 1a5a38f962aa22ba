"""What is of higher order than the variance, and terms for comparisons, from totals over units.

Influences of units are linear in v (see `nammd.statistics.unit_totals`), so every mean of a product of two of
them is a form in the totals. Third moments are not known. Of sums over pairs of distinct units, what a unit
has with itself is taken off as the average, by squared sizes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.skewness import quadratic_part, top_eigenvalue
from nammd.statistics.standing import SampleTerms, Together
from nammd.statistics.unit_totals import MORE, SIZE, SIZE2, SQUARE, TotalSide


@dataclass(frozen=True, eq=False)
class TotalInfluences:
    """The influences of one sample's units, as what v is multiplied with."""

    side: TotalSide

    @property
    def size(self) -> float:
        """The effective number of units."""
        return self.side.own.effective

    def along(self, slope: float, scale: float, across: float = 1.0) -> FloatArray:
        """Return the direction of the influences of the units on a distance."""
        direction: FloatArray = self.side.directions @ np.array([2 * slope / scale, -2 * across / scale])
        return direction

    def product(self, one: FloatArray, other: FloatArray) -> float:
        """Return the mean product of two influences, given by their directions."""
        return float(one @ self.side.own.products @ other) / self.size

    def forms(self, directions: FloatArray) -> FloatArray:
        """Return the means of ``g K h`` over pairs of distinct units, for g and h any of the directions."""
        own = self.side.own
        moved = own.products @ directions
        count = own.count
        # What is due to sizes alone is taken off: the mean kernel value times how far two sizes are from
        # the average one. Influences add up to zero, so only what a unit has with itself tells that average.
        uneven = max(own.squares / count - (own.size / count) ** 2, 0.0)
        alone = float(own.products[SQUARE, SIZE2]) / own.squares - own.mean * uneven
        form = moved[:-MORE].T @ moved[:-MORE] - own.mean * np.outer(moved[SIZE], moved[SIZE])
        found: FloatArray = (form - alone * (directions.T @ moved)) / own.pairs
        return found

    def covariance(self, one: FloatArray, other: FloatArray) -> float:
        """Return the covariance of two means across, by leaving out one unit at a time."""
        count = self.side.own.count
        return self.product(one, other) * float(self.side.lifts[1]) ** 2 * (count - 1) / count

    @cached_property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator of a unit of the effective size."""
        own = self.side.own
        top = top_eigenvalue(self.side.covariance, float(own.total[SQUARE]))
        return self.size * top / own.size**2


@dataclass(frozen=True, eq=False)
class TotalSkewness:
    """What is of higher order than the variance, as far as totals tell it."""

    x: TotalInfluences
    y: TotalInfluences
    knows_cubic = False

    @property
    def rows_used(self) -> tuple[int, int]:
        """All units."""
        return self.x.side.own.count, self.y.side.own.count

    def cubic_and_quadratic(self, a: float) -> tuple[float, float]:
        """Return A, which is not known and taken as zero, and B."""
        return 0.0, quadratic_part(a, (self.x.size, self.y.size), self._forms)

    def of_influences(self, a: float) -> tuple[float, float]:
        """Return zeros: it is not known."""
        return 0.0, 0.0

    @cached_property
    def _forms(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        x, y = self.x.side, self.y.side
        (one, two), more = (z.own.products @ z.directions for z in (x, y)), -MORE
        cross = one[:more].T @ two[:more] - x.cross_mean * np.outer(one[SIZE], two[SIZE])
        own = self.x.forms(x.directions), self.y.forms(y.directions)
        return own[0], own[1], cross / (x.own.size * y.own.size)

    @cached_property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators."""
        return self.x.eigenvalue, self.y.eigenvalue


@dataclass(frozen=True, eq=False)
class TotalOfX:
    """What a distance keeps of the totals of x: directions.

    Attributes
    ----------
    units : TotalInfluences
        The sample, and where the other one is seen from it.
    along, norm, felt : array
        The directions of phi, of eta, and of the mean of ``k(i, j) phi_y(j)``.
    """

    units: TotalInfluences
    along: FloatArray = field(repr=False)
    norm: FloatArray = field(repr=False)
    felt: FloatArray = field(repr=False)

    def together(self, other: TotalOfX) -> Together:
        """Return how two distances depend on their common x."""
        units, pair = other.units, (self, other)
        apart = other.along - self.along
        across = [each.units.side.directions[:, 1] for each in pair]
        return Together(
            covariance=units.covariance(across[0], across[1]),
            third=math.nan,
            form=float(units.forms(apart[:, None])[0, 0]),
            with_phi=(units.product(apart, pair[0].along), units.product(apart, pair[1].along)),
            with_eta=(units.product(apart, pair[0].norm), units.product(apart, pair[1].norm)),
            with_other=(units.product(apart, pair[0].felt), units.product(apart, pair[1].felt)),
        )


def total_terms(
    x: TotalInfluences, y: TotalInfluences, slope: float, scale: float, normed: bool
) -> tuple[SampleTerms, SampleTerms, float, TotalOfX]:
    """Return the terms of both samples, how they meet, and what is kept of x; see `standing.row_terms`."""
    along = [side.along(slope, scale) for side in (x, y)]
    norm = [side.along(1.0, scale, across=0.0) * normed for side in (x, y)]
    terms = [
        SampleTerms(
            size=side.size,
            second=side.product(phi, phi),
            third=math.nan,
            bias=side.product(phi, eta),
            form=float(side.forms(phi[:, None])[0, 0]),
        )
        for side, phi, eta in zip((x, y), along, norm, strict=True)
    ]
    own, other = x.side.own, y.side.own
    moved = other.products @ along[1]
    felt = np.zeros(len(own.total))
    felt[:-MORE], felt[SIZE] = moved[:-MORE], -x.side.cross_mean * moved[SIZE]
    felt *= x.size / (own.size * other.size)
    return terms[0], terms[1], x.product(along[0], felt), TotalOfX(x, along[0], norm[0], felt)
