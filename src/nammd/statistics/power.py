"""How often a check decides: power and sample size, from the variability of a pilot."""

from __future__ import annotations

import math
from collections.abc import Callable

from nammd.statistics.forecast import known_rules
from nammd.statistics.margin import quantile
from nammd.statistics.pair import Pair

LARGEST_PLAN = 10**10
"""More rows than this are reported as out of reach."""


def power_at(pilot: Pair, eps: float, true: float, m: int, n: int, alpha: float) -> float:
    """Return the power of the test of a known margin, on the side of the margin where the truth is."""
    rules = known_rules(pilot, eps, m, n)
    return (rules.far if true > eps else rules.close)(true, alpha)


def rows_for(pilot: Pair, eps: float, true: float, power: float, alpha: float) -> tuple[int, int] | None:
    """Return the smallest sizes with that power, in the proportion of the pilot's, or None."""
    m, n = pilot.rows

    def sizes(rows: int) -> tuple[int, int]:
        return round(rows * m / min(m, n)), round(rows * n / min(m, n))

    rows = smallest(lambda rows: power_at(pilot, eps, true, *sizes(rows), alpha) >= power)
    return None if rows is None else sizes(rows)


def smallest(enough: Callable[[int], bool], least: int = 4) -> int | None:
    """Return the smallest number of rows that is enough, by doubling and bisection; None if there is none."""
    low, high = least - 1, least
    while not enough(high):
        low, high = high, 2 * high
        if high > LARGEST_PLAN:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def distribution_free(gap: float, power: float, alpha: float) -> int:
    """Return the rows of the paper's sample-complexity theorem, for a failure probability v."""
    v = 1 - power
    if gap == 0 or not 0 < v < 1:
        return LARGEST_PLAN
    wanted = (2 * quantile(1 - alpha) + math.sqrt(9 * math.log(2 / v))) ** 2 / gap**2
    return math.ceil(min(wanted, LARGEST_PLAN))
