"""Evidence of a column from the sums of each of its groups: `EachGroupEvidence`.

A group is one row whose weight is its size and whose features are its means; so the tests of groups of rows
take it as it is, those of groups that are in both samples included.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.row_units import RowUnits, numbered
from nammd.data.sampling import representatives
from nammd.engines.units import UnitCross, Units, UnitSums, UnitWithin
from nammd.errors.advice import Caution
from nammd.statistics.evidence import Terms
from nammd.statistics.moments import Moments
from nammd.statistics.skewness import Skewness
from nammd.statistics.unit_grams import UnitGrams, group_eigenvalue
from nammd.statistics.unit_terms import unit_skewness, unit_terms
from nammd.statistics.units import UnitSide, sides, unit_moments
from nammd.views.features import united
from nammd.views.grouped import AspectUnits

STAND = 500
"""So many groups stand for a sample in what is of higher order."""


@dataclass(frozen=True, eq=False)
class ColumnGram:
    """Sums of kernel values between groups that stand for a sample; a `GroupGram`."""

    z: FloatArray = field(repr=False)
    units: Units = field(repr=False)

    @cached_property
    def chosen(self) -> NDArray[np.intp]:
        """Which groups stand for the sample."""
        return representatives(len(self.units), STAND)

    @property
    def sizes(self) -> FloatArray:
        """The sizes of these."""
        return self.units.sizes[self.chosen]

    @cached_property
    def values(self) -> FloatArray:
        """The sums between these."""
        some = self.z[self.chosen]
        found: FloatArray = some @ some.T
        return found

    @cached_property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator of a group of the effective size."""
        return group_eigenvalue(self.values, self.sizes, self.units)

    def between(self, other: ColumnGram) -> FloatArray:
        """Return the sums with the groups that stand for another sample."""
        found: FloatArray = self.z[self.chosen] @ other.z[other.chosen].T
        return found


@dataclass(frozen=True, eq=False)
class EachGroupEvidence:
    """What two samples of one aspect of a column are known from: the sums of each of their groups."""

    x: AspectUnits
    y: AspectUnits
    spread: None = field(default=None, init=False, repr=False)
    obstacle: Caution | None = field(default=None, init=False, repr=False)

    @property
    def alike(self) -> tuple[bool, bool]:
        """Whether all rows of x are equal, and all rows of y."""
        return self.x.constant, self.y.constant

    @cached_property
    def _z(self) -> tuple[FloatArray, FloatArray]:
        wanted = united(self.x.keys, self.y.keys)
        return self.x.sums_on(wanted), self.y.sums_on(wanted)

    @cached_property
    def sums(self) -> UnitSums:
        """The sums over pairs of groups."""
        one, two = numbered([_named(self.x), _named(self.y)])
        units = (Units(one, _sizes(self.x)), Units(two, _sizes(self.y)))
        x, y = self._z
        found = UnitSums(_within(x, units[0]), _within(y, units[1]), _cross(x, y, units), units, 1.0)
        if not len(found.common[0]):
            return found
        return replace(found, cross=_less_common(found, x, y))

    @cached_property
    def sides(self) -> tuple[UnitSide, UnitSide]:
        """Both samples as the statistics see them."""
        return sides(self.sums)

    @cached_property
    def moments(self) -> Moments:
        """The first and second moments."""
        return unit_moments(self.sums, (self.x.rows, self.y.rows))

    @cached_property
    def _own(self) -> tuple[ColumnGram, ColumnGram]:
        (x, y), (one, two) = self._z, self.sums.units
        return ColumnGram(x, one), ColumnGram(y, two)

    @cached_property
    def _grams(self) -> UnitGrams:
        return UnitGrams(*self._own, self.sides, self.sums.common)

    @cached_property
    def higher_order(self) -> Skewness:
        """What is of higher order than the variance."""
        chosen = self._own[0].chosen, self._own[1].chosen
        return unit_skewness(self.sides, chosen, self._grams, self.sums.common)

    def terms(self, slope: float, scale: float, normed: bool) -> Terms:
        """Return how the groups take part in a distance of that slope and scale."""
        chosen = self._own[0].chosen, self._own[1].chosen
        return unit_terms(self.sides, chosen, self._grams, (slope, scale, normed), self.sums.common)


def _named(sample: AspectUnits) -> RowUnits:
    assert sample.each is not None
    return RowUnits(np.arange(len(sample.each.sizes)), sample.names)


def _sizes(sample: AspectUnits) -> FloatArray:
    assert sample.each is not None
    return sample.each.sizes


def _within(z: FloatArray, units: Units) -> UnitWithin:
    sizes, own, gram = units.sizes, np.einsum("ij,ij->i", z, z), z.T @ z
    rows = (z @ z.sum(axis=0) - own) / sizes
    sized = z @ (sizes @ z) - sizes * own
    return UnitWithin(rows, sized, float(np.vdot(gram, gram) - own @ own))


def _cross(x: FloatArray, y: FloatArray, units: tuple[Units, Units]) -> UnitCross:
    s, t = units[0].sizes, units[1].sizes
    return UnitCross(
        x @ y.sum(axis=0) / s,
        y @ x.sum(axis=0) / t,
        x @ (t @ y),
        y @ (s @ x),
        float(np.vdot(x.T @ x, y.T @ y)),
    )


def _less_common(sums: UnitSums, x: FloatArray, y: FloatArray) -> UnitCross:
    """Return the sums across without the pairs of a group with itself."""
    (one, two), (s, t), cross = sums.common, (units.sizes for units in sums.units), sums.cross
    both = np.einsum("ij,ij->i", x[one], y[two])
    rows, cols, sized_rows, sized_cols = (
        part.copy() for part in (cross.rows, cross.cols, cross.sized_rows, cross.sized_cols)
    )
    rows[one] -= both / s[one]
    cols[two] -= both / t[two]
    sized_rows[one] -= both * t[two]
    sized_cols[two] -= both * s[one]
    return UnitCross(rows, cols, sized_rows, sized_cols, cross.squares - float(both @ both))
