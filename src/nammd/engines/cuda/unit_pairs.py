"""Launches that sum over pairs of pieces of units on a GPU, in turns, and how their parts are added up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from nammd.engines.cuda.arrangement import Bundled, Bundles, Places, Stacked, Stacks
from nammd.engines.cuda.launch import Shape, add_up, constants, is_resident
from nammd.engines.cuda.operands import Operands
from nammd.engines.units import Labels

_BUFFER_BYTES = 1 << 29
"""For the parts of a turn that are not added up yet."""

NEVER = (1 << 30) + 1
"""No two numbers differ by so much."""


PlacesOf = TypeVar("PlacesOf", bound=Places)


@dataclass(frozen=True, eq=False)
class Side(Generic[PlacesOf]):
    """A sample as the rows or the columns of a Gram matrix, ready for the program.

    Attributes
    ----------
    places : Places
        Where its pieces are put.
    positions : torch.Tensor
        Where its rows are put.
    operands : Operands
        The rows, there.
    numbers, sizes : torch.Tensor
        Those of the units of all pieces.
    heaviest : float
        What weights were divided by.
    """

    places: PlacesOf
    positions: Any
    operands: Operands
    numbers: Any
    sizes: Any
    heaviest: float


@dataclass(frozen=True, eq=False)
class _Turn:
    """Some neighbouring tiles of columns: the first, how many, and how many planes they meet.

    `borders` are those of the panels; `units` says how many pieces each unit has in it, and `open` whether
    the last one goes on in the next turn.
    """

    first: int
    count: int
    planes: int
    borders: Any
    units: Any
    open: bool


class SectionPair:
    """Two sections, and the launches that sum over their pairs of pieces.

    All that they need is brought to the device before any of them runs, since the next one waits for it.
    """

    def __init__(
        self,
        shape: Shape,
        one: tuple[Side[Stacks], Stacked, Any],
        other: tuple[Side[Bundles], Bundled],
        apart: tuple[int, int],
    ) -> None:
        import torch

        (self.one, self.here, self.plan), (self.other, self.there) = one, other
        self.shape, self.apart, self.device = shape, apart, one[0].numbers.device
        self.cut = self.here.cut or self.there.cut
        bundles = self.there.bundles
        # What no column of a tile meets is not computed; of two samples all is.
        last = self.other.places.numbers[self.there.pieces][bundles - 1 :: bundles].astype(np.intp)
        limits = np.full(len(last), self.here.ends[-1])
        if apart[1] == NEVER:
            limits = self.here.below(last - apart[0])
        self.limits = self._brought(limits.astype(np.int32))
        self.each = self._brought(self.here.each) if self.here.cut else None
        parts = limits * shape.rows + self.here.count * (1 + bundles * self.cut)
        self.turns = [
            self._turn(first, count, int(limits[first + count - 1])) for first, count in _turns(parts)
        ]
        double = {"dtype": torch.float64, "device": self.device}
        self.found = [
            torch.zeros(size, **double)
            for size in (
                int(self.here.ends[-1]) * shape.rows, self.here.count,
                len(limits) * shape.columns, self.there.count,
            )
        ]  # fmt: skip

    def _brought(self, numbers: Any) -> Any:
        import torch

        return torch.asarray(numbers, device=self.device)

    def _turn(self, first: int, count: int, planes: int) -> _Turn:
        borders = self._brought(self.here.borders(planes, self.shape.panel(planes * count)))
        units, goes_on = None, False
        if self.there.cut:
            # The units that end, begin, or go on in this turn, and how many pieces of each are in it.
            start, stop = first * self.there.bundles, (first + count) * self.there.bundles
            ends = np.cumsum(self.there.each)
            one, last = np.searchsorted(ends, [start, stop - 1], side="right")
            units = self._brought(np.diff(np.r_[start, np.minimum(ends[one : last + 1], stop)]))
            goes_on = bool(ends[last] > stop)
        return _Turn(first, count, planes, borders, units, goes_on)

    def sums(self, power: int, two: bool) -> tuple[Any, ...]:
        """Return sums for the rows and pieces of one section, for those of the other, and of squares.

        They are where the samples are, and may be under way.
        """
        import torch

        columns, bundles, count = self.shape.columns, self.there.bundles, self.here.count
        squares: Any = 0.0
        going_on: Any = 0.0
        for turn in self.turns:
            if not turn.planes:
                continue
            panels = len(turn.borders) - 1
            sizes = [
                (turn.count, turn.planes * self.shape.rows), (turn.count, count),
                (panels, turn.count * columns), (panels, turn.count * bundles),
                (turn.count * bundles, count) if self.cut else (panels, turn.count),
            ]  # fmt: skip
            *sums, pairs = (torch.zeros(size, dtype=torch.float32, device=self.device) for size in sizes)
            self._launch(turn, [*sums, pairs], power, two)
            for total, part in zip(self.found[:2], sums[:2], strict=True):
                add_up(part[None], total[None])
            for total, part, width in zip(self.found[2:], sums[2:], (columns, bundles), strict=True):
                total[turn.first * width :][: part.shape[1]] = part.sum(0, dtype=torch.float64)
            if self.there.cut:  # pieces of one unit, of which there are not many
                pairs = torch.segment_reduce(pairs, "sum", lengths=turn.units, axis=0, unsafe=True)
            pairs = pairs.double()
            if self.there.cut:
                pairs[0] += going_on
                pairs, going_on = (pairs[:-1], pairs[-1]) if turn.open else (pairs, 0.0)
            if self.here.cut:
                pairs = torch.segment_reduce(
                    pairs.T.contiguous(), "sum", lengths=self.each, axis=0, unsafe=True
                )
            squares = squares + (torch.sum(pairs * pairs) if self.cut else torch.sum(pairs))
        return *self.found, squares

    def _launch(self, turn: _Turn, results: Sequence[Any], power: int, two: bool) -> None:
        from nammd.engines.cuda.unit_programs import unit_sums

        left, right, here, there = self.one.operands, self.other.operands, self.here, self.there
        unit_sums[(turn.count, len(turn.borders) - 1)](
            left.high, left.low, left.left, right.high, right.low, right.right,
            self.one.numbers[here.pieces], self.other.numbers[there.pieces],
            self.one.sizes[here.pieces], self.other.sizes[there.pieces],
            self.plan, turn.borders, self.limits, *results, left.padded, right.padded,
            turn.planes * self.shape.rows, here.count, here.rows.start, there.rows.start, turn.first,
            *self.apart,
            **constants(self.shape, left, power, two), P=there.width, G=there.bundles // 8,
            RESIDENT=is_resident(left, power), CUT=self.cut, WARPS=self.shape.warps, STAGES=self.shape.stages,
            num_stages=self.shape.stages, maxnreg=self.shape.registers,
        )  # fmt: skip


def _turns(parts: Labels) -> Iterator[tuple[int, int]]:
    """Yield the first block of each turn and how many there are, if blocks leave so many numbers behind.

    A block leaves at least as many behind as the one before; in a turn all leave as many as the last one.
    """
    first = 0
    while first < len(parts):
        needed = np.arange(1, len(parts) - first + 1) * parts[first:]
        now = max(1, int(np.searchsorted(needed, _BUFFER_BYTES // 4, side="right")))
        yield first, now
        first += now
