"""The distance of the last days together, from sums that are kept for every batch.

Where the tolerance has random features, or the reference is a sketch, batches are sketched too. Sums of
sketches are sketches of all the rows, so the distance of a month to the reference needs none of its rows
again.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from nammd.data.blocks_in_time import TimeBlocks
from nammd.data.dataset import Dataset
from nammd.data.row_grouping import NO_GROUPING
from nammd.kernels import RandomFeatures
from nammd.monitor.keys import in_order, time_of
from nammd.sketches import Sketch, features_in
from nammd.statistics.scales import Scales
from nammd.tolerances.gate import Gate
from nammd.tolerances.tolerance import Tolerance

WINDOWS = (7, 30, 90)
"""The days that are looked at together; of batches without a date, how many of them."""


@dataclass(frozen=True)
class Window:
    """The last days of a stream, taken together.

    Attributes
    ----------
    days : int
        How many days; of batches without a date, how many batches.
    dated : bool
        Whether these are days.
    batches, rows : int
        What was summed.
    distance, low, high : float
        The distance of all their rows to the reference, with a 95 % interval.
    """

    days: int
    dated: bool
    batches: int
    rows: int
    distance: float
    low: float
    high: float

    @property
    def name(self) -> str:
        """What it is called."""
        return f"last {self.days} {'days' if self.dated else 'batches'}"


def sums_of(gate: Gate, dataset: Dataset) -> Sketch | None:
    """Return the sums of a dataset at the main scale; None where the tolerance has no features."""
    if not dataset.keeps_rows:
        kept: Sketch = dataset.summary
        return kept.at(1.0)
    features = features_in(gate.tolerance.kernel)
    return None if features is None else sketched(gate, dataset, features)


def sketched(
    gate: Gate, dataset: Dataset, features: RandomFeatures, scales: Scales = "median"
) -> Sketch | None:
    """Return the sketch of a dataset, by the groups of the gate; None where these are blocks of time."""
    grouping = NO_GROUPING
    if dataset.units is None:
        grouping = gate.grouping_spec.settled(NO_GROUPING, True)
    if isinstance(grouping.groups, TimeBlocks) or (dataset.units is not None and dataset.units.reach):
        return None
    return Sketch.of(dataset, features, space=gate.tolerance.space, scales=scales, **grouping.options)


def members(keys: Sequence[str], days: int) -> tuple[list[str], bool]:
    """Return the keys of the last days, and whether they are days: else they are the last so many.

    >>> members(["2026-03-01", "2026-03-08", "2026-03-09"], 7)
    (['2026-03-08', '2026-03-09'], True)
    >>> members(["b1", "b10", "b9"], 2)
    (['b9', 'b10'], False)
    """
    ordered = [keys[i] for i in in_order(keys)]
    times = [time_of(key) for key in ordered]
    dates = [when for when in times if when is not None]
    if len(dates) < len(ordered):
        return ordered[-days:], False
    after = max(dates, default=datetime.datetime.min) - datetime.timedelta(days=days)
    return [key for key, when in zip(ordered, dates, strict=True) if when > after], True


def pooled(tolerance: Tolerance, reference: Sketch, sums: Mapping[str, Sketch]) -> tuple[Window, ...]:
    """Return the distances of the last days; a window with no more batches than a shorter one is left out."""
    gate = tolerance.with_reference(reference)
    found: list[Window] = []
    for days in WINDOWS:
        keys, dated = members(list(sums), days)
        if not keys or (found and len(keys) == found[-1].batches):
            continue
        together = reduce(add, (sums[key] for key in keys))
        if together.units is not None and together.units.split:
            continue  # groups of several batches: their distance is not known well enough from sums
        estimate = gate.distance(together)
        low, high = estimate.confidence_interval()
        found.append(Window(days, dated, len(keys), len(together), estimate.value, low, high))
    return tuple(found)
