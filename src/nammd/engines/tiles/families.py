"""Quadratic forms of many Gram matrices that share their distances.

Each panel of distances is computed once and serves all kernels of its kind, one after the other, so memory
does not depend on the number of kernels. As everywhere, the part on or above the diagonal is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.engines.protocol import FamilyForms, form_work
from nammd.engines.tiles.pool import Buffers, Tick
from nammd.kernels.base import Kernel
from nammd.kernels.family import BoundFamily, bind_family

_ENTRIES = 1 << 18
"""Of a panel: tall enough for the product to be fast, small enough for the cache."""


class FamilyJob:
    """The reduction over panels for kernels of one kind; see `nammd.engines.tiles.pool`."""

    on_cpu = True

    def __init__(
        self,
        kernels: Sequence[Kernel],
        z: FloatArray,
        vectors: NDArray[Any],
        precision: str,
        buffers: Buffers,
    ) -> None:
        self.bound: BoundFamily = bind_family(kernels, z, z)
        self.samples, self.size, self.dtype, self.buffers = (z,), len(z), np.dtype(precision), buffers
        self.vectors = vectors.astype(self.dtype, copy=False)
        count = len(kernels)
        self.height = int(np.clip(_ENTRIES // self.size, 32, 128))
        self.starts = range(0, self.size, self.height)
        self.nanoseconds = self.size**2 / 2 * count * form_work(vectors.shape[1])
        self.shifts = self._typical_values()
        self.forms = np.zeros((count, vectors.shape[1]))
        self.rows, self.squares = np.zeros((count, self.size)), np.zeros(count)

    def _typical_values(self) -> list[Any]:
        """Return about the mean of every kernel; it is taken off, so that float32 has digits to spare."""
        some = slice(0, self.size, max(1, self.size // 64))
        distances = self.bound.distances(some, some)
        off = ~np.eye(len(distances), dtype=bool)
        return [self.dtype.type(np.exp(f * distances[off]).mean()) for f in self.bound.factors]

    def work(self, start: int) -> int:
        """Return how many kernel values a panel computes."""
        return len(self.shifts) * min(self.height, self.size - start) * (self.size - start)

    def panel(self, start: int, tick: Tick) -> list[tuple[FloatArray, FloatArray, FloatArray, float]]:
        """Compute the sums of all kernels over one panel of rows."""
        stop = min(start + self.height, self.size)
        height, width = stop - start, self.size - start
        distances = self.bound.distances(slice(start, stop), slice(start, self.size)).astype(self.dtype)
        out = self.buffers.tile(height, width, self.dtype.name)
        product = self.buffers.tile(height, self.vectors.shape[1], self.dtype.name, "product")
        ones = np.ones(max(height, width), self.dtype)
        sums = []
        for k in range(len(self.shifts)):
            sums.append(self._one(k, start, distances, out, product, ones))
            tick(height * width)
        return sums

    def _one(
        self, k: int, start: int, distances: Any, out: Any, product: Any, ones: Any
    ) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        height, width = out.shape
        tile = self.bound.fill(k, distances, out)
        block = tile[:, :height]
        np.fill_diagonal(block, 0.0)
        flat = tile.ravel()
        inside = block.ravel()
        # The block on the diagonal is there twice over, the rest once.
        squares = 2.0 * float(flat @ flat) - float(inside @ inside)
        by_row = (tile @ ones[:width]).astype(np.float64)
        by_column = (ones[:height] @ tile[:, height:]).astype(np.float64)
        tile -= self.shifts[k]
        np.fill_diagonal(block, 0.0)
        block *= self.dtype.type(0.5)
        np.matmul(tile, self.vectors[start:], out=product)
        product *= self.vectors[start : start + height]
        return 2.0 * (ones[:height] @ product).astype(np.float64), by_row, by_column, squares

    def merge(self, start: int, partial: list[tuple[FloatArray, FloatArray, FloatArray, float]]) -> None:
        """Add the sums of a panel."""
        for k, (forms, by_row, by_column, squares) in enumerate(partial):
            self.forms[k] += forms
            self.rows[k, start : start + len(by_row)] += by_row
            self.rows[k, start + len(by_row) :] += by_column
            self.squares[k] += squares

    def result(self) -> FamilyForms:
        """Return the complete sums, with what was taken off put back."""
        ones = np.ones(self.size, self.dtype)
        sums = (ones @ self.vectors).astype(np.float64)
        squares = (ones @ (self.vectors * self.vectors)).astype(np.float64)
        shifts = np.array(self.shifts, dtype=np.float64)[:, None]
        return FamilyForms(self.forms + shifts * (sums**2 - squares), self.rows, self.squares)
