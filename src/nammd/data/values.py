"""The values of a column, of one of a few kinds, whatever library they come from: `Values`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray

Kind: TypeAlias = Literal["numeric", "categorical", "boolean", "datetime", "vector", "text"]

Clock: TypeAlias = Literal["", "local", "zoned", "duration", "time of day"]
"""What the seconds of a column of times count from: a moment without a time zone (also a date), a moment with
one, nothing (a duration), or midnight. Empty where there are no times. Columns of different clocks must not
meet: their seconds mean different things."""


@dataclass(frozen=True, eq=False)
class Values:
    """The values of one column.

    Attributes
    ----------
    kind : {"numeric", "categorical", "boolean", "datetime", "vector"} or None
        None where every value is missing, or where the values cannot be compared.
    missing : array of bool
        Where a value is missing: null, or NaN.
    numbers : array, optional
        The values of a numeric or datetime column, NaN where missing; times are in seconds. Of a column of
        vectors, a row of numbers for each.
    codes, categories : array of int and tuple of str, optional
        The values of a categorical or boolean column: which of the categories, -1 where missing.
    whole : bool
        Whether the column has an integer type.
    clock : str
        Of times: what their seconds count from.
    trouble : str
        What the column holds, where that cannot be compared.
    text : bool
        Whether the categories are text that may stand for something else, such as numbers: no categories
        that somebody declared to be that.
    unit : str
        The unit that numbers are written with, such as €, where they came from text.
    """

    kind: Kind | None
    missing: NDArray[np.bool_]
    numbers: FloatArray | None = None
    codes: NDArray[np.intp] | None = None
    categories: tuple[str, ...] = ()
    whole: bool = False
    clock: Clock = ""
    trouble: str = ""
    text: bool = False
    unit: str = ""

    @property
    def labels(self) -> list[str | None] | None:
        """The categories row by row, None where missing; None where the column has no categories."""
        if self.codes is None:
            return None
        return [self.categories[code] if code >= 0 else None for code in self.codes]

    @property
    def holds(self) -> str:
        """What the column holds, in words."""
        if self.trouble or self.kind is None:
            return self.trouble or "missing values only"
        return _WORDS.get(self.clock) or _WORDS[self.kind]

    @property
    def width(self) -> int:
        """The length of the vectors; 1 for other columns."""
        return 1 if self.numbers is None or self.numbers.ndim == 1 else int(self.numbers.shape[1])

    def take(self, positions: NDArray[np.intp]) -> Values:
        """Return the values of some rows."""
        return replace(
            self,
            missing=self.missing[positions],
            numbers=None if self.numbers is None else self.numbers[positions],
            codes=None if self.codes is None else self.codes[positions],
        )

    def meets(self, other: Values) -> bool:
        """Tell whether the values of both columns mean the same, so that they can be compared."""
        if self.trouble or other.trouble:
            return False
        if self.kind is None or other.kind is None:
            return True  # nothing but missing values fits everywhere
        return (self.kind, self.clock, self.width) == (other.kind, other.clock, other.width)


_WORDS = {
    "numeric": "numbers",
    "categorical": "text",
    "boolean": "true and false",
    "datetime": "times",
    "vector": "lists of numbers",
    "local": "times without a time zone",
    "zoned": "times with a time zone",
    "duration": "durations",
    "time of day": "times of day",
}


def pooled(parts: Sequence[Values]) -> Values:
    """Return the values of several columns as those of one; they must meet."""
    known = [part for part in parts if part.kind is not None]
    if len(parts) == 1 or not known:
        return parts[0]
    first, missing = known[0], np.concatenate([part.missing for part in parts])
    if first.numbers is not None:
        empty = np.nan if first.numbers.ndim == 1 else np.full(first.numbers.shape[1], np.nan)
        filled = [np.full((len(p.missing), first.width), empty).reshape(-1, *first.numbers.shape[1:])
                  if p.numbers is None else p.numbers for p in parts]  # fmt: skip
        return replace(
            first, missing=missing, numbers=np.concatenate(filled), whole=all(p.whole for p in known)
        )
    names = {name: code for code, name in enumerate(dict.fromkeys(n for p in known for n in p.categories))}
    codes = []
    for part in parts:
        if part.codes is None:
            codes.append(np.full(len(part.missing), -1, np.intp))
        else:
            places = np.array([*(names[name] for name in part.categories), -1], np.intp)
            codes.append(places[part.codes])
    return replace(first, missing=missing, codes=np.concatenate(codes), categories=tuple(names))
