"""Quadratic forms by pairs of blocks, for permutation tests on a cluster."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.pieces import Graph, Key, fresh_name, tree
from nammd.engines.cluster.block_pairs import FAN_IN, alone
from nammd.engines.tiles.engine import Tiles
from nammd.engines.tiles.jobs import TileJob
from nammd.engines.tiles.pool import Buffers, Tick, run
from nammd.kernels.base import BoundKernel, Kernel

_SHAPE = (128, 2048)


class BilinearForms(TileJob):
    """``u' K v`` for many pairs of vectors at once, K the kernel values between two samples."""

    def __init__(
        self,
        bound: BoundKernel,
        samples: tuple[Any, Any],
        u: NDArray[Any],
        v: NDArray[Any],
        shape: tuple[int, int],
    ) -> None:
        super().__init__(bound, samples, shape, Buffers())
        self.u, self.v = (vectors.astype(bound.precision, copy=False) for vectors in (u, v))
        self.forms = np.zeros(u.shape[1])

    def work(self, start: int) -> int:
        """Return how many kernel values a panel computes."""
        return (self.stop(start) - start) * len(self.v)

    def panel(self, start: int, tick: Tick) -> FloatArray:
        """Compute the sums over one panel of rows."""
        stop, width, product = self.stop(start), self.shape[1], 0.0
        for begin in range(0, len(self.v), width):
            columns = slice(begin, min(begin + width, len(self.v)))
            product = product + self.tile(slice(start, stop), columns) @ self.v[columns]
            tick((stop - start) * (columns.stop - begin))
        forms: FloatArray = (self.ones[: stop - start] @ (self.u[start:stop] * product)).astype(np.float64)
        return forms

    def merge(self, start: int, partial: FloatArray) -> None:
        """Add the sums of a panel."""
        self.forms += partial

    def result(self, k: int = 0) -> FloatArray:
        """Return the complete sums."""
        return self.forms


def own_forms(kernel: Kernel, tiles: Tiles, block: Any, vectors: NDArray[Any]) -> FloatArray:
    """Return ``v' K v`` over the distinct rows of one block."""
    if len(block) < 2:
        return np.zeros(vectors.shape[1])
    forms: FloatArray = alone(tiles.quadratic_forms, kernel, block, vectors)
    return forms


def mixed_forms(
    kernel: Kernel, tiles: Tiles, left: Any, right: Any, u: NDArray[Any], v: NDArray[Any]
) -> FloatArray:
    """Return ``2 u' K v``, K between two blocks: both of their places in the symmetric matrix."""
    shape = (tiles.tile_rows or _SHAPE[0], tiles.tile_columns or _SHAPE[1])
    job = BilinearForms(kernel.bind(left, right, tiles.dtype), (left, right), u, v, shape)
    alone(run, [job], tiles.threads, tiles.progress)
    return 2.0 * job.result()


def add_forms(parts: list[FloatArray]) -> FloatArray:
    """Add up in order."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def form_tasks(
    kernel: Kernel, tiles: Tiles, z: Any, vectors: NDArray[Any]
) -> tuple[Graph, Key, dict[Key, float]]:
    """Return the tasks for the quadratic forms of a sample in blocks, the key wanted, and their work."""
    name, sizes = fresh_name("forms"), z.chunks[0]
    settings = (name, "kernel"), (name, "tiles")
    tasks: Graph = {settings[0]: kernel, settings[1]: tiles}
    edges = np.cumsum([0, *sizes])
    with np.errstate(invalid="ignore"):
        signs = vectors.astype(np.int8)
    if np.array_equal(signs, vectors):  # labels of a permutation test: they travel in a quarter of the bytes
        vectors = signs
    for i, (start, stop) in enumerate(pairwise(edges)):
        tasks[(name, "vectors", i)] = vectors[start:stop]
    work: dict[Key, float] = {}
    for i, height in enumerate(sizes):
        for j in range(i, len(sizes)):
            one, other = ((z.name, k, 0) for k in (i, j))
            u, v = ((name, "vectors", k) for k in (i, j))
            task = (own_forms, *settings, one, u) if i == j else (mixed_forms, *settings, one, other, u, v)
            tasks[(name, i, j)] = task
            work[(name, i, j)] = height * (sizes[j] if j > i else height / 2)
    sums, whole = tree((f"{name}-add",), list(work), add_forms, FAN_IN)
    return tasks | sums, whole, work
