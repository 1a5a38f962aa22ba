"""What good data may show by chance, so that facts leave it alone."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from nammd.statistics.tails import gamma_tails

Chance: TypeAlias = Literal["none", "possible", "likely"]
"""Whether good data could have something by chance."""

RARE = 1e-5
"""What is so improbable for good data is no chance."""

HARDLY = 1e-3
"""And what is so improbable by a bound that is far too large."""

USUAL = 0.05
"""What is more probable is usual."""

MORE = 3.0
"""So many times as common is much more common."""


class Share(NamedTuple):
    """Some of all rows, or of all groups where rows belong together."""

    rows: float
    size: float

    def per(self, together: float) -> Share:
        """Return the same share of so many times fewer: of groups of so many rows."""
        return Share(self.rows / together, self.size / together)

    @property
    def value(self) -> float:
        """The share."""
        return self.rows / max(self.size, 1)

    def at_most(self, spare: float = 4.0) -> float:
        """Return the share as large as it may well be: these rows are some of all that might have been."""
        return (self.rows + 3 * math.sqrt(self.rows) + spare) / max(self.size, 1)


class Together(NamedTuple):
    """How many rows belong together, in what is known and in the candidate: they are as one."""

    known: float = 1.0
    now: float = 1.0


class Counted(NamedTuple):
    """Rows that good data may have too: how many there are, and how many are no news.

    Attributes
    ----------
    now : Share
        The rows.
    expected : float
        The share that good data may have, as large as it may well be.
    none_of : float
        How many rows were looked at before where none was like that; 0 where some were, as expected.
    """

    now: Share
    expected: float = 0.0
    none_of: float = 0.0

    def pvalue(self, allowed: float) -> float:
        """Return the p-value of "more than what is expected and a share that is allowed".

        What is expected and allowed are rows by Poisson's law. Where none was seen before there are also the
        most extreme rows of good data: if both samples were drawn alike, each of these is one of the
        candidate's with the same probability. Their number is added, by a geometric law.

        >>> rows = Share(12, 400)
        >>> [round(Counted(rows, none_of=1000).pvalue(allowed), 6) for allowed in (0.0, 0.01, 0.02)]
        [0.0, 0.00261, 0.144826]
        """
        rows, mean = math.floor(self.now.rows + 1e-6), self.now.size * (self.expected + allowed)
        if rows <= mean:
            return 1.0
        found = _at_least(rows, mean)
        if self.none_of:
            chance = self.now.size / (self.now.size + self.none_of)
            _, left = gamma_tails(np.array([float(rows)]), np.array([mean / chance]))
            if left[0] <= 0.0:
                return 1.0
            found += math.exp(rows * math.log(chance) + mean * (1 / chance - 1) + math.log(left[0]))
        return min(found, 1.0)


def _at_least(rows: float, mean: float) -> float:
    """Return the probability of so many rows or more by Poisson's law: what a gamma law has below."""
    below, _ = gamma_tails(np.array([max(rows, 1.0)]), np.array([mean]))
    return float(below[0])


def above_chance(now: Share, expected: float) -> bool:
    """Tell whether so many rows are no chance where a share is expected.

    >>> above_chance(Share(12, 100), 0.05), above_chance(Share(30, 100), 0.05)
    (False, True)
    """
    # Of groups there may be a part; it counts as the next smaller number.
    rows = math.floor(now.rows + 1e-6)
    return rows > 0 and _at_least(rows, now.size * expected) <= RARE


def much_more(now: Share, before: Share, spare: float = 4.0) -> bool:
    """Tell whether a share is far larger than before, and not by chance."""
    return now.value >= MORE * before.value and above_chance(now, before.at_most(spare))


def never_so_far(now: Share, before: float, level: float = RARE) -> Chance:
    """Tell whether rows may be chance, where none of so many rows before was like that.

    If both were drawn alike, any of all the rows could as well be those that are.

    >>> [never_so_far(Share(rows, 100), 100) for rows in (3, 10, 30)]
    ['likely', 'possible', 'none']
    """
    chance = math.exp(now.rows * math.log(now.size / (now.size + before)))
    return "none" if chance <= level else "possible" if chance <= USUAL else "likely"
