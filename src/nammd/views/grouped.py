"""A column of rows that belong together: what is kept of its groups, and the statistics' evidence from it.

Of each aspect of a column `AspectUnits` keeps totals over groups, which add up over parts of a dataset and
are small enough for files; and, where the data are at hand and the groups not too many, the sums of each.
With these the tests are those of `nammd.statistics.units`, the joint ones; with totals alone those of
`nammd.statistics.unit_totals`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.dataset import Dataset, SummaryDataset
from nammd.data.row_units import RowUnits
from nammd.encoding import Encoding
from nammd.errors.advice import Caution
from nammd.statistics.evidence import Terms
from nammd.statistics.moments import Moments
from nammd.statistics.total_terms import TotalInfluences, TotalSkewness, total_terms
from nammd.statistics.unit_totals import MORE, TotalSide, UnitTotals, total_moments
from nammd.views.counting import column_values
from nammd.views.features import ColumnRows, Key, UnitFeatures, aligned, unit_features, united
from nammd.views.measure import Measure

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
    if isinstance(dataset, SummaryDataset):
        return getattr(dataset.summary, "units", None) is not None
    return dataset.units is not None


def has_units(dataset: Dataset) -> bool:
    """Tell whether the groups of a dataset can be summed column by column: those in time cannot."""
    if isinstance(dataset, SummaryDataset):
        return getattr(dataset.summary, "unit_tally", None) is not None
    return dataset.units is not None and not dataset.units.reach


def unit_columns(dataset: Dataset, measures: Sequence[Measure], encoding: Encoding) -> dict[str, ColumnUnits]:
    """Return what is kept of the groups of a dataset in memory, by column; or what a summary kept."""
    if isinstance(dataset, SummaryDataset):
        return {measure.name: dataset.summary.unit_tally[measure.name] for measure in measures}
    units = dataset.units
    assert units is not None
    return {
        measure.name: column_units(ColumnRows.of(measure, column_values(dataset, measure, encoding)), units)
        for measure in measures
    }


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


@dataclass(frozen=True, eq=False)
class TotalsEvidence:
    """What two samples of one aspect of a column are known from: totals over their groups.

    Attributes
    ----------
    x, y : UnitTotals
        The totals, by the same features.
    rows : tuple of two int
        The rows of both.
    alike : tuple of two bool
        Whether all rows of x are equal, and all rows of y.
    """

    x: UnitTotals
    y: UnitTotals
    rows: tuple[int, int]
    alike: tuple[bool, bool] = (False, False)
    spread: None = field(default=None, init=False, repr=False)
    obstacle: Caution | None = field(default=None, init=False, repr=False)

    @cached_property
    def sides(self) -> tuple[TotalSide, TotalSide]:
        """Both samples as the statistics see them."""
        return TotalSide(self.x, self.y), TotalSide(self.y, self.x)

    @cached_property
    def moments(self) -> Moments:
        """The first and second moments."""
        return total_moments(*self.sides, 1.0, self.rows)

    @cached_property
    def higher_order(self) -> TotalSkewness:
        """What is of higher order than the variance, as far as totals tell it."""
        return TotalSkewness(*map(TotalInfluences, self.sides))

    def terms(self, slope: float, scale: float, normed: bool) -> Terms:
        """Return how the groups take part in a distance of that slope and scale."""
        higher = self.higher_order
        return total_terms(higher.x, higher.y, slope, scale, normed)


def totals_evidence(samples: Sequence[AspectUnits]) -> partial[TotalsEvidence]:
    """Return a function that makes evidence of two of some samples, by their numbers, on common features.

    Two distances from the same sample can be compared only if they know it by the same features.
    """
    wanted = united(*(sample.keys for sample in samples))
    placed = [sample.on(wanted) for sample in samples]
    return partial(_evidence_of, list(samples), placed)


def _evidence_of(
    samples: Sequence[AspectUnits], placed: Sequence[UnitTotals], one: int, two: int
) -> TotalsEvidence:
    rows, alike = (samples[one].rows, samples[two].rows), (samples[one].constant, samples[two].constant)
    return TotalsEvidence(placed[one], placed[two], rows, alike)
