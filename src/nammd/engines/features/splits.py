"""Sums of many divisions of one sample into two, from walks that they share: `split_sums`.

The features of a row are the same whichever part it is in. So one walk sums them for some divisions at once,
and one more gives the products of every row with both parts of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nammd.data.arrays import Array
from nammd.engines.features.own_units import Own
from nammd.engines.features.sums import (
    LARGE_ROWS,
    SecondOrder,
    SummedSample,
    cross_of,
    within_of,
)
from nammd.engines.features.waves import Waves
from nammd.engines.protocol import Split
from nammd.engines.sums import CrossSums, WithinSums
from nammd.kernels.base import Kernel, Precision

MOST_PRODUCTS = 1 << 24
"""So many products of rows are kept at once: this bounds the memory, and how many divisions share a walk."""


def split_sums(
    kernel: Kernel, points: Array, splits: Sequence[Split], walking: Any, precision: Precision
) -> Iterator[tuple[WithinSums, WithinSums, CrossSums]]:
    """Yield, for each division of a sample, the sums within its parts and between them.

    Parameters
    ----------
    kernel : RandomFeatures
        The kernel.
    points : array of shape (rows, width)
        The sample.
    splits : sequence of two arrays of int each
        The positions of the rows of the two parts, which together are all rows.
    walking, precision
        As of `feature_sums`.
    """
    rows = int(points.shape[0])
    walks = walking(Waves.around([kernel], points, "float32" if rows > LARGE_ROWS else precision))
    bound, at_once = float(kernel.bound), max(MOST_PRODUCTS // (2 * rows), 1)
    for start in range(0, len(splits), at_once):
        some = splits[start : start + at_once]
        first = np.zeros((len(some), rows), np.float32)
        for own, (one, _) in zip(first, some, strict=True):
            own[one] = 1.0
        [totals] = walks.totals([points], [[*first, None]])
        del first
        # The sums of features of each first part, and of the rest.
        parts = np.stack([totals[:, :-1], totals[:, -1:] - totals[:, :-1]], axis=2)
        vectors = parts.reshape(1, 2 * len(some), -1)
        [products] = walks.products([points], [np.swapaxes(vectors, 1, 2)])
        for number, (one, other) in enumerate(some):
            x, y = (SummedSample(points, None, among=positions) for positions in (one, other))
            met = products[0][2 * number : 2 * number + 2]
            for side, (sample, positions) in enumerate(((x, one), (y, other))):
                sample.summed(parts[:, number, side, None])
                sample.places = {id(x): 0, id(y): 1}
                sample.products = [[each[positions] for each in met]]
                sample.own = Own.of_rows(None, bound, 1)
            order = SecondOrder.of(walks, (x, y), 0)
            yield within_of(x, 0, order), within_of(y, 0, order), cross_of(x, y, 0, order, None)
