"""What is being done, and how far it is, on stderr, once it takes longer than a second."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from nammd.cli.printing import one_line

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

PATIENCE = 1.0
"""Seconds after which people start to wonder."""


class Working:
    """Show the present step with a spinner and a clock, to people only, and only where it takes long.

    Where an engine reports how far it is, a bar with the remaining time joins them.

    Parameters
    ----------
    quiet : bool
        Never show anything.
    """

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._filters = quiet, ExitStack()
        self._share: float | None = None
        self._left, self._begun = "", 0.0
        self._shown: tuple[Progress, TaskID] | None = None
        self._words, self._among = "Working", ""
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        if not quiet and sys.stderr.isatty():
            self._timer = threading.Timer(PATIENCE, self._show)
            self._timer.daemon = True

    def step(self, words: str) -> None:
        """Say what is being done from now on."""
        with self._lock:
            self._words, self._share, self._left = one_line(f"{words} {self._among}"), None, ""
            self._update()

    def among(self, number: int, total: int) -> None:
        """Say that the steps from now on are about one of several things."""
        self._among = f"({number} of {total})"

    @property
    def progress(self) -> Callable[[float, float], None] | bool:
        """What an engine is to do about its progress: report it here, or be quiet about it."""
        return False if self._timer is None else self._report

    def _report(self, done: float, total: float) -> None:
        """Show how far an engine is, with the time that the rest takes at the rate so far."""
        from nammd.engines.progress import remaining

        with self._lock:
            if not done:
                self._begun = time.monotonic()
            left = remaining(done, total, time.monotonic() - self._begun)
            self._share = done / total
            self._left = f"{self._share:.0%}" + (f", {left} left" if left else "")
            if done == total:  # what comes next, if only a few sums, is not the engine's
                self._share, self._left = None, ""
            self._update()

    def _update(self) -> None:
        if self._shown is not None:
            display, task = self._shown
            display.update(task, description=self._words, share=self._share, left=self._left)

    def part(self, words: str) -> Callable[[int, int, str], None]:
        """Return a function for work that knows its parts: ``done``, ``total`` and what comes next."""

        def report(done: int, total: int, what: str) -> None:
            self.step(f"{words}: {what} ({done} of {total})")

        return report

    def __enter__(self) -> Working:
        if self._quiet:
            from nammd.engines.progress import LongComputationWarning

            self._filters.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore", LongComputationWarning)
        if self._timer is not None:
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._filters.close()
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
                _bar_column(),
                TextColumn("{task.fields[left]}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            task = display.add_task(self._words, total=None, share=self._share, left=self._left)
            self._shown = display, task
            display.start()


def _bar_column() -> ProgressColumn:
    """Return a column with a bar, which is not there as long as nobody knows how far the work is."""
    from rich.console import RenderableType
    from rich.progress import ProgressColumn, Task
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    class Bar(ProgressColumn):
        def render(self, task: Task) -> RenderableType:
            share = task.fields["share"]
            return Text("") if share is None else ProgressBar(total=1.0, completed=share, width=30)

    return Bar()
