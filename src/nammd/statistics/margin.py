"""Tests of a margin, as functions of the moments of a pair and of nothing else.

Every function here takes a `Pair` and a margin eps and returns numbers; no data, no engine. The two
statistics differ in one line: for NAMMD, ``U = MMD2 - eps D`` and ``a = 1 + eps``; for MMD2,
``U = MMD2 - eps`` and ``a = 1``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal

from nammd.statistics.evidence import Measured
from nammd.statistics.moments import Moments, combined
from nammd.statistics.near_zero import VISIBLE, NearZero, Noise, all_alike, noise_at
from nammd.statistics.skewness import HigherOrder
from nammd.statistics.spread import Spread

Statistic = Literal["nammd", "mmd2"]
Alternative = Literal["greater", "less"]
Variance = Literal["corrected", "delta", "paper"]

NEAR_DEGENERATE = 0.3
"""Share of the variance due to pairs of rows above which a margin is too small to resolve."""

SWITCH = 0.05
"""Share from which the lower tail is not normal any more and the law of `near_zero` is needed."""

FEW_DEGREES = 4.0
"""With so few degrees of freedom of groups, skewness never makes a test bolder; with more it does in part."""

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
    if not math.isinf(degrees):
        from scipy.special import stdtr

        return float(stdtr(degrees, -z))
    return 0.5 * math.erfc(z / math.sqrt(2))  # keeps its digits far out, where 1 - cdf does not


def within_reach(t: float) -> float:
    """Return a score of which the cube is a number; one beyond leaves no doubt in any case."""
    return max(-_REACH, min(_REACH, t))


@dataclass(frozen=True)
class Pair:
    """What is known of a pair of samples, read as one of the two statistics.

    Attributes
    ----------
    moments, skewness
        The moments of the pair.
    statistic : {"nammd", "mmd2"}
        Which statistic.
    alike : tuple of two bool
        Whether all rows of x are equal, and all rows of y. If both, there is no variance, though rounding
        may leave a trace of one.
    spread : Spread or None
        Where the kernel is approximated by random frequencies and the exact one is meant: how the
        approximation varies.
    void : bool
        Whether there is nothing to test with, whatever the numbers: the same rows twice, say.
    """

    moments: Moments
    skewness: HigherOrder = field(repr=False)
    statistic: Statistic
    alike: tuple[bool, bool] = (False, False)
    spread: Spread | None = None
    void: bool = False

    @classmethod
    def of(cls, evidence: Measured, statistic: Statistic) -> Pair:
        """Read evidence as one of the two statistics."""
        void = evidence.obstacle is not None
        return cls(evidence.moments, evidence.higher_order, statistic, evidence.alike, evidence.spread, void)

    @property
    def constant(self) -> bool:
        """Whether each sample is one row repeated."""
        return all(self.alike)

    @property
    def scale(self) -> float:
        """What the statistic is MMD2 divided by."""
        return self.moments.denominator if self.statistic == "nammd" else 1.0

    @property
    def largest(self) -> float:
        """The largest value that the statistic's population value can take."""
        return 1.0 if self.statistic == "nammd" else 2.0 * self.moments.bound

    @property
    def value(self) -> float:
        """The estimate of the statistic; it may be slightly negative."""
        return self.moments.mmd2 / self.scale

    def slope(self, eps: float) -> float:
        """Return a: 1 + eps where the denominator is estimated too, 1 where there is none."""
        return 1.0 + eps if self.statistic == "nammd" else 1.0

    def approximation(self, eps: float) -> float:
        """Return the variance of U that is due to random frequencies, not to rows; mostly zero."""
        return 0.0 if self.spread is None else self.spread.variance(self.slope(eps) - 1.0)

    def approximation_cubic(self, eps: float) -> float:
        """Return what random frequencies add to the third cumulant of U."""
        return 0.0 if self.spread is None else self.spread.third_cumulant(self.slope(eps) - 1.0)

    def degrees_of_freedom(self, due: float, total: float, a: float = 1.0) -> float:
        """Return how well the variance is known: it may be due to random frequencies, or to few groups."""
        groups = self.moments.degrees(a)
        return groups if self.spread is None else min(self.spread.degrees_of_freedom(due, total), groups)

    def cubic_and_quadratic(self, eps: float, alternative: Alternative) -> tuple[float, float]:
        """Return the two parts of the third cumulant of U that are due to rows.

        Sketches know one of them only. Alone it may move the test in the wrong direction, since the two
        often have opposite signs; so it is used where it makes the test more cautious.
        """
        cubic, quadratic = self.skewness.cubic_and_quadratic(self.slope(eps))
        if not self.skewness.knows_cubic:
            quadratic = min(quadratic, 0.0) if alternative == "greater" else max(quadratic, 0.0)
        return cubic, quadratic

    @property
    def standard_error(self) -> float:
        """The standard error of the estimate."""
        a = self.slope(self.value)
        total = self.moments.variance(a)
        if not total > 0:  # too few rows for the unbiased estimate: what is safe of it
            total, _ = combined(self.moments.linear_variance(a), total)
        return math.sqrt(total + self.approximation(self.value)) / self.scale

    @property
    def visible(self) -> bool:
        """Whether the estimate is so far above zero that its rows show in which direction the two differ."""
        return self.value > VISIBLE * self.standard_error


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
        No proof of closeness is stronger: the chance that a sample has only equal rows at this distance.
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
        t, p1 = within_reach(self.u / self.deviation), self.linear_term
        return t + p1 * t * t + p1 * p1 * t**3 / 3 + self.constant_term

    @property
    def usable(self) -> bool:
        """Whether there is a variance to divide by."""
        return self.deviation > 0

    def pvalue(self, alternative: Alternative) -> float:
        """Return the p-value; NaN where the variance estimate leaves nothing to divide by."""
        if not self.usable:
            return math.nan
        if alternative == "greater":
            return upper_tail(self.z, self.degrees)
        pvalue = max(upper_tail(-self.z, self.degrees), self.unseen)
        if self.law is not None:
            pvalue = max(pvalue, self.law.below(self.u + self.law.centre))
        return pvalue

    def threshold(self, eps: float, alpha: float, alternative: Alternative) -> float:
        """Return the value of the statistic at which the test starts to reject."""
        if not self.usable:
            return math.nan
        z = quantile(1 - alpha, self.degrees)
        if alternative == "greater":
            return eps + self._inverse(z) * self.deviation / self.scale
        if self.unseen > alpha:  # no estimate would do
            return -math.inf
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
    """Prepare the test of a margin by one of the three variances.

    `blur` is what the uncertainty of the margin adds to the variance of "estimate minus margin", in the
    statistic's own unit squared: its own variance, less twice its covariance with the estimate. `switch` is
    the share of the variance due to pairs of rows from which on the law near zero counts.
    """
    a = 1.0 if variance == "paper" else pair.slope(eps)
    moments, scale = pair.moments, pair.scale
    u = moments.mmd2 - eps * scale
    blurred = blur * scale**2
    total, linear = moments.variance(a) + blurred, moments.linear_variance(a) + blurred
    extra = pair.approximation(eps)
    safe, share = combined(linear, total, extra)
    if pair.constant or pair.void:
        safe = total = 0.0
    if variance != "corrected":
        deviation = math.sqrt(total + extra) if total > 0 else math.nan
        degrees = pair.degrees_of_freedom(extra, total + extra, a)
        return Margin(u, deviation, share, 0.0, 0.0, None, scale, degrees)
    if not safe > 0:
        return Margin(u, 0.0, share, 0.0, 0.0, None, scale)
    # Hall's correction. For the upper tail it is shrunk where pairs of rows dominate, since its
    # expansion is around the linear part; for the lower tail the law near zero takes over instead.
    shrink = 1.0 - share if alternative == "greater" else 1.0
    cubic, quadratic = (shrink * part for part in pair.cubic_and_quadratic(eps, alternative))
    if (2 * cubic + 3 * quadratic > 0) == (alternative == "greater"):
        # Where it would make the test bolder it has to be known: not from the few groups that matter most.
        known = max(1.0 - FEW_DEGREES / moments.degrees(a), 0.0)
        cubic, quadratic = known * cubic, known * quadratic
    cubic += pair.approximation_cubic(eps)
    if alternative == "greater":
        safe += moments.unmet(a)
    deviation = math.sqrt(safe)
    unit = 6 * deviation**3
    if not unit > 0:  # kernel values so small that their cubes are no numbers: as good as no variance
        return Margin(u, 0.0, share, 0.0, 0.0, None, scale)
    law = None
    # Without a direction in sight the share is not known either; a margin's own error covers that.
    if alternative == "less" and (share > switch or not (pair.visible or blurred > 0)):
        law = near_zero(pair, eps, total - linear, max(blurred, 0.0) + extra)
    return Margin(
        u,
        deviation,
        share,
        (2 * cubic + 3 * quadratic) / unit,
        (cubic + 3 * quadratic) / unit,
        law,
        scale,
        pair.degrees_of_freedom(extra, safe, a),
        _unseen(pair, eps) if alternative == "less" else 0.0,
    )


