"""Bandwidths that span the distances in the data, as MMD-FUSE takes them."""

from __future__ import annotations

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.kernels.bandwidth import Metric


def fuse_bandwidths(rows: FloatArray, metric: Metric, count: int) -> FloatArray:
    """Return bandwidths from half the 5 % to twice the 95 % quantile of the distances.

    As published: over all pairs i <= j, where zeros, those of i = j among them, become the median.
    """
    from scipy.spatial.distance import pdist

    distances = np.concatenate([pdist(rows, metric), np.zeros(len(rows))])
    median = float(np.median(distances))
    if median == 0:
        positive = distances[distances > 0]
        if not len(positive):
            raise ValueError("the data is constant: every row is the same, so there is nothing to test")
        median = float(np.median(positive))
    distances[distances == 0] = median
    low, high = (np.partition(distances, k := int(share * len(distances)))[k] for share in (0.05, 0.95))
    return np.linspace(low / 2, high * 2, count)
