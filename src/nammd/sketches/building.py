"""Sums of features over rows, in one pass.

Features are made for some thousand rows at a time, multiplied with themselves and forgotten: in the precision
of the data, of many rows in float32. Sums over blocks are float64. Blocks run in threads and are added up in
their order, so the number of threads does not change a bit.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

import numpy as np

from nammd.data.arrays import Array, FloatArray, like, namespace, to_numpy
from nammd.engines.progress import Meter, Progress, passes
from nammd.engines.tiles.pool import Buffers, Tick, run
from nammd.kernels import RandomFeatures
from nammd.kernels.base import precision_of
from nammd.kernels.random_features import BLOCK_ROWS, Waves

FULL_FEATURES = 2048
"""Up to so many features a block has `BLOCK_ROWS` rows."""

LEAST_ROWS = 1024
"""With fewer rows, adding up the products of blocks takes a third of the time (measured)."""

DEVICE_ROWS = 16_384
"""Rows at once on other devices, which have more memory and a cost for every call."""

SINGLE_ROWS = 32_768
"""Of more rows at once features are float32, whatever the data are: errors of 1e-7 average out."""

Totals: TypeAlias = tuple[FloatArray, FloatArray]
"""The sum of the features of some rows, and the sum of their outer products."""


def feature_totals(
    x: Array, features: RandomFeatures, threads: int | None = None, progress: Progress = None
) -> Totals:
    """Return the totals of a checked sample, computed where it is."""
    precision = "float32" if x.shape[0] > SINGLE_ROWS else precision_of(x, x)
    waves = Waves(features.frequencies(int(x.shape[1])), precision)
    on_cpu = namespace(x) is np
    # What is summed are deviations from a typical row: the sums of float32 numbers that all but agree would
    # be off by more than these differ.
    centre = _typical(x, waves)
    if on_cpu:
        job = _Blocks(x, waves, centre)
        run([job], threads, progress, of_pairs=False)
        total, products = job.total, job.products
    else:
        total, products = _on_device(x, waves, centre, progress)
    moved = np.outer(total, centre)
    products = products + moved + moved.T + x.shape[0] * np.outer(centre, centre)
    # Scaled at the end: as many multiplications less as there are rows.
    return (total + x.shape[0] * centre) * features.scale, products * features.scale**2


def runs_over_rows(rows: int, scales: int) -> AbstractContextManager[None]:
    """Let the runs of several scales over the same rows tell of these rows as one piece of work."""
    return nullcontext() if scales == 1 else passes(*[rows / scales] * scales)


def _typical(x: Array, waves: Waves) -> FloatArray:
    """Return the mean waves of the first rows, rounded to the precision of the others."""
    rows = x[: min(BLOCK_ROWS, x.shape[0]), :]
    means = to_numpy(waves.of(rows)).mean(axis=0)
    rounded: FloatArray = means.astype(waves.precision).astype(np.float64)
    return rounded


def block_rows(size: int) -> int:
    """Return how many rows are summed at once: fewer where they have many features.

    So the memory of a block stays the same, and an interrupt does not have to wait for a long product.
    """
    return max(BLOCK_ROWS * FULL_FEATURES // max(size, FULL_FEATURES), LEAST_ROWS)


class _Blocks:
    """The totals as a job of `nammd.engines.tiles.pool`."""

    on_cpu = True

    def __init__(self, x: Array, waves: Waves, centre: FloatArray) -> None:
        self._waves, self._buffers, self.samples = waves, Buffers(), (x,)
        self._centre = centre.astype(waves.precision)
        self._rows = block_rows(waves.size)
        self.starts = range(0, x.shape[0], self._rows)
        self.nanoseconds = 0.02 * float(x.shape[0]) * waves.size**2
        self.total = np.zeros(waves.size)
        self.products = np.zeros((waves.size, waves.size))

    def work(self, start: int) -> int:
        """Return how many rows the block has."""
        return min(self._rows, len(self.samples[0]) - start)

    def panel(self, start: int, tick: Tick) -> Totals:
        """Return the totals of one block."""
        rows = self.samples[0][start : start + self._rows]
        block = self._buffers.tile(len(rows), self._waves.size, self._waves.precision)
        self._waves.fill(rows, block)
        block -= self._centre
        # NumPy sees that both factors are the same, and computes half of the product.
        totals = block.sum(axis=0, dtype=np.float64), block.T @ block
        tick(len(rows))
        return totals

    def merge(self, start: int, partial: Totals) -> None:
        """Add the totals of a block."""
        total, products = partial
        self.total += total
        self.products += products


def _on_device(x: Array, waves: Waves, centre: FloatArray, progress: Progress) -> Totals:
    xp = namespace(x)
    typical = like(centre, x, getattr(xp, waves.precision))
    total = products = None
    with Meter(progress, int(x.shape[0])) as meter:
        for start in range(0, x.shape[0], DEVICE_ROWS):
            block = waves.of(x[start : min(start + DEVICE_ROWS, x.shape[0]), :]) - typical
            sums = xp.sum(block, axis=0, dtype=xp.float64)
            squares = xp.astype(block.T @ block, xp.float64)
            total = sums if total is None else total + sums
            products = squares if products is None else products + squares
            meter.add(int(block.shape[0]))
    products = to_numpy(products)
    return to_numpy(total), (products + products.T) / 2
