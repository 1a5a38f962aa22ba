"""Running panels in threads, and the buffers that they share.

A job is a reduction over the panels of one matrix. Panels of several jobs are computed together, each in any
thread, and merged in the order of the panels, so the bits of the result do not depend on the threads.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from nammd._arrays import Array
from nammd.engines.blas import single_threaded_blas

# Below this much work, starting threads costs more than they save.
_THREADS_PAY_NANOSECONDS = 4e6


class Job(Protocol):
    """A reduction over panels of rows."""

    starts: range
    on_cpu: bool
    nanoseconds: float

    def panel(self, start: int) -> Any:
        """Compute the partial sums of the panel of rows that begins at `start`."""

    def merge(self, start: int, partial: Any) -> None:
        """Add the partial sums of a panel."""


def run(jobs: Sequence[Job], threads: int | None) -> None:
    """Compute the panels of all jobs, in threads where that pays, and merge them in order."""
    panels = [(job, start) for job in jobs for start in job.starts]
    if not all(job.on_cpu for job in jobs):
        for job, start in panels:
            job.merge(start, job.panel(start))
        return
    if threads is None:
        pays = sum(job.nanoseconds for job in jobs) >= _THREADS_PAY_NANOSECONDS
        threads = cpu_count() if pays else 1
    with single_threaded_blas:
        for job, start, partial in _in_order(panels, min(threads, len(panels))):
            job.merge(start, partial)


def _in_order(panels: list[tuple[Job, int]], threads: int) -> Iterator[tuple[Job, int, Any]]:
    """Compute panels in threads and yield them in the order given."""
    if threads == 1:
        yield from ((job, start, job.panel(start)) for job, start in panels)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="nammd") as pool:
        # Few panels in flight: memory stays bounded, and an interrupt has little to wait for.
        waiting: deque[tuple[Job, int, Future[Any]]] = deque()
        for job, start in panels:
            waiting.append((job, start, pool.submit(job.panel, start)))
            if len(waiting) > 2 * threads:
                done, at, future = waiting.popleft()
                yield done, at, future.result()
        for done, at, future in waiting:
            yield done, at, future.result()


class Buffers:
    """Buffers of each thread's own, used again and again.

    Giving the memory back and asking for it again for every panel costs a tenth of the time.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def tile(self, height: int, width: int, precision: str, purpose: str = "tile") -> Array:
        """Return this thread's buffer for a purpose, in the shape wanted."""
        dtype = np.dtype(precision)
        size = height * width * dtype.itemsize
        buffer = getattr(self._local, purpose, None)
        if buffer is None or buffer.size < size:
            buffer = np.empty(size, np.uint8)
            setattr(self._local, purpose, buffer)
        return buffer[:size].view(dtype).reshape(height, width)


def cpu_count() -> int:
    """Return how many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
