"""Hold BLAS to one thread.

While tiles run in threads of their own; and where products are small and many, as in a check. There the
threads of BLAS mostly wait for each other, which takes several times the computing time; and with one thread
sums have the same bits on any machine.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ContextDecorator
from typing import Any


def _take_control() -> None:
    """Let this thread set limits.

    Newer versions of threadpoolctl let only the thread that did so first; here it may be any.
    """
    import threadpoolctl

    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


class _SingleThreadedBlas(ContextDecorator):
    """A re-entrant context, or decorator, in which BLAS uses one thread.

    The setting is the process's, not the thread's. So calls that overlap, from several threads of
    the user's program, are counted: the first one in sets it and the last one out restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._libraries: Any = None
        self._held: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                if self._libraries is None:  # finding them takes 30 times setting them
                    from threadpoolctl import ThreadpoolController

                    self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
                # Limits of threadpoolctl ask for all that is known of each library, ten times the work.
                threads = [(library, library.num_threads) for library in self._libraries]
                self._held = [(library, number) for library, number in threads if number != 1]
                _set([(library, 1) for library, _ in self._held])
            self._users += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                _set(self._held)
                self._held = []


def _set(threads: Sequence[tuple[Any, int]]) -> None:
    """Set the numbers of threads of some libraries."""
    if threads:
        _take_control()
        for library, number in threads:
            library.set_num_threads(number)
        _take_control()


single_threaded_blas = _SingleThreadedBlas()
