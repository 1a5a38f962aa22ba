"""Quadratic forms, and sums, of many Gram matrices that share their distances.

Each tile of distances is computed once and serves all kernels of its kind, one after the other, so memory
does not depend on the number of kernels. As everywhere, the part on or above the diagonal is enough.

Panels are tall: the vectors, which no cache holds, are read once for every panel and kernel, and a flat panel
would have the threads wait for memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.engines.protocol import FamilyForms, PairedForms, form_work
from nammd.engines.sums import CrossSums, WithinSums, diagonal_of_tile, reduce_tile, without_diagonal
from nammd.engines.tiles.pool import Buffers, Tick
from nammd.kernels.base import Kernel
from nammd.kernels.family import BoundFamily, bind_family

_ENTRIES = 1 << 18
"""Of a tile: small enough for the cache."""

_HEIGHTS = (32, 256)
"""Of a panel: the least and the most rows; else an eighth of them, so that threads have panels to share."""

_FEW_PANELS = 12
"""With no more panels than this the kernels are shared out too, in two parts: the first panels are by far the
largest, and many threads would wait for them. Distances are computed for each part."""

_ROWS, _COLUMNS = 256, 512
"""Of a tile of plain sums."""

Sums = tuple[FloatArray, FloatArray, FloatArray, float]
Partial = list[Sums]


class FormJob:
    """The reduction over panels for kernels of one kind; see `nammd.engines.tiles.pool`.

    A subclass says what a tile is made of: `distances`, and `fill` for one kernel.
    """

    on_cpu = True

    def __init__(
        self,
        kernels: Sequence[Kernel],
        samples: tuple[FloatArray, ...],
        vectors: NDArray[Any],
        precision: str,
        buffers: Buffers,
    ) -> None:
        self.samples, self.size, self.buffers = samples, len(samples[0]), buffers
        self.dtype = np.dtype(precision)
        self.vectors = vectors.astype(self.dtype, copy=False)
        self.count = len(kernels)
        self.height = int(np.clip(self.size // 8, *_HEIGHTS))
        self.width = max(_ENTRIES // self.height, self.height)
        panels = -(-self.size // self.height)
        self.parts = min(2, self.count) if panels <= _FEW_PANELS else 1
        self.starts = range(panels * self.parts)  # the parts of a panel are neighbours
        self.nanoseconds = self.size**2 / 2 * self.count * form_work(vectors.shape[1])
        self.shifts: Sequence[Any] = [self.dtype.type(0)] * self.count
        self.forms = np.zeros((self.count, vectors.shape[1]))
        self.rows, self.squares = np.zeros((self.count, self.size)), np.zeros(self.count)

    def distances(self, rows: slice, columns: slice) -> Any:
        """Return what the tiles of all kernels are made from."""
        raise NotImplementedError

    def fill(self, k: int, distances: Any, out: Any) -> Any:
        """Write the tile of a kernel, and return it."""
        raise NotImplementedError

    def _place(self, number: int) -> tuple[int, range]:
        """Return the first row of a part of a panel, and its kernels."""
        panel, part = divmod(number, self.parts)
        return panel * self.height, range(part, self.count, self.parts)

    def work(self, number: int) -> int:
        """Return how many kernel values a part of a panel computes."""
        start, kernels = self._place(number)
        return len(kernels) * min(self.height, self.size - start) * (self.size - start)

    def panel(self, number: int, tick: Tick) -> Partial:
        """Compute the sums of some kernels over one panel of rows."""
        start, kernels = self._place(number)
        stop = min(start + self.height, self.size)
        height = stop - start
        ones = np.ones(max(height, self.width), self.dtype)
        sums: Partial = [
            (np.zeros(self.vectors.shape[1]), np.zeros(height), np.zeros(self.size - stop), 0.0)
            for _ in kernels
        ]
        for begin in range(start, self.size, self.width):
            end = min(begin + self.width, self.size)
            distances = self.distances(slice(start, stop), slice(begin, end))
            for place, k in enumerate(kernels):
                out = self.buffers.tile(height, end - begin, self.dtype.name)
                at = (start, stop, begin, end)
                sums[place] = self._added(sums[place], k, self.fill(k, distances, out), at, ones)
                tick(height * (end - begin))
        return sums

    def _added(self, sums: Sums, k: int, tile: Any, at: tuple[int, int, int, int], ones: Any) -> Sums:
        """Return sums with those of a tile, whose buffer is used up."""
        start, stop, begin, end = at
        height = stop - start
        block = tile[:, : height if begin == start else 0]  # that on the diagonal
        if begin == start:
            np.fill_diagonal(block, 0.0)
        flat, inside, right = tile.ravel(), block.ravel(), tile[:, block.shape[1] :]
        forms, by_row, by_column, squares = sums
        # The block on the diagonal is there twice over, the rest once.
        squares += 2.0 * float(flat @ flat) - float(inside @ inside)
        by_row += tile @ ones[: end - begin]
        by_column[max(begin, stop) - stop : end - stop] += ones[:height] @ right
        tile -= self.shifts[k]
        if begin == start:
            np.fill_diagonal(block, 0.0)
            block *= self.dtype.type(0.5)
        product = self.buffers.tile(height, self.vectors.shape[1], self.dtype.name, "product")
        np.matmul(tile, self.vectors[begin:end], out=product)
        product *= self.vectors[start:stop]
        forms += 2.0 * (ones[:height] @ product).astype(np.float64)
        return forms, by_row, by_column, squares

    def merge(self, number: int, partial: Partial) -> None:
        """Add the sums of a part of a panel."""
        start, kernels = self._place(number)
        for k, (forms, by_row, by_column, squares) in zip(kernels, partial, strict=True):
            self.forms[k] += forms
            self.rows[k, start : start + len(by_row)] += by_row
            self.rows[k, start + len(by_row) :] += by_column
            self.squares[k] += squares


class FamilyJob(FormJob):
    """The forms, row sums and squares of the Gram matrices of one sample."""

    def __init__(
        self,
        kernels: Sequence[Kernel],
        z: FloatArray,
        vectors: NDArray[Any],
        precision: str,
        buffers: Buffers,
    ) -> None:
        super().__init__(kernels, (z,), vectors, precision, buffers)
        self.bound: BoundFamily = bind_family(kernels, z, z)
        self.shifts = self._typical_values()

    def _typical_values(self) -> list[Any]:
        """Return about the mean of every kernel; it is taken off, so that float32 has digits to spare."""
        some = slice(0, self.size, max(1, self.size // 64))
        distances = self.bound.distances(some, some)
        off = ~np.eye(len(distances), dtype=bool)
        return [self.dtype.type(np.exp(f * distances[off]).mean()) for f in self.bound.factors]

    def distances(self, rows: slice, columns: slice) -> Any:
        """Return the distances of a tile."""
        return self.bound.distances(rows, columns).astype(self.dtype)

    def fill(self, k: int, distances: Any, out: Any) -> Any:
        """Write the kernel values."""
        return self.bound.fill(k, distances, out)

    def result(self) -> FamilyForms:
        """Return the complete sums, with what was taken off put back."""
        ones = np.ones(self.size, self.dtype)
        sums = (ones @ self.vectors).astype(np.float64)
        squares = (ones @ (self.vectors * self.vectors)).astype(np.float64)
        shifts = np.array(self.shifts, dtype=np.float64)[:, None]
        return FamilyForms(self.forms + shifts * (sums**2 - squares), self.rows, self.squares)


class PairedJob(FormJob):
    """The forms of the differences of paired rows: half as many rows as the pooled sample has."""

    def __init__(
        self,
        kernels: Sequence[Kernel],
        x: FloatArray,
        y: FloatArray,
        vectors: NDArray[Any],
        precision: str,
        buffers: Buffers,
    ) -> None:
        super().__init__(kernels, (x, y), vectors, precision, buffers)
        self.bounds = [bind_family(kernels, one, other) for one, other in ((x, x), (y, y), (x, y), (y, x))]
        self.means = self._typical_values()

    def _typical_values(self) -> FloatArray:
        some = slice(0, self.size, max(1, self.size // 64))
        blocks = [bound.distances(some, some) for bound in self.bounds]
        return np.array([np.mean([np.exp(f * block) for block in blocks]) for f in self.bounds[0].factors])

    def distances(self, rows: slice, columns: slice) -> Any:
        """Return the distances of the four tiles."""
        return [bound.distances(rows, columns).astype(self.dtype) for bound in self.bounds]

    def fill(self, k: int, distances: Any, out: Any) -> Any:
        """Write the differences of kernel values."""
        part = self.buffers.tile(out.shape[0], out.shape[1], self.dtype.name, "part")
        self.bounds[0].fill(k, distances[0], out)
        for bound, block, add in zip(
            self.bounds[1:], distances[1:], (np.add, np.subtract, np.subtract), strict=True
        ):
            add(out, bound.fill(k, block, part), out=out)
        return out

    def result(self) -> PairedForms:
        """Return the complete forms."""
        return PairedForms(self.forms, self.means)


class GridJob:
    """Row sums, column sums and squares of several kernels: what a search over bandwidths needs."""

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
