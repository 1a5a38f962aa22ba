"""What good data may show by chance, so that facts leave it alone."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import pdtrc

RARE = 1e-5
"""What is so improbable for good data is no chance."""

HARDLY = 1e-3
"""And what is so improbable by a bound that is far too large."""

MORE = 3.0
"""So many times as common is much more common."""


class Share(NamedTuple):
    """Some of all rows."""

    rows: float
    size: int

    @property
    def value(self) -> float:
        """The share."""
        return self.rows / max(self.size, 1)

    @property
    def at_most(self) -> float:
        """The share as large as it may well be, since these rows are some of all that might have been."""
        return (self.rows + 3 * math.sqrt(self.rows) + 4) / max(self.size, 1)


def above_chance(now: Share, expected: float) -> bool:
    """Tell whether so many rows are no chance where a share is expected.

    >>> above_chance(Share(12, 100), 0.05), above_chance(Share(30, 100), 0.05)
    (False, True)
    """
    return now.rows > 0 and bool(pdtrc(now.rows - 1, now.size * expected) <= RARE)


def much_more(now: Share, before: Share) -> bool:
    """Tell whether a share is far larger than before, and not by chance."""
    return now.value >= MORE * before.value and above_chance(now, before.at_most)


def never_so_far(now: Share, before: int, level: float = RARE) -> bool:
    """Tell whether rows are no chance, where none of so many rows before was beyond some value as they are.

    If both were drawn alike, any of all the rows could as well be the outermost.

    >>> never_so_far(Share(3, 100), 100), never_so_far(Share(30, 100), 100)
    (False, True)
    """
    return now.rows * math.log(now.size / (now.size + before)) <= math.log(level)
