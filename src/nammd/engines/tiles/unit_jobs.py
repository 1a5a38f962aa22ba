"""Sums over pairs of units, of rows that belong together, for the tile engine.

Panels and tiles are cut at the borders of units, and a tile is summed to one number for each pair of units
before it is squared. A unit that is larger than a tile fills a panel of its own, whose tiles are added up.
Tiles are square, as high as those of rows: the same units are in their rows and in their columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, in_float64, joined, like, namespace, run_sums, to_numpy
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
    _kept: dict[tuple[str, int, int, str], Any] = field(default_factory=dict, init=False, repr=False)

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

    def by_unit(self, tile: Array, rows: slice) -> Array:
        """Return the weighted sums of a tile's rows by unit, where the tile is."""
        if self.single:
            return tile
        if not isinstance(tile, np.ndarray):
            weighted = in_float64(tile) * self.here("weights", rows, tile)[:, None]
            return run_sums(weighted, np.diff(self._edges(rows)))
        key = "adder", rows.start, rows.stop, tile.dtype.name
        if key not in self._kept:  # a few numbers for every row, used in every tile of its column
            self._kept[key] = self._sparse(rows, tile.dtype.name)
        return self._kept[key] @ tile

    def here(self, what: str, rows: slice, tile: Array, precision: str = "float64") -> Array:
        """Return the weights or labels of some rows, or the sizes of the units, where a tile of theirs is."""
        key = what, rows.start, rows.stop, precision
        if key not in self._kept:
            every = {
                "weights": self.units.row_weights,
                "labels": self.units.labels,
                "sizes": self.units.sizes,
            }
            self._kept[key] = like(every[what][rows], tile, getattr(namespace(tile), precision))
        return self._kept[key]

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
        height: int,
        buffers: Buffers,
        powers: Sequence[int],
    ) -> None:
        first = samples[0]
        self.bound, self.samples, self.buffers, self.height = bound, samples, buffers, height
        self.powers, self.count = powers, len(powers)
        self.spans, self.across = spans
        self.starts = range(len(self.spans))
        self.on_cpu = isinstance(first, np.ndarray)
        m, n = (int(sample.shape[0]) for sample in (first, samples[-1]))
        self.nanoseconds = m * n / (1 if len(samples) == 2 else 2) * (first.shape[1] / 50 + 0.8)
        self.nanoseconds *= power_work(self.count)

    def block(self, one: Span, two: Span, apart: bool, tick: Tick) -> tuple[Array, Array, Array]:
        """Return row sums, column sums and the sums by pairs of units, of each power of the kernel values.

        They are where the samples are, in float64. `apart`: all pairs count.
        """
        highs, wides = list(one.pieces(self.height)), list(two.pieces(self.height))
        rows: list[list[Any]] = [[0.0] * len(highs) for _ in self.powers]
        cols: list[list[Any]] = [[0.0] * len(wides) for _ in self.powers]
        sums: list[Any] = [0.0] * self.count
        masked = not apart and one.meets(two)
        for down, high in enumerate(highs):
            for right, wide in enumerate(wides):
                tile = self._tile(high, wide)
                if masked:
                    tile = _without(tile, (one, high), (two, wide))
                for k, values in enumerate(raised(tile, self.powers)):
                    by_row, by_column, pairs = self._reduced(values, one, two, high, wide)
                    rows[k][down] = rows[k][down] + by_row
                    cols[k][right] = cols[k][right] + by_column
                    sums[k] = sums[k] + pairs
                tick((high.stop - high.start) * (wide.stop - wide.start))
        xp = namespace(self.samples[0])
        return xp.stack([joined(k) for k in rows]), xp.stack([joined(k) for k in cols]), xp.stack(sums)

    def _tile(self, rows: slice, columns: slice) -> Array:
        if not self.on_cpu:
            return self.bound.tile(rows, columns, None)
        height, width = rows.stop - rows.start, columns.stop - columns.start
        return self.bound.tile(rows, columns, self.buffers.tile(height, width, self.bound.precision))

    def _reduced(
        self, tile: Array, one: Span, two: Span, high: slice, wide: slice
    ) -> tuple[Array, Array, Array]:
        by_row = tile @ two.here("weights", wide, tile, self.bound.precision)
        some = one.by_unit(tile, high)
        if some is tile:
            by_column = one.here("weights", high, tile, self.bound.precision) @ tile
        else:  # of sums over units, which are fewer than rows
            by_column = namespace(some).sum(some, axis=0)
        pairs = two.by_unit(some.T, wide).T
        return in_float64(by_row), in_float64(by_column), in_float64(pairs)


