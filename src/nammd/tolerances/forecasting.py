"""What checks with a tolerance will be able to say: how probable a verdict is, and how many rows it takes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from nammd.results import Result, number
from nammd.statistics.forecast import Rules, enough, law_at
from nammd.statistics.near_zero import NearZero
from nammd.statistics.pair import Pair
from nammd.statistics.power import smallest
from nammd.tolerances.bars import Accepted, Bar

Obstacle = Literal["features", "tolerance", "reference", "distance"]

_MANY = 10**9
"""So many rows stand for any number."""


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

    def facts(self) -> list[tuple[str, str]]:
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

    def close(self, n: int, distance: float, **how: Any) -> float:
        """Return how often a candidate of n rows at some distance is called CLOSE; see `_prepared`."""
        rules, law = self._prepared(n, distance, **how)
        return rules.close(law, self.pilot.scale, self.alpha / self.several)

    def far(self, n: int, distance: float, **how: Any) -> float:
        """Return how often it is called FAR."""
        rules, law = self._prepared(n, distance, **how)
        return rules.far(law, self.pilot.scale, self.part * self.alpha)

    def decided(self, n: int, distance: float, **how: Any) -> float:
        """Return how often it is called what it is."""
        if not enough(self.pilot, how.get("m") or self.m, n):
            return 0.0
        return (self.far if distance > self.bar.value else self.close)(n, distance, **how)

    def _prepared(
        self, n: int, distance: float, m: int = 0, accepted: int | None = None, frozen: bool = False
    ) -> tuple[Rules, NearZero]:
        """Return the tests, and the law of the estimate.

        With other reference rows or other accepted rows than there are, where that is asked. `frozen`: the
        distance is that to the rows of the reference, and not to their population.
        """
        m = m or self.m
        rules = self.bar.rules(self.pilot, m, n, self.shared and m == self.m, accepted)
        return rules, law_at(self.pilot, distance, m, n, frozen)

    def needed(self, distance: float, power: float, frozen: bool = True) -> Needed:
        """Return the rows that settle it with some probability, if the distance is what it is."""
        if distance == self.bar.value:
            return Needed(None, None, "distance")

        def settles(n: int, m: int = 0, accepted: int | None = None) -> bool:
            return self.decided(n, distance, m=m, accepted=accepted, frozen=frozen) >= power

        # More candidate rows are easier to get than more of the reference, so they are tried first.
        rows = smallest(settles)
        if rows is not None:
            return Needed((self.m, rows), None, None)
        if self.pair is not None and self.pair.spread is not None:
            exact = replace(self, pair=replace(self.pair, spread=None))
            if exact.needed(distance, power, frozen).rows is not None:
                return Needed(None, None, "features")
        if isinstance(self.bar, Accepted):
            accepted = smallest(lambda accepted: settles(_MANY, accepted=accepted), self.bar.rows)
            return Needed(None, accepted, "reference" if accepted is None else "tolerance")
        both = smallest(lambda rows: settles(rows, m=max(rows, self.m)))
        if both is not None:
            return Needed((max(both, self.m), both), None, None)
        return Needed(None, None, "tolerance" if self.bar.standard_error else "distance")


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
    """

    rows: tuple[int, int] | None
    accepted: int | None
    limited_by: Obstacle | None

    def sentence(self, bar: Bar) -> str:
        """Say it in a sentence."""
        if self.rows is not None:
            m, n = self.rows
            return f"About {m} reference rows and {n} candidate rows would settle it (80 % power)."
        if self.limited_by == "features":
            return "More rows alone would not settle it: sketches of more random features may."
        if self.limited_by == "reference":
            return "More candidate rows alone would not settle it: calibrate anew, with a larger reference."
        if self.limited_by == "distance":
            return "No realistic number of rows would settle it: the distance is at the tolerance."
        told = "More candidate rows alone would not settle it: the tolerance itself is too uncertain"
        if self.accepted is None or not isinstance(bar, Accepted):
            return f"{told} for that."
        return f"{told}. About {self.accepted} accepted rows would make it certain enough ({bar.rows} now)."
