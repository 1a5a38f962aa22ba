"""The ways to a tolerance: from accepted data, from noise, from splits, or by hand."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from nammd.data.blocks_in_time import TimeBlocks
from nammd.data.opening import open_dataset
from nammd.data.row_grouping import RowGrouping, dataset_with_grouping
from nammd.data.several import may_be_table, one_or_several
from nammd.encoding import Encoding
from nammd.encoding.encoding import fit_datasets
from nammd.engines import Engine
from nammd.engines.blas import single_threaded_blas
from nammd.engines.progress import comparing, passes
from nammd.errors.advice import Caution
from nammd.errors.checks import between, choice
from nammd.evidence.cautions import copied_rows
from nammd.evidence.scales import one_column_dominates
from nammd.kernels import as_kernel
from nammd.results import Result
from nammd.spaces import Space, SpaceLike
from nammd.spaces.space import settled
from nammd.statistics.scales import Scales
from nammd.tolerances.accepted import AcceptedSet, Quantiles
from nammd.tolerances.bars import Accepted, Bar, Fixed, Perturbed
from nammd.tolerances.columns import ColumnTolerances
from nammd.tolerances.grouping_spec import GroupingSpec, for_columns
from nammd.tolerances.joint_margin import joint_margin, negligible_perturbation
from nammd.tolerances.ladder import Rung, paired_influences, require_splits, split_rungs
from nammd.tolerances.perturbation import DEFAULT_LEVELS, noise_rungs
from nammd.tolerances.provenance import Origin
from nammd.tolerances.reference import Reference
from nammd.tolerances.scale_margins import ScaleMargin, scale_margins, scales_of
from nammd.tolerances.soundness import (
    drifting,
    refuse_blocks,
    refuse_no_difference,
    refuse_ordered_rows,
    refuse_separating_columns,
    too_wide,
)
from nammd.views.negligible import Negligible

How: TypeAlias = Literal["hull", "ball"]


class Constructors(Result):
    """What `nammd.Tolerance` is made by."""

    @classmethod
    @single_threaded_blas
    def from_reference(
        cls,
        x: Any,
        accepted: Any = None,
        *,
        how: How = "hull",
        margin: Any = None,
        rows: int | None = None,
        space: SpaceLike | None = None,
        kernel: Any = None,
        scales: Scales = "all",
        negligible: Any = None,
        keep: Sequence[str] = (),
        anyway: bool = False,
        exact: bool = False,
        engine: Engine | None = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Accept data like the reference, like others that are known to be fine, or like mixtures of them.

        Parameters
        ----------
        x : dataset
            The reference: the data that others are compared with; see `distance`.
        accepted : dataset, or mapping of str to dataset, optional
            A dataset that is different and still acceptable, or several by name.
        how : {"hull", "ball"}
            With ``"hull"`` accepted data say *where* candidates may be: the distance of a candidate is that
            to the nearest mixture of the reference and the accepted datasets, and epsilon is what is
            negligible. A batch like the reference, like accepted data, or like both mixed can be CLOSE, and
            a fault in any other direction is beyond, however far the accepted data are. With ``"ball"`` they
            say *how far*: epsilon is the distance of the farthest of them from the reference, an estimate
            whose error counts, and any change that is smaller is within; this is the test of the paper.
        margin : float or mapping, optional
            What is negligible for the whole table: a distance, or the perturbation of the reference that
            makes it, such as ``{"missing": 0.05}`` for 5 % of all values missing, ``{"noise": 0.2}`` or
            ``{"flips": 0.1}``. By default ``{"missing": 0.02}``, or what `rows` rows without any fault are
            proven to be within with probability 0.9, whichever is larger.
        rows : int, optional
            How many rows candidates will have; by default as many as the reference.
        space : Space or dict, optional
            Where to measure: a space, or options of `Space.fit` to fit one on the reference, such as
            ``{"exclude": ["id"]}``. The tolerance keeps it, and candidates are read in the same way.
        kernel : Kernel, class or str, optional
            By default the Gaussian kernel with the median bandwidth of the reference.
        scales : {"all", "median"}
            With ``"all"`` candidates are also compared at a half, a quarter, an eighth and a sixteenth of the
            bandwidth, where rounding, spikes and split clusters show; they are FAR where more than 5 % of
            rows are not where they were, and more than `margin` makes at that scale. With ``"median"`` at the
            bandwidth alone.
        negligible : mapping, or False, optional
            What does not matter in a single column: ``{"shift": 0.1, "categories": 0.01, "missing": 0.01,
            "relation": 0.1}`` by default, which is a shift by a tenth of a robust standard deviation, one row
            in a hundred with another category, or without a value, and a change by a tenth in how it goes
            together with another column. For one column: ``{"income": {"missing": 0.05}}``.
            With False, columns have no tolerances of their own.
        keep : sequence of str
            Columns to compare although they alone tell accepted data from the reference.
        anyway : bool
            Whether to make a tolerance that hides nearly every fault; it then carries a caution.
        exact : bool
            Whether to compute the values of the kernel for all pairs of rows, however long that takes, here
            and in every check. By default the kernel of a reference of more than 44 721 rows is one of
            features, and the same for every candidate; see `distance`.
        engine : Engine, optional
            Which engine computes; by default the one where the data is.
        groups : str, TimeBlocks or sequence of arrays, optional
            Which rows belong together; see `distance`. Arrays: one for the reference, and one for each
            accepted dataset. The tolerance remembers it: a column, or blocks of time, is looked up again in
            every check, and labels have to be given to every check.
        sample_weight : str or sequence of arrays, optional
            How much each row counts; likewise.

        Returns
        -------
        Tolerance
            It keeps up to 10 000 rows of each accepted dataset, as points of its space.

        Raises
        ------
        ValueError
            If a column alone, such as a time of arrival, tells accepted data from the reference: then
            exclude or keep it. If nearly everything would be within the tolerance. With ``how="ball"``, if
            no accepted dataset is measurably different from the reference.
        """
        choice(how, "how", ("hull", "ball"))
        named = {} if accepted is None else one_or_several(accepted, "accepted", may_be_table(x))
        if how == "ball" and not named:
            raise ValueError("give at least one accepted dataset")
        if how == "ball" and not (margin is None and rows is None):
            raise ValueError("with how='ball' the accepted data set the margin; leave margin and rows out")
        fixed, options = settled(space, kernel)
        grouping = RowGrouping(groups, sample_weight)
        allowed = Negligible.of(for_columns(negligible, grouping))
        part = grouping.part(0, 1 + len(named))
        bench = Reference.of(x, fixed or options, engine, part, negligible=allowed, exact=exact)
        others = bench.opened({str(name): data for name, data in named.items()}, grouping)
        tallies = {} if allowed is None else bench.tallied(others)
        wanted = scales_of(bench.space.kernel, scales)
        at_scales = bench.distances(others, wanted if how == "ball" else wanted[:1]) if others else {}
        estimates = {name: each[0] for name, each in at_scales.items()}
        rungs = tuple(Rung.of(name, estimate) for name, estimate in estimates.items())
        samples = {name: estimate.evidence.y for name, estimate in estimates.items()}

        def without(columns: tuple[str, ...]) -> float:
            left = {name: value for name, value in options.items() if name in ("column_weights", "columns")}
            left["exclude"] = [*(options.get("exclude") or ()), *columns]
            other = Reference.of(bench.reference.dataset, left, engine, exact=exact)  # type: ignore[arg-type]
            return max(each.value for [each] in other.distances(others).values())

        for name, sample in samples.items():
            if how == "hull" and bench.reference.same_rows(sample):
                raise ValueError(f"the accepted data {name!r} are the rows of the reference; leave them out")
        if samples:
            farthest = max(estimates.values(), key=lambda estimate: estimate.value).value
            if how == "ball":
                refuse_no_difference(farthest)
            refuse_separating_columns(bench.reference, samples, keep, without, farthest)
        columns = None if allowed is None else bench.columns(allowed, tallies)
        if how == "ball":
            bars = tuple(Accepted(name, estimate.pair.kept()) for name, estimate in estimates.items())
            chosen = max(bars, key=lambda bar: bar.value).label
            finer = scale_margins(bench, wanted, None, estimates=at_scales)
            return cls._made(bench, bars, "reference", rungs, chosen, columns, anyway, grouping, scales=finer)
        known = AcceptedSet((), Quantiles.of(bench.reference)).accepting(samples, bench.space)
        by_number = margin is not None and not isinstance(margin, Mapping)
        made = [] if by_number else bench.distances_made(*negligible_perturbation(bench, margin), wanted)
        found = joint_margin(bench, estimates, known, margin, rows, made[0] if made else 0.0)
        finer = scale_margins(bench, wanted, found.value if by_number else None, made[1:])
        own = next((each.evidence.known_x for each in estimates.values()), None)
        compared = [each.scale for each in finer if not each.too_fine]
        known = known.keeping(bench.reference, own, bench.engine, compared)
        return cls._made(
            bench,
            (found,),
            "hull",
            rungs,
            found.label,
            columns,
            anyway,
            grouping,
            accepted=known,
            batch=rows or 0,
            scales=finer,
        )

    @classmethod
    @single_threaded_blas
    def from_noise(
        cls,
        x: Any,
        *,
        level: float = 0.3,
        levels: Sequence[float] = DEFAULT_LEVELS,
        kind: str | None = None,
        space: SpaceLike | None = None,
        kernel: Any = None,
        scales: Scales = "all",
        negligible: Any = None,
        anyway: bool = False,
        exact: bool = False,
        rng: Any = 0,
        engine: Engine | None = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Take epsilon from controlled perturbations of the reference itself.

        This is the way when no accepted dataset exists: decide which perturbation is still negligible.
        The reference is compared with perturbed copies of itself, at every level of a ladder; `plot`
        shows the distances, and `at_level` moves to another rung. A small level makes a small epsilon,
        and checks against it need many rows to decide: an undecided verdict says how many.

        Epsilon estimates how far the population that the reference was drawn from is from the same
        population with every row perturbed. Its error, which is that of drawing these rows of the reference,
        counts in every check.

        Parameters
        ----------
        x : dataset
            The reference, in memory; see `distance`.
        level : float
            The rung that sets epsilon: the largest level that is still negligible.
        levels : sequence of float
            The rungs, each between 0 and 1 (noise may exceed 1).
        kind : {"noise", "flips", "missing"}, optional
            ``"noise"``: Gaussian noise of `level` standard deviations of each numeric column.
            ``"flips"``: a share `level` of the categories replaced at random. ``"missing"``: a share
            `level` of all values removed. By default noise where there are numeric columns, else
            flips. The ladder of every kind that applies is computed for the plot.
        space, kernel, scales, negligible, anyway, exact : optional
            As for `from_reference`.
        engine, groups, sample_weight : optional
            As for `from_reference`.
        rng : int, numpy.random.Generator or None
            Generator for the perturbations.

        Returns
        -------
        Tolerance
        """
        fixed, options = settled(space, kernel)
        grouping = RowGrouping(groups, sample_weight)
        refuse_blocks(groups)
        allowed = Negligible.of(for_columns(negligible, grouping))
        bench = Reference.of(
            x,
            fixed or options,
            engine,
            grouping.part(0, 1),
            negligible=allowed,
            in_memory_for="from_noise",
            exact=exact,
        )
        rungs, estimates, kind = noise_rungs(
            bench.points, bench.space.encoding, bench.distance_to_copy, level, levels, kind, rng
        )
        chosen = next(r for r in rungs if r.kind == kind and r.level == level)
        value, estimate = chosen.epsilon("raise the level"), estimates[chosen.label]
        influences = paired_influences(estimate)
        variance = float(influences @ influences)
        # A candidate is none of the copies: its rows are drawn apart from those of the reference.
        pilot = estimate.pair.apart().kept(units=False)
        bar = Perturbed(chosen.label, value, variance, influences, pilot)
        columns = None if allowed is None else bench.columns(allowed).perturbed(kind, level)
        wanted = scales_of(bench.space.kernel, scales)
        finer = scale_margins(bench, wanted, None, bench.distances_made(kind, level, wanted)[1:])
        return cls._made(bench, (bar,), "noise", rungs, chosen.label, columns, anyway, grouping, scales=finer)

    @classmethod
    @single_threaded_blas
    def from_split(
        cls,
        x: Any,
        *,
        n_blocks: int = 4,
        n_splits: int = 10,
        space: SpaceLike | None = None,
        kernel: Any = None,
        scales: Scales = "all",
        negligible: Any = None,
        keep: Sequence[str] = (),
        anyway: bool = False,
        exact: bool = False,
        rng: Any = 0,
        engine: Engine | None = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Take epsilon from what "no change" looks like within the reference itself.

        Random halves of the reference show what sampling alone does; blocks of consecutive rows,
        each against the rest, show how much the data drift by themselves if the rows are in the order
        of time. Epsilon is the largest distance of a block, but not less than the upper confidence
        bound of the random halves, which is what data of this size can resolve.

        It is a number, and what is promised is this: a candidate that is distributed like the reference, or
        like any one of its blocks, is called FAR with a probability of at most the level. A block is nearer
        to the whole reference, of which it is a part, than to the rest, so the error of epsilon is paid for.

        Parameters
        ----------
        x : dataset
            The reference, in memory and in the order of time; see `distance`.
        n_blocks : int
            The number of consecutive blocks.
        n_splits : int
            The number of random halvings.
        space, kernel, scales, negligible, anyway, exact : optional
            As for `from_reference`.
        engine, groups, sample_weight : optional
            As for `from_reference`.
        keep : sequence of str
            Columns by which rows may be ordered although they take part.
        rng : int, numpy.random.Generator or None
            Generator for the random halves.

        Returns
        -------
        Tolerance

        Raises
        ------
        ValueError
            If the rows are sorted by one of the columns that are compared: then blocks differ by the sorting.
        """
        fixed, options = settled(space, kernel)
        grouping = RowGrouping(groups, sample_weight)
        require_splits(n_blocks, n_splits)
        allowed = Negligible.of(for_columns(negligible, grouping))
        bench = Reference.of(
            x,
            fixed or options,
            engine,
            grouping.part(0, 1),
            negligible=allowed,
            blocks=n_blocks,
            in_memory_for="from_split",
            exact=exact,
        )
        refuse_ordered_rows(bench.reference, keep)
        # Each of them compares all rows: halves with halves, blocks with what is left.
        rows, units = len(bench.points), bench.reference.units
        with passes(*[1.0] * (n_blocks + n_splits), what=comparing(rows)):
            rungs, estimates = split_rungs(rows, bench.distances_between, n_blocks, n_splits, rng, units)
        drift = max((r for r in rungs if r.kind == "block"), key=lambda r: r.value)
        resolution = float(np.median([r.high for r in rungs if r.kind == "random"]))
        label, value = drift.label, drift.value
        if value <= resolution:
            label, value = "upper ends of the random halves", resolution
        bar = Fixed(label, between(value, "epsilon"), estimates[drift.label].pair.kept(units=False))
        columns = None if allowed is None else bench.columns(allowed)
        cautions = () if label != drift.label else (drifting(label),)
        finer = scale_margins(bench, scales_of(bench.space.kernel, scales), value)
        return cls._made(
            bench, (bar,), "split", rungs, label, columns, anyway, grouping, cautions, scales=finer
        )

    @classmethod
    def at(
        cls,
        epsilon: float,
        kernel: Any = None,
        *,
        space: Space | None = None,
        n_columns: int | None = None,
        x: Any = None,
        negligible: Any = False,
        groups: str | TimeBlocks | None = None,
        sample_weight: str | None = None,
    ) -> Self:
        """Fix a tolerance by hand, for those who know.

        Parameters
        ----------
        epsilon : float
            The largest acceptable NAMMD, strictly between 0 and 1.
        kernel : Kernel, optional
            The kernel under which that is meant; needed unless a space is given.
        space : Space, optional
            The space in which that is meant.
        n_columns : int, optional
            Instead of a space: the number of columns of the arrays to come.
        x : dataset, optional
            Or the reference, to fit an encoding on.
        negligible : mapping or True, optional
            To hold every column against what is negligible in it, too; see `from_reference`. It is then
            measured on the reference of each check.
        groups, sample_weight : optional
            A column, or blocks of time, that every check is to take; see `distance`. Without them a check may
            still say which rows belong together.

        Returns
        -------
        Tolerance

        Examples
        --------
        >>> import nammd
        >>> nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=3).epsilon
        0.02
        """
        epsilon = between(epsilon, "epsilon")
        grouping, ways = RowGrouping(groups, sample_weight), (space, n_columns, x)
        if sum(given is not None for given in ways) != 1 or (space is None) == (kernel is None):
            raise TypeError(
                "give a space; or a kernel, and one of n_columns and x: how many columns, of which kind?"
            )
        if space is None:
            if n_columns is not None:
                encoding = Encoding.identity(n_columns)
            else:
                encoding = fit_datasets([dataset_with_grouping(open_dataset(x, "x"), grouping)])
            space = Space(encoding, as_kernel(kernel))
        origin = Origin.now("given", 0, space.encoding, None, (), "")
        allowed = Negligible.of(for_columns(negligible, grouping))
        each = None if allowed is None else ColumnTolerances(allowed)
        return cls._of(space, (Fixed("", epsilon),), origin, each, GroupingSpec.of(grouping))

    @classmethod
    def _made(
        cls,
        bench: Reference,
        bars: tuple[Bar, ...],
        how: str,
        rungs: tuple[Rung, ...],
        chosen: str,
        columns: ColumnTolerances | None,
        anyway: bool,
        grouping: RowGrouping,
        cautions: tuple[Caution, ...] = (),
        accepted: AcceptedSet | None = None,
        batch: int = 0,
        scales: tuple[ScaleMargin, ...] = (),
    ) -> Self:
        reference, space = bench.reference, bench.space
        copied = copied_rows(reference) if reference.dataset.units is None else None
        if copied is not None and not anyway:
            raise ValueError(f"{copied.message}, and make the tolerance from what is left")
        cautions += () if copied is None else (copied,)
        origin = Origin.now(how, reference.size, space.encoding, bench.digest(), rungs, chosen)
        origin = replace(origin, batch=batch)
        grouping_spec = GroupingSpec.of(grouping)
        known = bench.equivalents(max(bar.value for bar in bars))
        cautions += one_column_dominates(reference) + too_wide(dict(known), anyway)
        made = cls._of(space, bars, origin, columns, grouping_spec, accepted, scales).noted()
        told = cautions + made.origin.cautions
        origin = replace(made.origin, equivalents=known, cautions=told)
        return cls._of(space, bars, origin, columns, grouping_spec, accepted, scales)

    origin: Origin

    @classmethod
    @abstractmethod
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
        """Make one from its parts."""

    @abstractmethod
    def noted(self) -> Self:
        """Return it with what to know of it."""
