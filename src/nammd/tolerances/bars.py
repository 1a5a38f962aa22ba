"""What a candidate is held against: a distance that was accepted, one that a perturbation made, or a number.

Each kind knows how uncertain it is and how it goes together with the distance of a candidate, and so it gives
the p-values of the two tests itself. A tolerance has one bar, or one for every accepted dataset.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.questions.distance import Estimate
from nammd.statistics.difference import Difference
from nammd.statistics.forecast import Rules, estimated_rules, known_rules
from nammd.statistics.margin import boundary, doubt_at
from nammd.statistics.nearest import Nearest
from nammd.statistics.pair import Alternative, Pair


class Bar(Protocol):
    """One distance that a candidate is held against."""

    @property
    def label(self) -> str:
        """What it was taken from."""

    @property
    def value(self) -> float:
        """The distance."""

    @property
    def standard_error(self) -> float:
        """Its standard error; zero for a number."""

    @property
    def pilot(self) -> Pair | None:
        """The variability of the pair that it was taken from; None for a number from elsewhere."""

    def pvalue_close(self, candidate: Estimate, shared: bool, nearest: Nearest) -> float:
        """Return the p-value of "within".

        `nearest` is the candidate with the nearest mixture of what was accepted; `shared`: the reference is
        the one that the distance was taken from.
        """

    def pvalue_far(self, candidate: Estimate, shared: bool, nearest: Nearest) -> float:
        """Return the p-value of "beyond"."""

    def interval(
        self, candidate: Estimate, nearest: Nearest, shared: bool, beyond: float, within: float
    ) -> tuple[float, float] | None:
        """Return the distances that the two tests do not reject, each at a level; None where none."""

    def rules(self, pilot: Pair, m: int, n: int, shared: bool, accepted: int | None = None) -> Rules:
        """Return the two tests as functions of the estimate, for a reference of m and a candidate of n rows.

        `accepted` is how many accepted rows there would be, where that matters; else as many as there are.
        """


def pvalues(
    bar: Bar, candidate: Estimate, shared: bool, nearest: Nearest | None = None
) -> tuple[float, float]:
    """Return the p-values of "within" and of "beyond"; without a mixture, of the reference alone."""
    nearest = nearest or Nearest(np.ones(1), candidate.pair)
    return bar.pvalue_close(candidate, shared, nearest), bar.pvalue_far(candidate, shared, nearest)


@dataclass(frozen=True)
class Accepted:
    """The distance of an accepted dataset.

    Attributes
    ----------
    label : str
        The name of the dataset.
    pair : Pair
        The distance.
    """

    label: str
    pair: Pair = field(repr=False, compare=False)

    @property
    def value(self) -> float:
        """The estimated distance."""
        return self.pair.value

    @property
    def standard_error(self) -> float:
        """Its standard error."""
        return self.pair.standard_error

    @property
    def pilot(self) -> Pair:
        """The variability of reference and accepted dataset."""
        return self.pair

    @property
    def rows(self) -> int:
        """The number of accepted rows."""
        return self.pair.rows[1]

    def pvalue_close(self, candidate: Estimate, shared: bool, nearest: Nearest) -> float:
        """Return the p-value that the candidate is nearer."""
        return Difference.of(self.pair, candidate.pair, shared).closer()

    def pvalue_far(self, candidate: Estimate, shared: bool, nearest: Nearest) -> float:
        """Return the p-value that the candidate is farther."""
        return Difference.of(self.pair, candidate.pair, shared).swapped.closer()

    def interval(
        self, candidate: Estimate, nearest: Nearest, shared: bool, beyond: float, within: float
    ) -> None:
        """Return nothing: the two distances are compared with each other, and not with numbers."""

    def rules(self, pilot: Pair, m: int, n: int, shared: bool, accepted: int | None = None) -> Rules:
        """Return the two tests as functions of the estimate; the pilot is its own."""
        return estimated_rules(self.pair, accepted or self.rows, m, n, shared)


@dataclass(frozen=True)
class Perturbed:
    """The distance of the reference to perturbed copies of its rows.

    Attributes
    ----------
    label : str
        The perturbation.
    value, variance : float
        The estimated distance, and its variance over the rows of the reference.
    influences : array of shape (m,), or None
        How far every row of the reference, with its copy, moves the distance; None where it is not kept.
    pilot : Pair or None
        The variability of rows and copies.
    """

    label: str
    value: float
    variance: float
    influences: FloatArray | None = field(repr=False, compare=False)
    pilot: Pair | None = field(repr=False, compare=False)

    @property
    def standard_error(self) -> float:
        """The standard error of the distance."""
        return math.sqrt(self.variance)

    def pvalue_close(self, candidate: Estimate, shared: bool, nearest: Nearest) -> float:
        """Return the p-value of "within", its error and what that shares with the candidate's included."""
        return self._pvalue(candidate, 1.0, self._covariance(candidate, shared), "less")

    def pvalue_far(self, candidate: Estimate, shared: bool, nearest: Nearest) -> float:
        """Return the p-value of "beyond", likewise."""
        return self._pvalue(candidate, 1.0, self._covariance(candidate, shared), "greater")

    def interval(
        self, candidate: Estimate, nearest: Nearest, shared: bool, beyond: float, within: float
    ) -> tuple[float, float]:
        """Return the multiples of this distance that the two tests do not reject, as distances."""
        covariance, start = self._covariance(candidate, shared), max(candidate.value, 0.0) / self.value

        def doubt(alternative: Alternative, level: float, share: float) -> float:
            return doubt_at(self._pvalue(candidate, share, covariance, alternative), level)

        step, end = candidate.pair.deviation / self.value / 2, 1.0 / self.value
        lower = boundary(partial(doubt, "greater", beyond), start, 0.0, step)
        upper = boundary(partial(doubt, "less", within), start, end, step)
        return lower * self.value, upper * self.value

    def _pvalue(self, candidate: Estimate, share: float, covariance: float, way: Alternative) -> float:
        """Return the p-value of a multiple of this distance as the margin."""
        blur = share**2 * self.variance - 2 * share * covariance
        return candidate.margin_test(share * self.value, way, blur).pvalue(way)

    def _covariance(self, candidate: Estimate, shared: bool) -> float:
        if not shared:
            return 0.0
        if self.influences is not None:
            return float(self.influences @ candidate.unit_influences(0))
        return -self.standard_error * float(
            np.linalg.norm(candidate.unit_influences(0))
        )  # the worst that can be

    def rules(self, pilot: Pair, m: int, n: int, shared: bool, accepted: int | None = None) -> Rules:
        """Return the two tests as functions of the estimate; more rows know the perturbation better."""
        rows = self.pilot.rows[0] if self.pilot is not None else m
        return known_rules(pilot, self.value, m, n, self.variance * rows / m)


@dataclass(frozen=True)
class Fixed:
    """A number.

    Attributes
    ----------
    label : str
        Where it came from; empty where it was simply given.
    value : float
        The distance.
    pilot : Pair or None
        The variability of the pair that it was taken from.
    """

    label: str
    value: float
    pilot: Pair | None = field(default=None, repr=False, compare=False)

    @property
    def standard_error(self) -> float:
        """Zero."""
        return 0.0

    def pvalue_close(self, candidate: Estimate, shared: bool, nearest: Nearest) -> float:
        """Return the p-value of "within"."""
        return nearest.pvalue(self.value, "less")

    def pvalue_far(self, candidate: Estimate, shared: bool, nearest: Nearest) -> float:
        """Return the p-value of "beyond"."""
        return nearest.pvalue(self.value, "greater")

    def interval(
        self, candidate: Estimate, nearest: Nearest, shared: bool, beyond: float, within: float
    ) -> tuple[float, float]:
        """Return the margins that the two tests do not reject."""
        return nearest.interval(beyond, within)

    def rules(self, pilot: Pair, m: int, n: int, shared: bool, accepted: int | None = None) -> Rules:
        """Return the two tests as functions of the estimate."""
        return known_rules(pilot, self.value, m, n)
