"""Power and sample size: how many rows does it take to decide? `plan`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from nammd.data.samples import between
from nammd.questions.closeness import ClosenessResult
from nammd.questions.distance import NAMES, Estimate, distance
from nammd.results.base import Result, number
from nammd.statistics.margin import (
    KNOWN,
    Alternative,
    Blur,
    Margin,
    Pair,
    estimated_margin,
    near_zero,
    quantile,
    upper_tail,
)
from nammd.statistics.moments import combined

LARGEST_PLAN = 10**10
"""More rows than this are reported as out of reach."""


@dataclass(frozen=True)
class Plan(Result):
    """How much power so many rows have, or how many rows it takes.

    Attributes
    ----------
    m, n : int or None
        The rows of each dataset; None where no number of rows is enough.
    power : float
        The probability that the test decides, if the true distance is `distance`.
    epsilon, distance : float
        The margin, and the true distance that is planned for.
    alpha : float
        The level of the test.
    alternative : {"greater", "less"}
        What the test would show: that the distance exceeds the margin, or is below it.
    bound : int
        The rows on each side that the paper's sample-complexity theorem asks for, whatever the
        distributions. It is a guarantee, not a forecast, and usually larger by orders of magnitude.
    statistic : str
        The distance planned for.
    """

    m: int | None
    n: int | None
    power: float
    epsilon: float
    distance: float
    alpha: float
    alternative: Alternative
    bound: int
    statistic: str

    def headline(self) -> str:
        """Return the answer in one sentence."""
        what = "farther apart than" if self.alternative == "greater" else "closer than"
        if self.m is None:
            return f"No realistic number of rows would show that the datasets are {what} the margin."
        return (
            f"{self.m} and {self.n} rows show with probability {self.power:.2f} that the datasets "
            f"are {what} {number(self.epsilon)}."
        )

    def facts(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        return [
            ("margin", number(self.epsilon)),
            ("distance planned for", f"{NAMES[self.statistic]} = {number(self.distance)}"),
            ("level", f"{self.alpha:g}"),
            ("rows (asymptotic)", "out of reach" if self.m is None else f"{self.m} and {self.n}"),
            ("rows (distribution-free bound, very loose)", f"{self.bound} each"),
        ]


def plan(
    epsilon: float,
    distance: float | None = None,
    *,
    pilot: Any,
    power: float = 0.8,
    rows: int | tuple[int, int] | None = None,
    alpha: float = 0.05,
) -> Plan:
    """Tell how many rows a closeness test needs, or how much power it has with so many.

    Parameters
    ----------
    epsilon : float
        The margin to be tested.
    distance : float, optional
        The true distance to plan for; by default the one that the pilot found. Above epsilon the
        plan is for showing that the datasets are too far apart, below it for showing that they are
        close.
    pilot : Estimate, ClosenessResult, Verdict or tuple of two datasets
        Where the variability of the data is taken from: a result, or the data themselves.
    power : float
        The wanted probability of deciding, where `rows` is not given.
    rows : int or tuple of two int, optional
        The sizes to compute the power for. Without them, sizes are sought in the proportion that
        the pilot's have.
    alpha : float
        The level of the test.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> pilot = nammd.distance(rng.normal(size=(200, 2)), rng.normal(loc=0.4, size=(200, 2)))
    >>> planned = nammd.plan(epsilon=0.01, distance=0.02, pilot=pilot)
    >>> print(planned.headline())
    386 and 386 rows show with probability 0.80 that the datasets are farther apart than 0.01.
    >>> round(nammd.plan(epsilon=0.01, distance=0.02, pilot=pilot, rows=500).power, 2)
    0.88
    """
    estimate = _pilot(pilot)
    pair = estimate.pair
    epsilon = between(epsilon, "epsilon", pair.largest)
    alpha, power = between(alpha, "alpha"), between(power, "power")
    true = max(estimate.value, 0.0) if distance is None else float(distance)
    if not 0 <= true <= pair.largest or true == epsilon:
        raise ValueError(
            f"distance must be between 0 and {pair.largest:g} and differ from epsilon; it is "
            f"{true:g}. A distance equal to the margin cannot be decided by any number of rows"
        )
    alternative: Alternative = "greater" if true > epsilon else "less"
    if rows is not None:
        m, n = _sizes(rows)
        power = power_at(pair, epsilon, true, m, n, alpha)
        found: tuple[int | None, int | None] = (m, n)
    else:
        found = rows_for(pair, epsilon, true, power, alpha) or (None, None)
        if found[0] is not None and found[1] is not None:
            power = power_at(pair, epsilon, true, found[0], found[1], alpha)
    return Plan(
        m=found[0],
        n=found[1],
        power=power,
        epsilon=epsilon,
        distance=true,
        alpha=alpha,
        alternative=alternative,
        bound=_distribution_free(abs(true - epsilon) / pair.largest, power, alpha),
        statistic=pair.statistic,
    )


def power_at(pair: Pair, eps: float, true: float, m: int, n: int, alpha: float, blur: Blur = KNOWN) -> float:
    """Return the asymptotic power of the test of a margin with m and n rows."""
    sized = resized(pair, m, n)
    alternative: Alternative = "greater" if true > eps else "less"
    a, scale = pair.slope(true), pair.scale
    spread, _ = combined(
        sized.moments.linear_variance(a) + blur.linear * scale**2,
        sized.moments.variance(a) + blur.total * scale**2,
        pair.approximation(true),
    )
    test = estimated_margin(sized, eps, alternative, blur)
    if not (spread > 0 and test.usable):
        return math.nan
    critical = test.deviation + _expected_excess(sized, eps, alternative, test, blur)
    critical *= quantile(1 - alpha, test.degrees)
    return upper_tail((critical - abs(true - eps) * scale) / math.sqrt(spread))


def _expected_excess(pair: Pair, eps: float, alternative: Alternative, test: Margin, blur: Blur) -> float:
    """Return by how much the bound that the lower tail may have to clear exceeds the standard deviation.

    The test needs the bound where the share of the variance due to pairs of rows exceeds a limit. That
    share is estimated too, so around the limit the bound counts in part.
    """
    weight = min(max((test.share - 0.03) / 0.04, 0.0), 1.0) if alternative == "less" else 0.0
    if weight == 0:
        return 0.0
    a, scale = pair.slope(eps), pair.scale
    quadratic = pair.moments.variance(a) - pair.moments.linear_variance(a)
    quadratic += (blur.total - blur.linear) * scale**2
    added = max(blur.linear, 0.0) * scale**2 + pair.approximation(eps)
    bound = near_zero(pair, eps, quadratic, added)
    return weight * max(bound - test.deviation, 0.0)


def rows_for(
    pair: Pair,
    eps: float,
    true: float,
    power: float,
    alpha: float,
    blur: Blur = KNOWN,
    keep_x: bool = False,
) -> tuple[int, int] | None:
    """Return the smallest sizes with that power, or None if there are none.

    They are in the proportion of the pilot's, or, with `keep_x`, of the pilot's x and as many of y as needed.
    """
    m, n = pair.moments.x.size, pair.moments.y.size

    def sizes(rows: int) -> tuple[int, int]:
        return (m, rows) if keep_x else (round(rows * m / min(m, n)), round(rows * n / min(m, n)))

    def enough(rows: int) -> bool:
        return power_at(pair, eps, true, *sizes(rows), alpha, blur) >= power

    low, high = 3, 4
    while not enough(high):
        low, high = high, 2 * high
        if high > LARGEST_PLAN:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return sizes(high)


def resized(pair: Pair, m: int, n: int) -> Pair:
    """Return the pair as it would be with other sizes: its moments are the population's."""
    moments = pair.moments
    x, y = replace(moments.x, size=m), replace(moments.y, size=n)
    # The skewness stays: what is asked of it here does not depend on the sizes.
    cross = moments.cross if m == n else "full"
    return replace(pair, moments=replace(moments, x=x, y=y, cross=cross))


