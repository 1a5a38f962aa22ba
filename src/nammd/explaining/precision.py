"""Whether values are rounded more coarsely than before, or have more decimals: `precision_words`."""

from __future__ import annotations

from collections.abc import Sequence

from nammd.explaining.chance import Share, never_so_far
from nammd.explaining.writing import percent
from nammd.views.marks import steps_of

EXPECTED = 20
"""Finer values are missed where so many rows with such are expected."""

LEAST = 0.05
"""And where they were at least this share of the rows."""

_OF_TIMES = ("whole days", "whole hours", "whole minutes", "whole seconds", "milliseconds", "microseconds")
_OF_NUMBERS = ("multiples of 1,000", "multiples of 100", "multiples of 10", "whole numbers", "1 decimal")


def precision_words(
    known: Sequence[tuple[float, ...]], now: tuple[float, ...], clock: str
) -> tuple[str, float] | None:
    """Return what changed in how values are rounded, and the share of rows that it is about; else None.

    Parameters
    ----------
    known : sequence of tuple of float
        How many rows are multiples of which step, in the reference and in accepted datasets.
    now : tuple of float
        The same in the candidate; see `nammd.views.marks.Marks`.
    clock : str
        Of times: what their seconds count from.
    """
    every = [each for each in known if each]
    if not every or not sum(now):
        return None
    finest = max(_finest(each) for each in every)
    more = Share(sum(now[finest + 1 :]), round(sum(now)))
    if more.rows and never_so_far(more, round(sum(every[0]))):
        before = _words(finest, clock, "at most ")
        return f"{before} before, {percent(more.value)} of rows have more now", more.value
    here = _finest(now)
    share = min(sum(each[here + 1 :]) / sum(each) for each in every)
    if share >= LEAST and share * sum(now) >= EXPECTED:
        return f"{_words(here, clock, 'at most ')} now, {percent(share)} of rows had more", share
    return None


def _finest(grain: Sequence[float]) -> int:
    """Return the finest step that some row needs."""
    return max(step for step, rows in enumerate(grain) if rows)


def _words(step: int, clock: str, at_most: str) -> str:
    if clock:
        return _OF_TIMES[step]
    if step < len(_OF_NUMBERS) - 1:
        return _OF_NUMBERS[step]
    decimals = step - _OF_NUMBERS.index("whole numbers")
    return f"{at_most}{decimals} decimal{'s' if decimals > 1 else ''}" if step < len(steps_of(clock)) else ""
