"""The tile engine: streams tiles of the Gram matrix through the cache, in threads.

The Gram matrix is cut into panels of some hundred rows, and a panel into tiles that fit into the
second-level cache. A tile is filled by the kernel (a matrix product and an exponential), reduced,
and its buffer is used again. Each panel is one task; partial sums are merged in the order of the
panels, so the bits of the result do not depend on the number of threads. Of a symmetric matrix only
the tiles on or above the diagonal are computed.

On arrays that are not NumPy's the same panels are computed where the arrays are, with larger tiles
and without threads: such libraries bring their own parallelism.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray
from nammd.engines.features import Walks, by_features, feature_pair_means, feature_sums, split_sums
from nammd.engines.features.waves import Waves
from nammd.engines.progress import Progress
from nammd.engines.protocol import (
    Engine,
    FamilyForms,
    PairedForms,
    Split,
    Summed,
    form_work,
    repr_of_what_is_set,
)
from nammd.engines.sums import PairMeans
from nammd.engines.tiles.families import FamilyJob, GridJob, PairedJob
from nammd.engines.tiles.jobs import CrossJob, QuadraticForms, WithinJob
from nammd.engines.tiles.pool import Buffers, run
from nammd.engines.tiles.unit_jobs import UnitCrossJob, UnitWithinJob
from nammd.engines.units import Units
from nammd.errors.checks import whole
from nammd.kernels.base import BoundKernel, Kernel, Precision
from nammd.kernels.family import families, of_distances, powers_of
from nammd.kernels.operations import features_of

SINGLE_VALUES = 1 << 24
"""Two samples of more pairs of rows than this, 4 096 with as many, have float32 tiles in NumPy.

