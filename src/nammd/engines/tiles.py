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

import os
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd._arrays import Array, FloatArray, like, namespace, to_numpy
from nammd.engines.blas import single_threaded_blas
from nammd.kernels.base import BoundKernel, Kernel, Precision
from nammd.sums import CrossSums, WithinSums, diagonal_of_tile, reduce_tile, without_diagonal

# Below this much work, starting threads costs more than they save.
_THREADS_PAY_NANOSECONDS = 4e6


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

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> x, y = np.random.default_rng(0).normal(size=(2, 500, 3))
    >>> one = nammd.distance(x, y, engine=nammd.Tiles(threads=1))
    >>> two = nammd.distance(x, y, engine=nammd.Tiles(threads=2))
    >>> one.value == two.value
    True
    """

    rows: int | None = None
    columns: int | None = None
    threads: int | None = None
    dtype: Precision | None = None

    def __post_init__(self) -> None:
        for name in ("rows", "columns", "threads"):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1
            ):
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
        if self.dtype not in (None, "float32", "float64"):
            raise ValueError(f"dtype must be 'float32' or 'float64', not {self.dtype!r}")

    def sums(self, kernel: Kernel, *parts: tuple[Array, ...]) -> list[Any]:
        """Return `WithinSums` for every part ``(x,)`` and `CrossSums` for every part ``(x, y)``."""
        shape = self._tile_shape(parts[0][0])
        buffers = _Buffers()
        jobs: list[_Job] = [
            (_Within if len(part) == 1 else _Cross)(
                kernel.bind(part[0], part[-1], self.dtype), part, shape, buffers
            )
            for part in parts
        ]
        self._run(jobs)
        return [job.result() for job in jobs]

    def quadratic_forms(self, kernel: Kernel, z: Array, vectors: NDArray[Any]) -> FloatArray:
        """Return ``v' K v`` for every column v, K the Gram matrix of z less its diagonal."""
        rows, columns = self._tile_shape(z)
        # Wider tiles than elsewhere: the product with the vectors dominates.
        job = _QuadraticForms(
            kernel.bind(z, z, self.dtype), z, vectors, (rows // 2 or 1, 4 * columns), _Buffers()
        )
        self._run([job])
        return job.result()

    def _tile_shape(self, sample: Array) -> tuple[int, int]:
        default = (512, 512) if isinstance(sample, np.ndarray) else (2048, 8192)
        return self.rows or default[0], self.columns or default[1]

    def _run(self, jobs: Sequence[_Job]) -> None:
        """Compute the panels of all jobs, in threads where that pays, and merge them in order."""
        panels = [(job, start) for job in jobs for start in job.starts]
        if not all(job.on_cpu for job in jobs):
            for job, start in panels:
                job.merge(start, job.panel(start))
            return
        with single_threaded_blas:
            for job, start, partial in _in_order(panels, self._thread_count(jobs, len(panels))):
                job.merge(start, partial)

    def _thread_count(self, jobs: Sequence[_Job], panels: int) -> int:
        if self.threads is None and sum(job.nanoseconds for job in jobs) < _THREADS_PAY_NANOSECONDS:
            return 1
        return min(self.threads or _cpu_count(), panels)


def _in_order(panels: list[tuple[_Job, int]], threads: int) -> Iterator[tuple[_Job, int, Any]]:
    """Compute panels in threads and yield them in the order given."""
    if threads == 1:
        yield from ((job, start, job.panel(start)) for job, start in panels)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="nammd") as pool:
        # Few panels in flight: memory stays bounded, and an interrupt has little to wait for.
        waiting: deque[tuple[_Job, int, Future[Any]]] = deque()
        for job, start in panels:
            waiting.append((job, start, pool.submit(job.panel, start)))
            if len(waiting) > 2 * threads:
                done, at, future = waiting.popleft()
                yield done, at, future.result()
        for done, at, future in waiting:
            yield done, at, future.result()


