"""Two samples of very many columns as pairs, all at once: `stacked_pairs`.

A table may have ten thousand columns of twenty rows. Every number of a pair is then an array with an element
for each column: columns with about as many places stand below each other, and places that a column does not
have are without rows. The pair of one column is in `nammd.views.placed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.statistics.pair import Pair
from nammd.views.counts import Counts, LabelCounts, NumberCounts
from nammd.views.lattice import STEP
from nammd.views.placed import PlacedSample, on_support, pair_of_placed
from nammd.views.support import Labels, Lattice, Points, Support, Values

AT_ONCE = 1 << 19
"""So many numbers are worked on together: kernel values between places, or rows at points of the lattice."""

FEW_POINTS = 128
"""Of so many points of the lattice the kernel is a matrix; of more, Fourier transforms are quicker."""

_FINE = 8
"""Columns are brought to one of so many numbers of places between a number and its double; and to multiples
of it, where there are few places."""

Both: TypeAlias = tuple[Counts, Counts]
"""A column in two samples."""

Which: TypeAlias = NDArray[np.intp]


def stacked_pairs(samples: Sequence[Both]) -> Iterator[tuple[Which, Pair]]:
    """Yield the pairs of columns in two samples: which columns, and all of these as one pair."""
    for which, x, y in stacked_samples(samples):
        yield which, pair_of_placed(x, y)


def stacked_samples(samples: Sequence[Both]) -> Iterator[tuple[Which, PlacedSample, PlacedSample]]:
    """Yield the same before they are pairs: which columns, and both samples of all of these."""
    kinds: dict[Callable[[Sequence[Both]], _Stack], list[int]]
    kinds = {_labels: [], _values: [], _few_points: [], _points: []}
    for k, (x, y) in enumerate(samples):
        if isinstance(x, LabelCounts) or isinstance(y, LabelCounts):
            kinds[_labels].append(k)
        elif x.exact and y.exact:
            kinds[_values].append(k)
        else:
            points = sum(len(each.places) * (1 + each.exact) for each in (x, y))
            kinds[_few_points if points <= FEW_POINTS else _points].append(k)
    for stacked, columns in kinds.items():
        if columns:
            stack, which = stacked([samples[k] for k in columns]), np.array(columns)
            for some in stack.parts():
                one, two = stack.placed(some)
                yield which[some], one, two


@dataclass(frozen=True, eq=False)
class _Stack:
    """The rows of two samples of columns, one entry after another.

    Attributes
    ----------
    sizes : array of int
        How many places each column has.
    sample, column, place : array of int
        Of every entry: whose rows these are, the column, and the number of the place there.
    rows : array
        How many rows.
    values : array or None
        Where that place is, for columns of a few values, or points.
    on_points : bool
        Whether such values are points of the lattice.
    of_labels : bool
        Whether places are labels; else points of the lattice, or values.
    """

    sizes: Which
    sample: Which
    column: Which
    place: Which
    rows: FloatArray = field(repr=False)
    values: FloatArray | None = None
    on_points: bool = False
    of_labels: bool = False

    def parts(self) -> Iterator[Which]:
        """Yield columns with about as many places, not too many at once."""
        rough = _rounded(self.sizes)
        order = np.argsort(rough, kind="stable")
        for alike in np.split(order, np.flatnonzero(np.diff(rough[order])) + 1):
            size = int(rough[alike[0]])
            step = max(AT_ONCE // (size if self.values is None else size * size), 1)
            for start in range(0, len(alike), step):
                yield alike[start : start + step]

    def placed(self, some: Which) -> list[PlacedSample]:
        """Return both samples of some columns."""
        size = int(_rounded(self.sizes[some]).max())
        number = np.full(len(self.sizes), -1)
        number[some] = np.arange(len(some))
        here = np.flatnonzero(number[self.column] >= 0)
        column, place = number[self.column[here]], self.place[here]
        rows = np.zeros((len(some), size, 2))
        rows[column, place, self.sample[here]] = self.rows[here]
        support: Support = Labels({}) if self.of_labels else Lattice(0, size)
        if self.values is not None:
            values = np.zeros((len(some), size))
            values[column, place] = self.values[here]
            support = (Points if self.on_points else Values)(values)
        return on_support(support, rows)


def _rounded(sizes: Which) -> Which:
    """Return sizes, a little larger, so that many are the same."""
    unit = np.maximum(2 ** np.floor(np.log2(np.maximum(sizes, 1))).astype(np.intp) // _FINE, _FINE)
    return -(-sizes // unit) * unit


def _entries(samples: Sequence[Both]) -> tuple[Which, Which, FloatArray, FloatArray]:
    """Return samples and columns of all counts of numbers, one after another, with their places and rows."""
    every = [counts for both in samples for counts in both if isinstance(counts, NumberCounts)]
    lengths = np.array([len(counts.places) for counts in every])
    number = np.repeat(np.arange(len(every)), lengths)
    places, rows = (np.concatenate(each) for each in zip(*((c.places, c.rows) for c in every), strict=True))
    return number % 2, number // 2, places, rows


def _values(samples: Sequence[Both]) -> _Stack:
    """Return columns of a few values, by the values that occur."""
    sample, column, places, rows = _entries(samples)
    order = np.lexsort((places, column))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(column[order]) != 0) | (np.diff(places[order]) != 0)
    number = np.empty(len(order), dtype=np.intp)
    number[order] = np.cumsum(new) - 1
    sizes = np.bincount(column[order][new], minlength=len(samples))
    place = number - (np.cumsum(sizes) - sizes)[column]
    return _Stack(sizes, sample, column, place, rows, places)


def _few_points(samples: Sequence[Both]) -> _Stack:
    """Return columns of several values, by the points of the lattice that are next to them."""
    return replace(_values(_on_lattice(samples)), on_points=True)


def _points(samples: Sequence[Both]) -> _Stack:
    """Return columns of many values, by all points of a stretch of the lattice."""
    sample, column, places, rows = _entries(_on_lattice(samples))
    point = np.rint(places / STEP).astype(np.intp)
    first = np.full(len(samples), np.iinfo(np.intp).max)
    last = np.full(len(samples), np.iinfo(np.intp).min)
    np.minimum.at(first, column, point)
    np.maximum.at(last, column, point)
    return _Stack(last - first + 1, sample, column, point - first[column], rows)


def _on_lattice(samples: Sequence[Both]) -> list[Both]:
    return [
        (x.on_lattice(), y.on_lattice())
        for x, y in samples
        if isinstance(x, NumberCounts) and isinstance(y, NumberCounts)
    ]


def _labels(samples: Sequence[Both]) -> _Stack:
    """Return columns of labels; a missing one is the first."""
    sizes, lengths, places, rows = list[int](), list[int](), list[int](), list[float]()
    for both in samples:
        numbers: dict[str, int] = {}
        for counts in both:
            assert isinstance(counts, LabelCounts)
            places.append(0)
            rows.append(counts.missing)
            places += [numbers.setdefault(label, len(numbers) + 1) for label in counts.rows]
            rows += counts.rows.values()
            lengths.append(1 + len(counts.rows))
        sizes.append(len(numbers) + 1)
    number = np.repeat(np.arange(len(lengths)), lengths)
    return _Stack(np.array(sizes), number % 2, number // 2, np.array(places), np.array(rows), of_labels=True)
