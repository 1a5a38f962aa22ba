"""The permutation test against re-indexing a stored Gram matrix once per permutation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import nammd
from benchmarks.results import Measurement, at_least
from benchmarks.samples import Sample, normal_samples, typical_bandwidth
from benchmarks.scale import Scale
from benchmarks.timing import interleaved, medians, one_thread, ratio

_BAR = 100.0
_COLUMNS = 128


def measure(scale: Scale) -> Iterator[Measurement]:
    rows, permutations, few = scale.permutation_rows, scale.permutations, scale.reindexed
    x, y = normal_samples(rows, _COLUMNS)
    kernel = nammd.Gaussian(typical_bandwidth(_COLUMNS))
    pooled = np.concatenate([x, y])
    gram = kernel(pooled, pooled)
    np.fill_diagonal(gram, 0.0)
    _check_agreement(gram, x, y, kernel)
    with one_thread():
        times = interleaved(
            {
                "re-indexing": lambda: reindexed(gram, rows, few),
                "one thread": partial(_test, x, y, kernel, permutations, nammd.Tiles(threads=1)),
                "default engine": partial(_test, x, y, kernel, permutations, nammd.Tiles()),
            },
            scale.rounds,
        )
    # The peer takes one permutation after the other, so its time is in proportion to their number.
    times["re-indexing"] = [seconds * permutations / few for seconds in times["re-indexing"]]
    details = {
        "rows": rows,
        "columns": _COLUMNS,
        "dtype": "float32",
        "rounds": scale.rounds,
        "median_seconds": medians(times),
        "note": f"{few} permutations of the peer were timed and scaled to {permutations}; its Gram "
        "matrix was computed beforehand and is not counted",
    }
    what = f"permutation test, n = {rows}, d = {_COLUMNS}, B = {permutations}: re-indexing / nammd"
    # The bar is on what a user gets; with one thread, which is all that the peer can use, without one.
    for engine, bar in (("default engine", at_least(_BAR)), ("one thread", None)):
        yield Measurement(f"{what}, {engine}", ratio(times, "re-indexing", engine), "x", bar, details)


def _test(x: Sample, y: Sample, kernel: nammd.Gaussian, permutations: int, engine: nammd.Tiles) -> None:
    nammd.two_sample_test(x, y, kernel=kernel, permutations=permutations, rng=0, engine=engine)


def reindexed(gram: Sample, m: int, permutations: int) -> list[float]:
    """Return the NAMMD statistic of random relabellings of a pooled Gram matrix of 2 m rows."""
    rng = np.random.default_rng(0)
    return [_nammd(gram, rng.permutation(len(gram)), m) for _ in range(permutations)]


def _nammd(gram: Sample, order: np.ndarray[tuple[int], np.dtype[np.int64]], m: int) -> float:
    shuffled = gram[order][:, order]
    n = len(gram) - m
    xx = shuffled[:m, :m].sum() / (m * (m - 1))
    yy = shuffled[m:, m:].sum() / (n * (n - 1))
    xy = shuffled[:m, m:].mean()
    return float((xx + yy - 2.0 * xy) / (4.0 - xx - yy))


def _check_agreement(gram: Sample, x: Sample, y: Sample, kernel: nammd.Gaussian) -> None:
    """Refuse to compare the speed of things that compute different numbers."""
    theirs = _nammd(gram, np.arange(len(gram)), len(x))
    ours = nammd.two_sample_test(x, y, kernel=kernel, permutations=1, rng=0).statistic
    np.testing.assert_allclose(theirs, ours, rtol=1e-2, atol=1e-6)