def _distribution_free(gap: float, power: float, alpha: float) -> int:
    """Return the rows of the paper's sample-complexity theorem, for a failure probability v."""
    v = 1 - power
    if gap == 0 or not 0 < v < 1:
        return LARGEST_PLAN
    wanted = (2 * quantile(1 - alpha) + math.sqrt(9 * math.log(2 / v))) ** 2 / gap**2
    return math.ceil(min(wanted, LARGEST_PLAN))


def _pilot(pilot: Any) -> Estimate:
    if isinstance(pilot, Estimate):
        return pilot
    if isinstance(pilot, ClosenessResult):
        return pilot.estimate
    if isinstance(pilot, tuple) and len(pilot) == 2:
        return distance(*pilot)
    estimate = getattr(pilot, "estimate", None)  # a Verdict
    if isinstance(estimate, Estimate):
        return estimate
    raise TypeError(
        "pilot must be a result of distance, closeness_test or a check, or a tuple of two datasets, "
        f"not {type(pilot).__name__}"
    )


def _sizes(rows: int | tuple[int, int]) -> tuple[int, int]:
    m, n = rows if isinstance(rows, tuple) else (rows, rows)
    if min(m, n) < 4:
        raise ValueError(f"at least 4 rows are needed on each side, not {min(m, n)}")
    return int(m), int(n)
