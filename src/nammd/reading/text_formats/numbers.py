"""Numbers that are written as text: 1.234,50 and 1,234.50, €12 and 12 %, (3.20) and 1 200-, 7.5 kg.

A cell says by itself how it is meant where it has two kinds of marks (1.234,50), a mark twice (1.234.567), or
anything but three digits behind its only mark (12,5). The rest, such as 1.234, is decided by the other cells
of the column, and then by the other columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CURRENCIES = {
    "EUR": "€", "USD": "$", "US$": "$", "GBP": "£", "JPY": "¥", "INR": "₹", "RUB": "₽", "KRW": "₩",
    "TRY": "₺",
    **{code: code for code in (
        "CHF", "CNY", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "BGN", "ISK", "CAD", "AUD", "NZD",
        "HKD",
        "SGD", "BRL", "MXN", "ZAR", "ILS", "AED", "SAR", "THB", "IDR", "MYR", "PHP", "VND", "UAH", "TWD",
        "R$", "A$", "C$", "NZ$", "HK$", "S$", "kr", "zł", "Kč", "Ft", "Fr.", "lei", "лв",
    )},
    **{sign: sign for sign in "€$£¥₹₽₩₺₫฿₴₦₪"},
}  # fmt: skip

_SIGNS = frozenset([*_CURRENCIES.values(), "%", "‰"])

_UNIT = "|".join(map(re.escape, sorted(_CURRENCIES, key=len, reverse=True)))
_MEASURE = r"°\s?[CFK]|[^\W\d_]{1,12}(?:[/·][^\W\d_]{1,8})?[23²³]?"
_SPACES = " \u00a0\u2009\u202f"
_APOSTROPHES = "'’"

_CELL = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+−–]?)\s*(?P<before>{_UNIT})?\s*(?P<inner>[-+−–]?)"
    rf"(?P<body>\d[\d.,{_APOSTROPHES}{_SPACES}]*|[.,]\d+)(?P<power>[eE][-+]?\d+)?"
    rf"\s*(?:(?P<after>{_UNIT}|%|‰)|(?P<measure>{_MEASURE}))?\s*(?P<minus>-?)(?P<close>\))?"
)
_PLAIN = {
    mark: re.compile(rf"[-+]?(\d+[{mark}]?\d*|[{mark}]\d+)([eE][-+]?\d+)?", re.ASCII) for mark in (".", ",")
}
_MARKS = re.compile(rf"[.,{_APOSTROPHES}{_SPACES}]")

_SOME = 300

MARKS = (".", ",")
"""What may stand before decimals."""


@dataclass(frozen=True)
class NumberForm:
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : {"", ".", ","}
        What stands before decimals; empty where no cell told.
    thousands : str or None
        What stands between thousands; None for whatever does not stand before decimals.
    unit : str
        The currency or percent sign of the cells that have one, or the unit that all of them have.
    """

    decimal: str = ""
    thousands: str | None = None
    unit: str = ""

    def read(self, texts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_], bool]:
        """Return the numbers, which of the texts could be read, and whether all of these are whole."""
        decimal = self.decimal or "."
        plain = _PLAIN[decimal]
        values, read = np.full(len(texts), np.nan), np.zeros(len(texts), bool)
        whole = self.unit == ""
        for place, text in enumerate(texts):
            if self.unit != "%" and plain.fullmatch(text):
                number = float(text.replace(",", "."))
                whole &= text.lstrip("+-").isdigit()
            else:
                cell = Cell.of(text)
                found = None if cell is None else cell.value(decimal, self.thousands, self.unit)
                if found is None:
                    continue
                number = found
                whole &= number.is_integer() and decimal not in text
            values[place], read[place] = number, np.isfinite(number)
        values[~read] = np.nan
        return values, read, bool(whole and (np.abs(values[read]) < 2.0**63).all())

    def words(self) -> str:
        """Say how they are written."""
        parts = {",": ["decimal commas"], ".": ["decimal points"], "": []}[self.decimal]
        if self.thousands:
            parts.append(f"{_NAMES.get(self.thousands, self.thousands)} between thousands")
        if self.unit:
            sign = "the sign" if is_sign(self.unit) else "the unit"
            parts.append("percent signs" if self.unit == "%" else f"{sign} {self.unit}")
        return "numbers" + (f" with {' and '.join(parts)}" if parts else "")

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"kind": "number", "decimal": self.decimal, "thousands": self.thousands, "unit": self.unit}


