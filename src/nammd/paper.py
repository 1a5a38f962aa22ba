"""The estimator and the tests of the paper as published, for comparison.

They differ from those of `nammd` in two places. Pairs of the same row number are left out of the mean across
the samples, which need equal sizes then. And the variance treats the estimated denominator as known, so that
the test rejects true null hypotheses too often.
"""

from __future__ import annotations

from typing import Any

from nammd.data.row_grouping import RowGrouping
from nammd.engines import Engine
from nammd.errors.checks import choice
from nammd.questions.closeness import ClosenessResult, closeness_of, require_margin
from nammd.questions.distance import Estimate, estimate_distance
from nammd.spaces import SpaceLike
from nammd.statistics.margin import Variance
from nammd.statistics.moments import CrossPairs
from nammd.statistics.pair import Alternative, Statistic

__all__ = ["closeness_test", "distance"]


def distance(
    x: Any,
    y: Any,
    *,
    kernel: Any = None,
    space: SpaceLike | None = None,
    metric: Statistic = "nammd",
    cross: CrossPairs = "off-diagonal",
    groups: Any = None,
    sample_weight: Any = None,
    exact: bool = False,
    engine: Engine | None = None,
) -> Estimate:
    """Estimate how far apart two datasets are, by the paper's form of the estimator.

    It is also the one to use where row i of y is derived from row i of x: a perturbed copy, say. The standard
    error still treats the two datasets as independent, which errs on the safe side for positively related
    rows.

    Parameters
    ----------
    x, y : dataset
        Two datasets with as many rows; see `nammd.distance`.
    kernel, space, metric, groups, sample_weight, exact, engine : optional
        As for `nammd.distance`.
    cross : {"off-diagonal", "full"}
        Which pairs of a row of x and a row of y to average over: ``"off-diagonal"`` leaves out those of the
        same row number, as the paper does; ``"full"`` takes all, as `nammd.distance` does.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> copies = x + 0.01
    >>> nammd.distance(x, copies).value < 0 < nammd.paper.distance(x, copies).value
    True
    """
    return estimate_distance(
        {"x": x, "y": y},
        metric=metric,
        cross=cross,
        grouping=RowGrouping(groups, sample_weight),
        kernel=kernel,
        space=space,
        exact=exact,
        engine=engine,
    )


def closeness_test(
    x: Any,
    y: Any,
    epsilon: float,
    *,
    alternative: Alternative = "greater",
    kernel: Any = None,
    space: SpaceLike | None = None,
    metric: Statistic = "nammd",
    alpha: float = 0.05,
    variance: Variance = "paper",
    cross: CrossPairs = "off-diagonal",
    groups: Any = None,
    sample_weight: Any = None,
    exact: bool = False,
    engine: Engine | None = None,
) -> ClosenessResult:
    """Test whether two datasets are farther apart than a margin, as the paper does.

    Its type-I error can reach several times alpha; use `nammd.closeness_test` for answers.

    Parameters
    ----------
    x, y : dataset
        The datasets; see `nammd.distance`. At least four rows each, and as many of both unless
        ``cross="full"``.
    epsilon : float
        The margin.
    alternative : {"greater", "less"}
        What is to be shown; the paper has ``"greater"`` alone.
    kernel, space, metric, alpha, groups, sample_weight, exact, engine : optional
        As for `nammd.closeness_test`.
    variance : {"paper", "delta", "corrected"}
        How the null distribution is approximated. ``"paper"`` treats the estimated denominator as known, as
        the paper's equations do. ``"delta"`` accounts for the denominator. ``"corrected"`` also accounts for
        skewness, and is the test of `nammd.closeness_test`.
    cross : {"off-diagonal", "full"}
        Which pairs of a row of x and a row of y to average over; see `distance`.

    Returns
    -------
    ClosenessResult

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(200, 2)), rng.normal(loc=2.0, size=(200, 2))
    >>> print(f"{nammd.paper.closeness_test(x, y, epsilon=0.2).pvalue:.3f}")
    0.002
    >>> print(f"{nammd.closeness_test(x, y, epsilon=0.2, alternative='greater').pvalue:.3f}")
    0.003
    """
    choice(variance, "variance", ("corrected", "delta", "paper"))
    alpha = require_margin(epsilon, alternative, metric, alpha)
    estimate = distance(
        x,
        y,
        kernel=kernel,
        space=space,
        metric=metric,
        cross=cross,
        groups=groups,
        sample_weight=sample_weight,
        exact=exact,
        engine=engine,
    )
    return closeness_of(estimate, epsilon, alternative, alpha, variance)
