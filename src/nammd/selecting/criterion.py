"""The criterion that learning maximises, as tensors that can be differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nammd.kernels.networks import torch_module
from nammd.selecting.closeness import Excess
from nammd.statistics.moments import Components, Jackknife, Moments, combined

FLOOR = 1e-8
"""Added to the variance, in units of the squared bound, for samples in which nothing varies."""


def moments_of_grams(kxx: Any, kyy: Any, kxy: Any, bound: float = 1.0) -> Moments:
    """Return the moments of a pair as tensors that can be differentiated, from its Gram matrices.

    The same estimates as of units of one row each (`nammd.statistics.atoms`), whose numbers are floats;
    everything that follows from them, such as the variance, is computed by `Moments` itself. Sums are taken
    in float64.
    """
    torch = torch_module()
    m, n = kxy.shape
    rows, columns = kxy.sum(1, dtype=torch.float64) / n, kxy.sum(0, dtype=torch.float64) / m
    xy = rows.mean()
    q_x, q_y = rows - xy, columns - xy
    crossed = _squares(kxy) - m * n * xy**2 - n * (q_x @ q_x) - m * (q_y @ q_y)
    across = 4 * crossed / (m * n * (m - 1) * (n - 1))

    def side(gram: Any, q: Any) -> Components:
        diagonal, n = torch.diagonal(gram).double(), len(gram)
        means = (gram.sum(1, dtype=torch.float64) - diagonal) / (n - 1)
        mean = means.mean()
        p = means - mean
        left = (
            _squares(gram)
            - diagonal @ diagonal
            - n * (n - 1) * mean**2
            - 2 * (n - 1) ** 2 / (n - 2) * (p @ p)
        )
        found = Jackknife(
            4 * (n - 1) / (n * (n - 2) ** 2) * (p @ p), (q @ q) / (n * (n - 1)), 2 * (p @ q) / (n * (n - 2))
        )
        return Components.of(n, mean, found, (2 * left / (n**2 * (n - 1) * (n - 3)), across))

    return Moments.of(side(kxx, q_x), side(kyy, q_y), xy, across, bound)


def studentized(moments: Moments, epsilon: float = 0.0) -> Any:
    """Return (NAMMD - epsilon) / sigma; the module's text explains it."""
    torch = torch_module()
    a, m, n = 1 + epsilon, moments.x.size, moments.y.size
    variance, _ = combined(moments.linear_variance(a), moments.variance(a))
    scaled = variance * (2 * m * n / (m + n)) + FLOOR * moments.bound**2
    return (moments.mmd2 - epsilon * moments.denominator) / torch.sqrt(torch.as_tensor(scaled))


def beyond(
    kxx: Any, far: tuple[Any, Any], accepted: Sequence[tuple[Any, Any]], share: float, bound: float = 1.0
) -> tuple[Any, Moments]:
    """Return how far the far data are beyond the accepted ones, of several the least; and their moments.

    A dataset is its Gram matrix and the one of x and it. The criterion is that of
    `nammd.selecting.closeness`, by the standard deviation of one row's share, as `studentized` is.
    """
    torch = torch_module()
    moments, seen = moments_of_grams(kxx, *far, bound), _mean_similarities(far[1])
    values = []
    for each in accepted:
        together = seen @ _mean_similarities(each[1]) / (len(seen) - 1)
        excess = Excess(moments_of_grams(kxx, *each, bound), moments, together)
        scaled = excess.variance() * excess.size() + FLOOR
        values.append(excess.beyond(share) / torch.sqrt(torch.as_tensor(scaled)))
    return torch.stack(values).min(), moments


def _mean_similarities(kxy: Any) -> Any:
    """Return the centred row means."""
    rows = kxy.mean(1, dtype=torch_module().float64)
    return rows - rows.mean()


def _squares(gram: Any) -> Any:
    return (gram * gram).sum(dtype=torch_module().float64)
