"""A tolerance and a reference together, ready for many candidates: `Gate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from nammd.data.arrays import FloatArray
from nammd.data.dataset import Dataset
from nammd.data.opening import open_all
from nammd.data.row_grouping import NO_GROUPING, RowGrouping, dataset_with_grouping, grouping_of_summary
from nammd.data.several import by_name
from nammd.encoding.changes import Changes, changes
from nammd.engines import Engine, workers_read_files
from nammd.engines.blas import single_threaded_blas
from nammd.errors.checks import between, whole
from nammd.evidence import MIN_ROWS
from nammd.evidence.evidence import Evidence
from nammd.evidence.nearest import forget_kernel_values
from nammd.evidence.preparing import prepared
from nammd.explaining.chance import Together
from nammd.explaining.facts import Fact, FactRules, FactShare
from nammd.explaining.left_out_facts import type_facts
from nammd.explaining.row_facts import row_facts, rows_together
from nammd.kernels import large
from nammd.kernels.operations import features_of
from nammd.questions.distance import Estimate
from nammd.questions.planning import Plan, distance_to_plan_for
from nammd.spaces import Sample
from nammd.spaces.space import for_rows
from nammd.statistics.nearest import Nearest
from nammd.statistics.power import distribution_free
from nammd.tolerances.bars import pvalues
from nammd.tolerances.check_cautions import cautions_of
from nammd.tolerances.comparing import Comparing
from nammd.tolerances.decision import Held, combined, decided
from nammd.tolerances.forecasting import Setting
from nammd.tolerances.gate_columns import GateColumns
from nammd.tolerances.grouping_spec import NO_GROUPING_SPEC, GroupingSpec
from nammd.tolerances.looks import Looks
from nammd.tolerances.other_reference import unlike_own_reference
from nammd.tolerances.scale_margins import ScaledCheck
from nammd.tolerances.verdict import Verdict
from nammd.tolerances.verdict_details import VerdictDetails
from nammd.tolerances.verdicts import Adjustment, CheckProgress, Verdicts, check_each
from nammd.views.family import COLUMNS, JOINT, WHOLE
from nammd.views.limits import at_level
from nammd.views.tally import Tally

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance


@dataclass(frozen=True, eq=False)
class Candidate:
    """Data in question, opened and read once: all that a check needs of them.

    Attributes
    ----------
    reference : Sample
        The reference, of the same library and type of numbers as the candidate.
    sample : Sample
        The rows of the candidate as points of the space of the tolerance; or a sketch.
    tally : Tally
        What its columns tell; empty where nobody asked, or where that would be too dear.
    left_out : Changes
        What became of the columns that are not compared, likewise.
    """

    reference: Any
    sample: Any
    tally: Tally = field(default_factory=Tally)
    left_out: Changes = field(default_factory=Changes)


@dataclass(frozen=True, eq=False)
class Gate:
    """A tolerance together with a reference, ready for many candidates.

    The reference is encoded once, and summed once, with the first check. Make one with
    `Tolerance.with_reference`.

    Attributes
    ----------
    tolerance : Tolerance
        What close enough means.
    reference : Sample
        What candidates are compared with, as points of the space of the tolerance.
    grouping_spec : GroupingSpec
        How its rows belong together, and so those of candidates.
    exact : bool
        Whether all rows are compared with each other, however many they are.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> train = rng.normal(size=(500, 2))
    >>> gate = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2).with_reference(train)
    >>> [str(gate.check(rng.normal(loc=shift, size=(300, 2))).decision) for shift in (0.0, 0.1, 1.0)]
    ['CLOSE', 'CLOSE', 'FAR']
    """

    tolerance: Tolerance
    reference: Sample
    engine: Engine | None = None
    grouping_spec: GroupingSpec = NO_GROUPING_SPEC
    exact: bool = False

    @classmethod
    def of(
        cls,
        tolerance: Tolerance,
        x: Any,
        engine: Engine | None,
        grouping: RowGrouping = NO_GROUPING,
        exact: bool = False,
    ) -> Gate:
        """Make the reference ready, whatever it is, and whatever was said of its rows."""
        by_workers, written = workers_read_files(engine), tolerance.space.encoding.for_files
        named = {"the reference": x}
        [dataset] = open_all(named, min_rows=MIN_ROWS, by_workers=by_workers, reading=written)
        wanted, given = bool(tolerance.origin.digest), tolerance.origin.how == "given"
        settled = tolerance.grouping_spec.settled(grouping or grouping_of_summary(dataset), given)
        dataset = dataset_with_grouping(dataset, settled)
        [reference] = prepared([dataset], space=tolerance.space, engine=engine, digest=wanted)
        if not exact and reference.keeps_rows and 2 * reference.size > large.MOST_ROWS:
            if given:  # a number is meant under whatever kernel serves
                space = for_rows(tolerance.space, int(reference.points.shape[1]), 2 * reference.size)
                tolerance, reference = replace(tolerance, space=space), replace(reference, space=space)
            if features_of(tolerance.kernel) is None and reference.digest != tolerance.origin.digest:
                reference = reference.at_most(large.MOST_ROWS // 2)
        return cls(tolerance, reference, engine, GroupingSpec.of(settled), exact)

    def check(
        self,
        candidate: Any,
        alpha: float = 0.05,
        *,
        joint_only: bool = False,
        fail_on: Sequence[str] = (),
        allow: Sequence[str] = (),
        fact_share: FactShare = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Verdict:
        """Decide whether a candidate is close enough to the reference.

        Parameters
        ----------
        candidate : dataset
            The data in question; see `distance`.
        alpha : float
            The level of each of the two tests; see `Tolerance.check`.
        joint_only : bool
            Leave single columns, and facts about them, out of the verdict; they still explain it.
        fail_on, allow, fact_share
            Which facts speak against a candidate, beside what the tolerance says; see `Tolerance.with_facts`.
        groups, sample_weight : optional
            Which rows of the candidate belong together, and how much each counts: arrays, since a column or
            blocks of time are those of the reference.

        Returns
        -------
        Verdict
        """
        between(alpha, "alpha", 0.5)
        rules = self.tolerance.fact_rules.changed(fail_on, allow, fact_share)
        rules.require_columns(self._columns.names)
        opened = self.candidate(self._open(candidate), RowGrouping(groups, sample_weight))
        return self.verdict(opened, alpha, joint_only=joint_only, rules=rules)

    @single_threaded_blas  # many small products: more threads would mostly wait for each other
    def verdict(
        self, candidate: Candidate, alpha: float, *, joint_only: bool = False, rules: FactRules | None = None
    ) -> Verdict:
        """Decide about a candidate that has been opened; see `check`."""
        alpha = between(alpha, "alpha", 0.5)  # above that, both tests could hold at once
        limits = self.tolerance.column_tolerances
        known = () if limits is None else limits.negligible_facts()
        rules = replace(rules or self.tolerance.fact_rules, joint_only=joint_only, negligible=known)
        looks = Looks.begin(self, self._columns, candidate, alpha)
        shared = self.is_the_one
        margins = self._comparing.margins(candidate.reference, candidate.sample, shared)
        scales = (1.0, *(each.scale for each in margins))
        evidence = self._gathered(candidate, scales)
        each_nearest = self._nearest(candidate, evidence, scales)
        estimate, nearest, bars = Estimate.of(evidence[0]), each_nearest[0], self.tolerance.bars
        held = [Held.of(bar, *pvalues(bar, estimate, shared, nearest)) for bar in bars]
        p_close, p_main = combined(held)
        pairs = () if nearest.pair.void else looks.pairs(nearest)
        columns = () if nearest.pair.void else looks.columns()
        if pairs:
            columns = at_level(columns, WHOLE.level("columns", alpha))
        facts = looks.facts()
        judged = bool(columns) and self.tolerance.column_tolerances is not None and not joint_only
        family = (WHOLE if pairs else COLUMNS) if judged else JOINT
        main = self.tolerance.epsilon, p_main
        joint = family.level("joint", alpha)
        too_fine = [each.scale for each in self.tolerance.scales if each not in margins]
        scaled = ScaledCheck.of(margins, evidence, each_nearest, shared, main, joint, too_fine)
        beyond = family.pvalue(
            scaled.pvalue, [each.adjusted for each in columns], [each.adjusted for each in pairs]
        )
        doubts = (*(c.doubtful(alpha) for c in columns), *(p.doubtful(alpha) for p in pairs))
        doubtful = (judged and any(doubts)) or scaled.pvalue <= alpha
        doubtful = doubtful or any(map(rules.doubts, facts))
        against = {fact.kind for fact in facts if rules.fails(fact)}
        unlike = unlike_own_reference(self._columns, alpha)
        decision = decided(p_close, beyond, alpha, doubtful or bool(unlike), against)
        levels = scaled.law.level(0, joint), alpha
        ends = bars[0].interval(estimate, nearest, shared, *levels) if len(bars) == 1 else None
        found = VerdictDetails(
            decision=decision,
            distance=nearest.value,
            interval=ends or estimate.confidence_interval(0.95),
            interval_level=1 - sum(levels) if ends else 0.95,
            epsilon=self.tolerance.epsilon,
            epsilon_error=self.tolerance.epsilon_error,
            pvalue_close=p_close,
            pvalue_far=scaled.pvalue,
            alpha=alpha,
            held=tuple(held),
            estimate=estimate,
            cautions=cautions_of(self, estimate, decision, candidate.left_out.usable, looks.comparable),
            tolerance=self.tolerance,
            setting=self._setting(estimate, nearest, alpha, levels[0] / alpha),
            nearest=nearest,
            scales=scaled,
            columns=columns,
            pairs=pairs,
            family=family,
            facts=facts,
            fact_rules=rules,
            other_reference=unlike,
        )
        for near, each in zip(each_nearest, evidence, strict=True):
            forget_kernel_values(near, each)
        return Verdict(found)

    def check_all(
        self,
        candidates: Mapping[str, Any] | Sequence[Any],
        alpha: float = 0.05,
        *,
        adjust: Adjustment = "none",
        errors: Literal["raise", "keep"] = "raise",
        joint_only: bool = False,
        fail_on: Sequence[str] = (),
        allow: Sequence[str] = (),
        fact_share: FactShare = None,
        progress: CheckProgress | None = None,
    ) -> Verdicts:
        """Decide for each of several candidates; the reference is summed once.

        Parameters
        ----------
        candidates : mapping of str to dataset, or list of datasets
            The data in question, by name; see `distance`. In place of a dataset may be a function that
            returns it, which is called when its turn comes.
        alpha : float
            The level of each of the two tests.
        adjust : {"none", "holm"}
            With ``"none"`` each candidate is decided as `check` does. With ``"holm"`` the p-values of each
            direction are adjusted for the number of candidates: with probability 1 - alpha no CLOSE among
            all of them is wrong, and with probability 1 - alpha no FAR.
        errors : {"raise", "keep"}
            What to do about a candidate that cannot be checked: raise the error, or keep it as an entry,
            and go on.
        joint_only, fail_on, allow, fact_share
            As for `check`.
        progress : callable, optional
            Called as ``progress(done, total, name)`` before every candidate.

        Returns
        -------
        Verdicts

        Examples
        --------
        >>> import numpy as np
        >>> import nammd
        >>> rng = np.random.default_rng(0)
        >>> gate = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2).with_reference(
        ...     rng.normal(size=(500, 2))
        ... )
        >>> weeks = {f"week {k}": rng.normal((0.0, 0.5 * k), size=(300, 2)) for k in range(3)}
        >>> print(gate.check_all(weeks))
        FAR: 1 of 3 candidates is beyond the tolerance (2 within the tolerance).
          candidate  verdict  of the tolerance  why
          week 0     CLOSE    4.2 %
          week 1     CLOSE    32 %
          week 2     FAR      183 %             column 1: higher at the median, -0.01783 -> 0.8326
          Each CLOSE and each FAR is wrong with a probability of at most 0.05.
        """
        check = partial(
            self.check, joint_only=joint_only, fail_on=fail_on, allow=allow, fact_share=fact_share
        )
        return check_each(check, by_name(candidates, "candidates"), alpha, adjust, errors, progress)

    def distance(self, candidate: Any, *, groups: Any = None, sample_weight: Any = None) -> Estimate:
        """Estimate the distance of a candidate to the reference, without a verdict.

        Parameters
        ----------
        candidate : dataset
            The data in question; see `distance`. A sketch if the reference is one.
        groups, sample_weight : optional
            As for `check`.

        Returns
        -------
        Estimate
        """
        opened = self.candidate(self._open(candidate), RowGrouping(groups, sample_weight), columns=False)
        return Estimate.of(self._gathered(opened, (1.0,), alone=True)[0])

    def candidate(
        self,
        dataset: Dataset,
        grouping: RowGrouping = NO_GROUPING,
        *,
        columns: bool = True,
        digest: bool = False,
    ) -> Candidate:
        """Make a candidate that is open ready for a verdict; its columns are read once.

        Parameters
        ----------
        dataset : Dataset
            The candidate.
        grouping : RowGrouping
            Which of its rows belong together, and how much each counts, as far as the gate does not know.
        columns : bool
            Whether single columns will be looked at.
        digest : bool
            Whether a digest of its rows will be asked for.
        """
        if dataset is not self.reference.dataset:
            settled = self.grouping_spec.settled(grouping or grouping_of_summary(dataset), True)
            dataset = dataset_with_grouping(dataset, settled.part(0, 1))
        self._columns.begin()
        # Rows become points while their columns are read; a sketch has to be one of this space first.
        tally = self._columns.tally(dataset) if columns and dataset.keeps_rows else Tally()
        reference, sample = prepared(
            [self.reference.dataset, dataset],
            space=self.tolerance.space,
            engine=self.engine,
            digest=digest,
            known=[self.reference],
        )
        if columns and not dataset.keeps_rows:
            tally = self._columns.tally(dataset)
        encoding = self.tolerance.encoding
        left_out = changes(encoding.left_out, encoding.reading, sample.dataset) if columns else Changes()
        return Candidate(reference, sample, tally, left_out)

    def _open(self, candidate: Any) -> Dataset:
        by_workers, written = workers_read_files(self.engine), self.tolerance.space.encoding.for_files
        named = {"the candidate": candidate}
        [dataset] = open_all(named, min_rows=MIN_ROWS, by_workers=by_workers, reading=written)
        return dataset

    def _gathered(
        self, candidate: Candidate, scales: Sequence[float], *, alone: bool = False
    ) -> list[Evidence]:
        """Compare a candidate with the reference at some scales, which is perhaps meant `alone`."""
        return self._comparing.gathered(candidate.reference, candidate.sample, scales, alone=alone)

    def _nearest(
        self, candidate: Candidate, evidence: Sequence[Evidence], scales: Sequence[float] = (1.0,)
    ) -> list[Nearest]:
        """Return a candidate with the mixture of what was accepted that is nearest to it, at every scale."""
        return self._comparing.nearest(candidate.reference, candidate.sample, evidence, scales)

    def bets(self, candidate: Candidate, verdict: Verdict) -> FloatArray | None:
        """Return the evidence of bets on the rows of a candidate that a verdict is about; see `betting`.

        Its logarithm, for every bet; None where rows belong together, or are not there any more.
        """
        return self._comparing.bets(candidate.reference, candidate.sample, verdict.estimate)

    @cached_property
    def _comparing(self) -> Comparing:
        return Comparing(self.tolerance, self.engine, self.exact)

    def plan(
        self,
        candidate: Any,
        distance: float | None = None,
        *,
        power: float = 0.8,
        rows: int | None = None,
        alpha: float = 0.05,
    ) -> Plan:
        """Tell how many candidate rows a check needs, or how probable a decision is with so many.

        Parameters
        ----------
        candidate : dataset
            A pilot: data that vary like those to come; see `distance`.
        distance : float, optional
            The true distance to plan for; by default that of the pilot.
        power : float
            The wanted probability of a decision, where `rows` is not given.
        rows : int, optional
            Candidate rows to compute the probability for.
        alpha : float
            The level of each of the two tests.

        Returns
        -------
        Plan
            By the same computation as the advice of an undecided `check`.
        """
        alpha, power = between(alpha, "alpha", 0.5), between(power, "power")
        opened, bar = self.candidate(self._open(candidate), columns=False), self.tolerance.farthest
        evidence = self._gathered(opened, (1.0,))
        [nearest], estimate = self._nearest(opened, evidence), Estimate.of(evidence[0])
        setting = self._setting(estimate, nearest, alpha, self.tolerance.joint_part)
        true = distance_to_plan_for(estimate, distance, bar.value)
        frozen = distance is None  # the pilot's distance is that to these rows of the reference
        m: int | None = estimate.m
        n, obstacle = rows, ""
        if n is not None:
            n = whole(n, "rows", MIN_ROWS)
        else:
            needed = setting.needed(true, power, frozen)
            (m, n), obstacle = needed.rows or (None, None), needed.sentence(bar)
        if m is not None and n is not None:
            power = setting.decided(n, true, m=m, frozen=frozen)
        return Plan(
            m=m,
            n=n,
            power=power,
            epsilon=bar.value,
            distance=true,
            alpha=alpha,
            alternative="greater" if true > bar.value else "less",
            bound=distribution_free(abs(true - bar.value), power, alpha),
            metric="nammd",
            obstacle=obstacle if n is None else "",
        )

    @property
    def is_the_one(self) -> bool:
        """Whether the reference is the data that the tolerance was made from."""
        return self._columns.is_the_one

    @cached_property
    def _columns(self) -> GateColumns:
        return GateColumns(self.tolerance, self.reference)

    def facts(self, candidate: Candidate) -> tuple[Fact, ...]:
        """Return what is counted of a candidate that has been opened, and needs no test."""
        accepted = () if self.tolerance.accepted is None else self.tolerance.accepted.datasets
        x, y = candidate.reference, candidate.sample
        together = Together(rows_together(x.dataset), rows_together(y.dataset))
        found = row_facts(x, y, (each.sorted_keys for each in accepted), together)
        found += self._columns.facts(candidate.tally, together)
        told = {fact.column for fact in found}
        types = {name: words for name, words in candidate.left_out.types.items() if name not in told}
        return found + type_facts(types)

    def _setting(self, estimate: Estimate, nearest: Nearest, alpha: float, part: float) -> Setting:
        bar, several = self.tolerance.farthest, len(self.tolerance.bars)
        return Setting(bar, several, nearest.pair, estimate.m, self.is_the_one, alpha, part)
