"""Columns of a few rows each, counted all at once: `count_columns`. The counts are those of `Measure.count`.

A table may have ten thousand columns of twenty rows, for which Python takes far longer than the numbers do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.values import Values
from nammd.encoding.columns import in_units
from nammd.views.counts import FEW, Counts, NumberCounts
from nammd.views.lattice import bent, cells_there
from nammd.views.marks import Marks, grains_of, steps_of
from nammd.views.measure import Measure

AT_ONCE = 1 << 18
"""So many numbers are counted together."""


def count_columns(columns: Sequence[tuple[Measure, Values]]) -> list[Counts]:
    """Return the counts of the values of columns; those of as many numbers each at once."""
    found: dict[int, Counts] = {}
    alike: dict[tuple[int, str], list[tuple[int, FloatArray]]] = {}
    for k, (measure, values) in enumerate(columns):
        numbers = values.numbers if measure.counted == "numbers" else None
        if numbers is not None and len(numbers) <= FEW and not values.missing.all():
            present = numbers[~values.missing] if values.missing.any() else numbers
            alike.setdefault((len(present), measure.clock), []).append((k, present))
        else:
            found[k] = measure.count(values)
    for (rows, clock), entries in alike.items():
        step = max(AT_ONCE // rows, 1)
        for start in range(0, len(entries), step):
            which, numbers_of = zip(*entries[start : start + step], strict=True)
            some = [columns[k] for k in which]
            found.update(zip(which, _counted(some, np.array(numbers_of), clock), strict=True))
    return [found[k] for k in range(len(columns))]


def _counted(
    columns: Sequence[tuple[Measure, Values]], numbers: FloatArray, clock: str
) -> Iterator[NumberCounts]:
    """Yield the counts of columns of numbers, one in each row."""
    center, scale = (np.array([[getattr(m, name)] for m, _ in columns]) for name in ("center", "scale"))
    scaled = in_units(numbers, center, scale)
    places = bent(scaled)
    order = np.argsort(places, axis=1, kind="stable")
    ordered, cells = (np.take_along_axis(each, order, axis=1) for each in (places, cells_there(places)[1]))
    different = np.diff(ordered, axis=1) != 0
    # Counted by themselves are values of which no two are in one cell of the lattice.
    exact = ~(different & (np.diff(cells, axis=1) == 0)).any(axis=1)
    last = np.column_stack([different, np.ones(len(numbers), dtype=bool)])
    ends = np.flatnonzero(last) + 1
    rows = np.diff(ends, prepend=0).astype(np.float64)
    stops = np.cumsum(last.sum(axis=1)).tolist()
    points = ordered[last]
    low, high = numbers.min(axis=1).tolist(), numbers.max(axis=1).tolist()
    negative = (numbers < 0).sum(axis=1).astype(np.float64).tolist()
    grains, start = grains_of(numbers, steps_of(clock)), 0
    for k, (_, values) in enumerate(columns):
        missing = len(values.missing) - numbers.shape[1]
        marks = Marks(low[k], high[k], negative[k], grains[k], (values.unit,))
        if exact[k]:
            here = slice(start, stops[k])
            yield NumberCounts(points[here], rows[here], float(missing), True, marks)
        else:
            yield NumberCounts.of(places[k], missing, marks)
        start = stops[k]
