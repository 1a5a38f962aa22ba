"""The reductions that the tile engine knows: sums within a sample, across two, and quadratic forms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, like, namespace, to_numpy
from nammd.engines.protocol import form_work
from nammd.engines.sums import (
    CrossSums,
    WithinSums,
    diagonal_of_tile,
    power_work,
    raised,
    reduce_tile,
    without_diagonal,
)
from nammd.engines.tiles.pool import Buffers, Tick
from nammd.kernels.base import BoundKernel


class TileJob(ABC):
    """A reduction over the tiles of one Gram matrix: panels of it, and how they merge.

    Of `powers` of the kernel values, a tile is computed once for all of them.
    """

    def __init__(
        self,
        bound: BoundKernel,
        samples: tuple[Array, ...],
        shape: tuple[int, int],
        buffers: Buffers,
        powers: Sequence[int] = (1,),
    ) -> None:
        sample = samples[0]
        size = int(sample.shape[0])
        self.bound, self.samples, self.shape, self.buffers = bound, samples, shape, buffers
        self.powers, self.count = powers, len(powers)
        self.size, self.starts = size, range(0, size, shape[0])
        self.on_cpu = isinstance(sample, np.ndarray)
        self.nanoseconds = size * size / 2 * (sample.shape[1] / 50 + 0.7) * power_work(self.count)
        ones = np.ones(max(shape))
        self.ones = like(ones, sample, getattr(namespace(sample), bound.precision))

    def stop(self, start: int) -> int:
        """Return where the panel that begins at `start` ends."""
        return min(start + self.shape[0], self.size)

    def tile(self, rows: slice, columns: slice) -> Array:
        """Return a tile of the matrix, in a buffer that the next one will use again."""
        if not self.on_cpu:
            return self.bound.tile(rows, columns, None)
        height, width = rows.stop - rows.start, columns.stop - columns.start
        out = self.buffers.tile(height, width, self.bound.precision)
        return self.bound.tile(rows, columns, out)

    @abstractmethod
    def work(self, start: int) -> int:
        """Return how many kernel values the panel that begins at `start` computes."""

    @abstractmethod
    def panel(self, start: int, tick: Tick) -> Any:
        """Compute the partial sums of the panel of rows that begins at `start`."""

    @abstractmethod
    def merge(self, start: int, partial: Any) -> None:
        """Add the partial sums of a panel."""

    @abstractmethod
    def result(self, k: int = 0) -> Any:
        """Return the complete sums of the k-th power."""


class WithinJob(TileJob):
    """Sums over the pairs of distinct rows of one sample."""

    def __init__(
        self,
        bound: BoundKernel,
        part: tuple[Array, ...],
        shape: tuple[int, int],
        buffers: Buffers,
        powers: Sequence[int] = (1,),
    ) -> None:
        super().__init__(bound, part, shape, buffers, powers)
        self.strip = max(shape[0] // 8, 1)
        self.rows, self.squares = np.zeros((self.count, self.size)), np.zeros(self.count)

    def work(self, start: int) -> int:
        """Return how many kernel values a panel computes."""
        stop = self.stop(start)
        strips, rest = divmod(stop - start, self.strip)
        # Of the block on the diagonal: half of it, and half of the small squares once more.
        twice = (stop - start) ** 2 + strips * self.strip**2 + rest**2
        return twice // 2 + (stop - start) * (self.size - stop)

    def panel(self, start: int, tick: Tick) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute the partial sums of one panel."""
        stop, width = self.stop(start), self.shape[1]
        rows, squares = self._diagonal_block(start, stop, tick)
        columns = np.empty((self.count, self.size - stop))
        for begin in range(stop, self.size, width):
            end = min(begin + width, self.size)
            tile = self.tile(slice(start, stop), slice(begin, end))
            for k, values in enumerate(raised(tile, self.powers)):
                by_row, by_column, square = reduce_tile(values, self.ones)
                rows[k] += to_numpy(by_row)
                columns[k, begin - stop : end - stop] = to_numpy(by_column)
                squares[k] += 2.0 * float(square)
            tick((stop - start) * (end - begin))
        return rows, columns, squares

    def _diagonal_block(self, start: int, stop: int, tick: Tick) -> tuple[FloatArray, FloatArray]:
        """Return the row sums and squares of the block on the diagonal.

        It is cut into strips, of which only what is on or right of the diagonal is computed: a small
        square, which holds both (i, j) and (j, i) and has its diagonal taken out, and the rest.
        """
        rows, squares = np.zeros((self.count, stop - start)), np.zeros(self.count)
        for begin in range(start, stop, self.strip):
            end = min(begin + self.strip, stop)
            own = self.tile(slice(begin, end), slice(begin, end))
            for k, values in enumerate(raised(own, self.powers)):
                by_row, _, square = reduce_tile(without_diagonal(values), self.ones)
                rows[k, begin - start : end - start] += to_numpy(by_row)
                squares[k] += float(square)
            if end < stop:
                tile = self.tile(slice(begin, end), slice(end, stop))
                for k, values in enumerate(raised(tile, self.powers)):
                    by_row, by_column, across = reduce_tile(values, self.ones)
                    rows[k, begin - start : end - start] += to_numpy(by_row)
                    rows[k, end - start :] += to_numpy(by_column)
                    squares[k] += 2.0 * float(across)
            tick((end - begin) * (stop - begin))
        return rows, squares

    def merge(self, start: int, partial: tuple[FloatArray, FloatArray, FloatArray]) -> None:
        """Add the partial sums of a panel."""
        rows, columns, squares = partial
        stop = start + rows.shape[1]
        self.rows[:, start:stop] += rows
        self.rows[:, stop:] += columns
        self.squares += squares

    def result(self, k: int = 0) -> WithinSums:
        """Return the complete sums of the k-th power."""
        return WithinSums(self.rows[k], float(self.squares[k]))


