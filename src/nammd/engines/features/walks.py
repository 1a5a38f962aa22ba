"""Walks over the rows of a sample, block by block, with their features: `Walks`.

A block of features is used for all that a walk is for, and is forgotten. Blocks run in threads and are added
up in their order, so the number of threads does not change a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, like, namespace, take_rows, to_numpy
from nammd.data.threads import cpu_count
from nammd.engines.features.waves import Waves
from nammd.engines.progress import Progress
from nammd.engines.tiles.pool import Tick, run

BLOCK_BYTES = 1 << 23
"""A block of features. Calls of NumPy, between which threads wait for each other, are few with large ones:
blocks that the second-level cache holds take one thread a sixth longer, and sixteen eight times as long."""

BLOCKS, PANELS = 8, 16
"""So many blocks are one task of a thread at most, and so many tasks there are at least of many rows."""

DEVICE_ROWS = 32_768
"""Rows at once on other devices, which have more memory and a cost for every call."""

PRODUCT_ROWS = 2_048
"""Rows at once whose features are multiplied with themselves: long enough for a matrix product."""

STRIPE_ROWS = 64
"""So many rows of products are added up at a time."""

_LONG = 1 << 18
"""Of fewer numbers, starting threads costs more than they save."""

_FEW = 8
"""Of more vectors at once, a matrix product takes less time than one product after the other."""

Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Walks:
    """Walks over samples that are here: in threads, or where the arrays are.

    Attributes
    ----------
    waves : Waves
        Makes the features.
    threads : int or None
        The number of threads.
    progress : bool, callable or None
        How progress is shown.
    """

    waves: Waves
    threads: int | None = None
    progress: Progress = field(default=None, repr=False)

    def totals(self, samples: Sequence[Array], weights: Sequence[Sequence[FloatArray | None]]) -> list[Any]:
        """Return, for each sample and each of its weights of rows, the sums of features.

        Arrays of shape (scales, weights, features); None stands for weights of one.
        """
        jobs = [_Totals(self.waves, x, each) for x, each in zip(samples, weights, strict=True)]
        run(jobs, self.threads, self.progress, of_pairs=False)
        return [job.found * self.waves.scale for job in jobs]

    def products(
        self, samples: Sequence[Array], vectors: Sequence[FloatArray]
    ) -> list[list[list[FloatArray]]]:
        """Return the inner products of every row's features with some vectors, for each sample.

        From vectors of shape (scales, features, vectors), for every scale and vector one number a row.
        """
        jobs = [_Products(self.waves, x, each) for x, each in zip(samples, vectors, strict=True)]
        run(jobs, self.threads, self.progress, of_pairs=False)
        return [job.scaled(self.threads) for job in jobs]

    def second_order(
        self, samples: Sequence[Array], rows: Sequence[Positions], scale: int, means: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """Return, for each sample, the sum of outer products of features less a mean, over some rows."""
        each = zip(samples, rows, means, strict=True)
        jobs = [_Outer(self.waves, sample, scale, some, mean, self.threads) for sample, some, mean in each]
        run(jobs, self.threads, self.progress, of_pairs=False)
        return [job.scaled() for job in jobs]

    def unit_features(
        self,
        sample: Array,
        rows: Positions,
        labels: Positions,
        weights: FloatArray,
        scales: int | None = None,
    ) -> FloatArray:
        """Return the weighted sums of features of some rows by their labels, which ascend from 0.

        An array of shape (scales, labels, features), of the first scales where not all are wanted.
        """
        job = _ByLabel(self.waves, sample, rows, labels, weights, scales or self.waves.scales)
        run([job], self.threads, self.progress, of_pairs=False)
        job.found *= job.found.dtype.type(self.waves.scale)
        return job.found

    def products_by_label(
        self, sample: Array, rows: Positions, labels: Positions, vectors: FloatArray
    ) -> FloatArray:
        """Return the product of the features of some rows with the vector of each one's label.

        From vectors of shape (scales, labels, features), an array of shape (scales, rows).
        """
        job = _OwnProducts(self.waves, sample, rows, labels, vectors)
        run([job], self.threads, self.progress, of_pairs=False)
        return job.found * self.waves.scale


class _Walk:
    """A job of `nammd.engines.tiles.pool` over blocks of rows."""

    def __init__(self, waves: Waves, sample: Array, rows: Positions | None = None) -> None:
        self.waves, self.samples, self.chosen = waves, (sample,), rows
        self.on_cpu = isinstance(sample, np.ndarray)
        self.size = int(sample.shape[0]) if rows is None else len(rows)
        self.block = max(BLOCK_BYTES // (4 * waves.size), 32) if self.on_cpu else DEVICE_ROWS
        blocks = min(max(self.size // (PANELS * self.block), 1), BLOCKS)
        self.panel_rows = self.block * blocks if self.on_cpu else DEVICE_ROWS
        self.starts = range(0, self.size, self.panel_rows)
        self.nanoseconds = 2.0 * self.size * waves.size * waves.scales

    def work(self, start: int) -> int:
        """Return how many rows a panel has."""
        return min(self.panel_rows, self.size - start)

    def panel(self, start: int, tick: Tick) -> list[Any]:
        """Return what the blocks of a panel give."""
        stop, found = min(start + self.panel_rows, self.size), []
        for low in range(start, stop, self.block):
            high = min(low + self.block, stop)
            found.append((low, high, self.reduce(low, high)))
            tick(high - low)
        return found

    def rows(self, low: int, high: int) -> Array:
        """Return some rows of the sample, or of those that were chosen."""
        sample = self.samples[0]
        return sample[low:high, :] if self.chosen is None else take_rows(sample, self.chosen[low:high])

    def merge(self, start: int, partial: list[Any]) -> None:
        """Add what the blocks of a panel gave."""
        for low, high, part in partial:
            self.add(low, high, part)

    def reduce(self, low: int, high: int) -> Any:
        """Return what a block gives."""
        raise NotImplementedError

    def add(self, low: int, high: int, part: Any) -> None:
        """Add what a block gave."""
        raise NotImplementedError

    def here(self, values: FloatArray, sample: Array) -> Any:
        """Return values in the type of the waves, where the sample is."""
        return like(values, sample, getattr(namespace(sample), self.waves.precision))


class _Totals(_Walk):
    def __init__(self, waves: Waves, sample: Array, weights: Sequence[FloatArray | None]) -> None:
        super().__init__(waves, sample)
        self.weights, self.found = weights, np.zeros((waves.scales, len(weights), waves.size))

    def reduce(self, low: int, high: int) -> FloatArray:
        found, rows = np.empty(self.found.shape), self.rows(low, high)
        ones = np.ones(high - low)
        each = [self.here(ones if w is None else w[low:high], rows) for w in self.weights]
        if len(each) > _FEW:
            stacked = namespace(rows).stack(each)
            for k, waves in enumerate(self.waves.of(rows)):
                found[k] = to_numpy(stacked @ waves)
            return found
        for k, waves in enumerate(self.waves.of(rows)):
            for number, weight in enumerate(each):
                found[k, number] = to_numpy(weight @ waves)
        return found

    def add(self, low: int, high: int, part: FloatArray) -> None:
        self.found += part


class _Products(_Walk):
    def __init__(self, waves: Waves, sample: Array, vectors: FloatArray) -> None:
        super().__init__(waves, sample)
        # Of moderate size whatever the weights, and each in one piece: of a few, one product after the other
        # is quicker than a thin matrix product.
        sizes = np.maximum(np.abs(vectors).max(axis=1), np.finfo(np.float64).tiny)
        self.factors, small = sizes * waves.scale, np.swapaxes(vectors / sizes[:, None, :], 1, 2)
        self.vectors = [[self.here(np.ascontiguousarray(v), sample) for v in each] for each in small]
        self.stacked = [namespace(sample).stack(each) if len(each) > _FEW else None for each in self.vectors]
        # Arrays of their own: some of them are needed much longer than others.
        self.found = [[np.empty(self.size, waves.precision) for _ in each] for each in self.vectors]

    def reduce(self, low: int, high: int) -> None:
        # Each block has its own place, so threads need not wait for each other.
        for k, waves in enumerate(self.waves.of(self.rows(low, high))):
            if self.stacked[k] is not None:
                every = to_numpy(self.stacked[k] @ waves.T)
                for number, found in enumerate(self.found[k]):
                    found[low:high] = every[number]
                continue
            for found, vector in zip(self.found[k], self.vectors[k], strict=True):
                if self.on_cpu:
                    np.matmul(waves, vector, out=found[low:high])
                else:
                    found[low:high] = to_numpy(waves @ vector)

    def add(self, low: int, high: int, part: None) -> None:
        """Nothing is left to do."""

    def scaled(self, threads: int | None) -> list[list[FloatArray]]:
        """Return the products in float64, with the sizes that vectors had; each is given up in turn."""
        every = []
        for factors in self.factors:
            found = [[one] for one in self.found.pop(0)]
            every.append(_each(_taken, found, factors, threads=threads if self.size >= _LONG else 1))
        return every


def _each(function: Callable[..., Any], *many: Sequence[Any], threads: int | None) -> list[Any]:
    """Return what ``map(function, *many)`` does, in threads."""
    threads = threads or cpu_count()
    if threads == 1:
        return list(map(function, *many))
    with ThreadPoolExecutor(threads, thread_name_prefix="nammd") as pool:
        return list(pool.map(function, *many))


def _taken(one: list[FloatArray], factor: float) -> FloatArray:
    """Return an array times a factor; nobody keeps the array."""
    return one.pop() * factor


class _Outer(_Walk):
    def __init__(
        self,
        waves: Waves,
        sample: Array,
        scale: int,
        rows: Positions,
        mean: FloatArray,
        threads: int | None,
    ) -> None:
        super().__init__(waves, sample, rows)
        self.scale, self.xp = scale, namespace(sample)
        # Products that are not added yet: no more than threads make in the meantime.
        self.parts: list[FloatArray] = []
        self.threads = threads or cpu_count()
        # It is large, and stays where the sample is.
        self.found: FloatArray = like(np.zeros((waves.size, waves.size)), sample, self.xp.float64)
        self.mean = self.here(mean / waves.scale, sample)
        self.block = PRODUCT_ROWS if self.on_cpu else DEVICE_ROWS
        self.panel_rows = self.block
        self.starts = range(0, self.size, self.block)
        self.nanoseconds = 0.02 * self.size * waves.size**2

    def reduce(self, low: int, high: int) -> Any:
        *_, waves = self.waves.of(self.rows(low, high), self.scale + 1)
        if not self.on_cpu:
            centred = waves - self.mean
            return self.xp.astype(centred.T @ centred, self.xp.float64)
        waves -= self.mean  # in the buffer: nobody else needs them
        return waves.T @ waves

    def add(self, low: int, high: int, part: Array) -> None:
        if not self.on_cpu:
            self.found += part
            return
        self.parts.append(part)
        if len(self.parts) >= self.threads:
            self._add_parts()

    def scaled(self) -> Array:
        """Return the sum."""
        self._add_parts()
        self.found *= self.waves.scale**2
        return self.found

    def _add_parts(self) -> None:
        """Add products in stripes, in threads: a stripe of the sum stays near while all are added to it."""

        def add_to(stripe: slice) -> None:
            for part in self.parts:
                self.found[stripe] += part[stripe]

        if self.parts:
            stripes = [slice(k, k + STRIPE_ROWS) for k in range(0, len(self.found), STRIPE_ROWS)]
            _each(add_to, stripes, threads=self.threads if self.found.size >= _LONG else 1)
            self.parts.clear()


class _ByLabel(_Walk):
    def __init__(
        self,
        waves: Waves,
        sample: Array,
        rows: Positions,
        labels: Positions,
        weights: FloatArray,
        scales: int,
    ) -> None:
        super().__init__(waves, sample, rows)
        self.labels, self.weights, self.scales = labels, weights, scales
        self.found = np.zeros((scales, int(labels[-1]) + 1, waves.size), waves.precision)

    def reduce(self, low: int, high: int) -> list[FloatArray]:
        own, rows = self.labels[low:high], self.rows(low, high)
        if self.on_cpu:
            starts = np.flatnonzero(np.r_[True, own[1:] != own[:-1]])
            weights = self.here(self.weights[low:high, None], rows)
            return [
                np.add.reduceat(waves * weights, starts, axis=0) for waves in self.waves.of(rows, self.scales)
            ]
        adder = np.zeros((int(own[-1] - own[0]) + 1, high - low))
        adder[own - own[0], np.arange(high - low)] = self.weights[low:high]
        summed = self.here(adder, rows)
        return [to_numpy(summed @ waves) for waves in self.waves.of(rows, self.scales)]

    def add(self, low: int, high: int, part: list[FloatArray]) -> None:
        own = slice(int(self.labels[low]), int(self.labels[high - 1]) + 1)
        for k, each in enumerate(part):
            self.found[k, own] += each


class _OwnProducts(_Walk):
    def __init__(
        self, waves: Waves, sample: Array, rows: Positions, labels: Positions, vectors: FloatArray
    ) -> None:
        super().__init__(waves, sample, rows)
        self.labels, self.vectors = labels, vectors
        self.found = np.empty((waves.scales, self.size))

    def reduce(self, low: int, high: int) -> FloatArray:
        found, rows = np.empty((self.waves.scales, high - low)), self.rows(low, high)
        for k, waves in enumerate(self.waves.of(rows)):
            own = self.here(self.vectors[k][self.labels[low:high]], rows)
            if self.on_cpu:
                np.einsum("ij,ij->i", waves, own, out=found[k])
            else:
                found[k] = to_numpy(namespace(rows).sum(waves * own, axis=1))
        return found

    def add(self, low: int, high: int, part: FloatArray) -> None:
        self.found[:, low:high] = part
