"""A tolerance and a reference together, ready for many candidates: `Gate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from nammd.data.arrays import is_spread
from nammd.data.dataset import Dataset
from nammd.data.opening import open_dataset
from nammd.data.row_grouping import NO_GROUPING, RowGrouping, dataset_with_grouping, grouping_of_summary
from nammd.engines import Engine, workers_read_files
from nammd.errors.checks import between, whole
from nammd.evidence import MIN_ROWS, gather, prepare
from nammd.evidence.rows import Known
from nammd.explaining.alerts import Alert, column_alerts, column_fact_alerts, known_alerts, row_alerts
from nammd.questions.distance import Estimate
from nammd.questions.planning import Plan, distance_to_plan_for
from nammd.spaces import Sample
from nammd.statistics.power import distribution_free
from nammd.tolerances.check_cautions import cautions_of
from nammd.tolerances.columns import ColumnTolerances
from nammd.tolerances.decision import Held, combined, decided
from nammd.tolerances.forecasting import Setting
from nammd.tolerances.grouping_spec import NO_GROUPING_SPEC, GroupingSpec
from nammd.tolerances.verdict import Verdict
from nammd.tolerances.verdicts import Adjustment, CheckProgress, Verdicts, check_each
from nammd.views.comparing import UnitsOfBoth
from nammd.views.counting import count_columns, has_counts
from nammd.views.counts import Counts
from nammd.views.family import JOINT, WHOLE, Family
from nammd.views.grouped import ColumnUnits, has_units, is_grouped, unit_columns
from nammd.views.limits import ColumnCheck, ColumnLimit, check_columns
from nammd.views.negligible import Negligible

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance


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

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> train = rng.normal(size=(500, 2))
    >>> gate = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), columns=2).with_reference(train)
    >>> [str(gate.check(rng.normal(loc=shift, size=(300, 2))).decision) for shift in (0.0, 0.1, 1.0)]
    ['CLOSE', 'CLOSE', 'FAR']
    """

    tolerance: Tolerance
    reference: Sample
    engine: Engine | None = None
    grouping_spec: GroupingSpec = NO_GROUPING_SPEC
    _known: list[Known] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def of(
        cls, tolerance: Tolerance, x: Any, engine: Engine | None, grouping: RowGrouping = NO_GROUPING
    ) -> Gate:
        """Make the reference ready, whatever it is, and whatever was said of its rows."""
        by_workers, written = workers_read_files(engine), tolerance.space.encoding.for_files
        dataset = open_dataset(x, "the reference", by_workers=by_workers, reading=written)
        wanted, given = bool(tolerance.origin.digest), tolerance.origin.how == "given"
        settled = tolerance.grouping_spec.settled(grouping or grouping_of_summary(dataset), given)
        dataset = dataset_with_grouping(dataset, settled)
        [reference] = prepare(
            {"the reference": dataset}, space=tolerance.space, engine=engine, digest=wanted, least=MIN_ROWS
        )
        return cls(tolerance, reference, engine, GroupingSpec.of(settled))

    def check(
        self,
        candidate: Any,
        alpha: float = 0.05,
        *,
        joint_only: bool = False,
        fail_on: Sequence[str] = (),
        groups: Any = None,
        row_weights: Any = None,
    ) -> Verdict:
        """Decide whether a candidate is close enough to the reference.

        Parameters
        ----------
        candidate : dataset
            The data in question; see `distance`.
        alpha : float
            The level of each of the two tests; see `Tolerance.check`.
        joint_only : bool
            Leave single columns out of the verdict; they still explain it.
        fail_on : sequence of str
            Alerts that make this check fail, beside those of the tolerance.
        groups, row_weights : optional
            Which rows of the candidate belong together, and how much each counts: arrays, since a column or
            blocks of time are those of the reference.

        Returns
        -------
        Verdict
        """
        alpha = between(alpha, "alpha", 0.5)  # above that, both tests could hold at once
        fails = known_alerts((*self.tolerance.fail_on, *fail_on))
        grouping = RowGrouping(groups, row_weights)
        estimate, shared = self.distance(candidate, **grouping.options), self.is_the_one
        held = [Held.of(bar, *bar.pvalues(estimate, shared)) for bar in self.tolerance.bars]
        p_close, p_far = combined(held)
        counted = self._counted(estimate)
        comparable, units = self._units(estimate)
        level = WHOLE.level("columns", alpha)
        columns = self._columns(counted, units, level) if comparable and not estimate.pair.void else ()
        judged = bool(columns) and self.tolerance.columns is not None and not joint_only
        family = WHOLE if judged else JOINT
        beyond = family.pvalue(p_far, [each.adjusted for each in columns])
        decision = decided(p_close, beyond, alpha)
        return Verdict(
            decision=decision,
            distance=estimate.value,
            interval=estimate.confidence_interval(0.95),
            epsilon=self.tolerance.epsilon,
            epsilon_error=self.tolerance.epsilon_error,
            pvalue_close=p_close,
            pvalue_far=p_far,
            alpha=alpha,
            held=tuple(held),
            estimate=estimate,
            warnings=cautions_of(self, estimate, decision, comparable),
            tolerance=self.tolerance,
            setting=self._setting(estimate, alpha, family),
            columns=columns,
            family=family,
            alerts=self._alerts(estimate, counted),
            fail_on=fails,
        )

    def check_all(
        self,
        candidates: Mapping[str, Any],
        alpha: float = 0.05,
        *,
        adjust: Adjustment = "none",
        errors: Literal["raise", "keep"] = "raise",
        joint_only: bool = False,
        fail_on: Sequence[str] = (),
        progress: CheckProgress | None = None,
    ) -> Verdicts:
        """Decide for each of several candidates; the reference is summed once.

        Parameters
        ----------
        candidates : mapping of str to dataset
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
        joint_only, fail_on
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
        >>> gate = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), columns=2).with_reference(
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
        check = partial(self.check, joint_only=joint_only, fail_on=fail_on)
        return check_each(check, candidates, alpha, adjust, errors, progress)

    def distance(self, candidate: Any, *, groups: Any = None, row_weights: Any = None) -> Estimate:
        """Estimate the distance of a candidate to the reference, without a verdict.

        Parameters
        ----------
        candidate : dataset
            The data in question; see `distance`. A sketch if the reference is one.
        groups, row_weights : optional
            As for `check`.

        Returns
        -------
        Estimate
        """
        by_workers = workers_read_files(self.engine)
        written = self.tolerance.space.encoding.for_files
        opened = open_dataset(candidate, "the candidate", by_workers=by_workers, reading=written)
        if opened is not self.reference.dataset:
            grouping = RowGrouping(groups, row_weights) or grouping_of_summary(opened)
            opened = dataset_with_grouping(opened, self.grouping_spec.settled(grouping, True).part(0, 1))
        named = {"the reference": self.reference.dataset, "the candidate": opened}
        reference, sample = prepare(named, space=self.tolerance.space, engine=self.engine)
        if reference.keeps_rows and reference.points is self.reference.points:
            reference = self.reference  # which knows its digest and keys from earlier checks
        known = self._known[0] if self._known else None
        [evidence] = gather([(reference, sample)], engine=self.engine, known=known)
        if reference.keeps_rows and not self._known and reference.points is self.reference.points:
            self._known.append(evidence.known_x)  # type: ignore[attr-defined]
        return Estimate.of(evidence)

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
        estimate, bar = self.distance(candidate), self.tolerance.farthest
        true, setting = distance_to_plan_for(estimate, distance, bar.value), self._setting(estimate, alpha)
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
            statistic="nammd",
            obstacle=obstacle if n is None else "",
        )

    @property
    def is_the_one(self) -> bool:
        """Whether the reference is the data that the tolerance was made from."""
        made_from = self.tolerance.origin.digest
        return bool(made_from) and made_from == self.reference.digest

    @cached_property
    def _limits(self) -> tuple[ColumnLimit, ...]:
        """The columns with their tolerances; where they have none, with what is negligible by default."""
        reference = self.reference.dataset
        if not has_counts(reference):
            return ()
        columns = self.tolerance.columns or ColumnTolerances(Negligible())
        return columns.of_gate(self.tolerance.space.encoding, reference)

    @cached_property
    def _reference_counts(self) -> dict[str, Counts]:
        if self._made_here:
            return {limit.name: limit.reference for limit in self._limits}
        return self._count(self.reference.dataset)

    @property
    def _made_here(self) -> bool:
        """Whether the limits of columns were made from the reference of these checks."""
        made = self.tolerance.columns
        return made is None or made.limits is None or self.is_the_one

    def _counted(self, estimate: Estimate) -> dict[str, Counts]:
        candidate = estimate.evidence.y
        # A pass over an array on a cluster is too dear for words alone.
        unjudged = self.tolerance.columns is None and not candidate.dataset.is_table
        if unjudged and candidate.keeps_rows and is_spread(candidate.points):
            return {}
        if not has_counts(candidate.dataset):
            return {}
        return self._count(candidate.dataset)

    def _count(self, dataset: Dataset) -> dict[str, Counts]:
        measures = [limit.measure for limit in self._limits]
        return count_columns(dataset, measures, self.tolerance.space.encoding)

    @cached_property
    def _reference_units(self) -> dict[str, ColumnUnits]:
        measures = [limit.measure for limit in self._limits]
        return unit_columns(self.reference.dataset, measures, self.tolerance.space.encoding)

    def _units(self, estimate: Estimate) -> tuple[bool, UnitsOfBoth | None]:
        """Tell whether columns can be compared, and return their groups where rows belong together."""
        reference, candidate = estimate.evidence.x.dataset, estimate.evidence.y.dataset
        if not (is_grouped(reference) or is_grouped(candidate)):
            return True, None
        known = all(limit.units is not None for limit in self._limits)
        if not (known and has_units(reference) and has_units(candidate)):
            return False, None
        measures = [limit.measure for limit in self._limits]
        return True, (
            self._reference_units,
            unit_columns(candidate, measures, self.tolerance.space.encoding),
        )

    def _columns(
        self, counted: dict[str, Counts], units: UnitsOfBoth | None, level: float
    ) -> tuple[ColumnCheck, ...]:
        if not counted:
            return ()
        reference = None if self._made_here else self._reference_counts
        return check_columns(self._limits, reference, counted, level, units)

    def _alerts(self, estimate: Estimate, counted: dict[str, Counts]) -> tuple[Alert, ...]:
        x, y = estimate.evidence.x, estimate.evidence.y
        found = row_alerts(x, y)
        if counted:
            measures = [limit.measure for limit in self._limits]
            found += column_alerts(measures, self._reference_counts, counted)
        if x.keeps_rows and y.keeps_rows:
            found += column_fact_alerts(self.tolerance.space.encoding, x.dataset, y.dataset)
        return found

    def _setting(self, estimate: Estimate, alpha: float, family: Family | None = None) -> Setting:
        bar, several = self.tolerance.farthest, len(self.tolerance.bars)
        part = (family or self.tolerance.family).level("joint", 1.0)
        return Setting(bar, several, estimate.pair, estimate.m, self.is_the_one, alpha, part)
