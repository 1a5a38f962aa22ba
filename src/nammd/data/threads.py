"""Columns, or parts of rows, side by side in threads: `each_in_threads`; one thing beside another: `beside`.

NumPy and Arrow leave Python to others in whatever takes long.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

_THREADS_PAY = 1 << 20
"""With fewer values, starting threads costs more than they save."""


def each_in_threads(function: Callable[..., T], *many: Iterable[Any], values: int) -> list[T]:
    """Return what ``map(function, *many)`` does, in its order; in threads, if many values are looked at.

    The first error in that order is raised, as without threads. What is called this way starts no threads
    itself, and calls no BLAS, unless that is held to one thread.

    >>> each_in_threads(max, [1, 5], [4, 2], values=1_000_000)
    [4, 5]
    """
    calls = list(zip(*many, strict=True))
    threads = min(len(calls), cpu_count())
    if values < _THREADS_PAY or threads < 2:
        return [function(*call) for call in calls]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads, thread_name_prefix="nammd") as pool:
        found = list(pool.map(function, *zip(*calls, strict=True)))
    _give_back_memory()
    return found


def beside(function: Callable[[], T], values: int) -> Callable[[], T]:
    """Begin with a function in a thread of its own, if it looks at many values; what is returned waits.

    Of few values it is called only then. However often one asks, it is called once.

    >>> more = beside(lambda: sum(range(10)), values=10)
    >>> more()
    45
    """
    if values < _THREADS_PAY or cpu_count() < 2:
        return cache(function)
    from concurrent.futures import ThreadPoolExecutor
    from contextvars import copy_context

    pool = ThreadPoolExecutor(1, thread_name_prefix="nammd")
    begun = pool.submit(copy_context().run, function)
    pool.shutdown(wait=False)
    return begun.result


def _give_back_memory() -> None:
    """Return free memory to the system: of what a thread has freed, glibc keeps much for the next one."""
    import ctypes

    trim = None if os.name == "nt" else getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def cpu_count() -> int:
    """Return how many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
