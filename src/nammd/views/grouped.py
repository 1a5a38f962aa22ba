"""A column of rows that belong together: what is kept of its groups, and the statistics' evidence from it.

Of each aspect of a column `AspectUnits` keeps totals over groups, which add up over parts of a dataset and
are small enough for files; and, where the data are at hand and the groups not too many, the sums of each.
With these the tests are those of `nammd.statistics.atoms`, the joint ones; with totals alone those of
`nammd.statistics.totals`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.dataset import Dataset
from nammd.data.row_units import RowUnits
from nammd.statistics.pair import Pair
from nammd.statistics.totals import MORE, TotalPair, UnitTotals
from nammd.views.features import ColumnRows, Key, UnitFeatures, aligned, unit_features, united

MOST_KEPT = 4096
"""Of so many groups the sums of each are kept; of more, totals alone tell as much."""

TOTALLED = 65_536
"""So many groups are summed at once."""


@dataclass(frozen=True, eq=False)
class AspectUnits:
    """What is kept of the groups of one aspect of a column.

    Attributes
    ----------
    keys : tuple
        Which features were summed.
    totals : UnitTotals
        The totals over groups.
    rows : int
        The number of rows.
    each : UnitFeatures or None
        The sums of each group, where they are kept.
    names : tuple of str, or None
        The names of those groups.
    """

    keys: tuple[Key, ...] = field(repr=False)
    totals: UnitTotals
    rows: int
    each: UnitFeatures | None = field(default=None, repr=False)
    names: tuple[str, ...] | None = field(default=None, repr=False)

    def on(self, wanted: Mapping[Key, int]) -> UnitTotals:
        """Return the totals by the features that two samples have together."""
        size = len(wanted)
        places = np.concatenate([aligned(self.keys, wanted), np.arange(size, size + MORE)])
        total, products = np.zeros(size + MORE), np.zeros((size + MORE, size + MORE))
        total[places] = self.totals.total
        products[np.ix_(places, places)] = self.totals.products
        return UnitTotals(self.totals.count, total, products)

    def sums_on(self, wanted: Mapping[Key, int]) -> FloatArray:
        """Return the sums of each group likewise."""
        assert self.each is not None
        found = np.zeros((len(self.each.z), len(wanted)))
        found[:, aligned(self.keys, wanted)] = self.each.z
        return found

    def merged(self, other: AspectUnits) -> AspectUnits:
        """Return both together; a group that is in both counts as two."""
        wanted = united(self.keys, other.keys)
        return AspectUnits(tuple(wanted), self.on(wanted) + other.on(wanted), self.rows + other.rows)

    @property
    def alone(self) -> AspectUnits:
        """The totals alone."""
        return AspectUnits(self.keys, self.totals, self.rows)

    @property
    def singles(self) -> bool:
        """Whether every row is a group of its own, and all count alike."""
        return self.totals.singles and self.totals.count == self.rows

    @property
    def constant(self) -> bool:
        """Whether all rows are at one place."""
        mean = self.totals.features / self.totals.size
        return bool(float(mean @ mean) >= 1 - 1e-10)


ColumnUnits: TypeAlias = dict[str, AspectUnits]
"""The aspects of a column."""


def is_grouped(dataset: Dataset) -> bool:
    """Tell whether the rows of a dataset belong together or have weights."""
    if dataset.summary is not None:
        return getattr(dataset.summary, "units", None) is not None
    return dataset.units is not None


def has_units(dataset: Dataset) -> bool:
    """Tell whether the groups of a dataset can be summed column by column: those in time cannot."""
    if dataset.summary is not None:
        return getattr(dataset.summary, "unit_tally", None) is not None
    return dataset.units is not None and not dataset.units.reach


def column_units(column: ColumnRows, units: RowUnits) -> ColumnUnits:
    """Return what is kept of the groups of one column."""
    codes = units.codes if units.names is not None else np.arange(len(units.codes))
    count = int(codes.max()) + 1 if len(codes) else 0
    return {aspect: _aspect_units(column, aspect, (codes, count), units) for aspect in column.aspects}


def _aspect_units(
    column: ColumnRows, aspect: str, groups: tuple[np.ndarray, int], units: RowUnits
) -> AspectUnits:
    codes, count = groups
    rows = len(codes)
    if aspect == "values" and column.places is not None:
        rows -= int(np.count_nonzero(np.isnan(column.places)))
    if count <= MOST_KEPT:
        each = unit_features(column, aspect, codes, units.weights, count)
        names = None if units.names is None else tuple(units.names[k] for k in each.numbers)
        return AspectUnits(each.keys, UnitTotals.of(each.z, each.sizes), rows, each, names)
    # Some groups at a time: the sums of all of them would be larger than the data.
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(0, count + TOTALLED, TOTALLED))
    found: AspectUnits | None = None
    for number, (start, stop) in enumerate(pairwise(edges)):
        some = order[start:stop]
        weights = None if units.weights is None else units.weights[some]
        here = codes[some] - number * TOTALLED
        each = unit_features(column.taken(some), aspect, here, weights, min(TOTALLED, count))
        part = AspectUnits(each.keys, UnitTotals.of(each.z, each.sizes), len(some))
        found = part if found is None else found.merged(part)
    assert found is not None
    return AspectUnits(found.keys, found.totals, rows)


def pairs_by_totals(samples: Sequence[AspectUnits]) -> Callable[[int, int], Pair]:
    """Return a function that makes a pair of two of some samples, by their numbers, on common features.

    Two distances from the same sample can be compared only if they know it by the same features.
    """
    wanted = united(*(sample.keys for sample in samples))
    placed = [sample.on(wanted) for sample in samples]

    def pair(one: int, two: int) -> Pair:
        x, y = samples[one], samples[two]
        meeting = TotalPair(placed[one], placed[two], (x.rows, y.rows), 1.0)
        return Pair(meeting, alike=(x.constant, y.constant))

    return pair
