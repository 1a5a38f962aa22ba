"""Which facts columns of numbers may have, looked at all at once: `possible_facts`.

Of the ten thousand columns of a wide table hardly any has one, and looking at each by itself would take far
longer than all the rest. What is asked here is necessary for a fact of `nammd.explaining.number_facts`, with
room for rounding, and needs a few operations on arrays. The facts themselves are found there alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.explaining import number_facts as facts
from nammd.explaining import offsets, precision, unit_factors
from nammd.explaining.chance import RARE, Share, Together
from nammd.explaining.number_facts import Possible
from nammd.reading.text_formats.understanding import SUSPECTED_NUMBERS
from nammd.statistics.tails import gamma_tails
from nammd.views.counts import NumberCounts
from nammd.views.lattice import FARTHEST, STEP, straight
from nammd.views.measure import Measure

AT_ONCE = 1 << 18
"""So many places of columns are looked at together."""

Flags = NDArray[np.bool_]


class NumberColumn(NamedTuple):
    """A column of a candidate, and all that is known of it, as far as there are numbers."""

    measure: Measure
    known: Sequence[NumberCounts]
    now: NumberCounts


def possible_facts(columns: Sequence[NumberColumn], together: Together) -> list[Possible]:
    """Return which facts each column may have."""
    found = [Possible(False, False, False, False)] * len(columns)
    alike: dict[int, list[int]] = {}
    for k, (_, known, now) in enumerate(columns):
        if known and now.present:
            alike.setdefault(len(known), []).append(k)
    for numbers in alike.values():
        most = max(len(each.places) for k in numbers for each in (*columns[k].known, columns[k].now))
        step = max(AT_ONCE // most, 1)
        for start in range(0, len(numbers), step):
            which = numbers[start : start + step]
            some = _Columns.of([columns[k] for k in which], together)
            for k, possible in zip(which, some.possible(), strict=True):
                found[k] = possible
    return found


@dataclass(frozen=True, eq=False)
class _Sample:
    """One sample of many columns, a column in each row: all of its places, and how many rows are there.

    Attributes
    ----------
    exact : array of bool
        Whether places are those of values, or points of a lattice.
    places, rows : array
        Where there are rows on the scale of the column, and how many; none beyond the last place.
    values : array
        The values there, in the unit of the column.
    last : array of int
        The number of the last place of each column.
    low, high, below_zero : array
        What is noted of the values.
    sizes : array
        How many rows there are, those without a value included.
    grain : array
        How many rows are multiples of which step.
    """

    exact: Flags
    places: FloatArray
    rows: FloatArray
    values: FloatArray
    last: NDArray[np.intp]
    low: FloatArray
    high: FloatArray
    below_zero: FloatArray
    sizes: FloatArray
    grain: FloatArray

    @classmethod
    def of(cls, counts: Sequence[NumberCounts], center: FloatArray, scale: FloatArray) -> _Sample:
        lengths = np.array([len(each.places) for each in counts])
        there = np.arange(lengths.max()) < lengths[:, None]
        places, rows = np.zeros(there.shape), np.zeros(there.shape)
        places[there] = np.concatenate([each.places for each in counts])
        rows[there] = np.concatenate([each.rows for each in counts])
        with np.errstate(over="ignore"):
            values = np.nan_to_num(straight(places) * scale[:, None] + center[:, None])
        marks = [each.marks for each in counts]
        noted = np.array([(each.low, each.high, each.below_zero) for each in marks]).T
        most = max(1, *(len(each.grain) for each in marks))  # there are none where nobody looked
        grain = np.array([each.grain + (0.0,) * (most - len(each.grain)) for each in marks])
        sizes = np.array([each.size for each in counts], dtype=np.float64)
        exact = np.array([each.exact for each in counts])
        return cls(exact, places, rows, values, lengths - 1, noted[0], noted[1], noted[2], sizes, grain)

    def at(self, number: NDArray[np.intp]) -> FloatArray:
        """Return the values at places by their numbers; those beyond the last one are the last."""
        found: FloatArray = np.take_along_axis(self.values, np.minimum(number, self.last)[:, None], axis=1)
        return found[:, 0]

    @cached_property
    def _reached(self) -> FloatArray:
        reached: FloatArray = np.cumsum(self.rows, axis=1)
        return reached

    def below(self, share: float, or_at: bool = False) -> NDArray[np.intp]:
        """Return the number of the place that a share of the rows is below, or below or at."""
        target = share * self._reached[:, -1:]
        found: NDArray[np.intp] = (self._reached <= target if or_at else self._reached < target).sum(axis=1)
        return found

    def most_together(self, width: float) -> FloatArray:
        """Return how many rows are at one place, or, with a width, at places that are so near."""
        if not width:
            most: FloatArray = self.rows.max(axis=1)
            return most
        there = np.arange(self.rows.shape[1]) <= self.last[:, None]
        column = np.repeat(np.arange(len(there)), self.last + 1)
        keys, reached = self.places[there] + 4 * FARTHEST * column, np.append(0.0, self.rows[there].cumsum())
        rows = reached[np.searchsorted(keys, keys + width, side="right")] - reached[:-1]
        return np.maximum.reduceat(rows, np.cumsum(self.last + 1) - self.last - 1)

    def quantile(self, share: float) -> FloatArray:
        """Return a quantile as `NumberSummary` has it: half-way between two values if it lies there."""
        low, high = self.below(share * (1 - 1e-12)), self.below(share * (1 + 1e-12), or_at=True)
        found: FloatArray = self.at(low) / 2 + self.at(high) / 2
        return found

    def whole(self, which: NDArray[np.intp], start: FloatArray, size: int) -> FloatArray:
        """Return how many rows of some columns have which whole number, from a start on."""
        number = np.clip(np.rint(self.values[which]) - start[:, None], 0, size - 1).astype(np.intp)
        number += size * np.arange(len(which))[:, None]
        found = np.bincount(number.ravel(), self.rows[which].ravel(), size * len(which))
        return found.astype(np.float64, copy=False).reshape(len(which), size)

    def finest(self) -> NDArray[np.intp]:
        """Return the finest step that some row needs."""
        steps = self.grain.shape[1]
        found: NDArray[np.intp] = steps - 1 - (self.grain[:, ::-1] > 0).argmax(axis=1)
        return found

    def finer(self, step: NDArray[np.intp]) -> FloatArray:
        """Return how many rows need a finer step."""
        there = np.arange(self.grain.shape[1]) > step[:, None]
        rows: FloatArray = np.where(there, self.grain, 0.0).sum(axis=1)
        return rows


@dataclass(frozen=True, eq=False)
class _Columns:
    """Columns with equally many known samples, each value by itself."""

    columns: Sequence[NumberColumn]
    center: FloatArray
    scale: FloatArray
    known: Sequence[_Sample]
    now: _Sample
    together: Together

    @classmethod
    def of(cls, columns: Sequence[NumberColumn], together: Together) -> _Columns:
        center = np.array([column.measure.center for column in columns])
        scale = np.array([column.measure.scale for column in columns])
        known = zip(*(column.known for column in columns), strict=True)
        samples = [_Sample.of(each, center, scale) for each in known]
        now = _Sample.of([column.now for column in columns], center, scale)
        return cls(columns, center, scale, samples, now, together)

    def possible(self) -> Iterator[Possible]:
        """Yield which facts each may have."""
        with np.errstate(all="ignore"):  # of the largest numbers; what is no number tells nothing
            shaped = self.crowded() | self.suspected() | self.grained() | self.moved()
            flags = np.stack([self.multiplied(), shaped, self.outside()], axis=1).tolist()
        for column, found in zip(self.columns, flags, strict=True):
            yield Possible(column.now.marks.units != column.known[0].marks.units, *found)

    def crowded(self) -> Flags:
        """Tell where a value has so many rows that they are no chance if it was in none; see `pile_ups`.

        On a lattice a value is seen between two points, and at each of these is what is within one step.
        """
        now, exact = self.now, np.logical_and.reduce([each.exact for each in (*self.known, self.now)])
        most = np.where(exact, now.most_together(0.0), now.most_together(4 * STEP) + 1e-6)
        rows = np.floor(most / self.together.now + 1e-6)
        sizes = np.max([each.sizes for each in self.known], axis=0) / self.together.known
        mean = self.now.sizes / self.together.now * Share(0.0, 1.0).at_most() / np.maximum(sizes, 1.0)
        return gamma_tails(np.maximum(rows, 1.0), mean)[0] <= RARE * (1 + 1e-6)

    @property
    def _range(self) -> tuple[FloatArray, FloatArray]:
        low, high = [each.low for each in self.known], [each.high for each in self.known]
        return np.min(low, axis=0), np.max(high, axis=0)

    def outside(self) -> Flags:
        """Tell where a value is far outside the range so far, or negative where none was."""
        low, high = self._range
        first = self.known[0]
        found: Flags = (low >= 0) & (self.now.below_zero > 0)
        for way, end, share in ((1, high, 1 - facts.TAIL), (-1, low, facts.TAIL)):
            now = self.now.at(self.now.last if way > 0 else np.zeros_like(self.now.last))
            reach = facts.REACH * np.abs(end - first.at(first.below(share)))
            margin = np.maximum(facts.NEGLIGIBLE * self.scale, reach)
            spare = 1e-6 * margin + 1e-9 * (np.abs(now) + np.abs(end) + np.abs(self.center))
            found |= ~(way * (now - end) <= margin - spare)
        return found

    def suspected(self) -> Flags:
        """Tell where an end is a number that often stands for a missing value, far from everything so far."""
        low, high = self._range
        found = np.zeros(len(low), dtype=bool)
        for end in (self.now.low, self.now.high):
            found |= np.isin(end, SUSPECTED_NUMBERS) & (np.maximum(low - end, end - high) > high - low)
        return found

    def grained(self) -> Flags:
        """Tell where values are rounded more coarsely than before, or more finely; see `precision`."""
        now, first = self.now, self.known[0]
        rows, step = now.grain.sum(axis=1) / self.together.now, now.finest()
        share = np.min([each.finer(step) / each.grain.sum(axis=1) for each in self.known], axis=0)
        coarser = (share >= precision.LEAST) & (share * rows >= precision.EXPECTED * (1 - 1e-9))
        more = now.finer(np.max([each.finest() for each in self.known], axis=0)) / self.together.now
        before = first.grain.sum(axis=1) / self.together.known
        finer = (more > 0) & (more * np.log(rows / (rows + before)) <= np.log(RARE) + 1e-6)
        found: Flags = coarser | finer
        return found

    def multiplied(self) -> Flags:
        """Tell where quantiles have grown alike, and far enough for another unit; see `unit_factors`."""
        least, most = np.full(len(self.columns), np.inf), np.full(len(self.columns), -np.inf)
        found = np.ones(len(self.columns), dtype=bool)
        for share in unit_factors.QUANTILES:
            old, new = self.known[0].quantile(share), self.now.quantile(share)
            both = (old == 0) & (new == 0)
            ratio = new / old
            found &= both | (ratio > 0)
            least, most = (
                np.where(both, each, function(each, ratio))
                for each, function in ((least, np.fmin), (most, np.fmax))
            )
        far = (most >= unit_factors.LEAST) | (least <= 1 / unit_factors.LEAST)
        return found & far & ~(most > unit_factors.SPREAD * least * (1 + 1e-9))

    def moved(self) -> Flags:
        """Tell where whole numbers are improbable by the shares of the reference; see `offsets`."""
        found, samples = np.ones(len(self.columns), dtype=bool), (*self.known, self.now)
        for each in samples:
            first = each.values[:, 0]
            found &= each.exact & (each.last > 0) & (np.abs(first - np.rint(first)) <= 1e-6)
        start = np.rint(np.min([each.values[:, 0] for each in samples], axis=0))
        wide = np.rint(np.max([each.at(each.last) for each in samples], axis=0)) - start + 1
        found &= (wide >= offsets.LEAST_VALUES) & (wide <= offsets.MOST_WIDE)
        which = np.flatnonzero(found)
        if which.size:
            size = int(wide[which].max()) + 2
            before, seen = (each.whole(which, start[which] - 1, size) for each in (self.known[0], self.now))
            before += 0.5
            total = before.sum(axis=1) - 0.5 * (size - 2 - wide[which])
            times = np.maximum(seen, 1e-300) / seen.sum(axis=1, keepdims=True) * total[:, None] / before
            found[which] = (seen * np.log(times)).sum(axis=1) >= offsets.SURE * self.together.now - 1e-6
        return found
