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

_ROUNDING = 1e-15
"""How much of the longest squared row a squared distance may be off for every column, at most."""

_FEW = 0.05
"""The median is looked for among at most this share of the pairs."""

MEDIAN_ROWS = 2000
"""More pooled rows than this are subsampled: two million distances pin the median well enough."""


def pooled_rows(x: Any, y: Any = None, *, max_rows: int = MEDIAN_ROWS, rng: Any = 0) -> FloatArray:
    """Return the rows of both datasets together as points, at most `max_rows` of them drawn at random.

    Tables are encoded as `nammd.distance` does it.
    """
    whole(max_rows, "max_rows", 2)
    datasets = open_all({"x": x} if y is None else {"x": x, "y": y})
    if len(datasets) == 1 and datasets[0].array is not None:
        points = [datasets[0].array]  # as it is: an encoding would be an object for each of many columns
    else:
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


def quick_median(rows: FloatArray) -> float | None:
    """Return the median Euclidean distance between rows; None where that would not be quick.

    It is that of `scipy.spatial.distance.pdist`, bit by bit, which takes half a second to be imported. From
    one matrix product all squared distances are known up to rounding, and so is which pairs the median may be
    among; only these are worked out as they are there.

    >>> import numpy as np
    >>> quick_median(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])).__round__(3)
    4.243
    """
    size, columns = rows.shape
    pairs = size * (size - 1) // 2
    if not pairs:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        moved = rows - rows.mean(axis=0)
        lengths = np.einsum("ij,ij->i", moved, moved)
        products = (-2 * moved) @ moved.T
        starts = np.r_[0, np.cumsum(np.arange(size - 1, 0, -1))]
        squares = np.empty(pairs)
        for row, at in enumerate(starts[:-1]):
            own = squares[at : at + size - 1 - row]
            np.add(products[row, row + 1 :], lengths[row + 1 :], out=own)
            own += lengths[row]
    error = _ROUNDING * (columns + 8) * float(lengths.max())
    if not np.isfinite(error):
        return None
    ranks = [(pairs - 1) // 2, pairs // 2]
    low, high = _at_ranks(squares, ranks) + np.array([-2, 2]) * error
    chosen = np.flatnonzero((squares >= low) & (squares <= high))
    if low <= 0 or len(chosen) > max(_FEW * pairs, 100):
        return None  # many pairs are equally far apart
    one = np.searchsorted(starts, chosen, side="right") - 1
    two = chosen - starts[one] + one + 1
    exact = np.zeros(len(chosen))
    for column in rows.T:  # in their order, in which they are rounded there
        exact += np.square(column[one] - column[two])
    below = int(np.count_nonzero(squares < low))
    ordered = np.sort(np.sqrt(exact))
    return float(np.mean(ordered[[rank - below for rank in ranks]]))


def _at_ranks(values: FloatArray, ranks: Sequence[int]) -> FloatArray:
    """Return the values of two ranks that are next to each other, or the same.

    Of many values, every hundredth tells about where these are, and only what is there is put in order.
    """
    few = values[::100]
    if len(few) > 1000:
        around = ranks[0] // 100 + np.array([-2, 2]) * round(np.sqrt(len(few)))
        low, high = np.partition(few, around)[around]
        below = int(np.count_nonzero(values < low))
        near = values[(values >= low) & (values <= high)]
        if below <= ranks[0] and ranks[1] < below + len(near):  # else these few were not like the others
            values, ranks = near, [rank - below for rank in ranks]
    found: FloatArray = np.partition(values, ranks)[ranks]
    return found


def median_distance(rows: FloatArray, metric: Metric) -> float:
    """Return the median distance between distinct rows.

    Where more than half of the pairs coincide the median over the other pairs is taken, so that
    ties in the data do not give a bandwidth of zero.
    """
    low, high = SAFE
    quick = quick_median(rows) if metric == "euclidean" else None
    if quick is not None and low <= quick <= high:
        return quick
    from scipy.spatial.distance import pdist

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
