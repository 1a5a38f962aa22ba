"""The values of a column as they are meant: words for missing values taken out, numbers and times read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nammd.data.series import label_of
from nammd.data.values import Values
from nammd.errors.advice import Advice
from nammd.reading.text_formats.deciding import ENOUGH, JOINS, Habits, Texts, different, look, settle
from nammd.reading.text_formats.forms import BooleanForm, Form
from nammd.reading.text_formats.numbers import NumberForm, written_with_unit
from nammd.reading.text_formats.options import Reading
from nammd.reading.text_formats.times import DateForm

SUSPECTED_WORDS = frozenset(
    [
        "unknown",
        "none",
        "missing",
        "undefined",
        "not available",
        "n.a.",
        "-",
        "--",
        "?",
        "(null)",
        "tbd",
        "k.a.",
    ]
)
"""Words that often stand for a missing value, and are categories all the same; in lower case."""

SUSPECTED_NUMBERS = np.array([sign * int("9" * k) for k in range(2, 8) for sign in (-1, 1)], dtype=np.float64)
"""Numbers that often stand for a missing value."""

_SUSPECTED = frozenset(SUSPECTED_NUMBERS.tolist())


@dataclass(frozen=True)
class Remark:
    """Something about a column that people should know, and what to do about it.

    Attributes
    ----------
    column : str
        The name of the column.
    sentence : str
        What it is.
    advice : Advice or None
        What to do where that is not meant.
    """

    column: str
    sentence: str
    advice: Advice | None = None

    def in_shell(self) -> str:
        """Say it on the command line."""
        return self._said(None if self.advice is None else self.advice.shell)

    def __str__(self) -> str:
        return self._said(None if self.advice is None else self.advice.python)

    def _said(self, advice: str | None) -> str:
        return f"{self.column!r}: {self.sentence}" + (f"; {advice}" if advice else "")


def texts_of(values: Values, owner: str, column: str) -> Texts:
    """Return the different texts of a column that occur."""
    assert values.codes is not None
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.categories)).astype(np.intp)
    first = np.zeros(len(values.categories) + 1, np.intp)
    first[values.codes[::-1]] = np.arange(len(values.codes))[::-1]
    there = np.flatnonzero(counts)
    texts = tuple(values.categories[k] for k in there)
    return Texts(owner, column, texts, counts[there], first[there])


def without_words(values: Values, name: str, reading: Reading) -> tuple[Values, dict[str, int]]:
    """Return a column with missing values where words stand for them, and how often each word was there.

    A column that is to be compared as text becomes text.
    """
    if values.kind == "numeric" and (name in reading.text or _is_dates(values, reading)):
        values = _labelled(values)
    if values.kind == "numeric" and values.numbers is not None and reading.missing_numbers:
        gone = np.isin(values.numbers, reading.missing_numbers)
        return _without_numbers(values, gone)
    if values.kind != "categorical" or values.codes is None:
        return values, {}
    words = reading.missing
    lost = [k for k, text in enumerate(values.categories) if text.strip() in words]
    if not lost:
        return values, {}
    gone = np.isin(values.codes, lost)
    places, times = np.unique(values.codes[gone], return_counts=True)
    found = {values.categories[k].strip(): int(n) for k, n in zip(places, times, strict=True)}
    found.pop("", None)  # an empty cell is missing, which needs no words
    codes, missing = np.where(gone, -1, values.codes), values.missing | gone
    if missing.all():
        return Values(None, missing), found
    return replace(values, codes=codes, missing=missing), found


def _without_numbers(values: Values, gone: NDArray[np.bool_]) -> tuple[Values, dict[str, int]]:
    assert values.numbers is not None
    found, times = np.unique(values.numbers[gone], return_counts=True)
    missing = values.missing | gone
    words = {label_of(float(value)): int(n) for value, n in zip(found, times, strict=True)}
    if missing.all():
        return Values(None, missing), words
    numbers = np.where(gone, np.nan, values.numbers)
    return replace(values, numbers=numbers, missing=missing), words


def _is_dates(values: Values, reading: Reading) -> bool:
    """Tell whether whole numbers are dates in a pattern that somebody gave, such as 20260131 in %Y%m%d."""
    pattern = reading.date_format or ""
    if not values.whole or "%" not in pattern or values.numbers is None:
        return False
    present = np.unique(values.numbers[~values.missing])
    some = [label_of(float(value)) for value in present[:: max(1, len(present) // 200)]]
    return bool(DateForm("", pattern, "%z" in pattern).read(some)[1].mean() >= ENOUGH)


def _labelled(values: Values) -> Values:
    assert values.numbers is not None
    found, codes = np.unique(values.numbers, return_inverse=True)
    codes = np.where(values.missing, -1, codes)
    names = tuple(label_of(float(value)) for value in found)
    return Values("categorical", values.missing, codes=codes, categories=names, text=True)


@dataclass(frozen=True)
class Unread:
    """Cells of a column that could not be read, and are missing values.

    Attributes
    ----------
    column : str
        The name of the column.
    cells, rows : int
        How many, of how many rows.
    example : str
        One of them.
    words : str
        What they should have been.
    """

    column: str
    cells: int
    rows: int
    example: str
    words: str

    def __add__(self, other: Unread) -> Unread:
        return replace(self, cells=self.cells + other.cells, rows=self.rows + other.rows)

    def __str__(self) -> str:
        return self._said(f" of {self.column!r}")

    def remark(self) -> Remark:
        """Return it as a remark on the column."""
        return Remark(self.column, self._said(""))

    def _said(self, of: str) -> str:
        return (
            f"{self.cells} of {self.rows} values{of} cannot be read as {self.words} and count as missing, "
            f"such as {self.example!r}"
        )


def nearly_all(texts: Texts, form: Form) -> list[Remark]:
    """Return what is to be said about text most of which could be read as something else, but not enough."""
    read = texts.read(form)[1]
    rows, good = int(texts.counts.sum()), int(texts.counts[read].sum())
    if 2 * good <= rows:
        return []
    most = int(np.flatnonzero(~read)[np.argmax(texts.counts[~read])])
    word = texts.texts[most]
    return [
        Remark(
            texts.column,
            f"{good} of {rows} values can be read as {form.words()} and the others cannot, such as {word!r}, "
            "so it is taken as text",
            Advice(
                f"use Reading(na=[{word!r}]) if that stands for a missing value",
                f"use --na {word!r} if that stands for a missing value",
            ),
        )
    ]


def converted(values: Values, texts: Texts, form: Form) -> tuple[Values, Unread | None]:
    """Return a column of text as what a form makes of it, and what could not be read."""
    assert values.codes is not None
    numbers, read, whole = texts.read(form)
    places = {text: k for k, text in enumerate(texts.texts)}
    # By the place among the texts that occur; the last one stands for missing values.
    into = np.array([*(places.get(text, -1) for text in values.categories), -1], np.intp)[values.codes]
    every, good = np.append(numbers, np.nan), np.append(read, False)
    missing = ~good[into]
    unread = None
    if not read.all():
        bad = int(np.flatnonzero(~read)[np.argmin(texts.first[~read])])
        unread = Unread(
            texts.column, int(texts.counts[~read].sum()), len(values.missing), texts.texts[bad], form.words()
        )
    if missing.all():
        return Values(None, missing), unread
    if isinstance(form, BooleanForm):
        codes = np.where(missing, -1, np.nan_to_num(every[into])).astype(np.intp)
        return Values("boolean", missing, codes=codes, categories=("False", "True")), unread
    if isinstance(form, NumberForm):
        unit = form.unit if written_with_unit(texts.texts) else ""
        return Values("numeric", missing, numbers=every[into], whole=whole, unit=unit), unread
    clock = form.clock
    return Values("datetime", missing, numbers=every[into], clock=clock), unread  # type: ignore[arg-type]


def in_form(
    values: Values, form: Form | None, owner: str, name: str, reading: Reading
) -> tuple[Values, Unread | None]:
    """Return a column that a reference holds as numbers or times, where a dataset has written it as text.

    It is read in the form that the reference had, if it was text there too; what the reference did not show,
    such as the mark before decimals where all of its numbers were whole, this dataset tells.
    """
    texts = texts_of(values, owner, name)
    if not texts.texts:
        return Values(None, np.ones(len(values.missing), bool)), None
    open_mark = isinstance(form, NumberForm) and not form.decimal
    if form is None or open_mark:
        own = settle([look(texts, reading)], [texts], Habits())
        if isinstance(form, NumberForm) and isinstance(own, NumberForm):
            form = replace(form, decimal=own.decimal, unit=form.unit or own.unit)
        elif form is None:
            form = own
    if form is None:
        return values, None
    found, unread = converted(values, texts, form)
    if unread is not None and unread.cells > JOINS * int(texts.counts.sum()):
        raise different(texts, form, fixed=True)
    return found, unread


def placeholders(values: Values, words: dict[str, int], name: str, of_rows: int) -> list[Remark]:
    """Return what is to be said about words and numbers that stand, or may stand, for missing values.

    The words were counted in so many rows, of which the values may be some.
    """
    rows, remarks = len(values.missing), []
    if words:
        listed = ", ".join(words)
        kept = "[]" if len(words) == 1 else "[...]"
        remarks.append(
            Remark(
                name,
                f"{sum(words.values())} of {of_rows} values read as missing: {listed}",
                Advice(
                    f"use Reading(na={kept}) if that is a value",
                    "use --na '' if that is a value",
                ),
            )
        )
    remarks += _suspected_words(values, name, rows) + _suspected_numbers(values, name, rows)
    return remarks


def _suspected_words(values: Values, name: str, rows: int) -> list[Remark]:
    if values.kind != "categorical" or values.codes is None:
        return []
    found = [k for k, text in enumerate(values.categories) if text.strip().lower() in SUSPECTED_WORDS]
    remarks = []
    for k in found:
        times, word = int((values.codes == k).sum()), values.categories[k]
        if times:
            remarks.append(_may_be_missing(name, times, rows, word, "which counts as a category"))
    return remarks


def _suspected_numbers(values: Values, name: str, rows: int) -> list[Remark]:
    """Report a number of nines that is far from all others, more than once."""
    if values.kind != "numeric" or values.numbers is None:
        return []
    present = values.numbers[~values.missing]
    remarks: list[Remark] = []
    if float(present.min()) not in _SUSPECTED and float(present.max()) not in _SUSPECTED:
        return remarks  # the first and the last are the only ones that can be far from all others
    for suspect in np.intersect1d(SUSPECTED_NUMBERS, present):
        others = present[~np.isin(present, SUSPECTED_NUMBERS)]
        times = int((present == suspect).sum())
        if times < 2 or not len(others):
            continue
        low, high = float(others.min()), float(others.max())
        if max(low - suspect, suspect - high) > high - low:
            remarks.append(
                _may_be_missing(name, times, rows, label_of(float(suspect)), "far from all others")
            )
    return remarks


def _may_be_missing(name: str, times: int, rows: int, word: str, but: str) -> Remark:
    return Remark(
        name,
        f"{times} of {rows} values are {word}, {but}",
        Advice(
            f"use Reading(na=[{word!r}]) if that stands for a missing value",
            f"use --na {word!r} if that stands for a missing value",
        ),
    )
