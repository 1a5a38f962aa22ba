"""What a verdict was made from, and how it is told: `VerdictDetails`."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nammd.explaining.columns import words_for
from nammd.explaining.facts import Fact, FactRules
from nammd.questions.distance import Estimate
from nammd.results import (
    Caution,
    Limit,
    Mark,
    Reportable,
    ScaleCheck,
    Shown,
    Tone,
    plain,
    share_of,
)
from nammd.statistics.nearest import Nearest
from nammd.tolerances.decision import Decision, Held, decided
from nammd.tolerances.forecasting import Needed, Obstacle, Setting
from nammd.tolerances.scale_margins import ScaledCheck
from nammd.tolerances.verdict_words import MOST_REASONS, code_again, differs_most, rows_of_table, sentence
from nammd.views.family import JOINT, Family
from nammd.views.limits import ColumnCheck
from nammd.views.relation_limits import PairCheck

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance


POWER = 0.8
"""The power for which an undecided check says how many rows it would take."""


@dataclass(frozen=True)
class VerdictDetails(Reportable):
    """All that a check against a tolerance found; `Verdict` is what people need of it.

    Attributes
    ----------
    decision : Decision
        CLOSE: significantly within the tolerance, and no fact speaks against it. FAR: significantly beyond
        it, by some view or scale, or a fact says so. UNDECIDED: the data do not settle it, or a fact says
        that they prove nothing.
    distance : float
        The estimated NAMMD between the candidate and what was accepted: the nearest mixture of reference and
        accepted data, or the reference where the tolerance knows no others.
    interval : tuple of float
        The distances that the two tests of the verdict do not reject: CLOSE lies below the tolerance with
        all of it, and FAR by the joint distance above.
    epsilon, epsilon_error : float
        The tolerance, and its standard error (zero where it was given as a number).
    pvalue_close, pvalue_far : float
        The p-values of the two tests: that the candidate is within the tolerance, at the main scale, and that
        it is beyond at some scale, adjusted for all of them.
    alpha : float
        The level of each.
    held : tuple of Held
        The candidate against every distance of the tolerance: one, or one for each accepted dataset. CLOSE
        is nearer than one of them, at a level divided by their number; FAR is farther than each.
    estimate : Estimate
        The distance with everything that belongs to it.
    cautions : tuple of Caution
        What to know before relying on the verdict.
    tolerance : Tolerance
        What the check was made with.
    setting : Setting
        The check, as far as a forecast needs it.
    nearest : Nearest
        The candidate with the nearest mixture of what was accepted.
    scales : ScaledCheck
        The candidate at every scale, the main one first.
    interval_level : float
        The confidence level of the interval.
    columns : tuple of ColumnCheck
        Every column against its own tolerance, those beyond it first, then by distance over tolerance.
    pairs : tuple of PairCheck
        Every pair of columns, likewise: whether they still go together as in what was accepted. None where
        pairs cannot be compared: in sketches and on clusters, in blocks of time, and with very few rows.
    family : Family
        Which views take part in the verdict, and how they share its level.
    facts : tuple of Fact
        What was counted, and needs no test.
    fact_rules : FactRules
        Which of them speak against the candidate.
    other_reference : tuple of str
        What is beyond its tolerance in the reference of the check, where that is not the one of the
        tolerance: nothing is CLOSE then.
    adjusted : str
        How the p-values were adjusted for further candidates; empty where they were not.
    """

    decision: Decision
    distance: float
    interval: tuple[float, float]
    epsilon: float
    epsilon_error: float
    pvalue_close: float
    pvalue_far: float
    alpha: float
    held: tuple[Held, ...]
    estimate: Estimate
    cautions: tuple[Caution, ...]
    tolerance: Tolerance = field(repr=False, compare=False)
    setting: Setting = field(repr=False, compare=False)
    nearest: Nearest = field(repr=False, compare=False)
    scales: ScaledCheck = field(repr=False, compare=False)
    interval_level: float = 0.95
    columns: tuple[ColumnCheck, ...] = ()
    pairs: tuple[PairCheck, ...] = ()
    family: Family = JOINT
    facts: tuple[Fact, ...] = ()
    fact_rules: FactRules = field(default_factory=FactRules)
    other_reference: tuple[str, ...] = ()
    adjusted: str = field(default="", repr=False)
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
    def judged(self) -> bool:
        """Whether columns take part in the verdict."""
        return "columns" in self.family.kinds

    @property
    def is_close(self) -> bool:
        """Whether the candidate is proven to be within the tolerance."""
        return self.decision is Decision.CLOSE

    @property
    def beyond(self) -> tuple[ColumnCheck, ...]:
        """The columns that are proven to be beyond their own tolerances."""
        return tuple(each for each in self.columns if each.beyond)

    @property
    def pairs_beyond(self) -> tuple[PairCheck, ...]:
        """The pairs of columns that are proven to go together differently."""
        return tuple(each for each in self.pairs if each.beyond)

    @property
    def jointly_far(self) -> bool:
        """Whether the joint distance is proven to be beyond the joint tolerance, at some scale."""
        return self.pvalue_far <= self.family.level("joint", self.alpha)

    @property
    def finest_beyond(self) -> ScaleCheck | None:
        """The finer scale at which the candidate is most surely beyond; None where it is so at the main one.

        Or where it is at none: the difference is then not fine-grained.
        """
        main, *finer = self.scales.checks
        found = min((each for each in finer if each.beyond), key=lambda each: each.adjusted, default=None)
        return None if main.beyond else found

    def decided_again(self) -> VerdictDetails:
        """Return the verdict that follows from the p-values, where these were adjusted."""
        against = {fact.kind for fact in self.failures}
        doubtful = bool(self.doubtful or self.other_reference or self.pvalue_far <= self.alpha)
        doubtful = doubtful or any(map(self.fact_rules.doubts, self.facts))
        decision = decided(self.pvalue_close, self.pvalue_beyond, self.alpha, doubtful, against)
        return replace(self, decision=decision)

    @property
    def doubtful(self) -> tuple[ColumnCheck | PairCheck, ...]:
        """The columns and pairs that may be beyond their tolerances: nothing is CLOSE with one.

        They would be if they were alone, or, of pairs, if pairs were all that is looked at.
        """
        if not self.judged:
            return ()
        every: tuple[ColumnCheck | PairCheck, ...] = (*self.columns, *self.pairs)
        return tuple(each for each in every if each.doubtful(self.alpha))

    @property
    def like(self) -> tuple[tuple[str, float], ...]:
        """What the candidate is like: how much of the nearest mixture is each of the accepted datasets."""
        return self.tolerance.like(self.nearest)

    @property
    def pvalue_beyond(self) -> float:
        """The p-value of FAR as a whole: of all views that take part."""
        adjusted = ([each.adjusted for each in kind] for kind in (self.columns, self.pairs))
        return self.family.pvalue(self.pvalue_far, *adjusted)

    @cached_property
    def changes(self) -> dict[str, str]:
        """What changed in the columns that matter most, in words: at most three, none without a test."""
        x, y = self.estimate.evidence.x.dataset, self.estimate.evidence.y.dataset
        encoding, told = self.tolerance.space.encoding, self.beyond[:MOST_REASONS]
        return {each.name: words_for(each.measure, each.aspect, x, y, encoding) for each in told}

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is FAR, in words: the facts that say so, and what tests found to have changed.

        At most three facts, columns and pairs each; pairs of columns that changed themselves come last.
        """
        facts = [fact for fact in self.failures if fact.kind == "data"][:MOST_REASONS]
        # A column that moved as a whole has values outside its range, too.
        after = [fact for fact in facts if fact.code == "outside-range" and fact.column in self.changes]
        first = [str(fact) for fact in facts if fact not in after]
        changed = {each.name for each in self.beyond}
        pairs = sorted(self.pairs_beyond, key=lambda each: len(changed.intersection(each.names)))
        told = [each.words() for each in pairs[:MOST_REASONS]]
        return tuple(dict.fromkeys([*first, *self.changes.values(), *map(str, after), *told]))

    @property
    def failures(self) -> tuple[Fact, ...]:
        """The facts that speak against the candidate, those about the most rows first."""
        against = [fact for fact in self.facts if self.fact_rules.fails(fact)]
        return tuple(sorted(against, key=lambda fact: -fact.share))

    @property
    def distrusted(self) -> bool:
        """Whether nothing is proven because of a fact: the candidate is a copy, for example."""
        return self.decision is Decision.UNDECIDED and bool(self.failures)

    @property
    def void(self) -> bool:
        """Whether there was nothing to test with."""
        return math.isnan(self.pvalue_close)

    @property
    def is_far(self) -> bool:
        """Whether the candidate is proven to be beyond the tolerance."""
        return self.decision is Decision.FAR

    @cached_property
    def _needed(self) -> Needed:
        unlike = self.distrusted or self.other_reference
        if self.decision is not Decision.UNDECIDED or self.void or unlike:
            return Needed(None, None, None)
        return self.setting.needed(max(self.distance, 0.0), POWER)

    @property
    def rows_needed(self) -> tuple[int, int] | None:
        """Where undecided: the rows of reference and candidate that would settle it with 80 % power.

        That is if the estimated distance is the true one; None if no number of candidate rows would do.
        """
        return self._needed.rows

    @property
    def accepted_needed(self) -> int | None:
        """Where the uncertainty of the tolerance is in the way: from how many accepted rows on it is not."""
        return self._needed.accepted

    @property
    def limited_by(self) -> Obstacle | None:
        """Where no number of candidate rows would settle it: what stands in the way.

        ``"features"``: too few random features. ``"tolerance"``: its uncertainty. ``"reference"``: too few
        rows of it. ``"distance"``: it is at the tolerance.
        """
        return self._needed.limited_by

    @property
    def decided_by(self) -> str:
        """The accepted dataset that decided: of CLOSE that with the smallest p-value, of FAR the largest."""
        if self.is_close:
            return min(self.held, key=lambda each: each.pvalue_close).label
        return max(self.held, key=lambda each: each.pvalue_far).label if self.is_far else ""

    @property
    def engine(self) -> str:
        """Which engine computed it."""
        return self.estimate.engine

    def shown(self) -> Shown:
        """Return the distance from what was accepted."""
        like = self.like if len(self.like) > 1 else ()
        error = self.nearest.pair.standard_error
        return Shown(self.distance, error, self.interval, self.interval_level, like)

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
        marks = tuple(
            Mark(each.label, each.distance, each.standard_error, each.label == self.decided_by)
            for each in sorted(self.held, key=lambda each: each.distance)
        )
        several = marks if len(marks) > 1 else ()
        return Limit("tolerance", self.epsilon, self.epsilon_error, pvalues, self.alpha, several)

    def column_checks(self) -> tuple[ColumnCheck, ...]:
        """Return every column against its own tolerance."""
        return self.columns

    @property
    def has_column_tolerances(self) -> bool:
        """Whether columns have tolerances of their own."""
        return self.tolerance.column_tolerances is not None

    def scale_checks(self) -> tuple[ScaleCheck, ...]:
        """Return the candidate at every scale."""
        return self.scales.checks if len(self.scales.checks) > 1 else ()

    def column_pairs(self) -> tuple[PairCheck, ...]:
        """Return every pair of columns against its tolerance."""
        return self.pairs

    def column_reasons(self) -> tuple[str, ...]:
        """Return what changed in the columns and pairs that matter most."""
        return self.reasons

    def column_facts(self) -> tuple[tuple[str, bool], ...]:
        """Return the facts, and whether each makes the check fail."""
        told = [fact for fact in self.facts if fact in self.failures or fact.chance != "likely"]
        return tuple((str(fact), fact in self.failures) for fact in told)

    def settings(self) -> list[tuple[str, str]]:
        """Return where the tolerance came from."""
        origin = self.tolerance.origin
        versions = ", ".join(f"{name} {version}" for name, version in origin.versions)
        rows = [
            ("level of each test", f"{self.alpha:g}"),
            *([("p-values", self.adjusted)] if self.adjusted else []),
            ("tolerance taken from", origin.sentence()),
            ("tolerance made", f"{origin.created} with {versions}"),
        ]
        return [*rows, ("digest of its reference", origin.digest[:16])] if origin.digest else rows

    def reproduction(self) -> str:
        """Return the Python code that gives the result again."""
        return code_again(self)

    def headline(self) -> str:
        """Return the answer in one sentence."""
        return sentence(self)

    def share_told(self) -> str:
        """Return the distance as a share of the tolerance."""
        return share_of(self.distance, self.epsilon, "tolerance")

    def advice(self) -> str:
        """Return what to do next, in one sentence."""
        if self.is_close:
            return "Nothing needs to be done."
        if self.is_far:
            if self.reasons:
                return "Look at these columns before relying on the candidate."
            return "Look at where they differ before relying on the candidate."
        if self.distrusted:
            names = ", ".join(dict.fromkeys(fact.code for fact in self.failures))
            return f"Find out where the candidate comes from; if that is as it should be, allow {names}."
        if self.other_reference:
            return "Give the reference that the tolerance was made from, or make a tolerance from this one."
        if self.void:
            return "No valid test is possible: see the note."
        if self.pvalue_close <= self.alpha:
            what = "these columns" if self.doubtful else "how values are spaced and repeated"
            return f"Look at {what}, or check again with more rows."
        return self._needed.sentence(self.tolerance.farthest)

    def why_undecided(self) -> str:
        """Return why nothing is proven, in a few words."""
        return self._needed.why()

    def reason(self) -> str:
        """Return why, in a few words for a table: what differs most, or what it would take to settle it."""
        if self.is_far and self.column_reasons():
            return self.column_reasons()[0]
        if self.is_far and self.finest_beyond is not None:
            return f"fine-grained: at {self.finest_beyond.name} between rows"
        if self.is_far:
            return differs_most(self.estimate.evidence.x, self.estimate.evidence.y)
        if self.distrusted:
            return str(self.failures[0])
        if self.other_reference:
            return f"another reference: {self.other_reference[0]}"
        if self.void:
            return self.cautions[0].message if self.cautions else ""
        return "" if self.is_close else self.advice()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and what it would take to settle an undecided check, ready for JSON."""
        rows, fields = self.rows_needed, super().to_dict()
        # Of thousands of columns, each of these takes its time.
        doubtful, failures = self.doubtful, self.failures
        doubtful_pairs = {id(each) for each in doubtful}
        fields = {"judged" if name == "family" else name: value for name, value in fields.items()}
        found = fields | {
            "judged": self.judged,
            "held": [plain(asdict(each)) for each in self.held],
            "interval_of_tolerance": [end / self.epsilon for end in self.interval],
            "like": dict(self.like),
            "doubtful": [each.name for each in doubtful],
            "decided_by": self.decided_by,
            "rows_needed": None if rows is None else list(rows),
            "accepted_needed": self.accepted_needed,
            "limited_by": self.limited_by,
            "columns": [plain(each.to_dict()) for each in self.columns],
            "scales": [plain(asdict(each)) for each in self.scales.checks],
            "scales_dropped": list(self.scales.dropped),
            "scales_unknown": list(self.scales.unknown),
            "reasons": list(self.reasons),
            "pairs": [
                plain(each.to_dict()) for each in self.pairs if each.beyond or id(each) in doubtful_pairs
            ],
            "pairs_compared": len(self.pairs),
            "facts": [fact.to_dict() | {"fails": fact in failures} for fact in self.facts],
            "fact_rules": self.fact_rules.to_dict(),
        }
        return found | ({"adjusted": self.adjusted} if self.adjusted else {})

    def meaning(self) -> str:
        """Return what the word means, in one sentence."""
        tested = self.pvalue_beyond <= self.alpha
        meanings = {
            Decision.CLOSE: "the distance is proven to be within the tolerance, and no fact "
            "speaks against it",
            Decision.FAR: "the distance is proven to be beyond the tolerance"
            if tested
            else "a fact speaks against the candidate",
            Decision.UNDECIDED: "the candidate proves nothing"
            if self.distrusted
            else "these rows prove neither that the distance is within the tolerance nor that it is beyond",
        }
        return f"{self.decision} means that {meanings[self.decision]}."

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        return rows_of_table(self)
