"""What is being done, on stderr, once it takes longer than a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from nammd.cli.text import one_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds after which people start to wonder."""


class Working:
    """Show the present step with a spinner and a clock, to people only, and only where it takes long.

    Parameters
    ----------
    quiet : bool
        Never show anything.
    """

    def __init__(self, quiet: bool) -> None:
        self._shown: tuple[Progress, TaskID] | None = None
        self._words = "Working"
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        if not quiet and sys.stderr.isatty():
            self._timer = threading.Timer(PATIENCE, self._show)
            self._timer.daemon = True

    def step(self, words: str) -> None:
        """Say what is being done from now on."""
        with self._lock:
            self._words = one_line(words)
            if self._shown is not None:
                display, task = self._shown
                display.update(task, description=self._words)

    def part(self, words: str) -> Callable[[int, int, str], None]:
        """Return a function for work that knows its parts: ``done``, ``total`` and what comes next."""

        def report(done: int, total: int, what: str) -> None:
            self.step(f"{words}: {what} ({done} of {total})")

        return report

    def __enter__(self) -> Working:
        if self._timer is not None:
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        with self._lock:
            self._timer = None  # a timer that has just fired finds that it came too late
            if self._shown is not None:
                self._shown[0].stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._timer is None:
                return
            display = Progress(
                SpinnerColumn(),
                # Names of files are text, whatever brackets they contain.
                TextColumn("{task.description}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._shown = display, display.add_task(self._words, total=None)
            display.start()
