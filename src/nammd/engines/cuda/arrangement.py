"""In which order the GPU sees rows that are in units, so that no row has to find its unit.

As rows of a Gram matrix units lie in `Stacks`: the first rows of 64 units, then their second rows, and so on.
So all tiles of a stack have the same units at the same lines, and are added up as they are. As columns they
lie in `Bundles`: the rows of a unit are eight columns apart, where one thread has them all in its registers.

Units of few rows are filled up, and larger ones are cut into pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray, to_numpy
from nammd.engines.units import Labels, Units

LINES = 64
"""So many pieces are in a stack: the rows of a tile."""

HIGHEST = 64
"""Units of more rows are cut into pieces of at most so many; of few rows in all, into smaller ones."""

WIDTHS = (1, 2, 3, 4, 5, 8)
"""How many rows are in a bundle; of 6 or 7 as many would be in a tile as of 8."""

COLUMNS = 128
"""So many columns are in a tile, in slots of eight."""

SLOTS = COLUMNS // 8


@dataclass(frozen=True, eq=False)
class Section:
    """Neighbouring pieces that are all whole units, or all parts of some.

    Attributes
    ----------
    rows, pieces : slice
        The positions of their rows, and the places of the pieces.
    each : array of int
        How many neighbouring pieces each unit has; a piece that fills up is one of its own.
    """

    rows: slice
    pieces: slice
    each: Labels

    @cached_property
    def cut(self) -> bool:
        """Whether some units are in several pieces."""
        return bool((self.each > 1).any())

    @property
    def count(self) -> int:
        """How many pieces there are, filled up."""
        return int(self.pieces.stop - self.pieces.start)


@dataclass(frozen=True, eq=False)
class Stacked(Section):
    """Pieces in stacks.

    Attributes
    ----------
    ends : array of int of shape (stacks + 1,)
        Behind which plane each stack ends, after a 0.
    lowest, highest : array of int of shape (stacks,)
        The numbers of their units; stacks are in the order of the lowest.
    """

    ends: Labels
    lowest: Labels
    highest: Labels

    @property
    def plan(self) -> NDArray[np.int32]:
        """For every plane: its stack, the lowest and the highest number there, and whether it is the last."""
        of = np.repeat(np.arange(len(self.lowest)), np.diff(self.ends))
        last = np.zeros(len(of), bool)
        last[self.ends[1:] - 1] = True
        return np.stack([of, self.lowest[of], self.highest[of], last], axis=1).astype(np.int32)

    def borders(self, planes: int, panel: int) -> NDArray[np.int32]:
        """Return between which stacks panels begin and end, of about so many planes of the first ones."""
        ends = self.ends[: np.searchsorted(self.ends, planes) + 1]
        wanted = np.searchsorted(ends, np.arange(0, planes, panel))
        return np.unique(np.append(ends[wanted], planes)).astype(np.int32)

    def below(self, numbers: Labels) -> Labels:
        """Return how many planes there are until all that follow have numbers at least as large as some."""
        planes: Labels = self.ends[np.searchsorted(self.lowest, numbers)]
        return planes


@dataclass(frozen=True, eq=False)
class Bundled(Section):
    """Pieces in bundles, in the order of their numbers.

    Attributes
    ----------
    width : int
        How many rows each has.
    """

    width: int

    @property
    def bundles(self) -> int:
        """How many are in a tile, with those that fill up."""
        return _bundles(self.width)


@dataclass(frozen=True, eq=False)
class Places:
    """Where the rows of a sample are put.

    Attributes
    ----------
    sections : sequence of Section
        The pieces, by how they are launched.
    units : array of int of shape (pieces,)
        Which unit each piece belongs to; -1 of those that fill up.
    numbers, sizes : array of shape (pieces,)
        The number and the size of that unit. Those that fill up have no size.
    first, most : array of int of shape (units,)
        The place of the first piece of each unit, and how many rows each of its pieces has at most.
    """

    sections: Sequence[Section]
    units: Labels
    numbers: NDArray[np.int32]
    sizes: FloatArray
    first: Labels
    most: Labels

    @property
    def filled(self) -> int:
        """The number of positions."""
        return int(self.sections[-1].rows.stop)

    def positions(self, units: Units, device: Any) -> Any:
        """Return where each row is put, as a tensor on a device: of many rows, the host would take long."""
        import torch

        there = partial(torch.asarray, device=device)
        each = there(np.arange(len(units))).repeat_interleave(
            there(units.rows), output_size=len(units.labels)
        )
        rank = torch.arange(len(units.labels), device=device) - there(units.starts)[each]
        most = there(self.most)[each]
        return self._positions(there(self.first)[each] + rank // most, rank % most, each, there)

    def _positions(self, place: Any, rank: Any, each: Any, there: Callable[[Labels], Any]) -> Any:
        """Return the positions of rows of some rank in the pieces at some places, of some units."""
        raise NotImplementedError

    def by_unit(self, values: Any) -> Any:
        """Return the sums of the values of each unit's pieces, where they are."""
        import torch

        if not any(section.cut for section in self.sections):
            return values[torch.asarray(self.first, device=values.device)]
        there = self.units >= 0
        sums = np.bincount(self.units[there], to_numpy(values)[there])
        return torch.asarray(sums, dtype=torch.float64, device=values.device)


