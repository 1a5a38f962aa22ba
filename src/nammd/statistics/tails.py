"""The few laws that every check needs: tails of the normal law and of gamma laws, and normal scores.

SciPy has them all, and importing them takes a fifth of a second, a good part of a small check from the shell.
So numbers by the hundred are computed here, to the last digits; more of them by SciPy, which is quicker then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from nammd.data.arrays import FloatArray

MOST = 1 << 15
"""So many numbers are computed one by one; of more, SciPy's import is worth its time."""

_LARGE_SHAPE = 2e3
"""From here on a gamma law takes many terms, and digits."""

_AT_ONCE = 4
"""So many terms are added before the next look at how small they are."""


def _each(function: Callable[[float], float], values: FloatArray) -> FloatArray:
    """Return a function of every value; this is twice as quick as what `numpy.frompyfunc` makes of it."""
    return np.fromiter(map(function, values.ravel().tolist()), np.float64, values.size).reshape(values.shape)


def normal_below(scores: FloatArray, by_scipy: bool = False) -> FloatArray:
    """Return the probabilities of at most some scores, by the standard normal law.

    >>> import numpy as np
    >>> normal_below(np.array([0.0, 1.6448536269514722])).round(12)
    array([0.5 , 0.95])
    """
    if by_scipy or scores.size > MOST:
        from scipy.special import ndtr

        many: FloatArray = ndtr(scores)
        return many
    return _each(math.erfc, scores * -math.sqrt(0.5)) / 2


def normal_scores(shares: FloatArray) -> FloatArray:
    """Return the scores that the standard normal law has so much below; shares are within 0 and 1.

    >>> import numpy as np
    >>> normal_scores(np.array([0.5, 0.95])).round(6)
    array([0.      , 1.644854])
    """
    return _each(NormalDist().inv_cdf, shares)


def gamma_tails(shape: FloatArray, place: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities below and above some places, by gamma laws of some shapes and of scale 1.

    >>> import numpy as np
    >>> below, above = gamma_tails(np.array([1.0, 2.0]), np.array([1.0, 20.0]))
    >>> below.round(6)
    array([0.632121, 1.      ])
    >>> f"{above[1]:.12g}"  # exp(-20) * 21, to its own digits
    '4.32842260712e-08'
    """
    if shape.size > MOST or float(shape.max(initial=0.0)) > _LARGE_SHAPE:
        from scipy.special import gammainc, gammaincc

        return gammainc(shape, place), gammaincc(shape, place)
    place = np.minimum(place, 1e300)  # nothing is left above that
    left = place < shape + 1
    with np.errstate(divide="ignore", under="ignore"):
        # At zero the logarithm is minus infinity, and the density zero, as it should be.
        density = np.exp(shape * np.log(place) - place - _each(math.lgamma, shape))
    below, above = np.zeros(shape.shape), np.zeros(shape.shape)
    below[left] = density[left] * _series(shape[left], place[left])
    above[left] = 1 - below[left]
    above[~left] = density[~left] * _fraction(shape[~left], place[~left])
    below[~left] = 1 - above[~left]
    return below, above


def _series(shape: FloatArray, place: FloatArray) -> FloatArray:
    """Return ``1/a + x/(a(a+1)) + ...``, which ends soon where x is at most about a."""
    term = 1 / shape
    total, at = term.copy(), shape.copy()
    while (term > 1e-17 * total).any():
        for _ in range(_AT_ONCE):
            at += 1
            term = term * place / at
            total += term
    return total


def _fraction(shape: FloatArray, place: FloatArray) -> FloatArray:
    """Return the continued fraction ``1/(x+1-a- 1(1-a)/(x+3-a- ...))``, which ends soon where x is above a.

    Its denominators stay well away from zero there, so it can be built from the front (Lentz).
    """
    odd = place + 1 - shape
    front, back = np.full(odd.shape, np.inf), 1 / odd
    total, change, number = back.copy(), np.zeros(odd.shape), 0
    while number == 0 or (np.abs(change - 1) > 1e-15).any():
        for _ in range(_AT_ONCE):
            number += 1
            step = number * (shape - number)
            odd = odd + 2
            back = 1 / (odd + step * back)
            front = odd + step / front
            change = front * back
            total *= change
    return total
