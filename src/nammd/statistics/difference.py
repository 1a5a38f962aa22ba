"""Is one estimated distance smaller than another one, itself estimated? One rule for all such questions.

It is the rule of ``docs/statistics.md``, "Comparing two estimated distances". H0 is that the second distance
is at least the first, plus some `delta`; the p-value is small where the second pair is closer. For the other
direction the two change places. Three things are needed for it to hold its level:

1. *Borrowed variance.* In a small sample a few rare rows carry the influence, and a sample without them has
   both another distance and a far too small variance. So corresponding samples borrow from each other.
2. *Skewness and bias of the difference*, by the transformation of Hall.
3. *The law near zero*, with both pairs at the distance that fits both best.

And a sample whose rows are all equal says nothing about what it may have missed: no p-value is smaller than
the chance that so few rows would be all equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.margin import SWITCH, quantile, upper_tail, within_reach
from nammd.statistics.moments import combined
from nammd.statistics.near_zero import Noise, all_alike, lower_tails, noise_at, normal_grid
from nammd.statistics.pair import Pair
from nammd.statistics.side import SharedX, along
from nammd.statistics.spread import frequency_cubic, frequency_variance

_POINTS, _REACH = 61, 5.0

ROUNDING = 1e-12
"""A difference with a smaller standard deviation has none but rounding."""


@dataclass(frozen=True, eq=False)
class Difference:
    """Two estimated distances, as they differ.

    Attributes
    ----------
    first, second : Pair
        The distances.
    shared : SharedX or None
        How they depend on the x that both share; None where they share none.
    """

    first: Pair
    second: Pair
    shared: SharedX | None = None

    @classmethod
    def of(cls, first: Pair, second: Pair, shared: bool) -> Difference:
        """Put two distances together; where they share x, the second is the one that was measured now."""
        return cls(first, second, second.x.beside(first.kept_x, second.kept_x) if shared else None)

    @property
    def value(self) -> float:
        """The second estimate less the first."""
        return self.second.value - self.first.value

    @cached_property
    def swapped(self) -> Difference:
        """The same with the two in each other's place."""
        return Difference(self.second, self.first, None if self.shared is None else self.shared.swapped)

    @property
    def usable(self) -> bool:
        """Whether there is a variance to divide by."""
        one, two = self.first, self.second
        if one.void or two.void or one.constant or two.constant:
            return False
        return self.standard_error > ROUNDING

    @property
    def standard_error(self) -> float:
        """The standard error of the difference, what is borrowed included."""
        return math.sqrt(self._borrowed[0])

    @cached_property
    def degrees(self) -> float:
        """How well the variance is known, where random frequencies have a part in it."""
        return self._degrees(self._borrowed[0])

    @property
    def share(self) -> float:
        """The share of the variance due to pairs of rows, of that distance where it is larger."""
        return max(self.first.share, self.second.share)

    def closer(self, delta: float = 0.0, switch: float = SWITCH) -> float:
        """Return the p-value of "the second distance is at least the first plus delta".

        `switch` is the share from which on the law near zero counts.
        """
        if not self.usable:
            return math.nan
        pvalue = self._by_expansion(delta)
        if self.share > switch or not (self.first.visible and self.second.visible):
            pvalue = max(pvalue, self._near_zero(delta))
        return min(max(pvalue, self._unseen), 1.0)  # sums of tails may be beyond it by rounding

    def confidence_interval(self, level: float) -> tuple[float, float]:
        """Return the differences that neither one-sided test rejects at half of 1 - level."""
        if not self.usable:
            return math.nan, math.nan
        alpha = (1 - level) / 2
        reach = quantile(1 - alpha, self.degrees) * self.standard_error
        upper = _end(lambda delta: self.closer(delta) > alpha, self.value, reach)
        lower = -_end(lambda delta: self.swapped.closer(delta) > alpha, self.swapped.value, reach)
        # Near zero the test of no difference is more careful than those around it.
        if self.closer() > alpha:
            upper = max(upper, 0.0)
        if self.swapped.closer() > alpha:
            lower = min(lower, 0.0)
        return lower, upper

    @property
    def _phi(self) -> tuple[FloatArray, FloatArray]:
        """What ``(p, q_1, q_2)`` of a unit of a shared x is multiplied with, for either distance."""
        one, two = self.first.phi, self.second.phi
        return np.array([one[0], one[1], 0.0]), np.array([two[0], 0.0, two[1]])

    @cached_property
    def variance_parts(self) -> tuple[float, float]:
        """The variance of the difference: the part due to single units, and all of it; unbiased."""
        one, two = self.first, self.second
        linear, total = (a + b for a, b in zip(one.variance_parts, two.variance_parts, strict=True))
        if self.shared is not None and self.shared.joint:
            both = 2 * along(self.shared.covariance, *self._phi) / two.moments.x.size
            return linear - both, total - both
        if self.shared is not None:
            x, scale = two.moments.x, one.scale * two.scale
            a1, a2 = one.own_slope, two.own_slope
            crossed = float(self.shared.covariance[1, 2]) - a1 * x.w - a2 * one.moments.x.w
            crossed *= 4 / x.size
            linear -= 2 * (a1 * a2 * 4 * x.v1 / x.size + crossed) / scale
            total -= 2 * (a1 * a2 * x.own() + crossed) / scale
        return linear, total

    @cached_property
    def _by_frequencies(self) -> float:
        """The variance that is due to random frequencies; those of both distances are the same."""
        one, two = self.first, self.second
        if one.spread is None or two.spread is None:
            return one.by_frequencies + two.by_frequencies
        return frequency_variance(one.spread, two.spread, (one.scale, two.scale), self._margins)

    @property
    def _margins(self) -> tuple[float, float]:
        return self.first.own_slope - 1.0, self.second.own_slope - 1.0

    def _degrees(self, variance: float) -> float:
        spreads = [one.spread for one in (self.first, self.second) if one.spread is not None]
        due = self._by_frequencies
        least = min((spread.degrees_of_freedom(due, variance) for spread in spreads), default=math.inf)
        return min(least, self._group_degrees)

    @cached_property
    def _group_degrees(self) -> float:
        """How well the variance is known where it is that of groups of rows; else infinite."""
        both = [(one.deviation**2, one.degrees) for one in (self.first, self.second)]
        squares = sum(variance**2 / degrees for variance, degrees in both)
        return sum(variance for variance, _ in both) ** 2 / squares if squares > 0 else math.inf

    @cached_property
    def _borrowed(self) -> tuple[float, float, float]:
        """The variance, and the third cumulant of single units as it is and as it was borrowed."""
        variance, _ = combined(*self.variance_parts, self._by_frequencies)
        cubic = borrowed_cubic = 0.0
        if self.shared is not None:
            one, two = self._phi
            cubic = borrowed_cubic = self.shared.third(two - one) / self.second.x.size**2
        for side in self._apart:
            samples = [(pair.meeting.sides[side], pair.phi) for pair in (self.first, self.second)]
            sizes = [sample.size for sample, _ in samples]
            seconds = [along(sample.second(), phi) for sample, phi in samples]
            thirds = [sample.third(phi) for sample, phi in samples]
            rows = sum(sizes)
            second, third = (
                sum(n * each for n, each in zip(sizes, moments, strict=True)) / rows
                for moments in (seconds, thirds)
            )
            for sign, size, own, cubes in zip((-1.0, 1.0), sizes, seconds, thirds, strict=True):
                share = 1.0
                if second > own:
                    variance += (second - own) / size
                    cubes, share = third, size / rows
                cubic += sign * cubes / size**2
                borrowed_cubic += sign * share * cubes / size**2
        return variance, cubic, borrowed_cubic

    @property
    def _apart(self) -> tuple[int, ...]:
        """Which samples correspond to each other without being the same: y, and x where it is not shared."""
        return (1, 0) if self.shared is None else (1,)

    @cached_property
    def _unseen(self) -> float:
        """Bound the chance that a sample has only equal rows while the distances are the same."""
        chance = 0.0
        for one, other in ((self.first, self.second), (self.second, self.first)):
            here, there = (math.sqrt(max(each.value, 0.0) * one.scale) for each in (one, other))
            for side in self._apart:
                if one.alike[side]:
                    size = one.meeting.sides[side].size
                    chance = max(chance, all_alike(size, there - here, one.moments.bound))
        return chance

    @cached_property
    def _second_order(self) -> tuple[float, float]:
        """B, how influences meet through the kernels, and the bias of the difference."""
        meeting = bias = 0.0
        for k, (sign, one) in enumerate(((-1.0, self.first), (1.0, self.second))):
            (x, y), phi, eta = one.meeting.sides, one.phi, one.eta
            m, n = x.size, y.size
            own_x, own_y = x.second(), y.second()
            biases = along(own_x, phi, eta), along(own_y, phi, eta)
            # By X and Y, the influences on the difference: those on the distance itself times its sign, but
            # for a shared x, where both distances count.
            form, crossed = along(x.form(), phi), one.crossed
            with_phi, with_eta = sign * along(own_x, phi), sign * biases[0]
            if self.shared is not None:
                both, moments = self._phi, self.shared.second
                apart = both[1] - both[0]
                form, crossed = along(self.shared.form, apart), sign * float(apart @ self.shared.felt[:, k])
                with_phi = along(moments, apart, both[k])
                with_eta = along(moments, apart, np.array([eta[0], 0.0, 0.0]))
            own = form / m**2 + along(y.form(), phi) / n**2
            moved = with_phi / m + sign * along(own_y, phi) / n
            normed = with_eta / m + sign * biases[1] / n
            meeting += sign * (
                2 * one.own_slope / one.scale * own - 4 / one.scale * crossed / (m * n) + 2 * moved * normed
            )
            bias += sign * (biases[0] / m + biases[1] / n)
        return meeting, bias

    def _by_expansion(self, delta: float) -> float:
        """Return the p-value by the transformation of Hall."""
        variance, cubic, borrowed = self._borrowed
        meeting, bias = self._second_order
        deviation, apart = math.sqrt(variance), self.value - delta
        if math.isnan(cubic):  # of sketches; what else is known counts only where it adds caution
            score = max(
                _score(apart, deviation, 0.0, 0.0, 0.0), _score(apart - bias, deviation, 0.0, meeting, 0.0)
            )
        else:
            extra = self._frequency_cubic
            score = _score(apart - bias, deviation, cubic + extra, meeting, borrowed + extra)
        return upper_tail(-score, self.degrees)

    @property
    def _frequency_cubic(self) -> float:
        one, two = self.first, self.second
        if one.spread is None or two.spread is None:
            return 0.0
        return frequency_cubic(one.spread, two.spread, (one.scale, two.scale), self._margins)

    def _near_zero(self, delta: float) -> float:
        """Return the p-value by the law of the difference, both distances being where they fit best."""
        margins = self._common(delta)
        if margins is None:
            return 1.0
        linear, total = self.variance_parts
        rest = max(total - linear, 0.0)
        points, weights = normal_grid(_POINTS, _REACH)
        laws = []
        for one, margin in zip((self.first, self.second), margins, strict=True):
            along = self._along(one, margin)
            moved = (math.sqrt(margin * one.scale) + math.sqrt(along) * points) ** 2 - along
            laws.append(moved / one.scale)
            rest -= 2 * along**2 / one.scale**2
        rest = max(rest, 0.0) + self._by_frequencies
        if self.shared is not None:
            rest += self._shared_variance(self.shared, margins)
        rest = max(rest, ROUNDING**2)
        excess = self.value - (laws[1][None, :] - laws[0][:, None])
        tails = lower_tails(excess / math.sqrt(rest), self._degrees(rest))
        with np.errstate(under="ignore"):
            return float(weights @ tails @ weights)

    def _common(self, delta: float) -> tuple[float, float] | None:
        """Return the distances, apart by delta, that fit both estimates best; None where there are none."""
        one, two = self.first, self.second
        h1, h2 = one.effective_rows, two.effective_rows
        first = (h1 * one.value + h2 * (two.value - delta)) / (h1 + h2)
        if delta == 0:
            return None if first <= 0 else (first, first)
        first = max(first, 0.0, -delta)
        return first, first + delta

    def _along(self, one: Pair, margin: float) -> float:
        """Return the variance of the noise along the difference of the mean embeddings of a pair.

        It is at most the top eigenvalue. Where the pair is far enough apart to show its direction, it is as
        large as it appears there, or in the other pair; and it is brought to the margin.
        """
        both, samples = (self.first, self.second), []
        for side in sorted(self._apart):
            noise = one.eigenvalues[side]
            if one.visible:
                noise = min(noise, max(each.noise_along(side) for each in both if each.visible))
            sample = Noise(noise, one.meeting.sides[side].size, one.skewness(side, one.value))
            samples.append(sample if one.visible else sample.unsigned(known=False))
        outward = math.sqrt(margin * one.scale) - math.sqrt(max(one.moments.mmd2, 0.0))
        return noise_at(samples, outward)

    def _shared_variance(self, shared: SharedX, margins: tuple[float, float]) -> float:
        """Return what a shared x adds to the variance of the difference, with both distances at a margin.

        The influences of its units on a distance grow with the root of the distance, and so they are brought
        there. Where a distance is too small to show its direction, the worst one is taken, and nothing is
        known of how that goes together with the other.
        """
        both, phi = (self.first, self.second), self._phi
        variances = []
        for one, margin in zip(both, margins, strict=True):
            worst = 4 * one.eigenvalues[0] * margin / one.scale
            second = along(one.x.second(), one.phi)
            variances.append(min(second * margin / one.value, worst) if one.visible else worst)
        covariance = 0.0
        if all(one.visible for one in both):
            covariance = along(shared.second, *phi)
            covariance *= math.sqrt(margins[0] * margins[1] / (self.first.value * self.second.value))
            most = math.sqrt(variances[0] * variances[1])
            covariance = min(max(covariance, -most), most)
        return (sum(variances) - 2 * covariance) / self.second.x.size


def _score(difference: float, deviation: float, cubic: float, meeting: float, borrowed: float) -> float:
    """Return the normal score of a difference, its skewness taken off."""
    t, unit = within_reach(difference / deviation), deviation**3
    if not unit > 0:  # as good as no variance; see `margin`
        return math.nan
    studentised = borrowed + 2 * meeting
    k3 = (cubic + 3 * meeting - 3 * studentised) / unit
    p1, q1 = -k3 / 6, studentised / (2 * unit) + k3 / 6
    return t + p1 * t * t + p1 * p1 * t**3 / 3 + q1


def _end(inside: Callable[[float], bool], start: float, reach: float) -> float:
    """Return the largest delta, going up from the estimate, that is inside."""
    near, far, step = start, start, reach / 8
    for _ in range(60):
        far = near + step
        if not inside(far):
            break
        near, step = far, step * 1.5
    for _ in range(50):
        middle = (near + far) / 2
        near, far = (middle, far) if inside(middle) else (near, middle)
    return near
