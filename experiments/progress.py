"""How far a run is and how long it will take yet, in one line."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """A line on a terminal that is written over; elsewhere a line for every tenth of the work."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._total, self._done, self._said = total, 0, 0
        self._start = time.monotonic()
        self._terminal = self._stream.isatty()

    def step(self, name: str) -> None:
        """Say that a cell of an experiment is done."""
        self._done += 1
        spent = time.monotonic() - self._start
        left = spent / self._done * (self._total - self._done)
        line = f"{self._done} of {self._total} cells, {duration(left)} to go: {name}"
        if self._terminal:
            self._stream.write(f"\r{line:<78.78}")
            self._stream.flush()
        elif self._done * 10 // self._total > self._said:
            self._said = self._done * 10 // self._total
            self._stream.write(f"{line}\n")
            self._stream.flush()

    def say(self, text: str) -> None:
        """Write a line of its own."""
        self._stream.write(f"\r{text:<78}\n" if self._terminal else f"{text}\n")
        self._stream.flush()


def duration(seconds: float) -> str:
    """Return a length of time in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