Each for itself, so that the sums of two samples have the same bits whatever else is asked for. Errors of
single values, one in ten million, average out to some millionths of a standard error; and float64 takes two
to four times as long.
"""


_NUMPY_TILE = (1024, 768)
"""Larger than the nearest caches: between calls of NumPy threads wait for each other, so calls are few."""

_THREADS_OF_SUMS = 8
"""With more of them it takes longer, for the same reason."""


@dataclass(frozen=True, repr=False)
class Tiles(Engine):
    """Compute on tiles of the Gram matrix: NumPy in threads, or where the arrays are.

    Parameters
    ----------
    tile_rows, tile_columns : int, optional
        The size of a tile. The defaults fit the caches of a CPU, or keep a device busy.
    threads : int, optional
        The number of threads; by default as many as the process may use, but of sums over pairs at most
        eight, or one for small data.
    dtype : {"float32", "float64"}, optional
        The precision of the tiles, by default that of the data, or float32 of samples that have more
        than 16 777 216 pairs of rows; float64 where the spread of the data is too much for float32. Sums over
        tiles are accumulated in float64 in any case.
    progress : bool or callable, optional
        By default a bar with the remaining time is shown on stderr, where that is a terminal, once the
        work takes longer than some seconds. True shows it in any case, False never. A function is
        called with the work done and the whole of it, at the beginning, a few times a second, and at
        the end.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> x, y = np.random.default_rng(0).normal(size=(2, 500, 3))
    >>> one = nammd.distance(x, y, engine=nammd.Tiles(threads=1))
    >>> two = nammd.distance(x, y, engine=nammd.Tiles(threads=2))
    >>> one.value == two.value
    True
    >>> one.engine
    'Tiles(threads=1)'
    """

    tile_rows: int | None = None
    tile_columns: int | None = None
    threads: int | None = None
    dtype: Precision | None = None
    progress: Progress = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("tile_rows", "tile_columns", "threads"):
            value = getattr(self, name)
            if value is not None:
                whole(value, name)
        if self.dtype not in (None, "float32", "float64"):
            raise ValueError(f"dtype must be 'float32' or 'float64', not {self.dtype!r}")
        if not (self.progress is None or isinstance(self.progress, bool) or callable(self.progress)):
            raise TypeError(
                "progress must be True, False, None or a function of the work done and the whole of it, "
                f"not {self.progress!r}"
            )

    def __repr__(self) -> str:
        return repr_of_what_is_set(self)

    def sums(self, kernel: Kernel, *parts: tuple[Array, ...]) -> Summed:
        """Return `WithinSums` for every part ``(x,)`` and `CrossSums` for every part ``(x, y)``."""
        return self.many_sums([kernel], *parts)[0]

    def many_sums(self, kernels: Sequence[Kernel], *parts: tuple[Array, ...]) -> list[Summed]:
        """Return the same for every one of some kernels.

        Of kernels whose values are powers of the first one's, a tile is computed once; of others that share
        their distances, at least these are, in NumPy's data. Many rows of kernels with features are not
        compared in pairs.
        """
        if by_features(kernels, parts):
            return self._by_features(kernels, parts)
        first, buffers, powers = parts[0][0], Buffers(), powers_of(kernels)
        if powers is not None:
            shape, make = self._tile_shape(first), (WithinJob, CrossJob)
            jobs: list[Any] = [
                make[len(part) - 1](self._bound(kernels[0], part[0], part[-1]), part, shape, buffers, powers)
                for part in parts
            ]
            return self._summed(jobs, len(kernels), first)
        if not isinstance(first, np.ndarray) or not all(map(of_distances, kernels)):
            return super().many_sums(kernels, *parts)
        groups, precision = families(kernels), self.precision_for(*(s for part in parts for s in part))
        grids = [
            [GridJob([kernels[k] for k in group], part, precision, buffers) for part in parts]
            for group in groups
        ]
        run([job for alike in grids for job in alike], self.threads, self.progress)
        found = {
            k: Summed(tuple(job.result(place) for job in alike), self.described(first))
            for group, alike in zip(groups, grids, strict=True)
            for place, k in enumerate(group)
        }
        return [found[k] for k in range(len(kernels))]

    def pair_means(
        self, kernels: Sequence[Kernel], x: Array, copies: Sequence[Array]
    ) -> list[list[PairMeans]]:
        """Return `PairMeans` of a sample and copies of it; of kernels with features without any pairs."""
        if all(map(features_of, kernels)):
            precision = self.dtype or self.precision_for(x, *copies)
            return feature_pair_means(kernels, x, copies, precision)
        return super().pair_means(kernels, x, copies)

    def many_unit_sums(
        self, kernels: Sequence[Kernel], *parts: tuple[tuple[Array, Units], ...]
    ) -> list[Summed]:
        """Return `UnitWithin` and `UnitCross` for every kernel; tiles are cut at the borders of units."""
        if by_features(kernels, parts):
            return self._by_features(kernels, parts)
        powers, buffers = powers_of(kernels), Buffers()
        if powers is None:
            return [self.many_unit_sums([kernel], *parts)[0] for kernel in kernels]
        first = parts[0][0][0]
        shape = self._tile_shape(first)
        jobs: list[Any] = []
        for part in parts:
            (x, units), (y, others) = part[0], part[-1]
            bound = self._bound(kernels[0], x, y)
            if len(part) == 1:
                jobs.append(UnitWithinJob(bound, x, units, shape, buffers, powers))
            else:
                jobs.append(UnitCrossJob(bound, (x, y), (units, others), shape, buffers, powers))
        return self._summed(jobs, len(kernels), first)

    def _summed(self, jobs: Sequence[Any], kernels: int, first: Array) -> list[Summed]:
        run(jobs, self.threads, self.progress, most=_THREADS_OF_SUMS)
        by = self.described(first)
        return [Summed(tuple(job.result(k) for job in jobs), by) for k in range(kernels)]

    def _bound(self, kernel: Kernel, x: Array, y: Array) -> BoundKernel:
        """Bind a kernel in the precision that was asked for; else that of the data, or float32 of many."""
        many = isinstance(x, np.ndarray) and x.shape[0] * y.shape[0] > SINGLE_VALUES
        return kernel.bind(x, y, self.dtype or ("float32" if many else None))

    def _by_features(self, kernels: Sequence[Kernel], parts: Sequence[tuple[Any, ...]]) -> list[Summed]:
        """Return sums of kernels with features, in time proportional to the rows."""
        samples = [each[0] if isinstance(each, tuple) else each for part in parts for each in part]
        found = feature_sums(kernels, parts, self._walking, self.precision_for(*samples))
        return [Summed(tuple(each), self.described(samples[0])) for each in found]

    def _walking(self, waves: Waves) -> Walks:
        return Walks(waves, self.threads, self.progress)

    def split_sums(self, kernel: Kernel, sample: Array, splits: Sequence[Split]) -> Iterator[Summed]:
        """Yield the sums of divisions of a sample; those of kernels with features share their walks."""
        if not by_features([kernel], [(sample,)]):
            yield from super().split_sums(kernel, sample, splits)
            return
        by, precision = self.described(sample), self.precision_for(sample)
        for found in split_sums(kernel, sample, splits, self._walking, precision):
            yield Summed(found, by)

    def quadratic_forms(self, kernel: Kernel, z: Array, vectors: NDArray[Any]) -> FloatArray:
        """Return ``v' K v`` for every column v, K the Gram matrix of z less its diagonal."""
        rows, columns = self._tile_shape(z)
        # Flat and wide tiles: the product with the vectors dominates, and little is computed twice.
        # The block on the diagonal must fit into the first tile of its panel.
        height = rows // 8 or 1
        shape = (height, max(4 * columns, height))
        job = QuadraticForms(kernel.bind(z, z, self.dtype), z, vectors, shape, Buffers())
        run([job], self.threads, self.progress)
        return job.result()

    def family_forms(self, kernels: Sequence[Kernel], z: Array, vectors: NDArray[Any]) -> FamilyForms:
        """Return quadratic forms, row sums and squares for many kernels; those of NumPy's data at once."""
        if not isinstance(z, np.ndarray):
            return super().family_forms(kernels, z, vectors)
        groups = families(kernels)
        buffers, precision = Buffers(), self.precision_for(z)
        jobs = [FamilyJob([kernels[k] for k in group], z, vectors, precision, buffers) for group in groups]
        run(jobs, self.threads, self.progress)
        return FamilyForms.ordered([job.result() for job in jobs], groups)

    def paired_forms(
        self, kernels: Sequence[Kernel], x: Array, y: Array, vectors: NDArray[Any]
    ) -> PairedForms:
        """Return the forms of the differences of paired rows, those of NumPy's data at once."""
        if not isinstance(x, np.ndarray):
            return super().paired_forms(kernels, x, y, vectors)
        groups = families(kernels)
        buffers, precision = Buffers(), self.precision_for(x, y)
        jobs = [PairedJob([kernels[k] for k in g], x, y, vectors, precision, buffers) for g in groups]
        run(jobs, self.threads, self.progress)
        return PairedForms.ordered([job.result() for job in jobs], groups)

    def family_work(self, kernels: Sequence[Kernel], z: Array, vectors: int) -> list[float]:
        """Return the shares of the work of the runs that `family_forms` takes: one, for NumPy's data."""
        at_once = isinstance(z, np.ndarray)
        return [form_work(vectors)] if at_once else super().family_work(kernels, z, vectors)

    def precision_for(self, *samples: Array) -> Precision:
        """Return the floating-point type of the tiles."""
        return self.dtype or super().precision_for(*samples)

    def _tile_shape(self, sample: Array) -> tuple[int, int]:
        default = _NUMPY_TILE if isinstance(sample, np.ndarray) else (2048, 8192)
        return self.tile_rows or default[0], self.tile_columns or default[1]
