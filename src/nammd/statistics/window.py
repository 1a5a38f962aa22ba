"""The last batches together: proven to be within the tolerance, or beyond, where none of them is by itself.

What is tested is the mean of ``U = MMD2 - eps D`` over the batches, each with its rows as weight. MMD2 is
convex and D concave in the law of the batch, so the law of all their rows together is within wherever that
mean is: "within" is about the rows of the window taken as one dataset. "Beyond" says that the batches are on
average, so at least one of them.

"Within" takes from every batch what its own test says, ``-deviation * quantile(p)``: that p-value pays for
the fit of the nearest mixture and for skewness. "Beyond" takes U itself, which the fit only makes smaller.
Errors of the batches are independent given the reference. Those of the reference and of random features are
the same in all of them, never average out, and are added as they are.

A window that grows is tested several times, so its level is shared: each of the lengths that are looked at
has the same part of it (Bonferroni), however many batches there are so far. So on any day "within" is said
falsely with at most that probability, and "beyond" too, however the batches depend on each other's past.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray

Flags: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.bool_]]"
Counts: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int_]]"

SURE = 1e-15
"""P-values are taken to be no nearer to zero or one than this."""


def lengths(most: int) -> tuple[int, ...]:
    """Return how many batches are looked at together: from two on, each length about 1.4 times the last.

    >>> lengths(30), lengths(5), lengths(1)
    ((2, 3, 4, 6, 8, 12, 16, 24, 30), (2, 3, 4, 5), ())
    """
    found = [
        each for k in range(1, most.bit_length() + 1) for each in (2**k, 3 * 2 ** (k - 1)) if each < most
    ]
    return (*sorted(found), most) if most > 1 else ()


@dataclass(frozen=True)
class Batches:
    """What the tests of a window need of every batch, in their order.

    Attributes
    ----------
    u, given : array of shape (batches,)
        ``U = MMD2 - eps D``, and its standard deviation over draws of the batch alone.
    pvalue, deviation : array of shape (batches,)
        The p-value of "within", and the standard deviation that its test divides by.
    shared : array of shape (batches, errors)
        The standard deviations of U by errors that are the same in every batch.
    rows : array of shape (batches,)
        How many rows there are.
    apart : array of bool of shape (batches,)
        The batches that no window may reach across: what they show by themselves is told of them alone.
    doubtful : array of bool of shape (batches,)
        Those that no window of "within" may reach across: some view of them is in doubt.
    """

    u: FloatArray
    given: FloatArray
    pvalue: FloatArray
    deviation: FloatArray
    shared: FloatArray
    rows: FloatArray
    apart: Flags
    doubtful: Flags


@dataclass(frozen=True)
class Proven:
    """What the window that ends at each batch proves.

    Attributes
    ----------
    side : array of int
        -1 where the batches together are within the tolerance, 1 where they are beyond, 0 where it is open.
    length : array of int
        How many batches the shortest window has that proves it; 0 where it is open.
    """

    side: Counts
    length: Counts


def proven(batches: Batches, levels: FloatArray, most: int) -> Proven:
    """Grow a window backwards from every batch, until it proves something.

    Parameters
    ----------
    batches : Batches
        The batches in their order.
    levels : array of shape (batches,)
        The level of all looks that end at a batch together, for each of the two claims.
    most : int
        How many batches a window has at most.

    Returns
    -------
    Proven

    Examples
    --------
    >>> import numpy as np
    >>> from nammd.statistics.window import Batches, proven
    >>> one, none = np.ones(6), np.zeros(6)
    >>> no = none > 0
    >>> quiet = Batches(-1.6 * one, one, 0.055 * one, one, none[:, None], 100 * one, no, no)
    >>> proven(quiet, 0.05 * one, 30).length
    array([0, 0, 3, 3, 3, 3])
    """
    count = len(batches.u)
    side, length = np.zeros(count, int), np.zeros(count, int)
    looks = lengths(most)
    if not count or not looks:
        return Proven(side, length)
    usable = ~batches.apart & (batches.given > 0) & np.isfinite(batches.pvalue) & np.isfinite(batches.u)
    weights = np.where(usable, batches.rows, 0.0)

    def weighted(values: FloatArray) -> FloatArray:
        return weights * np.where(usable, values, 0.0)

    likely = np.where(usable, np.clip(batches.pvalue, SURE, 1 - SURE), 0.5)
    scores = -batches.deviation * _quantiles(likely)
    needed = np.stack(
        [
            *(weighted(scores), ~usable | batches.doubtful),
            *(weighted(batches.u), ~usable),
            weighted(batches.given) ** 2,
            *(weighted(each) for each in batches.shared.T),
        ]
    )
    each, where = np.unique(levels, return_inverse=True)
    line = -_quantiles(each / len(looks))[where]
    for look in looks:
        if look > count:
            break
        ends = slice(look - 1, None)
        within, doubts, beyond, unusable, variances, *shared = _sums(needed, look)
        error = np.sqrt(variances + sum(each**2 for each in shared))
        for sign, values, against in ((-1, within, doubts), (1, beyond, unusable)):
            looked_at = (length[ends] == 0) & (against == 0) & (error > 0)
            found = looked_at & (values >= line[ends] * error)
            side[ends][found], length[ends][found] = sign, look
    return Proven(side, length)


def _quantiles(probabilities: FloatArray) -> FloatArray:
    """Return normal quantiles; without SciPy, which a look at a history has no other use for."""
    return np.fromiter(map(NormalDist().inv_cdf, probabilities.tolist()), float, len(probabilities))


def _sums(rows: FloatArray, look: int) -> FloatArray:
    """Return the sums of so many neighbours in rows; as differences of longer sums they would lose digits."""
    found: FloatArray = np.lib.stride_tricks.sliding_window_view(rows, look, axis=1).sum(axis=-1)
    return found
