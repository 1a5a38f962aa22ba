"""The fused test against the products of the Gram matrices with the permutations, which it cannot avoid."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

import nammd
from benchmarks.results import Measurement, at_most
from benchmarks.samples import Sample, normal_samples
from benchmarks.scale import Scale
from benchmarks.timing import interleaved, medians, ratio

_KERNELS, _COLUMNS, _THREADS, _PANEL = 20, 10, 2, 128


def measure(scale: Scale) -> Iterator[Measurement]:
    rows, permutations = scale.permutation_rows * 4 // 5, scale.permutations
    x, y = normal_samples(rows, _COLUMNS)
    rng = np.random.default_rng(0)
    gram = rng.random((2 * rows, 2 * rows), dtype=np.float32)
    signs = np.sign(rng.random((2 * rows, permutations + 1), dtype=np.float32) - np.float32(0.5))
    times = interleaved(
        {
            "bare": partial(bare_products, gram, signs),
            "nammd": partial(_test, x, y, "nammd-fuse", permutations),
            "mmd": partial(_test, x, y, "mmd-fuse", permutations),
        },
        scale.rounds,
    )
    details = {"rows": rows, "columns": _COLUMNS, "permutations": permutations, "dtype": "float32",
               "threads": _THREADS, "median_seconds": medians(times)}  # fmt: skip
    what = f"fused test, n = {rows}, d = {_COLUMNS}, {_KERNELS} kernels, B = {permutations}"
    bare = f"{what}: nammd-fuse / {_KERNELS} bare products"
    yield Measurement(bare, ratio(times, "nammd", "bare"), "x", at_most(1.6), details)
    yield Measurement(
        f"{what}: nammd-fuse / mmd-fuse", ratio(times, "nammd", "mmd"), "x", at_most(1.1), details
    )


def bare_products(gram: Sample, signs: Sample) -> None:
    """Multiply the upper triangle with the signs, once for each kernel, in threads."""

    def one(_: int) -> None:
        for start in range(0, len(gram), _PANEL):
            gram[start : start + _PANEL, start:] @ signs[start:]

    with threadpool_limits(1), ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(one, range(_KERNELS)))


def _test(x: Sample, y: Sample, method: str, permutations: int) -> None:
    engine = nammd.Tiles(threads=_THREADS)
    nammd.two_sample_test(x, y, method=method, permutations=permutations, rng=0, engine=engine)