def _squares(pairs: Array) -> Array:
    """Return the sum of squares of each power's sums."""
    if isinstance(pairs, np.ndarray):
        return np.einsum("kij,kij->k", pairs, pairs)
    return namespace(pairs).sum(pairs * pairs, axis=(1, 2))


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
        spans = Span.all_of(units, tile[0])
        super().__init__(bound, (sample,), (spans, spans), tile[0], buffers, powers)
        self.rows = np.zeros((self.count, len(units.labels)))
        self.sized, self.squares = np.zeros((self.count, len(units))), np.zeros(self.count)

    def work(self, start: int) -> int:
        """Return how many kernel values a panel computes."""
        span = self.spans[start]
        return span.height * (self.rows.shape[1] - int(span.rows.start))

    def panel(self, start: int, tick: Tick) -> Any:
        """Compute the sums of one span with itself and with those after it."""
        one = self.spans[start]
        rows, sized, squares, columns, crossed = 0.0, 0.0, 0.0, [], []
        for two in self.across[start:]:
            by_row, by_column, pairs = self.block(one, two, False, tick)
            rows = rows + by_row
            sized = sized + pairs @ two.here("sizes", two.groups, pairs)
            once = _squares(pairs)
            squares = squares + (once if two is one else 2.0 * once)
            if two is not one:
                columns.append(by_column)
                crossed.append(one.here("sizes", one.groups, pairs) @ pairs)
        beyond = [to_numpy(joined(each, axis=1)) for each in (columns, crossed) if each]
        return to_numpy(rows), to_numpy(sized), beyond, to_numpy(squares)

    def merge(self, start: int, partial: Any) -> None:
        """Add the sums of a span."""
        rows, sized, beyond, squares = partial
        one = self.spans[start]
        self.rows[:, one.rows] += rows
        self.sized[:, one.groups] += sized
        if beyond:
            self.rows[:, one.rows.stop :] += beyond[0]
            self.sized[:, one.groups.stop :] += beyond[1]
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
        x, y = (Span.all_of(each, tile[0]) for each in units)
        super().__init__(bound, samples, (x, y), tile[0], buffers, powers)
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
        one = self.spans[start]
        rows, sized, squares, cols, crossed = 0.0, 0.0, 0.0, [], []
        for two in self.across:
            by_row, by_column, pairs = self.block(one, two, self.apart, tick)
            rows = rows + by_row
            sized = sized + pairs @ two.here("sizes", two.groups, pairs)
            cols.append(by_column)
            crossed.append(one.here("sizes", one.groups, pairs) @ pairs)
            squares = squares + _squares(pairs)
        beyond = (to_numpy(joined(each, axis=1)) for each in (cols, crossed))
        return to_numpy(rows), to_numpy(sized), *beyond, to_numpy(squares)

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


def _without(tile: Array, one: tuple[Span, slice], two: tuple[Span, slice]) -> Array:
    """Return a tile with zeros where two rows are of one unit, or of units that are too near."""
    left, right = (span.here("labels", rows, tile, "int64") for span, rows in (one, two))
    xp = namespace(tile)
    left, right, reach = left[:, None], right[None, :], one[0].units.reach
    near = left == right if reach == 0 else xp.abs(left - right) <= reach
    if xp is np:
        tile[near] = 0.0
        return tile
    return xp.where(near, xp.zeros_like(tile), tile)
