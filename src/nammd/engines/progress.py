"""How far a computation is, how long it will still take, and a warning where that is long.

Work is counted in kernel values, which is what takes the time: a panel near the end of a triangular matrix
counts for less than one at its start, so the rate so far says when the rest will be done.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from typing import Any

Progress = bool | Callable[[float, float], None] | None
"""The option `progress` of an engine.

None shows a bar on stderr where that is a terminal and the work takes longer than some seconds; True shows it
in any case, False never. A function is called with the work done and the whole of it instead.
"""

LONG_SECONDS = 60.0
"""A computation that takes longer than this is announced."""
_SHOWN_FROM_SECONDS = 3.0
_FIRST_LOOK_SECONDS = 0.5
"""The rate of less than this says little: threads start, and memory is touched for the first time."""
_UPDATE_SECONDS = 0.2
_TELLING = 0.2
"""A run of less than this share of the largest one says little about the time of that."""
_BAR = 30


class LongComputationWarning(UserWarning):
    """The exact computation will take more than a minute; the message says how long, and what else there is.

    Parameters
    ----------
    what : str
        What takes so long, as the beginning of a sentence.
    seconds : float
        How long it will take.
    where : str
        What computes it, such as "2 threads".
    alternatives : str
        What would be quicker.

    Examples
    --------
    >>> import nammd
    >>> print(nammd.LongComputationWarning("comparing 9 with 9 rows", 7000, "2 threads", "wait"))
    comparing 9 with 9 rows will take about 2 h on 2 threads; quicker: wait
    """

    def __init__(self, what: str, seconds: float, where: str, alternatives: str) -> None:
        super().__init__(what, seconds, where, alternatives)
        self.what, self.seconds, self.where, self.alternatives = what, seconds, where, alternatives

    def forecast(self) -> str:
        """Return the message without the alternatives."""
        return f"{self.what} will take {duration(self.seconds)} on {self.where}"

    def __str__(self) -> str:
        return f"{self.forecast()}; quicker: {self.alternatives}"


def warn_of_long_computation(what: str, seconds: float, where: str, alternatives: str) -> None:
    """Warn at the line of the program that called into this package."""
    whole = _PASSES.get()
    if whole is not None and whole.what is not None:
        what = whole.what
    frame, level = sys._getframe(1), 2
    own = ("nammd", "contextlib", "functools")  # the latter two call this package on behalf of itself
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in own:
        frame, level = frame.f_back, level + 1
    warnings.warn(LongComputationWarning(what, seconds, where, alternatives), stacklevel=level)


class _Passes:
    """Several runs of an engine that are one piece of work to the user."""

    def __init__(self, weights: tuple[float, ...] = (), what: str | None = None) -> None:
        self.weights, self.what, self.warned = weights, what, False
        self.begun, self._finished = time.monotonic(), 0
        self._edges = [0.0, *accumulate(weights)]

    @property
    def weight(self) -> float:
        """The weight of the present run."""
        return self.weights[min(self._finished, len(self.weights) - 1)]

    def finish(self) -> None:
        """Count a run as done."""
        self._finished += 1

    def of_all(self, done: float, total: float) -> tuple[float, float]:
        """Return the work done and in all over all runs, from that of the present one."""
        if not self.weights:
            return min(done, total), total
        at = min(self._finished, len(self.weights) - 1)
        before, after = self._edges[at : at + 2]
        return (after if done >= total else before + (after - before) * done / total), self._edges[-1]

    def seconds(self, seconds: float) -> float | None:
        """Return how long all runs take if the present one takes so long; None if it is too small to tell."""
        if not self.weights:
            return seconds
        if self.weight < _TELLING * max(self.weights):
            return None
        return seconds * self._edges[-1] / self.weight


_PASSES: ContextVar[_Passes | None] = ContextVar("nammd_passes", default=None)


@contextmanager
def passes(*weights: float, what: str | None = None) -> Iterator[None]:
    """Let several runs of an engine be one piece of work, with one remaining time and one warning.

    The weights are the shares of the work, one for each run that will follow; without them every run tells of
    itself, but there is one warning at most. `what` begins the warning.
    """
    token = _PASSES.set(_Passes(weights, what))
    try:
        yield
    finally:
        _PASSES.reset(token)


@contextmanager
def aside() -> Iterator[None]:
    """Let small runs of an engine, beside the work that was asked for, pass without a warning."""
    silent = _Passes()
    silent.warned = True
    token = _PASSES.set(silent)
    try:
        yield
    finally:
        _PASSES.reset(token)


class Meter:
    """Tell how far a computation is, from the thread that called it.

    Parameters
    ----------
    progress : bool, callable or None
        How progress is shown; see `Progress`.
    total : float
        The work in all, in kernel values.
    seconds : float, optional
        How long it will take, where that is known beforehand.
    warn : callable, optional
        Called with the seconds in all, once, as soon as they are known to be more than `LONG_SECONDS`.

    Notes
    -----
    A bar, or a function that was given, is updated a few times a second. A function is also called at the
    beginning and at the end.

    Examples
    --------
    >>> from nammd.engines.progress import Meter
    >>> with Meter(lambda done, total: print(f"{done} of {total}"), 4) as meter:
    ...     meter.add(1)
    ...     meter.add(3)
    0 of 4
    4 of 4
    """

    def __init__(
        self,
        progress: Progress,
        total: float,
        seconds: float | None = None,
        warn: Callable[[float], None] | None = None,
    ) -> None:
        self.progress, self.total, self.seconds, self.warn = progress, total, seconds, warn
        self.done: float = 0
        self._told, self._width = -1.0, 0

    def __enter__(self) -> Meter:
        self._whole = _PASSES.get() or _Passes()
        self._begun = self._next_look = time.monotonic()
        if self.seconds is not None:
            self._foresee(self.seconds)
        if self.progress or self.seconds is not None:
            self._look(self._begun)
        else:
            self._next_look += _FIRST_LOOK_SECONDS
        return self

    def add(self, work: float) -> None:
        """Count work that has been done; 0 only brings what is shown up to date."""
        self.done += work
        now = time.monotonic()
        if now >= self._next_look:  # nearly always it is not: this is called for every tile
            self._look(now)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._erase()
        if kind is None:
            self.done = self.total
            self._tell()
            self._whole.finish()

    def _look(self, now: float) -> None:
        self._next_look = now + _UPDATE_SECONDS
        elapsed = now - self._begun
        if self.done > 0 and elapsed >= _FIRST_LOOK_SECONDS:
            self._foresee(elapsed / self.done * self.total)
            self.warn = None
        self._tell()
        if self.progress is not False and not callable(self.progress):
            self._draw(now)

    def _foresee(self, seconds: float) -> None:
        """Warn if this run, or all of which it is one, will take long."""
        of_all = self._whole.seconds(seconds)
        if self.warn is None or of_all is None or of_all <= LONG_SECONDS or self._whole.warned:
            return
        self._whole.warned = True
        self._erase()
        self.warn(of_all)

    def _tell(self) -> None:
        """Tell a function that was given, unless it knows already."""
        if callable(self.progress) and self._told < self.done:
            self._told = self.done
            self.progress(*self._whole.of_all(self.done, self.total))

    def _draw(self, now: float) -> None:
        """Write the line over the one before, if it is wanted."""
        done, total = self._whole.of_all(self.done, self.total)
        elapsed = now - (self._whole.begun if self._whole.weights else self._begun)
        left = _seconds_left(done, total, elapsed)
        left = self.seconds if left is None else left
        if self.progress is None and not (
            left is not None
            and elapsed + left >= _SHOWN_FROM_SECONDS
            and sys.stderr is not None
            and sys.stderr.isatty()
        ):
            return
        share = done / total if total else 1.0
        bar = ("#" * int(share * _BAR)).ljust(_BAR, ".")
        words = "" if left is None else f", {duration(left)} left"
        self._write(f"nammd [{bar}] {share:4.0%}{words}")

    def _write(self, line: str) -> None:
        self._width = max(self._width, len(line))
        _to_stderr("\r" + line.ljust(self._width))

    def _erase(self) -> None:
        if self._width:
            _to_stderr("\r" + " " * self._width + "\r")
            self._width = 0


def _to_stderr(text: str) -> None:
    stream: Any = sys.stderr
    try:
        stream.write(text)
        stream.flush()
    except (AttributeError, OSError, ValueError):
        pass  # there is no stderr, or nobody reads it any more: no reason to stop computing


def comparing(*rows: int) -> str:
    """Say what is computed: within one sample, or across two."""
    if len(rows) == 1:
        return f"comparing {rows[0]:,} rows with each other"
    return f"comparing {rows[0]:,} with {rows[1]:,} rows"


def _seconds_left(done: float, total: float, elapsed: float) -> float | None:
    """Return the time that the rest takes at the rate so far, once that says something."""
    return elapsed / done * (total - done) if elapsed >= _FIRST_LOOK_SECONDS and done > 0 else None


def remaining(done: float, total: float, elapsed: float) -> str:
    """Say how long the rest of the work takes at the rate so far; nothing as long as that is not known."""
    left = _seconds_left(done, total, elapsed)
    return "" if left is None else duration(left)


def duration(seconds: float) -> str:
    """Say how long something takes, as exactly as a forecast can be.

    >>> from nammd.engines.progress import duration
    >>> [duration(seconds) for seconds in (0.2, 7, 47, 100, 4000, 80_000, 1e6)]
    ['about 1 s', 'about 7 s', 'about 45 s', 'about 2 min', 'about 65 min', 'about 22 h', 'about 12 days']
    """
    if seconds < 20:
        return f"about {max(round(seconds), 1)} s"
    if seconds < 90:
        return f"about {5 * round(seconds / 5)} s"
    for unit, size, until in (("min", 60.0, 100), ("h", 3600.0, 48)):
        number = seconds / size
        if number < until:
            return f"about {_rounded(number)} {unit}"
    return f"about {_rounded(seconds / 86400.0)} days"


def _rounded(number: float) -> int:
    """Round to whole numbers, and large ones to five."""
    return round(number) if number < 30 else 5 * round(number / 5)
