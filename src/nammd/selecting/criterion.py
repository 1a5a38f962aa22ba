"""The criterion that learning maximises, as tensors that can be differentiated."""

from __future__ import annotations

from typing import Any

from nammd.kernels.networks import torch_module
from nammd.statistics.moments import Moments, combined

FLOOR = 1e-8
"""Added to the variance, in units of the squared bound, for samples in which nothing varies."""


def moments_of_grams(kxx: Any, kyy: Any, kxy: Any, bound: float = 1.0) -> Moments:
    """Return the moments of a pair as tensors that can be differentiated, from its Gram matrices.

    The same estimates as `Moments.of`, whose numbers are floats; everything that follows from them,
    such as the variance, is computed by `Moments` itself. Sums are taken in float64.
    """
    torch = torch_module()

    def within(gram: Any) -> tuple[Any, Any]:
        """Return the row sums less the diagonal, and the sum of squares less its squares."""
        diagonal = torch.diagonal(gram).double()
        return gram.sum(1, dtype=torch.float64) - diagonal, _squares(gram) - diagonal @ diagonal

    (own_x, squares_x), (own_y, squares_y) = within(kxx), within(kyy)
    rows, columns = kxy.sum(1, dtype=torch.float64), kxy.sum(0, dtype=torch.float64)
    return Moments.from_totals(
        tuple(kxy.shape),
        ((own_x.sum(), own_x @ own_x, squares_x), (own_y.sum(), own_y @ own_y, squares_y)),
        (rows.sum(), rows @ rows, columns @ columns, _squares(kxy)),
        (own_x @ rows, own_y @ columns),
        bound,
    )


def studentized(moments: Moments, epsilon: float = 0.0) -> Any:
    """Return (NAMMD - epsilon) / sigma; the module's text explains it."""
    torch = torch_module()
    a, m, n = 1 + epsilon, moments.x.size, moments.y.size
    variance, _ = combined(moments.linear_variance(a), moments.variance(a))
    scaled = variance * (2 * m * n / (m + n)) + FLOOR * moments.bound**2
    return (moments.mmd2 - epsilon * moments.denominator) / torch.sqrt(torch.as_tensor(scaled))


def _squares(gram: Any) -> Any:
    return (gram * gram).sum(dtype=torch_module().float64)
