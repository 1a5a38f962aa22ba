"""The median heuristic: a bandwidth that fits the scale of the data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from nammd.data.arrays import Array, FloatArray, aligned, rows_at
from nammd.data.opening import open_all
from nammd.encoding.encoding import fit_datasets
from nammd.errors.checks import whole

Metric = Literal["euclidean", "cityblock"]

_SQUARES_ARE_SAFE = 1e-150, 1e150
"""Distances between these have squares that are numbers, with all their digits."""

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

    low, high = _SQUARES_ARE_SAFE
    distances = pdist(rows, metric)
    median = _median_of_distinct(distances)
    ties = 2 * np.count_nonzero(distances) <= len(distances)
    # Rows that differ by less than squares can tell look the same.
    if not low < median < high or (ties and np.abs(rows[rows != 0]).min(initial=high) < low):
        median = _median_of_distinct(_careful_distances(rows, metric))
    if median == 0:
        raise ValueError(
            "the data is constant: every row is the same, so no bandwidth can be taken from "
            "it; give a kernel with a bandwidth of your own, such as nammd.Gaussian(1.0)"
        )
    if not np.isfinite(median):
        raise ValueError(
            "the distances between rows are beyond all numbers, so no bandwidth can be taken from them; "
            "divide the data by a number such as 1e10"
        )
    if median < sys.float_info.min:
        raise ValueError(
            f"rows differ by {median:.3g}, and numbers that small lose their digits, so no bandwidth can be "
            "taken from them; multiply the data by a number such as 1e200"
        )
    return median


def _median_of_distinct(distances: FloatArray) -> float:
    """Return the median; over those that are not zero where most are, and 0 where all are."""
    median = float(np.median(distances)) if distances.size else 0.0
    if median == 0.0 and distances.any():
        median = float(np.median(distances[distances > 0]))
    return median


def _careful_distances(rows: FloatArray, metric: Metric) -> FloatArray:
    """Return the distances between rows of any magnitude, each pair in its own unit."""
    found = []
    for place in range(1, len(rows)):
        apart = np.abs(rows[:place] - rows[place])
        unit = np.maximum(apart.max(axis=1), sys.float_info.min)
        apart /= unit[:, None]
        within = apart.sum(axis=1) if metric == "cityblock" else np.sqrt((apart * apart).sum(axis=1))
        with np.errstate(over="ignore"):
            found.append(within * unit)
    return np.concatenate(found) if found else np.empty(0)
