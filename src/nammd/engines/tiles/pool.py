"""Running panels in threads, and the buffers that they share.

A job is a reduction over the panels of one matrix. Panels of several jobs are computed together, each in any
thread, and merged in the order of the panels, so the bits of the result do not depend on the threads.

After each tile a panel calls `tick`. That counts the work, and it is where a panel ends early when the
computation was interrupted or another panel failed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Protocol

import numpy as np

from nammd.data.arrays import Array, place
from nammd.data.threads import cpu_count
from nammd.engines.blas import single_threaded_blas
from nammd.engines.progress import Meter, Progress, comparing, warn_of_long_computation

# Below this much work, starting threads costs more than they save.
_THREADS_PAY_NANOSECONDS = 4e6
_POLL_SECONDS = 0.1
ALTERNATIVES = (
    "a random sample of the rows, nammd.Sketch (time in proportion to the rows), torch tensors on a GPU, "
    "or Dask arrays on a cluster"
)

Tick = Callable[[int], None]
"""What a panel calls after each tile, with the number of kernel values in it."""


class Job(Protocol):
    """A reduction over panels of rows."""

    starts: range
    on_cpu: bool
    nanoseconds: float
    samples: tuple[Array, ...]
    """The sample, or the two, whose pairs of rows are summed over."""

    def work(self, start: int) -> int:
        """Return how many kernel values the panel that begins at `start` computes."""

    def panel(self, start: int, tick: Tick) -> Any:
        """Compute the partial sums of the panel of rows that begins at `start`."""

    def merge(self, start: int, partial: Any) -> None:
        """Add the partial sums of a panel."""


def run(
    jobs: Sequence[Job],
    threads: int | None,
    progress: Progress = None,
    of_pairs: bool = True,
    most: int | None = None,
) -> None:
    """Compute the panels of all jobs, in threads where that pays, and merge them in order.

    Unless their number is given, there are at most so many threads. Pairs of rows can take long; then a
    warning says how long, and what would be quicker.
    """
    panels = [(job, start) for job in jobs for start in job.starts]
    total = sum(job.work(start) for job, start in panels)
    on_cpu = all(job.on_cpu for job in jobs)
    if threads is None:
        pays = sum(job.nanoseconds for job in jobs) >= _THREADS_PAY_NANOSECONDS
        threads = min(cpu_count(), most or cpu_count()) if pays else 1
    threads = min(threads, len(panels)) if on_cpu else 1

    def warn(seconds: float) -> None:
        where = f"{threads} thread{'s' if threads > 1 else ''}" if on_cpu else place(jobs[0].samples[0])
        warn_of_long_computation(_words(jobs), seconds, where, ALTERNATIVES)

    with Meter(progress, total, warn=warn if of_pairs else None) as meter:
        if not on_cpu:
            _one_by_one(panels, meter)
            return
        with single_threaded_blas:
            if threads == 1:
                _one_by_one(panels, meter)
            else:
                _in_threads(panels, threads, meter)


def _one_by_one(panels: Sequence[tuple[Job, int]], meter: Meter) -> None:
    for job, start in panels:
        job.merge(start, job.panel(start, meter.add))


def _in_threads(panels: Sequence[tuple[Job, int]], threads: int, meter: Meter) -> None:
    """Compute panels in threads, and merge them in the order given."""
    watch = _Watch(threads)
    with ThreadPoolExecutor(threads, thread_name_prefix="nammd") as pool:
        # Few panels in flight: memory stays bounded.
        waiting: deque[tuple[Job, int, Future[Any]]] = deque()

        def merge_next() -> None:
            job, start, future = waiting.popleft()
            while not future.done():
                # Only this thread may show progress; and a wait that ends lets Ctrl-C through everywhere.
                wait([future], _POLL_SECONDS)
                meter.add(watch.taken())
            if watch.error is not None:
                raise watch.error
            job.merge(start, future.result())

        try:
            for job, start in panels:
                waiting.append((job, start, pool.submit(watch.panel, job, start)))
                if len(waiting) > 2 * threads:
                    merge_next()
            while waiting:
                merge_next()
        except BaseException:
            watch.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class _Stopped(Exception):
    """Ends a panel whose result nobody wants any more."""


class _Watch:
    """Count the work of several threads, and stop all of them when one fails."""

    def __init__(self, threads: int) -> None:
        self.error: BaseException | None = None
        self._threads, self._tiles, self._work = threads, 0, 0
        self._lock, self._stopped = threading.Lock(), False

    def panel(self, job: Job, start: int) -> Any:
        """Compute a panel; if it fails, stop the others."""
        try:
            return job.panel(start, self._tick)
        except _Stopped:
            raise
        except BaseException as error:
            with self._lock:
                self.error = self.error or error
            self.stop()
            raise

    def stop(self) -> None:
        """Let every panel end at its next tile."""
        self._stopped = True

    def taken(self) -> int:
        """Return the work done since this was last asked."""
        with self._lock:
            if self._tiles < self._threads:
                return 0  # the others are about to finish theirs: the rate would be that of one thread
            work, self._work = self._work, 0
        return work

    def _tick(self, work: int) -> None:
        if self._stopped:
            raise _Stopped
        with self._lock:
            self._work += work
            self._tiles += 1


def _words(jobs: Sequence[Job]) -> str:
    """Say what the jobs compute: one sample with several, or by the largest of those that compare two."""
    pairs = [job.samples for job in jobs if len(job.samples) == 2]
    if len(pairs) > 1 and all(pair[0] is pairs[0][0] for pair in pairs):
        return f"comparing {int(pairs[0][0].shape[0]):,} rows with {len(pairs)} datasets"
    _, *rows = max((len(job.samples), *(int(s.shape[0]) for s in job.samples)) for job in jobs)
    return comparing(*rows)


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