class CrossJob(TileJob):
    """Sums over the pairs of a row of x and a row of y."""

    def __init__(
        self,
        bound: BoundKernel,
        part: tuple[Array, ...],
        shape: tuple[int, int],
        buffers: Buffers,
        powers: Sequence[int] = (1,),
    ) -> None:
        m, n = part[0].shape[0], part[1].shape[0]
        super().__init__(bound, part, shape, buffers, powers)
        self.nanoseconds *= 2 * n / m
        self.rows, self.cols = np.zeros((self.count, m)), np.zeros((self.count, n))
        self.squares, self.diagonal = np.zeros(self.count), np.zeros(self.count)

    def work(self, start: int) -> int:
        """Return how many kernel values a panel computes."""
        return (self.stop(start) - start) * int(self.cols.shape[1])

    def panel(self, start: int, tick: Tick) -> tuple[FloatArray, ...]:
        """Compute the partial sums of one panel."""
        m, n, stop, width = self.size, self.cols.shape[1], self.stop(start), self.shape[1]
        rows, columns = np.zeros((self.count, stop - start)), np.empty((self.count, n))
        squares, diagonal = np.zeros(self.count), np.zeros(self.count)
        for begin in range(0, n, width):
            end = min(begin + width, n)
            tile = self.tile(slice(start, stop), slice(begin, end))
            for k, values in enumerate(raised(tile, self.powers)):
                by_row, by_column, square = reduce_tile(values, self.ones)
                rows[k] += to_numpy(by_row)
                columns[k, begin:end] = to_numpy(by_column)
                squares[k] += float(square)
                if m == n and begin < stop and start < end:
                    diagonal[k] += diagonal_of_tile(values, start - begin)
            tick((stop - start) * (end - begin))
        return rows, columns, squares, diagonal

    def merge(self, start: int, partial: tuple[FloatArray, ...]) -> None:
        """Add the partial sums of a panel."""
        rows, columns, squares, diagonal = partial
        self.rows[:, start : start + rows.shape[1]] = rows
        self.cols += columns
        self.squares += squares
        self.diagonal += diagonal

    def result(self, k: int = 0) -> CrossSums:
        """Return the complete sums of the k-th power."""
        paired = self.rows.shape[1] == self.cols.shape[1]
        diagonal = float(self.diagonal[k]) if paired else None
        return CrossSums(self.rows[k], self.cols[k], float(self.squares[k]), diagonal)


class QuadraticForms(TileJob):
    """``v' K v`` for many vectors v at once.

    Half of the matrix is enough: ``v' K v = 2 v' T v``, T the part above the diagonal blocks plus
    half of these. A constant near the mean kernel value is taken off K and put back exactly at the
    end, so that float32 spends its digits on what differs between the vectors.
    """

    def __init__(
        self,
        bound: BoundKernel,
        sample: Array,
        vectors: NDArray[Any],
        shape: tuple[int, int],
        buffers: Buffers,
    ) -> None:
        super().__init__(bound, (sample,), shape, buffers)
        self.moved = like(vectors, sample, getattr(namespace(sample), bound.precision))
        self.nanoseconds *= form_work(vectors.shape[1])
        self.shift = typical_value(bound, self.size)
        self.forms, self.sums, self.squares = np.zeros((3, vectors.shape[1]))

    def work(self, start: int) -> int:
        """Return how many kernel values a panel computes."""
        return (self.stop(start) - start) * (self.size - start)

    def panel(self, start: int, tick: Tick) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute the partial sums of one panel, and the sums and squares of the vectors over its rows."""
        stop, product = self.stop(start), None
        for begin in range(start, self.size, self.shape[1]):
            columns = slice(begin, min(begin + self.shape[1], self.size))
            tile = self.tile(slice(start, stop), columns)
            tile -= self.shift
            if begin == start:
                tile = self._with_half_of_the_block(tile, stop - start)
            part = tile @ self.moved[columns, :]
            product = part if product is None else product + part
            tick((stop - start) * (columns.stop - begin))
        own, ones = self.moved[start:stop, :], self.ones[: stop - start]
        product *= own
        return 2.0 * to_numpy(ones @ product), to_numpy(ones @ own), to_numpy(ones @ (own * own))

    def _with_half_of_the_block(self, tile: Array, size: int) -> Array:
        """Take the diagonal out of the block that a tile begins with, and halve it."""
        block = without_diagonal(tile[:, :size]) * 0.5
        if self.on_cpu:
            tile[:, :size] = block
            return tile
        return namespace(tile).concat([block, tile[:, size:]], axis=1)

    def merge(self, start: int, partial: tuple[FloatArray, FloatArray, FloatArray]) -> None:
        """Add the partial sums of a panel."""
        self.forms += partial[0]
        self.sums += partial[1]
        self.squares += partial[2]

    def result(self, k: int = 0) -> FloatArray:
        """Return the complete sums."""
        forms: FloatArray = self.forms + self.shift * (self.sums**2 - self.squares)
        return forms


def typical_value(bound: BoundKernel, size: int) -> float:
    """Return about the mean kernel value, from some rows spread over the sample."""
    rows = slice(0, size, max(1, size // 64))
    tile = to_numpy(bound.tile(rows, rows, None))
    count = tile.shape[0]
    return float((tile.sum() - np.trace(tile)) / (count * (count - 1)))
