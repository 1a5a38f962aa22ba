"""Pairs of columns that no longer go together as before, though neither of them changed alone.

Every column is cut into a few classes of its own dataset: about equally many rows each of numbers, the
commonest labels of others. Numbers that occur often allow few cuts: one is made only where both datasets have
one at about the same share of their rows, so that a class is the same part of both. Rows in a class that the
other dataset has none of are left out. What then differs in each column by itself is removed by bringing the
candidate's table of a pair to the margins of the reference, and what is left is how the columns go together.
The cells of that table are labels, and are tested as those of a column are; where rows belong together, by
their groups, a row counting as much as its cell was changed by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from nammd.views.comparing import LEAST_GROUPS, group_pair
from nammd.views.counting import column_values
from nammd.views.counts import LabelCounts
from nammd.views.features import ColumnRows
from nammd.views.grouped import AspectUnits, column_units, has_units, is_grouped
from nammd.views.limits import LEAST_ROWS
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

NEAR = 0.5 / CLASSES
"""Two cuts are the same where the shares of rows below them differ by at most half a class."""


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
    classes = []
    for measure in measures:
        values = [column_values(each, measure, encoding) for each in (reference, candidate)]
        by = _number_classes if measure.counted == "numbers" else _label_classes
        classes.append(by(values[0], values[1]))
    found = []
    for i, j in combinations(range(len(measures)), 2):
        cells = [one * _SIZE + two for one, two in zip(classes[i], classes[j], strict=True)]
        ordered = measures[i].counted == measures[j].counted == "numbers"
        pair = _checked((measures[i].title, measures[j].title), cells, units, ordered)
        found += [] if pair is None else [pair]
    adjusted = holm([pair.pvalue for pair in found])
    noted = [replace(p, adjusted=a, beyond=a <= level) for p, a in zip(found, adjusted, strict=True)]
    return tuple(sorted((p for p in noted if p.beyond), key=lambda p: -p.ratio))


def _checked(
    names: tuple[str, str],
    cells: Sequence[NDArray[np.intp]],
    units: Sequence[RowUnits | None],
    ordered: bool,
) -> PairCheck | None:
    """Return how two columns go together; None where there is nothing to compare."""
    before, now = (_table(*each) for each in zip(cells, units, strict=True))
    both = _in_both(before, now)
    if both.sum() < 2:
        return None
    reference, candidate = before * both, now * both
    fitted = _raked(candidate, reference)
    one, two = (_counts(table) for table in (reference, fitted))
    tolerance = Changes().distance("labels", one)
    x, y = units
    if x is None or y is None or (x.all_alike and y.all_alike):
        if min(one.size, two.size) < LEAST_ROWS:
            return None
        pair = pair_of_counts(one, two)
    else:
        kept = [np.flatnonzero(both.ravel()[each]) for each in cells]
        x, y = x.take(kept[0]), y.take(kept[1])
        if min(x.count, y.count) < LEAST_GROUPS:
            return None
        mine, theirs = cells[0][kept[0]], cells[1][kept[1]]
        change = np.divide(fitted, now, out=np.zeros_like(now), where=now > 0).ravel()[theirs]
        own = change if y.weights is None else change * y.weights
        pair = group_pair(_of_cells(mine, x), _of_cells(theirs, replace(y, weights=own)))
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


def _number_classes(x: Values, y: Values) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the classes of the rows that are looked at, of both datasets; missing values are the last."""
    mine, theirs = (_looked_at(each) for each in (x, y))
    (points, shares), (others, their_shares) = (_cuts(each[~np.isnan(each)]) for each in (mine, theirs))
    cuts = np.unique(_nearest(shares, np.arange(1, CLASSES) / CLASSES))
    found = _nearest(their_shares, shares[cuts])
    # Where two cuts of the reference are one of the candidate, the nearer one is.
    matched: dict[int, tuple[float, int]] = {}
    for cut, other in zip(cuts[: len(found)].tolist(), found.tolist(), strict=True):
        apart = abs(shares[cut] - their_shares[other])
        if apart <= NEAR and apart < matched.get(other, (np.inf, 0))[0]:
            matched[other] = (apart, cut)
    kept = [cut for _, cut in matched.values()]
    return _between(mine, points[kept]), _between(theirs, others[list(matched)])


def _looked_at(values: Values) -> FloatArray:
    rows = len(values.missing)
    numbers = np.full(rows, np.nan) if values.numbers is None else values.numbers
    found: FloatArray = numbers[_evenly(rows)]
    return found


def _cuts(numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where numbers can be cut, from which number on, and the share of rows below each cut."""
    points, rows = np.unique(numbers, return_counts=True)
    return points[1:], np.cumsum(rows)[:-1] / max(len(numbers), 1)


def _nearest(ascending: FloatArray, wanted: FloatArray) -> NDArray[np.intp]:
    """Return the places of the nearest to some numbers; none where there are none."""
    if not len(ascending):
        return np.empty(0, dtype=np.intp)
    above = np.clip(np.searchsorted(ascending, wanted), 1, max(len(ascending) - 1, 1))
    below = above - 1
    above = np.minimum(above, len(ascending) - 1)
    nearer = wanted - ascending[below] <= ascending[above] - wanted
    return np.where(nearer, below, above).astype(np.intp)


def _between(numbers: FloatArray, edges: FloatArray) -> NDArray[np.intp]:
    found = np.searchsorted(edges, numbers, side="right").astype(np.intp)
    found[np.isnan(numbers)] = CLASSES
    return found


def _label_classes(x: Values, y: Values) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the same of labels: the commonest ones of the reference are classes, in both datasets."""
    place = {label: k for k, label in enumerate(_commonest(x))}
    mine, theirs = (_placed(each, place) for each in (x, y))
    return mine, theirs


def _placed(values: Values, place: Mapping[str, int]) -> NDArray[np.intp]:
    rows = len(values.missing)
    places = np.array([*(place.get(label, CLASSES - 1) for label in values.categories), CLASSES], np.intp)
    codes = np.full(rows, -1) if values.codes is None else values.codes
    return np.asarray(places[codes[_evenly(rows)]], dtype=np.intp)


def _commonest(values: Values) -> list[str]:
    if values.codes is None:
        return []
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.categories))
    order = sorted(range(len(counts)), key=lambda k: (-counts[k], values.categories[k]))
    return [values.categories[k] for k in order[: CLASSES - 1]]


def _table(cells: NDArray[np.intp], units: RowUnits | None) -> FloatArray:
    weights = None if units is None else units.weights
    return np.bincount(cells, weights, _SIZE * _SIZE).reshape(_SIZE, _SIZE).astype(np.float64)


def _in_both(before: FloatArray, now: FloatArray) -> NDArray[np.bool_]:
    """Tell which cells are of classes that both tables have, when all other rows are left out."""
    kept = np.ones(before.shape, dtype=bool)
    while True:
        there = kept.copy()
        for axis in (0, 1):
            for table in (before, now):
                there &= (table * kept).sum(axis=axis, keepdims=True) > 0
        if (there == kept).all():
            return kept
        kept = there


def _raked(table: FloatArray, target: FloatArray) -> FloatArray:
    """Return a table with the margins of another one, as shares, and its own number of rows.

    A cell without rows stays so: rows of no group would have to be in it.
    """
    rows, goal = table.sum(), target / target.sum()
    fitted: FloatArray = table / rows
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
