"""The GPU engine: whole calls, sums of a million rows, PyTorch in chunks, errors, limits of the chip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import nammd
from benchmarks import gpu_calls
from benchmarks.gpu_timing import samples, seconds
from benchmarks.results import Bar, Measurement, at_least, at_most
from benchmarks.scale import Scale

_COLUMNS = 64
_BANDWIDTH = 11.0
_PEER_ROWS = 131_072
_EXACT_ROWS = 32_768
_CHECKED_ROWS = 256
_SECONDS = {"high": at_most(1.3), "fast": at_most(1.0)}
_GIGABYTES = at_most(4.0)


def measure(scale: Scale) -> Iterator[Measurement]:
    try:
        import torch
        import triton
    except ImportError as error:
        yield Measurement("GPU engine", None, "s", _SECONDS["high"], skipped=str(error))
        return
    if not torch.cuda.is_available():
        yield Measurement("GPU engine", None, "s", _SECONDS["high"], skipped="no CUDA device")
        return
    device = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
    }
    yield from gpu_calls.measure(scale, device)
    yield from _limits(device)
    yield from _a_million(1_000_000 if scale.judged else 100_000, device)
    yield from _chunked(device)
    yield from _errors(device)
    yield from _other_kernels(device)
    yield _permutations(device)


def sums_seconds(x: Any, y: Any, kernel: Any, engine: Any) -> float:
    """Return the seconds that the sums of a pair of samples take."""
    return seconds(lambda: nammd.kernel_sums(x, y, kernel, engine))


def _a_million(rows: int, device: dict[str, Any]) -> Iterator[Measurement]:
    import torch

    x, y = samples(rows, _COLUMNS)
    kernel = nammd.Gaussian(_BANDWIDTH)
    given = torch.cuda.memory_allocated()
    for precision, bar in _SECONDS.items():
        engine = nammd.Cuda(precision)
        torch.cuda.reset_peak_memory_stats()
        took = sums_seconds(x, y, kernel, engine)
        peak = torch.cuda.max_memory_allocated() / 1e9
        sums = nammd.kernel_sums(x, y, kernel, engine)
        error = max(_row_error(sums.xx_rows, x, x, kernel), _row_error(sums.xy_rows, x, y, kernel))
        what = f"{rows:,} against {rows:,} rows, d = {_COLUMNS}, {precision}"
        details = device | {"rows": rows, "columns": _COLUMNS, "largest_row_error": error}
        yield Measurement(what, took, "s", bar, details)
        details = device | {"of_which_data": given / 1e9}
        yield Measurement(f"{what}: memory with the data", peak, "GB", _GIGABYTES, details)
        yield Measurement(f"{what}: largest error of some row sums", error * 1e6, "ppm", None, details)


def _row_error(rows: Any, x: Any, y: Any, kernel: Any) -> float:
    """Return the largest relative error of some row sums against float64."""
    step = max(1, len(rows) // _CHECKED_ROWS)
    some = x[::step].double()
    total: Any = 0.0
    for start in range(0, y.shape[0], 1 << 16):
        total = total + kernel(some, y[start : start + (1 << 16)].double()).sum(1)
    expected = np.asarray(total.cpu()) - (1.0 if x is y else 0.0)
    return float(np.abs(rows[::step] / expected - 1).max())


def chunked_torch(x: Any, y: Any, bandwidth: float, rows: int = 8192) -> Any:
    """Sum the three kernel matrices as one would write it in PyTorch: in chunks, with tf32 products."""
    import torch

    factor = 1 / bandwidth**2
    total: Any = 0.0
    for left, right in ((x, x), (y, y), (x, y)):
        norms = (right * right).sum(1) * factor / 2
        for start in range(0, left.shape[0], rows):
            chunk = left[start : start + rows]
            exponent = (chunk @ right.T) * factor
            exponent -= norms
            exponent -= ((chunk * chunk).sum(1) * factor / 2)[:, None]
            total = total + torch.exp(exponent).sum(dtype=torch.float64)
    return total


def _chunked(device: dict[str, Any]) -> Iterator[Measurement]:
    import torch

    x, y = samples(_PEER_ROWS, _COLUMNS)
    kernel = nammd.Gaussian(_BANDWIDTH)
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        peer = seconds(lambda: chunked_torch(x, y, _BANDWIDTH))
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    for precision in ("high", "fast"):
        engine = nammd.Cuda(precision)
        ours = sums_seconds(x, y, kernel, engine)
        what = f"PyTorch in chunks (tf32) / nammd, n = {_PEER_ROWS}, d = {_COLUMNS}, {precision}"
        details = device | {"seconds": {"torch": peer, "nammd": ours}}
        yield Measurement(what, peer / ours, "x", at_least(20.0), details)


def _errors(device: dict[str, Any]) -> Iterator[Measurement]:
    bars: dict[str, Bar | None] = {"high": at_most(10.0), "fast": None}
    for shift in (0.05, 0.01):
        x, y = samples(_EXACT_ROWS, _COLUMNS, shift)
        kernel = nammd.Gaussian(_BANDWIDTH)
        exact = nammd.distance(x, y, kernel=kernel, engine=nammd.Tiles(dtype="float64"))
        for precision, bar in bars.items():
            value = nammd.distance(x, y, kernel=kernel, engine=nammd.Cuda(precision)).value
            what = f"NAMMD against float64, shift {shift}, n = {_EXACT_ROWS}, {precision}: relative error"
            details = device | {"float64": exact.value, "value": value, "error": exact.standard_error}
            yield Measurement(what, abs(value / exact.value - 1) * 1e6, "ppm", bar, details)


def _other_kernels(device: dict[str, Any]) -> Iterator[Measurement]:
    from nammd.kernels.deep import Deep
    from nammd.kernels.networks import mlp

    cases: list[tuple[str, Any, int]] = [
        ("Gaussian", nammd.Gaussian(5.5), 16),
        ("Gaussian", nammd.Gaussian(40.0), 768),
        ("Mahalanobis", nammd.Mahalanobis(np.eye(_COLUMNS), _BANDWIDTH), _COLUMNS),
        ("sum of two Gaussians", nammd.Gaussian(_BANDWIDTH) + nammd.Gaussian(5.5), _COLUMNS),
        ("Deep", Deep(mlp(_COLUMNS, rng=0), _BANDWIDTH, 1.0), _COLUMNS),
        ("Laplace", nammd.Laplace(70.0), _COLUMNS),
    ]
    for name, kernel, columns in cases:
        x, y = samples(_PEER_ROWS, columns)
        for precision in ("high", "fast"):
            took = sums_seconds(x, y, kernel, nammd.Cuda(precision))
            what = f"{name}, n = {_PEER_ROWS}, d = {columns}, {precision}"
            yield Measurement(what, took * 1e3, "ms", None, device)


def _permutations(device: dict[str, Any]) -> Measurement:
    rows, count = 10_000, 2000
    x, y = samples(rows, _COLUMNS)
    took = seconds(lambda: nammd.two_sample_test(x, y, permutations=count, rng=0, engine=nammd.Cuda()))
    what = f"permutation test, n = {rows}, d = {_COLUMNS}, {count} permutations"
    return Measurement(what, took, "s", None, device)


def _limits(device: dict[str, Any]) -> Iterator[Measurement]:
    """Measure what the chip can do at most: exponentials, and products of half-precision numbers."""
    import torch

    from benchmarks.gpu_limits import exponentials_per_second

    rate = exponentials_per_second()
    yield Measurement("limit: exponentials", rate / 1e12, "T/s", None, device)
    a, b = torch.randn((2, 8192, 8192), device="cuda").half()
    product = 2 * 8192**3 / seconds(lambda: a @ b, 10)
    yield Measurement("limit: half-precision product", product / 1e12, "TF/s", None, device)
    entries = 2e12
    at_least_seconds = {
        "exponentials": entries / rate,
        "fast": entries * 2 * (_COLUMNS + 16) / product,
        "high": entries * 2 * (3 * _COLUMNS + 16) / product,
    }
    for name, value in at_least_seconds.items():
        words = "the exponentials" if name == "exponentials" else f"the products, {name}"
        yield Measurement(f"limit: {words} of a million against a million rows", value, "s", None, device)
