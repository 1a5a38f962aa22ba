"""Bandwidths that span the distances in the data, computed where the data are."""

from __future__ import annotations

from typing import Any

import numpy as np

from nammd.data.arrays import Array, FloatArray, is_torch
from nammd.kernels.bandwidth import Metric

_ENTRIES = 1 << 27
"""How many differences of two rows are held at a time, on a device."""


def fuse_bandwidths(rows: Array, metric: Metric, count: int) -> FloatArray:
    """Return bandwidths from half the 5 % to twice the 95 % quantile of the distances, as MMD-FUSE has them.

    As published: over all pairs i <= j, where zeros, those of i = j among them, become the median.
    """
    distances = _within(rows, metric)
    median = _median(distances)
    if median == 0:
        positive = distances[distances > 0]
        if not len(positive):
            raise ValueError("the data is constant: every row is the same, so there is nothing to test")
        median = _median(positive)
    distances[distances == 0] = median
    low, high = _ordered(distances, [int(share * len(distances)) for share in (0.05, 0.95)])
    return np.linspace(low / 2, high * 2, count)


def extent(x: Array, y: Array, metric: Metric) -> tuple[float, float, float]:
    """Return the least distance between a row of x and one of y, that at 5 % of their order, and the most."""
    distances = _across(x, y, metric).reshape(-1)
    last = len(distances) - 1
    least, some, most = _ordered(distances, [0, int(0.05 * len(distances)), last])
    return least, some, most


def _within(rows: Array, metric: Metric) -> Any:
    """Return the distances of all pairs i <= j in one line."""
    if is_torch(rows):
        import torch

        size = rows.shape[0]
        upper = torch.ones((size, size), dtype=torch.bool, device=rows.device).triu()
        return _across(rows, rows, metric)[upper]
    from scipy.spatial.distance import pdist

    return np.concatenate([pdist(rows, metric), np.zeros(len(rows))])


def _across(x: Array, y: Array, metric: Metric) -> Any:
    """Return the distances between the rows of two samples, from their differences."""
    if not is_torch(x):
        from scipy.spatial.distance import cdist

        return cdist(x, y, metric)
    import torch

    total = torch.zeros((x.shape[0], y.shape[0]), dtype=x.dtype, device=x.device)
    step = max(1, _ENTRIES // max(1, total.numel()))
    for start in range(0, x.shape[1], step):
        apart = x[:, None, start : start + step] - y[None, :, start : start + step]
        total += apart.abs().sum(2) if metric == "cityblock" else (apart * apart).sum(2)
    return total if metric == "cityblock" else total.sqrt()


def _median(values: Any) -> float:
    if not is_torch(values):
        return float(np.median(values))
    middle = len(values) // 2
    low, high = _ordered(values, [(len(values) - 1) // 2, middle])
    return (low + high) / 2


def _ordered(values: Any, places: list[int]) -> list[float]:
    """Return the values at some places of their order."""
    if is_torch(values):
        found: list[float] = values.sort().values[places].tolist()
        return found
    return [float(np.partition(values, place)[place]) for place in places]
