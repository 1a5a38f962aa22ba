"""What a column is known from: `NumberCounts` and `LabelCounts`. Counts of parts of a dataset add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.views.lattice import STEP, binned, cells, spread_over
from nammd.views.marks import Marks

FEW = 256
"""Up to so many distinct numbers each is counted by itself."""

_WHOLE = 2.0**24
"""Whole numbers up to this one are the same in 32 bits."""


@dataclass(frozen=True, eq=False)
class NumberCounts:
    """How many rows are where, in a column of numbers or times.

    Attributes
    ----------
    places : array
        Where there are rows, in ascending order: places on the scale of the column.
    rows : array
        How many rows are there. On a lattice a row counts for the two points around it, by their distances.
    missing : float
        How many rows have no value.
    exact : bool
        Whether the places are those of the values themselves, or points of the lattice.
    marks : Marks
        What else is noted of the values.
    """

    places: FloatArray = field(repr=False)
    rows: FloatArray = field(repr=False)
    missing: float
    exact: bool
    marks: Marks = field(default_factory=Marks, repr=False)

    @classmethod
    def of(cls, places: FloatArray, missing: int, marks: Marks | None = None) -> NumberCounts:
        """Count rows by their places; those without a value are counted apart."""
        marks = marks or Marks()
        if not places.size:
            return cls(np.empty(0), np.empty(0), float(missing), True, marks)
        start, cell, share = cells(places)
        size = int(cell.max()) + 1
        # Where a cell holds one value only, the last row in it tells which; so no sorting is needed.
        last = np.full(size, np.nan)
        some = places[:4096], cell[:4096]
        last[some[1]] = some[0]
        if np.count_nonzero(~np.isnan(last)) <= FEW and (last[some[1]] == some[0]).all():
            last[cell] = places
            if (last[cell] == places).all() and np.count_nonzero(~np.isnan(last)) <= FEW:
                rows = np.bincount(cell, minlength=size).astype(np.float64)
                there = rows > 0
                return cls(last[there], rows[there], float(missing), True, marks)
        return cls.at_points(start, spread_over(cell, share), missing, marks)

    @classmethod
    def at_points(cls, start: int, rows: FloatArray, missing: int, marks: Marks) -> NumberCounts:
        """Return the counts of rows that are at points of the lattice, from the first point on."""
        return cls(*_filled(start, rows), float(missing), False, marks)

    @property
    def low(self) -> float:
        """The smallest value, in the unit of the column; NaN where there are none."""
        return self.marks.low

    @property
    def high(self) -> float:
        """The largest value, likewise."""
        return self.marks.high

    @cached_property
    def present(self) -> int:
        """The number of rows with a value."""
        return round(float(self.rows.sum()))

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.present + round(self.missing)

    def presence(self) -> LabelCounts:
        """Return how many rows have a value and how many have none, as two labels."""
        return LabelCounts({"present": float(self.present)}, self.missing)

    def on_lattice(self) -> NumberCounts:
        """Return the same, on points of the lattice."""
        if not self.exact or not self.places.size:
            return self
        places, rows = _filled(*binned(self.places, self.rows))
        return NumberCounts(places, rows, self.missing, False, self.marks)

    def merged(self, other: NumberCounts) -> NumberCounts:
        """Return the counts of both parts together."""
        one, two = (self, other) if self.exact == other.exact else (self.on_lattice(), other.on_lattice())
        if not one.places.size or not two.places.size:
            exact = (two if two.places.size else one).exact
        else:
            exact = one.exact
        both = np.concatenate([one.places, two.places])
        places, where = np.unique(both, return_inverse=True)
        together = np.concatenate([one.rows, two.rows])
        rows = np.bincount(where, together, len(places)).astype(np.float64, copy=False)
        found = NumberCounts(places, rows, one.missing + two.missing, exact, one.marks + two.marks)
        return found.on_lattice() if exact and len(places) > FEW else found

    def quantile(self, share: float) -> float:
        """Return a quantile of the places; NaN where there is none."""
        if not self.places.size:
            return float("nan")
        return float(self.places[self._reached.searchsorted(share * self._reached[-1])])

    @cached_property
    def _reached(self) -> FloatArray:
        """How many rows are at a place or below it."""
        reached: FloatArray = self.rows.cumsum()
        return reached


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """How many rows have which label.

    Attributes
    ----------
    rows : mapping of str to float
        The number of rows with each label.
    missing : float
        How many rows have none.
    """

    rows: Mapping[str, float] = field(repr=False)
    missing: float

    @property
    def size(self) -> int:
        """The number of rows."""
        return round(sum(self.rows.values()) + self.missing)

    def merged(self, other: LabelCounts) -> LabelCounts:
        """Return the counts of both parts together."""
        rows = dict(self.rows)
        for label, count in other.rows.items():
            rows[label] = rows.get(label, 0.0) + count
        return LabelCounts(rows, self.missing + other.missing)


Counts: TypeAlias = NumberCounts | LabelCounts


def merged(one: Any, other: Any) -> Any:
    """Return the counts of two parts of a column together."""
    if isinstance(one, LabelCounts) != isinstance(other, LabelCounts):
        raise ValueError("counts of labels and of numbers are not of one column")
    return one.merged(other)


def rounded(counts: Counts) -> Counts:
    """Return counts as a file keeps them: the rows at a place to 7 digits."""
    if isinstance(counts, LabelCounts):
        return counts
    return replace(counts, rows=scaled(counts.rows.astype("<f4"), counts.present))


def all_rounded(columns: Sequence[Counts]) -> list[Counts]:
    """Return the same of many columns. Those with whole rows at their places have no more digits."""
    every = [each.rows if isinstance(each, NumberCounts) else np.empty(0) for each in columns]
    rows, number = np.concatenate([np.empty(0), *every]), np.repeat(np.arange(len(every)), [*map(len, every)])
    longer = np.zeros(len(columns), dtype=bool)
    longer[number[(rows != np.rint(rows)) | (rows > _WHOLE)]] = True
    return [rounded(each) if own else each for each, own in zip(columns, longer.tolist(), strict=True)]


def scaled(rows: FloatArray, present: int) -> FloatArray:
    """Bring rounded counts back to the number of rows that they are of."""
    values = rows.astype(np.float64)
    total = float(values.sum())
    found: FloatArray = values * (present / total) if total > 0 else values
    return found


def _filled(start: int, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the points of the lattice where there are rows, and the rows."""
    there = np.flatnonzero(rows > 0)
    places: FloatArray = (there + start).astype(np.float64) * STEP
    return places, rows[there]
