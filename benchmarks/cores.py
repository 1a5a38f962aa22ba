"""Sixteen cores: a check of a million rows from the shell, and tests over many kernels."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import nammd
from benchmarks.commands import Command, Size, measured
from benchmarks.environment import environment
from benchmarks.results import Measurement, at_most
from benchmarks.samples import normal_samples
from benchmarks.scale import Scale
from benchmarks.timing import interleaved, medians, ratio

_CORES = 16
_SECONDS = 4.0
_COLUMNS = 10
_BARS = {"nammd-fuse": at_most(2.5), "mmd-agg": at_most(1.0)}


def measure(scale: Scale) -> Iterator[Measurement]:
    """Yield the figures; the bars are those of sixteen cores, and are not for fewer."""
    cores = environment()["cpus"]
    if scale.judged and cores < _CORES:
        yield Measurement(
            f"what {_CORES} cores do", None, "s", at_most(_SECONDS), skipped=f"only {cores} of them"
        )
        return
    rows, columns, ending = scale.command_sizes[2]
    check = Command("check", _SECONDS, size=Size(rows, columns, ending))
    with tempfile.TemporaryDirectory() as folder:
        yield from measured(check, Path(folder), scale.slow_rounds)
    yield from _tests(scale)


def _tests(scale: Scale) -> Iterator[Measurement]:
    rows = 2 * scale.rows // 5
    x, y = normal_samples(rows, _COLUMNS)
    for method, bar in _BARS.items():
        runs = {
            name: partial(nammd.two_sample_test, x[:some], y[:some], method=method, rng=0)
            for name, some in (("half", rows // 2), ("all", rows))
        }
        interleaved(runs, 1)
        times = interleaved(runs, scale.slow_rounds)
        details = {"rows": rows, "columns": _COLUMNS, "median_seconds": medians(times)}
        what = f"{method}, n = {rows}, d = {_COLUMNS}"
        if method == "mmd-agg":
            yield Measurement(f"{what}: half of them / all", ratio(times, "half", "all"), "x", bar, details)
        else:
            yield Measurement(what, medians(times)["all"], "s", bar, details)
