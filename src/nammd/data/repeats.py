"""Rows that occur more than once: within a dataset, or in two of them.

A copy of a row is not a new observation. Data that are copied, or that are the same on both sides, look far
more certain than they are, so it has to be noticed.

All of it is done where the rows are, in the time of a sort; only counts leave a device.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import (
    Array,
    at_home,
    bits_of,
    in_one_place,
    is_spread,
    joined,
    like,
    namespace,
)
from nammd.data.ordering import stable_order
from nammd.data.threads import each_in_threads

Keys: TypeAlias = Array
"""Whole numbers of 64 bits, where the rows are."""

_CACHED, _ON_DEVICE = 1 << 16, 1 << 22
"""How many values are looked at together: as many as a cache holds, or as keep a device busy."""

_TOGETHER = 16
"""A thread looks at so many times as many."""

_MIX = 0x9E3779B97F4A7C15 - (1 << 64)
_SIGN = -(1 << 63)

MANY = 20
"""With fewer different rows, repetitions may be chance."""

_SURE = 2.0
"""So many standard deviations above what is expected is more than chance."""

DISTINCT = 0.9
"""Share of different rows from which on a row that occurs in both datasets is hardly chance."""


def row_keys(points: Array) -> Keys | None:
    """Return a number for every row, the same for the same rows; None where the rows are not at hand.

    The same rows have the same numbers in every library and on every device.

    >>> import numpy as np
    >>> keys = row_keys(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    if is_spread(points):
        return None
    rows, columns = points.shape
    factors = np.random.default_rng(0).integers(0, 2**63, columns, dtype=np.uint64)
    factors += factors + np.uint64(1)  # odd, so that no bit is lost
    here = isinstance(points, np.ndarray)
    step = max((_CACHED if here else _ON_DEVICE) // max(columns, 1), 1)

    def keys_from(start: int) -> list[Keys]:
        stop = min(start + _TOGETHER * step, rows)
        pieces = (points[k : min(k + step, stop), :] for k in range(start, stop, step))
        return [_keys_of(bits_of(piece), factors.view(np.int64)) for piece in pieces]

    starts = range(0, rows, _TOGETHER * step)
    each = each_in_threads(keys_from, starts, values=points.size if here else 0)
    return joined(list(chain.from_iterable(each))) if rows else np.empty(0, np.int64)


def _keys_of(bits: Array, factors: NDArray[np.int64]) -> Keys:
    """Return the numbers of some rows, given the bits of their values, which are used up."""
    _fold(bits, 29)  # numbers with few digits differ in their first bits only
    bits *= _MIX
    _fold(bits, 32)
    bits *= like(factors, bits)
    return namespace(bits).sum(bits, axis=1) ^ _SIGN  # in the order of numbers without a sign


def _fold(bits: Array, by: int) -> None:
    """Mix the first bits of numbers into their last ones."""
    high = bits >> by
    high &= (1 << (64 - by)) - 1  # the sign was shifted in
    bits ^= high


@dataclass(frozen=True, eq=False)
class KeyCounts:
    """The different rows of a dataset, and how often each is there.

    Attributes
    ----------
    values : array of int
        The keys of the different rows, in ascending order, where the rows are.
    counts : array of int
        How often each of them is there.
    """

    values: Keys
    counts: Array

    @classmethod
    def of(cls, ascending: Keys) -> KeyCounts:
        """Count keys that are in ascending order."""
        xp, size = namespace(ascending), int(ascending.shape[0])
        later = xp.nonzero(ascending[1:] != ascending[:-1])[0] + 1
        if xp is np and len(later) == size - 1:  # no row is there twice, as nearly always: nothing is stored
            return cls(ascending, np.broadcast_to(np.intp(1), size))
        first, end = (like(np.array([number]), later) for number in (0, size))
        first = joined([first, later])
        return cls(ascending[first], joined([first, end])[1:] - first)

    @classmethod
    def once_in_each(cls, keys: Keys, groups: NDArray[np.intp]) -> KeyCounts:
        """Count in how many groups each row is, given the keys of all rows and their groups.

        >>> import numpy as np
        >>> KeyCounts.once_in_each(np.array([7, 7, 7, 5]), np.array([0, 0, 1, 1])).counts
        array([1, 2])
        """
        labels = like(groups, keys)
        order = stable_order(labels)
        order = order[stable_order(keys[order])]
        keys, labels = keys[order], labels[order]
        again = (keys[1:] == keys[:-1]) & (labels[1:] == labels[:-1])
        return cls.of(joined([keys[:1], keys[1:][~again]]))

    @cached_property
    def common(self) -> WeakKeyDictionary[KeyCounts, int]:
        """What was found in common with others, for as long as these are there."""
        return WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "common"}

    @cached_property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    @property
    def different(self) -> int:
        """The number of different rows."""
        return int(self.values.shape[0])

    @property
    def may_be_chance(self) -> bool:
        """Whether other data could have the same rows by chance, because nearly all of them are alike."""
        return self.rows - int(self.counts.max()) < MANY

    @cached_property
    def copies(self) -> int:
        """How many times every row is there: 1, unless all of them are there a multiple of that often.

        >>> import numpy as np
        >>> KeyCounts.of(np.repeat(np.arange(30), 2)).copies
        2
        """
        if self.different < MANY or int(self.counts.min()) == 1:
            return 1
        every = KeyCounts.of(namespace(self.counts).sort(self.counts)).values  # few, however many rows
        return int(np.gcd.reduce(at_home(every)))

    def among(self, other: KeyCounts) -> Array:
        """Return how often each of these rows is in another dataset."""
        xp = namespace(self.values)
        where = xp.clip(xp.searchsorted(other.values, self.values), 0, other.different - 1)
        return other.counts[where] * (other.values[where] == self.values)

    def in_place_of(self, other: KeyCounts) -> tuple[KeyCounts, KeyCounts]:
        """Return both where they can be compared: as they are, or in NumPy if they live apart."""
        mine, theirs = in_one_place(self.values, other.values)
        if mine is self.values and theirs is other.values:
            return self, other
        return KeyCounts(mine, at_home(self.counts)), KeyCounts(theirs, at_home(other.counts))


def in_common(one: KeyCounts, other: KeyCounts) -> int:
    """Return how many rows of the other dataset are rows of the first, where that is hardly chance.

    Where many rows are alike within a dataset, as in a table of a few categories, the same row in both says
    nothing, and zero is returned. So does one that is in both no more than chance makes it. It is looked for
    once, however often one asks.

    >>> import numpy as np
    >>> x, y = (KeyCounts.of(np.arange(*ends)) for ends in ((0, 50), (40, 100)))
    >>> in_common(x, y)
    10
    """
    if other not in one.common:
        one.common[other] = _found_in_common(*one.in_place_of(other))
    return one.common[other]


def _found_in_common(one: KeyCounts, other: KeyCounts) -> int:
    for each in (one, other):
        if each.rows < MANY or each.different < DISTINCT * each.rows:
            return 0
    there = other.among(one)
    common = int((other.counts * (there > 0)).sum())
    return common if common and _more_than_chance(one, other, there) else 0


def _more_than_chance(one: KeyCounts, other: KeyCounts, there: Array) -> bool:
    """Tell whether more rows are in both of two datasets than independent draws would have.

    Take the rows that are there twice, both datasets together. Of two independent draws those with one in
    each are on average at most twice the root of the product of those with both in the first and with both in
    the second: exactly so if the laws are the same, fewer if not (Cauchy and Schwarz). Copies have one in
    each.
    """
    each = int(((other.counts == 1) & (there == 1)).sum())
    alone = [
        int(((own.counts == 2) & (elsewhere == 0)).sum())
        for own, elsewhere in ((one, one.among(other)), (other, there))
    ]
    if not any(alone):
        return True  # no row repeats by chance within a dataset, so none does between them
    high = [count + _SURE * count**0.5 + 1 for count in alone]  # what may well be expected
    expected = 2 * float(np.prod(high)) ** 0.5
    return bool(each > expected + _SURE * expected**0.5)