class _Buffers:
    """A tile-sized buffer for each thread, used again and again.

    Giving the memory back and asking for it again for every panel costs a tenth of the time.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def tile(self, height: int, width: int, precision: Precision) -> Array:
        dtype = np.dtype(precision)
        size = height * width * dtype.itemsize
        buffer = getattr(self._local, "bytes", None)
        if buffer is None or buffer.size < size:
            buffer = self._local.bytes = np.empty(size, np.uint8)
        return buffer[:size].view(dtype).reshape(height, width)


class _Job(ABC):
    """A reduction over the tiles of one Gram matrix: panels of it, and how they merge."""

    def __init__(
        self,
        bound: BoundKernel,
        sample: Array,
        size: int,
        shape: tuple[int, int],
        buffers: _Buffers,
    ) -> None:
        self.bound, self.shape, self.buffers, self.size = bound, shape, buffers, size
        self.starts = range(0, size, shape[0])
        self.on_cpu = isinstance(sample, np.ndarray)
        self.nanoseconds = size * size / 2 * (sample.shape[1] / 50 + 0.7)
        ones = np.ones(max(shape))
        self.ones = like(ones, sample, getattr(namespace(sample), bound.precision))

    def stop(self, start: int) -> int:
        return min(start + self.shape[0], self.size)

    def tile(self, rows: slice, columns: slice) -> Array:
        if not self.on_cpu:
            return self.bound.tile(rows, columns, None)
        height, width = rows.stop - rows.start, columns.stop - columns.start
        out = self.buffers.tile(height, width, self.bound.precision)
        return self.bound.tile(rows, columns, out)

    @abstractmethod
    def panel(self, start: int) -> Any:
        """Compute the partial sums of the panel of rows that begins at `start`."""

    @abstractmethod
    def merge(self, start: int, partial: Any) -> None:
        """Add the partial sums of a panel."""

    @abstractmethod
    def result(self) -> Any:
        """Return the complete sums."""


class _Within(_Job):
    """Sums over the pairs of distinct rows of one sample."""

    def __init__(
        self, bound: BoundKernel, part: tuple[Array, ...], shape: tuple[int, int], buffers: _Buffers
    ) -> None:
        size = part[0].shape[0]
        super().__init__(bound, part[0], size, shape, buffers)
        self.rows, self.squares = np.zeros(size), 0.0

    def panel(self, start: int) -> tuple[FloatArray, FloatArray, float]:
        stop, width = self.stop(start), self.shape[1]
        # The block on the diagonal holds both (i, j) and (j, i): its row sums are complete. It is
        # cut off from the rest so that no other tile needs a mask.
        block = without_diagonal(self.tile(slice(start, stop), slice(start, stop)))
        by_row, _, square = reduce_tile(block, self.ones)
        rows, squares, columns = to_numpy(by_row), float(square), np.empty(self.size - stop)
        for begin in range(stop, self.size, width):
            end = min(begin + width, self.size)
            tile = self.tile(slice(start, stop), slice(begin, end))
            by_row, by_column, square = reduce_tile(tile, self.ones)
            rows = rows + to_numpy(by_row)
            columns[begin - stop : end - stop] = to_numpy(by_column)
            squares += 2.0 * float(square)
        return rows, columns, squares

    def merge(self, start: int, partial: tuple[FloatArray, FloatArray, float]) -> None:
        rows, columns, squares = partial
        self.rows[start : start + len(rows)] += rows
        self.rows[start + len(rows) :] += columns
        self.squares += squares

    def result(self) -> WithinSums:
        return WithinSums(self.rows, self.squares)


class _Cross(_Job):
    """Sums over the pairs of a row of x and a row of y."""

    def __init__(
        self, bound: BoundKernel, part: tuple[Array, ...], shape: tuple[int, int], buffers: _Buffers
    ) -> None:
        m, n = part[0].shape[0], part[1].shape[0]
        super().__init__(bound, part[0], m, shape, buffers)
        self.nanoseconds *= 2 * n / m
        self.rows, self.cols, self.squares, self.diagonal = np.zeros(m), np.zeros(n), 0.0, 0.0

    def panel(self, start: int) -> tuple[FloatArray, FloatArray, float, float]:
        m, n, stop, width = self.size, len(self.cols), self.stop(start), self.shape[1]
        rows, columns, squares, diagonal = np.zeros(stop - start), np.empty(n), 0.0, 0.0
        for begin in range(0, n, width):
            end = min(begin + width, n)
            tile = self.tile(slice(start, stop), slice(begin, end))
            by_row, by_column, square = reduce_tile(tile, self.ones)
            rows += to_numpy(by_row)
            columns[begin:end] = to_numpy(by_column)
            squares += float(square)
            if m == n and begin < stop and start < end:
                diagonal += diagonal_of_tile(tile, start - begin)
        return rows, columns, squares, diagonal

    def merge(self, start: int, partial: tuple[FloatArray, FloatArray, float, float]) -> None:
        self.rows[start : start + len(partial[0])] = partial[0]
        self.cols += partial[1]
        self.squares += partial[2]
        self.diagonal += partial[3]

    def result(self) -> CrossSums:
        paired = len(self.rows) == len(self.cols)
        return CrossSums(self.rows, self.cols, self.squares, self.diagonal if paired else None)


class _QuadraticForms(_Job):
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
        buffers: _Buffers,
    ) -> None:
        super().__init__(bound, sample, sample.shape[0], shape, buffers)
        self.vectors = vectors
        self.moved = like(vectors, sample, getattr(namespace(sample), bound.precision))
        self.nanoseconds *= 1 + vectors.shape[1] / 20
        self.shift = _typical_value(bound, self.size)
        self.forms = np.zeros(vectors.shape[1])

    def panel(self, start: int) -> FloatArray:
        stop, width = self.stop(start), self.shape[1]
        block = self.tile(slice(start, stop), slice(start, stop))
        block = without_diagonal(block - self.shift) * 0.5
        product = block @ self.moved[start:stop, :]
        for begin in range(stop, self.size, width):
            columns = slice(begin, min(begin + width, self.size))
            tile = self.tile(slice(start, stop), columns)
            tile -= self.shift
            product += tile @ self.moved[columns, :]
        product *= self.moved[start:stop, :]
        return 2.0 * to_numpy(namespace(product).sum(product, axis=0))

    def merge(self, start: int, partial: FloatArray) -> None:
        self.forms += partial

    def result(self) -> FloatArray:
        sums = self.vectors.sum(axis=0, dtype=np.float64)
        squares = np.einsum("ij,ij->j", self.vectors, self.vectors, dtype=np.float64)
        forms: FloatArray = self.forms + self.shift * (sums**2 - squares)
        return forms


def _typical_value(bound: BoundKernel, size: int) -> float:
    """Return about the mean kernel value, from some rows spread over the sample."""
    rows = slice(0, size, max(1, size // 64))
    tile = to_numpy(bound.tile(rows, rows, None))
    count = tile.shape[0]
    return float((tile.sum() - np.trace(tile)) / (count * (count - 1)))


def _cpu_count() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
