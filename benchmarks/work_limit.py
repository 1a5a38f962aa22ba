"""The sums against the work that cannot be avoided: one product and one exponential per entry."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import nammd
from benchmarks.results import Measurement, at_most
from benchmarks.samples import Sample, normal_samples, typical_bandwidth
from benchmarks.scale import Scale
from benchmarks.timing import interleaved, medians, one_thread, ratio

_BARS = {16: 1.2, 128: 1.2}
_SHAPES = ((256, 256), (256, 512), (512, 512), (512, 1024))


def measure(scale: Scale) -> Iterator[Measurement]:
    for columns, limit in _BARS.items():
        with one_thread():
            yield _one(scale, columns, limit)


def _one(scale: Scale, columns: int, limit: float) -> Measurement:
    x, y = normal_samples(scale.rows, columns)
    bandwidth = typical_bandwidth(columns)
    kernel, engine = nammd.Gaussian(bandwidth), nammd.Tiles(threads=1)
    u, v = x / np.float32(bandwidth), y / np.float32(bandwidth)
    shape = _best_shape(u, v, scale.rounds)
    times = interleaved(
        {
            "bare": lambda: bare_work(u, v, shape),
            "nammd": lambda: nammd.kernel_sums(x, y, kernel, engine),
        },
        scale.rounds,
    )
    return Measurement(
        f"sums, n = {scale.rows}, d = {columns}: nammd / bare product and exponential",
        ratio(times, "nammd", "bare"),
        "x",
        at_most(limit),
        {
            "rows": scale.rows,
            "columns": columns,
            "dtype": "float32",
            "threads": 1,
            "rounds": scale.rounds,
            "tile_of_bare_work": shape,
            "median_seconds": medians(times),
        },
    )


def bare_work(x: Sample, y: Sample, shape: tuple[int, int]) -> None:
    """Multiply and exponentiate as many entries as XX and YY above the diagonal and XY have.

    With n rows in each sample these are 2 n² entries, or x against y twice. One buffer that stays
    in cache, nothing folded into the product and nothing reduced. With AVX-512 the sums can take less than
    this: there `numpy.exp2` is quicker than `numpy.exp`, and so are products small enough for one pass.
    """
    height, width = shape
    buffer = np.empty(height * width, np.float32)
    for left, right in ((x, y), (y, x)):
        for row in range(0, len(left), height):
            rows = left[row : row + height]
            for column in range(0, len(right), width):
                columns = right[column : column + width]
                tile = buffer[: len(rows) * len(columns)].reshape(len(rows), len(columns))
                np.matmul(rows, columns.T, out=tile)
                np.exp(tile, out=tile)


def _best_shape(x: Sample, y: Sample, rounds: int) -> tuple[int, int]:
    """Return the tile that suits this machine best, so that the limit is as tight as it gets."""
    part = max(1024, len(x) // 4)
    shapes = {f"{height} x {width}": (height, width) for height, width in _SHAPES}
    candidates = {name: partial(bare_work, x[:part], y[:part], shape) for name, shape in shapes.items()}
    seconds = medians(interleaved(candidates, rounds))
    return shapes[min(seconds, key=lambda name: seconds[name])]
