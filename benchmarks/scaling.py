"""Two threads against one.

That can only be told while nobody else uses the second CPU. So every round begins and ends with a
control, work that splits perfectly, and counts only if both controls gained what two free CPUs give.
The choice looks at the controls alone, never at the figure itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from threading import Thread
from typing import Any

import nammd
from benchmarks.environment import environment
from benchmarks.results import Measurement, at_least
from benchmarks.samples import normal_samples, typical_bandwidth
from benchmarks.scale import Scale
from benchmarks.timing import Times, interleaved, medians, one_thread, ratio
from benchmarks.work_limit import bare_work

_BAR = 1.6
_FREE = 1.8
_CONTROL_ROWS = 4000
_LEAST_ROUNDS = 3
_MOST_ATTEMPTS = 8  # for each round that is wanted


def measure(scale: Scale) -> Iterator[Measurement]:
    control = _control(min(_CONTROL_ROWS, scale.rows))
    for columns in (16, 128):
        what = f"sums, n = {scale.rows}, d = {columns}: one thread / two threads"
        if environment()["cpus"] < 2:
            yield Measurement(what, None, "x", at_least(_BAR), skipped="only one CPU to run on")
            continue
        x, y = normal_samples(scale.rows, columns)
        kernel = nammd.Gaussian(typical_bandwidth(columns))
        candidates = {
            str(threads): partial(nammd.kernel_sums, x, y, kernel, nammd.Tiles(threads=threads))
            for threads in (1, 2)
        }
        with one_thread():  # of BLAS, for the control; nammd sees to it by itself
            times, attempts = _undisturbed(candidates, control, scale)
        details: dict[str, Any] = {
            "rows": scale.rows,
            "columns": columns,
            "dtype": "float32",
            "rounds": len(times["1"]),
            "attempts": attempts,
        }
        if len(times["1"]) < min(_LEAST_ROUNDS, scale.rounds):
            reason = f"other work kept the second CPU busy in {attempts} attempts"
            yield Measurement(what, None, "x", at_least(_BAR), details, skipped=reason)
            continue
        details["median_seconds"] = medians(times)
        yield Measurement(what, ratio(times, "1", "2"), "x", at_least(_BAR), details)


def _undisturbed(
    candidates: Mapping[str, Callable[[], object]], control: Callable[[], float], scale: Scale
) -> tuple[Times, int]:
    """Collect rounds in which two CPUs were free, and say how many it took."""
    kept: Times = {name: [] for name in candidates}
    attempts = 0
    while len(kept["1"]) < scale.rounds and attempts < _MOST_ATTEMPTS * scale.rounds:
        attempts += 1
        before = control()
        times = interleaved(candidates, 1)
        if not scale.judged or min(before, control()) >= _FREE:
            for name, seconds in times.items():
                kept[name] += seconds
    return kept, attempts


def _control(rows: int) -> Callable[[], float]:
    """Return a function that tells how much faster two threads do twice the bare work just now."""
    x, y = (sample / typical_bandwidth(16) for sample in normal_samples(rows, 16))

    def together(count: int) -> None:
        threads = [Thread(target=bare_work, args=(x, y, (256, 256))) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def gain() -> float:
        return 2 * ratio(interleaved({"1": lambda: together(1), "2": lambda: together(2)}, 1), "1", "2")

    return gain
