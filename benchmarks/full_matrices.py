"""The sums of `nammd.KernelSums` from whole Gram matrices, as one would write them.

Squared norms plus a product, an exponential, then sums. What costs nothing to write well is written
well: one scaling, no clamp, the diagonal removed in place, sums along an axis by the library.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import nammd
from benchmarks.samples import Sample, normal_samples, typical_bandwidth


def numpy_sums(x: Sample, y: Sample, bandwidth: float) -> dict[str, Any]:
    def gram(a: Sample, b: Sample) -> Sample:
        squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1)[None, :] - 2.0 * (a @ b.T)
        values: Sample = np.exp(squares * (-0.5 / bandwidth**2))
        return values

    xx, yy, xy = gram(x, x), gram(y, y), gram(x, y)
    np.fill_diagonal(xx, 0.0)
    np.fill_diagonal(yy, 0.0)
    return {
        "xx_rows": xx.sum(axis=1),
        "yy_rows": yy.sum(axis=1),
        "xy_rows": xy.sum(axis=1),
        "xy_cols": xy.sum(axis=0),
        "xx_squares": (xx**2).sum(),
        "yy_squares": (yy**2).sum(),
        "xy_squares": (xy**2).sum(),
        "xy_diagonal": np.trace(xy),
    }


def torch_sums(x: Any, y: Any, bandwidth: float) -> dict[str, Any]:
    import torch

    def gram(a: Any, b: Any) -> Any:
        squares = (a * a).sum(dim=1)[:, None] + (b * b).sum(dim=1)[None, :] - 2.0 * (a @ b.T)
        return torch.exp(squares * (-0.5 / bandwidth**2))

    xx, yy, xy = gram(x, x), gram(y, y), gram(x, y)
    xx.fill_diagonal_(0.0)
    yy.fill_diagonal_(0.0)
    return {
        "xx_rows": xx.sum(dim=1),
        "yy_rows": yy.sum(dim=1),
        "xy_rows": xy.sum(dim=1),
        "xy_cols": xy.sum(dim=0),
        "xx_squares": (xx**2).sum(),
        "yy_squares": (yy**2).sum(),
        "xy_squares": (xy**2).sum(),
        "xy_diagonal": torch.trace(xy),
    }


def check_agreement(with_torch: bool) -> None:
    """Refuse to compare the speed of things that compute different numbers."""
    x, y = normal_samples(300, 8)
    bandwidth = typical_bandwidth(8)
    ours = nammd.kernel_sums(x, y, nammd.Gaussian(bandwidth))
    versions = [numpy_sums(x, y, bandwidth)]
    if with_torch:
        import torch

        versions.append(torch_sums(torch.from_numpy(x), torch.from_numpy(y), bandwidth))
    for theirs in versions:
        for name, value in theirs.items():
            np.testing.assert_allclose(np.asarray(value), getattr(ours, name), rtol=1e-4, err_msg=name)
