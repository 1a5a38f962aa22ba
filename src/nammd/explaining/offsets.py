"""Whether all whole numbers of a column look as if they had been moved by one: an hour, an index, a code.

The rows of a candidate are far more probable under the shares of what is known, moved by one, than under
these as they are; and moved, little is left to explain. By the likelihood ratio, good data have this with a
probability of at most ``exp(-SURE)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.explaining.chance import Together
from nammd.views.counts import NumberCounts
from nammd.views.measure import Measure

SURE = 20.0
"""The logarithm of the likelihood ratio that is needed."""

LEAST_VALUES, MOST_WIDE = 6, 400

LEFT = 0.25
"""Moved, at most this share of what speaks against the known shares is left."""

_MIXTURES = (0.25, 0.5, 0.75)


def offset(
    measure: Measure, known: Sequence[NumberCounts], now: NumberCounts, together: Together
) -> str | None:
    """Return that values look as if they had been moved by one; else None.

    Parameters
    ----------
    measure : Measure
        The column.
    known : sequence of NumberCounts
        The reference and accepted datasets.
    now : NumberCounts
        The candidate.
    together : Together
        How many rows belong together.
    """
    every = [_whole(measure, each) for each in (*known, now)]
    tables = [each for each in every if each is not None]
    if len(tables) < len(every):
        return None
    start, end = min(values.min() for values, _ in tables), max(values.max() for values, _ in tables)
    if not LEAST_VALUES <= end - start + 1 <= MOST_WIDE:
        return None
    counts: list[FloatArray] = [
        np.bincount(values - start + 1, rows, end - start + 3).astype(np.float64) for values, rows in tables
    ]
    *before, seen = counts
    shares = [(each + 0.5) / (each + 0.5).sum() for each in before]
    still = [*shares, *(w * shares[0] + (1 - w) * other for w, other in product(_MIXTURES, shares[1:]))]
    first, last = int(np.flatnonzero(before[0])[0]), int(np.flatnonzero(before[0])[-1])
    best = max(_likelihood(seen, each) for each in still)
    utmost = _likelihood(seen, np.maximum(seen, 1e-300) / seen.sum())
    if utmost - best < SURE * together.now:  # no shares at all are that much more probable
        return None
    found = max(
        (_likelihood(seen, moved), step)
        for each in shares
        for step in (1, -1)
        for moved in (np.roll(each, step), _around(each, step, first, last))
    )
    ahead = (found[0] - best) / together.now
    # Shares of samples differ by chance, those of the reference and of the candidate.
    chance = 0.5 * np.count_nonzero(seen) * (together.now + seen.sum() / before[0].sum() * together.known)
    most = utmost - chance
    if ahead < SURE or LEFT * (most - best) < most - found[0]:
        return None
    return f"all values look as if they were {'1 higher' if found[1] > 0 else '1 lower'} than before"


def _whole(measure: Measure, counts: NumberCounts) -> tuple[NDArray[np.int64], FloatArray] | None:
    """Return the whole numbers of a column, and the rows of each; None where there are others."""
    if not counts.exact or len(counts.places) < 2 or measure.clock:
        return None
    first = measure.value(float(counts.places[0]))
    if abs(first - round(first)) > 1e-6:  # as of most columns; then the others need not be looked at
        return None
    values = measure.values(counts.places)
    whole = np.rint(values)
    if (np.abs(values - whole) > 1e-6).any() or np.abs(whole).max() > 1e9:
        return None
    return whole.astype(np.int64), counts.rows


def _around(shares: FloatArray, step: int, first: int, last: int) -> FloatArray:
    """Return shares that are moved as on a clock: what leaves at one end comes back at the other."""
    moved = shares.copy()
    moved[first : last + 1] = np.roll(shares[first : last + 1], step)
    return moved


def _likelihood(rows: FloatArray, shares: FloatArray) -> float:
    return float(rows @ np.log(shares))
