"""Closeness in Wasserstein distance over a finite support, by exact optimal transport (POT)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.datasets.discrete import DiscretePair
from nammd.errors.checks import positive
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

Distance: TypeAlias = Callable[[FloatArray, FloatArray], float]


def wasserstein_test(
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
    """Test whether two distributions over finitely many points are farther apart in Wasserstein distance.

    The null hypothesis is that the Wasserstein distance of P and Q - the least mean Euclidean distance
    over which probability must be moved to turn one into the other - is at most epsilon.

    Parameters
    ----------
    x, y : array or table
        The samples, at least two rows each; each row is equal to a point of the support.
    epsilon : float, optional
        The margin, in the units of the data.
    support : array of shape (k, d) or int, optional
        The points, or their number where they are 0, 1, ..., k - 1. By default all rows that occur.
    boundary : DiscretePair, optional
        Instead of epsilon: two distributions over the support. Their Wasserstein distance is the margin,
        and the threshold is computed from samples of them; the paper gives ``discrete_pair(support, tv)``.
        By default P is uniform, and Q has taken from one half of the points and given to the other, as
        much as epsilon asks; the halves lie on two sides along the direction in which the points vary
        most. The level is exact for this pair only.
    alpha : float
        The level.
    resamples : int
        How many times the statistic is drawn at the boundary. Each solves an optimal transport problem:
        a fifth of a millisecond for 50 points, and somewhat more than k² for more.
    rng : int, numpy.random.Generator or None
        Generator.

    Returns
    -------
    ResampledResult

    Raises
    ------
    ImportError
        If POT is not installed.

    See Also
    --------
    nammd.closeness_test : for data of any kind, with a margin on NAMMD or MMD².

    References
    ----------
    .. [1] Flamary et al. (2021). POT: Python optimal transport. Journal of Machine Learning Research.
    .. [2] The NAMMD paper, appendix "Comparisons on NAMMD and Wasserstein on Discrete Distributions".

    Examples
    --------
    >>> import numpy as np
    >>> from nammd.methods.wasserstein import wasserstein_test
    >>> from nammd.datasets import discrete_pair
    >>> points = np.random.default_rng(0).normal(size=(30, 2))
    >>> accepted, today = discrete_pair(points, 0.05, rng=0), discrete_pair(points, 0.4, rng=0)
    >>> x, y = today.sample(400, rng=1)
    >>> result = wasserstein_test(x, y, support=points, boundary=accepted, resamples=99, rng=0)
    >>> result.rejected, result.pvalue
    (True, 0.01)
    """
    solver = _solver()
    alpha, resamples = check_settings(alpha, resamples)
    require_one_margin(epsilon, boundary)
    if epsilon is not None:
        epsilon = positive(epsilon, "epsilon")
    located = locate(x, y, support, min_rows=2)
    points = len(located.support)
    cost = _euclidean(located.support)

    def distance(p: FloatArray, q: FloatArray) -> float:
        return float(solver(p, q, cost))

    def statistics(of_x: Counts, of_y: Counts) -> FloatArray:
        pairs = zip(_frequencies(of_x), _frequencies(of_y), strict=True)
        return np.array([distance(p, q) for p, q in pairs])

    if boundary is None:
        assert epsilon is not None
        boundary = _pair_at(epsilon, located.support, distance)
    else:
        boundary = check_boundary(boundary, located.support)
        epsilon = distance(boundary.p, boundary.q)
    return resampled_test(
        "wasserstein",
        located,
        boundary,
        epsilon,
        statistics,
        ((counts(located.x, points),), (counts(located.y, points),)),
        alpha=alpha,
        resamples=resamples,
        rng=np.random.default_rng(rng),
        cautions=support_from_data(support),
    )


def _pair_at(epsilon: float, support: FloatArray, distance: Distance) -> DiscretePair:
    """Return the uniform distribution and another at Wasserstein distance epsilon from it.

    The distance is a norm of the difference q - p (Kantorovich and Rubinstein), so it grows in
    proportion to the probability that is moved.
    """
    k = len(support)
    uniform, moved = np.full(k, 1 / k), np.zeros(k)
    axis = np.linalg.svd(support - support.mean(axis=0), full_matrices=False)[2][0]
    farther = np.argsort(support @ axis, kind="stable")[k // 2 :]
    moved[farther] = 1 / len(farther)
    largest = distance(uniform, moved)
    if epsilon > largest:
        raise ValueError(
            f"epsilon must be at most {largest:.4g}, not {epsilon:g}: moving all probability from one half "
            "of the points to the other is no farther; give a boundary pair of your own"
        )
    return DiscretePair(support, uniform, uniform + (epsilon / largest) * (moved - uniform))


def _frequencies(table: Counts) -> FloatArray:
    frequencies: FloatArray = table / table.sum(axis=1, keepdims=True)
    return frequencies


def _euclidean(points: FloatArray) -> FloatArray:
    from scipy.spatial.distance import cdist

    distances: FloatArray = cdist(points, points)
    return distances


def _solver() -> Any:
    try:
        return import_module("ot").emd2
    except ImportError:
        raise ImportError(
            "wasserstein_test solves optimal transport with POT, which is not installed: "
            'pip install "nammd[baselines]"'
        ) from None
