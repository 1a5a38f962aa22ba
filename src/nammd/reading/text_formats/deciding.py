"""How a column of text is written, decided over all of it.

One dataset is looked at by `look`, and the looks at all datasets of a fit are brought together by `settle`.
What a column does not tell by itself, the other columns of the table may: whoever writes 12,50 in one column
writes 1.234 in another to mean a thousand. What nobody tells is an error, which names two rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.errors.advice import Advice, refusal
from nammd.reading.text_formats.forms import BooleanForm, Form
from nammd.reading.text_formats.numbers import MARKS, Cell, NumberForm, is_sign, measured_in
from nammd.reading.text_formats.options import Reading
from nammd.reading.text_formats.times import NAMED_ORDERS, ORDERS, DateForm, Moment, TimeForm

ENOUGH = 0.9
"""The share of cells that must be readable before a column of text counts as numbers or times."""

JOINS = 0.5
"""The share that must be readable where another dataset has told how the column is written."""

_FIRST_LOOK = 200

_MANY = 20_000
"""So many different texts tell how numbers are written, unless none of them tells."""


@dataclass(frozen=True, eq=False)
class Texts:
    """The different texts of a column without its missing values, how often each occurs, and where first.

    Attributes
    ----------
    owner, column : str
        What messages call the dataset, and the column.
    texts : tuple of str
        The texts.
    counts, first : array of int
        In how many rows each is, and the first of them.
    """

    owner: str
    column: str
    texts: tuple[str, ...]
    counts: NDArray[np.intp]
    first: NDArray[np.intp]
    _kept: dict[Form, Any] = field(default_factory=dict, init=False, repr=False)

    def read(self, form: Form) -> tuple[NDArray[np.float64], NDArray[np.bool_], bool]:
        """Return what a form makes of the texts; it is asked once."""
        if form not in self._kept:
            self._kept.clear()
            self._kept[form] = form.read(self.texts)
        return self._kept[form]  # type: ignore[no-any-return]

    def some(self, most: int) -> Texts:
        """Return some of the texts that stand for all."""
        step = max(1, len(self.texts) // most)
        if step == 1:
            return self
        return Texts(self.owner, self.column, self.texts[::step], self.counts[::step], self.first[::step])

    def share(self, readable: NDArray[np.bool_]) -> float:
        """Return the share of rows whose text is readable."""
        return float(self.counts[readable].sum() / max(1, self.counts.sum()))

    def cell(self, place: int) -> str:
        """Name a row and what it has."""
        return f"row {int(self.first[place]) + 1} has {self.texts[place]!r}"


@dataclass(frozen=True)
class Look:
    """What a look at one dataset tells.

    Attributes
    ----------
    form : Form or None
        How the column is written; None for text that is just text.
    unsure : tuple of int
        Two texts that may be read in two ways, where nothing decides between them.
    default : str
        The mark that then stands before decimals if no other column tells.
    nearly : Form or None
        Of text: how many of the cells are written, but too few.
    """

    form: Form | None = None
    unsure: tuple[int, ...] = ()
    default: str = ""
    nearly: Form | None = None


@dataclass
class Habits:
    """What the other columns of the table tell: the marks before decimals, and the orders of dates."""

    decimals: set[str] = field(default_factory=set)
    orders: set[str] = field(default_factory=set)

    def note(self, form: Form | None) -> None:
        """Take note of a column that is decided."""
        if isinstance(form, NumberForm) and form.decimal:
            self.decimals.add(form.decimal)
        if isinstance(form, DateForm) and form.order:
            self.orders.add(form.order)


def look(texts: Texts, reading: Reading) -> Look:
    """Look at the texts of a column in one dataset."""
    every = texts.texts
    if not every:
        return Look()
    if len(every) <= 6 and all(text.strip().lower() in ("true", "false") for text in every):
        return Look(BooleanForm())
    pattern = reading.date_format or ""
    if pattern and pattern not in NAMED_ORDERS:
        form = DateForm("", pattern, "%z" in pattern)
        if _reads(form, texts) >= ENOUGH:
            return Look(form)
    some, nearly = every[:: max(1, len(every) // _FIRST_LOOK)], None
    if 2 * sum(Cell.of(text) is not None for text in some) > len(some):
        found = _look_at_numbers(texts, reading)
        if found.form is not None:
            return found
        nearly = found.nearly
    if 2 * sum(Moment.of(text) is not None for text in some) > len(some):
        return _look_at_dates(texts, reading)
    if 2 * int(TimeForm().read(some)[1].sum()) > len(some) and _reads(TimeForm(), texts) >= ENOUGH:
        return Look(TimeForm())
    return Look(nearly=nearly)


def _reads(form: Form, texts: Texts) -> float:
    return texts.share(texts.read(form)[1])


def _look_at_numbers(texts: Texts, reading: Reading) -> Look:
    if any(text[0] == "0" and len(text) > 1 and text.isdigit() for text in texts.texts if text):
        return Look()  # 00123 is a code, and so are its neighbours
    found = _number_form(texts.some(_MANY), reading)
    if found.unsure or (isinstance(found.form, NumberForm) and not found.form.decimal):
        # Nothing was told: all of the column is asked.
        found = _number_form(texts, reading)
    if found.form is None or found.unsure:
        return found
    return found if _reads(found.form, texts) >= ENOUGH else Look(nearly=found.form)


def _number_form(texts: Texts, reading: Reading) -> Look:
    """Return how numbers are written, if they are numbers."""
    cells = [Cell.of(text) for text in texts.texts]
    signs = [cell.unit if cell and is_sign(cell.unit) else "" for cell in cells]
    unit = measured_in(cells) or _commonest(signs, texts)
    told = [cell.tells() if cell else "" for cell in cells]
    decimal = reading.decimal or ("" if reading.thousands not in MARKS else MARKS[reading.thousands == "."])
    if not decimal:
        weights = {mark: int(texts.counts[[t == mark for t in told]].sum()) for mark in MARKS}
        decimal = max(MARKS, key=lambda mark: weights[mark]) if any(weights.values()) else ""
    either = [k for k, mark in enumerate(told) if mark.startswith("?")]
    form = NumberForm(decimal, reading.thousands, unit)
    if decimal or not either:
        return Look(form)
    marks = {told[k] for k in either}
    if marks == {"?."} and len(either) == len(texts.texts):
        return Look(form, _two(either), ".")  # 1.234 and 5.678 throughout: as programs write numbers
    return Look(form, _two(either)) if len(texts.texts) > 1 else Look()


def _commonest(units: Sequence[str], texts: Texts) -> str:
    weights: dict[str, int] = {}
    for unit, count in zip(units, texts.counts, strict=True):
        if unit:
            weights[unit] = weights.get(unit, 0) + int(count)
    return max(weights, key=lambda unit: (weights[unit], unit)) if weights else ""


def _look_at_dates(texts: Texts, reading: Reading) -> Look:
    moments = [Moment.of(text) for text in texts.texts]
    zoned = {moment.zoned for moment in moments if moment is not None}
    if len(zoned) > 1:
        return Look()
    form = DateForm(zoned=zoned.pop())
    possible = [() if moment is None else moment.orders() for moment in moments]
    if texts.share(np.array([bool(orders) for orders in possible])) < ENOUGH:
        return Look(nearly=form)
    given = NAMED_ORDERS.get(reading.date_format or "")
    if given is not None:
        form = replace(form, order=given)
        return Look(form) if _reads(form, texts) >= ENOUGH else Look()
    open_ones = [k for k, orders in enumerate(possible) if orders and orders != ("",)]
    if not open_ones:
        return Look(form)
    fitting = [order for order in ORDERS if all(order in possible[k] for k in open_ones)]
    if not fitting:
        raise _mixed(texts, open_ones, possible)
    if len(fitting) == 1:
        return Look(replace(form, order=fitting[0]))
    if "dmy" in fitting and all(moments[k].dotted for k in open_ones):  # type: ignore[union-attr]
        return Look(replace(form, order="dmy"))  # nobody writes points with the month first
    return Look(form, _two(open_ones)) if len(texts.texts) > 1 else Look()


def _two(places: Sequence[int]) -> tuple[int, ...]:
    return tuple(places[:2])


def _mixed(texts: Texts, places: Sequence[int], possible: Sequence[tuple[str, ...]]) -> ValueError:
    """Return the error where no order fits all cells: two of them that have none in common."""
    one = min(places, key=lambda k: (len(possible[k]), texts.first[k]))
    other = next((k for k in places if not set(possible[k]) & set(possible[one])), places[-1])
    first, second = sorted((one, other), key=lambda k: texts.first[k])
    words = "and the others become missing values"
    return refusal(
        ValueError,
        f"the column {texts.column!r} of {texts.owner} has dates in different orders: {texts.cell(first)} "
        f"and {texts.cell(second)}",
        Advice(
            f"write them in one way, or give Reading(date_format='day-first'), or 'month-first', {words}; "
            f"or leave them as text with Reading(text=[{texts.column!r}])",
            f"write them in one way, or give --date-format day-first, or month-first, {words}; or leave them "
            f"as text with --text {texts.column}",
        ),
    )


def settle(looks: Sequence[Look], texts: Sequence[Texts], habits: Habits) -> Form | None:
    """Return how a column is written in all datasets of a fit, one look at each.

    Where nothing decides, or where they are written in different ways, a ValueError names two rows.
    """
    known = [(look, text) for look, text in zip(looks, texts, strict=True) if look.form is not None]
    if not known:
        return None
    sure = [(look, text) for look, text in known if not look.unsure]
    for (one, mine), (other, yours) in combinations(sure, 2):
        _require_alike(one.form, mine, other.form, yours)
    form = known[0][0].form
    for look_at, _ in sure or known:
        form = _joined(form, look_at.form)
    unsure = next(((look_at, text) for look_at, text in known if look_at.unsure), None)
    if isinstance(form, NumberForm) and not form.decimal and unsure is not None:
        decimal = next(iter(habits.decimals)) if len(habits.decimals) == 1 else unsure[0].default
        if not decimal:
            raise _unsure(unsure[1], unsure[0].unsure, "numbers")
        form = replace(form, decimal=decimal)
    if isinstance(form, DateForm) and not form.order and unsure is not None:
        if len(habits.orders) != 1:
            raise _unsure(unsure[1], unsure[0].unsure, "dates")
        form = replace(form, order=next(iter(habits.orders)))
    for text in texts:  # where some datasets have told, the others are not asked for as much
        if text.texts and form is not None and _reads(form, text) < JOINS:
            raise different(text, form)
    return form


def _joined(form: Form | None, other: Form | None) -> Form | None:
    if isinstance(form, NumberForm) and isinstance(other, NumberForm):
        return NumberForm(form.decimal or other.decimal, form.thousands, form.unit or other.unit)
    if isinstance(form, DateForm) and isinstance(other, DateForm):
        return replace(form, order=form.order or other.order)
    return form


def _require_alike(form: Form | None, mine: Texts, other: Form | None, yours: Texts) -> None:
    alike = type(form) is type(other)
    if isinstance(form, NumberForm) and isinstance(other, NumberForm):
        alike = form.decimal == other.decimal or not (form.decimal and other.decimal)
        alike &= form.unit == other.unit or "%" not in (form.unit, other.unit)
    if isinstance(form, DateForm) and isinstance(other, DateForm):
        alike = (form.order == other.order or not (form.order and other.order)) and form.zoned == other.zoned
    if not alike and form is not None and other is not None:
        raise ValueError(
            f"the column {mine.column!r} holds {form.words()} in {mine.owner} ({mine.cell(0)}), but "
            f"{other.words()} in {yours.owner} ({yours.cell(0)}); write both in one way, or leave it out"
        )


def different(texts: Texts, form: Form, fixed: bool = False) -> ValueError:
    """Return the error where a column of text cannot be read as it should be; `fixed` by a reference."""
    read = texts.read(form)[1]
    bad = int(texts.counts[~read].sum())
    place = int(np.flatnonzero(~read)[np.argmin(texts.first[~read])])
    column = texts.column
    as_text = Advice(f"Reading(text=[{column!r}])", f"--text {column}")
    if fixed:
        how = "write it as the reference does, or make a new tolerance and compare it as text with "
        advice = Advice(how + as_text.python, how + as_text.shell)
    else:
        advice = Advice(
            "write it in one way, say how it is written with Reading(decimal=..., date_format=...), or "
            f"compare it as text with {as_text.python}",
            "write it in one way, say how it is written with --decimal or --date-format, or compare it as "
            f"text with {as_text.shell}",
        )
    return refusal(
        ValueError,
        f"the column {column!r} of {texts.owner} should hold {form.words()}, as "
        f"{'in the reference' if fixed else 'elsewhere'}, but {bad} of its {int(texts.counts.sum())} values "
        f"cannot be read so: {texts.cell(place)}",
        advice,
    )


def _unsure(texts: Texts, places: Sequence[int], what: str) -> ValueError:
    rows = " and ".join(texts.cell(k) for k in places)
    if what == "dates":
        may_be, options = "with the day first or with the month first", ("day-first", "month-first")
        python, shell = "Reading(date_format={!r})", "--date-format {}"
    else:
        may_be, options = "with thousands or with decimals behind the mark", (".", ",")
        python, shell = "Reading(decimal={!r})", "--decimal '{}'"
    column = texts.column
    return refusal(
        ValueError,
        f"the {what} in the column {column!r} of {texts.owner} can be read {may_be}, and no row tells which: "
        f"{rows}",
        Advice(
            f"give {python.format(options[0])} or {python.format(options[1])}, or compare it as text with "
            f"Reading(text=[{column!r}])",
            f"give {shell.format(options[0])} or {shell.format(options[1])}, or compare it as text with "
            f"--text {column}",
        ),
    )
