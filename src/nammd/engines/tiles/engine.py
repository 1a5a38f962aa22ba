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

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray
from nammd.data.samples import whole
from nammd.engines.base import repr_of_what_is_set
from nammd.engines.progress import Progress
from nammd.engines.tiles.families import FamilyForms, FamilyJob
from nammd.engines.tiles.jobs import Cross, QuadraticForms, Within
from nammd.engines.tiles.pool import Buffers, run
from nammd.kernels.base import Kernel, Precision, precision_of
from nammd.kernels.family import families


@dataclass(frozen=True)
class Tiles:
    """Compute on tiles of the Gram matrix: NumPy in threads, or where the arrays are.

    Parameters
    ----------
    rows, columns : int, optional
        The size of a tile. The defaults fit the cache of a CPU core, or keep a device busy.
    threads : int, optional
        The number of threads; by default as many as the process may use, or one for small data.
    dtype : {"float32", "float64"}, optional
        The precision of the tiles, by default that of the data; float64 where the spread of the
        data is too much for float32. Sums over tiles are accumulated in float64 in any case.
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

    rows: int | None = None
    columns: int | None = None
    threads: int | None = None
    dtype: Precision | None = None
    progress: Progress = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("rows", "columns", "threads"):
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

    def sums(self, kernel: Kernel, *parts: tuple[Array, ...]) -> list[Any]:
        """Return `WithinSums` for every part ``(x,)`` and `CrossSums` for every part ``(x, y)``."""
        shape = self._tile_shape(parts[0][0])
        buffers = Buffers()
        jobs: list[Within | Cross] = [
            (Within if len(part) == 1 else Cross)(
                kernel.bind(part[0], part[-1], self.dtype), part, shape, buffers
            )
            for part in parts
        ]
        run(jobs, self.threads, self.progress)
        return [job.result() for job in jobs]

    def quadratic_forms(self, kernel: Kernel, z: Array, vectors: NDArray[Any]) -> FloatArray:
        """Return ``v' K v`` for every column v, K the Gram matrix of z less its diagonal."""
        rows, columns = self._tile_shape(z)
        # Flat and wide tiles: the product with the vectors dominates, and little is computed twice.
        # The block on the diagonal must fit into the first tile of its panel.
        height = rows // 4 or 1
        shape = (height, max(4 * columns, height))
        job = QuadraticForms(kernel.bind(z, z, self.dtype), z, vectors, shape, Buffers())
        run([job], self.threads, self.progress)
        return job.result()

    def family_forms(self, kernels: Sequence[Kernel], z: Array, vectors: NDArray[Any]) -> FamilyForms:
        """Return quadratic forms, row sums and squares for many Gaussian and Laplace kernels at once."""
        groups = families(kernels)
        precision, buffers = self.dtype or precision_of(z, z), Buffers()
        jobs = [FamilyJob([kernels[k] for k in group], z, vectors, precision, buffers) for group in groups]
        run(jobs, self.threads, self.progress)
        return FamilyForms.ordered([job.result() for job in jobs], groups)

    def _tile_shape(self, sample: Array) -> tuple[int, int]:
        default = (512, 512) if isinstance(sample, np.ndarray) else (2048, 8192)
        return self.rows or default[0], self.columns or default[1]
