"""How the values of one column become numbers.

The scale is the same for all kinds of columns. A numeric column is scaled to a variance of about 1, so
two independent draws differ by ``E (z - z')² = 2 Var z = 2`` on average. Two rows of different
categories should count as much. In a one-hot code they differ in two slots, by the same ``a`` in each:
``2 a² = 2``, so the entries are 1. (`CodedColumn` keeps that distance where there are many categories.)

A missing value is flagged in a slot of its own, again by 1. In a categorical column the other slots are
zero, so "missing" is as far from each category as categories are from one another: ``1² + 1² = 2``. In
a numeric column the missing value sits at the median, which is 0, and differs from a present one by
``1² + z²``, on average 2. So nothing about a missing value is lost or exaggerated.

A vector (an embedding) counts like one column too, however long it is: its components share one unit, in
which their variances add up to 1.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.values import Clock, Kind, Values
from nammd.errors.advice import Advice
from nammd.errors.naming import listed
from nammd.reading.text_formats.forms import Form

FAR = 1e6
"""Encoded numbers beyond this grow only logarithmically; see `_within_reach`."""

_CODE_SLOTS = 64
_BLOCK_ROWS = 16_384


@dataclass(frozen=True)
class LeftOut:
    """A column that takes no part, and why.

    Attributes
    ----------
    column : str
        The name of the column.
    reason : str
        Why it is left out, for people.
    advice : Advice or None
        How to compare it nevertheless.
    holds : str
        What it holds in the reference, in words; empty where nobody looked.
    """

    column: str
    reason: str
    advice: Advice | None = field(default=None, compare=False, repr=False)
    holds: str = field(default="", compare=False, repr=False)

    def in_shell(self) -> str:
        """Say it on the command line."""
        return self._said(None if self.advice is None else self.advice.shell)

    def __str__(self) -> str:
        return self._said(None if self.advice is None else self.advice.python)

    def _said(self, advice: str | None) -> str:
        return f"{self.column!r} is left out: {self.reason}" + (f" ({advice})" if advice else "")


@dataclass(frozen=True)
class Column:
    """A column of the reference, as it was when the encoding was fitted.

    Attributes
    ----------
    name : str
        The name of the column.
    kind : {"numeric", "categorical", "boolean", "datetime", "vector", "text"}
        What it holds.
    weight : float
        What its slots are multiplied by.
    """

    name: str
    kind: Kind
    weight: float

    @property
    def labels(self) -> tuple[str, ...]:
        """What each slot of this column stands for."""
        raise NotImplementedError

    @property
    def width(self) -> int:
        """The number of slots."""
        return len(self.labels)

    def write(self, values: Values, slots: FloatArray) -> None:
        """Write the slots of this column for each row, before the weight, where there are zeros."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return how the values become numbers, for people."""
        raise NotImplementedError

    @property
    def expected(self) -> Values:
        """A column without rows that holds what this one must hold."""
        return _without_rows(self.kind)


@dataclass(frozen=True)
class NumericColumn(Column):
    """Numbers or times, centred and scaled robustly, and a flag for missing values.

    Attributes
    ----------
    center, scale : float
        What is taken off, and the unit.
    clock : str
        Of times: what their seconds count from; see `nammd.data.values.Clock`.
    form : Form or None
        How they are written, where the reference holds them as text.
    """

    center: float
    scale: float
    clock: Clock = ""
    form: Form | None = None

    @property
    def expected(self) -> Values:
        """Numbers, or times by the same clock."""
        return _without_rows(self.kind, self.clock)

    @property
    def labels(self) -> tuple[str, ...]:
        """The value, and whether it is missing."""
        return ("value", "missing")

    def write(self, values: Values, slots: FloatArray) -> None:
        """Centre and scale; a missing value is at the median and flagged."""
        _write_present(values, slots, self.center, self.scale)

    def summary(self) -> str:
        """Return the centre and the unit."""
        if self.kind == "datetime":
            return f"one unit is {_span(self.scale)}"
        return f"centred at {self.center:.4g}, one unit is {self.scale:.4g}"


