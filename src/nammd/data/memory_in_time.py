"""What a series remembers: its season, and whether what it remembers fades fast enough for blocks.

All of it is measured on the ranks of a series, which outliers do not move.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray

FEWEST_ROWS = 50
"""Of a shorter series neither a season nor a long memory can be told from chance."""

SHORTEST_PERIOD = 4
"""Shorter seasons are within the lags that the rule for the length of a block looks at anyway."""

LEAST_SEASON = 0.1
"""A season whose correlation is smaller does not matter, however surely it is found."""

DOUBT, SURE = 2.5, 4.0
"""Twice the gain in log-likelihood by a slow decay from which on blocks are longer, and as long as can be. An
autoregressive series has more than the second in one of 40 cases, with correlations of .7 to .9 in one of
20."""

FREQUENCIES = 200
"""So many of the lowest frequencies tell how the memory fades: what is faster is shorter than any block."""

_MULTIPLES, _MOST_MULTIPLES = 3, 100
_DECAYS = np.linspace(0.0, 0.49, 15)
_STEP = 0.15
_CORRELATIONS = np.arange(-0.75, 0.95, _STEP)
_MOST_CORRELATED, _ZOOMS = 0.995, 5


class Decay(NamedTuple):
    """How the memory of a series fades: correlations like those of fractional noise that is autoregressive.

    Attributes
    ----------
    evidence : float
        Twice the gain in log-likelihood over a memory that fades exponentially; 0 where there is none.
    power : float
        The order d of the fractional noise: at long lags k correlations fade like k^(2d - 1).
    correlation : float
        What a row has from the one before in the model without fractional noise.
    """

    evidence: float
    power: float
    correlation: float


FORGETFUL = Decay(0.0, 0.0, 0.0)


def ranked(series: FloatArray) -> FloatArray:
    """Return the ranks of a series about their mean; ties have the mean of theirs."""
    _, place, counts = np.unique(series, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place.reshape(-1)]
    centred: FloatArray = ranks - ranks.mean()
    return centred


def correlations(centred: FloatArray, most: int) -> FloatArray:
    """Return the autocorrelations of a centred series from lag 0 up to a largest one."""
    from scipy.fft import irfft, next_fast_len, rfft

    padded = next_fast_len(len(centred) + most + 1, real=True)
    products = irfft(np.abs(rfft(centred, padded)) ** 2, padded)[: most + 1]
    found: FloatArray = products / products[0]
    return found


def period_of(columns: Sequence[FloatArray], longest: int) -> int:
    """Return the period of the season that the columns of a series have, in rows; 0 where there is none.

    What a row has from the one before is taken off first. Then a season shows in correlations at multiples of
    its period that are above those at the lags around by more than chance explains, over all periods that
    were tried: at the first three, or, where it never changes, at all of them.

    Parameters
    ----------
    columns : sequence of arrays
        Ranks of columns about their mean.
    longest : int
        The longest period to look for.
    """
    if longest < SHORTEST_PERIOD or not columns or len(columns[0]) < FEWEST_ROWS:
        return 0
    periods = np.arange(SHORTEST_PERIOD, longest + 1)
    bar = 1.0 + math.sqrt(2 * math.log(2 * len(periods) * len(columns)))
    best, most = 0, 0.0
    for column in columns:
        score, first = _seasons(column, periods)
        stands_out = (score > bar) & (first > max(LEAST_SEASON, 2 / math.sqrt(len(column))))
        found = np.where(stands_out, score, 0.0)
        if found.max() > most:
            best, most = int(periods[_smallest(score, first, int(found.argmax()))]), float(found.max())
    return best


def _seasons(centred: FloatArray, periods: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
    """Return how far the multiples of each period stand out together, in errors, and the first by itself."""
    before = float(centred[1:] @ centred[:-1]) / float(centred @ centred)
    fresh = centred[1:] - before * centred[:-1]
    fresh = fresh - fresh.mean()
    n = len(fresh)
    if not float(fresh @ fresh) > 1e-9 * float(centred @ centred):
        return np.zeros(len(periods)), np.zeros(len(periods))
    # A period has as many multiples as half of the rows, and the lags around the last one, have room for.
    most = n // 2
    lags = correlations(fresh, most)
    sums = np.r_[0.0, np.cumsum(lags)]
    total, used, first, score = np.zeros((4, len(periods)))
    for multiple in range(1, min(_MOST_MULTIPLES, most // int(periods[0])) + 1):
        lag = multiple * periods
        start, stop = lag - periods // 2, lag - periods // 2 + periods
        fits = stop <= most + 1
        lag, start, stop = (np.where(fits, each, 1) for each in (lag, start, stop))
        around = (sums[stop] - sums[start]) / np.maximum(stop - start, 1)
        above = np.where(fits, lags[lag] - around, 0.0)
        first = above if multiple == 1 else first
        total += above
        used += fits
        if multiple == _MULTIPLES:
            score = total / np.sqrt(np.maximum(used, 1))
    return math.sqrt(n) * np.maximum(score, total / np.sqrt(np.maximum(used, 1))), first


def _smallest(score: FloatArray, first: FloatArray, best: int) -> int:
    """Return the place of the season itself where twice or three times it stands out most."""
    period = best + SHORTEST_PERIOD
    for parts in range(period // SHORTEST_PERIOD, 1, -1):
        centre = round(period / parts) - SHORTEST_PERIOD
        near = np.arange(max(centre - 1, 0), min(centre + 2, len(score)))
        place = int(near[score[near].argmax()])
        if score[place] > 0.8 * score[best] and first[place] > 0.6 * first[best]:
            return place
    return best


def without_season(centred: FloatArray, period: int) -> FloatArray:
    """Return a series without what it has in common with all seasons."""
    phase = np.arange(len(centred)) % period
    means = np.bincount(phase, weights=centred) / np.bincount(phase)
    left: FloatArray = centred - means[phase]
    return left


def between_seasons(left: FloatArray, period: int) -> float:
    """Return the correlation of a row with the one a season before, of a series `without_season`.

    Taking off the mean of so few seasons makes it too small, which is mended (Kendall, 1954).
    """
    seasons, power = len(left) / period, float(left @ left)
    if not power > 0 or seasons <= 4:
        return 0.0
    found = float(left[period:] @ left[:-period]) / power * seasons / (seasons - 1)
    return min(max((found + 1 / seasons) / (1 - 3 / seasons), 0.0), 0.99)


def decay_of(centred: FloatArray) -> Decay:
    """Return how the memory of a series fades, by Whittle's likelihood.

    Parameters
    ----------
    centred : array
        Ranks of a column about their mean.
    """
    n = len(centred)
    if n < FEWEST_ROWS or not float(centred @ centred) > 0:
        return FORGETFUL
    half = min(n // 2, FREQUENCIES)
    waves = 2 * np.pi * np.arange(1, half + 1) / n
    power = np.abs(np.fft.rfft(centred)[1 : half + 1]) ** 2
    slow = -2 * _DECAYS[:, None, None] * np.log(2 * np.sin(waves / 2))
    ahead, step = np.tile(_CORRELATIONS, (len(_DECAYS), 1)), _STEP
    rows = np.arange(len(_DECAYS))
    for _ in range(_ZOOMS):  # one that is known coarsely would seem a slow decay
        each = ahead[:, :, None]
        spectra = slow - np.log(1 - 2 * each * np.cos(waves) + each**2)
        fit = -spectra.sum(axis=2) - half * np.log(np.exp(-spectra) @ power)
        places = fit.argmax(axis=1)
        found, fitted = ahead[rows, places], fit[rows, places]
        ahead = np.clip(found[:, None] + step * np.linspace(-1, 1, 9), -_MOST_CORRELATED, _MOST_CORRELATED)
        step /= 4
    best = int(fitted.argmax())
    return Decay(2 * float(fitted[best] - fitted[0]), float(_DECAYS[best]), float(found[0]))
