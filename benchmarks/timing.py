"""Time several things in turns, so that a disturbance hits all of them alike."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median

from threadpoolctl import threadpool_limits

Times = dict[str, list[float]]
"""The seconds of every round, for every candidate."""


def interleaved(candidates: Mapping[str, Callable[[], object]], rounds: int) -> Times:
    """Run every candidate once per round and return the seconds that each run took.

    Results are dropped before the next run: what one candidate still holds must not slow down
    another.
    """
    times: Times = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return times


def ratio(times: Times, numerator: str, denominator: str) -> float:
    """Return the median over rounds of the ratio of two candidates.

    Within a round they ran next to each other. The ratio of their medians may compare a quiet
    moment of one with a busy moment of the other.
    """
    pairs = zip(times[numerator], times[denominator], strict=True)
    return median(above / below for above, below in pairs)


def medians(times: Times) -> dict[str, float]:
    """Return the median seconds of every candidate."""
    return {name: median(seconds) for name, seconds in times.items()}


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS, OpenMP and (where it is loaded) PyTorch to one thread."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 0
    with threadpool_limits(1):
        if torch:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(before)