@dataclass(frozen=True)
class CategoricalColumn(Column):
    """A slot for each category of the reference, one for new ones, and a flag for missing values.

    Attributes
    ----------
    categories : tuple of str
        The categories, the commonest first; "False" and "True" for a boolean column.
    form : Form or None
        How true and false are written, where the reference holds them as text.
    """

    categories: tuple[str, ...]
    form: Form | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The categories, then new ones, then missing values."""
        new = () if self.kind == "boolean" else ("unseen",)
        return (*self.categories, *new, "missing")

    def write(self, values: Values, slots: FloatArray) -> None:
        """Put a 1 into the slot of each row's category."""
        new, missing = len(self.categories), self.width - 1
        position = {name: i for i, name in enumerate(self.categories)}
        places = np.array([*(position.get(name, new) for name in values.categories), missing], np.intp)
        # Where every value is missing there are no codes; -1, the last place, stands for missing ones.
        codes = np.full(len(slots), -1) if values.codes is None else values.codes
        slots[np.arange(len(slots)), places[codes]] = 1.0

    def summary(self) -> str:
        """Return the commonest categories."""
        return listed(self.categories)


@dataclass(frozen=True)
class CodedColumn(Column):
    """A column of many categories: each has a random direction of its own, and there is a flag for missing.

    A direction follows from the name alone: 64 signs from a hash, over 8, so its length is 1. Two of them
    are nearly orthogonal, ``|u - v|² = 2 ± 0.25``, as in a one-hot code with any number of slots. Nothing
    is taken from the reference, so a name that only it has and one that only the candidate has are
    treated alike. Giving slots to the names that are common in the reference, and one slot to the others,
    would not: what is rare there partly by luck is less rare in fresh data, which then looks shifted.
    """

    @property
    def labels(self) -> tuple[str, ...]:
        """The directions, then missing values."""
        return (*(f"code {i}" for i in range(_CODE_SLOTS)), "missing")

    def write(self, values: Values, slots: FloatArray) -> None:
        """Give each row the direction of its category."""
        slots[:, -1] = values.missing
        if values.codes is not None:
            directions = np.array([*map(_direction, values.categories), np.zeros(_CODE_SLOTS)])
            for rows in row_blocks(len(slots)):
                slots[rows, :-1] = directions[values.codes[rows]]  # -1, the last one, is for missing values

    def summary(self) -> str:
        """Return that there are many."""
        return f"many categories, each a direction in {_CODE_SLOTS} slots"


@dataclass(frozen=True)
class VectorColumn(Column):
    """Lists of numbers of one length, centred and scaled as a whole, and a flag for missing ones.

    Attributes
    ----------
    center : tuple of float
        What is taken off each component.
    scale : float
        The unit of all of them.
    """

    center: tuple[float, ...]
    scale: float

    @property
    def labels(self) -> tuple[str, ...]:
        """The components, and whether the vector is missing."""
        return (*map(str, range(len(self.center))), "missing")

    def write(self, values: Values, slots: FloatArray) -> None:
        """Centre and scale; a missing vector is at the centre and flagged."""
        _write_present(values, slots, np.array(self.center), self.scale)

    def summary(self) -> str:
        """Return the length and the unit."""
        return f"{len(self.center)} numbers each, one unit is {self.scale:.4g}"

    @property
    def expected(self) -> Values:
        """Vectors of the same length."""
        return Values("vector", np.empty(0, dtype=bool), numbers=np.empty((0, len(self.center))))


@dataclass(frozen=True)
class ArrayColumn(Column):
    """A column of an array, taken as it is: embeddings and pixels have a scale that means something.

    Attributes
    ----------
    scale : float
        The unit; 1 unless somebody asked for columns to be scaled.
    """

    scale: float = 1.0

    @property
    def labels(self) -> tuple[str, ...]:
        """The value."""
        return ("value",)

    def write(self, values: Values, slots: FloatArray) -> None:
        """Divide by the unit."""
        assert values.numbers is not None
        slots[:, 0] = values.numbers / self.scale

    def summary(self) -> str:
        """Return the unit, if there is one."""
        return "taken as it is" if self.scale == 1 else f"one unit is {self.scale:.4g}"


