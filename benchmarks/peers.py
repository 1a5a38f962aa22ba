"""The sums against the same numbers from full matrices, in NumPy and in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np

import nammd
from benchmarks.full_matrices import check_agreement, numpy_sums, torch_sums
from benchmarks.results import Bar, Measurement, at_least
from benchmarks.samples import normal_samples, typical_bandwidth
from benchmarks.scale import Scale
from benchmarks.timing import interleaved, medians, one_thread, ratio

# Without a bar: a bandwidth that is a NumPy float64, as the median of scipy's distances is, makes
# NumPy compute the matrices of float32 data in float64. Code in the wild often does that unawares.
_PROMOTED = "NumPy, promoted to float64"
_BARS: dict[str, dict[int, Bar | None]] = {
    # Less with many columns: both sides then spend most of their time in the same matrix product.
    "NumPy": {16: at_least(8.0), 128: at_least(3.5)},
    _PROMOTED: {16: None, 128: None},
    "PyTorch": {16: at_least(12.0), 128: at_least(6.0)},
}


def measure(scale: Scale) -> Iterator[Measurement]:
    torch_found = find_spec("torch") is not None
    check_agreement(torch_found)  # imports torch, so that `one_thread` sees it
    for columns in (16, 128):
        with one_thread():
            times = _times(scale, columns, torch_found)
        for peer, bars in _BARS.items():
            what = f"sums, n = {scale.rows}, d = {columns}: full matrices in {peer} / nammd"
            bar = bars[columns]
            if peer not in times:
                yield Measurement(what, None, "x", bar, skipped="torch is not installed")
                continue
            settings = {"rows": scale.rows, "columns": columns, "dtype": "float32", "threads": 1}
            details = {**settings, "rounds": scale.slow_rounds, "median_seconds": medians(times)}
            yield Measurement(what, ratio(times, peer, "nammd"), "x", bar, details)


def _times(scale: Scale, columns: int, torch_found: bool) -> dict[str, list[float]]:
    x, y = normal_samples(scale.rows, columns)
    bandwidth = typical_bandwidth(columns)
    kernel, engine = nammd.Gaussian(bandwidth), nammd.Tiles(threads=1)
    candidates: dict[str, Callable[[], object]] = {
        "nammd": lambda: nammd.kernel_sums(x, y, kernel, engine),
        "NumPy": lambda: numpy_sums(x, y, bandwidth),
        _PROMOTED: lambda: numpy_sums(x, y, np.float64(bandwidth)),
    }
    if torch_found:
        import torch

        tensors = torch.from_numpy(x), torch.from_numpy(y)
        candidates["PyTorch"] = lambda: torch_sums(*tensors, bandwidth)
    return interleaved(candidates, scale.slow_rounds)
