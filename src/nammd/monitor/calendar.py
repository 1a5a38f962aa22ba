"""When batches are expected: `Calendar`; and which of those have not come: `Gap`.

A batch is of a period: an hour, a day, a week or a month. Periods that are expected have numbers, in their
order, so that weekends and holidays need no further thought: what lies between two batches is a difference.
Times are those of the keys, taken as universal time.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.monitor.keys import time_of

PERIODS = ("hour", "day", "week", "month")
GRACE = 2
"""So many further periods may end before a batch that has not come is an alarm."""
MOST_GRACE = 10_000
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MOST_HOLIDAYS = 10_000
_SPAN = re.compile(r"(?P<first>[a-z]{3})(?:-(?P<last>[a-z]{3}))?")

Numbers = NDArray[np.int64]
Moments = Sequence[datetime.datetime]


@dataclass(frozen=True)
class Gap:
    """Batches that were expected and have not come.

    Attributes
    ----------
    first, last : str
        The first and the last period, as keys of batches.
    missing : int
        How many there are.
    acknowledged : str
        What was said when somebody acknowledged it; empty where nobody has.
    """

    first: str
    last: str
    missing: int
    acknowledged: str = ""

    @property
    def ends(self) -> tuple[str, str]:
        """The first and the last period."""
        return self.first, self.last

    @property
    def name(self) -> str:
        """What it is called."""
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True)
class Calendar:
    """When batches are expected.

    Attributes
    ----------
    every : str
        How often; other than an hour, a day, a week or a month nothing is expected.
    grace : int or None
        How many further periods may end before a batch that has not come is an alarm; None for never.
    days : str
        On which days of the week, such as ``"mon-fri"``; empty for all.
    holidays : tuple of str
        Days on which there is none, as dates.
    """

    every: str
    grace: int | None = None
    days: str = ""
    holidays: tuple[str, ...] = ()

    @classmethod
    def of(cls, every: str, grace: int | None, days: str | None, holidays: Iterable[Any]) -> Calendar:
        """Read what somebody asked for.

        >>> Calendar.of("day", 2, "Mon-Fri", ["2026-12-25"]).days
        'mon-fri'
        """
        if grace is not None and (type(grace) is not int or not 0 <= grace <= MOST_GRACE):
            raise ValueError(
                f"grace must be a whole number of periods up to {MOST_GRACE}, or None: {str(grace)[:40]!r}"
            )
        words = "" if days is None else "".join(str(days).lower().split())
        free = tuple(sorted({_date(day) for day in holidays}))
        if len(free) > MOST_HOLIDAYS:
            raise ValueError(f"there are {len(free)} holidays; {MOST_HOLIDAYS} can be kept")
        made = cls(every, grace, words, free)
        if not any(made.weekmask):
            raise ValueError(f"on no day of the week a batch is expected with {days!r}")
        if (words or free) and every not in ("hour", "day"):
            raise ValueError("days and holidays are for batches that come every hour or every day")
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return all but how often, as plain values."""
        return {"grace": self.grace, "days": self.days, "holidays": list(self.holidays)}

    @classmethod
    def from_dict(cls, every: str, stored: Mapping[str, Any]) -> Calendar:
        """Return what plain values describe, if it can be."""
        if stored.keys() != {"grace", "days", "holidays"} or type(stored["days"]) is not str:
            raise ValueError("its fields are not those of a calendar")
        if type(stored["holidays"]) is not list or not all(type(each) is str for each in stored["holidays"]):
            raise ValueError("its holidays are no dates")
        return cls.of(every, stored["grace"], stored["days"], stored["holidays"])

    @cached_property
    def weekmask(self) -> list[bool]:
        """On which days of the week batches are expected, Monday first."""
        found = [not self.days] * 7
        for span in self.days.split(",") if self.days else ():
            parts = _SPAN.fullmatch(span)
            if parts is None or any(p is not None and p not in WEEKDAYS for p in parts.groups()):
                raise ValueError(
                    f"days of the week are given as mon-fri or mon,wed,sat, not as {self.days[:40]!r}"
                )
            first = WEEKDAYS.index(parts["first"])
            last = first if parts["last"] is None else WEEKDAYS.index(parts["last"])
            for k in range((last - first) % 7 + 1):
                found[(first + k) % 7] = True
        return found

    @property
    def expects(self) -> bool:
        """Whether anything is expected at all."""
        return self.grace is not None and self.every in PERIODS

    def sentence(self) -> str:
        """Say when batches are expected.

        >>> Calendar.of("day", 2, "mon-fri", ["2026-12-25"]).sentence()
        'A batch is expected every day (mon-fri, but for 1 holiday), and missed when 2 more are due'
        """
        if self.grace is None or self.every not in PERIODS:
            return "No batch is expected at any time: silence is no alarm"
        free = len(self.holidays)
        but = f"but for {free} holiday{'' if free == 1 else 's'}" if free else ""
        when = ", ".join(part for part in (self.days, but) if part)
        more = (
            f"when {self.grace} more {'is' if self.grace == 1 else 'are'} due"
            if self.grace
            else "as soon as its time is over"
        )
        return f"A batch is expected every {self.every}{f' ({when})' if when else ''}, and missed {more}"

    def gaps(self, keys: Sequence[str], came: str, now: datetime.datetime | None) -> list[tuple[int, int]]:
        """Return which periods have no batch though it is overdue: the numbers of the first and the last.

        Parameters
        ----------
        keys : sequence of str
            Of the batches, in their order; where one tells no time only the silence since the last is known.
        came : str
            When the last batch came, or the stream began, in universal time.
        now : datetime or None
            The time. None for that of the last batch: what is missing before it is known without a clock.
        """
        if self.grace is None or self.every not in PERIODS:
            return []
        times = [when for when in map(time_of, keys) if when is not None]
        if not keys or len(times) < len(keys):
            since = None if now is None else _moment(came, datetime.timedelta() if keys else self._period)
            if since is None:
                return []
            times = [since]
        before = self._before(times)
        after = self._after(times, before)
        ended = after[-1] if now is None else self._before([universal(now)])[0]
        starts, ends = after, np.append(before[1:], np.iinfo(np.int64).max) - 1
        ends = np.minimum(ends, ended - 1 - self.grace)
        return [(int(a), int(b)) for a, b in zip(starts, ends, strict=True) if a <= b]

    def named(self, first: int, last: int, acknowledged: str = "") -> Gap:
        """Return the gap of some numbers of periods."""
        return Gap(self._key(first), self._key(last), last - first + 1, acknowledged)

    def numbers(self, name: str) -> tuple[int, int] | None:
        """Return the numbers of the first and the last period of a gap; None where it names none."""
        ends = [time_of(key) for key in name.split(" to ")]
        known = [when for when in ends if when is not None]
        if self.every not in PERIODS or len(known) < len(ends):
            return None
        found = self._before(known)
        return int(found[0]), int(found[-1])

    def unbroken(self, keys: Sequence[str]) -> bool:
        """Tell whether batches are those of neighbouring periods, one of each."""
        times = [when for when in map(time_of, keys) if when is not None]
        if self.every not in PERIODS or len(times) < len(keys):
            return False
        return bool((np.diff(self._before(times)) == 1).all())

    @property
    def _period(self) -> datetime.timedelta:
        lengths = {"hour": {"hours": 1}, "day": {"days": 1}, "week": {"days": 7}, "month": {"days": 31}}
        return datetime.timedelta(**lengths[self.every])

    @property
    def _rules(self) -> dict[str, Any]:
        return {"weekmask": self.weekmask, "holidays": np.array(self.holidays, dtype="datetime64[D]")}

    def _before(self, times: Moments) -> Numbers:
        """Return how many expected periods there are before those of some moments."""
        if self.every == "month":
            return np.array([12 * when.year + when.month for when in times], np.int64)
        if self.every == "week":
            return np.array([(when.toordinal() - 1) // 7 for when in times], np.int64)
        days = np.array([when.date() for when in times], dtype="datetime64[D]")
        found: Numbers = np.busday_count(_FIRST, days, **self._rules).astype(np.int64)
        if self.every == "day":
            return found
        open_days = np.is_busday(days, **self._rules)
        hours: Numbers = np.where(open_days, [when.hour for when in times], 0).astype(np.int64)
        counted: Numbers = 24 * found + hours
        return counted

    def _after(self, times: Moments, before: Numbers) -> Numbers:
        """Return how many there are up to those of some moments, and with them."""
        if self.every in ("month", "week"):
            return before + 1
        days = np.array([when.date() for when in times], dtype="datetime64[D]")
        found: Numbers = before + np.is_busday(days, **self._rules)
        return found

    def _key(self, number: int) -> str:
        """Return what a batch of a period would be called."""
        if self.every == "month":
            year, month = divmod(number - 1, 12)
            return f"{year:04d}-{month + 1:02d}"
        if self.every == "week":
            year, week, _ = datetime.date.fromordinal(7 * number + 1).isocalendar()
            return f"{year:04d}-W{week:02d}"
        count, hour = divmod(number, 24) if self.every == "hour" else (number, 0)
        day = np.busday_offset(_FIRST, count, roll="forward", **self._rules)
        return f"{day}T{hour:02d}:00:00" if self.every == "hour" else str(day)


_FIRST = np.datetime64("0001-01-01")


def universal(when: datetime.datetime) -> datetime.datetime:
    """Return a moment in universal time, as keys have it: without a zone."""
    return when if when.tzinfo is None else when.astimezone(datetime.UTC).replace(tzinfo=None)


def _moment(text: str, earlier: datetime.timedelta) -> datetime.datetime | None:
    try:
        return universal(datetime.datetime.fromisoformat(text)) - earlier
    except (ValueError, OverflowError):  # a file may have been edited
        return None


def holidays_in(text: str) -> list[str]:
    r"""Return the dates in a text of one on each line; what follows a date, or a ``#``, is ignored.

    >>> holidays_in("# Germany\n2026-12-25 Christmas\n\n2027-01-01\n")
    ['2026-12-25', '2027-01-01']
    """
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    return [_date(re.split(r"[\s,;]", line)[0]) for line in lines if line]


def _date(value: Any) -> str:
    try:
        return datetime.date.fromisoformat(str(value)[:10]).isoformat()
    except ValueError:
        raise ValueError(
            f"a holiday is given as a date such as 2026-12-25, not as {str(value)[:40]!r}"
        ) from None
