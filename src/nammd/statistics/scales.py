"""A distance at several bandwidths, tested together: `JointScales`.

One bandwidth sees one scale. At the median distance between rows a lattice, spikes or split clusters weigh
next to nothing; at a quarter of it they are plain. So the joint view is held against a margin at the main
scale and at finer ones, each with its own nearest mixture of what was accepted.

What is negligible at a scale: a share of rows moved elsewhere, to a law as smooth as the reference's, makes
``2 share² |mu|² / (4 K - 2 |mu|²)``, |mu|² being the mean kernel value of two rows of the reference.

The scales share all rows, so that Bonferroni would pay too much. The smallest of ``p_s / w_s`` is referred to
the law it had if the p-values were tails of normal scores with the correlations of the rows' influences. Half
of the weight is on the main scale: what is coarse is found nearly as if that were alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.atom_pair import AtomPair
from nammd.statistics.atoms import Places
from nammd.statistics.pair import Pair
from nammd.statistics.tails import normal_below
from nammd.statistics.totals import TotalPair

Scales: TypeAlias = Literal["all", "median"]
"""At which scales to compare."""

SCALES = (1.0, 0.5, 0.25, 0.125, 0.0625)
"""The scales of a tolerance, as multiples of the bandwidth."""

MOVED = 0.05
"""What is negligible at a scale: so many of all rows moved elsewhere."""

CONTACTS = 10.0
"""Fewer pairs of rows that are near each other are a count, and not a mean."""

MAIN = 0.5
"""The weight of the main scale."""

_DRAWS = 4000


def moved_margin(mean: float, share: float = MOVED, bound: float = 1.0) -> float:
    """Return the distance that a share of rows makes which moved to an equally smooth law.

    >>> round(moved_margin(0.5, 0.1), 5)
    0.00333
    """
    return 2 * share**2 * mean / (4 * bound - 2 * mean)


def share_moved(margin: float, mean: float, bound: float = 1.0) -> float:
    """Return which share of rows, moved to an equally smooth law, makes a distance; at most all of them.

    >>> round(share_moved(moved_margin(0.5, 0.1), 0.5), 5)
    0.1
    """
    return min(math.sqrt(margin * (4 * bound - 2 * mean) / (2 * mean)), 1.0) if mean > 0 else 1.0


def mean_and_bound(pair: Pair) -> tuple[float, float]:
    """Return the mean kernel value of two units of x, and the bound; without moments that nobody may need."""
    meeting = pair.meeting
    if isinstance(meeting, AtomPair):
        return meeting.atoms[0].mean, meeting.bound
    return pair.moments.x.mean, pair.moments.bound


def contacts(pair: Pair) -> float:
    """Return how many pairs of units of x make up their mean kernel value, effectively."""
    meeting = pair.meeting
    if isinstance(meeting, TotalPair):
        return meeting.x.contacts
    if not isinstance(meeting, AtomPair):
        return math.inf
    x = meeting.atoms[0]
    return contacts_of(x.sum(x.own), x.squares)


def contacts_of(total: float, squares: float) -> float:
    """Return the same from the sums of kernel values, and of their squares, over ordered pairs of units."""
    return total**2 / (2 * squares) if squares > 0 else 0.0


Among = tuple[Places | slice | None, int]
"""The places of units among all that a sample may be made of, and how many these are; None for all."""


def influences(pair: Pair, eps: float, *among: Among) -> FloatArray | None:
    """Return how far each unit moves ``MMD2 - eps D``; None where units are not told apart.

    Those of x first, then those of y, each at its place `among` all.
    """
    meeting = pair.meeting
    if not isinstance(meeting, AtomPair):
        return None
    way = np.array([2 * pair.slope(eps), -2.0])
    asked: Sequence[Among] = (*among, (None, 0), (None, 0))[:2]
    sizes = [len(g) if k is None else every for g, (k, every) in zip(meeting.influences, asked, strict=True)]
    found = np.zeros(sum(sizes))  # written where it belongs: there may be many rows
    parts = zip(meeting.influences, meeting.atoms, asked, np.split(found, sizes[:1]), strict=True)
    for g, one, (places, _), own in parts:
        own[slice(None) if places is None else places] = g @ (way / one.effective)
    return found


@lru_cache(maxsize=8)  # the scales that a kernel has, or a sketch keeps
def _draws(scales: int) -> FloatArray:
    """Return draws of independent normal scores, always the same ones."""
    return np.random.default_rng(0).standard_normal((_DRAWS, scales))


@dataclass(frozen=True, eq=False)
class JointScales:
    """How tests at several scales go together.

    Attributes
    ----------
    weights : array of shape (scales,)
        The weight of each scale; they add up to one.
    least : array or None
        The smallest p-value over its weight, in draws of normal scores that are correlated like the tests, in
        ascending order; None where it is not known how they are, for Bonferroni's rule.

    Examples
    --------
    Two tests that always agree cost nothing; of unrelated ones each pays:

    >>> import numpy as np
    >>> one, other = np.array([1.0, -1.0, 0.0]), np.array([1.0, 1.0, -2.0])
    >>> JointScales.of([1.0, 0.5], [one, one]).adjusted([0.02, 0.02]).round(2)
    array([0.02, 0.02])
    >>> JointScales.of([1.0, 0.5], [one, other]).adjusted([0.02, 0.02]).round(2)
    array([0.04, 0.04])
    """

    weights: FloatArray
    least: FloatArray | None = field(default=None, repr=False)

    @classmethod
    def of(cls, scales: Sequence[float], moved: Sequence[FloatArray | None]) -> JointScales:
        """Return it for some scales, the main one first, by how far units move the distance at each."""
        if len(scales) == 1:
            return cls(np.ones(1))
        weights = np.full(len(scales), (1 - MAIN) / (len(scales) - 1))
        weights[0] = MAIN
        known = [each for each in moved if each is not None]
        if len(known) < len(moved) or len({len(each) for each in known}) > 1:
            return cls(weights)
        covariance = np.array([[one @ other for other in known] for one in known])
        deviations = np.sqrt(np.maximum(np.diagonal(covariance), np.finfo(float).tiny))
        correlations = covariance / np.outer(deviations, deviations)
        values, vectors = np.linalg.eigh(correlations)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        scores = _draws(len(scales)) @ root.T
        # The finer scales weigh alike: of these the largest score has the smallest p-value.
        largest = np.stack([scores[:, 0], scores[:, 1:].max(axis=1)], axis=1)
        return cls(weights, np.sort((normal_below(-largest) / weights[:2]).min(axis=1)))

    def adjusted(self, pvalues: Sequence[float]) -> FloatArray:
        """Return the p-values, each adjusted for all scales."""
        p = np.asarray(pvalues, dtype=np.float64)
        bonferroni = np.minimum(p / self.weights, 1.0)
        if self.least is None:
            return bonferroni
        below = np.searchsorted(self.least, p / self.weights, side="right")
        by_law = (below + 1) / (len(self.least) + 1)
        # Draws err: an adjusted p-value is never below the p-value, nor above Bonferroni's.
        found: FloatArray = np.minimum(np.maximum(by_law, p), bonferroni)
        return found

    def level(self, number: int, alpha: float) -> float:
        """Return up to which p-value at one scale the adjusted one is at most alpha."""
        weight = float(self.weights[number])
        if self.least is None:
            return alpha * weight
        allowed = math.floor(alpha * (len(self.least) + 1) + 1e-9) - 1
        if allowed < 0:
            return alpha * weight
        by_law = math.nextafter(weight * float(self.least[allowed]), 0.0)
        return max(alpha * weight, min(alpha, by_law))
