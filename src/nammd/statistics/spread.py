"""How a distance varies over the random frequencies that its kernel was approximated by: `Spread`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.side import along


@dataclass(frozen=True, eq=False)
class Spread:
    """How MMD2 and D vary over the random frequencies that a kernel was approximated by.

    Both are means over frequencies, drawn independently of one another. So the variance over them tells
    how far the exact kernel's values may be.

    Attributes
    ----------
    mmd2, denominator : array of shape (J,)
        Both for every frequency by itself, unbiased.
    carriers : float
        How many frequencies carry the distance, or the mean kernel values, whichever are fewer; see
        `effective_number`. The variance is known as well as from so many.
    """

    mmd2: FloatArray = field(repr=False)
    denominator: FloatArray = field(repr=False)
    carriers: float

    def degrees_of_freedom(self, due: float, total: float) -> float:
        """Return how well a variance is known, of which a part is due to frequencies, after Welch."""
        return max(self.carriers - 1.0, 1.0) * (total / due) ** 2 if due > 0 else float("inf")

    def variance(self, eps: float) -> float:
        """Return the variance of ``MMD2 - eps D`` that is due to the frequencies."""
        weights = np.stack([np.ones_like(eps), -eps], axis=-1)
        return along(self._covariance, weights)

    def third_cumulant(self, eps: float) -> float:
        """Return the third cumulant of ``MMD2 - eps D`` that is due to the frequencies."""
        values = self.mmd2 - eps * self.denominator
        return float(np.mean((values - values.mean()) ** 3)) / len(values) ** 2

    @cached_property
    def _covariance(self) -> FloatArray:
        covariance: FloatArray = np.cov(self.mmd2, self.denominator) / len(self.mmd2)
        return covariance


def frequency_error(one: FloatArray, two: FloatArray, value: float, scale: float, together: int) -> float:
    """Return the standard error of a distance read as that of the kernel which its features stand for.

    Blocks of frequencies are independent of each other and in the order of their lengths. So half the squared
    differences of neighbouring ones tell how they vary by chance; the trend along the lengths, which strata
    do not leave to chance, drops out.

    Parameters
    ----------
    one, two : array of shape (J, 2)
        The mean features of two samples: cosine and sine of each frequency.
    value, scale : float
        The distance, and its denominator.
    together : int
        How many frequencies are a block.
    """
    count = len(one) // together
    if count < 2:
        return float("nan")
    each = ((one - two) ** 2 + value * (one**2 + two**2)).sum(axis=1) * len(one)
    blocks = each[: count * together].reshape(count, together).mean(axis=1)
    return math.sqrt(float(np.mean(np.diff(blocks) ** 2)) / 2 / count) / scale


def effective_number(weights: FloatArray) -> float:
    """Return how many equal parts would be as uneven as these parts of a whole, none of them negative.

    >>> import numpy as np
    >>> [round(effective_number(np.array(parts)), 2) for parts in ([1.0, 1.0, 0.0], [9.0, 0.1, 0.1])]
    [2.0, 1.04]
    """
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares > 0 else float(len(weights))


def frequency_variance(
    first: Spread, second: Spread, scales: tuple[float, float], eps: tuple[float, float]
) -> float:
    """Return the variance over frequencies of the difference of two distances."""
    difference = _by_frequency(first, second, scales, eps)
    return float(np.var(difference, ddof=1)) / len(difference)


def frequency_cubic(
    first: Spread, second: Spread, scales: tuple[float, float], eps: tuple[float, float]
) -> float:
    """Return the third cumulant over frequencies of the difference of two distances."""
    difference = _by_frequency(first, second, scales, eps)
    return float(np.mean((difference - difference.mean()) ** 3)) / len(difference) ** 2


def _by_frequency(
    first: Spread, second: Spread, scales: tuple[float, float], eps: tuple[float, float]
) -> FloatArray:
    one, two = (
        (spread.mmd2 - e * spread.denominator) / scale
        for spread, e, scale in zip((first, second), eps, scales, strict=True)
    )
    return two - one