@lru_cache(maxsize=64)
def _without_rows(kind: Kind, clock: Clock = "") -> Values:
    return Values(kind, np.empty(0, dtype=bool), clock=clock)


def _direction(name: str) -> FloatArray:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_CODE_SLOTS // 8).digest()
    bits = np.unpackbits(np.frombuffer(digest, np.uint8)).astype(np.float64)
    return (2.0 * bits - 1.0) / math.sqrt(_CODE_SLOTS)


def _span(seconds: float) -> str:
    for name, unit in (("days", 86400.0), ("hours", 3600.0)):
        if seconds >= unit:
            return f"{seconds / unit:.4g} {name}"
    return f"{seconds:.4g} seconds"


def row_blocks(rows: int) -> Iterator[slice]:
    """Yield all rows in parts that are small enough for the caches of a processor."""
    for start in range(0, rows, _BLOCK_ROWS):
        yield slice(start, min(start + _BLOCK_ROWS, rows))


def _write_present(values: Values, slots: FloatArray, center: float | FloatArray, scale: float) -> None:
    """Write numbers, centred and scaled, and a flag for those that are missing, which are at the centre."""
    any_missing = bool(values.missing.any())
    if any_missing:
        slots[:, -1] = values.missing
    if values.numbers is None:
        return
    numbers = values.numbers.reshape(len(slots), -1)
    for rows in row_blocks(len(slots)):
        if any_missing:
            present = ~values.missing[rows]
            slots[rows, :-1][present] = _within_reach(numbers[rows][present], center, scale)
        else:
            slots[rows, :-1] = _within_reach(numbers[rows], center, scale)


def write_together(rows: FloatArray, columns: Sequence[tuple[NumericColumn, int, Values]]) -> None:
    """Write columns of numbers, each from its place in the rows on: the same as one by one, with weights.

    Of a few rows there may be very many columns, and NumPy looks at its arguments for longer than one takes.
    """
    each = [(column.center, column.scale, column.weight) for column, _, _ in columns]
    center, scale, weight = np.array(each).T[:, :, None]
    places = np.array([place for _, place, _ in columns])
    numbers = np.array([values.numbers for _, _, values in columns])
    missing = np.array([values.missing for _, _, values in columns])
    rows[:, places] = (_within_reach(np.where(missing, center, numbers), center, scale) * weight).T
    some = missing.any(axis=1)
    rows[:, places[some] + 1] = (missing[some] * weight[some]).T


def _within_reach(values: FloatArray, center: float | FloatArray, scale: float | FloatArray) -> FloatArray:
    """Return the scaled values; those absurdly far out come nearer, but keep their order.

    Nothing is clipped: values a million scales out are as far from everything else as a bounded kernel
    can tell, and stay apart from one another. But a single 1e20 (a sentinel, a slip of a unit) would
    swamp the mean that the engine subtracts, and with it the digits of all other rows.
    """
    scaled = in_units(values, center, scale)
    size = np.abs(scaled)
    if (size <= FAR).all():
        return scaled
    far = size > FAR
    scaled[far] = np.sign(scaled[far]) * FAR * (1.0 + np.log(size[far] / FAR))
    return scaled


def in_units(values: FloatArray, center: float | FloatArray, scale: float | FloatArray) -> FloatArray:
    """Return values less a centre, in units of a scale; the largest number for what is beyond it.

    >>> import numpy as np
    >>> in_units(np.array([-1.5e308, 1e308]), 1e308, 1e307).round(9)
    array([-25.,   0.])
    """
    with np.errstate(over="ignore"):
        scaled = np.subtract(values, center, dtype=np.float64)
        scaled /= scale
        if not (np.isfinite(scaled.min(initial=0.0)) and np.isfinite(scaled.max(initial=0.0))):
            beyond = np.nan_to_num(values / scale - center / scale)
            if np.ndim(scale):  # of many columns, of those alone that are so large
                return np.where(np.isfinite(scaled).all(axis=1, keepdims=True), scaled, beyond)
            scaled = beyond
    return scaled
