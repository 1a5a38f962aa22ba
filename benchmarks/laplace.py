"""The Laplace kernel against scipy's city-block distances and a NumPy exponential."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

import nammd
from benchmarks.results import Measurement, at_most
from benchmarks.samples import normal_samples
from benchmarks.scale import Scale
from benchmarks.timing import interleaved, medians, one_thread, ratio

# "Not slower", and a few per cent for the noise of a comparison of equals.
_BAR = 1.05
_COLUMNS = 16
_SIDE = 512
_BANDWIDTH = 16.0

Doubles = NDArray[np.float64]


def measure(scale: Scale) -> Iterator[Measurement]:
    with one_thread():
        for dtype in ("float32", "float64"):
            yield _one_tile(dtype, scale)
        yield _all_sums(scale)


def _one_tile(dtype: str, scale: Scale) -> Measurement:
    x, y = (sample.astype(dtype) for sample in normal_samples(_SIDE, _COLUMNS))
    bound = nammd.Laplace(_BANDWIDTH).bind(x, y)
    out, everything = np.empty((_SIDE, _SIDE), dtype), slice(0, _SIDE)
    doubles, buffer = (x.astype(np.float64), y.astype(np.float64)), np.empty((_SIDE, _SIDE))
    times = interleaved(
        {
            "scipy": lambda: _ten_times(lambda: cityblock_kernel(*doubles, buffer)),
            "nammd": lambda: _ten_times(lambda: bound.tile(everything, everything, out)),
        },
        3 * scale.rounds,
    )
    what = f"Laplace tile, {_SIDE} x {_SIDE}, d = {_COLUMNS}, {dtype}: nammd / scipy and exponential"
    details = _details(times, dtype, _SIDE, 3 * scale.rounds)
    return Measurement(what, ratio(times, "nammd", "scipy"), "x", at_most(_BAR), details)


def _all_sums(scale: Scale) -> Measurement:
    rows = scale.laplace_rows
    x, y = normal_samples(rows, _COLUMNS)
    kernel, engine = nammd.Laplace(_BANDWIDTH), nammd.Tiles(threads=1)
    doubles = x.astype(np.float64), y.astype(np.float64)
    times = interleaved(
        {
            "scipy": lambda: same_entries(*doubles),
            "nammd": lambda: nammd.kernel_sums(x, y, kernel, engine),
        },
        scale.rounds,
    )
    what = f"Laplace sums, n = {rows}, d = {_COLUMNS}, float32: nammd / scipy and exponential"
    details = _details(times, "float32", rows, scale.rounds)
    # Without a bar: the sums do more than the distances and exponentials that they are compared with.
    return Measurement(what, ratio(times, "nammd", "scipy"), "x", None, details)


def cityblock_kernel(x: Doubles, y: Doubles, out: Doubles) -> None:
    """Compute one tile, in place. scipy works in float64, so it is given float64 to begin with."""
    cdist(x, y, "cityblock", out=out)
    out *= -1.0 / _BANDWIDTH
    np.exp(out, out=out)


def same_entries(x: Doubles, y: Doubles) -> None:
    """Compute, and not reduce, as many entries as XX and YY above the diagonal and XY have."""
    buffer = np.empty(_SIDE * _SIDE)
    for left, right in ((x, y), (y, x)):
        for row in range(0, len(left), _SIDE):
            rows = left[row : row + _SIDE]
            for column in range(0, len(right), _SIDE):
                columns = right[column : column + _SIDE]
                tile = buffer[: len(rows) * len(columns)].reshape(len(rows), len(columns))
                cityblock_kernel(rows, columns, tile)


def _ten_times(run: Callable[[], object]) -> None:
    """Run often enough for the clock, and keep no result: memory is to be used again."""
    for _ in range(10):
        run()


def _details(times: dict[str, list[float]], dtype: str, rows: int, rounds: int) -> dict[str, Any]:
    return {
        "rows": rows,
        "columns": _COLUMNS,
        "dtype": dtype,
        "threads": 1,
        "rounds": rounds,
        "median_seconds": medians(times),
    }
