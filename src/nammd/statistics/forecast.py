"""What a test would say of a pair of so many rows that is so far apart: power, before there are data.

A pilot gives the variability. Its variance due to single rows grows with the distance, and its variance due
to pairs of rows does not; so the pilot can be moved to any distance and to any sizes. The test is then asked
from which estimate on it would decide, and the law of the estimate near zero how often it would get there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from nammd.statistics.difference import Difference
from nammd.statistics.margin import SWITCH, Alternative, Margin, Pair, Statistic, margin
from nammd.statistics.moments import Moments
from nammd.statistics.near_zero import NearZero
from nammd.statistics.spread import Spread
from nammd.statistics.standing import SampleTerms, Standing, Together


@dataclass(frozen=True)
class Pilot:
    """The variability of a pair of datasets, whatever their distance and their sizes.

    Attributes
    ----------
    moments : Moments
        The moments of the pair.
    eigenvalues : tuple of two float
        The largest eigenvalues of the covariance operators.
    normed : bool
        Whether the distance is NAMMD.
    spread : Spread or None
        How the estimate varies over random frequencies.
    """

    moments: Moments
    eigenvalues: tuple[float, float]
    normed: bool
    spread: Spread | None = None

    @classmethod
    def of(cls, pair: Pair | Standing) -> Pilot:
        """Take it from a distance that is estimated."""
        if isinstance(pair, Standing):
            return cls(pair.moments, pair.operators.eigenvalues, pair.normed, pair.spread)
        return cls(pair.moments, pair.skewness.eigenvalues, pair.statistic == "nammd", pair.spread)

    @property
    def scale(self) -> float:
        """What MMD² is divided by."""
        return self.moments.denominator if self.normed else 1.0

    @property
    def value(self) -> float:
        """The distance of the pilot."""
        return self.moments.mmd2 / self.scale

    @property
    def along(self) -> tuple[float, float]:
        """The variance of a row's noise along the difference of the mean embeddings, for x and for y."""
        x, y = (
            min(top, max(side.linear(self._slope), 0.0) / self.moments.mmd2) if self.moments.mmd2 > 0 else top
            for side, top in zip((self.moments.x, self.moments.y), self.eigenvalues, strict=True)
        )
        return x, y

    @property
    def _slope(self) -> float:
        return 1.0 + self.value if self.normed else 1.0

    def units(self, m: float, n: float) -> tuple[float, float]:
        """Return how many units so many rows are; of rows that belong together, effectively."""
        x, y = self.moments.per_unit
        return m / x, n / y

    def enough(self, m: float, n: float) -> bool:
        """Tell whether so many rows are enough units for any test."""
        return min(self.units(m, n)) >= 4 - 1e-9

    @property
    def rows(self) -> tuple[int, int]:
        """The rows of the pilot."""
        x, y = self.moments.per_unit
        return round(self.moments.x.size * x), round(self.moments.y.size * y)

    def moments_at(self, value: float, m: int, n: int) -> Moments:
        """Return the moments of a pair of that distance and of those sizes."""
        return self.moments.resized(*self.units(m, n)).moved(value * self.scale, self.along)

    def pair_at(self, value: float, m: int, n: int) -> Pair:
        """Return a pair of that distance and of those sizes, as the tests of a known margin take it."""
        statistic: Statistic = "nammd" if self.normed else "mmd2"
        moments = self.moments_at(value, m, n)
        return Pair(moments, Eigenvalues(self.eigenvalues), statistic, spread=self.spread)

    def standing_at(self, value: float, m: int, n: int) -> Standing:
        """Return a pair of that distance and of those sizes, as a comparison takes it."""
        moments = self.moments_at(value, m, n)
        unit = 4 * max(value, 0.0) / self.scale
        x, y = (
            SampleTerms(size, unit * noise, 0.0, 0.0, 0.0)
            for size, noise in zip(self.units(m, n), self.along, strict=True)
        )
        return Standing(moments, self.normed, x, y, 0.0, Eigenvalues(self.eigenvalues), spread=self.spread)

    def law(self, value: float, m: int, n: int, frozen: bool = False) -> NearZero:
        """Return the law of an estimate of MMD² from so many rows; `frozen`: given the rows of x."""
        (x, y), moments = self.along, self.moments_at(value, m, n)
        slope = 1.0 + max(value, 0.0) if self.normed else 1.0
        one, other = self.units(m, n)
        along = y / other if frozen else x / one + y / other
        pairs = moments.variance(slope) - moments.linear_variance(slope)
        rest = max(pairs - 2 * along**2, 0.0)
        if self.spread is not None:
            rest += self.spread.variance(slope - 1.0)
        return NearZero(max(value, 0.0) * self.scale, along, rest)


