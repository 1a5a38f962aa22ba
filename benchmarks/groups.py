"""A distance of rows that belong together against that of rows that stand for themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import nammd
from benchmarks.results import Measurement, at_most
from benchmarks.samples import normal_samples, typical_bandwidth
from benchmarks.scale import Scale
from benchmarks.timing import interleaved, medians, ratio

_BAR = 1.5
_COLUMNS = 10
_ROWS_PER_GROUP = 10


def measure(scale: Scale) -> Iterator[Measurement]:
    rows = 2 * scale.rows
    x, y = normal_samples(rows, _COLUMNS)
    kernel = nammd.Gaussian(typical_bandwidth(_COLUMNS))
    labels = np.random.default_rng(0).permutation(np.arange(rows) // _ROWS_PER_GROUP)
    groups = labels, labels + rows
    times = interleaved(
        {
            "rows": lambda: nammd.distance(x, y, kernel=kernel).confidence_interval(),
            "groups": lambda: nammd.distance(x, y, kernel=kernel, groups=groups).confidence_interval(),
        },
        scale.slow_rounds,
    )
    count = rows // _ROWS_PER_GROUP
    what = f"distance and interval, n = {rows} in {count} groups, d = {_COLUMNS}: groups / rows"
    details: dict[str, Any] = {"rows": rows, "groups": count, "columns": _COLUMNS}
    details |= {"rounds": scale.slow_rounds, "median_seconds": medians(times)}
    yield Measurement(what, ratio(times, "groups", "rows"), "x", at_most(_BAR), details)
