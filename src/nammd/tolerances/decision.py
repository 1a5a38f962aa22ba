"""From p-values to a decision: one of three words."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from nammd.explaining.facts import Kind
from nammd.tolerances.bars import Bar


class Decision(StrEnum):
    """What a check can come to."""

    CLOSE = "CLOSE"
    FAR = "FAR"
    UNDECIDED = "UNDECIDED"


@dataclass(frozen=True)
class Held:
    """A candidate held against one of the distances of a tolerance.

    Attributes
    ----------
    label : str
        What the distance was taken from; empty for a number that was given.
    distance, standard_error : float
        The distance, and its standard error.
    pvalue_close, pvalue_far : float
        The p-values that the candidate is nearer than that, and that it is farther.
    """

    label: str
    distance: float
    standard_error: float
    pvalue_close: float
    pvalue_far: float

    @classmethod
    def of(cls, bar: Bar, pvalue_close: float, pvalue_far: float) -> Held:
        """Note the outcome."""
        return cls(bar.label, bar.value, bar.standard_error, pvalue_close, pvalue_far)


def combined(held: Sequence[Held]) -> tuple[float, float]:
    """Return the p-values of "within" and "beyond" of all distances of a tolerance together.

    Within is nearer than the farthest, whichever that is: the smallest p-value times their number. Beyond is
    farther than each: the largest. Both are NaN where one of them is.
    """
    close, far = [each.pvalue_close for each in held], [each.pvalue_far for each in held]
    if any(math.isnan(p) for p in (*close, *far)):
        return math.nan, math.nan
    return min(len(held) * min(close), 1.0), max(far)


def decided(
    close: float,
    beyond: float,
    alpha: float,
    doubtful: bool = False,
    against: Collection[Kind] = (),
) -> Decision:
    """Return what the p-values of "within" and "one of the views is beyond" come to; NaN proves nothing.

    Nothing is close while a column is `doubtful`: beyond its tolerance, were it the only one. Nor while a
    fact is `against` it: one about the data says that they are far, whatever the tests say, and one about
    trust that nothing is proven.
    """
    if beyond <= alpha or "data" in against:
        return Decision.FAR
    within = close <= alpha and not doubtful and not against
    return Decision.CLOSE if within else Decision.UNDECIDED
