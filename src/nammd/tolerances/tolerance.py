"""What "close enough" means, frozen: `Tolerance`.

A tolerance is an encoding of the columns, a kernel with its bandwidth, and epsilon. Epsilon means
nothing without the other two, so they travel together, with what epsilon was read from, which is uncertain
itself, and a record of where all of it came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from nammd.data.row_grouping import RowGrouping
from nammd.data.several import one_or_several
from nammd.encoding import Encoding
from nammd.engines import Engine
from nammd.errors.advice import Advice, Caution, refusal
from nammd.errors.checks import between, counted, whole
from nammd.evidence import MIN_ROWS
from nammd.explaining.facts import FactRules, FactShare
from nammd.kernels import Kernel
from nammd.results import fractions, share_of, with_error
from nammd.spaces import Space
from nammd.statistics.nearest import Nearest
from nammd.statistics.scales import MAIN
from nammd.tolerances.accepted import AcceptedSet
from nammd.tolerances.bars import Accepted, Bar, Fixed, Perturbed
from nammd.tolerances.columns import ColumnTolerances
from nammd.tolerances.constructors import Constructors
from nammd.tolerances.equivalents import in_words
from nammd.tolerances.forecasting import Forecast, Setting
from nammd.tolerances.gate import Gate
from nammd.tolerances.grouping_spec import NO_GROUPING_SPEC, GroupingSpec
from nammd.tolerances.provenance import Origin
from nammd.tolerances.reference import opened_in
from nammd.tolerances.scale_margins import ScaleMargin
from nammd.tolerances.soundness import unresolved
from nammd.tolerances.verdict import Verdict
from nammd.views.family import JOINT, WHOLE, Family


@dataclass(frozen=True)
class Tolerance(Constructors):
    """How far apart two datasets may be, and what "far" means.

    Make one with `from_reference`, `from_noise`, `from_split` or `at`; keep it with `save` and `load`.

    Attributes
    ----------
    space : Space
        The space in which distances are meant: how columns become numbers, and the kernel.
    bars : tuple of Bar
        What candidates are held against: one distance, or that of every accepted dataset, each with what is
        known of its error.
    origin : Origin
        Where all of it came from.
    column_tolerances : ColumnTolerances or None
        How far each column may be from the reference by itself; None where columns have no tolerances.
    fact_rules : FactRules
        Which facts speak against a candidate; see `with_facts`.
    grouping_spec : GroupingSpec
        Which rows belong together, and how they count, where that was said; every check says the same.
    accepted : AcceptedSet or None
        The data that were accepted, where candidates may be like any mixture of them and of the reference;
        None where they may be as far away, in any direction.
    scales : tuple of ScaleMargin
        What is negligible at finer scales than that of the kernel, where candidates are held against it too.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> train, accepted = rng.normal(size=(600, 2)), rng.normal(loc=0.4, size=(600, 2))
    >>> tolerance = nammd.Tolerance.from_reference(train, accepted)
    >>> today, broken = rng.normal(loc=0.1, size=(600, 2)), rng.normal(loc=1.0, size=(600, 2))
    >>> print(tolerance.check(train, today).decision, tolerance.check(train, broken).decision)
    CLOSE FAR
    """

    space: Space
    bars: tuple[Bar, ...]
    origin: Origin
    column_tolerances: ColumnTolerances | None = field(default=None, compare=False)
    fact_rules: FactRules = field(default_factory=FactRules)
    grouping_spec: GroupingSpec = NO_GROUPING_SPEC
    accepted: AcceptedSet | None = field(default=None, compare=False)
    scales: tuple[ScaleMargin, ...] = ()

    @classmethod
    def _of(
        cls,
        space: Space,
        bars: tuple[Bar, ...],
        origin: Origin,
        columns: ColumnTolerances | None,
        grouping_spec: GroupingSpec,
        accepted: AcceptedSet | None = None,
        scales: tuple[ScaleMargin, ...] = (),
    ) -> Self:
        return cls(
            space, bars, origin, columns, grouping_spec=grouping_spec, accepted=accepted, scales=scales
        )

    def noted(self) -> Self:
        """Return the tolerance with what to know of it."""
        cautions: tuple[Caution, ...] = ()
        rows = self.origin.rows
        if self.farthest.pilot is not None:
            cautions = unresolved(self.epsilon, rows, self._setting().close(rows, 0.0))
        return replace(self, origin=replace(self.origin, cautions=cautions))

    @property
    def family(self) -> Family:
        """Which views take part in verdicts, and how they share the level."""
        return JOINT if self.column_tolerances is None else WHOLE

    @property
    def every_scale(self) -> tuple[float, ...]:
        """The scales at which candidates are compared, as multiples of the bandwidth, the main one first."""
        return (1.0, *(each.scale for each in self.scales))

    @property
    def joint_part(self) -> float:
        """The part of the level that the joint test of "beyond" has at the main scale, at least."""
        return self.family.level("joint", 1.0) * (MAIN if self.scales else 1.0)

    def like(self, nearest: Nearest) -> tuple[tuple[str, float], ...]:
        """Return what a candidate is like: the share of each accepted dataset in the nearest mixture."""
        if self.accepted is None or len(nearest.weights) == 1:
            return (("reference", 1.0),)
        return self.accepted.shares(nearest.weights)

    @property
    def epsilon(self) -> float:
        """The largest acceptable NAMMD; where it is estimated, the estimate of the farthest accepted data."""
        return self.farthest.value

    @property
    def epsilon_error(self) -> float:
        """The standard error of epsilon; zero where it is a number."""
        return self.farthest.standard_error

    @property
    def farthest(self) -> Bar:
        """The bar with the largest distance."""
        return max(self.bars, key=lambda bar: bar.value)

    @property
    def kernel(self) -> Kernel:
        """The kernel of the space."""
        return self.space.kernel

    @property
    def encoding(self) -> Encoding:
        """The encoding of the space: how columns become numbers."""
        return self.space.encoding

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What to know of the tolerance before relying on it."""
        return self.origin.cautions

    def at_level(self, level: float, kind: str | None = None) -> Tolerance:
        """Return the tolerance of another rung of the ladder that this one was taken from.

        Parameters
        ----------
        level : float
            The level of the rung.
        kind : {"noise", "flips", "missing"}, optional
            The kind of perturbation, by default the one that set epsilon.

        Returns
        -------
        Tolerance
        """
        rung = self.origin.rung_at(level, kind)
        value = rung.epsilon("choose a higher level")
        bar = Perturbed(rung.label, value, rung.standard_error**2, None, self.farthest.pilot)
        origin = replace(self.origin, chosen=rung.label, equivalents=(), cautions=())
        columns = (
            None if self.column_tolerances is None else self.column_tolerances.perturbed(rung.kind, level)
        )
        scales = tuple(each.times(value / self.epsilon) for each in self.scales)
        return replace(self, bars=(bar,), origin=origin, column_tolerances=columns, scales=scales).noted()

    def accepting(
        self, accepted: Any, *, reason: str = "", groups: Any = None, sample_weight: Any = None
    ) -> Tolerance:
        """Return the same, with more data that are accepted: "this drift was fine".

        Parameters
        ----------
        accepted : dataset, or mapping of str to dataset
            Data that differ from what was accepted so far and are fine, or several by name.
        reason : str
            Why they are; the tolerance keeps it, with the date.
        groups, sample_weight : optional
            Which rows belong together, and how much each counts, as arrays; what the tolerance remembers
            need not be said again.

        Returns
        -------
        Tolerance
            Candidates may now be like these data too. What is negligible stays what it was.

        Examples
        --------
        >>> import numpy as np
        >>> import nammd
        >>> rng = np.random.default_rng(0)
        >>> train, christmas = rng.normal(size=(800, 2)), rng.normal(loc=0.5, size=(800, 2))
        >>> tolerance = nammd.Tolerance.from_reference(train, margin=0.01)
        >>> again = rng.normal(loc=0.5, size=(800, 2))
        >>> print(tolerance.check(train, again).decision)
        FAR
        >>> wider = tolerance.accepting({"christmas": christmas}, reason="as every year")
        >>> print(wider.check(train, again).decision)
        CLOSE
        """
        if any(isinstance(bar, Accepted) for bar in self.bars):
            raise refusal(
                ValueError,
                "this tolerance is the distance of the farthest accepted data, and knows not where they are",
                Advice(
                    "make it anew with Tolerance.from_reference(x, accepted), without how='ball'",
                    "calibrate again without --ball",
                ),
            )
        of_tables = self.encoding.array_columns is None and isinstance(accepted, Mapping)
        named_so = of_tables and all(column.name in accepted for column in self.encoding.columns)
        named = one_or_several(accepted, "accepted", named_so)
        grouping = self.grouping_spec.settled(RowGrouping(groups, sample_weight), self.origin.how == "given")
        samples, tallies = opened_in(self.space, named, grouping, self.column_tolerances)
        kept = (self.accepted or AcceptedSet(())).accepting(samples, self.space, reason)
        columns = None if self.column_tolerances is None else self.column_tolerances.accepting(tallies)
        # A margin that a perturbation made is a number from here on.
        bars = tuple(Fixed(bar.label, bar.value, bar.pilot) for bar in self.bars)
        return replace(self, bars=bars, accepted=kept, column_tolerances=columns)

    def with_facts(
        self, *, fail_on: Sequence[str] = (), allow: Sequence[str] = (), share: FactShare = None
    ) -> Tolerance:
        """Return the same, with another choice of the facts that speak against a candidate.

        A fact is counted, and needs no test: a new category, values outside the range, rows that are there
        twice. By default it makes a candidate FAR from 1 % of the rows on, or where it is about a whole
        column; facts about trust, such as copies of reference rows, make it UNDECIDED.

        Parameters
        ----------
        fail_on : sequence of str
            Facts that count however few rows they are about, by their names, such as ``"new-categories"``, or
            ``"new-categories:city"`` for one column; see `nammd.explaining.facts`.
        allow : sequence of str
            Facts that never count, likewise; ``"all"`` for every one.
        share : float or mapping of str to float, optional
            The share of rows from which on a fact counts: one number, or one for each of some columns.

        Returns
        -------
        Tolerance
            `save` keeps the choice.

        Examples
        --------
        >>> import nammd
        >>> tolerance = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=3)
        >>> tolerance = tolerance.with_facts(allow=["new-categories:city"], share={"age": 0.05})
        >>> tolerance.fact_rules.allow, tolerance.fact_rules.share
        (('new-categories:city',), 0.01)
        """
        return replace(self, fact_rules=self.fact_rules.changed(fail_on, allow, share))

    def power(self, rows: int, distance: float, alpha: float = 0.05) -> Forecast:
        """Tell how probable each verdict is, before there are data.

        Parameters
        ----------
        rows : int
            The rows that a candidate will have.
        distance : float
            How far it is from the reference: 0 for data like the reference, epsilon for data at the
            tolerance.
        alpha : float
            The level of each of the two tests.

        Returns
        -------
        Forecast
            It holds for data that vary like those which the tolerance was made from.

        Examples
        --------
        >>> import numpy as np
        >>> import nammd
        >>> rng = np.random.default_rng(0)
        >>> train, accepted = rng.normal(size=(600, 2)), rng.normal(loc=0.4, size=(600, 2))
        >>> tolerance = nammd.Tolerance.from_reference(train, accepted)
        >>> print(tolerance.power(100, 2 * tolerance.epsilon).headline())
        A candidate of 100 rows at a distance of 0.008133 is called CLOSE with probability 0.00 and FAR with
        probability 0.09.
        """
        rows = whole(rows, "rows", MIN_ROWS)
        distance = float(distance)
        if not 0 <= distance <= 1:
            raise ValueError(f"distance must be between 0 and 1; it is {distance:g}")
        if self.farthest.pilot is None:
            raise refusal(
                ValueError,
                "a tolerance that is a given number knows nothing of the data, so it cannot tell how "
                "probable a verdict is",
                Advice(
                    "use nammd.plan(epsilon, distance, pilot=(x, y), rows=rows), with two datasets as pilot",
                    "use 'nammd plan', with two datasets as a pilot",
                ),
            )
        setting = self._setting(between(alpha, "alpha", 0.5))
        close, far = setting.close(rows, distance), setting.far(rows, distance)
        return Forecast(rows, distance, close, far, self.epsilon, setting.alpha)

    def _setting(self, alpha: float = 0.05) -> Setting:
        """Return what forecasts are made for."""
        return Setting(self.farthest, len(self.bars), None, self.origin.rows, True, alpha, self.joint_part)

    def with_reference(
        self,
        x: Any,
        *,
        exact: bool = False,
        engine: Engine | None = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Gate:
        """Prepare for many checks against the same reference.

        The reference is encoded once, and summed once, with the first check; each further check then costs
        only what involves the candidate.

        Parameters
        ----------
        x : dataset
            The reference; see `distance`. With a sketch, candidates are sketches too, of the same features
            and made with the space of this tolerance. Where epsilon is meant under the exact kernel that the
            features approximate, the error of the approximation is taken into account.
        exact : bool
            Whether all rows of a candidate are compared with all of the reference, however many they are. By
            default, where the kernel of the tolerance has no features, they are a random part of more than
            89 442 rows in all; columns, pairs of them and facts are always of all rows.
        engine : Engine, optional
            Which engine computes; by default the one where the data is.
        groups, sample_weight : optional
            Which rows of the reference belong together, and how much each counts; see `distance`. What the
            tolerance remembers need not be said again, but for arrays.

        Returns
        -------
        Gate
            It has one method that matters, ``check(candidate, alpha=0.05)``.
        """
        return Gate.of(self, x, engine, RowGrouping(groups, sample_weight), exact)

    def check(
        self,
        x: Any,
        candidate: Any,
        alpha: float = 0.05,
        *,
        joint_only: bool = False,
        fail_on: Sequence[str] = (),
        allow: Sequence[str] = (),
        fact_share: FactShare = None,
        exact: bool = False,
        engine: Engine | None = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Verdict:
        """Decide whether a candidate is close enough to the reference.

        Parameters
        ----------
        x : dataset
            The reference; see `distance`.
        candidate : dataset
            The data in question; a sketch if the reference is one.
        alpha : float
            The level of each of the two tests, of "within" and of "beyond". Where columns have tolerances of
            their own, half of it is for the joint distance being beyond, the other half for single columns
            and for pairs of them.
        joint_only : bool
            Leave single columns, and facts about them, out of the verdict; they still explain it.
        fail_on, allow, fact_share
            Which facts speak against a candidate, beside what the tolerance says; see `with_facts`.
        exact : bool
            Whether all rows are compared with each other, however many they are; see `with_reference`.
        engine : Engine, optional
            Which engine computes; by default the one where the data is.
        groups, sample_weight : optional
            Which rows belong together, and how much each counts; see `distance`. What the tolerance remembers
            need not be said again, but for arrays.

        Returns
        -------
        Verdict
        """
        grouping = RowGrouping(groups, sample_weight)
        gate = Gate.of(self, x, engine, grouping.part(0, 2), exact)
        return gate.check(
            candidate,
            alpha,
            joint_only=joint_only,
            fail_on=fail_on,
            allow=allow,
            fact_share=fact_share,
            **grouping.part(1, 2).options,
        )

    def save(self, path: str | Path) -> None:
        """Write the tolerance to one readable JSON file."""
        from nammd.tolerances.file import write

        write(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Tolerance:
        """Read a tolerance from a file that `save` wrote; a ValueError says if it is damaged."""
        from nammd.tolerances.file import read

        return read(Path(path))

    def plot(self, ax: Any = None) -> Any:
        """Draw the distances that epsilon was chosen from.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from nammd.report import ladder_plot

        return ladder_plot(self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the tolerance as plain values; `save` writes the same, and what checks need besides."""
        from nammd.tolerances.file import summary

        return summary(self)

    def headline(self) -> str:
        """Return the tolerance in one sentence."""
        return f"Close enough means NAMMD below {with_error(self.epsilon, self.epsilon_error)}."

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        names = [column.name for column in self.encoding.columns]
        rows = [
            ("taken from", self.origin.sentence()),
            ("kernel", str(self.kernel)),
            ("columns", ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")),
        ]
        rows += self.grouping_spec.lines()
        if self.scales:
            known_scales = fractions([each.scale for each in self.scales])
            rows.append(("finer scales", f"{known_scales} of the bandwidth, each with a margin of its own"))
        if self.origin.equivalents:
            rows.append(("about as far as", in_words(self.origin.equivalents)))
        rows += [
            (
                r.label,
                f"{with_error(max(r.value, 0.0), r.standard_error)}, "
                f"{share_of(r.value, self.epsilon, 'tolerance')}",
            )
            for r in self.origin.rungs
        ]
        known = {rung.label for rung in self.origin.rungs}
        later = [
            each for each in (self.accepted.datasets if self.accepted else ()) if each.label not in known
        ]
        rows += [
            (
                "accepted",
                f"{each.label}, {counted(each.rows, 'row')}" + (f": {each.reason}" if each.reason else ""),
            )
            for each in later
        ]
        rows += [("read as", f"{name}: {words}") for name, words in self.encoding.read_as().items()]
        rows += [("left out", f"{c.column}: {c.reason}") for c in self.encoding.left_out]
        return [*rows, ("to expect", self._outlook())] if self.farthest.pilot is not None else rows

    def _outlook(self) -> str:
        """Say what checks will be able to say."""
        farthest = self.farthest
        rows = farthest.rows if isinstance(farthest, Accepted) else self.origin.batch or self.origin.rows
        setting = self._setting()
        close = setting.close(rows, 0.0)
        told = f"{counted(rows, 'row')} like the reference will be called CLOSE with probability {close:.2f}"
        if 2 * self.epsilon >= 1:
            return told
        far = setting.far(rows, 2 * self.epsilon)
        return f"{told}; twice as far as the tolerance, FAR with probability {far:.2f}"