@dataclass(frozen=True)
class Eigenvalues:
    """The largest eigenvalues of two covariance operators, and nothing else of higher order."""

    eigenvalues: tuple[float, float]
    knows_cubic = True

    @property
    def rows_used(self) -> tuple[int, int]:
        """None."""
        return 0, 0

    def cubic_and_quadratic(self, a: float) -> tuple[float, float]:
        """Return zeros."""
        return 0.0, 0.0

    def of_influences(self, a: float) -> tuple[float, float]:
        """Return zeros."""
        return 0.0, 0.0


Rule = Callable[[float, float], float]
"""A p-value as a function of the estimate, and of the share from which on the law near zero counts."""


@dataclass(frozen=True)
class Rules:
    """The two tests of a tolerance as functions of the estimate alone.

    Attributes
    ----------
    epsilon : float
        The tolerance.
    within, beyond : callable
        The p-values of the two tests.
    share : float
        The share of the variance due to pairs of rows, at the tolerance.
    """

    epsilon: float
    within: Rule
    beyond: Rule
    share: float

    def close(self, law: NearZero, scale: float, alpha: float) -> float:
        """Return how often an estimate that follows a law is called within."""

        def chance(switch: float) -> float:
            step = _first(lambda step: self.within(self.epsilon - step, switch) <= alpha, self.epsilon)
            return law.below((self.epsilon - step) * scale)

        return self._blended(chance)

    def far(self, law: NearZero, scale: float, alpha: float) -> float:
        """Return how often an estimate that follows a law is called beyond."""

        def chance(switch: float) -> float:
            step = _first(lambda step: self.beyond(self.epsilon + step, switch) <= alpha, self.epsilon)
            return 1.0 - law.below((self.epsilon + step) * scale)

        return self._blended(chance)

    def _blended(self, chance: Callable[[float], float]) -> float:
        """Return a chance between that with the law near zero and that without.

        The tests need that law where a share exceeds a limit. The share is estimated too, so around the limit
        the law counts in part.
        """
        weight = min(max((self.share - SWITCH) / (0.8 * SWITCH) + 0.5, 0.0), 1.0)
        with_law = chance(-math.inf) if weight > 0 else 0.0
        without = chance(math.inf) if weight < 1 else 0.0
        return weight * with_law + (1.0 - weight) * without


def known_rules(pilot: Pilot, epsilon: float, m: int, n: int, blur: float = 0.0) -> Rules:
    """Return the tests of a margin that is a number, or known up to some variance `blur`."""

    def test(value: float, alternative: Alternative, switch: float) -> Margin:
        return margin(pilot.pair_at(value, m, n), epsilon, "corrected", alternative, blur, switch)

    return Rules(
        epsilon,
        lambda value, switch: test(value, "less", switch).pvalue("less"),
        lambda value, switch: test(value, "greater", switch).pvalue("greater"),
        test(epsilon, "less", math.inf).share,
    )


def estimated_rules(pilot: Pilot, accepted: int, m: int, n: int, shared: bool) -> Rules:
    """Return the tests of a margin that is the pilot's distance, estimated from so many accepted rows.

    The candidate has n rows, and its reference has m rows: those of the pilot where it is `shared`.
    """
    epsilon = pilot.value
    first = pilot.standing_at(epsilon, pilot.rows[0], accepted)

    def difference(value: float) -> Difference:
        second = pilot.standing_at(value, m, n)
        return Difference(first, second, _together(pilot, epsilon, value) if shared else None)

    return Rules(
        epsilon,
        lambda value, switch: difference(value).closer(switch=switch),
        lambda value, switch: difference(value).swapped.closer(switch=switch),
        difference(epsilon).share,
    )


def _together(pilot: Pilot, first: float, second: float) -> Together:
    """Return how two distances in one direction depend on the x that they share."""
    v1, (noise, _) = pilot.moments.x.v1, pilot.along
    roots = [math.sqrt(max(value, 0.0) * pilot.scale * noise) for value in (first, second)]
    phi = [2 * root / pilot.scale for root in roots]
    apart = phi[1] - phi[0]
    return Together(
        covariance=v1 + roots[0] * roots[1],
        third=0.0,
        form=0.0,
        with_phi=(apart * phi[0], apart * phi[1]),
        with_eta=(0.0, 0.0),
        with_other=(0.0, 0.0),
    )


_SMALLEST = 1e-15
"""Steps of a distance, which is between 0 and 1, below which nobody asks."""


def _first(condition: Callable[[float], bool], unit: float) -> float:
    """Return the smallest step for which a condition holds, or infinity; it may fail again far out."""
    if not math.isfinite(unit):
        return math.inf
    near, far = 0.0, max(unit, _SMALLEST) / 1024
    while not condition(far):
        near, far = far, far * 1.5
        if far > 1024 * unit and far > 2.0:
            return math.inf
    for _ in range(20):  # the step is then known to a millionth of itself
        middle = (near + far) / 2
        near, far = (near, middle) if condition(middle) else (middle, far)
    return far