@dataclass(frozen=True, eq=False)
class Stacks(Places):
    """Rows in stacks.

    Attributes
    ----------
    begin : array of int of shape (stacks,)
        How many planes there are before each stack.
    """

    sections: Sequence[Stacked]
    begin: Labels

    @classmethod
    def of(cls, units: Units) -> Stacks:
        """Put the rows of some units into stacks."""
        most = min(HIGHEST, max(1, int(units.rows.sum()) // LINES))
        whole = units.rows <= most
        each, height = np.ones(len(units), np.intp), units.rows.copy()
        each[~whole] = -(-units.rows[~whole] // _best_height(units.rows[~whole], most))
        height[~whole] = -(-units.rows[~whole] // each[~whole])
        # Whole units of about one height together, so that few rows are filled up; pieces stay neighbours.
        alike = np.flatnonzero(whole)[np.argsort(_about(height[whole]), kind="stable")]
        sections: list[Stacked] = []
        owners, begin, row, piece = [], [], 0, 0
        for members in filter(len, (alike, np.flatnonzero(~whole))):
            stacks = _filled_up(np.repeat(members, each[members]), LINES).reshape(-1, LINES)
            first = np.where(stacks < 0, len(units), stacks).min(axis=1)
            stacks = stacks[np.argsort(first, kind="stable")]
            there = np.where(stacks < 0, stacks.max(axis=1)[:, None], stacks)
            planes = np.r_[0, np.cumsum(height[there].max(axis=1))]
            rows, pieces = slice(row, row + LINES * int(planes[-1])), slice(piece, piece + stacks.size)
            number = units.numbers[there]
            own = _each(each[members], stacks.size)
            sections.append(Stacked(rows, pieces, own, planes, number.min(axis=1), number.max(axis=1)))
            owners.append(stacks.ravel())
            begin.append(row // LINES + planes[:-1])
            row, piece = rows.stop, pieces.stop
        owner = np.concatenate(owners)
        return cls(sections, owner, *_of_pieces(units, owner), height, np.concatenate(begin))

    def _positions(self, place: Any, rank: Any, each: Any, there: Callable[[Labels], Any]) -> Any:
        return (there(self.begin)[place // LINES] + rank) * LINES + place % LINES


@dataclass(frozen=True, eq=False)
class Bundles(Places):
    """Rows in bundles.

    Attributes
    ----------
    begin : array of int of shape (units,)
        Where tiles as those of each unit would begin if there were none before of other widths.
    """

    sections: Sequence[Bundled]
    begin: Labels

    @classmethod
    def of(cls, units: Units) -> Bundles:
        """Put the rows of some units into bundles."""
        widths = np.asarray(WIDTHS)[np.searchsorted(WIDTHS, np.arange(WIDTHS[-1] + 1))]
        width = widths[np.minimum(units.rows, WIDTHS[-1])]
        each, large = np.ones(len(units), np.intp), units.rows > WIDTHS[-1]
        each[large] = -(-units.rows[large] // WIDTHS[-1])
        sections: list[Bundled] = []
        owners, begin, row, piece = [], np.empty(len(units), np.intp), 0, 0
        for one in WIDTHS:
            for alike in ((width == one) & ~large, (width == one) & large):
                members = np.flatnonzero(alike)
                if not len(members):
                    continue
                there = 8 * (SLOTS // one)
                tiles = _filled_up(np.repeat(members, each[members]), there).reshape(-1, there)
                bundles = np.pad(tiles, ((0, 0), (0, _bundles(one) - there)), constant_values=-1)
                rows = slice(row, row + COLUMNS * len(tiles))
                pieces = slice(piece, piece + bundles.size)
                sections.append(Bundled(rows, pieces, _each(each[members], bundles.size), one))
                owners.append(bundles.ravel())
                begin[members] = row - COLUMNS * (piece // _bundles(one))
                row, piece = rows.stop, pieces.stop
        owner = np.concatenate(owners)
        return cls(sections, owner, *_of_pieces(units, owner), width, begin)

    def _positions(self, place: Any, rank: Any, each: Any, there: Callable[[Labels], Any]) -> Any:
        width = there(self.most)[each]
        bundles = there(np.array([0, *map(_bundles, range(1, SLOTS))]))[width]
        tile, slot = place // bundles, place % bundles // 8 * width + rank
        return there(self.begin)[each] + COLUMNS * tile + 8 * slot + place % 8


def _about(heights: Labels) -> NDArray[np.uint8]:
    """Return heights rounded up to few different numbers, by at most a sixteenth.

    They are small ones, which are sorted sooner.
    """
    most = np.arange(HIGHEST + 1)
    steps = 1 << np.maximum(np.ceil(np.log2(np.maximum(most, 1))).astype(np.intp) - 4, 0)
    rounded: NDArray[np.uint8] = (-(-most // steps) * steps).astype(np.uint8)
    return rounded[heights]


def _best_height(rows: Labels, most: int) -> int:
    """Return the most rows for a piece of a unit with which few rows are filled up, and pieces are few."""
    choices = [height for height in (64, 48, 32, 24, 16) if height <= most] or [most]
    return min(choices, key=lambda height: int((-(-rows // height)).sum()) * (height + 1))


def _filled_up(pieces: Labels, block: int) -> Labels:
    """Return the units of pieces, with -1 up to a multiple of some number of them."""
    return np.concatenate([pieces, np.full(-len(pieces) % block, -1)])


def _bundles(width: int) -> int:
    """Return how many bundles of some width are in a tile, filled up: eight times a power of two."""
    return int(8 << (SLOTS // width - 1).bit_length())


def _each(each: Labels, filled: int) -> Labels:
    """Return the numbers of pieces of units, with ones for those that fill up."""
    return np.append(each, np.ones(filled - int(each.sum()), np.intp))


def _of_pieces(units: Units, owner: Labels) -> tuple[NDArray[np.int32], FloatArray, Labels]:
    """Return the numbers and sizes of the units of pieces, and the place of each unit's first one.

    Those that fill up have the number of the piece before them: numbers stay in order.
    """
    there = owner >= 0
    last = np.maximum.accumulate(np.where(there, np.arange(len(owner)), 0))
    first, places = np.empty(len(units), np.intp), np.flatnonzero(there)[::-1]
    first[owner[places]] = places  # a unit's first piece is written last
    return units.numbers[owner[last]].astype(np.int32), np.where(there, units.sizes[owner], 0.0), first
