"""Two samples of one column as a pair, from the sums of each of their groups: `pair_of_groups`.

A group is one row whose weight is its size and whose features are its means; so the tests of groups of rows
take it as it is, those of groups that are in both samples included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.row_units import RowUnits, numbered
from nammd.data.sampling import representatives
from nammd.engines.units import UnitCross, Units, UnitSums, UnitWithin
from nammd.statistics.atom_pair import AtomPair, atoms_of_units
from nammd.statistics.grams import Grams, unit_eigenvalue
from nammd.statistics.pair import Pair
from nammd.views.features import united
from nammd.views.grouped import AspectUnits

STAND = 500
"""So many groups stand for a sample in what is of higher order."""


@dataclass(frozen=True, eq=False)
class GroupStandIns:
    """Groups that stand for a sample, and sums of kernel values between them; `StandIns`."""

    z: FloatArray = field(repr=False)
    units: Units = field(repr=False)

    @cached_property
    def chosen(self) -> NDArray[np.intp]:
        """Which groups stand for the sample."""
        return representatives(len(self.units), STAND)

    @cached_property
    def values(self) -> FloatArray:
        """The sums between these."""
        some = self.z[self.chosen]
        found: FloatArray = some @ some.T
        return found

    @cached_property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator of a group of the effective size."""
        return unit_eigenvalue(self.values, self.units.sizes[self.chosen], self.units.sizes)

    def between(self, other: GroupStandIns) -> FloatArray:
        """Return the sums with the groups that stand for another sample."""
        found: FloatArray = self.z[self.chosen] @ other.z[other.chosen].T
        return found


def pair_of_groups(x: AspectUnits, y: AspectUnits) -> Pair:
    """Return the pair of two samples of one aspect of a column, of which the sums of each group are kept."""
    wanted = united(x.keys, y.keys)
    z = x.sums_on(wanted), y.sums_on(wanted)
    one, two = numbered([_named(x), _named(y)])
    units = (Units(one, _sizes(x)), Units(two, _sizes(y)))
    sums = UnitSums(_within(z[0], units[0]), _within(z[1], units[1]), _cross(*z, units), units, 1.0)
    common = sums.common if len(sums.common[0]) else None
    if common is not None:
        sums = replace(sums, cross=_less_common(sums, *z))
    atoms = atoms_of_units(sums, (x.rows, y.rows), (_in_unit(x), _in_unit(y)))
    grams = Grams((GroupStandIns(z[0], units[0]), GroupStandIns(z[1], units[1])), atoms, common)
    meeting = AtomPair(atoms, sums.cross.squares, 1.0, grams, common)
    return Pair(meeting, alike=(x.constant, y.constant))


def _named(sample: AspectUnits) -> RowUnits:
    assert sample.each is not None
    return RowUnits(np.arange(len(sample.each.sizes)), sample.names)


def _sizes(sample: AspectUnits) -> FloatArray:
    assert sample.each is not None
    return sample.each.sizes


def _in_unit(sample: AspectUnits) -> float:
    """Return the mean kernel value of two rows of one group; NaN where rows have weights."""
    sizes = _sizes(sample)
    weighted = bool((sizes != np.rint(sizes)).any())
    return math.nan if weighted else sample.totals.in_unit(sample.rows, 1.0)


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
