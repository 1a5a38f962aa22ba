"""Sums over pairs of units on a GPU: what the program is given, and what its sums say of rows and units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.threads import each_in_threads
from nammd.engines.cuda.arrangement import Bundles, Section, Stacks
from nammd.engines.cuda.fetching import fetched
from nammd.engines.cuda.launch import Shape, first_that_fits, shapes_of_unit_sums
from nammd.engines.cuda.operands import Operands, prepare
from nammd.engines.cuda.unit_pairs import NEVER, PlacesOf, SectionPair, Side
from nammd.engines.cuda.weighted_rows import LIGHTEST
from nammd.engines.units import UnitCross, Units, UnitWithin
from nammd.kernels.base import Exponential

_AT_ONCE = 4
"""So many pairs of sections are computed at a time."""

_LARGEST_NUMBER = 1 << 29
"""Of a unit; the program compares them in 32 bits."""

_LOOKS = Stacks.of, Bundles.of
"""Both are needed of every sample."""

_VALUES = 8
"""So many values are looked at for each row that is put in its place."""

_EVERY = -NEVER
"""All numbers differ by more than this."""


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
        return self._side(self.units.looked_at(Stacks.of))

    @cached_property
    def columns(self) -> Side[Bundles]:
        """The sample as its columns."""
        return self._side(self.units.looked_at(Bundles.of))

    def _side(self, places: PlacesOf) -> Side[PlacesOf]:
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
    # While the device is at work on these.
    looks = [(units, look) for _, units in samples for look in _LOOKS if not units.has_been_looked_at(look)]
    if looks:
        rows = sum(len(units.labels) for units, _ in looks)
        each_in_threads(Units.looked_at, *zip(*looks, strict=True), values=_VALUES * rows)
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
            apart = first.units.reach, NEVER
        else:
            # Blocks in time are no units of the other sample, whatever their numbers.
            common = np.intersect1d(first.units.numbers, second.units.numbers, assume_unique=True)
            apart = (0, 0) if len(common) and not first.units.reach else (_EVERY, _EVERY)
        plans = [
            torch.asarray(here.plan, device=self.one.numbers.device) for here in self.one.places.sections
        ]
        self.pairs = [
            SectionPair(shape, (self.one, here, plan), (self.other, there), apart)
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
            rows, sized = fetched(mine.by_row + theirs.by_row, mine.by_unit + theirs.by_unit)
            return UnitWithin(_whole(rows, one, most), sized * most**3, 2 * total)
        rows, cols, sized_rows, sized_cols = fetched(mine.by_row, theirs.by_row, mine.by_unit, theirs.by_unit)
        return UnitCross(
            _whole(rows, one, heaviest),
            _whole(cols, other, most),
            sized_rows * most * heaviest**2,
            sized_cols * heaviest * most**2,
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

    def start(self, pair: SectionPair, power: int, two: bool) -> Callable[[], tuple[Any, ...]]:
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
