"""Sums over pairs of units on a GPU: what the program is given, in turns, and how its parts are added up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from nammd.data.arrays import FloatArray, to_numpy
from nammd.engines.cuda.arrangement import Bundled, Bundles, Places, Section, Stacked, Stacks
from nammd.engines.cuda.launch import (
    Shape,
    add_up,
    constants,
    first_that_fits,
    is_resident,
    shapes_of_unit_sums,
)
from nammd.engines.cuda.operands import Operands, prepare
from nammd.engines.cuda.weighted_rows import LIGHTEST
from nammd.engines.units import Labels, UnitCross, Units, UnitWithin
from nammd.kernels.base import Exponential

_BUFFER_BYTES = 1 << 29
"""For the parts of a turn that are not added up yet."""

_AT_ONCE = 4
"""So many pairs of sections are computed at a time."""

_LARGEST_NUMBER = 1 << 29
"""Of a unit; the program compares them in 32 bits."""

_NEVER = (1 << 30) + 1
"""No two numbers differ by so much."""

_EVERY = -_NEVER
"""All differ by more."""


_Places = TypeVar("_Places", bound=Places)


@dataclass(frozen=True, eq=False)
class Side(Generic[_Places]):
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

    places: _Places
    positions: Any
    operands: Operands
    numbers: Any
    sizes: Any
    heaviest: float


@dataclass(frozen=True, eq=False)
class Arranged:
    """A sample whose rows are in units.

    Attributes
    ----------
    units : Units
        The units.
    operands : Operands
        The rows, in their own order.
    heaviest : float
        What weights were divided by.
    """

    units: Units
    operands: Operands
    heaviest: float

    @cached_property
    def rows(self) -> Side[Stacks]:
        """The sample as the rows of a Gram matrix."""
        return self._side(Stacks.of(self.units))

    @cached_property
    def columns(self) -> Side[Bundles]:
        """The sample as its columns."""
        return self._side(Bundles.of(self.units))

    def _side(self, places: _Places) -> Side[_Places]:
        import torch

        device = self.operands.high.device
        positions = places.positions(self.units, device)
        return Side(
            places,
            positions,
            self.operands.spread(positions, places.filled),
            torch.asarray(places.numbers, device=device),
            torch.asarray(places.sizes / self.heaviest, dtype=torch.float32, device=device),
            self.heaviest,
        )


def arranged(
    samples: Sequence[tuple[Any, Units]], terms: Sequence[Exponential], extra: int, two: bool
) -> list[Arranged] | None:
    """Return samples as the program needs them, centred alike; None where it would not do."""
    import torch

    if max(int(np.abs(units.numbers).max()) for _, units in samples) > _LARGEST_NUMBER:
        return None
    heaviest, weights = [], []
    for sample, units in samples:
        most = 1.0 if units.weights is None else float(units.weights.max())
        light = torch.zeros(len(units.labels), dtype=torch.float64, device=sample.device)
        if units.weights is not None:
            light = torch.asarray(units.weights / most, device=sample.device).log2()
            if float(light.min()) < LIGHTEST:
                return None
        heaviest.append(most)
        weights.append(light)
    ready = prepare([sample for sample, _ in samples], terms, extra, two, log_weights=weights)
    return [
        Arranged(units, one, most) for (_, units), one, most in zip(samples, ready, heaviest, strict=True)
    ]


@dataclass(eq=False)
class _Totals:
    """Sums for every position and every piece of a side, in float64, where it is."""

    side: Side[Any]
    rows: Any = field(init=False)
    sized: Any = field(init=False)

    def __post_init__(self) -> None:
        import torch

        options = {"dtype": torch.float64, "device": self.side.numbers.device}
        self.rows = torch.zeros(self.side.places.filled, **options)
        self.sized = torch.zeros(len(self.side.places.numbers), **options)

    def add(self, section: Section, rows: Any, sized: Any) -> None:
        """Add the sums for a section."""
        self.rows[section.rows] += rows
        self.sized[section.pieces] += sized

    @property
    def by_row(self) -> Any:
        """The sums for every row."""
        return self.rows[self.side.positions]

    @property
    def by_unit(self) -> Any:
        """The sums for every unit, weighted by the sizes of those of the other side."""
        return self.side.places.by_unit(self.sized)


def summed(parts: Sequence[tuple[Arranged, ...]], power: int, two: bool) -> list[UnitWithin | UnitCross]:
    """Return the sums over the pairs of units of one sample, ``(one,)``, or of two, ``(one, other)``."""
    found: list[UnitWithin | UnitCross] = first_that_fits(
        shapes_of_unit_sums(parts[0][0].operands, power, two),
        lambda shape: _summed_in(shape, parts, power, two),
    )
    return found


def _summed_in(
    shape: Shape, parts: Sequence[tuple[Arranged, ...]], power: int, two: bool
) -> list[UnitWithin | UnitCross]:
    """Return the same in tiles of a given shape: one part is made ready while another is under way."""
    at_work = _SideBySide(parts[0][0].operands.high.device)
    started = []
    for samples in parts:
        part = _Part(*samples, shape=shape)
        started.append((part, [at_work.start(pair, power, two) for pair in part.pairs]))
    return [part.done([pair() for pair in pairs]) for part, pairs in started]


class _Part:
    """The sums over pairs of units of one sample, or of two."""

    def __init__(self, first: Arranged, second: Arranged | None = None, *, shape: Shape) -> None:
        import torch

        self.alone, self.samples = second is None, (first, second or first)
        self.one, self.other = first.rows, (second or first).columns
        if second is None:
            # Of two units that of the smaller number is in the rows, and the other one in the columns.
            apart = first.units.reach, _NEVER
        else:
            # Blocks in time are no units of the other sample, whatever their numbers.
            common = np.intersect1d(first.units.numbers, second.units.numbers, assume_unique=True)
            apart = (0, 0) if len(common) and not first.units.reach else (_EVERY, _EVERY)
        plans = [
            torch.asarray(here.plan, device=self.one.numbers.device) for here in self.one.places.sections
        ]
        self.pairs = [
            _Pair(shape, (self.one, here, plan), (self.other, there), apart)
            for here, plan in zip(self.one.places.sections, plans, strict=True)
            for there in self.other.places.sections
        ]

    def done(self, found: Sequence[tuple[Any, ...]]) -> UnitWithin | UnitCross:
        """Return the sums, from those of all pairs of sections."""
        mine, theirs, squares = _Totals(self.one), _Totals(self.other), 0.0
        for pair, sums in zip(self.pairs, found, strict=True):
            mine.add(pair.here, sums[0], sums[1])
            theirs.add(pair.there, sums[2], sums[3])
            squares = squares + sums[4]
        (one, other), (most, heaviest) = self.samples, (self.one.heaviest, self.other.heaviest)
        total = float(squares) * (most * heaviest) ** 2
        if self.alone:
            rows, sized = to_numpy(mine.by_row + theirs.by_row), to_numpy(mine.by_unit + theirs.by_unit)
            return UnitWithin(_whole(rows, one, most), sized * most**3, 2 * total)
        return UnitCross(
            _whole(to_numpy(mine.by_row), one, heaviest),
            _whole(to_numpy(theirs.by_row), other, most),
            to_numpy(mine.by_unit) * most * heaviest**2,
            to_numpy(theirs.by_unit) * heaviest * most**2,
            total,
        )


def _whole(rows: FloatArray, sample: Arranged, heaviest: float) -> FloatArray:
    """Return sums for the rows of a sample: of weights as they are, those of the other side too."""
    if sample.units.weights is not None:
        rows = rows / sample.units.weights * sample.heaviest
    return rows if heaviest == 1 else rows * heaviest


class _SideBySide:
    """Pairs of sections at work on a device, some at a time: one of few units leaves much of it idle."""

    def __init__(self, device: Any) -> None:
        import torch

        self.streams: list[Any] = []
        if device.type == "cuda":
            self.here = torch.cuda.current_stream(device)
            self.streams = [torch.cuda.Stream(device) for _ in range(_AT_ONCE)]  # type: ignore[no-untyped-call]

    def start(self, pair: _Pair, power: int, two: bool) -> Callable[[], tuple[Any, ...]]:
        """Begin with a pair; call what is returned for its sums when all have begun."""
        import torch

        if not self.streams:
            sums = pair.sums(power, two)
            return lambda: sums
        stream = self.streams.pop(0)
        self.streams.append(stream)
        stream.wait_stream(self.here)
        with torch.cuda.stream(stream):
            sums = pair.sums(power, two)
        done = stream.record_event()

        def found() -> tuple[Any, ...]:
            self.here.wait_event(done)
            return sums

        return found


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


class _Pair:
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
        if apart[1] == _NEVER:
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
            pairs = pairs.double()
            if self.there.cut:
                pairs = torch.segment_reduce(pairs, "sum", lengths=turn.units, axis=0, unsafe=True)
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
