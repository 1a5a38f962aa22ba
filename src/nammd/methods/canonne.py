"""Closeness in total variation over a finite support: the test of Canonne, Jain, Kamath and Li."""

from __future__ import annotations

from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.datasets.discrete import DiscretePair, discrete_pair
from nammd.errors.checks import between
from nammd.methods.resampling import (
    Counts,
    ResampledResult,
    check_boundary,
    check_settings,
    counts,
    locate,
    require_one_margin,
    resampled_test,
    support_from_data,
)


def canonne_statistic(x: Counts, x_other: Counts, y: Counts, y_other: Counts) -> FloatArray:
    """Return ``sum_i ((X_i - Y_i)^2 - X_i - Y_i) / max(|X'_i - Y'_i|, X'_i + Y'_i, 1)``, a value per row.

    ``|a - b| <= a + b`` for counts, so the first term of the maximum never decides. The second halves
    only say which points are frequent; being independent of the first, they do not bias the sum.
    """
    scale = np.maximum(x_other + y_other, 1)
    values: FloatArray = (((x - y) ** 2 - x - y) / scale).sum(axis=1)
    return values


def canonne_test(
    x: Any,
    y: Any,
    epsilon: float | None = None,
    *,
    support: Any = None,
    boundary: DiscretePair | None = None,
    alpha: float = 0.05,
    resamples: int = 999,
    rng: Any = None,
) -> ResampledResult:
    """Test whether two distributions over finitely many points are farther apart in total variation.

    The null hypothesis is that the total variation of P and Q is at most epsilon. Points are equal or
    not; how near they are to each other does not count.

    Parameters
    ----------
    x, y : array or table
        The samples: equally many rows, at least four, each equal to a point of the support. The rows
        must be in random order, since each sample is split into its first and its second half.
    epsilon : float, optional
        The margin, strictly between 0 and 1 - 1/k. The paper's e' is twice this; see `discrete_pair`.
    support : array of shape (k, d) or int, optional
        The points, or their number where they are 0, 1, ..., k - 1. By default all rows that occur.
    boundary : DiscretePair, optional
        Instead of epsilon: two distributions over the support. Their total variation is the margin,
        and the threshold is computed from samples of them. By default ``discrete_pair(support, epsilon)``,
        where P is uniform, as in the paper. The level is exact for this pair only.
    alpha : float
        The level.
    resamples : int
        How many times the statistic is drawn at the boundary.
    rng : int, numpy.random.Generator or None
        Generator.

    Returns
    -------
    ResampledResult

    See Also
    --------
    nammd.closeness_test : for data of any kind, with a margin on NAMMD or MMD².

    References
    ----------
    .. [1] Canonne, Jain, Kamath, Li (2022). The price of tolerance in distribution testing. COLT.
    .. [2] The NAMMD paper, appendix "Details of Experiments with Distributions over Identical Domain".

    Examples
    --------
    >>> from nammd.methods.canonne import canonne_test
    >>> from nammd.datasets import discrete_pair
    >>> x, y = discrete_pair(50, 0.3, rng=0).sample(1000, rng=1)
    >>> print(canonne_test(x, y, epsilon=0.1, support=50, rng=0))
    The two distributions are farther apart than total variation = 0.1 (p = 0.0010).
      null hypothesis  total variation <= 0.1: rejected at level 0.05
      alternative      total variation > 0.1
      statistic        154, threshold 32.76
      resamples        999
      rows             1000 and 1000
      support          50 points
    """
    alpha, resamples = check_settings(alpha, resamples)
    require_one_margin(epsilon, boundary)
    if epsilon is not None:
        epsilon = between(epsilon, "epsilon")
    located = locate(x, y, support, min_rows=4)
    m, n, points = len(located.x), len(located.y), len(located.support)
    if m != n:
        raise ValueError(
            f"x has {m} rows and y has {n}; the statistic compares counts, so both samples must be "
            "equally large"
        )
    generator = np.random.default_rng(rng)
    if boundary is None:
        assert epsilon is not None
        epsilon = between(epsilon, "epsilon", 1 - 1 / points)
        # Uniform P and equal changes: which points are raised does not matter here.
        boundary = discrete_pair(located.support, epsilon, rng=0)
    else:
        boundary = check_boundary(boundary, located.support)
    half = m // 2
    halves = tuple(
        (counts(rows[:half], points), counts(rows[half:], points)) for rows in (located.x, located.y)
    )
    return resampled_test(
        "canonne",
        located,
        boundary,
        boundary.total_variation,
        canonne_statistic,
        (halves[0], halves[1]),
        alpha=alpha,
        resamples=resamples,
        rng=generator,
        cautions=support_from_data(support),
    )
