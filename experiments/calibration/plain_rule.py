"""The rules before these: the plain variance of a difference, and a normal law near zero.

They stand here to be seen beside the present ones. "Beyond" is the difference over its standard error;
"within" also had to clear a normal law at the margin with the largest variance that the covariance operators
allow.
"""

from __future__ import annotations

import math

from nammd.statistics.difference import ROUNDING, Difference
from nammd.statistics.margin import SWITCH, margin, near_zero, upper_tail
from nammd.statistics.moments import combined
from nammd.statistics.pair import Pair


def plain_pvalues(rule: Difference) -> tuple[float, float]:
    """Return the p-values of "the second is closer" and of "the second is farther"."""
    linear, total = rule.variance_parts
    variance, share = combined(linear, total)
    if not rule.usable or not variance > 0:
        return math.nan, math.nan
    closer, farther = (upper_tail(sign * rule.value / math.sqrt(variance)) for sign in (-1, 1))
    if share > SWITCH:
        closer = max(closer, upper_tail(-rule.value / math.sqrt(_bound(rule, total - linear))))
    return closer, farther


def plain_closeness(pair: Pair, eps: float) -> float:
    """Return the p-value of "closer than a known margin", near zero by a normal law of equal variance."""
    test = margin(pair, eps, "corrected", "less")
    if not test.usable:
        return math.nan
    pvalue = upper_tail(-test.z)
    if test.share > SWITCH:
        moments, slope = pair.moments, pair.slope(eps)
        quadratic = moments.variance(slope) - moments.linear_variance(slope)
        law = near_zero(pair, eps, quadratic)
        variance = 4 * law.centre * law.along + max(quadratic, 0.0)
        pvalue = max(pvalue, upper_tail(-test.u / math.sqrt(variance)))
    return pvalue


def _bound(rule: Difference, quadratic: float) -> float:
    """Return the variance of the difference, the second pair at the margin and in the worst direction."""
    second, eps = rule.second, max(rule.first.value, 0.0)
    variance = max(quadratic, 0.0) + max(rule.variance_parts[0] - second.variance_parts[0], 0.0)
    for side, value in zip((second.moments.x, second.moments.y), second.eigenvalues, strict=True):
        spread = math.sqrt(value * eps * second.scale) + eps * math.sqrt(max(side.v1, 0.0))
        variance += 4 * spread**2 / side.size / second.scale**2
    return max(variance, ROUNDING**2)