def _unseen(pair: Pair, eps: float) -> float:
    """Bound the chance that a sample has only equal rows while the distance is eps."""
    moments = pair.moments
    outward = math.sqrt(eps * pair.scale) - math.sqrt(max(moments.mmd2, 0.0))
    sizes = [side.size for side, alike in zip((moments.x, moments.y), pair.alike, strict=True) if alike]
    return max((all_alike(size, outward, moments.bound) for size in sizes), default=0.0)


def near_zero(pair: Pair, eps: float, quadratic: float, added: float = 0.0) -> NearZero:
    """Return the law of MMD2 at the margin, as far as the covariance operators allow it to vary.

    A row's influence is ``(mu_P - mu_Q)(x) + (a - 1) mu_P(x)``. Over x, the first term varies by at
    most sqrt(lambda) |mu_P - mu_Q|, lambda the largest eigenvalue of the covariance operator, and at
    the margin that norm is known: MMD2 = eps D. How much it varies is brought there too. `quadratic` is the
    variance due to pairs of rows, and `added` what a margin's own error and random frequencies add.
    """
    centre, a, samples = eps * pair.scale, pair.slope(eps), []
    both, skewed = (pair.moments.x, pair.moments.y), pair.skewness.of_influences(a)
    for side, value, skewness in zip(both, pair.skewness.eigenvalues, skewed, strict=True):
        spread = math.sqrt(value) + (a - 1.0) * math.sqrt(max(side.v1, 0.0) / centre)
        sample = Noise(spread**2, side.size, skewness)
        samples.append(sample if pair.visible else sample.unsigned(known=True))
    along = noise_at(samples, math.sqrt(centre) - math.sqrt(max(pair.moments.mmd2, 0.0)))
    rest = max(quadratic - 2 * along**2, 0.0) + added
    degrees = pair.degrees_of_freedom(pair.approximation(eps), rest, a)
    return NearZero(centre, along, rest, degrees)


