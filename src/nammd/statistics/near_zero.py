"""The law of a distance near zero.

MMD² is the squared length of ``mu + noise`` less its mean, mu being the difference of the two mean
embeddings. Along mu the noise is normal. So an estimate of a distance e varies like

    (sqrt(e) + sigma Z)² - sigma² + W,        Z standard normal, W normal with what is left of the variance,

which is far from normal where sigma rivals sqrt(e): its lower tail ends early. A normal law with the same
variance would throw most of the power away there, and one without the first term would not hold its level.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from nammd.data.arrays import FloatArray

_POINTS, _REACH = 801, 8.0


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
    """

    centre: float
    along: float
    rest: float
    degrees: float = math.inf

    def below(self, value: float) -> float:
        """Return the probability of an estimate of at most `value`."""
        points, weights = normal_grid(_POINTS, _REACH)
        excess = value - self._moved(points)
        if self.rest <= 0:
            return float(weights @ (excess >= 0))
        with np.errstate(under="ignore"):  # what is too small for a number is nothing
            return float(weights @ lower_tails(excess / math.sqrt(self.rest), self.degrees))

    def quantile(self, probability: float) -> float:
        """Return the value that an estimate is below with a given probability."""
        spread = math.sqrt(4 * self.centre * self.along + 2 * self.along**2 + max(self.rest, 0.0))
        low, high = self.centre - 12 * spread - self.along, self.centre + 12 * spread + 60 * self.along
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.below(middle) < probability else (low, middle)
        return (low + high) / 2

    def _moved(self, points: FloatArray) -> FloatArray:
        moved: FloatArray = (math.sqrt(self.centre) + math.sqrt(self.along) * points) ** 2 - self.along
        return moved


def lower_tails(scores: FloatArray, degrees: float) -> FloatArray:
    """Return the probabilities of at most some scores, by the normal law or by Student's."""
    from scipy.special import ndtr, stdtr

    tails: FloatArray = ndtr(scores) if math.isinf(degrees) else stdtr(degrees, scores)
    return tails


@cache
def normal_grid(points: int, reach: float) -> tuple[FloatArray, FloatArray]:
    """Return evenly spaced points and their weights under a standard normal law."""
    grid = np.linspace(-reach, reach, points)
    weights = np.exp(-(grid**2) / 2)
    return grid, weights / weights.sum()
