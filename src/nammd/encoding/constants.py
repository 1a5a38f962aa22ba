"""Columns that are left out since the reference has one value there: which values they have, here and now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from nammd.data.frames import Frame
from nammd.data.values import Values
from nammd.encoding.choosing import CONSTANT
from nammd.encoding.columns import LeftOut
from nammd.reading.text_formats.options import Reading
from nammd.reading.text_formats.understanding import without_words

_MANY = 100
"""So many different values of a column say as much as all of them."""


@dataclass(frozen=True)
class Constant:
    """The values of a column that had one value in the reference.

    Attributes
    ----------
    values : frozenset
        The different values, as far as they are few; None stands for missing ones.
    meant : tuple of str and float
        The same in their order, without words for missing values.
    fractions : bool
        Whether there are numbers that are not whole.
    """

    values: frozenset[Any]
    meant: tuple[str | float, ...] = ()
    fractions: bool = False

    @classmethod
    def of(cls, values: Values, name: str, reading: Reading) -> Constant:
        """Look at the values of a column."""
        meant, _ = without_words(values, name, reading)
        present: set[Any] = set()
        if values.codes is not None:
            present = {values.categories[code] for code in np.unique(values.codes[values.codes >= 0])}
        elif values.numbers is not None:
            found = np.unique(values.numbers[~values.missing], axis=0)
            present = {tuple(np.atleast_1d(v).tolist()) for v in found}
        every = present | ({None} if values.missing.any() else set())
        return cls(frozenset(list(every)[:_MANY]), _in_order(meant), meant.has_fractions)


def constant_columns(left_out: Iterable[LeftOut], names: Collection[str]) -> tuple[str, ...]:
    """Return which of some columns are left out because the reference has one value there."""
    return tuple(entry.column for entry in left_out if entry.reason == CONSTANT and entry.column in names)


def constants_in(frame: Frame, names: Sequence[str], reading: Reading) -> dict[str, Constant]:
    """Return the values of such columns of a table."""
    return {name: Constant.of(frame.values(name), name, reading) for name in names}


def constants_together(parts: Sequence[Mapping[str, Constant]]) -> dict[str, Constant]:
    """Return the same of a dataset on a cluster, from its pieces; what they mean in words is not told."""
    found = {}
    for name in parts[0] if parts else ():
        every = [part[name] for part in parts]
        values = frozenset(chain.from_iterable(each.values for each in every))
        found[name] = Constant(values, (), any(each.fractions for each in every))
    return found


class ChangedConstant(NamedTuple):
    """A column that had one value in the reference, and has others now."""

    before: Constant
    now: Constant


def changed_constants(
    before: Mapping[str, Constant], now: Mapping[str, Constant]
) -> dict[str, ChangedConstant]:
    """Return the columns that have other values now."""
    both = {name: ChangedConstant(old, now[name]) for name, old in before.items() if name in now}
    return {name: each for name, each in both.items() if each.now.values - each.before.values}


def _in_order(values: Values) -> tuple[str | float, ...]:
    if values.codes is not None:
        return tuple(values.categories[code] for code in np.unique(values.codes[values.codes >= 0]))
    if values.numbers is not None and values.numbers.ndim == 1:
        return tuple(np.unique(values.numbers[~values.missing])[:_MANY].tolist())
    return ()
