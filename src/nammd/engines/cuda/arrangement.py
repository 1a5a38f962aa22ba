"""In which order the GPU sees rows that are in units, so that sums over pairs of units are sums of tiles.

Units of one size lie in planes: the first rows of all of them, then the second rows, and so on. The tile of
the p-th rows of some units and the q-th rows of others then has the same pair of units at the same place for
all p and q, and the sums between units are these tiles added up. No row has to find its unit.

Units of about the same size are filled up to one, and large ones are cut into pieces of a size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.engines.units import Labels, Units

MOST = 64
"""Units of more rows are cut into pieces of at most so many; of few rows in all, into smaller ones."""

BLOCK = 128
"""Pieces of one size are filled up to a multiple of this, so that tiles of any shape here fit."""


@dataclass(frozen=True, eq=False)
class Kind:
    """The pieces of one size.

    Attributes
    ----------
    planes : int
        How many rows each has.
    count : int
        How many there are, filled up.
    start : int
        The position of the first row of the first one; the same row of the next one follows.
    first : int
        The place of the first piece among those of all kinds.
    each : array of int
        How many neighbouring pieces each unit has.
    """

    planes: int
    count: int
    start: int
    first: int
    each: Labels

    @property
    def rows(self) -> slice:
        """The positions of its rows."""
        return slice(self.start, self.start + self.planes * self.count)

    @property
    def pieces(self) -> slice:
        """The places of its pieces."""
        return slice(self.first, self.first + self.count)

    @cached_property
    def cut(self) -> bool:
        """Whether some units are in several pieces."""
        return bool((self.each > 1).any())


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Where the rows of a sample are put.

    Attributes
    ----------
    units : Units
        The units.
    kinds : list of Kind
        The sizes of pieces.
    positions : array of int of shape (rows,)
        Where each row is put.
    pieces : array of int of shape (units,)
        The place of the first piece of each unit.
    numbers, sizes : array
        For every piece: the number and the size of its unit. Those that fill up have no size.
    """

    units: Units
    kinds: list[Kind]
    positions: Labels
    pieces: Labels
    numbers: NDArray[np.int32]
    sizes: FloatArray

    @classmethod
    def of(cls, units: Units) -> Arrangement:
        """Arrange the rows of some units."""
        rows, height = units.rows, _heights(units.rows)
        positions, pieces = np.empty(len(units.labels), np.intp), np.empty(len(units), np.intp)
        rank = np.arange(len(units.labels)) - np.repeat(units.starts, rows)
        kinds, numbers, sizes, start, first = [], [], [], 0, 0
        for planes, members in _together(height):
            each = -(-rows[members] // planes)
            before = np.cumsum(each) - each
            there = int(each.sum())
            kind = Kind(planes, -(-there // BLOCK) * BLOCK, start, first, each)
            chosen = np.repeat(np.isin(np.arange(len(units)), members, assume_unique=True), rows)
            mine = rank[chosen]
            piece = np.repeat(before, rows[members]) + mine // planes
            positions[chosen] = start + (mine % planes) * kind.count + piece
            pieces[members] = first + before
            fill = kind.count - there
            number = np.repeat(units.numbers[members], each)
            numbers.append(np.concatenate([number, np.full(fill, number[-1])]))
            sizes.append(np.concatenate([np.repeat(units.sizes[members], each), np.zeros(fill)]))
            kinds.append(kind)
            start, first = start + planes * kind.count, first + kind.count
        return cls(
            units, kinds, positions, pieces, np.concatenate(numbers).astype(np.int32), np.concatenate(sizes)
        )

    @property
    def filled(self) -> int:
        """The number of positions."""
        return int(self.kinds[-1].rows.stop)

    @cached_property
    def sources(self) -> Labels:
        """For every position, the row that is put there; -1 where none is."""
        found = np.full(self.filled, -1, np.intp)
        found[self.positions] = np.arange(len(self.positions))
        return found

    def by_unit(self, values: FloatArray) -> FloatArray:
        """Return the sums of the values of each unit's pieces."""
        if not any(kind.cut for kind in self.kinds):
            return values[self.pieces]
        each = np.empty(len(self.pieces), np.intp)
        each[np.argsort(self.pieces)] = np.concatenate([kind.each for kind in self.kinds])
        order = np.repeat(self.pieces - (np.cumsum(each) - each), each) + np.arange(each.sum())
        sums: FloatArray = np.add.reduceat(values[order], np.cumsum(each) - each)
        return sums


def _heights(rows: Labels) -> Labels:
    """Return how many rows the pieces of each unit have, filled up to few different numbers."""
    most = min(MOST, max(1, int(rows.sum()) // BLOCK))
    height = -(-rows // -(-rows // most))
    steps = np.maximum(1 << np.maximum(np.ceil(np.log2(height)).astype(np.intp) - 4, 0), 1)
    heights: Labels = -(-height // steps) * steps
    return heights


def _together(heights: Labels) -> Iterator[tuple[int, Labels]]:
    """Yield the units of each kind; few of a size are put to those of the next one, where that is less."""
    sizes, counts = np.unique(heights, return_counts=True)
    least, waiting = 0, 0
    for place, (size, count) in enumerate(zip(sizes.tolist(), counts.tolist(), strict=True)):
        waiting += count
        if place + 1 < len(sizes) and waiting * (int(sizes[place + 1]) - size) < BLOCK * size:
            continue
        yield size, np.flatnonzero((heights > least) & (heights <= size))
        least, waiting = size, 0
