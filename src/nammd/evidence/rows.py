"""What is known of a pair of samples from sums over their rows: `RowEvidence`, `GroupEvidence`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.row_units import RowUnits
from nammd.engines.sums import CrossSums, KernelSums, WithinSums
from nammd.engines.units import Labels, Units, UnitSums, UnitWithin
from nammd.errors.advice import Caution
from nammd.evidence.cautions import (
    copied_rows,
    few_groups,
    few_rows,
    flat_kernel,
    groups_in_common,
    long_memory,
    rows_in_common,
    same_rows,
    unread,
)
from nammd.evidence.evidence import Evidence
from nammd.evidence.group_like import group_like
from nammd.evidence.scales import one_column_dominates
from nammd.evidence.stand_ins import SampleStandIns
from nammd.kernels import Kernel
from nammd.spaces import Sample
from nammd.statistics.atom_pair import AtomPair, atoms_of_units, pair_of_rows
from nammd.statistics.atoms import Atoms, effective_groups
from nammd.statistics.grams import Grams
from nammd.statistics.moments import CrossPairs


class Known(NamedTuple):
    """What is within a sample, for further pairs with it."""

    sample: Sample
    sums: WithinSums | UnitWithin
    stand_ins: SampleStandIns


@dataclass(frozen=True, eq=False)
class _EngineEvidence(Evidence):
    """Sums of kernel values that an engine computed.

    Attributes
    ----------
    x, y : Sample
        The samples.
    computed_by : str
        Which engine computed the sums.
    stand_ins : tuple of two SampleStandIns
        Units that stand for each sample, which other pairs with the same sample use too.
    main : Evidence or None
        The evidence of the main scale, where this is of a finer one: what is to be said of the rows is said
        there.
    """

    x: Sample
    y: Sample
    computed_by: str
    stand_ins: tuple[SampleStandIns, SampleStandIns] = field(repr=False)
    main: Evidence | None = field(default=None, repr=False, kw_only=True)

    @property
    def kernel(self) -> Kernel:
        """The kernel: that of the space, or the same at another scale."""
        return self.stand_ins[0].kernel

    @property
    def units_used(self) -> tuple[int, int]:
        """How many units stand for each sample."""
        one, two = self.stand_ins
        return len(one.chosen), len(two.chosen)

    @cached_property
    def obstacle(self) -> Caution | None:
        """Why there is nothing to test with: the same rows on both sides, or copies of rows."""
        if self.main is not None:
            return self.main.obstacle
        return same_rows(self.x, self.y) or copied_rows(self.x) or copied_rows(self.y)


@dataclass(frozen=True, eq=False)
class RowEvidence(_EngineEvidence):
    """Sums of kernel values over the rows of two samples.

    Attributes
    ----------
    kernel_sums : KernelSums
        The sums.
    cross : {"full", "off-diagonal"}
        Which pairs of a row of x and a row of y count.
    beside : tuple of CrossSums
        Sums of y with other points than those of x, where these were asked for.
    """

    kernel_sums: KernelSums = field(repr=False)
    cross: CrossPairs = "full"
    beside: tuple[CrossSums, ...] = field(default=(), repr=False)

    @cached_property
    def meeting(self) -> AtomPair:
        """The two samples, as the statistics see them: every row is a unit."""
        found = pair_of_rows(self.kernel_sums, self.cross)
        return replace(found, second_order=Grams(self.stand_ins, found.atoms))

    @property
    def sums(self) -> KernelSums:
        """The sums for every row."""
        return self.kernel_sums

    @property
    def mean_features(self) -> tuple[FloatArray, FloatArray] | None:
        """The mean features of both samples, where the kernel has some and rows are many."""
        x, y = self.kernel_sums.x.features, self.kernel_sums.y.features
        return None if x is None or y is None else (x / self.x.size, y / self.y.size)

    @property
    def known_x(self) -> Known:
        """What is within x, for further pairs with it."""
        return Known(self.x, self.kernel_sums.x, self.stand_ins[0])

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What to know: few rows, rows in common, or nothing to test with."""
        if self.main is not None:
            return ()
        cells = unread(*dict.fromkeys([self.x, self.y]))
        if self.obstacle is not None:
            return (self.obstacle, *cells)
        across = self.kernel_sums.cross
        squares = across.squares / (len(across.rows) * len(across.cols))
        found = flat_kernel(self.x, self.y, self.meeting.moments, squares)
        found += few_rows(self.x.size, self.y.size) + rows_in_common(self.x, self.y)
        return found + one_column_dominates(self.x, self.y) + cells + group_like(self.x, self.y)

    def row_influences(self, side: int, slope: float, scale: float) -> FloatArray:
        """Return how far each row of a sample moves a distance."""
        atoms = self.meeting.atoms[side]
        moved: FloatArray = atoms.influences @ np.array([2 * slope, -2.0]) / (atoms.effective * scale)
        return moved


