"""The answer to "are these close enough?": `Verdict`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from nammd.kernels.operations import as_code
from nammd.questions.distance import Estimate
from nammd.results import Caution, Limit, Reportable, Tone, interval, number, p_value, probability, with_error

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance

Obstacle = Literal["features", "tolerance", "distance"]


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
    limited_by: Obstacle | None
    estimate: Estimate
    warnings: tuple[Caution, ...]
    tolerance: Tolerance = field(repr=False, compare=False)
    datasets = ("reference", "candidate")

    @property
    def reference(self) -> Any:
        """The reference, as it was given."""
        return self.estimate.evidence.x.dataset.given

    @property
    def candidate(self) -> Any:
        """The candidate, as it was given."""
        return self.estimate.evidence.y.dataset.given

    @property
    def measured(self) -> Estimate:
        """The distance that was held against the tolerance."""
        return self.estimate

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
        """Which engine computed it."""
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

    def question(self) -> str:
        """Return the question that the result answers."""
        return "Is the candidate close enough to the reference?"

    @property
    def word(self) -> str:
        """The decision."""
        return self.decision.value

    @property
    def tone(self) -> Tone:
        """How the answer is coloured."""
        tones: dict[Decision, Tone] = {
            Decision.CLOSE: "close",
            Decision.FAR: "far",
            Decision.UNDECIDED: "undecided",
        }
        return tones[self.decision]

    def answer(self) -> str:
        """Return the answer in one sentence, without the word."""
        return self.headline().removeprefix(f"{self.word}: ")

    def limit(self) -> Limit:
        """Return the tolerance."""
        pvalues = ("within tolerance", self.pvalue_close), ("beyond tolerance", self.pvalue_far)
        return Limit("tolerance", self.epsilon, self.epsilon_error, pvalues, self.alpha)

    def settings(self) -> list[tuple[str, str]]:
        """Return where the tolerance came from."""
        origin = self.tolerance.origin
        versions = ", ".join(f"{name} {version}" for name, version in origin.versions)
        rows = [
            ("level of each test", f"{self.alpha:g}"),
            ("tolerance taken from", origin.sentence()),
            ("tolerance made", f"{origin.created} with {versions}"),
        ]
        return [*rows, ("digest of its reference", origin.digest[:16])] if origin.digest else rows

    def reproduction(self) -> str:
        """Return the Python code that gives the result again."""
        level = "" if self.alpha == 0.05 else f", alpha={self.alpha:g}"
        made = 'load("tolerance.json")  # the file that tolerance.save wrote'
        if self.tolerance.origin.how == "given":
            kernel = as_code(self.tolerance.kernel) or "kernel"
            made = f"at({self.epsilon!r}, {kernel}, x=reference)"
        lines = [
            f"tolerance = nammd.Tolerance.{made}",
            f"verdict = tolerance.check(reference, candidate{level})",
            'verdict.report("report.html")',
        ]
        return "\n".join(["import nammd", "", *lines])

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

    def meaning(self) -> str:
        """Return what the word means, in one sentence."""
        meanings = {
            Decision.CLOSE: "the distance is proven to be within the tolerance",
            Decision.FAR: "the distance is proven to be beyond the tolerance",
            Decision.UNDECIDED: "these rows prove neither that the distance is within the tolerance nor that "
            "it is beyond",
        }
        return f"{self.decision} means that {meanings[self.decision]}."

    def facts(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        rows = [
            ("distance", f"NAMMD = {number(self.distance)}, 95 % interval {interval(self.interval)}"),
            ("tolerance", with_error(self.epsilon, self.epsilon_error)),
            ("p-value, within", probability(self.pvalue_close)),
            ("p-value, beyond", probability(self.pvalue_far)),
            ("level", f"{self.alpha:g}"),
            ("rows", f"{self.estimate.m} reference, {self.estimate.n} candidate"),
            ("kernel", self.estimate.describe_kernel()),
        ]
        return [*rows, ("next", self.advice())] if not self.is_close else rows