_NAMES = {".": "points", ",": "commas", " ": "spaces", "'": "apostrophes"}


@dataclass(frozen=True)
class Cell:
    """The parts of a cell that may be a number: sign, unit, digits with marks, power of ten."""

    negative: bool
    unit: str
    body: str
    power: str
    apart: bool = True
    """Whether a unit of measure is set apart: 12 A is twelve, 12A may be a door."""

    @classmethod
    def of(cls, text: str) -> Cell | None:
        """Take a cell apart; None where it is no number."""
        found = _CELL.fullmatch(text.strip())
        if found is None:
            return None
        signs = [sign for sign in (found["sign"], found["inner"], found["minus"]) if sign]
        units = [unit for unit in (found["before"], found["after"], found["measure"]) if unit]
        if len(signs) > 1 or len(units) > 1 or bool(found["open"]) != bool(found["close"]):
            return None
        if found["open"] and signs:
            return None
        unit = _CURRENCIES.get(units[0], units[0]) if units else ""
        body = found["body"].strip()
        for spaces, one in ((_SPACES, " "), (_APOSTROPHES, "'")):
            body = re.sub(f"[{spaces}]", one, body)
        negative = bool(found["open"]) or (bool(signs) and signs[0] != "+")
        apart = not found["measure"] or found.string[found.start("measure") - 1] in _SPACES
        return cls(negative, unit, body, found["power"] or "", apart)

    def tells(self) -> str:
        """Return which mark stands before decimals: '.' or ','; '?' where it may be either, '' where none."""
        marks: list[str] = _MARKS.findall(self.body)
        points = [mark for mark in marks if mark in MARKS]
        if not points:
            return ""
        kinds = set(points)
        if len(kinds) == 2:
            return points[-1]
        if len(points) > 1:
            return _other(points[0])
        whole, _, decimals = self.body.rpartition(points[0])
        if len(decimals) == 3 and 1 <= len(whole) <= 3 and whole[0] != "0" and len(marks) == 1:
            return "?" + points[0] if not self.power else points[0]
        return points[0]

    def value(self, decimal: str, thousands: str | None, unit: str) -> float | None:
        """Return the number; None where it is not written in this way."""
        whole, mark, decimals = self.body.partition(decimal)
        if (mark and decimals and not decimals.isdigit()) or not (whole or decimals):
            return None
        if self.unit != unit and (self.unit or unit == "%"):
            return None  # another currency, or a number that may or may not mean percent
        marks = set(whole) - set("0123456789")
        if marks:
            allowed = set(" '") | {_other(decimal)} if thousands is None else {thousands}
            [mark, *more] = marks
            if more or mark not in allowed or not _grouped(whole, mark):
                return None
            whole = whole.replace(mark, "")
        number = float(f"{whole or '0'}.{decimals or '0'}{self.power}")
        number /= {"%": 100, "‰": 1000}.get(self.unit, 1)
        return -number if self.negative else number


def written_with_unit(texts: Sequence[str]) -> bool:
    """Tell whether some of the numbers among texts have a unit; a few hundred of them tell."""
    some = texts[:: max(1, len(texts) // _SOME)]
    return any((cell := Cell.of(text)) is not None and cell.unit for text in some)


def is_sign(unit: str) -> bool:
    """Tell whether a unit is that of a currency, or percent, which some cells may go without."""
    return unit in _SIGNS


def measured_in(cells: Sequence[Cell | None]) -> str:
    """Return the unit of measure that all cells of a column have; empty where they do not.

    Words behind numbers are no units where they differ (1 star, 2 stars), nor where they may be part of a
    name (12A): then they are set apart, or there are decimals.
    """
    units = {None if cell is None else cell.unit for cell in cells}
    if len(units) != 1 or len(cells) < 2:
        return ""
    [unit] = units
    if not unit or is_sign(unit):
        return ""
    plain = all(cell is not None and cell.apart for cell in cells)
    decimals = any(cell is not None and any(mark in cell.body for mark in MARKS) for cell in cells)
    return unit if plain or decimals else ""


def _other(mark: str) -> str:
    return "," if mark == "." else "."


def _grouped(whole: str, mark: str) -> bool:
    """Tell whether marks stand where those between thousands do; also 12,34,567, as in India."""
    first, *groups = whole.split(mark)
    middle = all(len(group) in (2, 3) for group in groups[:-1])
    return first[:1] != "0" and 1 <= len(first) <= 3 and middle and len(groups[-1]) == 3
