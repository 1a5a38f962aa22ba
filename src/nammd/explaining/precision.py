"""Whether values are rounded more coarsely than before, or more finely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from nammd.explaining.chance import Share, never_so_far
from nammd.explaining.writing import percent

EXPECTED = 20
"""Finer values are missed where so many rows with such are expected."""

LEAST = 0.05
"""And where they were at least this share of the rows."""

_OF_TIMES = ("whole days", "whole hours", "whole minutes", "whole seconds", "milliseconds", "microseconds")
_OF_NUMBERS = (
    "multiples of 1,000",
    "multiples of 100",
    "multiples of 10",
    "whole numbers",
    "at most 1 decimal",
)


Grain: TypeAlias = tuple[float, ...]
"""How many rows are multiples of which step; see `nammd.views.marks.Marks`."""


def coarser(known: Sequence[Grain], now: Grain, clock: str) -> tuple[str, float] | None:
    """Return that values are rounded more coarsely than before, and how many were not; else None.

    Parameters
    ----------
    known : sequence of tuple of float
        The grain of the reference and of accepted datasets, as far as it is known.
    now : tuple of float
        That of the candidate.
    clock : str
        Of times: what their seconds count from.
    """
    if not all(map(sum, (*known, now))):
        return None
    step = _finest(now)
    share = min(sum(each[step + 1 :]) / sum(each) for each in known)
    if share < LEAST or share * sum(now) < EXPECTED:
        return None
    return f"{_words(step, clock)} now, {percent(share)} of rows were finer", share


def finer(known: Sequence[Grain], now: Grain, clock: str) -> tuple[str, float] | None:
    """Return that values have more decimals than any before, and how many do; else None."""
    if not all(map(sum, (*known, now))):
        return None
    step = max(map(_finest, known))
    more = Share(sum(now[step + 1 :]), sum(now))
    if not more.rows or never_so_far(more, sum(known[0])) != "none":
        return None
    return f"{_words(step, clock)} before, {percent(more.value)} of rows are finer now", more.value


def _finest(grain: Sequence[float]) -> int:
    """Return the finest step that some row needs."""
    return max(step for step, rows in enumerate(grain) if rows)


def _words(step: int, clock: str) -> str:
    if clock:
        return _OF_TIMES[step]
    if step < len(_OF_NUMBERS):
        return _OF_NUMBERS[step]
    return f"at most {step - len(_OF_NUMBERS) + 2} decimals"
