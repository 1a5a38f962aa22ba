"""Single values that far more rows have than before: defaults, codes, columns that are cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.explaining.chance import MORE, Counted, Share, Together, above_chance, much_more
from nammd.views.counts import NumberCounts
from nammd.views.lattice import STEP

LEAST_SHARE, LEAST_ROWS = 0.005, 8
"""Fewer rows at one value are not looked at."""

SPARE = 10.0
"""Of many values one may be rarer so far than it should be."""

AROUND = 8.5
"""So many points of the lattice to either side are around a value."""

BESIDE = 2
"""Of single values so many to either side are beside one."""

GONE = 20
"""Rows beyond the largest value are missed where so many are expected."""


@dataclass(frozen=True)
class PileUp:
    """A value that far more rows have than before.

    Attributes
    ----------
    place : float
        Where it is on the scale of the column.
    share, before : float
        The share of rows that have it, and the largest so far.
    counted : Counted
        The rows, and how many of them may be chance.
    """

    place: float
    share: float
    before: float
    counted: Counted


def pile_ups(counts: Aligned) -> list[PileUp]:
    """Return the values that far more rows have than in any of the known counts, the commonest first."""
    found, taken = list[PileUp](), list[float]()
    least = max(LEAST_ROWS, LEAST_SHARE * counts.size)
    if counts.masses.max(initial=0.0) < least:
        return []
    for at in np.argsort(-counts.masses, kind="stable"):
        if counts.masses[at] < least:
            break
        key = float(counts.keys[at])
        if counts.reach and any(abs(key - other) <= 2 for other in taken):
            continue  # the same value, seen from beside it
        taken.append(key)
        share, before = counts.share(at), counts.before(key)
        # A column that has moved has more rows at some values, and at those beside them.
        before = Share(before.rows * counts.grown_beside(key), before.size)
        if much_more(share, before, SPARE) and counts.masses[at] >= MORE * counts.around(key):
            found.append(counts.pile(at, Counted(share, before.at_most(SPARE))))
    return found


def cut_off(counts: Aligned, way: int) -> PileUp | None:
    """Return the largest value (or with -1 the smallest) if the rows that should be beyond it are there.

    That is where many rows are expected beyond, there is none, and at the end there are as many more.
    """
    at = len(counts.keys) - 1 if way > 0 else 0
    if counts.reach and way > 0 and at and counts.keys[at] - counts.keys[at - 1] == 1:
        at -= 1  # the last value is between the last two points
    key = float(counts.keys[at])
    lost, share = min(counts.known_beyond(key, way)), counts.share(at)
    if lost * share.size < GONE:
        return None
    before = counts.before(key)
    if not above_chance(share, before.at_most()):
        return None
    if share.value - before.value < lost / 2:
        return None
    return counts.pile(at, Counted(share, before.at_most()))


@dataclass(frozen=True, eq=False)
class Aligned:
    """Counts of one column that can be compared value by value.

    On a lattice a value is somewhere between two points, so both are looked at together; and, in what is
    known, those beside them.
    """

    known: Sequence[NumberCounts]
    known_keys: Sequence[FloatArray]
    keys: FloatArray
    rows: FloatArray
    places: FloatArray
    masses: FloatArray
    size: int
    reach: int
    together: Together

    @classmethod
    def of(cls, known: Sequence[NumberCounts], now: NumberCounts, together: Together) -> Aligned:
        """Bring counts to one scale."""
        exact = now.exact and all(each.exact for each in known)
        *others, mine = [*known, now] if exact else [each.on_lattice() for each in (*known, now)]
        *theirs, keys = [each.places if exact else np.rint(each.places / STEP) for each in (*others, mine)]
        places, masses = (mine.places, mine.rows) if exact else _between(keys, mine.rows)
        return cls(others, theirs, keys, mine.rows, places, masses, now.size, int(not exact), together)

    def share(self, at: int) -> Share:
        """Return the rows of the candidate at a value."""
        return Share(float(self.masses[at]), self.size).per(self.together.now)

    def pile(self, at: int, counted: Counted) -> PileUp:
        """Return the rows at a value, as what piles up there."""
        before = self.at_value(float(self.keys[at])).value
        return PileUp(float(self.places[at]), counted.now.value, before, counted)

    def grown_beside(self, key: float) -> float:
        """Return how many times as common the values beside one have become, on the side where they have.

        Of single values only: where values lie closely `around` tells. A standard deviation is taken off.
        """
        if self.reach:
            return 1.0
        most, start = 1.0, int(np.searchsorted(self.keys, key))
        after = int(np.searchsorted(self.keys, key, side="right"))
        for some in (slice(after, after + BESIDE), slice(max(start - BESIDE, 0), start)):
            beside, now = self.keys[some], float(self.rows[some].sum())
            shares = [
                _rows_at(beside, k, each.rows) / each.size
                for k, each in zip(self.known_keys, self.known, strict=True)
            ]
            rows = now - np.sqrt(now * self.together.now)
            most = max(most, float(rows / (max(shares) * self.size + self.together.now)))
        return most

    def before(self, key: float) -> Share:
        """Return the largest share of rows at a value in all that is known.

        At an end of the candidate also at their own ends: a column that is always cut off may be so nearby.
        """
        found = [self.at_value(key)]
        unit = 1 / STEP if self.reach else 1.0
        if not min(k[0] for k in self.known_keys) - unit <= key <= max(k[-1] for k in self.known_keys) + unit:
            return found[0]
        if key >= self.keys[-1] - self.reach:
            found.append(self._largest([(k[-1] - self.reach, np.inf) for k in self.known_keys]))
        if key <= self.keys[0]:
            found.append(self._largest([(-np.inf, k[0] + self.reach) for k in self.known_keys]))
        return max(found, key=lambda share: share.at_most())

    def at_value(self, key: float) -> Share:
        """Return the same, at the value alone."""
        return self._largest([(key - self.reach, key + 2 * self.reach)] * len(self.known))

    def _largest(self, spans: Sequence[tuple[float, float]]) -> Share:
        """Return the largest share of rows within a span of keys, one for each of what is known."""
        found = [
            Share(float(each.rows[(k >= low) & (k <= high)].sum()), each.size)
            for (low, high), k, each in zip(spans, self.known_keys, self.known, strict=True)
        ]
        return max(found, key=lambda share: share.at_most()).per(self.together.known)

    def around(self, key: float) -> float:
        """Return how many rows a value would have if it were as common as those around it.

        Where values lie closely: a column that is narrower than before has more rows everywhere.
        """
        if not self.reach:
            return 0.0
        near = np.abs(self.keys - (key + 0.5)) <= AROUND
        own = np.abs(self.keys - (key + 0.5)) <= 1.5
        return float(self.rows[near & ~own].sum()) * 2 / (2 * AROUND - 3)

    def known_beyond(self, key: float, way: int) -> list[float]:
        """Return the shares of rows beyond a value in all that is known."""
        edge = key + 2 * self.reach if way > 0 else key - self.reach
        return [
            float(each.rows[k > edge if way > 0 else k < edge].sum()) / each.size
            if way * k[-1 if way > 0 else 0] > way * edge
            else 0.0
            for k, each in zip(self.known_keys, self.known, strict=True)
        ]


def _rows_at(wanted: FloatArray, keys: FloatArray, rows: FloatArray) -> float:
    """Return how many rows have one of some keys; keys ascend."""
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return float(rows[at[keys[at] == wanted]].sum())


def _between(keys: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return, for each point of the lattice and the one above it, where their rows are and how many."""
    following: NDArray[np.bool_] = np.append(np.diff(keys) == 1, False)
    above = np.where(following, np.append(rows[1:], 0.0), 0.0)
    masses: FloatArray = rows + above
    places: FloatArray = (keys + above / np.where(masses > 0, masses, 1.0)) * STEP
    return places, masses
