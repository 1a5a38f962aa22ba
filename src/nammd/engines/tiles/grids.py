"""Sums of many Gram matrices that share their distances: what a search over bandwidths needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.engines.sums import CrossSums, WithinSums, diagonal_of_tile, reduce_tile, without_diagonal
from nammd.engines.tiles.pool import Buffers, Tick
from nammd.kernels.base import Kernel
from nammd.kernels.family import bind_family

_ROWS, _COLUMNS = 256, 512


class GridJob:
    """Row sums, column sums and squares of several kernels, within a sample or across two."""

    on_cpu = True

    def __init__(
        self, kernels: Sequence[Kernel], part: tuple[Any, ...], precision: str, buffers: Buffers
    ) -> None:
        x, y = part[0], part[-1]
        self.samples: tuple[Any, ...] = part
        self.within, self.m, self.n, self.count = len(part) == 1, len(x), len(y), len(kernels)
        self.bound, self.dtype, self.buffers = bind_family(kernels, x, y), np.dtype(precision), buffers
        self.starts = range(0, self.m, _ROWS)
        self.nanoseconds = self.m * self.n * (0.7 * self.count + x.shape[1] / 3)
        self.rows, self.columns = np.zeros((self.count, self.m)), np.zeros((self.count, self.n))
        self.squares, self.diagonals = np.zeros(self.count), np.zeros(self.count)
        self.ones = np.ones(max(_ROWS, _COLUMNS), self.dtype)

    def work(self, start: int) -> int:
        """Return how many kernel values a panel computes, of all kernels together."""
        height = min(_ROWS, self.m - start)
        return self.count * height * (self.n - start if self.within else self.n)

    def panel(self, start: int, tick: Tick) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Compute the partial sums of one panel, for every kernel."""
        stop = min(start + _ROWS, self.m)
        rows, columns = np.zeros((self.count, stop - start)), np.zeros((self.count, self.n))
        squares, diagonals = np.zeros(self.count), np.zeros(self.count)
        # Within a sample: the block on the diagonal, which is complete in itself, then what is right of it.
        edges = [start, *range(stop, self.n, _COLUMNS)] if self.within else range(0, self.n, _COLUMNS)
        for begin in edges:
            block = self.within and begin == start
            end = stop if block else min(begin + _COLUMNS, self.n)
            distances = self.bound.distances(slice(start, stop), slice(begin, end)).astype(self.dtype)
            out = self.buffers.tile(stop - start, end - begin, self.dtype.name)
            for k in range(self.count):
                tile = self.bound.fill(k, distances, out)
                if block:
                    tile = without_diagonal(tile)
                by_row, by_column, square = reduce_tile(tile, self.ones)
                rows[k] += by_row
                if not block:
                    columns[k, begin:end] = by_column
                squares[k] += (2.0 if self.within and not block else 1.0) * float(square)
                if not self.within and self.m == self.n and begin < stop and start < end:
                    diagonals[k] += diagonal_of_tile(tile, start - begin)
                tick((stop - start) * (end - begin))
        return rows, columns, squares, diagonals

    def merge(self, start: int, partial: tuple[FloatArray, FloatArray, FloatArray, FloatArray]) -> None:
        """Add the partial sums of a panel."""
        rows, columns, squares, diagonals = partial
        self.rows[:, start : start + rows.shape[1]] += rows
        (self.rows if self.within else self.columns)[...] += columns
        self.squares += squares
        self.diagonals += diagonals

    def result(self, k: int) -> Any:
        """Return the complete sums of the k-th kernel."""
        squares = float(self.squares[k])
        if self.within:
            return WithinSums(self.rows[k], squares)
        diagonal = float(self.diagonals[k]) if self.m == self.n else None
        return CrossSums(self.rows[k], self.columns[k], squares, diagonal)