@dataclass(frozen=True, eq=False)
class GroupEvidence(_EngineEvidence):
    """Sums of kernel values over the groups of two samples.

    Attributes
    ----------
    unit_sums : UnitSums
        The sums; rows are in the order of their groups.
    """

    unit_sums: UnitSums = field(repr=False)

    @cached_property
    def atoms(self) -> tuple[Atoms, Atoms]:
        """The groups of the two samples, without how alike rows of one group are: that takes its time."""
        return atoms_of_units(self.unit_sums, (self.x.size, self.y.size), (math.nan, math.nan))

    @cached_property
    def meeting(self) -> AtomPair:
        """The two samples, as the statistics see them: every group is a unit."""
        sums, (x, y) = self.unit_sums, self.atoms
        if not sums.plain:
            x, y = (replace(a, in_unit=own.in_group) for a, own in zip((x, y), self.stand_ins, strict=True))
        atoms = x, y
        common = sums.common if len(sums.common[0]) else None
        grams = Grams(self.stand_ins, atoms, common)
        return AtomPair(atoms, sums.cross.squares, sums.bound, grams, common)

    @property
    def known_x(self) -> Known:
        """What is within x, for further pairs with it."""
        return Known(self.x, self.unit_sums.x, self.stand_ins[0])

    @property
    def mean_features(self) -> tuple[FloatArray, FloatArray] | None:
        """The same of weighted rows."""
        (one, two), x, y = self.unit_sums.units, self.unit_sums.x.features, self.unit_sums.y.features
        return None if x is None or y is None else (x / one.sizes.sum(), y / two.sizes.sum())

    @property
    def sums(self) -> KernelSums:
        """The sums for every row, as if it had been compared with all rows and not other groups' alone.

        In the order of the rows of the data.
        """
        (x, y), (one, two), cross = self.meeting.atoms, self.unit_sums.units, self.unit_sums.cross
        m, n = self.x.size, self.y.size

        def spread(sample: Sample, units: Units, sums: FloatArray, partners: Any, rows: int) -> FloatArray:
            return sample.in_order(sums / np.repeat(partners, units.rows) * rows)

        own = [
            WithinSums(
                spread(sample, units, within.rows, atoms.others(atoms.sizes), units.labels.size - 1),
                within.squares,
            )
            for sample, units, within, atoms in (
                (self.x, one, self.unit_sums.x, x),
                (self.y, two, self.unit_sums.y, y),
            )
        ]
        rows = spread(self.x, one, cross.rows, x.partners, n)
        columns = spread(self.y, two, cross.cols, y.partners, m)
        across = CrossSums(rows, columns, cross.squares, None)
        return KernelSums(own[0], own[1], across, self.unit_sums.bound)

    def unit_influences(self, side: int, slope: float, scale: float) -> FloatArray:
        """Return how far each group of a sample moves a distance, in the order of the groups."""
        atoms = self.meeting.atoms[side]
        moved: FloatArray = atoms.influences @ np.array([2 * slope, -2.0]) / (atoms.effective * scale)
        return moved

    def row_influences(self, side: int, slope: float, scale: float) -> FloatArray:
        """Return how far each row of a sample moves a distance; those of a group add up to the group's."""
        atoms, sample, units = self.meeting.atoms[side], (self.x, self.y)[side], self.unit_sums.units[side]
        within = (self.unit_sums.x, self.unit_sums.y)[side].rows
        across = (self.unit_sums.cross.rows, self.unit_sums.cross.cols)[side]
        own = within - np.repeat(atoms.others(atoms.sizes) * atoms.mean, units.rows)
        other = across - np.repeat(atoms.partners * atoms.cross_mean, units.rows)
        moved = slope * own / atoms.all_pairs[0] - other / atoms.all_pairs[1]
        return sample.in_order(2 * units.row_weights * moved / scale)

    def described(self) -> list[tuple[str, str]]:
        """Return the rows of a printed table that say what the groups and weights are."""
        return described((self.x, self.y), self.effective_groups, self.shared_groups)

    def options_as_code(self) -> list[str]:
        """Return what was said of the rows, as options of a question in Python."""
        one, _ = self._units
        found = []
        if one.reach:
            found.append(f"groups=nammd.TimeBlocks(length={one.length})")
        elif one.names is not None:
            by = "(groups_of_x, groups_of_y)" if one.by == "group" else repr(one.by)
            named = by if one.missing == "error" else f"nammd.Groups({by}, missing={one.missing!r})"
            found.append(f"groups={named}")
        if one.weights_by:
            given = one.weights_by != "row weights"
            found.append(
                f"sample_weight={one.weights_by!r}" if given else "sample_weight=(weights_x, weights_y)"
            )
        return found

    def summary(self) -> dict[str, Any]:
        """Return the same for programs."""
        one, two = self._units
        return {
            "x": one.count,
            "y": two.count,
            "effective": list(self.effective_groups),
            "in_both": self.shared_groups,
            "rows_without_group": [one.unlabelled, two.unlabelled],
            "missing": one.missing,
            "by": one.by,
            "sample_weight": one.weights_by or None,
            "block_lengths": [one.length, two.length] if one.reach else None,
            "periods": [one.period or None, two.period or None] if one.reach else None,
        }

    @property
    def _units(self) -> tuple[RowUnits, RowUnits]:
        one, two = self.x.units, self.y.units
        assert one is not None
        assert two is not None
        return one, two

    @cached_property
    def effective_groups(self) -> tuple[float, float]:
        """How many groups of equal size tell as much as those of x, and of y."""
        first, second = (effective_groups(units.sizes) for units in self.unit_sums.units)
        return first, second

    @cached_property
    def shared_groups(self) -> int:
        """How many groups are in both samples."""
        return len(self.unit_sums.common[0])

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What to know: few groups, groups in common, or nothing to test with."""
        if self.main is not None:
            return ()
        if self.obstacle is not None:
            return (self.obstacle,)
        return (
            flat_kernel(self.x, self.y, self.meeting.moments)
            + few_groups(self.x, self.y, self.effective_groups)
            + long_memory(self.x, self.y)
            + groups_in_common(self.x, self.y, self.shared_groups)
            + one_column_dominates(self.x, self.y)
        )


def described(
    samples: tuple[Sample, Sample], effective: tuple[float, float], shared: int
) -> list[tuple[str, str]]:
    """Return the rows of a printed table that say which rows belong together, and how they count."""
    one, two = (sample.units for sample in samples)
    assert one is not None
    assert two is not None
    counts = f"{one.count} and {two.count}"
    enough = f"effectively {effective[0]:.0f} and {effective[1]:.0f}"
    rows = []
    if one.reach:
        chosen = f", length by {one.by}" if one.by != "time" else ""
        periods = [f"{units.period} rows" if units.period else "no season" for units in (one, two)]
        if one.period or two.period:
            chosen += f", whole seasons of {' and '.join(dict.fromkeys(periods))}"
        rows.append(("blocks of time", f"{counts}, of {one.length} and {two.length} rows{chosen}"))
    elif not (one.singles and two.singles) or one.names is not None:
        by = f" by {one.by}" if one.by != "group" else ""
        both = f"; {shared} in both" if shared else ""
        rows.append(("groups", f"{counts}{by} ({enough}{both})"))
        if one.unlabelled or two.unlabelled:
            done = "left out" if one.missing == "drop" else "each a group of its own"
            rows.append(("rows without a group", f"{one.unlabelled} and {two.unlabelled}, {done}"))
    if one.weights_by or two.weights_by:
        alone = "" if rows else f" ({enough} rows)"
        rows.append(("row weights", f"by {one.weights_by or two.weights_by}{alone}"))
    return rows


def with_units(sample: Sample) -> Sample:
    """Return a sample that knows its units; where nothing was said, every row is one."""
    if sample.units is not None:
        return sample
    return replace(sample, dataset=replace(sample.dataset, units=RowUnits.alone(sample.size)))


def units_of(sample: Sample, numbers: Labels) -> Units:
    """Return the units of a sample in the order of its groups, by the numbers of the groups."""
    grouping = sample.units
    assert grouping is not None
    codes, weights = grouping.codes, grouping.weights
    if grouping.order is not None:
        codes = codes[grouping.order]
        weights = None if weights is None else weights[grouping.order]
    return Units(numbers[codes], weights, grouping.reach)
