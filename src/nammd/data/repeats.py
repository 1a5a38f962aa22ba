"""Rows that occur more than once: within a dataset, or in two of them.

A copy of a row is not a new observation. Data that are copied, or that are the same on both sides, look far
more certain than they are, so it has to be noticed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, is_spread, to_numpy

Keys = NDArray[np.uint64]

_CHUNK = 1 << 17  # numbers at a time: no more than fit into the cache of a processor
_MIX = np.uint64(0x9E3779B97F4A7C15)

MANY = 20
"""With fewer different rows, repetitions may be chance."""

_SURE = 2.0
"""So many standard deviations above what is expected is more than chance."""

DISTINCT = 0.9
"""Share of different rows from which on a row that occurs in both datasets is hardly chance."""


def row_keys(points: Array) -> Keys | None:
    """Return a number for every row, the same for the same rows; None where the rows are not at hand.

    >>> import numpy as np
    >>> keys = row_keys(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    if is_spread(points):
        return None
    values = to_numpy(points)
    rows, columns = values.shape
    factors = np.random.default_rng(0).integers(0, 2**63, columns, dtype=np.uint64)
    factors += factors + np.uint64(1)  # odd, so that no bit is lost
    keys = np.empty(rows, dtype=np.uint64)
    step = max(_CHUNK // max(columns, 1), 1)
    for start in range(0, rows, step):
        part = np.ascontiguousarray(values[start : start + step] + 0.0, dtype=np.float64)  # -0 is 0
        bits = part.view(np.uint64)
        bits ^= bits >> np.uint64(29)  # numbers with few digits differ in their first bits only
        bits *= _MIX
        bits ^= bits >> np.uint64(32)
        keys[start : start + step] = bits @ factors
    return keys


@dataclass(frozen=True, eq=False)
class KeyCounts:
    """The different rows of a dataset, and how often each is there.

    Attributes
    ----------
    values : array
        The keys of the different rows, in ascending order.
    counts : array of int
        How often each of them is there.
    """

    values: Keys
    counts: NDArray[np.intp]

    @classmethod
    def of(cls, ascending: Keys) -> KeyCounts:
        """Count keys that are in ascending order."""
        first = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
        return cls(ascending[first], np.diff(np.append(first, len(ascending))))

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    @property
    def may_be_chance(self) -> bool:
        """Whether other data could have the same rows by chance, because nearly all of them are alike."""
        return bool(self.rows - self.counts.max() < MANY)

    @property
    def copies(self) -> int:
        """How many times every row is there: 1, unless all of them are there a multiple of that often.

        >>> import numpy as np
        >>> KeyCounts.of(np.repeat(np.arange(30, dtype=np.uint64), 2)).copies
        2
        """
        return int(np.gcd.reduce(self.counts)) if len(self.counts) >= MANY else 1

    def among(self, other: KeyCounts) -> NDArray[np.intp]:
        """Return how often each of these rows is in another dataset."""
        where = np.minimum(np.searchsorted(other.values, self.values), len(other.values) - 1)
        found: NDArray[np.intp] = np.where(other.values[where] == self.values, other.counts[where], 0)
        return found


def in_common(one: KeyCounts, other: KeyCounts) -> int:
    """Return how many rows of the other dataset are rows of the first, where that is hardly chance.

    Where many rows are alike within a dataset, as in a table of a few categories, the same row in both says
    nothing, and zero is returned. So does one that is in both no more than chance makes it.

    >>> import numpy as np
    >>> x, y = (KeyCounts.of(np.arange(*ends, dtype=np.uint64)) for ends in ((0, 50), (40, 100)))
    >>> in_common(x, y)
    10
    """
    for each in (one, other):
        if each.rows < MANY or len(each.values) < DISTINCT * each.rows:
            return 0
    there = other.among(one)
    common = int(other.counts[there > 0].sum())
    return common if common and _more_than_chance(one, other, there) else 0


def _more_than_chance(one: KeyCounts, other: KeyCounts, there: NDArray[np.intp]) -> bool:
    """Tell whether more rows are in both of two datasets than independent draws would have.

    Take the rows that are there twice, both datasets together. Of two independent draws those with one in
    each are on average at most twice the root of the product of those with both in the first and with both in
    the second: exactly so if the laws are the same, fewer if not (Cauchy and Schwarz). Copies have one in
    each.
    """
    each = int(np.count_nonzero((other.counts == 1) & (there == 1)))
    alone = [
        int(np.count_nonzero((own.counts == 2) & (elsewhere == 0)))
        for own, elsewhere in ((one, one.among(other)), (other, there))
    ]
    if not any(alone):
        return True  # no row repeats by chance within a dataset, so none does between them
    high = [count + _SURE * count**0.5 + 1 for count in alone]  # what may well be expected
    expected = 2 * float(np.prod(high)) ** 0.5
    return bool(each > expected + _SURE * expected**0.5)
