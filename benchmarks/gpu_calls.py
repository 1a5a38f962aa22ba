"""Whole calls on a GPU, from tensors to a result, beside the sums that they cannot do without."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import nammd
from benchmarks.gpu_timing import samples, seconds
from benchmarks.results import Measurement, at_most
from benchmarks.scale import Scale
from nammd.data.arrays import to_numpy
from nammd.engines.units import Units
from nammd.evidence import prepare
from nammd.evidence.cautions import copied_rows, rows_in_common, same_rows

_WHOLE = ((1_000_000, 64, {"high": 1.3, "fast": 1.0}), (300_000, 768, {"high": 5.0, "fast": 3.5}))
"""Rows and columns, and the most seconds in each precision."""

_ROWS, _COLUMNS = 262_144, 64
_CHECKED_ROWS = 50_000
_COMPARED_ROWS, _PARTS_PER_MILLION = 8_192, 10.0
_NOTHING = 1e-30
_CHECKS = 5.0
_TIMES_ROWS, _TIMES_JOINT = 1.5, 2.0
_CHECK, _COMPILING, _FROM_DISK = 0.2, 5.0, 1.0

_FIRST_CALL = """
import time
import torch
import nammd
x, y = torch.randn((2, 2000, {columns}), device="cuda")
times = []
for _ in range(3):
    torch.cuda.synchronize()
    start = time.perf_counter()
    nammd.distance(x, y)
    torch.cuda.synchronize()
    times.append(time.perf_counter() - start)
