"""What a test would say of a pair of so many rows that is so far apart: power, before there are data.

A pilot gives the variability, and `nammd.statistics.moved_law` the samples that could be drawn. The test
itself is applied to each of them: with their estimated variance, skewness and direction, its corrections and
its law near zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.difference import Difference
from nammd.statistics.margin import margin, quantile
from nammd.statistics.moved_law import Drawn, MovedLaw
from nammd.statistics.near_zero import lower_tails
from nammd.statistics.pair import Alternative, KnownMeeting, Pair
from nammd.statistics.side import Known, SharedX

_BLUR = 0.2
"""Around each sample there are others, of which the test's normal score varies by so much."""


def units_of(pair: Pair, m: float, n: float) -> tuple[float, float]:
    """Return how many units so many rows are; of rows that belong together, effectively."""
    return m / pair.moments.x.per_unit, n / pair.moments.y.per_unit


def enough(pair: Pair, m: float, n: float) -> bool:
    """Tell whether so many rows are enough units for any test."""
    return min(units_of(pair, m, n)) >= 4 - 1e-9


Test = Callable[[MovedLaw, Alternative], FloatArray]
"""The p-values of samples that could be drawn from some law."""


@dataclass(frozen=True)
class Rules:
    """The two tests of a tolerance, for samples of given sizes.

    Attributes
    ----------
    pilot : Pair
        Where the variability is from.
    m, n : int
        The rows of the reference and of the candidate.
    test : callable
        The p-values of "within" (less) or of "beyond" (greater).
    known : float
        How much of the noise of the reference the margin has too, so that it is not in the way: a share.
    """

    pilot: Pair
    m: int
    n: int
    test: Test
    known: float = 0.0

    def close(self, distance: float, alpha: float, frozen: bool = False) -> float:
        """Return how often a candidate at some distance is called within."""
        return self._rejects(distance, alpha, frozen, "less")

    def far(self, distance: float, alpha: float, frozen: bool = False) -> float:
        """Return how often a candidate at some distance is called beyond."""
        return self._rejects(distance, alpha, frozen, "greater")

    def _rejects(self, distance: float, alpha: float, frozen: bool, alternative: Alternative) -> float:
        from scipy.special import ndtri

        if not enough(self.pilot, self.m, self.n):
            return 0.0
        law = MovedLaw(self.pilot, distance, units_of(self.pilot, self.m, self.n), frozen, self.known)
        pvalues = self.test(law, alternative)
        scores = -ndtri(np.clip(np.where(np.isnan(pvalues), 1.0, pvalues), 1e-12, 1 - 1e-12))
        chances = lower_tails((scores - quantile(1 - alpha)) / _BLUR, math.inf)
        return float(np.mean(np.where(np.isnan(pvalues), 0.0, chances)))


def known_rules(pilot: Pair, epsilon: float, m: int, n: int, blur: float = 0.0) -> Rules:
    """Return the tests of a margin that is a number, or known up to some variance `blur`."""

    def test(law: MovedLaw, alternative: Alternative) -> FloatArray:
        return np.asarray(margin(law.pairs(), epsilon, "corrected", alternative, blur).pvalue(alternative))

    return Rules(pilot, m, n, test)


def estimated_rules(pilot: Pair, accepted: int, m: int, n: int, shared: bool) -> Rules:
    """Return the tests of a margin that is the pilot's distance, estimated from so many accepted rows.

    The candidate has n rows, and its reference has m rows: those of the pilot where it is `shared`.
    """
    first = _resized(pilot, *units_of(pilot, m if shared else pilot.rows[0], accepted))

    def test(law: MovedLaw, alternative: Alternative) -> FloatArray:
        found = [
            Difference(first, drawn.pair, _shared(first, drawn, law) if shared else None)
            for drawn in law.drawn()
        ]
        return np.array([(one if alternative == "less" else one.swapped).closer() for one in found])

    return Rules(pilot, m, n, test, _known(first) if shared else 0.0)


def _known(first: Pair) -> float:
    """Return which share of the variance of an estimated margin is due to the rows of x.

    A margin is taken for what it is, and so the noise of x and that of the accepted rows make up for each
    other in it.
    """
    slope, (x, y) = first.own_slope, (first.moments.x, first.moments.y)
    parts = [max(one.linear(slope), 0.0) / one.size for one in (x, y)]
    return parts[0] / sum(parts) if sum(parts) > 0 else 0.0


def _resized(pair: Pair, m: float, n: float) -> Pair:
    """Return a pair by its averages, as if its samples had other sizes."""
    x, y = (replace(Known.of(one), size=size) for one, size in zip(pair.meeting.sides, (m, n), strict=True))
    moments, sizes = pair.moments, (pair.x.size, pair.y.size)
    # Of its own size it keeps what units in both samples add, which is not known of other sizes.
    if not np.allclose((m, n), sizes):
        moments = moments.resized(m, n)
    return replace(pair, meeting=KnownMeeting(moments, x, y, pair.meeting.form()))


def _shared(first: Pair, drawn: Drawn, law: MovedLaw) -> SharedX:
    """Return how the pilot's distance and that of a drawn candidate depend on the x that they share."""
    second, x, spectrum = drawn.pair, first.x, law.spectra[0]
    product = math.sqrt(max(first.moments.mmd2, 0.0)) * drawn.along
    covariance, scales = spectrum.along * product, (first.scale, second.scale)
    # Influences p, q_1 and q_2; the q of a candidate is p less what is along its difference.
    (pp, pq), (_, qq) = x.second()
    seconds = np.array([[pp, pq, pp], [pq, qq, pq + covariance], [pp, pq + covariance, pp]])
    seconds[2, 2] += second.x.second()[1, 1] - second.x.second()[0, 0]
    (fpp, fpq), (_, fqq) = x.form()
    formed = fpq + spectrum.formed * product
    form = np.array([[fpp, fpq, fpp], [fpq, fqq, formed], [fpp, formed, fpp + second.x.form()[1, 1]]])
    unbiased = np.zeros((3, 3))
    unbiased[1, 2] = unbiased[2, 1] = first.moments.x.w + covariance
    crossed = law.crossed * product
    felt_first = first.meeting.form() @ first.phi
    felt_second = second.meeting.form() @ second.phi
    felt = np.array(
        [
            [felt_first[0], 0.0],
            [felt_first[1], 2 * crossed / scales[1]],
            [felt_first[0] + 2 * crossed / scales[0], felt_second[1]],
        ]
    )
    return SharedX(seconds, form, unbiased, felt, _thirds(first, second, covariance))


def _thirds(first: Pair, second: Pair, covariance: float) -> np.ndarray:
    away = np.array([1.0, -1.0])
    own, other = first.x.third(away), second.x.third(away)
    variance = float(away @ first.x.second() @ away)
    along = covariance / variance if variance > 0 else 0.0
    found = np.zeros((3, 3, 3))
    for place in np.ndindex(2, 2, 2):
        twos = sum(place)
        found[tuple(one + 1 for one in place)] = -(other if twos == 3 else own * along**twos)
    return found
