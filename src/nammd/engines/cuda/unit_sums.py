"""Sums over pairs of units on a GPU: what the program is given, in turns, and how its parts are added up."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray, joined, run_sums, to_numpy
from nammd.engines.cuda.arrangement import Arrangement, Kind
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
from nammd.engines.units import UnitCross, Units, UnitWithin
from nammd.kernels.base import Exponential

_BUFFER_BYTES = 1 << 29
"""For the parts of a turn that are not added up yet."""

_AT_ONCE = 4
"""So many kinds of pairs are computed at a time."""

_LARGEST_NUMBER = 1 << 29
"""Of a unit; the program compares them in 32 bits."""

_NO_REACH = -(1 << 30) - 1
"""With it no units are near each other."""


@dataclass(frozen=True, eq=False)
class Arranged:
    """A sample whose rows are in units, ready for the program.

    Attributes
    ----------
    arrangement : Arrangement
        Where its rows are.
    operands : Operands
        The rows, in this order.
    numbers, sizes : torch.Tensor
        Those of the units of all pieces.
    heaviest : float
        What weights were divided by.
    """

    arrangement: Arrangement
    operands: Operands
    numbers: Any
    sizes: Any
    heaviest: float

    @property
    def units(self) -> Units:
        """The units."""
        return self.arrangement.units


def arranged(
    samples: Sequence[tuple[Any, Units]], terms: Sequence[Exponential], extra: int, two: bool
) -> list[Arranged] | None:
    """Return samples as the program needs them, centred alike; None where it would not do."""
    import torch

    heaviest = [1.0 if units.weights is None else float(units.weights.max()) for _, units in samples]
    logs = [
        np.zeros(len(units.labels)) if units.weights is None else np.log2(units.weights / most)
        for (_, units), most in zip(samples, heaviest, strict=True)
    ]
    if min(float(each.min()) for each in logs) < LIGHTEST:
        return None
    if max(int(np.abs(units.numbers).max()) for _, units in samples) > _LARGEST_NUMBER:
        return None
    places = [Arrangement.of(units) for _, units in samples]
    rows, weights = [], []
    for (sample, _), place, light in zip(samples, places, logs, strict=True):
        source = torch.asarray(place.sources, device=sample.device)
        rows.append(sample[source.clamp(min=0)])
        filled = np.full(place.filled, -math.inf)
        filled[place.positions] = light
        weights.append(torch.asarray(filled, device=sample.device))
    ready = prepare(rows, terms, extra, two, log_weights=weights)
    return [
        Arranged(
            place,
            one,
            torch.asarray(place.numbers, device=one.high.device),
            torch.asarray(place.sizes / most, dtype=torch.float32, device=one.high.device),
            most,
        )
        for place, one, most in zip(places, ready, heaviest, strict=True)
    ]


@dataclass(eq=False)
class _Totals:
    """Sums for every position and every piece of a sample, in float64, where the sample is."""

    sample: Arranged
    rows: Any = field(init=False)
    sized: Any = field(init=False)

    def __post_init__(self) -> None:
        import torch

        options = {"dtype": torch.float64, "device": self.sample.numbers.device}
        self.rows = torch.zeros(self.sample.arrangement.filled, **options)
        self.sized = torch.zeros(len(self.sample.arrangement.numbers), **options)

    def done(self, heaviest: float) -> tuple[FloatArray, FloatArray]:
        """Return the sums for every row, with the weights of the other side, and for every unit.

        `heaviest` is what the weights of the other side were divided by.
        """
        place, units, most = self.sample.arrangement, self.sample.units, self.sample.heaviest
        rows = to_numpy(self.rows)[place.positions] / (units.row_weights / most) * heaviest
        return rows, place.by_unit(to_numpy(self.sized)) * most * heaviest * heaviest


def within(one: Arranged, power: int, two: bool) -> UnitWithin:
    """Return the sums over the pairs of units of one sample."""
    kinds = one.arrangement.kinds
    pairs = [(kind, other) for place, kind in enumerate(kinds) for other in kinds[place:]]
    found = _side_by_side(
        [
            partial(_summed, (one, kind), (one, other), power, two, one.units.reach, other is kind)
            for kind, other in pairs
        ],
        one.numbers.device,
    )
    totals, squares = _Totals(one), 0.0
    for (kind, other), sums in zip(pairs, found, strict=True):
        _add(totals, kind, sums[0], sums[2])
        _add(totals, other, sums[1], sums[3])
        squares += float(sums[4]) * (1 if other is kind else 2)
    rows, sized = totals.done(one.heaviest)
    return UnitWithin(rows, sized, squares * one.heaviest**4)


def cross(one: Arranged, other: Arranged, power: int, two: bool) -> UnitCross:
    """Return the sums over the pairs of a unit of one sample and a unit of the other."""
    # Blocks in time are no units of the other sample, whatever their numbers.
    common = np.intersect1d(one.units.numbers, other.units.numbers, assume_unique=True)
    reach = 0 if len(common) and not one.units.reach else _NO_REACH
    pairs = [(kind, another) for kind in one.arrangement.kinds for another in other.arrangement.kinds]
    found = _side_by_side(
        [
            partial(_summed, (one, kind), (other, another), power, two, reach, False)
            for kind, another in pairs
        ],
        one.numbers.device,
    )
    mine, theirs, squares = _Totals(one), _Totals(other), 0.0
    for (kind, another), sums in zip(pairs, found, strict=True):
        _add(mine, kind, sums[0], sums[2])
        _add(theirs, another, sums[1], sums[3])
        squares += float(sums[4])
    rows, sized_rows = mine.done(other.heaviest)
    cols, sized_cols = theirs.done(one.heaviest)
    return UnitCross(rows, cols, sized_rows, sized_cols, squares * (one.heaviest * other.heaviest) ** 2)


def _side_by_side(tasks: Sequence[Callable[[], tuple[Any, ...]]], place: Any) -> list[tuple[Any, ...]]:
    """Run tasks on a device, some at a time: one alone, of units of two sizes, leaves much of it idle."""
    import torch

    if place.type != "cuda":
        return [task() for task in tasks]
    here = torch.cuda.current_stream(place)
    count = min(len(tasks), _AT_ONCE)
    streams = [torch.cuda.Stream(place) for _ in range(count)]  # type: ignore[no-untyped-call]
    found = []
    for stream in streams:
        stream.wait_stream(here)
    for number, task in enumerate(tasks):
        with torch.cuda.stream(streams[number % len(streams)]):
            found.append(task())
    for stream in streams:
        here.wait_stream(stream)
    return found


def _add(totals: _Totals, kind: Kind, rows: Any, sized: Any) -> None:
    totals.rows[kind.rows] += rows
    totals.sized[kind.pieces] += sized


def _summed(
    one: tuple[Arranged, Kind],
    other: tuple[Arranged, Kind],
    power: int,
    two: bool,
    reach: int,
    triangle: bool,
) -> tuple[Any, ...]:
    """Return sums for the rows of one kind of pieces and of another, for the pieces of both, and squares.

    They are where the samples are, and may be under way.
    """
    shapes = shapes_of_unit_sums(one[0].operands, power, one[1].cut or other[1].cut)
    found: tuple[Any, ...] = first_that_fits(
        shapes, lambda shape: _summed_in(shape, one, other, power, two, reach, triangle)
    )
    return found


def _summed_in(
    shape: Shape,
    one: tuple[Arranged, Kind],
    other: tuple[Arranged, Kind],
    power: int,
    two: bool,
    reach: int,
    triangle: bool,
) -> tuple[Any, ...]:
    """Return the same in tiles of a given shape: some columns of tiles in each turn."""
    import torch

    (mine, kind), (_, another) = one, other
    place = mine.numbers.device
    single, double = ({"dtype": dtype, "device": place} for dtype in (torch.float32, torch.float64))
    tiles, blocks, cut = kind.count // shape.rows, another.count // shape.columns, kind.cut or another.cut
    parts = (another.planes + 1) * (kind.planes * kind.count + tiles * shape.columns)
    parts += 5 * kind.count * shape.columns if cut else 0
    at_once = max(1, min(blocks, _BUFFER_BYTES // (4 * parts)))
    rows, sized_rows = torch.zeros(kind.planes * kind.count, **double), torch.zeros(kind.count, **double)
    columns = torch.zeros((another.planes + 1, another.count), **double)  # the last plane: weighted by sizes
    squares = _Squares(kind, another, triangle)
    panel = shape.panel(tiles * at_once)
    panels = -(-tiles // panel)
    for first in range(0, blocks, at_once):
        now = min(at_once, blocks - first)
        at = slice(first * shape.columns, (first + now) * shape.columns)
        width = now * shape.columns
        results = (
            torch.zeros((now, another.planes, kind.planes * kind.count), **single),
            torch.zeros((tiles, another.planes + 1, width), **single),
            torch.zeros((now, kind.count), **single),
            torch.zeros((kind.count, width) if cut else (panels, now), **single),
        )
        where = (first, panel, tiles, reach, int(triangle))
        for masked in (False,) if reach == _NO_REACH else (False, True):
            _launch(shape, one, other, results, where, power, two, cut, masked)
        add_up(results[0].reshape(1, -1, len(rows)), rows[None])
        columns[:, at] += results[1].sum(0, dtype=torch.float64)
        sized_rows += results[2].sum(0, dtype=torch.float64)
        if cut:
            squares.add_pieces(results[3], at)
        else:
            squares.total = squares.total + results[3].sum(dtype=torch.float64)
    return rows, columns[:-1].reshape(-1), sized_rows, columns[-1], squares.total


def _launch(
    shape: Shape,
    one: tuple[Arranged, Kind],
    other: tuple[Arranged, Kind],
    results: tuple[Any, ...],
    where: tuple[int, ...],
    power: int,
    two: bool,
    cut: bool,
    masked: bool,
) -> None:
    from nammd.engines.cuda.unit_programs import unit_sums

    (mine, kind), (theirs, another) = one, other
    left, right = mine.operands, theirs.operands
    _, panel, tiles, *_ = where
    unit_sums[(results[2].shape[0], -(-tiles // panel))](
        left.high, left.low, left.left, right.high, right.low, right.right,
        mine.numbers[kind.pieces], theirs.numbers[another.pieces],
        mine.sizes[kind.pieces], theirs.sizes[another.pieces],
        *results, left.padded, right.padded, kind.count, another.count, kind.start, another.start,
        kind.planes, another.planes, *where,
        **constants(shape, left, power, two), RESIDENT=is_resident(left, power), CUT=cut,
        MASKED=masked, WARPS=shape.warps, STAGES=shape.stages, num_stages=shape.stages,
    )  # fmt: skip


class _Squares:
    """The sum of squares of sums between units, from sums between their pieces that come in turns.

    Of a triangle, pairs of a unit and one after it are complete, and count for both of their orders; what the
    blocks on the diagonal hold of other pairs does not count.
    """

    def __init__(self, kind: Kind, other: Kind, triangle: bool) -> None:
        self.kind = kind
        self.triangle = triangle
        self.total: Any = 0.0  # where the data are, so that no turn waits for another
        self.ends = np.cumsum(other.each)
        self.open: Any = 0.0

    def add_pieces(self, pieces: Any, at: slice) -> None:
        """Add the sums of all pieces of a kind and some neighbouring ones of the other."""
        import torch

        there, stop = int(self.kind.each.sum()), min(at.stop, int(self.ends[-1]))
        if at.start >= stop:
            return
        # The units that end, begin, or go on in this turn, and how many pieces of each are in it.
        first, last = np.searchsorted(self.ends, [at.start, stop - 1], side="right")
        borders = np.minimum(self.ends[first : last + 1], stop)
        sums = run_sums(pieces[:there, : stop - at.start].double().T, np.diff(np.r_[at.start, borders]))
        sums = joined([(sums[0] + self.open)[None], sums[1:]])
        goes_on = self.ends[last] > stop
        done = sums[:-1] if goes_on else sums
        self.open = sums[-1] if goes_on else 0.0
        by_unit = run_sums(done.T, self.kind.each)
        if self.triangle:
            above, places = int(first), torch.arange(len(by_unit), device=by_unit.device)
            by_unit = by_unit * (places[:, None] < above + places[None, : by_unit.shape[1]]) * math.sqrt(2)
        self.total = self.total + torch.sum(by_unit * by_unit)
