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

SAFE = 1e-140, 1e140
"""Bandwidths between these, and a hundredth of them, have squares that are numbers with all their digits."""

_OWN_COLUMNS, _OWN_ROWS = 128, 32
"""Of at most so many columns distances are not left to SciPy; so many rows are gone through at once."""

_asked: list[int] = []
"""Of how many rows the distances were worked out here, in this process."""

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


def row_distances(rows: FloatArray, metric: Metric) -> FloatArray:
    """Return the distances between all pairs of rows, as `scipy.spatial.distance.pdist` does, bit by bit.

    That takes a third of the time, but half a second to be imported: too long for a process that asks once.

    >>> import numpy as np
    >>> row_distances(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]), "euclidean").round(3)
    array([5.   , 1.   , 4.243])
    """
    size, columns = rows.shape
    if columns > _OWN_COLUMNS or "scipy.spatial.distance" in sys.modules or _asked:
        from scipy.spatial.distance import pdist

        found: FloatArray = pdist(rows, metric)
        return found
    _asked.append(size)
    turned, found, at = np.ascontiguousarray(rows.T), np.empty(size * (size - 1) // 2), 0
    for start in range(0, size, _OWN_ROWS):
        some = slice(start, min(start + _OWN_ROWS, size))
        total = np.zeros((some.stop - start, size - start))
        gaps = np.empty_like(total)
        for column in turned:  # in their order: so sums are rounded in the same way
            np.subtract(column[some, None], column[start:], out=gaps)
            total += np.square(gaps, out=gaps) if metric == "euclidean" else np.abs(gaps, out=gaps)
        for number, line in enumerate(total, 1):
            found[at : at + size - start - number] = line[number:]
            at += size - start - number
    return np.sqrt(found, out=found) if metric == "euclidean" else found


def _largest_gaps(rows: FloatArray) -> FloatArray:
    from scipy.spatial.distance import pdist

    found: FloatArray = pdist(rows, "chebyshev")
    return found


def median_distance(rows: FloatArray, metric: Metric) -> float:
    """Return the median distance between distinct rows.

    Where more than half of the pairs coincide the median over the other pairs is taken, so that
    ties in the data do not give a bandwidth of zero.
    """
    low, high = SAFE
    distances = row_distances(rows, metric)
    median = float(np.median(distances)) if distances.size else 0.0
    if median == 0.0:
        tiny = np.abs(rows[rows != 0]).min(initial=1.0) < low  # the squares of which are zero
        apart = _largest_gaps(rows) > 0 if tiny else distances > 0
        if not apart.any():
            raise ValueError(
                "the data is constant: every row is the same, so no bandwidth can be taken from "
                "it; give a kernel with a bandwidth of your own, such as nammd.Gaussian(1.0)"
            )
        median = float(np.median(distances[apart]))
    if low <= median <= high:
        return median
    lengths = _largest_gaps(rows)
    usual = float(np.median(lengths[lengths > 0]))
    todo = f"multiply all data by a number such as {1 / max(usual, 1e-300):.0e}"
    raise ValueError(
        f"rows differ by {usual:.3g}, and the squares of such numbers are none any more, so no bandwidth "
        f"can be taken from them; {todo}"
    )
