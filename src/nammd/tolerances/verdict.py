"""The answer to "are these close enough?": `Verdict`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nammd.explaining.facts import Fact
from nammd.questions.distance import Estimate
from nammd.results import Caution, ConfidenceInterval, Result, ScaleCheck, Tone
from nammd.tolerances.decision import Decision
from nammd.tolerances.verdict_details import VerdictDetails
from nammd.views.limits import ColumnCheck
from nammd.views.relation_limits import PairCheck


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """The outcome of a check against a tolerance.

    Attributes
    ----------
    details : VerdictDetails
        What the verdict was made from: the tolerance, the rows that it would take to settle it
        (`rows_needed`), the columns beyond their tolerances (`beyond`), the tests against every accepted
        dataset (`held`), and others. For those who look closely; its names may change between versions.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> train, today = rng.normal(size=(500, 2)), rng.normal(size=(400, 2))
    >>> verdict = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2).check(train, today)
    >>> verdict
    Verdict(CLOSE, distance=0.0008579, epsilon=0.02, pvalue_close=8.629e-12, pvalue_far=1)
    >>> verdict.is_close
    True
    """

    details: VerdictDetails

    @property
    def decision(self) -> Decision:
        """CLOSE, FAR or UNDECIDED.

        CLOSE: significantly within the tolerance, and no fact speaks against it. FAR: significantly beyond
        it, by some view or scale, or a fact says so. UNDECIDED: the data do not settle it, or a fact says
        that they prove nothing.
        """
        return self.details.decision

    @property
    def is_close(self) -> bool:
        """Whether the candidate is proven to be within the tolerance."""
        return self.details.is_close

    @property
    def is_far(self) -> bool:
        """Whether the candidate is proven to be beyond the tolerance."""
        return self.details.is_far

    @property
    def distance(self) -> float:
        """The estimated NAMMD between the candidate and what was accepted.

        That is the nearest mixture of reference and accepted data, or the reference where the tolerance
        knows no others.
        """
        return self.details.distance

    def confidence_interval(self) -> ConfidenceInterval:
        """Return the distances that the two tests of the verdict do not reject.

        CLOSE lies below the tolerance with all of it, and FAR by the joint distance above. Its level is
        that of the tests, ``details.interval_level``.
        """
        return ConfidenceInterval(*self.details.interval)

    @property
    def epsilon(self) -> float:
        """The tolerance."""
        return self.details.epsilon

    @property
    def pvalue_close(self) -> float:
        """The p-value of the test that the candidate is within the tolerance, at the main scale."""
        return self.details.pvalue_close

    @property
    def pvalue_far(self) -> float:
        """The p-value of the test that it is beyond at some scale, adjusted for all of them."""
        return self.details.pvalue_far

    @property
    def alpha(self) -> float:
        """The level of each of the two tests."""
        return self.details.alpha

    @property
    def estimate(self) -> Estimate:
        """The distance from the reference with everything that belongs to it."""
        return self.details.estimate

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What to know before relying on the verdict."""
        return self.details.cautions

    @property
    def column_checks(self) -> tuple[ColumnCheck, ...]:
        """Every column against its own tolerance, those beyond it first, then by distance over tolerance."""
        return self.details.columns

    @property
    def pair_checks(self) -> tuple[PairCheck, ...]:
        """Every pair of columns, likewise: whether they still go together as in what was accepted.

        None where pairs cannot be compared: in sketches and on clusters, in blocks of time, and with very
        few rows.
        """
        return self.details.pairs

    @property
    def scale_checks(self) -> tuple[ScaleCheck, ...]:
        """The candidate at every scale, the main one first."""
        return self.details.scales.checks

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What was counted, and needs no test."""
        return self.details.facts

    @property
    def failures(self) -> tuple[Fact, ...]:
        """The facts that speak against the candidate, those about the most rows first."""
        return self.details.failures

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is FAR, in words: the facts that say so, and what tests found to have changed."""
        return self.details.reasons

    def headline(self) -> str:
        """Return the answer in one sentence."""
        return self.details.headline()

    def advice(self) -> str:
        """Return what to do next, in one sentence."""
        return self.details.advice()

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        return self.details.lines()

    @property
    def tone(self) -> Tone:
        """How the answer is coloured."""
        return self.details.tone

    def report(self, path: str | Path) -> Path:
        """Write a self-contained HTML page about the verdict.

        Parameters
        ----------
        path : str or Path
            The file to write; it is replaced if it is there.

        Returns
        -------
        Path
            The file.
        """
        return self.details.report(path)

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

    def to_dict(self) -> dict[str, Any]:
        """Return what was found, ready for JSON, and what it would take to settle an undecided check."""
        return self.details.to_dict()

    def __repr__(self) -> str:
        named = ("distance", "epsilon", "pvalue_close", "pvalue_far")
        told = ", ".join(f"{name}={getattr(self, name):.4g}" for name in named)
        return f"Verdict({self.decision}, {told})"
