"""What somebody says about how data are written: `Reading`."""

from __future__ import annotations

import codecs
import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from nammd.reading.text_formats.times import NAMED_ORDERS

MISSING_WORDS = (
    "", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NaT", "NULL",
    "null", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",
)  # fmt: skip
"""What stands for a missing value, unless somebody says otherwise."""


@dataclass(frozen=True)
class Reading:
    """How data are written, where that should not be inferred.

    Numbers and dates that are written as text are read as what they are, and how they are written is decided
    by looking at all of a column. Here somebody says it instead.

    Parameters
    ----------
    decimal : {".", ","}, optional
        What stands before decimals.
    thousands : str, optional
        What stands between thousands: ``","``, ``"."``, ``" "`` or ``"'"``; ``""`` for nothing.
    date_format : str, optional
        ``"day-first"``, ``"month-first"`` or ``"year-first"``, or a pattern such as ``"%d.%m.%Y"`` in the
        letters of ``datetime.strptime``.
    na : sequence of str, optional
        What stands for a missing value, besides an empty cell, instead of the usual words such as NA, n/a and
        NULL. Numbers count too: ``["-999"]``. An empty list leaves empty cells only.
    text : sequence of str
        Columns to be compared as text, whatever they look like: codes, postcodes.
    encoding : str, optional
        The encoding of text files, such as ``"latin-1"``; by default UTF-8, UTF-16 with its mark, or
        Windows-1252 where the bytes are plainly that.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import nammd
    >>> table = pa.table({"price": ["1.234,50", "12,30", "7,00"], "size": ["1.250", "800", "950"]})
    >>> print(nammd.Space.fit(table, reading=nammd.tables.Reading(decimal=",")).encoding)
    Encoding of 2 columns in 4 slots
      price  numeric      centred at 12.3, one unit is 455
      size   numeric      centred at 950, one unit is 166.8
    Read as
      price  numbers with decimal commas
      size   numbers with decimal commas
    """

    decimal: str | None = None
    thousands: str | None = None
    date_format: str | None = None
    na: tuple[str, ...] | None = None
    text: tuple[str, ...] = ()
    encoding: str | None = None

    def __post_init__(self) -> None:
        for name in ("na", "text"):
            given = getattr(self, name)
            if given is None:
                continue
            if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
                raise TypeError(f"{name} must be a list of texts, such as ['NA'], not {given!r}")
            object.__setattr__(self, name, tuple(map(str, given)))
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be '.' or ',', not {self.decimal!r}")
        if self.thousands not in (None, "", ".", ",", " ", "'"):
            raise ValueError(f"thousands must be ',', '.', ' ', \"'\" or nothing, not {self.thousands!r}")
        if self.thousands and self.thousands == self.decimal:
            raise ValueError(f"decimal and thousands must differ; both are {self.decimal!r}")
        if self.date_format is not None and self.date_format not in NAMED_ORDERS:
            _require_pattern(self.date_format)
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except (LookupError, TypeError):
                raise ValueError(
                    f"there is no encoding {self.encoding!r}; known are utf-8, utf-16, latin-1, cp1252 and "
                    "all others of Python"
                ) from None

    @classmethod
    def of(cls, reading: Reading | None) -> Reading:
        """Return what was said, or nothing."""
        if reading is None:
            return cls()
        if not isinstance(reading, cls):
            raise TypeError(f"reading must be a Reading, such as Reading(decimal=','), not {reading!r}")
        return reading

    @property
    def missing(self) -> frozenset[str]:
        """The texts that stand for a missing value."""
        return frozenset(MISSING_WORDS if self.na is None else ("", *self.na))

    @property
    def missing_numbers(self) -> tuple[float, ...]:
        """The numbers that stand for a missing value."""
        found = []
        for word in self.na or ():
            try:
                found.append(float(word))
            except ValueError:
                continue
        return tuple(found)

    def with_text(self, names: Iterable[str]) -> Reading:
        """Return it with further columns whose cells files are to leave as text."""
        return replace(self, text=tuple(dict.fromkeys([*self.text, *names])))

    def given(self) -> dict[str, Any]:
        """Return what was said, ready for JSON; empty where nothing was."""
        blank = Reading()
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in found.items()
            if value != getattr(blank, name)
        }

    @classmethod
    def from_dict(cls, data: Any) -> Reading:
        """Return what `given` wrote; a ValueError names the field that is wrong."""
        known = {f.name for f in fields(cls)}
        if not isinstance(data, Mapping) or set(data) - known:
            raise ValueError("reading must be a dictionary of options of Reading")
        return cls(**data)


def _require_pattern(pattern: str) -> None:
    now = datetime.datetime(2001, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
    try:
        if "%" in pattern:
            datetime.datetime.strptime(now.strftime(pattern), pattern)
            return
    except ValueError:
        pass
    raise ValueError(
        f"date_format must be 'day-first', 'month-first', 'year-first' or a pattern such as '%d.%m.%Y', not "
        f"{pattern!r}"
    )
