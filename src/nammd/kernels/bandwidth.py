"""The median heuristic: a bandwidth that fits the scale of the data."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from nammd.data.arrays import Array, FloatArray, take_rows, to_numpy
from nammd.data.samples import as_sample, as_samples

Metric = Literal["euclidean", "cityblock"]

MEDIAN_ROWS = 2000
"""More pooled rows than this are subsampled: two million distances pin the median well enough."""


def pooled_rows(x: Any, y: Any = None, *, max_rows: int = MEDIAN_ROWS, rng: Any = 0) -> FloatArray:
    """Return the rows of both samples together, at most `max_rows` of them drawn at random."""
    if max_rows < 2:
        raise ValueError(f"max_rows must be at least 2, not {max_rows}")
    samples: list[Array] = [as_sample(x, "x")] if y is None else list(as_samples(x=x, y=y))
    sizes = [s.shape[0] for s in samples]
    total = sum(sizes)
    if total <= max_rows:
        return np.concatenate([to_numpy(s) for s in samples])
    chosen = np.sort(np.random.default_rng(rng).choice(total, size=max_rows, replace=False))
    parts, start = [], 0
    for sample, size in zip(samples, sizes, strict=True):
        here = chosen[(chosen >= start) & (chosen < start + size)] - start
        parts.append(to_numpy(take_rows(sample, here)))
        start += size
    return np.concatenate(parts)


def median_distance(rows: FloatArray, metric: Metric) -> float:
    """Return the median distance between distinct rows.

    Where more than half of the pairs coincide the median over the other pairs is taken, so that
    ties in the data do not give a bandwidth of zero.
    """
    from scipy.spatial.distance import pdist

    distances = pdist(rows, metric)
    median = float(np.median(distances)) if distances.size else 0.0
    if median == 0.0:
        distances = distances[distances > 0]
        if not distances.size:
            raise ValueError(
                "the data is constant: every row is the same, so no bandwidth can be taken from "
                "it; give a kernel with a bandwidth of your own, such as nammd.Gaussian(1.0)"
            )
        median = float(np.median(distances))
    return median
