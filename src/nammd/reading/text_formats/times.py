"""Times that are written as text: 2026-01-31, 31.12.1990, 12/31/1990 5:30 PM, 31 Dec 1990, 17:45."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ORDERS = {"dmy": "the day first", "mdy": "the month first", "ymd": "the year first"}
NAMED_ORDERS = {"day-first": "dmy", "month-first": "mdy", "year-first": "ymd"}
"""What orders are called in options."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august",
         "sep sept september", "oct october", "nov november", "dec december"), 1
    )
    for name in names.split()
}  # fmt: skip

_CLOCK = (
    r"(?P<h>\d{1,2}):(?P<min>\d{2})(?::(?P<s>\d{2})(?:[.,](?P<f>\d{1,9}))?)?\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
)
_ZONE = r"\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?"
_AFTER = rf"(?:(?:T|,?\s+){_CLOCK}{_ZONE})?"
_NUMERIC = re.compile(
    rf"(?P<a>\d{{1,4}})(?P<sep>[-./])\s?(?P<b>\d{{1,2}})(?P=sep)\s?(?P<c>\d{{1,4}}){_AFTER}"
)
_WEEKDAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\.?,?\s+)?"
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?\.?"
_DAY_MONTH = re.compile(
    rf"{_WEEKDAY}{_DAY}[-\s/]*(?P<m>[A-Za-z]{{3,9}})\.?,?[-\s/]+(?P<y>\d{{4}}|\d{{2}}){_AFTER}"
)
_MONTH_DAY = re.compile(
    rf"{_WEEKDAY}(?P<m>[A-Za-z]{{3,9}})\.?[-\s]+{_DAY},?[-\s]+(?P<y>\d{{4}}|\d{{2}}){_AFTER}"
)
_TIME = re.compile(_CLOCK)

_EPOCH = datetime.date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Moment:
    """The fields of a cell that may be a moment.

    Attributes
    ----------
    fields : tuple of three ints
        As they stand in the cell; year, month, day where the month has a name.
    digits : tuple of two ints
        How many digits the first and the last have.
    dotted, named : bool
        Whether there are points between them; whether the month has a name.
    seconds : float
        Since midnight; in UTC where there is a time zone.
    zoned : bool
        Whether there is one.
    """

    fields: tuple[int, int, int]
    digits: tuple[int, int]
    dotted: bool
    named: bool
    seconds: float
    zoned: bool

    @classmethod
    def of(cls, text: str) -> Moment | None:
        """Take a cell apart; None where it is no moment."""
        text = text.strip()
        found = _NUMERIC.fullmatch(text)
        if found is not None:
            fields = int(found["a"]), int(found["b"]), int(found["c"])
            digits, dotted, named = (len(found["a"]), len(found["c"])), found["sep"] == ".", False
        else:
            found = _DAY_MONTH.fullmatch(text) or _MONTH_DAY.fullmatch(text)
            if found is None or found["m"].lower() not in _MONTHS:
                return None
            fields = int(found["y"]), _MONTHS[found["m"].lower()], int(found["d"])
            digits, dotted, named = (len(found["y"]), len(found["d"])), False, True
        if 3 in digits:
            return None
        seconds = 0.0 if found["h"] is None else _since_midnight(found)
        if seconds is None:
            return None
        zone = found["zone"]
        return cls(fields, digits, dotted, named, seconds - _offset(zone), zone is not None)

    def orders(self) -> tuple[str, ...]:
        """Return the orders in which it is a day of the calendar."""
        if self.named or self.digits[0] == 4:
            return ("",) if self.day("ymd") is not None else ()
        possible = ("dmy", "mdy") if self.digits[1] == 4 else ("dmy", "mdy", "ymd")
        return tuple(order for order in possible if self.day(order) is not None)

    def day(self, order: str) -> int | None:
        """Return the day in days since 1970, read in an order; None where there is no such day."""
        if self.named or self.digits[0] == 4:
            order = "ymd"
        by_name = dict(zip(order, self.fields, strict=True))
        year = by_name["y"]
        if self.digits[0 if order == "ymd" else 1] <= 2:
            year += 2000 if year < 69 else 1900
        elif order != "ymd" and self.digits[1] != 4:
            return None
        try:
            return datetime.date(year, by_name["m"], by_name["d"]).toordinal() - _EPOCH
        except ValueError:
            return None


@dataclass(frozen=True)
class DateForm:
    """How the dates of a column are written.

    Attributes
    ----------
    order : {"", "dmy", "mdy", "ymd"}
        In which order day, month and year stand; empty where every cell tells by itself (2026-01-31).
    pattern : str
        A pattern of ``strptime``, which then decides everything.
    zoned : bool
        Whether they have a time zone.
    """

    order: str = ""
    pattern: str = ""
    zoned: bool = False

    @property
    def clock(self) -> str:
        """What the seconds count from."""
        return "zoned" if self.zoned else "local"

    def read(self, texts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_], bool]:
        """Return seconds since 1970, and which of the texts could be read."""
        seconds = np.array([self._seconds(text) for text in texts], dtype=np.float64)
        return seconds, ~np.isnan(seconds), False

    def _seconds(self, text: str) -> float:
        if self.pattern:
            try:
                moment = datetime.datetime.strptime(text.strip(), self.pattern)
            except ValueError:
                return np.nan
            if (moment.tzinfo is not None) != self.zoned:
                return np.nan
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=datetime.UTC)
            return (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)).total_seconds()
        found = Moment.of(text)
        if found is None or found.zoned != self.zoned or (not self.order and "" not in found.orders()):
            return np.nan
        day = found.day(self.order or "ymd")
        return np.nan if day is None else day * 86400.0 + found.seconds

    def words(self) -> str:
        """Say how they are written."""
        if self.pattern:
            return f"dates written as {self.pattern}"
        return "dates" + (f", {ORDERS[self.order]}" if self.order else "")

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"kind": "date", "order": self.order, "pattern": self.pattern, "zoned": self.zoned}


@dataclass(frozen=True)
class TimeForm:
    """Times of day, such as 17:45 and 5:45 PM."""

    clock = "time of day"

    def read(self, texts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_], bool]:
        """Return seconds since midnight, and which of the texts could be read."""
        found = (_TIME.fullmatch(text.strip()) for text in texts)
        seconds = [None if each is None else _since_midnight(each) for each in found]
        values = np.array([np.nan if each is None else each for each in seconds], dtype=np.float64)
        return values, ~np.isnan(values), False

    def words(self) -> str:
        """Say what they are."""
        return "times of day"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"kind": "time"}


def _since_midnight(found: re.Match[str]) -> float | None:
    hours, minutes, seconds = int(found["h"]), int(found["min"]), int(found["s"] or 0)
    if found["half"]:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + (12 if found["half"][0] in "pP" else 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    return hours * 3600.0 + minutes * 60.0 + seconds + float(f"0.{found['f'] or 0}")


def _offset(zone: str | None) -> float:
    """Return how far a zone is ahead of UTC, in seconds."""
    if zone is None or zone[0] not in "+-":
        return 0.0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (1 if zone[0] == "+" else -1) * (int(digits[:2]) * 3600.0 + int(digits[2:]) * 60.0)
