"""The law of a distance near zero.

MMD² is the squared length of ``mu + noise`` less its mean, mu being the difference of the two mean
embeddings. Along mu the noise is normal. So an estimate of a distance e varies like

    (sqrt(e) + sigma Z)² - sigma² + W,        Z standard normal, W normal with what is left of the variance,

which is far from normal where sigma rivals sqrt(e): its lower tail ends early. A normal law with the same
variance would throw most of the power away there, and one without the first term would not hold its level.

And sigma is not the same everywhere. Where few rows carry the difference, a sample that has too few of them
is both closer and less variable than its law: `noise_at` takes the variance where the margin is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.statistics.elementwise import larger, number, root, smaller, some
from nammd.statistics.tails import normal_below

_POINTS, _REACH = 801, 8.0

_MANY = 32
"""More laws at once are those of a forecast, which needs SciPy in any case."""


class NearZero(NamedTuple):
    """The law of an estimated squared distance.

    Attributes
    ----------
    centre : float
        The squared distance itself, at least zero.
    along : float
        The variance sigma² of the noise along the difference of the mean embeddings.
    rest : float
        The variance of what is left.
    degrees : float
        How well that variance is known, where random frequencies have a part in it; else infinite.
    counts : bool or array
        Of many pairs: where this law is the one that counts.
    """

    centre: float
    along: float
    rest: float
    degrees: float = math.inf
    counts: bool = True

    def below(self, value: float) -> float:
        """Return the probability of an estimate of at most `value`."""
        if isinstance(value, np.ndarray):
            return chances_below(value, *self[:4])
        return float(chances_below(np.array([value]), *self[:4])[0])

    def quantile(self, probability: float) -> float:
        """Return the value that an estimate is below with a given probability."""
        spread = math.sqrt(4 * self.centre * self.along + 2 * self.along**2 + max(self.rest, 0.0))
        low, high = self.centre - 12 * spread - self.along, self.centre + 12 * spread + 60 * self.along
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.below(middle) < probability else (low, middle)
        return (low + high) / 2


class Noise(NamedTuple):
    """The noise of one sample along the difference of the mean embeddings.

    Attributes
    ----------
    variance : float
        Of one row.
    size : float
        The rows.
    skewness : float
        Of one row, standardised; above zero where the rare rows are those farther from the other sample.
    """

    variance: float
    size: float
    skewness: float

    def unsigned(self, known: bool) -> Noise:
        """Return it for a sample that does not show in which direction it differs from the other.

        The sign of its skewness then says nothing. Nor does, against a margin that is `known`, what chance
        explains of its size: that of a normal sample has a standard error of the root of 6 over its size. An
        estimated margin is from such a sample too, and all of it counts.
        """
        chance = root(6 / self.size) if known else 0.0
        return self._replace(skewness=larger(abs(self.skewness) - chance, 0.0))


def noise_at(samples: Iterable[Noise], outward: float) -> float:
    """Return the variance along the difference, of both samples, where they are farther apart by `outward`.

    If a law is moved by reweighting its rows, its variance grows by the third cumulant over the variance per
    unit of its mean, as that of a rare value does with its share. The samples move as far as each is noisy.
    Only what adds caution counts.
    """
    samples = tuple(samples)
    total = sum(one.variance / one.size for one in samples)
    grown = total
    for one in samples:
        if some(total > 0):
            moved = outward * one.variance / one.size / total
            grown = grown + larger(one.skewness * root(one.variance) * moved, 0.0) / one.size
    return grown


def all_alike(size: float, outward: float, bound: float) -> float:
    """Bound the chance that all rows are equal though the law is farther from another by `outward`.

    A law with so much more to it has other rows too: a share s of them moves its mean embedding by at most s
    times the largest distance of two rows, the root of twice the kernel's largest value.
    """
    missed = smaller(abs(outward) / math.sqrt(2 * bound), 1.0)
    return number((1.0 - missed) ** size)


def chances_below(
    values: FloatArray,
    centre: FloatArray | float,
    along: FloatArray | float,
    rest: FloatArray | float,
    degrees: FloatArray | float = math.inf,
) -> FloatArray:
    """Return the probabilities of estimates of at most some values, each by its law; see `NearZero`."""
    laws = np.empty((5, len(values)))
    for law, each in zip(laws, (values, centre, along, rest, degrees), strict=True):
        law[:] = each
    points, found = _points_for(laws[0], *laws[2:]), np.empty(len(values))
    for count in set(points.tolist()):
        which = points == count
        found[which] = _chances(count, len(values) > _MANY, *(each[which, None] for each in laws))
    return found


def _chances(
    count: int,
    many: bool,
    values: FloatArray,
    centre: FloatArray,
    along: FloatArray,
    rest: FloatArray,
    degrees: FloatArray,
) -> FloatArray:
    """Return the probabilities by sums over so many points, or over the most where there is no rest."""
    points, weights = normal_grid(count or _POINTS, _REACH)
    excess = values - ((np.sqrt(centre) + np.sqrt(along) * points) ** 2 - along)
    if not count:
        return (excess >= 0) @ weights
    with np.errstate(under="ignore"):  # what is too small for a number is nothing
        return lower_tails(excess / np.sqrt(rest), degrees, many) @ weights


def _points_for(values: FloatArray, along: FloatArray, rest: FloatArray, degrees: FloatArray) -> NDArray[Any]:
    """Return how many points each sum over Z needs: as few as give the digits of the most; none without W.

    Sums over even points of what is as smooth as a normal law with standard deviation w are exact to 2e-14
    where the points are at most ``2 pi w / 8`` apart (by Poisson's formula). Here w is that of W in units of
    Z: over the largest slope of ``(sqrt(e) + sigma Z)²`` where it is within eight deviations of the value.
    """
    smooth = rest > 0
    deviation = np.sqrt(np.where(smooth, rest, 1.0))
    slope = 2 * np.sqrt(along * np.maximum(values + along + 8 * deviation, 0.0))
    needed = np.where(np.isinf(degrees), 2 * _REACH * 8 / (2 * math.pi) * slope / deviation, math.inf)
    few, some = _POINTS // 4 + 1, _POINTS // 2 + 1
    return np.where(smooth, np.where(needed < few, few, np.where(needed < some, some, _POINTS)), 0)


def lower_tails(scores: FloatArray, degrees: FloatArray | float, by_scipy: bool = False) -> FloatArray:
    """Return the probabilities of at most some scores, by the normal law or by Student's."""
    if np.isinf(degrees).all():
        return normal_below(scores, by_scipy)
    from scipy.special import stdtr

    tails: FloatArray = stdtr(degrees, scores)
    return tails


@cache
def normal_grid(points: int, reach: float) -> tuple[FloatArray, FloatArray]:
    """Return evenly spaced points and their weights under a standard normal law."""
    grid = np.linspace(-reach, reach, points)
    weights = np.exp(-(grid**2) / 2)
    return grid, weights / weights.sum()
