"""The median heuristic: a bandwidth that fits the scale of the data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from nammd.data.arrays import Array, FloatArray, aligned, rows_at
from nammd.data.opening import open_all
from nammd.encoding.encoding import fit_datasets
from nammd.errors.checks import whole

Metric = Literal["euclidean", "cityblock"]

SAFE = 1e-140, 1e140
"""Bandwidths between these, and a hundredth of them, have squares that are numbers with all their digits."""

MEDIAN_ROWS = 2000
"""More pooled rows than this are subsampled: two million distances pin the median well enough."""


def pooled_rows(x: Any, y: Any = None, *, max_rows: int = MEDIAN_ROWS, rng: Any = 0) -> FloatArray:
    """Return the rows of both datasets together as points, at most `max_rows` of them drawn at random.

    Tables are encoded as `nammd.distance` does it.
    """
    whole(max_rows, "max_rows", 2)
    datasets = open_all({"x": x} if y is None else {"x": x, "y": y})
    encoding = fit_datasets(datasets)
    points = [encoding.points(dataset) for dataset in datasets]
    names = [dataset.name for dataset in datasets]
    return drawn_rows(aligned(points, names), names, max_rows, rng)


def drawn_rows(
    samples: Sequence[Array], names: Sequence[str], max_rows: int = MEDIAN_ROWS, rng: Any = 0
) -> FloatArray:
    """Return the rows of several samples together, at most `max_rows` of them drawn at random."""
    edges = np.cumsum([0, *(int(sample.shape[0]) for sample in samples)])
    chosen = np.arange(edges[-1])
    if len(chosen) > max_rows:
        chosen = np.sort(np.random.default_rng(rng).choice(edges[-1], size=max_rows, replace=False))
    each = [chosen[(chosen >= start) & (chosen < stop)] - start for start, stop in pairwise(edges)]
    return rows_at(samples, each, names)


def median_distance(rows: FloatArray, metric: Metric) -> float:
    """Return the median distance between distinct rows.

    Where more than half of the pairs coincide the median over the other pairs is taken, so that
    ties in the data do not give a bandwidth of zero.
    """
    from scipy.spatial.distance import pdist

    low, high = SAFE
    distances = pdist(rows, metric)
    median = float(np.median(distances)) if distances.size else 0.0
    if median == 0.0:
        tiny = np.abs(rows[rows != 0]).min(initial=1.0) < low  # the squares of which are zero
        apart = pdist(rows, "chebyshev") > 0 if tiny else distances > 0
        if not apart.any():
            raise ValueError(
                "the data is constant: every row is the same, so no bandwidth can be taken from "
                "it; give a kernel with a bandwidth of your own, such as nammd.Gaussian(1.0)"
            )
        median = float(np.median(distances[apart]))
    if low <= median <= high:
        return median
    lengths = pdist(rows, "chebyshev")
    usual = float(np.median(lengths[lengths > 0]))
    todo = f"multiply all data by a number such as {1 / max(usual, 1e-300):.0e}"
    raise ValueError(
        f"rows differ by {usual:.3g}, and the squares of such numbers are none any more, so no bandwidth "
        f"can be taken from them; {todo}"
    )
