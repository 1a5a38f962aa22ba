"""Keys of batches: what a batch is called, when it was, and the order of a stream."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

_DAY = r"(?P<year>\d{4})-?(?P<month>0[1-9]|1[0-2])-?(?P<day>0[1-9]|[12]\d|3[01])"
_CLOCK = r"(?:[T _-]?(?P<hour>[01]\d|2[0-3])(?:[:h-]?(?P<minute>[0-5]\d))?(?:[:m-]?(?P<second>[0-5]\d))?)?"
_MOMENT = re.compile(rf"(?<!\d){_DAY}{_CLOCK}Z?(?!\d)")
_WEEK = re.compile(r"(?<!\d)(?P<year>\d{4})-?W(?P<week>0[1-9]|[1-4]\d|5[0-3])(?!\d)")
_MONTH = re.compile(r"(?<!\d)(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])(?!\d)(?!-\d)")

LONGEST = 200


def as_key(value: Any) -> str:
    """Return a key as text: a text, a date, a time or a number.

    >>> import datetime
    >>> as_key(datetime.date(2026, 3, 1)), as_key(17), as_key(" day 5 ")
    ('2026-03-01', '17', 'day 5')
    """
    if isinstance(value, datetime.datetime):
        text = value.isoformat(timespec="seconds")
    elif isinstance(value, datetime.date):
        text = value.isoformat()
    elif isinstance(value, bool) or not isinstance(value, (str, int)):
        raise TypeError(f"a key must be a text, a date or a whole number, not {value!r}")
    else:
        text = str(value).strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        raise ValueError(f"a key must be a line of 1 to {LONGEST} letters, not {text[:40]!r}")
    return text


@lru_cache(maxsize=2**16)
def time_of(key: str) -> datetime.datetime | None:
    """Return when a batch was, where its key says so: a day, a time, a week or a month.

    >>> [str(time_of(key)) for key in ("sales-2026-03-01", "20260301T0630", "2026-W10", "2026-03", "b17")]
    ['2026-03-01 00:00:00', '2026-03-01 06:30:00', '2026-03-02 00:00:00', '2026-03-01 00:00:00', 'None']
    """
    try:
        if found := _MOMENT.search(key):
            parts = {name: int(value) for name, value in found.groupdict().items() if value is not None}
            return datetime.datetime(**parts)  # type: ignore[arg-type]
        if found := _WEEK.search(key):
            return datetime.datetime.fromisocalendar(int(found["year"]), int(found["week"]), 1)
        if found := _MONTH.search(key):
            return datetime.datetime(int(found["year"]), int(found["month"]), 1)
    except ValueError:  # the thirtieth of February
        return None
    return None


def key_in_name(stem: str) -> str | None:
    """Return the date in the name of a file as a key, where there is one.

    >>> key_in_name("shop-20260301-final"), key_in_name("2026-W10"), key_in_name("batch-17")
    ('2026-03-01', '2026-W10', None)
    """
    when = time_of(stem)
    if when is None:
        return None
    if found := _MOMENT.search(stem):
        return when.isoformat(timespec="seconds") if found["hour"] else when.date().isoformat()
    week = _WEEK.search(stem)
    return week.group(0) if week else when.strftime("%Y-%m")


def in_order(keys: Sequence[str]) -> list[int]:
    """Return the positions of keys in the order of the stream: by time where all tell it, else by name.

    Numbers in names count as numbers.

    >>> in_order(["b10", "b9", "b1"]), in_order(["2026-03-02", "20260301"])
    ([2, 1, 0], [1, 0])
    """
    times = [time_of(key) for key in keys]
    if all(when is not None for when in times):
        return sorted(range(len(keys)), key=lambda i: (times[i], keys[i]))
    return sorted(range(len(keys)), key=lambda i: _natural(keys[i]))


def _natural(key: str) -> tuple[tuple[int, int, str], ...]:
    parts = re.split(r"(\d+)", key.casefold())
    found = [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part]
    return (*found, (-1, 0, key))  # different keys are never equal
