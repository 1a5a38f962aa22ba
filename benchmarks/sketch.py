"""Sketches: the growth of their cost with the rows, and that cost against one matrix product."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np

import nammd
from benchmarks.results import Measurement, at_most
from benchmarks.samples import Sample, typical_bandwidth
from benchmarks.scale import Scale
from benchmarks.timing import interleaved, medians, ratio

_COLUMNS, _FEATURES, _BLOCK = 32, 1024, 4096


def measure(scale: Scale) -> Iterator[Measurement]:
    rows = scale.sketch_rows
    x = np.random.default_rng(0).standard_normal((rows, _COLUMNS), dtype=np.float32)
    features = nammd.RandomFeatures(nammd.Gaussian(typical_bandwidth(_COLUMNS)), _FEATURES)
    nammd.Sketch.of(x[: rows // 50], features)  # the first use loads libraries

    sizes = [round(rows / 10 * 10 ** (k / 3)) for k in range(4)]
    rounds = [[_seconds(x[:size], features) for size in sizes] for _ in range(scale.slow_rounds)]
    seconds = np.median(rounds, axis=0)
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    shared = {"columns": _COLUMNS, "features": _FEATURES, "dtype": "float32"}
    yield Measurement(
        f"sketch, {sizes[0]} to {rows} rows: |slope of log seconds over log rows - 1|",
        abs(slope - 1),
        "",
        at_most(0.1),
        {"slope": slope, "rows": sizes, "median_seconds": seconds.tolist(), **shared},
    )

    weights = np.random.default_rng(1).standard_normal((_COLUMNS, _FEATURES), dtype=np.float32)
    times = interleaved(
        {"product": partial(product, x, weights), "sketch": partial(nammd.Sketch.of, x, features)},
        scale.slow_rounds,
    )
    yield Measurement(
        f"sketch, {rows} x {_COLUMNS}, {_FEATURES} features / one product of that size",
        ratio(times, "sketch", "product"),
        "x",
        at_most(25.0),
        {"rows": rows, "median_seconds": medians(times), **shared},
    )


def product(x: Sample, weights: Sample) -> None:
    """Multiply block by block into one buffer: faster than writing gigabytes, so the stricter measure."""
    buffer = np.empty((_BLOCK, weights.shape[1]), x.dtype)
    for start in range(0, len(x), _BLOCK):
        rows = x[start : start + _BLOCK]
        np.matmul(rows, weights, out=buffer[: len(rows)])


def _seconds(x: Sample, features: nammd.RandomFeatures) -> float:
    start = time.perf_counter()
    nammd.Sketch.of(x, features)
    return time.perf_counter() - start
