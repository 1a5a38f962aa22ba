"""The cluster engine: pairs of blocks of rows as tasks of Dask.

Blocks of rows are made once, where their sources are read, and meet in pairs; a worker that needs a block
that another one has asks for it. What comes back are sums. If a worker is lost in the middle, Dask computes
again what only that worker had, and the result is the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray
from nammd.data.blocks import in_blocks
from nammd.data.pieces import Graph, Key, fetch, graph_of, is_dask
from nammd.engines.cluster.bilinear import form_tasks
from nammd.engines.cluster.block_pairs import PairGraph
from nammd.engines.cluster.walks import ClusterWalks
from nammd.engines.features import by_features, feature_sums
from nammd.engines.features.waves import Waves
from nammd.engines.progress import Meter, Progress, comparing, warn_of_long_computation
from nammd.engines.protocol import Engine, Summed, repr_of_what_is_set
from nammd.engines.tiles.engine import Tiles
from nammd.errors.checks import whole
from nammd.kernels.base import Kernel, Precision
from nammd.reading.formats import optional

_ONE_THREAD = Tiles(threads=1)
_FEWEST_ROWS, _MOST_ROWS = 16_384, 131_072
_BLOCKS = 64
_BLOCK_BYTES = 1 << 27
_FIRST_SHARE = 0.05
_TELLING_WORK = 1e7  # kernel values; what fewer of them take is Dask's time, which says nothing of the rest
_ALTERNATIVES = "more workers, a random sample of the rows, or nammd.Sketch (time in proportion to the rows)"


@dataclass(frozen=True, repr=False)
class Cluster(Engine):
    """Compute on a Dask cluster: one task for each pair of blocks of rows.

    It is the engine for Dask arrays and dataframes, and is chosen for them by default. Where a client of
    ``dask.distributed`` is active its cluster computes; else Dask's threads in this process do.

    Parameters
    ----------
    block_rows : int, optional
        About how many rows a block has; by default a 64th of the rows, but between 16 384 and 131 072, and
        not more than 128 MB of them. Chunks that are near to that are taken as they are.
    tiles : Tiles, optional
        How a worker computes a pair of blocks; by default in one thread, since a worker runs as many tasks
        at once as it has threads.
    progress : bool, callable or None
        How progress is shown; see `Tiles`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import nammd
    >>> x, y = np.random.default_rng(0).normal(size=(2, 600, 3))
    >>> spread = nammd.distance(da.from_array(x, chunks=200), da.from_array(y, chunks=250))
    >>> spread.engine
    'Cluster()'
    >>> bool(abs(spread.value - nammd.distance(x, y).value) < 1e-10)
    True
    """

    block_rows: int | None = None
    tiles: Tiles = _ONE_THREAD
    progress: Progress = field(default=None, compare=False, repr=False)
    reads_files: ClassVar[bool] = True

    def __post_init__(self) -> None:
        optional("dask", "dask", "a Cluster engine")
        if self.block_rows is not None:
            whole(self.block_rows, "block_rows")
        if not isinstance(self.tiles, Tiles):
            raise TypeError(f"tiles must be an engine such as nammd.Tiles(threads=1), not {self.tiles!r}")
        checked = replace(self.tiles, progress=self.progress)  # it refuses what is no progress
        object.__setattr__(self, "tiles", replace(checked, progress=False))  # only the whole has one

    def precision_for(self, *samples: Array) -> Precision:
        """Return the floating-point type of the tiles."""
        single = all(sample.dtype == np.float32 for sample in samples)
        return self.tiles.dtype or ("float32" if single else "float64")

    def described(self, *samples: Array, kernel: Kernel | None = None) -> str:
        """Say which engine computes; where is up to Dask."""
        return repr(self)

    def sums(self, kernel: Kernel, *parts: tuple[Array, ...]) -> Summed:
        """Return `WithinSums` for every part ``(x,)`` and `CrossSums` for every part ``(x, y)``."""
        return self.many_sums([kernel], *parts)[0]

    def many_sums(self, kernels: Sequence[Kernel], *parts: tuple[Array, ...]) -> list[Summed]:
        """Return the same for every one of some kernels; each pair of blocks is looked at once.

        Many rows of kernels with features are not compared in pairs.
        """
        if by_features(kernels, parts):
            return self._by_features(kernels, parts)
        graph = PairGraph(kernels, self.tiles, self._in_blocks(parts))
        sizes = max((len(part), *(int(s.shape[0]) for s in part)) for part in parts)
        found = self._computed(graph.tasks, graph.keys(), graph.work, sizes[1:], graph.rows_work)
        return [Summed(tuple(each), repr(self)) for each in graph.assemble(found)]

    def _by_features(self, kernels: Sequence[Kernel], parts: Sequence[tuple[Array, ...]]) -> list[Summed]:
        sizes = tuple(int(sample.shape[0]) for sample in max(parts, key=len))

        def computed(graph: Graph, keys: list[Key], work: dict[Key, float]) -> list[Any]:
            return self._computed(graph, keys, work, sizes)

        def walking(waves: Waves) -> ClusterWalks:
            return ClusterWalks(waves, computed)

        precision = self.precision_for(*(sample for part in parts for sample in part))
        found = feature_sums(kernels, self._in_blocks(parts), walking, precision)
        return [Summed(tuple(each), repr(self)) for each in found]

    def delayed(self, kernel: Kernel, *parts: tuple[Array, ...]) -> list[Any]:
        """Return the same as ``dask.delayed.Delayed`` objects: nothing is computed until you ask for it.

        Parameters
        ----------
        kernel : Kernel
            The kernel.
        *parts : tuple of one or two arrays
            Dask arrays of finite floating-point numbers whose chunk sizes are known. They are not checked.

        Returns
        -------
        list of Delayed
            One for each part.

        Examples
        --------
        >>> import dask
        >>> import dask.array as da
        >>> import nammd
        >>> x = da.random.default_rng(0).normal(size=(500, 2), chunks=(100, 2))
        >>> [within] = nammd.Cluster().delayed(nammd.Gaussian(1.0), (x,))
        >>> half = within.rows[:250].mean()       # part of a larger graph
        >>> bool(0 < half.compute() < 499)
        True
        """
        return PairGraph([kernel], self.tiles, self._in_blocks(parts)).delayed()

    def quadratic_forms(self, kernel: Kernel, z: Array, vectors: NDArray[Any]) -> FloatArray:
        """Return ``v' K v`` for every column v, K the Gram matrix of z less its diagonal."""
        [(blocks,)] = self._in_blocks([(z,)])
        tasks, key, work = form_tasks(kernel, self.tiles, blocks, vectors)
        [forms] = self._computed(graph_of([blocks]) | tasks, [key], work, z.shape[:1])
        result: FloatArray = forms
        return result

    def _computed(
        self,
        graph: Graph,
        keys: list[Key],
        work: dict[Key, float],
        sizes: tuple[int, ...],
        coarse: dict[Key, float] | None = None,
    ) -> list[Any]:
        waiting, total = 0.0, sum(work.values())

        def done(amount: float) -> None:
            # The very first pairs say nothing of the rate: workers start, and read their blocks.
            nonlocal waiting
            waiting += amount
            if waiting >= _FIRST_SHARE * total or meter.done:
                meter.add(waiting)
                waiting = 0.0

        def warn(seconds: float) -> None:
            warn_of_long_computation(comparing(*sizes), seconds, "this Dask cluster", _ALTERNATIVES)

        with Meter(self.progress, total, warn=warn if total >= _TELLING_WORK else None) as meter:
            return fetch(graph, keys, work, done, coarse)

    def _in_blocks(self, parts: Any) -> list[tuple[Any, ...]]:
        """Return the parts with their samples cut into blocks, alike for samples of the same size."""
        given = {id(sample): sample for part in parts for sample in part}
        spread = {key: s if is_dask(s) else in_blocks(np.asarray(s)) for key, s in given.items()}
        cuts: dict[int, set[tuple[int, ...]]] = {}
        for sample in spread.values():
            cuts.setdefault(int(sample.shape[0]), set()).add(sample.chunks[0])
        width = max(s.shape[1] * s.dtype.itemsize for s in spread.values())
        chosen = {size: _cut(size, found, self._limit(size, width)) for size, found in cuts.items()}
        blocks = {key: s.rechunk((chosen[int(s.shape[0])], -1)) for key, s in spread.items()}
        return [tuple(blocks[id(sample)] for sample in part) for part in parts]

    def _limit(self, rows: int, row_bytes: int) -> int:
        """Return how many rows a block should have.

        A pair of 16 384 rows takes some tenths of a second: much more than Dask spends on a task, and than it
        takes to bind the kernel to the pair. More rows in blocks of that size would be more tasks than its
        scheduler can hold.
        """
        most = min(_MOST_ROWS, max(_BLOCK_BYTES // row_bytes, 1))
        return self.block_rows or min(max(rows // _BLOCKS, _FEWEST_ROWS), most)

    def __repr__(self) -> str:
        return repr_of_what_is_set(self)


def _cut(size: int, found: set[tuple[int, ...]], limit: int) -> tuple[int, ...]:
    """Return where to cut samples of one size: where they are cut already, if that will do, else evenly."""
    if len(found) == 1:
        [chunks] = found
        if max(chunks) <= 2 * limit and (len(chunks) == 1 or size >= len(chunks) * limit / 2):
            return chunks
    count = -(-size // limit)
    return tuple(size // count + (k < size % count) for k in range(count))
