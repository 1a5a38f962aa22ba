"""What a test would say of a pair of so many rows that is so far apart: power, before there are data.

A pilot gives the variability. Its variance due to single rows grows with the distance, and its variance due
to pairs of rows does not; so the pilot can be moved to any distance and to any sizes. The test is then asked
from which estimate on it would decide, and the law of the estimate near zero how often it would get there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nammd.statistics.difference import Difference
from nammd.statistics.margin import SWITCH, Margin, doubt_at, margin
from nammd.statistics.near_zero import NearZero
from nammd.statistics.pair import Alternative, KnownMeeting, Pair
from nammd.statistics.side import Known, SharedX


def noise_of(pair: Pair) -> tuple[float, float]:
    """Return the variance of a unit's noise along the difference of the mean embeddings, for x and for y."""
    moments = pair.moments
    x, y = (
        min(top, max(side.linear(pair.own_slope), 0.0) / moments.mmd2) if moments.mmd2 > 0 else top
        for side, top in zip((moments.x, moments.y), pair.eigenvalues, strict=True)
    )
    return x, y


def units_of(pair: Pair, m: float, n: float) -> tuple[float, float]:
    """Return how many units so many rows are; of rows that belong together, effectively."""
    return m / pair.moments.x.per_unit, n / pair.moments.y.per_unit


def enough(pair: Pair, m: float, n: float) -> bool:
    """Tell whether so many rows are enough units for any test."""
    return min(units_of(pair, m, n)) >= 4 - 1e-9


def pairs_by_distance(pair: Pair, m: int, n: int) -> Callable[[float], Pair]:
    """Return pairs of those sizes that else vary like this one, as a function of their distance."""
    noise, units, tops = noise_of(pair), units_of(pair, m, n), pair.eigenvalues
    resized = pair.moments.resized(*units)

    def at(value: float) -> Pair:
        distance = value * pair.scale
        x, y = (
            # The influences of units along the difference, and nothing of higher order.
            Known(size, np.diag([0.0, max(distance, 0.0) * each]), np.zeros((2, 2)), np.zeros(4), top)
            for size, each, top in zip(units, noise, tops, strict=True)
        )
        meeting = KnownMeeting(resized.moved(distance, noise), x, y, np.zeros((2, 2)))
        return Pair(meeting, pair.statistic, spread=pair.spread)

    return at


def law_at(pair: Pair, value: float, m: int, n: int, frozen: bool = False) -> NearZero:
    """Return the law of an estimate of MMD² from so many rows; `frozen`: given the rows of x."""
    (x, y), moved = noise_of(pair), pairs_by_distance(pair, m, n)(value)
    slope = pair.slope(max(value, 0.0))
    one, other = units_of(pair, m, n)
    along = y / other if frozen else x / one + y / other
    pairs = moved.moments.variance(slope) - moved.moments.linear_variance(slope)
    rest = max(pairs - 2 * along**2, 0.0) + pair.approximation(max(value, 0.0))
    return NearZero(max(value, 0.0) * pair.scale, along, rest)


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
            step = _first(
                lambda step: doubt_at(self.within(self.epsilon - step, switch), alpha), self.epsilon
            )
            return law.below((self.epsilon - step) * scale)

        return self._blended(chance)

    def far(self, law: NearZero, scale: float, alpha: float) -> float:
        """Return how often an estimate that follows a law is called beyond."""

        def chance(switch: float) -> float:
            step = _first(
                lambda step: doubt_at(self.beyond(self.epsilon + step, switch), alpha), self.epsilon
            )
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


def known_rules(pilot: Pair, epsilon: float, m: int, n: int, blur: float = 0.0) -> Rules:
    """Return the tests of a margin that is a number, or known up to some variance `blur`."""
    pair_at = pairs_by_distance(pilot, m, n)

    def test(value: float, alternative: Alternative, switch: float) -> Margin:
        return margin(pair_at(value), epsilon, "corrected", alternative, blur, switch)

    return Rules(
        epsilon,
        lambda value, switch: test(value, "less", switch).pvalue("less"),
        lambda value, switch: test(value, "greater", switch).pvalue("greater"),
        test(epsilon, "less", math.inf).share,
    )


def estimated_rules(pilot: Pair, accepted: int, m: int, n: int, shared: bool) -> Rules:
    """Return the tests of a margin that is the pilot's distance, estimated from so many accepted rows.

    The candidate has n rows, and its reference has m rows: those of the pilot where it is `shared`.
    """
    epsilon, pair_at = pilot.value, pairs_by_distance(pilot, m, n)
    first = pairs_by_distance(pilot, pilot.rows[0], accepted)(epsilon)

    def difference(value: float) -> Difference:
        return Difference(first, pair_at(value), _shared(pilot, epsilon, value) if shared else None)

    return Rules(
        epsilon,
        lambda value, switch: difference(value).closer(switch=switch),
        lambda value, switch: difference(value).swapped.closer(switch=switch),
        difference(epsilon).share,
    )


def _shared(pilot: Pair, first: float, second: float) -> SharedX:
    """Return how two distances in one direction depend on the x that they share."""
    noise, _ = noise_of(pilot)
    roots = [0.0, *(math.sqrt(max(value, 0.0) * pilot.scale * noise) for value in (first, second))]
    seconds = np.outer(roots, roots)
    covariance = pilot.moments.x.v1 + seconds
    return SharedX(seconds, np.zeros((3, 3)), covariance, np.zeros((3, 2)), np.zeros((3, 3, 3)))


_SMALLEST = 1e-15
"""Steps of a distance, which is between 0 and 1, below which nobody asks."""


def _first(doubt: Callable[[float], float], unit: float) -> float:
    """Return the smallest step for which a doubt is gone, or infinity; it may come back far out."""
    if not math.isfinite(unit):
        return math.inf
    near, far = 0.0, max(unit, _SMALLEST) * 1.5**7 / 1024
    while doubt(far) > 0:
        near, far = far, far * 1.5  # with larger steps it would miss where the doubt is gone for a while
        if far > 1024 * unit and far > 2.0:
            return math.inf
    if not doubt(near) > 0:
        return near
    from scipy.optimize import brentq

    return float(brentq(doubt, near, far, xtol=_SMALLEST * 1e-9, rtol=1e-9))
