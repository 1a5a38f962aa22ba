"""The rule that compared estimated distances before: the plain variance of the difference.

It stands here to be seen beside the present one. "Beyond" is the difference over its standard error; "within" also
had to clear a normal law at the margin with the largest variance that the covariance operators allow.
"""

from __future__ import annotations

import math

from nammd.statistics.difference import Difference
from nammd.statistics.margin import SWITCH, upper_tail
from nammd.statistics.moments import combined


def plain_pvalues(rule: Difference) -> tuple[float, float]:
    """Return the p-values of "the second is closer" and of "the second is farther"."""
    linear, total = rule.variance_parts
    variance, share = combined(linear, total)
    if not variance > 0:
        return math.nan, math.nan
    closer, farther = (upper_tail(sign * rule.value / math.sqrt(variance)) for sign in (-1, 1))
    if share > SWITCH:
        closer = max(closer, upper_tail(-rule.value / math.sqrt(_bound(rule, total - linear))))
    return closer, farther


def _bound(rule: Difference, quadratic: float) -> float:
    """Return the variance of the difference with the second pair at the margin, and in the worst direction."""
    second, eps = rule.second, max(rule.first.value, 0.0)
    variance = max(quadratic, 0.0) + max(rule.variance_parts[0] - second.variance_parts[0], 0.0)
    for side, value in zip((second.moments.x, second.moments.y), second.operators.eigenvalues, strict=True):
        spread = math.sqrt(value * eps * second.scale) + eps * math.sqrt(max(side.v1, 0.0))
        variance += 4 * spread**2 / side.size / second.scale**2
    return variance
