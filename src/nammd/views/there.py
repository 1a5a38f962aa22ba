"""The columns of an array on a device, counted there, all at once: `look_there`.

The numbers are those that `nammd.views.counting` finds column by column. Columns of a few different values,
which are counted by themselves, come to NumPy for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, at_home, joined, like, namespace, to_numpy
from nammd.engines.columns import DeviceColumns, counted_in_cells, counted_in_classes, counted_in_pairs
from nammd.views import classes, marks
from nammd.views.classes import Classes
from nammd.views.counts import FEW, NumberCounts
from nammd.views.lattice import bent, cells_there, divided
from nammd.views.marks import NUMBER_STEPS, Marks, grains_of
from nammd.views.measure import Measure
from nammd.views.relations import SIZE, Pairs, RelationCounter
from nammd.views.tally import ColumnTally

_AT_ONCE = 1 << 25
"""So many values are looked at together, some columns at a time."""


class RelationsThere(RelationCounter):
    """Counts how columns go together where their rows are."""

    _there: tuple[tuple[tuple[str, ...], Any], ...] = ()

    def add_there(self, measures: Sequence[Measure], columns: DeviceColumns) -> None:
        """Take columns on a device, of which each has many different values."""
        names: list[str] = []
        edges: list[FloatArray] = []
        quantiles, with_heavy = _quantiles(columns), _with_heavy(columns)
        for measure, own, heavy in zip(measures, quantiles, with_heavy, strict=True):
            if self._columns is None:
                cuts, ranks = classes.edges_at(own, bool(heavy))
                made = Classes.between(measure, cuts, ranks)
            else:
                made = self._columns.classes[measure.name]
                cuts = own[1::2] if made.ranked else made.edges
            names.append(measure.name)
            edges.append(cuts)
            self._made[measure.name] = made
            if made.ranked:
                self._quantiles[measure.name] = own
        codes = columns.classes(edges)
        if self._columns is None:
            for name, rows in zip(names, counted_in_classes(codes, SIZE), strict=True):
                made = self._made[name]
                self._made[name] = made.with_rows(rows[: made.count + 1])
        self._there += ((tuple(names), codes),)

    def looks_at(self, measure: Measure) -> bool:
        """Tell whether a column is looked at with others."""
        return self._columns is None or measure.name in self._columns.classes

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self._there[0][1].shape[1]) if self._there else super().rows

    def _some(self, step: int) -> Mapping[str, NDArray[np.uint8]]:
        found = dict(super()._some(step))
        for names, codes in self._there:
            found.update(zip(names, at_home(codes[:, ::step]), strict=True))
        return found

    def _counted(self, pairs: Pairs, weights: FloatArray | None) -> FloatArray:
        if not self._there or not pairs:
            return super()._counted(pairs, weights)
        first = self._there[0][1]
        names = [name for own, _ in self._there for name in own] + list(self._codes)
        every = [codes for _, codes in self._there]
        every += [like(codes[None], first) for codes in self._codes.values()]
        tables = counted_in_pairs(joined(every), SIZE)
        places = {name: k for k, name in enumerate(names)}
        one, two = np.array([[places[name] for name in pair] for pair in pairs]).T
        found: FloatArray = np.ascontiguousarray(tables.swapaxes(1, 2)[one, two])
        return found


def look_there(
    array: Array,
    measures: Sequence[Measure],
    together: RelationsThere | None,
    look: Callable[[Measure], ColumnTally],
) -> dict[str, ColumnTally] | None:
    """Return what the columns of an array tell; None where it is not for this.

    Parameters
    ----------
    array : array
        The array, every row of which counts once.
    measures : sequence of Measure
        How its columns are counted.
    together : RelationsThere or None
        Counts how they go together.
    look : callable
        Looks at a single column, and brings it to NumPy for that.
    """
    rows, width = array.shape
    numbers = [int(measure.name) for measure in measures]
    if not all(0 <= number < width for number in numbers):
        return None
    found: dict[str, ColumnTally] = {}
    step = max(_AT_ONCE // max(rows, 1), 1)
    for start in range(0, len(measures), step):
        some = measures[start : start + step]
        columns = DeviceColumns.of(array, numbers[start : start + step])
        if columns is None:
            return None
        many = columns.different > FEW
        for measure, here in zip(some, ~many, strict=True):
            if here:
                found[measure.name] = look(measure)
        left = [measure for measure, there in zip(some, many, strict=True) if there]
        if not left:
            continue
        columns = columns.chosen(many)
        counted = _counts(left, columns)
        found.update({m.name: ColumnTally(c) for m, c in zip(left, counted, strict=True)})
        if together is not None:
            wanted = np.array([together.looks_at(measure) for measure in left])
            if wanted.any():
                chosen = [m for m, one in zip(left, wanted, strict=True) if one]
                together.add_there(chosen, columns.chosen(wanted))
    return {measure.name: found[measure.name] for measure in measures}


def _counts(measures: Sequence[Measure], columns: DeviceColumns) -> list[NumberCounts]:
    """Return how many rows are where, of columns of many different values."""
    xp = namespace(columns.values)
    center, scale = (
        like(np.array([[getattr(m, name)] for m in measures]), columns.exact) for name in ("center", "scale")
    )
    # A little beyond the largest number, by rounding, is as far as one can be.
    scaled = xp.clip((columns.exact - center) / scale, -np.finfo(float).max, np.finfo(float).max)
    start, cell, share = cells_there(bent(scaled))
    rows, above = counted_in_cells(cell, share)
    noted = _marks(columns)
    return [
        NumberCounts.at_points(int(first), divided(np.append(own, 0.0), np.append(upper, 0.0)), 0, mark)
        for first, own, upper, mark in zip(to_numpy(start), rows, above, noted, strict=True)
    ]


def _marks(columns: DeviceColumns) -> list[Marks]:
    """Return what is noted of numbers beside their counts."""
    ends = columns.at_ranks(np.array([0, columns.rows - 1]))
    grains = grains_of(columns.every(marks.looked_at_every(columns.rows)).exact, NUMBER_STEPS)
    return [
        Marks(float(low), float(high), float(negative), grain, ("",))
        for (low, high), negative, grain in zip(ends, columns.negative, grains, strict=True)
    ]


def _quantiles(columns: DeviceColumns) -> FloatArray:
    """Return the quantiles of every column."""
    left, part = classes.quantile_ranks(columns.rows)
    right = np.minimum(left + 1, columns.rows - 1)
    low, high = np.split(columns.at_ranks(np.concatenate([left, right])), 2, axis=1)
    return classes.quantiles_between(low, high, part)


def _with_heavy(columns: DeviceColumns) -> NDArray[np.bool_]:
    """Tell of every column whether it has a value that very many rows have, by some rows."""
    some = columns.every(classes.looked_at_every(columns.rows))
    return some.has_more_than(int(classes.heavy(some.rows)))
