"""All columns by themselves, on all rows: time and memory beyond the data."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.results import Measurement, at_most
from benchmarks.scale import Scale
from benchmarks.timing import one_thread
from nammd.data.opening import open_dataset
from nammd.encoding import Encoding
from nammd.views.counting import tally_columns
from nammd.views.limits import check_columns, made_limits
from nammd.views.measure import Measure
from nammd.views.negligible import Negligible

_LARGE_SECONDS, _WIDE_SECONDS, _MEGABYTES = 3.0, 10.0, 500.0


def measure(scale: Scale) -> Iterator[Measurement]:
    """Count a reference and a candidate, make limits from the one, and hold the other against them."""
    for (rows, columns), bar in zip(scale.column_sizes, (_LARGE_SECONDS, _WIDE_SECONDS), strict=True):
        seconds, memory, wall = _once(rows, columns)
        details = {"rows": rows, "columns": columns, "wall_seconds": wall}
        what = f"every column against its tolerance, {rows:,} rows each, {columns} columns"
        yield Measurement(f"{what}, one core", seconds, "s", at_most(bar), details)
        yield Measurement(f"{what}, beyond the data", memory, "MB", at_most(_MEGABYTES), details)


def _once(rows: int, columns: int) -> tuple[float, float, float]:
    """Return the seconds of computing, the megabytes beyond the data, and the seconds by the clock."""
    rng = np.random.default_rng(0)
    x, y = (open_dataset(rng.normal(size=(rows, columns)), name) for name in ("x", "y"))
    measures = [Measure(str(k), "numeric", "numbers") for k in range(columns)]
    encoding = Encoding.identity(columns)
    before = _peak()
    with one_thread():
        clock, started = time.perf_counter(), time.process_time()
        reference = tally_columns(x, measures, encoding).columns
        limits = made_limits(measures, reference, Negligible())
        check_columns(limits, reference, tally_columns(y, measures, encoding).columns, 0.025)
        seconds, wall = time.process_time() - started, time.perf_counter() - clock
    return seconds, _peak() - before, wall


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
