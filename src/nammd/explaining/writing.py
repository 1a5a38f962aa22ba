"""Values of data as people read them: numbers, shares and times."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

Writer: TypeAlias = Callable[[float], str]

MANY_DAYS = 7 * 86_400.0
"""Where times span more than this, the hour says nothing."""


def readable(value: float) -> str:
    """Write a number of the data for people: four digits, thousands apart, no exponent if possible.

    Examples
    --------
    >>> readable(41234.5), readable(0.5), readable(3.14159), readable(2.0), readable(1e-9)
    ('41,234', '0.5', '3.142', '2', '1e-09')
    """
    size = abs(value)
    if not np.isfinite(value):
        return str(value)
    if size != 0 and (size < 1e-3 or size >= 1e12):
        return f"{value:.4g}"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def percent(share: float) -> str:
    """Write a share for people.

    Examples
    --------
    >>> percent(0.0), percent(0.314), percent(0.0004), percent(0.042)
    ('0 %', '31 %', '< 0.1 %', '4.2 %')
    """
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.1f} %" if 0 < share < 0.0995 else f"{100 * share:.0f} %"


def money(value: float) -> str:
    """Write a number that has at most two decimals.

    >>> money(19.9), money(1234.0)
    ('19.90', '1,234.00')
    """
    return f"{value:,.2f}"


def day(seconds: float) -> str:
    """Write a moment as a day."""
    return moment(seconds)[:10]


def moment(seconds: float) -> str:
    """Write a moment, without the time where that is midnight.

    >>> moment(86400.0), moment(90000.0)
    ('1970-01-02', '1970-01-02 01:00:00')
    """
    if not np.isfinite(seconds):
        return str(seconds)
    return str(np.datetime64(round(seconds), "s")).replace("T", " ").removesuffix(" 00:00:00")


def duration(seconds: float) -> str:
    """Write a duration, or a time of day.

    >>> duration(90061.0)
    '1 d 1:01:01'
    """
    sign, left = ("-" if seconds < 0 else ""), abs(round(seconds))
    days, left = divmod(left, 86_400)
    clock = f"{left // 3600}:{left % 3600 // 60:02d}:{left % 60:02d}"
    return f"{sign}{f'{days:,} d ' if days else ''}{clock}"


def span(seconds: float) -> str:
    """Write how long something is, in its largest unit.

    >>> span(3 * 86400.0), span(5400.0), span(40.0)
    ('3 days', '1.5 hours', '40 seconds')
    """
    for unit, length in (("years", 365.25 * 86400), ("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= length:
            return f"{readable(seconds / length)} {unit if seconds != length else unit[:-1]}"
    return f"{readable(seconds)} seconds"