print(times[0] - times[2])
"""


def measure(scale: Scale, device: dict[str, Any]) -> Iterator[Measurement]:
    """Yield the figures of calls; in a quick run of a tenth of the rows."""
    part = 1 if scale.judged else 10
    yield from _first_calls(device)  # in processes of their own, while this one holds nothing
    for rows, columns, bars in _WHOLE:
        yield from _whole(rows // part, columns, bars, device)
    yield from _units(_ROWS // part, device)
    yield from _scales(_ROWS // part, device)
    yield from _tolerances(_ROWS // part, _CHECKED_ROWS // part, device)


def whole(function: Callable[..., Any], *data: Any, **options: Any) -> Any:
    """Call a function of nammd so that it sums kernel values, however many rows there are."""
    if "exact" in inspect.signature(function).parameters:
        options["exact"] = True
    return function(*data, **options)


def _whole(rows: int, columns: int, bars: dict[str, float], device: dict[str, Any]) -> Iterator[Measurement]:
    x, y = samples(rows, columns)
    kernel = nammd.Gaussian(1.4 * columns**0.5)
    for precision, bar in bars.items():
        engine = nammd.Cuda(precision)
        took = seconds(partial(whole, nammd.distance, x, y, kernel=kernel, engine=engine))
        sums = seconds(partial(nammd.kernel_sums, x, y, kernel, engine))
        checks = seconds(partial(checks_of_rows, x, y, kernel))
        what = f"distance, {rows:,} against {rows:,} rows, d = {columns}, {precision}"
        details = device | {"rows": rows, "columns": columns, "sums": sums, "checks": checks}
        yield Measurement(what, took, "s", at_most(bar), details)
        yield Measurement(f"{what}: the sums of it", sums, "s", None, details)
        share = 100 * checks / took
        yield Measurement(f"{what}: checks of rows", share, "%", at_most(_CHECKS), details)


def checks_of_rows(x: Any, y: Any, kernel: Any) -> None:
    """Open two samples, and look whether rows are finite, repeated, in common, or all alike."""
    one, two = prepare({"x": x, "y": y}, kernel=kernel)
    same_rows(one, two)
    rows_in_common(one, two)
    for sample in (one, two):
        copied_rows(sample)
        bool(sample.constant)


def _units(rows: int, device: dict[str, Any]) -> Iterator[Measurement]:
    x, y = samples(rows, _COLUMNS)
    kernel, rng = nammd.Gaussian(11.0), np.random.default_rng(0)
    cases = {
        "groups of 1 to 5 rows": [_groups(rng.integers(1, 6, rows), side) for side in range(2)],
        "groups of 20 to 40 rows": [_groups(rng.integers(20, 41, rows), side) for side in range(2)],
        "groups of 1000 rows": [_groups(np.full(rows, 1000), side) for side in range(2)],
        "weights": [_groups(np.ones(rows, int), side, rng.uniform(0.5, 2.0, rows)) for side in range(2)],
    }
    for precision in ("high", "fast"):
        engine = nammd.Cuda(precision)
        plain = seconds(partial(engine.sums, kernel, (x,), (y,), (x, y)))
        for name, units in cases.items():
            one, two = zip((x, y), units, strict=True)
            took = seconds(partial(engine.unit_sums, kernel, (one,), (two,), (one, two)))
            what = f"sums over {name} / over rows, n = {rows:,}, d = {_COLUMNS}, {precision}"
            details = device | {"seconds": {"units": took, "rows": plain}}
            yield Measurement(what, took / plain, "x", at_most(_TIMES_ROWS), details)
            if precision == "high":
                some = [(z[:_COMPARED_ROWS], first_rows(u, _COMPARED_ROWS)) for z, u in (one, two)]
                error = unit_error(engine, kernel, *some)
                what = f"sums over {name} against float64, {_COMPARED_ROWS:,} rows: largest error"
                yield Measurement(what, 1e6 * error, "ppm", at_most(_PARTS_PER_MILLION), device)


def first_rows(units: Units, rows: int) -> Units:
    """Return the units of the first rows."""
    return Units(units.labels[:rows], None if units.weights is None else units.weights[:rows])


def unit_error(engine: Any, kernel: Any, one: tuple[Any, Units], two: tuple[Any, Units]) -> float:
    """Return the largest relative error of any sum over units, against float64 on the CPU."""
    parts = (one,), (two,), (one, two)
    exact = [tuple((to_numpy(z).astype(np.float64), units) for z, units in part) for part in parts]
    found, expected = engine.unit_sums(kernel, *parts), nammd.Tiles().unit_sums(kernel, *exact)
    return max(
        float(np.abs(np.asarray(getattr(ours, name)) / value - 1).max())
        for ours, theirs in zip(found, expected, strict=True)
        for name, value in vars(theirs).items()
        if value is not None
    )


def _groups(sizes: Any, side: int, weights: Any = None) -> Units:
    """Return as many rows as there are sizes in groups of these, which the other sample has not."""
    labels = np.repeat(np.arange(len(sizes)), sizes)[: len(sizes)]
    return Units(labels + side * len(sizes), weights)


def _scales(rows: int, device: dict[str, Any]) -> Iterator[Measurement]:
    x, y = samples(rows, _COLUMNS)
    kernel = nammd.Gaussian(11.0)
    joint = seconds(lambda: nammd.kernel_sums(x, y, kernel))
    took = seconds(lambda: whole(nammd.distance, x, y, kernel=kernel, scales="all"))
    what = f"distance at all scales / joint sums, n = {rows:,}, d = {_COLUMNS}"
    details = device | {"seconds": {"scales": took, "joint": joint}}
    yield Measurement(what, took / joint, "x", at_most(_TIMES_JOINT), details)
    error = scale_error(nammd.Cuda(), kernel, x[:_COMPARED_ROWS], y[:_COMPARED_ROWS])
    what = f"sums at all scales against float64, {_COMPARED_ROWS:,} rows: largest relative error over power"
    yield Measurement(what, 1e6 * error, "ppm", at_most(_PARTS_PER_MILLION), device)


def scale_error(engine: Any, kernel: nammd.Gaussian, x: Any, y: Any) -> float:
    """Return the largest relative error of any sum at five scales over the power there, against float64.

    Rounding grows with the power of a kernel value. Of a row whose sum is smaller than the mean, the error is
    that beside the mean; and what float32 cannot hold, such as squares of values near 1e-30, is nothing.
    """
    kernels = [nammd.Gaussian(kernel.bandwidth * 2.0**-k) for k in range(5)]
    one, two = (to_numpy(z).astype(np.float64) for z in (x, y))
    found = engine.many_sums(kernels, (x,), (x, y))
    expected = nammd.Tiles().many_sums(kernels, (one,), (one, two))
    errors = [
        np.max(np.abs(np.asarray(getattr(ours, name)) - value) / (value + np.mean(value) + _NOTHING)) / 4**k
        for k, (mine, right) in enumerate(zip(found, expected, strict=True))
        for ours, theirs in zip(mine, right, strict=True)
        for name, value in vars(theirs).items()
        if name in ("rows", "cols", "squares")
    ]
    return float(max(errors))


def _tolerances(rows: int, few: int, device: dict[str, Any]) -> Iterator[Measurement]:
    x, y = samples(rows, _COLUMNS)
    joint = seconds(lambda: nammd.kernel_sums(x, y, nammd.Gaussian(11.0)))
    tolerance = whole(nammd.Tolerance.from_reference, x)
    took = seconds(lambda: whole(tolerance.check, x, y))
    what = f"check with columns, pairs and scales / joint sums, n = {rows:,}, d = {_COLUMNS}"
    details = device | {"seconds": {"check": took, "joint": joint}}
    yield Measurement(what, took / joint, "x", at_most(_TIMES_JOINT), details)
    x, y = samples(few, _COLUMNS)
    took = seconds(lambda: nammd.Tolerance.from_reference(x))
    yield Measurement(f"calibrate, {few:,} rows, d = {_COLUMNS}", took, "s", at_most(_CHECK), device)
    tolerance = nammd.Tolerance.from_reference(x)
    took = seconds(lambda: tolerance.check(x, y))
    yield Measurement(f"check, {few:,} rows, d = {_COLUMNS}", took, "s", at_most(_CHECK), device)


def _first_calls(device: dict[str, Any]) -> Iterator[Measurement]:
    """Measure what the first call of a process takes more than the third: compiling, or reading a cache."""
    with tempfile.TemporaryDirectory() as bytecode:
        # As pip leaves packages: with bytecode, which images of machines may lack.
        with tempfile.TemporaryDirectory() as folder:
            _in_a_process(_FIRST_CALL.format(columns=16), folder, bytecode)
        for columns in (_COLUMNS, 768):
            with tempfile.TemporaryDirectory() as folder:
                for what, bar in (("compiling", _COMPILING), ("programs from disk", _FROM_DISK)):
                    took = _in_a_process(_FIRST_CALL.format(columns=columns), folder, bytecode)
                    yield Measurement(
                        f"first call of a process, d = {columns}: {what}", took, "s", at_most(bar), device
                    )


def _in_a_process(program: str, cache: str, bytecode: str) -> float:
    environment = os.environ | {"TRITON_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    return float(done.stdout)
