"""Tests of a margin, as functions of the moments of a pair and of nothing else.

Every function here takes a `Pair` and a margin eps and returns numbers; no data, no engine.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from nammd.statistics.elementwise import choose, direction, larger, root, smaller, some
from nammd.statistics.moments import combined
from nammd.statistics.near_zero import NearZero, Noise, all_alike, lower_tails, noise_at
from nammd.statistics.pair import Alternative, Pair
from nammd.statistics.side import along
from nammd.statistics.solving import root_between

Variance = Literal["corrected", "delta", "paper"]

NEAR_DEGENERATE = 0.3
"""Share of the variance due to pairs of rows above which a margin is too small to resolve."""

SWITCH = 0.05
"""Share from which the lower tail is not normal any more and the law of `near_zero` is needed."""

BOLD_DEGREES = 4.0
"""With so few degrees of freedom of groups, skewness never makes a test bolder; with more it does in part."""

CARRIERS = (2.0, 8.0)
"""A skewness that two rows carry makes no test of "farther" bolder, one that eight carry does so in full."""

NOTHING = 1e-9
"""A smaller share of the variance is none."""

_REACH = 1e60
_normal = NormalDist()


def quantile(probability: float, degrees: float = math.inf) -> float:
    """Return the quantile of the standard normal law, or of Student's with some degrees of freedom."""
    if math.isinf(degrees):
        return _normal.inv_cdf(probability)
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def upper_tail(z: float, degrees: float = math.inf) -> float:
    """Return the probability that a standard normal variable, or Student's, exceeds z."""
    if isinstance(z, np.ndarray):
        return lower_tails(-z, degrees)
    if not math.isinf(degrees):
        from scipy.special import stdtr

        return float(stdtr(degrees, -z))
    return 0.5 * math.erfc(z / math.sqrt(2))  # keeps its digits far out, where 1 - cdf does not


def within_reach(t: float) -> float:
    """Return a score of which the cube is a number; one beyond leaves no doubt in any case."""
    return larger(-_REACH, smaller(_REACH, t))


@dataclass(frozen=True)
class Margin:
    """The ingredients of a test of one margin.

    Attributes
    ----------
    u : float
        ``MMD2 - eps D``: above zero where the estimate exceeds the margin.
    deviation : float
        The standard deviation of u that the test divides by; NaN or zero where there is none.
    share : float
        The share of that variance due to pairs of rows (r).
    linear_term, constant_term : float
        The coefficients p1 and q1 of Hall's transformation; zero where it is not used.
    law : NearZero or None
        For the lower tail near zero: the law of MMD2 at the margin.
    scale : float
        What turns u into the statistic's own unit.
    degrees : float
        The degrees of freedom of the deviation: infinite, unless random frequencies have a part in it.
    unseen : float
        No proof is stronger: the chance that a sample has only equal rows while the distance is the margin.
    """

    u: float
    deviation: float
    share: float
    linear_term: float
    constant_term: float
    law: NearZero | None
    scale: float
    degrees: float = math.inf
    unseen: float = 0.0

    @property
    def z(self) -> float:
        """The normal score of u: z = T + p1 T^2 + p1^2 T^3 / 3 + q1 with T = u / deviation."""
        t, p1 = within_reach(self.u / self.deviation), self.linear_term  # of many pairs, NaN where unusable
        return t + p1 * t * t + p1 * p1 * t**3 / 3 + self.constant_term

    @property
    def usable(self) -> bool:
        """Whether there is a variance to divide by."""
        return self.deviation > 0

    def pvalue(self, alternative: Alternative) -> float:
        """Return the p-value; NaN where the variance estimate leaves nothing to divide by."""
        if not some(self.usable):
            return choose(self.usable, 0.0, math.nan)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            score = self.z if alternative == "greater" else -self.z
            pvalue = larger(upper_tail(score, self.degrees), self.unseen)
            if self.law is not None and alternative == "less":
                near = self.law.below(self.u + self.law.centre)
                pvalue = choose(self.law.counts, larger(pvalue, near), pvalue)
        return choose(self.usable, pvalue, math.nan)

    def threshold(self, eps: float, alpha: float, alternative: Alternative) -> float:
        """Return the value of the statistic at which the test starts to reject."""
        if not self.usable:
            return math.nan
        z = quantile(1 - alpha, self.degrees)
        if self.unseen > alpha:  # no estimate would do
            return math.inf if alternative == "greater" else -math.inf
        if alternative == "greater":
            return eps + self._inverse(z) * self.deviation / self.scale
        t = self._inverse(-z) * self.deviation
        if self.law is not None:
            t = min(t, self.law.quantile(alpha) - self.law.centre)
        return eps + t / self.scale

    def _inverse(self, z: float) -> float:
        """Solve the transformation for T; it is a shifted cube, so it has one real root."""
        p1, rest = self.linear_term, z - self.constant_term
        if abs(p1) < 1e-9:
            return rest
        return (math.cbrt(1 + 3 * p1 * rest) - 1) / p1


