"""The answer to "are these close enough?": `Verdict`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from nammd.questions.distance import Estimate, describe_kernel
from nammd.results.base import Caution, Reportable, interval, number, p_value, probability

Limit = Literal["features", "tolerance", "distance"]


class Decision(StrEnum):
    """What a check can come to."""

    CLOSE = "CLOSE"
    FAR = "FAR"
    UNDECIDED = "UNDECIDED"


@dataclass(frozen=True)
class Verdict(Reportable):
    """The outcome of a check against a tolerance.

    Attributes
    ----------
    decision : Decision
        CLOSE: significantly within the tolerance. FAR: significantly beyond it. UNDECIDED: the data
        do not settle it.
    distance : float
        The estimated NAMMD between reference and candidate.
    interval : tuple of float
        A 95 % confidence interval for it.
    epsilon, epsilon_error : float
        The tolerance, and its standard error (zero where it was given as a number).
    pvalue_close, pvalue_far : float
        The p-values of the two tests: that the candidate is within the tolerance, and beyond it.
    alpha : float
        The level of each.
    rows_needed : tuple of int or None
        Where undecided: the rows of reference and candidate that would settle it with a probability
        of 80 %, if the estimated distance is the true one; None if no realistic number would.
    limited_by : {"features", "tolerance", "distance"} or None
        Where no number of rows would settle it: what stands in the way. Too few random features, the
        uncertainty of the tolerance, or a distance that is at the tolerance.
    estimate : Estimate
        The distance with everything that belongs to it.
    warnings : tuple of Caution
        What to know before relying on the verdict.
    reference, candidate : array, table or Sketch
        The data, as they were given.
    tolerance : Tolerance
        What the check was made with.
    """

    decision: Decision
    distance: float
    interval: tuple[float, float]
    epsilon: float
    epsilon_error: float
    pvalue_close: float
    pvalue_far: float
    alpha: float
    rows_needed: tuple[int, int] | None
    limited_by: Limit | None
    estimate: Estimate
    warnings: tuple[Caution, ...]
    reference: Any = field(repr=False, compare=False)
    candidate: Any = field(repr=False, compare=False)
    tolerance: Any = field(repr=False, compare=False)

    @property
    def is_close(self) -> bool:
        """Whether the candidate is proven to be within the tolerance."""
        return self.decision is Decision.CLOSE

    @property
    def is_far(self) -> bool:
        """Whether the candidate is proven to be beyond the tolerance."""
        return self.decision is Decision.FAR

    @property
    def engine(self) -> str:
        """Who computed it."""
        return self.estimate.engine

    def plot(self, ax: Any = None) -> Any:
        """Draw the distance with its interval against the tolerance.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from nammd.report import interval_plot

        return interval_plot(self, ax=ax)

    def headline(self) -> str:
        """Return the answer in one sentence."""
        distance, eps = number(self.distance), number(self.epsilon)
        if self.is_close:
            p = p_value(self.pvalue_close)
            return (
                f"CLOSE: the candidate is within the tolerance (distance {distance}, tolerance {eps}, {p})."
            )
        if self.is_far:
            p = p_value(self.pvalue_far)
            return f"FAR: the candidate is beyond the tolerance (distance {distance}, tolerance {eps}, {p})."
        return f"UNDECIDED: these rows do not settle whether the distance, {distance}, is within {eps}."

    def advice(self) -> str:
        """Return what to do next, in one sentence."""
        if self.is_close:
            return "Nothing needs to be done."
        if self.is_far:
            return "Look at where they differ before relying on the candidate."
        if self.limited_by == "features":
            return "More rows alone would not settle it: sketches of more random features may."
        if self.limited_by == "tolerance":
            return "More rows alone would not settle it: the tolerance itself is too uncertain for that."
        if self.rows_needed is None:
            return "No realistic number of rows would settle it: the distance is at the tolerance."
        m, n = self.rows_needed
        return f"About {m} reference rows and {n} candidate rows would settle it (80 % power)."

    def facts(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        error = f" ± {number(self.epsilon_error)}" if self.epsilon_error else ""
        rows = [
            ("distance", f"NAMMD = {number(self.distance)}, 95 % interval {interval(self.interval)}"),
            ("tolerance", f"{number(self.epsilon)}{error}"),
            ("p-value, within", probability(self.pvalue_close)),
            ("p-value, beyond", probability(self.pvalue_far)),
            ("level", f"{self.alpha:g}"),
            ("rows", f"{self.estimate.m} reference, {self.estimate.n} candidate"),
            ("kernel", describe_kernel(self.estimate)),
        ]
        return [*rows, ("next", self.advice())] if not self.is_close else rows
