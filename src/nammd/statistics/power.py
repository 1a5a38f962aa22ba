"""Power and sample size of the tests of a margin, from the moments of a pilot."""

from __future__ import annotations

import math
from dataclasses import replace

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


def distribution_free(gap: float, power: float, alpha: float) -> int:
    """Return the rows of the paper's sample-complexity theorem, for a failure probability v."""
    v = 1 - power
    if gap == 0 or not 0 < v < 1:
        return LARGEST_PLAN
    wanted = (2 * quantile(1 - alpha) + math.sqrt(9 * math.log(2 / v))) ** 2 / gap**2
    return math.ceil(min(wanted, LARGEST_PLAN))
