"""The cluster engine against the tile engine, on the same rows and as many cores.

What the cluster engine adds is fixed for each pair of blocks: a task for the scheduler, blocks and sums that
move between processes. ``python -m benchmarks cluster`` measures the share lost to it; ``python -m
benchmarks.cluster`` writes the figures of the documentation.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import nammd
from benchmarks.environment import environment
from benchmarks.results import Measurement, at_most
from benchmarks.samples import normal_samples, typical_bandwidth
from benchmarks.scale import FULL, Scale
from benchmarks.timing import Times, interleaved, medians, ratio

_BAR = 1.25
_ROWS, _COLUMNS = 40_000, 16
_TINY_ROWS, _TINY_BLOCKS = 32, 24
_RESULTS = Path(__file__).resolve().parent / "results" / "cluster.json"


def measure(scale: Scale) -> Iterator[Measurement]:
    rows = _ROWS if scale.judged else scale.rows
    for workers in (1, 2):
        what = f"sums, n = {rows}, d = {_COLUMNS}: {_count(workers)} of Dask / as many threads of tiles"
        if environment()["cpus"] < workers:
            yield Measurement(what, None, "x", at_most(_BAR), skipped="too few CPUs to run on")
            continue
        times, per_task = timed(rows, workers, scale.slow_rounds)
        details = {"rows": rows, "columns": _COLUMNS, "workers": workers, "median_seconds": medians(times)}
        yield Measurement(what, ratio(times, "cluster", "tiles"), "x", at_most(_BAR), details)
        values = kernel_values(rows) / median(times["cluster"]) / 1e6
        yield Measurement(f"the same: kernel values in a second, {_count(workers)}", values, "million")
        yield Measurement(f"cost of a task, {_count(workers)}", 1000 * per_task, "ms")


def timed(rows: int, workers: int, rounds: int) -> tuple[Times, float]:
    """Return the seconds of both engines, and those that a task costs besides what it computes."""
    import dask.array as da
    from distributed import Client, LocalCluster

    x, y = normal_samples(rows, _COLUMNS)
    kernel = nammd.Gaussian(typical_bandwidth(_COLUMNS))
    options: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **options) as cluster,
        Client(cluster),
    ):
        spread_x, spread_y = (da.from_array(sample, chunks=(8192, -1)) for sample in (x, y))
        tiny = da.from_array(x[: _TINY_ROWS * _TINY_BLOCKS], chunks=(_TINY_ROWS, -1))
        engine = nammd.Cluster(progress=False)
        many = partial(nammd.Cluster(_TINY_ROWS, progress=False).sums, kernel, (tiny,))
        candidates: dict[str, Callable[[], object]] = {
            "cluster": partial(nammd.kernel_sums, spread_x, spread_y, kernel, engine),
            "tiles": partial(nammd.kernel_sums, x, y, kernel, nammd.Tiles(threads=workers, progress=False)),
            "many tasks": many,
        }
        interleaved(candidates, 1)  # the workers import what they need
        times = interleaved(candidates, rounds)
    tasks = _TINY_BLOCKS * (_TINY_BLOCKS + 1) / 2
    return times, median(times.pop("many tasks")) / tasks


def kernel_values(rows: int) -> int:
    """Return how many kernel values the sums of two samples of so many rows need."""
    return 2 * rows * rows


def _count(workers: int) -> str:
    return f"{workers} worker{'s' if workers > 1 else ''}"


def record() -> None:
    """Measure for the documentation."""
    found = []
    for workers in (n for n in (1, 2, 4, 8, 16) if n <= environment()["cpus"]):
        times, per_task = timed(_ROWS, workers, FULL.slow_rounds)
        seconds = medians(times)
        found.append(
            {
                "workers": workers,
                "cluster seconds": seconds["cluster"],
                "tiles seconds": seconds["tiles"],
                "ratio": ratio(times, "cluster", "tiles"),
                "million values a second": kernel_values(_ROWS) / seconds["cluster"] / 1e6,
                "milliseconds a task": 1000 * per_task,
            }
        )
        print(found[-1], flush=True)
    document = {
        "environment": environment(),
        "rows": _ROWS,
        "columns": _COLUMNS,
        "block rows": 13_334,  # the default cuts these rows in three
        "workers": found,
    }
    _RESULTS.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
