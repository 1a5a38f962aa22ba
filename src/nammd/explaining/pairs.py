"""Pairs of columns that no longer go together as before, though neither of them changed alone.

Every column is cut into a few classes of its own dataset: equally many rows each of numbers, the commonest
labels of others. So the two datasets have the same classes of each column by itself, as far as ties allow;
the rest is removed by bringing the candidate's table of a pair to the margins of the reference. What is left
is how the columns go together. The cells of that table are labels, and are tested as those of a column are;
where rows belong together, by their groups, a row counting as much as its cell was changed by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.dataset import Dataset
from nammd.data.row_units import RowUnits
from nammd.data.values import Values
from nammd.encoding import Encoding
from nammd.statistics.adjusting import holm
from nammd.statistics.margin import margin
from nammd.views.comparing import group_pair
from nammd.views.counting import column_values
from nammd.views.counts import LabelCounts
from nammd.views.features import ColumnRows
from nammd.views.grouped import AspectUnits, column_units, has_units, is_grouped
from nammd.views.measure import Measure
from nammd.views.negligible import Changes
from nammd.views.placed import pair_of_counts

MOST_COLUMNS = 50
"""With more columns there are too many pairs to say anything about one."""

MOST_ROWS = 100_000
"""Of larger datasets so many evenly spaced rows are looked at."""

CLASSES = 8
_SIZE = CLASSES + 1

_ROUNDS = 20


@dataclass(frozen=True)
class PairCheck:
    """Two columns, and whether they go together as in the reference.

    Attributes
    ----------
    names : tuple of str
        The columns.
    distance, tolerance : float
        How far the way they go together is from that in the reference, and how far it may be: one row in a
        hundred in other cells.
    pvalue, adjusted : float
        Of "farther than that", alone and adjusted for the number of pairs by Holm's method.
    beyond : bool
        Whether that is proven.
    before, now : float
        How strongly they go together: rank correlation of numbers, Cramér's V where labels are among them.
    ordered : bool
        Whether both are numbers.
    """

    names: tuple[str, str]
    distance: float
    tolerance: float
    pvalue: float
    adjusted: float
    beyond: bool
    before: float
    now: float
    ordered: bool

    @property
    def ratio(self) -> float:
        """The distance over the tolerance."""
        return max(self.distance, 0.0) / self.tolerance

    def words(self) -> str:
        """Say how the two went together, and how they do now."""
        what = "rank correlation" if self.ordered else "association"
        told = f"{self.names[0]} and {self.names[1]} no longer go together as before"
        if abs(self.before - self.now) < 0.05:
            return told
        return f"{told}: {what} {self.before:.2f} -> {self.now:.2f}"


def changed_pairs(
    measures: Sequence[Measure], reference: Dataset, candidate: Dataset, encoding: Encoding, level: float
) -> tuple[PairCheck, ...]:
    """Return the pairs of columns that are proven to go together differently, the largest change first.

    Parameters
    ----------
    measures : sequence of Measure
        The columns that did not change alone.
    reference, candidate : Dataset
        The datasets, in memory; else there is nothing to return.
    encoding : Encoding
        How their values are written.
    level : float
        The level for all pairs together.
    """
    if not 2 <= len(measures) <= MOST_COLUMNS or not (reference.in_memory and candidate.in_memory):
        return ()
    grouped = is_grouped(reference) or is_grouped(candidate)
    if grouped and not (has_units(reference) and has_units(candidate)):
        return ()
    units = [
        None if each.units is None else each.units.take(_chosen(each)) for each in (reference, candidate)
    ]
    common = {each.name: _commonest(column_values(reference, each, encoding)) for each in measures}
    x, y = (
        [_classes(each, column_values(dataset, each, encoding), common[each.name]) for each in measures]
        for dataset in (reference, candidate)
    )
    found = []
    for i, j in combinations(range(len(measures)), 2):
        cells = [sample[i] * _SIZE + sample[j] for sample in (x, y)]
        ordered = measures[i].counted == measures[j].counted == "numbers"
        found.append(_checked((measures[i].title, measures[j].title), cells, units, ordered))
    adjusted = holm([pair.pvalue for pair in found])
    noted = [replace(p, adjusted=a, beyond=a <= level) for p, a in zip(found, adjusted, strict=True)]
    return tuple(sorted((p for p in noted if p.beyond), key=lambda p: -p.ratio))


def _checked(
    names: tuple[str, str],
    cells: Sequence[NDArray[np.intp]],
    units: Sequence[RowUnits | None],
    ordered: bool,
) -> PairCheck:
    before, now = (_table(*each) for each in zip(cells, units, strict=True))
    fitted = _raked(now, before)
    one, two = (_counts(table) for table in (before, fitted))
    tolerance = Changes().distance("labels", one)
    if units[0] is None or units[1] is None:
        pair = pair_of_counts(one, two)
    else:
        change = np.divide(fitted, now, out=np.zeros_like(now), where=now > 0).ravel()[cells[1]]
        own = change if units[1].weights is None else change * units[1].weights
        pair = group_pair(_of_cells(cells[0], units[0]), _of_cells(cells[1], replace(units[1], weights=own)))
    pvalue = margin(pair, tolerance, "corrected", "greater").pvalue("greater")
    strength = _rank_correlation if ordered else _cramer
    return PairCheck(
        names=names,
        distance=pair.value,
        tolerance=tolerance,
        pvalue=1.0 if np.isnan(pvalue) else pvalue,
        adjusted=1.0,
        beyond=False,
        before=strength(before),
        now=strength(now),
        ordered=ordered,
    )


def _of_cells(cells: NDArray[np.intp], units: RowUnits) -> AspectUnits:
    column = ColumnRows(codes=cells, labels=tuple(str(k) for k in range(_SIZE * _SIZE)))
    return column_units(column, units)["labels"]


def _chosen(dataset: Dataset) -> NDArray[np.intp]:
    """Return the rows that are looked at."""
    rows = dataset.rows
    assert rows is not None
    return _evenly(rows)


def _evenly(rows: int) -> NDArray[np.intp]:
    if rows <= MOST_ROWS:
        return np.arange(rows)
    return np.linspace(0, rows - 1, MOST_ROWS).astype(np.intp)


def _classes(measure: Measure, values: Values, common: Sequence[str]) -> NDArray[np.intp]:
    """Return the class of every row that is looked at; missing values are a class of their own, the last.

    Of labels, the commonest ones of the reference are classes, in both datasets.
    """
    rows = len(values.missing)
    chosen = _evenly(rows)
    if measure.counted == "numbers":
        numbers = np.full(rows, np.nan) if values.numbers is None else values.numbers
        numbers = numbers[chosen]
        present = ~np.isnan(numbers)
        found = np.full(len(numbers), CLASSES, dtype=np.intp)
        if present.any():
            edges = np.quantile(numbers[present], np.linspace(0, 1, CLASSES + 1)[1:-1])
            found[present] = np.searchsorted(edges, numbers[present], side="right")
        return found
    place = {label: k for k, label in enumerate(common)}
    places = np.array([*(place.get(label, CLASSES - 1) for label in values.categories), CLASSES], np.intp)
    codes = np.full(rows, -1) if values.codes is None else values.codes
    return np.asarray(places[codes[chosen]], dtype=np.intp)


def _commonest(values: Values) -> list[str]:
    if values.codes is None:
        return []
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.categories))
    order = sorted(range(len(counts)), key=lambda k: (-counts[k], values.categories[k]))
    return [values.categories[k] for k in order[: CLASSES - 1]]


def _table(cells: NDArray[np.intp], units: RowUnits | None) -> FloatArray:
    weights = None if units is None else units.weights
    return np.bincount(cells, weights, _SIZE * _SIZE).reshape(_SIZE, _SIZE).astype(np.float64)


def _raked(table: FloatArray, target: FloatArray) -> FloatArray:
    """Return a table with the margins of another one, as shares, and its own number of rows."""
    rows, goal = table.sum(), target / target.sum()
    fitted: FloatArray = (table + 1e-9) / (table + 1e-9).sum()
    for _ in range(_ROUNDS):
        for axis in (0, 1):
            wanted, there = goal.sum(axis=axis, keepdims=True), fitted.sum(axis=axis, keepdims=True)
            fitted = fitted * np.divide(wanted, there, out=np.zeros_like(there), where=there > 0)
    scaled: FloatArray = rows * fitted / fitted.sum()
    return scaled


def _counts(table: FloatArray) -> LabelCounts:
    return LabelCounts({str(k): float(rows) for k, rows in enumerate(table.ravel()) if rows > 1e-6}, 0.0)


def _rank_correlation(table: FloatArray) -> float:
    inner = table[:-1, :-1]
    total = inner.sum()
    if total == 0:
        return 0.0
    ranks = []
    for axis in (1, 0):
        shares = inner.sum(axis=axis) / total
        ranks.append(np.cumsum(shares) - shares / 2 - 0.5)
    one, two = (float((inner.sum(axis=1 - k) / total) @ ranks[k] ** 2) for k in (0, 1))
    if one * two <= 0:
        return 0.0
    return float(ranks[0] @ (inner / total) @ ranks[1]) / float(np.sqrt(one * two))


def _cramer(table: FloatArray) -> float:
    kept = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(kept.shape) < 2:
        return 0.0
    shares = kept / kept.sum()
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    squared = float(((shares - expected) ** 2 / expected).sum())
    return float(np.sqrt(squared / (min(kept.shape) - 1)))
