"""The cells of a column of a spreadsheet, each of which has a type of its own, as one column: `CellColumn`.

Text among numbers, dates, times or truth values is read as text files are: in one way for all of the column,
which its text alone decides. Where nine of ten values are read so, the others are missing, and it is said.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from nammd.data.series import label_of
from nammd.errors.checks import counted
from nammd.errors.naming import quoted
from nammd.reading.formats import optional
from nammd.reading.text_formats.deciding import ENOUGH, Habits, Texts, look, settle
from nammd.reading.text_formats.forms import BooleanForm, Form
from nammd.reading.text_formats.numbers import NumberForm
from nammd.reading.text_formats.options import Reading
from nammd.reading.text_formats.times import DateForm, TimeForm

ERRORS = frozenset(
    [
        "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA", "#SPILL!",
        "#CALC!", "#FIELD!", "#BLOCKED!", "#CONNECT!", "#UNKNOWN!", "#EXTERNAL!", "#BUSY!", "#PYTHON!",
    ]
)  # fmt: skip
"""What Excel writes into a cell where something went wrong."""

_KINDS: dict[type, str] = {
    bool: "true and false",
    int: "numbers",
    float: "numbers",
    str: "text",
    datetime.datetime: "dates",
    datetime.date: "dates",
    datetime.time: "times of day",
    datetime.timedelta: "durations",
}
_FORMS: dict[str, type[Form]] = {
    "true and false": BooleanForm,
    "numbers": NumberForm,
    "dates": DateForm,
    "times of day": TimeForm,
}


class CellColumn:
    """A column whose cells come block by block.

    Attributes
    ----------
    name : str
        The name of the column.
    notes : list of str
        What there is to say of it, once its values were asked for.
    words : dict
        How often words for missing values stood among other values.
    """

    def __init__(self, owner: str, name: str) -> None:
        self.name = name
        self.notes: list[str] = []
        self.words: dict[str, int] = {}
        self._owner = owner
        self._parts: list[Any] = []
        self._rows: list[Sequence[int]] = []
        self._first: dict[str, tuple[int, Any]] = {}
        self._counts: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()

    def add(self, rows: Sequence[int], cells: list[Any]) -> None:
        """Take cells of further rows, whose numbers are given."""
        for place, cell in enumerate(cells):
            if isinstance(cell, str) and (cell == "" or cell in ERRORS):
                self._errors[cell] += 1
                cells[place] = None
        kinds = {type(cell) for cell in cells} - {type(None)}
        for kind in {_KINDS.get(kind, "other values") for kind in kinds}:
            own = [(row, c) for row, c in zip(rows, cells, strict=True) if _kind(c) == kind]
            self._first.setdefault(kind, own[0])
            self._counts[kind] += len(own)
        self._parts.append(_compact(cells) if len(kinds) == 1 else cells)
        self._rows.append(rows)

    def values(self, reading: Reading) -> Any:
        """Return all values as one column of Arrow's; say in a ValueError what cannot be one."""
        self._errors.pop("", None)
        if self._errors:
            count, examples = sum(self._errors.values()), ", ".join(self._errors)
            self._note(f"{counted(count, 'cell')} with an error ({examples})", "missing", count)
        kinds = set(self._counts)
        if "other values" in kinds or self.name in reading.text:
            return self._as_text()
        if len(kinds) > 1 and "text" in kinds:
            return self._with_text_read(kinds - {"text"}, reading)
        return self._of_one_kind(kinds)

    def _note(self, what: str, becomes: str, count: int) -> None:
        counts = "counts" if count == 1 else "count"
        self.notes.append(f"{self.name!r}: {what} {counts} as {becomes}")

    def _cells(self) -> list[Any]:
        return [
            cell for part in self._parts for cell in (part if isinstance(part, list) else part.to_pylist())
        ]

    def _of_one_kind(self, kinds: set[str]) -> Any:
        pa = optional("pyarrow", "app", "reading tables")
        if len(kinds) > 1:
            raise self._mixed(kinds)
        parts = [part if not isinstance(part, list) else _compact(part) for part in self._parts]
        types = {part.type for part in parts if not pa.types.is_null(part.type)}
        if not types:
            return pa.nulls(sum(map(len, parts)))
        target = types.pop() if len(types) == 1 else pa.float64()  # whole numbers, and others
        return pa.chunked_array([part.cast(target) for part in parts], type=target)

    def _as_text(self) -> Any:
        pa = optional("pyarrow", "app", "reading tables")
        return pa.chunked_array([pa.array([_text(cell) for cell in self._cells()], pa.string())])

    def _with_text_read(self, others: set[str], reading: Reading) -> Any:
        """Return a column of something else than text in which text stands too."""
        if len(others) > 1:
            raise self._mixed(others)
        [kind] = others
        cells = self._cells()
        words = reading.missing
        for place, cell in enumerate(cells):
            if isinstance(cell, str) and cell.strip() in words:
                self.words[cell.strip()] = self.words.get(cell.strip(), 0) + 1
                cells[place] = None
        self.words.pop("", None)
        texts = self._texts(cells)
        form = settle([look(texts, reading)], [texts], Habits()) if texts.texts else None
        known: dict[str, float] = {}
        if form is not None and isinstance(form, _FORMS.get(kind, ())) and not _zoned(form):
            numbers, read, _ = texts.read(form)
            known = {t: n for t, n, ok in zip(texts.texts, numbers, read, strict=True) if ok}
        unread = sum(int(n) for t, n in zip(texts.texts, texts.counts, strict=True) if t not in known)
        present = self._counts[kind] + int(texts.counts.sum())
        if unread > (1 - ENOUGH) * present:
            if kind == "numbers" and not known:
                return self._as_text()  # labels some of which are numbers; nothing is lost
            raise self._mixed({kind, "text"})
        if known and form is not None:
            count = int(texts.counts.sum()) - unread
            self.notes.append(f"{self.name!r}: {counted(count, 'cell')} of text read as {form.words()}")
        if unread:
            example = next(t for t in texts.texts if t not in known)
            self._note(f"{counted(unread, 'cell')} of text, such as {example!r},", "missing", unread)
        done = [_meant(known[c], kind) if c in known else None if isinstance(c, str) else c for c in cells]
        column = CellColumn(self._owner, self.name)
        column.add([row for part in self._rows for row in part], done)
        return column._of_one_kind({kind})

    def _texts(self, cells: Sequence[Any]) -> Texts:
        rows = [row for part in self._rows for row in part]
        counts: Counter[str] = Counter()
        first: dict[str, int] = {}
        for row, cell in zip(rows, cells, strict=True):
            if isinstance(cell, str):
                counts[cell] += 1
                first.setdefault(cell, row - 1)
        sizes, places = np.array(list(counts.values()), np.intp), np.array(list(first.values()), np.intp)
        return Texts(self._owner, self.name, tuple(counts), sizes, places)

    def _mixed(self, kinds: set[str]) -> ValueError:
        shown = sorted((self._first[kind], kind) for kind in kinds if kind in self._first)
        words = " and ".join(f"{kind} (row {row} has {quoted(_text(c) or '')})" for (row, c), kind in shown)
        return ValueError(f"{self._owner} mixes {words} in the column {self.name!r}; write it with one type")


def _kind(cell: Any) -> str:
    return "" if cell is None else _KINDS.get(type(cell), "other values")


def _compact(cells: list[Any]) -> Any:
    """Return cells of one type as Arrow has them, which takes a fraction of the memory."""
    pa = optional("pyarrow", "app", "reading tables")
    try:
        return pa.array(cells)
    except (OverflowError, pa.ArrowInvalid):  # whole numbers beyond 64 bits
        return pa.array([None if cell is None else float(cell) for cell in cells])


def _text(cell: Any) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    return cell.isoformat(" ") if isinstance(cell, datetime.datetime) else label_of(cell)


def _zoned(form: Form | None) -> bool:
    return isinstance(form, DateForm) and form.zoned  # cells with dates know no time zones


def _meant(number: float, kind: str) -> Any:
    """Return what a number that was read from text is among the cells of a column."""
    if kind == "true and false":
        return bool(number)
    if kind == "numbers":
        return float(number)
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=float(number))
    return moment if kind == "dates" else moment.time()