def confidence_interval(pair: Pair, level: float) -> tuple[float, float]:
    """Return the margins that neither one-sided test rejects at half of 1 - level.

    The lower end inverts the test of "farther than eps", the upper end the test of "closer".
    """
    alpha = (1 - level) / 2
    start = min(max(pair.value, 0.0), pair.largest)

    def kept(alternative: Alternative) -> Callable[[float], bool]:
        def inside(eps: float) -> bool:
            return not margin(pair, eps, "corrected", alternative).pvalue(alternative) <= alpha

        return inside

    lower = _boundary(kept("greater"), start, 0.0)
    upper = _boundary(kept("less"), start, pair.largest)
    return lower, upper


def _boundary(inside: Callable[[float], bool], start: float, end: float) -> float:
    """Return where, going from `start` to `end`, a condition first stops to hold.

    Walks in growing steps and then bisects. The condition may jump (the lower tail switches
    formulas), so a method that needs a smooth function would not do.
    """
    near, step = start, (end - start) / 2**20
    if step == 0:
        return end
    if not math.isfinite(step):  # no estimate, so no boundary either
        return math.nan
    while True:
        far = near + step
        if (far - end) * (end - start) >= 0:
            far = end
        if not inside(far):
            break
        if far == end:
            return end
        near, step = far, step * 1.5
    for _ in range(60):
        middle = (near + far) / 2
        near, far = (middle, far) if inside(middle) else (near, middle)
    return near
