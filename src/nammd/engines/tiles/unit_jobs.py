"""Sums over pairs of units, of rows that belong together, for the tile engine.

Panels and tiles are cut at the borders of units, and a tile is summed to one number for each pair of units
before it is squared. A unit that is larger than a tile fills a panel of its own, whose tiles are added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, like, namespace, to_numpy
from nammd.engines.sums import power_work, raised
from nammd.engines.tiles.pool import Buffers, Tick
from nammd.engines.units import UnitCross, Units, UnitWithin
from nammd.kernels.base import BoundKernel


@dataclass(frozen=True, eq=False)
class Span:
    """Some neighbouring units of a sample, and their rows.

    Attributes
    ----------
    units : Units
        Those of the sample.
    rows, groups : slice
        The rows, and the places of their units.
    """

    units: Units
    rows: slice
    groups: slice
    _adders: dict[tuple[int, str], Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def all_of(cls, units: Units, most: int) -> list[Span]:
        """Cut a sample into spans of whole units with about `most` rows; larger units are alone."""
        ends, found, first = np.r_[units.starts[1:], len(units.labels)], [], 0
        while first < len(units):
            start = int(units.starts[first])
            last = max(int(np.searchsorted(ends, start + most, side="right")), first + 1)
            found.append(cls(units, slice(start, int(ends[last - 1])), slice(first, last)))
            first = last
        return found

    @property
    def height(self) -> int:
        """How many rows."""
        return int(self.rows.stop - self.rows.start)

    @property
    def count(self) -> int:
        """How many units."""
        return int(self.groups.stop - self.groups.start)

    @property
    def sizes(self) -> FloatArray:
        """The sizes of the units."""
        return self.units.sizes[self.groups]

    def pieces(self, most: int) -> Iterator[slice]:
        """Cut the rows so that none has more than `most`."""
        for start in range(self.rows.start, self.rows.stop, most):
            yield slice(start, min(start + most, self.rows.stop))

    def meets(self, other: Span) -> bool:
        """Tell whether some pair of units, one of each span, is to be left out."""
        one, two, reach = self.units.labels[self.rows], other.units.labels[other.rows], self.units.reach
        return bool(one[0] <= two[-1] + reach and two[0] <= one[-1] + reach)

    @cached_property
    def single(self) -> bool:
        """Whether every unit is one row, and all rows count alike."""
        return self.count == self.height and self.units.weights is None

    def adder(self, rows: slice, sample: Array, precision: str) -> Any:
        """Return the matrix that sums rows of this span by unit; sparse for NumPy, dense elsewhere."""
        if isinstance(sample, np.ndarray):
            key = rows.start, precision
            if key not in self._adders:  # a few numbers for every row, used in every tile of its column
                self._adders[key] = self._sparse(rows, precision)
            return self._adders[key]
        weights, edges = self.units.row_weights[rows], self._edges(rows)
        dense = np.zeros((self.count, len(weights)))
        places = np.repeat(np.arange(self.count), np.diff(edges))
        dense[places, np.arange(len(weights))] = weights
        return like(dense, sample, getattr(namespace(sample), precision))

    def weights(self, rows: slice, tile: Array, precision: str) -> Array:
        """Return the weights of some rows, where a tile of theirs is."""
        if not isinstance(tile, np.ndarray):
            return like(self.units.row_weights[rows], tile, getattr(namespace(tile), precision))
        key = -1 - rows.start, precision
        if key not in self._adders:
            self._adders[key] = self.units.row_weights[rows].astype(precision)
        return self._adders[key]

    def _edges(self, rows: slice) -> NDArray[np.intp]:
        """Return where, among some rows, the units of this span begin and end."""
        inside = self.units.starts[self.groups]
        edges: NDArray[np.intp] = np.clip(np.r_[inside, self.rows.stop], rows.start, rows.stop) - rows.start
        return edges

    def _sparse(self, rows: slice, precision: str) -> Any:
        from scipy.sparse import csr_array

        weights = self.units.row_weights[rows].astype(precision)
        columns, edges = np.arange(len(weights), dtype=np.int32), self._edges(rows).astype(np.int32)
        return csr_array((weights, columns, edges), shape=(self.count, len(weights)))


class _UnitJob:
    """What both jobs share: a block of whole units, summed over its tiles."""

    def __init__(
        self,
        bound: BoundKernel,
        samples: tuple[Array, ...],
        spans: tuple[Sequence[Span], Sequence[Span]],
        tile: tuple[int, int],
        buffers: Buffers,
        powers: Sequence[int],
    ) -> None:
        first = samples[0]
        self.bound, self.samples, self.buffers, self.most = bound, samples, buffers, tile
        self.powers, self.count = powers, len(powers)
        self.spans, self.across = spans
        self.starts = range(len(self.spans))
        self.on_cpu = isinstance(first, np.ndarray)
        m, n = (int(sample.shape[0]) for sample in (first, samples[-1]))
        self.nanoseconds = m * n / (1 if len(samples) == 2 else 2) * (first.shape[1] / 50 + 0.8)
        self.nanoseconds *= power_work(self.count)

    def block(
        self, one: Span, two: Span, apart: bool, tick: Tick
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return row sums, column sums and the sums by pairs of units, of each power of the kernel values.

        `apart`: all pairs count.
        """
        rows, cols = np.zeros((self.count, one.height)), np.zeros((self.count, two.height))
        sums = np.zeros((self.count, one.count, two.count))
        masked = not apart and one.meets(two)
        for high in one.pieces(self.most[0]):
            upper = one.adder(high, self.samples[0], self.bound.precision)
            above = slice(high.start - one.rows.start, high.stop - one.rows.start)
            for wide in two.pieces(self.most[1]):
                left = slice(wide.start - two.rows.start, wide.stop - two.rows.start)
                tile = self._tile(high, wide)
                if masked:
                    tile = _without(tile, one.units, high, two.units, wide)
                for k, values in enumerate(raised(tile, self.powers)):
                    by_row, by_column, pairs = self._reduced(values, one, two, upper, high, wide)
                    rows[k, above] += by_row
                    cols[k, left] += by_column
                    sums[k] += pairs
                tick((high.stop - high.start) * (wide.stop - wide.start))
        return rows, cols, sums

    def _tile(self, rows: slice, columns: slice) -> Array:
        if not self.on_cpu:
            return self.bound.tile(rows, columns, None)
        height, width = rows.stop - rows.start, columns.stop - columns.start
        return self.bound.tile(rows, columns, self.buffers.tile(height, width, self.bound.precision))

    def _reduced(
        self, tile: Array, one: Span, two: Span, upper: Any, high: slice, wide: slice
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        sample, precision = self.samples[-1], self.bound.precision
        by_row = tile @ two.weights(wide, tile, precision)
        by_column = one.weights(high, tile, precision) @ tile
        pairs = tile if one.single else upper @ tile
        if not two.single:
            lower = two.adder(wide, sample, precision)
            pairs = (lower @ pairs.T).T
        return to_numpy(by_row), to_numpy(by_column), to_numpy(pairs)


class UnitWithinJob(_UnitJob):
    """Sums over the pairs of units of one sample."""

    def __init__(
        self,
        bound: BoundKernel,
        sample: Array,
        units: Units,
        tile: tuple[int, int],
        buffers: Buffers,
        powers: Sequence[int] = (1,),
    ) -> None:
        spans = Span.all_of(units, min(tile))
        super().__init__(bound, (sample,), (spans, spans), tile, buffers, powers)
        self.rows = np.zeros((self.count, len(units.labels)))
        self.sized, self.squares = np.zeros((self.count, len(units))), np.zeros(self.count)

    def work(self, start: int) -> int:
        """Return how many kernel values a panel computes."""
        span = self.spans[start]
        return span.height * (self.rows.shape[1] - int(span.rows.start))

    def panel(self, start: int, tick: Tick) -> Any:
        """Compute the sums of one span with itself and with those after it."""
        one, squares = self.spans[start], np.zeros(self.count)
        rows, sized = np.zeros((self.count, one.height)), np.zeros((self.count, one.count))
        columns, crossed = [], []
        for two in self.across[start:]:
            by_row, by_column, pairs = self.block(one, two, False, tick)
            rows += by_row
            sized += pairs @ two.sizes
            once = np.einsum("kij,kij->k", pairs, pairs)
            squares += once if two is one else 2.0 * once
            if two is not one:
                columns.append(by_column)
                crossed.append(one.sizes @ pairs)
        return rows, sized, columns, crossed, squares

    def merge(self, start: int, partial: Any) -> None:
        """Add the sums of a span."""
        rows, sized, columns, crossed, squares = partial
        one = self.spans[start]
        self.rows[:, one.rows] += rows
        self.sized[:, one.groups] += sized
        for two, by_column, weighted in zip(self.across[start + 1 :], columns, crossed, strict=True):
            self.rows[:, two.rows] += by_column
            self.sized[:, two.groups] += weighted
        self.squares += squares

    def result(self, k: int = 0) -> UnitWithin:
        """Return the complete sums of the k-th power."""
        return UnitWithin(self.rows[k], self.sized[k], float(self.squares[k]))


class UnitCrossJob(_UnitJob):
    """Sums over the pairs of a unit of x and a unit of y."""

    def __init__(
        self,
        bound: BoundKernel,
        samples: tuple[Array, Array],
        units: tuple[Units, Units],
        tile: tuple[int, int],
        buffers: Buffers,
        powers: Sequence[int] = (1,),
    ) -> None:
        x, y = (Span.all_of(each, min(tile)) for each in units)
        super().__init__(bound, samples, (x, y), tile, buffers, powers)
        # Blocks in time are no units of the other sample, whatever their numbers.
        common = np.intersect1d(units[0].numbers, units[1].numbers, assume_unique=True)
        self.apart = len(common) == 0 or units[0].reach > 0
        self.rows, self.cols = (np.zeros((self.count, len(each.labels))) for each in units)
        self.sized_rows, self.sized_cols = (np.zeros((self.count, len(each))) for each in units)
        self.squares = np.zeros(self.count)

    def work(self, start: int) -> int:
        """Return how many kernel values a panel computes."""
        return self.spans[start].height * self.cols.shape[1]

    def panel(self, start: int, tick: Tick) -> Any:
        """Compute the sums of one span of x with all of y."""
        one, squares = self.spans[start], np.zeros(self.count)
        rows, sized = np.zeros((self.count, one.height)), np.zeros((self.count, one.count))
        cols, crossed = np.zeros(self.cols.shape), np.zeros(self.sized_cols.shape)
        for two in self.across:
            by_row, by_column, pairs = self.block(one, two, self.apart, tick)
            rows += by_row
            sized += pairs @ two.sizes
            cols[:, two.rows] = by_column
            crossed[:, two.groups] = one.sizes @ pairs
            squares += np.einsum("kij,kij->k", pairs, pairs)
        return rows, sized, cols, crossed, squares

    def merge(self, start: int, partial: Any) -> None:
        """Add the sums of a span."""
        rows, sized, cols, crossed, squares = partial
        one = self.spans[start]
        self.rows[:, one.rows], self.sized_rows[:, one.groups] = rows, sized
        self.cols += cols
        self.sized_cols += crossed
        self.squares += squares

    def result(self, k: int = 0) -> UnitCross:
        """Return the complete sums of the k-th power."""
        rows, cols = self.rows[k], self.cols[k]
        return UnitCross(rows, cols, self.sized_rows[k], self.sized_cols[k], float(self.squares[k]))


def _without(tile: Array, one: Units, rows: slice, two: Units, columns: slice) -> Array:
    """Return a tile with zeros where two rows are of one unit, or of units that are too near."""
    near = np.abs(one.labels[rows, None] - two.labels[None, columns]) <= one.reach
    if isinstance(tile, np.ndarray):
        tile[near] = 0.0
        return tile
    xp = namespace(tile)
    from array_api_compat import device

    return xp.where(xp.asarray(near, device=device(tile)), xp.zeros_like(tile), tile)
