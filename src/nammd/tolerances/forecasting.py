"""What checks with a tolerance will be able to say: how probable a verdict is, and how many rows it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from nammd.results import Result, number
from nammd.statistics.forecast import Rules
from nammd.statistics.margin import quantile
from nammd.statistics.pair import Pair
from nammd.tolerances.bars import Accepted, Bar

Obstacle = Literal["features", "tolerance", "reference", "distance"]

REALISTIC, MOST = 20, 10**7
"""More than so many times the rows that there are, or more than so many at all, nobody will get."""

_FEW = 500
"""Whoever has fewer rows can get at least that many times as many."""


@dataclass(frozen=True)
class Forecast(Result):
    """How probable each verdict is for a candidate that is so far away.

    Attributes
    ----------
    rows : int
        The rows of the candidate.
    distance : float
        How far it is from the reference.
    close, far : float
        The probabilities of the verdicts CLOSE and FAR.
    epsilon : float
        The tolerance.
    alpha : float
        The level of each of the two tests.
    """

    rows: int
    distance: float
    close: float
    far: float
    epsilon: float
    alpha: float
    cautions = ()

    @property
    def undecided(self) -> float:
        """The probability of the verdict UNDECIDED."""
        return max(1.0 - self.close - self.far, 0.0)

    def headline(self) -> str:
        """Return the forecast in one sentence."""
        return (
            f"A candidate of {self.rows} rows at a distance of {number(self.distance)} is called CLOSE with "
            f"probability {self.close:.2f} and FAR with probability {self.far:.2f}."
        )

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        return [
            ("tolerance", number(self.epsilon)),
            ("UNDECIDED", f"with probability {self.undecided:.2f}"),
            ("level", f"{self.alpha:g}"),
        ]


@dataclass(frozen=True)
class Setting:
    """A check, as far as a forecast needs it.

    Attributes
    ----------
    bar : Bar
        What candidates are held against: the farthest bar of the tolerance.
    several : int
        How many bars there are; "within" is then shown at a level divided by their number.
    pair : Pair or None
        The pair of reference and candidate, where there is one.
    m : int
        The rows of the reference.
    shared : bool
        Whether it is the reference that the tolerance was made from.
    alpha : float
        The level of each test.
    part : float
        The part of that level which the joint test of "beyond" has; the rest is for single columns.
    """

    bar: Bar
    several: int
    pair: Pair | None = field(repr=False)
    m: int
    shared: bool
    alpha: float
    part: float = 1.0

    @cached_property
    def pilot(self) -> Pair:
        """The variability that is planned with.

        That of accepted data, where epsilon was taken from some: what they differ by is known, and both
        distances are then planned alike. Else that of the pair itself.
        """
        found = self.bar.pilot
        if self.pair is not None and not (found is not None and isinstance(self.bar, Accepted)):
            return self.pair
        assert found is not None
        return found if self.pair is None else replace(found, spread=self.pair.spread)

    def close(self, n: int, distance: float, frozen: bool = False, **rows: Any) -> float:
        """Return how often a candidate of n rows at some distance is called CLOSE; `rows`: see `_rules`.

        `frozen`: the distance is that to the rows of the reference, and not to their population.
        """
        return self._rules(n, **rows).close(distance, self.alpha / self.several, frozen)

    def far(self, n: int, distance: float, frozen: bool = False, **rows: Any) -> float:
        """Return how often it is called FAR."""
        return self._rules(n, **rows).far(distance, self.part * self.alpha, frozen)

    def decided(self, n: int, distance: float, frozen: bool = False, **rows: Any) -> float:
        """Return how often it is called what it is."""
        return (self.far if distance > self.bar.value else self.close)(n, distance, frozen, **rows)

    def _rules(self, n: int, m: int = 0, accepted: int = 0, anew: bool = False) -> Rules:
        """Return the tests, with other reference rows or accepted rows than there are, where that is asked.

        `anew`: the tolerance is made anew with those rows of the reference.
        """
        m = m or self.m
        return self.bar.rules(self.pilot, m, n, self.shared and (anew or m == self.m), accepted or None)

    def needed(self, distance: float, power: float, frozen: bool | None = None) -> Needed:
        """Return the rows that settle it with some probability, if the distance is what it is.

        `frozen` is that of a plan. Without it the rows that there are did not settle it, and the distance is
        theirs: then fewer rows are no answer.
        """
        here = self.pair.rows[1] if self.pair is not None else _LEAST
        now = None if self.pair is None else (self.m, here)
        most = _realistic(max(here, self.m, _FEW))
        planned, frozen = frozen is not None, frozen is not False

        def decided(n: int, **rows: Any) -> float:
            return self.decided(n, distance, frozen, **rows)

        if planned and here > _LEAST and decided(here) >= power:
            return Needed((self.m, _smallest(decided, power, _LEAST, here) or here), None, None, now)
        # More candidate rows are easier to get than more of the reference, so they are tried first.
        candidate = _smallest(decided, power, here, most)
        if candidate is not None:
            return Needed((self.m, candidate), None, None, now)
        if self.pair is not None and self.pair.spread is not None:
            exact = replace(self, pair=replace(self.pair, spread=None))
            if exact.needed(distance, power, frozen if planned else None).rows is not None:
                return Needed(None, None, "features")
        if isinstance(self.bar, Accepted):
            known, larger = self.bar.rows, _realistic(max(self.bar.rows, _FEW))
            accepted = _smallest(lambda rows: decided(most, accepted=rows), power, known, larger)
            if accepted is not None:
                return Needed(None, accepted, "tolerance")
            anew = decided(most, m=_realistic(max(self.m, _FEW)), accepted=larger, anew=True)
            return Needed(None, None, "reference" if anew >= power else "distance")
        larger = _realistic(max(self.m, _FEW))
        reference = _smallest(lambda rows: decided(max(rows, here), m=rows), power, self.m, larger)
        if reference is not None:
            return Needed((reference, max(reference, here)), None, None, now)
        return Needed(None, None, "tolerance" if self.bar.standard_error else "distance")


_LEAST = 4
"""The rows that any test needs."""

_NEAR = 1.05
"""Rows that settle it are known up to this factor: a forecast does not tell more."""


def _realistic(rows: int) -> int:
    return max(min(REALISTIC * rows, MOST), rows)


def _smallest(power: Callable[[int], float], wanted: float, least: int, most: int) -> int | None:
    """Return about the smallest number of rows, from the least to the most, with some power; else None."""
    low, high = least, most
    below, above = _score(power(low), wanted), _score(power(high), wanted)
    if below >= 0:
        return low
    if above < 0:
        return None
    while high > max(low * _NEAR, low + 1):
        # The normal score of a power grows about as the root of the rows does.
        root = math.sqrt(low) + (math.sqrt(high) - math.sqrt(low)) * below / (below - above)
        ratio = math.sqrt(high / low)
        middle = round(min(max(root**2, low * ratio**0.2), high / ratio**0.2))
        middle = min(max(middle, low + 1), high - 1)
        score = _score(power(middle), wanted)
        if score < 0:
            low, below = middle, score
        else:
            high, above = middle, score
    return min(_rounded_up(high), most)


def _rounded_up(rows: int) -> int:
    """Return a number with two digits, and zeros: a forecast does not tell more."""
    unit = int(10 ** max(len(str(rows)) - 2, 0))
    return -(-rows // unit) * unit


def _score(power: float, wanted: float) -> float:
    """Return how far a power is above the wanted one, as normal scores; they end where it is 0 or 1."""
    return quantile(min(max(power, 1e-4), 1 - 1e-4)) - quantile(min(wanted, 1 - 1e-4))


@dataclass(frozen=True)
class Needed:
    """What it takes to settle a check.

    Attributes
    ----------
    rows : tuple of int or None
        The rows of reference and candidate; None where no number of candidate rows would do.
    accepted : int or None
        Where the tolerance is the limit: from how many accepted rows on it would not be any more.
    limited_by : {"features", "tolerance", "reference", "distance"} or None
        What stands in the way.
    now : tuple of int or None
        The rows of reference and candidate that there are.
    """

    rows: tuple[int, int] | None
    accepted: int | None
    limited_by: Obstacle | None
    now: tuple[int, int] | None = None

    def sentence(self, bar: Bar) -> str:
        """Say it in a sentence."""
        if self.rows is not None:
            return self._told(*self.rows)
        if self.limited_by == "features":
            return "More rows alone will not help: sketch with more random features."
        if self.limited_by == "reference":
            return "More candidate rows alone will not help: calibrate again, with a larger reference."
        if self.limited_by == "distance":
            return "More data will not help: the difference is almost exactly the tolerance."
        told = "More candidate rows alone will not help: the tolerance itself is too uncertain"
        if self.accepted is None or not isinstance(bar, Accepted):
            return f"{told} for that."
        return f"{told}. About {self.accepted} accepted rows would make it certain enough ({bar.rows} now)."

    def why(self) -> str:
        """Say in a few words why nothing is proven."""
        if self.limited_by == "distance":
            return "the difference is almost exactly the tolerance"
        if self.limited_by == "tolerance":
            return "the tolerance is too uncertain to tell"
        if self.rows is None or self.now is None:
            return "not enough rows to tell"
        (m, n), (reference, candidate) = self.rows, self.now
        if m > reference:
            return f"not enough rows to tell: {reference} reference rows, about {m} needed"
        if n <= candidate:
            return "not enough rows to tell, but nearly"
        return f"not enough rows to tell: {candidate} here, about {n} needed"

    def _told(self, m: int, n: int) -> str:
        """Say which rows would settle it, and which there are."""
        if self.now is None:
            return f"About {m} reference rows and {n} candidate rows are needed (for 80 % power)."
        reference, candidate = self.now
        if m > reference:
            return (
                f"More candidate rows alone will not help: about {m} reference rows ({reference} now) and "
                f"{n} candidate rows ({candidate} now) are needed (for 80 % power)."
            )
        if n <= candidate:
            return "A few more rows should be enough: samples of these sizes mostly are."
        return f"Check again with about {n} candidate rows ({candidate} now; for 80 % power)."
