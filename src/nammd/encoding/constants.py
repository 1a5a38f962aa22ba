"""Columns that are left out since the reference has one value there: which values they have, here and now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NamedTuple, TypeAlias

import numpy as np

from nammd.data.frames import Frame
from nammd.data.values import Values
from nammd.encoding.choosing import CONSTANT
from nammd.encoding.columns import LeftOut
from nammd.reading.text_formats.options import Reading
from nammd.reading.text_formats.understanding import without_words

Value: TypeAlias = str | float | tuple[float, ...] | None
"""A value of such a column; None for a missing one."""

_MANY = 100
"""So many different values of a column say as much as all of them."""


@dataclass(frozen=True)
class Constant:
    """The values of a column that had one value in the reference, as they are meant.

    Attributes
    ----------
    rows : mapping of value to int
        How many rows have each of the commonest values; None stands for missing ones.
    size : int
        How many rows there are.
    """

    rows: Mapping[Value, int]
    size: int

    @classmethod
    def of(cls, values: Values, name: str, reading: Reading) -> Constant:
        """Look at the values of a column; words for missing values are none."""
        meant, _ = without_words(values, name, reading)
        missing, found = int(np.count_nonzero(meant.missing)), dict[Value, int]()
        if meant.codes is not None:
            times = np.bincount(meant.codes[meant.codes >= 0], minlength=len(meant.categories))
            found = {meant.categories[k]: int(times[k]) for k in np.flatnonzero(times)}
        elif meant.numbers is not None:
            different, times = np.unique(meant.numbers[~meant.missing], axis=0, return_counts=True)
            pairs = zip(different.tolist(), times.tolist(), strict=True)
            found = {tuple(v) if isinstance(v, list) else v: rows for v, rows in pairs}
        every = found | ({None: missing} if missing else {})
        return cls(_commonest(every), len(meant.missing))

    def __add__(self, other: Constant) -> Constant:
        every = dict(self.rows)
        for value, rows in other.rows.items():
            every[value] = every.get(value, 0) + rows
        return Constant(_commonest(every), self.size + other.size)


def _commonest(rows: Mapping[Value, int]) -> dict[Value, int]:
    chosen = sorted(rows.items(), key=lambda each: (-each[1], str(each[0])))[:_MANY]
    return dict(chosen)


def constant_columns(left_out: Iterable[LeftOut], names: Collection[str]) -> tuple[str, ...]:
    """Return which of some columns are left out because the reference has one value there."""
    return tuple(entry.column for entry in left_out if entry.reason == CONSTANT and entry.column in names)


def constants_in(frame: Frame, names: Sequence[str], reading: Reading) -> dict[str, Constant]:
    """Return the values of such columns of a table."""
    return {name: Constant.of(frame.values(name), name, reading) for name in names}


def constants_together(parts: Sequence[Mapping[str, Constant]]) -> dict[str, Constant]:
    """Return the same of a dataset on a cluster, from its pieces."""
    names = parts[0] if parts else ()
    return {name: reduce(add, (part[name] for part in parts)) for name in names}


class ChangedConstant(NamedTuple):
    """A column that had one value in the reference, and has others now.

    Attributes
    ----------
    before, now : tuple of values
        What it was, and the other values, the commonest first.
    share : float
        The share of the rows that have one of them.
    """

    before: tuple[Value, ...]
    now: tuple[Value, ...]
    share: float


def changed_constants(
    before: Mapping[str, Constant],
    now: Mapping[str, Constant],
    accepted: Mapping[str, Collection[Value]],
) -> dict[str, ChangedConstant]:
    """Return the columns that have values now which neither the reference nor accepted data have."""
    found = {}
    for name, old in before.items():
        known = {*old.rows, *accepted.get(name, ())}
        here = now[name] if name in now else Constant({}, 1)
        new = {value: rows for value, rows in here.rows.items() if value not in known}
        if new:
            share = sum(new.values()) / here.size
            found[name] = ChangedConstant(tuple(old.rows), tuple(new), min(share, 1.0))
    return found