def margin(
    pair: Pair,
    eps: float,
    variance: Variance,
    alternative: Alternative,
    blur: float = 0.0,
    switch: float = SWITCH,
) -> Margin:
    """Prepare the test of a margin by one of the three variances; of many pairs, those of all at once.

    `blur` is what the uncertainty of the margin adds to the variance of "estimate minus margin", in the
    statistic's own unit squared: its own variance, less twice its covariance with the estimate. `switch` is
    the share of the variance due to pairs of rows from which on the law near zero counts.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        return _margin(pair, eps, variance, alternative, blur, switch)


def _margin(
    pair: Pair, eps: float, variance: Variance, alternative: Alternative, blur: float, switch: float
) -> Margin:
    a = 1.0 if variance == "paper" else pair.slope(eps)
    moments, scale = pair.moments, pair.scale
    u = moments.mmd2 - eps * scale
    blurred = blur * scale**2
    total, linear = moments.variance(a) + blurred, moments.linear_variance(a) + blurred
    extra = pair.approximation(eps)
    safe, share = combined(linear, total, extra)
    if some(nothing := pair.constant | pair.void):
        safe, total = choose(nothing, 0.0, safe), choose(nothing, 0.0, total)
    if variance != "corrected":
        deviation = choose(total > 0, root(larger(total, 0.0) + extra), math.nan)
        degrees = pair.degrees_of_freedom(extra, total + extra, a)
        return Margin(u, deviation, share, 0.0, 0.0, None, scale, degrees)
    if not some(safe > 0):
        return Margin(u, choose(safe > 0, 0.0, 0.0), share, 0.0, 0.0, None, scale)
    # Hall's correction. For the upper tail it is shrunk where pairs of rows dominate, since its
    # expansion is around the linear part; for the lower tail the law near zero takes over instead.
    shrink = 1.0 - share if alternative == "greater" else 1.0
    cubic = quadratic = 0.0
    if some(shrink > 0):  # where nothing would be left of it, it is too dear to be asked for
        cubic, quadratic = (shrink * part for part in pair.cubic_and_quadratic(eps, alternative))
    bolder = (2 * cubic + 3 * quadratic > 0) == (alternative == "greater")
    if some(bolder):
        # Where it would make the test bolder it has to be known: not from the few groups that matter most.
        known = larger(1.0 - BOLD_DEGREES / moments.degrees(a), 0.0)
        if alternative == "greater":
            for number, side in enumerate((pair.x, pair.y)):
                # A side that adds nothing has no skewness but that of rounding.
                adds = 4 * along(side.second(), direction(a)) > NOTHING * safe * side.size
                carried = well_carried(side.size, pair.skewness(number, eps))
                known = smaller(known, choose(adds, carried, 1.0))
        known = choose(bolder, known, 1.0)
        cubic, quadratic = known * cubic, known * quadratic
    cubic = cubic + pair.approximation_cubic(eps)
    if alternative == "greater":
        safe = choose(safe > 0, safe + moments.unmet(a), 0.0)
    deviation = root(safe)
    unit = 6 * deviation**3
    usable = unit > 0  # else kernel values are so small that their cubes are no numbers: as good as nothing
    if not some(usable):
        return Margin(u, choose(safe > 0, 0.0, 0.0), share, 0.0, 0.0, None, scale)
    law = None
    if alternative == "less":
        # Without a direction in sight the share is not known either; a margin's own error covers that.
        near = (share > switch) | choose(pair.visible | (blurred > 0), False, True)
        if some(near):
            law = near_zero(pair, eps, total - linear, larger(blurred, 0.0) + extra)
            law = law._replace(counts=near)
    return Margin(
        u,
        choose(usable, deviation, 0.0),
        share,
        (2 * cubic + 3 * quadratic) / unit,
        (cubic + 3 * quadratic) / unit,
        law,
        scale,
        pair.degrees_of_freedom(extra, safe, a),
        _unseen(pair, eps),
    )


def well_carried(size: float, skewness: float) -> float:
    """Return how far a skewness is known, from 0 to 1, by how many rows it is from.

    A value that a share s of the rows has makes a skewness of about ``1 / sqrt(s)``, so that about ``size /
    skewness²`` rows carry it. A sample that has one such row, of five that its law would have, is farther
    from the other one, varies less, and is less skewed, than it should be.

    >>> [well_carried(100, skewness) for skewness in (0.0, 2.0, 5.0, 10.0)]
    [1.0, 1.0, 0.3333333333333333, 0.0]
    """
    few, enough = CARRIERS
    carriers = size / larger(skewness * skewness, size / enough)  # no more than enough
    return smaller(larger((carriers - few) / (enough - few), 0.0), 1.0)


def _unseen(pair: Pair, eps: float) -> float:
    """Bound the chance that a sample has only equal rows while the distance is eps."""
    moments, found = pair.moments, 0.0
    for side, alike in zip((moments.x, moments.y), pair.alike, strict=True):
        if some(alike):
            outward = root(larger(eps * pair.scale, 0.0)) - root(larger(moments.mmd2, 0.0))
            found = larger(found, choose(alike, all_alike(side.size, outward, moments.bound), 0.0))
    return found


def near_zero(pair: Pair, eps: float, quadratic: float, added: float = 0.0) -> NearZero:
    """Return the law of MMD2 at the margin, as far as the covariance operators allow it to vary.

    A row's influence is ``(mu_P - mu_Q)(x) + (a - 1) mu_P(x)``. Over x, the first term varies by at
    most sqrt(lambda) |mu_P - mu_Q|, lambda the largest eigenvalue of the covariance operator, and at
    the margin that norm is known: MMD2 = eps D. How much it varies is brought there too. `quadratic` is the
    variance due to pairs of rows, and `added` what a margin's own error and random frequencies add.
    """
    centre, a, samples = larger(eps * pair.scale, sys.float_info.min), pair.slope(eps), []
    for number, side in enumerate((pair.moments.x, pair.moments.y)):
        top = root(pair.eigenvalues[number])
        spread = top + (a - 1.0) * root(larger(side.v1, 0.0) / centre)
        sample = Noise(spread**2, side.size, pair.skewness(number, eps))
        seen = choose(pair.visible, sample.skewness, sample.unsigned(known=True).skewness)
        samples.append(sample._replace(skewness=seen))
    along = noise_at(samples, root(centre) - root(larger(pair.moments.mmd2, 0.0)))
    rest = larger(quadratic - 2 * along**2, 0.0) + added
    degrees = pair.degrees_of_freedom(pair.approximation(eps), rest, a)
    return NearZero(centre, along, rest, degrees)


def confidence_interval(pair: Pair, level: float) -> tuple[float, float]:
    """Return the margins that neither one-sided test rejects at half of 1 - level.

    The lower end inverts the test of "farther than eps", the upper end the test of "closer".
    """
    alpha = (1 - level) / 2
    start = min(max(pair.value, 0.0), pair.largest)

    def doubt(alternative: Alternative) -> Callable[[float], float]:
        def of(eps: float) -> float:
            return doubt_at(margin(pair, eps, "corrected", alternative).pvalue(alternative), alpha)

        return of

    lower = boundary(doubt("greater"), start, 0.0, pair.deviation / 2)
    return lower, boundary(doubt("less"), start, pair.largest, pair.deviation / 2)


def doubt_at(pvalue: float, alpha: float) -> float:
    """Return a number above zero where a p-value does not reject; NaN rejects nothing."""
    return 1.0 if math.isnan(pvalue) else math.log(max(pvalue, sys.float_info.min) / alpha)


def boundary(doubt: Callable[[float], float], start: float, end: float, step: float) -> float:
    """Return where, going from `start` to `end`, a doubt first falls to zero or below; `end` if nowhere.

    It walks in growing steps, of which the first is about `step`, and then narrows the last one down.
    """
    if start == end:
        return end
    least = abs(end - start) / 2**20
    if not math.isfinite(least):  # no estimate, so no boundary either
        return math.nan
    step = math.copysign(step if least < step < math.inf else least, end - start)
    near, here = start, doubt(start)
    while True:
        far = near + step
        if (far - end) * (end - start) >= 0:
            far = end
        there = doubt(far)
        if not there > 0:
            break
        if far == end:
            return end
        near, here, step = far, there, step * 1.5
    if not here > 0:
        return near
    # It keeps a bracket, which is needed: the test may jump, since the lower tail switches formulas.
    return root_between(doubt, (near, here), (far, there))
