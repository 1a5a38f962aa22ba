"""What good data may show by chance, so that facts leave it alone."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nammd.explaining.facts import Chance
from nammd.statistics.tails import gamma_tails

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


def above_chance(now: Share, expected: float) -> bool:
    """Tell whether so many rows are no chance where a share is expected.

    >>> above_chance(Share(12, 100), 0.05), above_chance(Share(30, 100), 0.05)
    (False, True)
    """
    # Of groups there may be a part; it counts as the next smaller number.
    rows = math.floor(now.rows + 1e-6)
    # By Poisson's law there are so many or more with the probability that a gamma law has below.
    below, _ = gamma_tails(np.array([max(rows, 1.0)]), np.array([now.size * expected]))
    return rows > 0 and bool(below[0] <= RARE)


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
