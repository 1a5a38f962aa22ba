"""What is known of a pair of samples whose rows belong together: `UnitEvidence`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.row_units import RowUnits
from nammd.engines.sums import CrossSums, KernelSums, WithinSums
from nammd.engines.units import Labels, Units, UnitSums, UnitWithin
from nammd.errors.advice import Caution
from nammd.evidence.cautions import copied_rows, few_groups, groups_in_common, same_rows
from nammd.evidence.unit_grams import UnitGram
from nammd.spaces import Sample
from nammd.statistics.evidence import Terms
from nammd.statistics.moments import CrossPairs, Moments
from nammd.statistics.skewness import Skewness
from nammd.statistics.unit_grams import UnitGrams
from nammd.statistics.unit_terms import unit_skewness, unit_terms
from nammd.statistics.units import UnitSide, effective_groups, sides, unit_moments


@dataclass(frozen=True, eq=False)
class UnitEvidence:
    """Sums of kernel values over the groups of two samples.

    Attributes
    ----------
    x, y : Sample
        The samples.
    unit_sums : UnitSums
        The sums; rows are in the order of their groups.
    computed_by : str
        Which engine computed them.
    own : tuple of two UnitGram
        The Gram matrices within each sample, which other pairs with the same sample use too.
    """

    x: Sample
    y: Sample
    unit_sums: UnitSums = field(repr=False)
    computed_by: str
    own: tuple[UnitGram, UnitGram] = field(repr=False)
    cross: CrossPairs = field(default="full", init=False, repr=False)
    spread: None = field(default=None, init=False, repr=False)
    approximation: str = field(default="", init=False, repr=False)

    @cached_property
    def sides(self) -> tuple[UnitSide, UnitSide]:
        """Both samples as the statistics see them."""
        return sides(self.unit_sums)

    @cached_property
    def moments(self) -> Moments:
        """The first and second moments."""
        plain = self.unit_sums.plain
        inside = None if plain else (self.own[0].in_group, self.own[1].in_group)
        return unit_moments(self.unit_sums, (self.x.size, self.y.size), inside)

    @cached_property
    def higher_order(self) -> Skewness:
        """What is of higher order; the kernel is evaluated, on some rows, when it is asked for."""
        chosen = self.own[0].chosen, self.own[1].chosen
        return unit_skewness(self.sides, chosen, self._grams, self.unit_sums.common)

    @cached_property
    def _grams(self) -> UnitGrams:
        return UnitGrams(*self.own, self.sides, self.unit_sums.common)

    @property
    def known_x(self) -> KnownUnits:
        """What is within x, for further pairs with it."""
        return KnownUnits(self.x, self.unit_sums.x, self.own[0])

    @property
    def alike(self) -> tuple[bool, bool]:
        """Whether all rows of x are equal, and all rows of y."""
        return self.x.constant, self.y.constant

    def terms(self, slope: float, scale: float, normed: bool) -> Terms:
        """Return how the groups take part in a distance of that slope and scale."""
        chosen = self.own[0].chosen, self.own[1].chosen
        return unit_terms(self.sides, chosen, self._grams, (slope, scale, normed), self.unit_sums.common)

    @cached_property
    def sums(self) -> KernelSums:
        """The sums for every row, as if it had been compared with all rows and not other groups' alone.

        In the order of the rows of the data.
        """
        (x, y), cross = self.sides, self.unit_sums.cross
        m, n = self.x.size, self.y.size

        def spread(side: UnitSide, sums: FloatArray, partners: FloatArray, rows: int) -> FloatArray:
            return sums / np.repeat(partners, side.units.rows) * rows

        own = [
            spread(side, side.within.rows, side.others(side.units.sizes), side.units.labels.size - 1)
            for side in (x, y)
        ]
        rows = self.x.in_order(spread(x, cross.rows, x.partners, n))
        columns = self.y.in_order(spread(y, cross.cols, y.partners, m))
        within = [
            WithinSums(sample.in_order(values), part.squares)
            for sample, values, part in zip(
                (self.x, self.y), own, (self.unit_sums.x, self.unit_sums.y), strict=True
            )
        ]
        across = CrossSums(rows, columns, cross.squares, None)
        return KernelSums(within[0], within[1], across, self.unit_sums.bound)

    def influences(self, number: int, slope: float, scale: float) -> FloatArray:
        """Return how far each group of a sample moves the distance, in the order of the groups."""
        side = self.sides[number]
        p, q = side.influences
        found: FloatArray = 2 * (slope * p - q) / (side.effective * scale)
        return found

    def row_influences(self, number: int, slope: float, scale: float) -> FloatArray:
        """Return how far each row of a sample moves the distance; those of a group add up to the group's."""
        side, sample = self.sides[number], (self.x, self.y)[number]
        units = side.units
        own = side.within.rows - np.repeat(side.others(units.sizes) * side.mean, units.rows)
        across = side.across - np.repeat(side.partners * side.cross_mean, units.rows)
        moved = slope * own / side.own_pairs.sum() - across / side.other_pairs.sum()
        return sample.in_order(2 * units.row_weights * moved / scale)

    def described(self) -> list[tuple[str, str]]:
        """Return the rows of a printed table that say what the groups and weights are."""
        return described((self.x, self.y), self.effective_groups, self.shared_groups)

    def options_as_code(self) -> list[str]:
        """Return what was said of the rows, as options of a question in Python."""
        one = self.x.units
        assert one is not None
        found = []
        if one.reach:
            found.append(f"groups=nammd.Blocks(length={one.length})")
        elif one.names is not None:
            found.append("groups=(groups_of_x, groups_of_y)" if one.by == "group" else f"groups={one.by!r}")
        if one.weights_by:
            given = one.weights_by != "row weights"
            found.append(f"row_weights={one.weights_by!r}" if given else "row_weights=(weights_x, weights_y)")
        return found

    def summary(self) -> dict[str, Any]:
        """Return the same for programs."""
        one, two = self.x.units, self.y.units
        assert one is not None
        assert two is not None
        return {
            "x": one.count,
            "y": two.count,
            "effective": list(self.effective_groups),
            "in_both": self.shared_groups,
            "by": one.by,
            "row_weights": one.weights_by or None,
            "block_lengths": [one.length, two.length] if one.reach else None,
        }

    @cached_property
    def effective_groups(self) -> tuple[float, float]:
        """How many groups of equal size tell as much as those of x, and of y."""
        first, second = (effective_groups(units.sizes) for units in self.unit_sums.units)
        return first, second

    @cached_property
    def shared_groups(self) -> int:
        """How many groups are in both samples."""
        return len(self.unit_sums.common[0])

    @cached_property
    def obstacle(self) -> Caution | None:
        """Why there is nothing to test with: the same rows on both sides, or copies of rows."""
        return same_rows(self.x, self.y) or copied_rows(self.x) or copied_rows(self.y)

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What to know: few groups, groups in common, or nothing to test with."""
        if self.obstacle is not None:
            return (self.obstacle,)
        return few_groups(self.x, self.y, self.effective_groups) + groups_in_common(
            self.x, self.y, self.shared_groups
        )


class KnownUnits(NamedTuple):
    """What is within a sample, for further pairs with it."""

    sample: Sample
    sums: UnitWithin
    gram: UnitGram


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
        rows.append(("blocks of time", f"{counts}, of {one.length} and {two.length} rows{chosen}"))
    elif not (one.singles and two.singles) or one.names is not None:
        by = f" by {one.by}" if one.by != "group" else ""
        both = f"; {shared} in both" if shared else ""
        rows.append(("groups", f"{counts}{by} ({enough}{both})"))
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
    told = sample.units
    assert told is not None
    codes, weights = told.codes, told.weights
    if told.order is not None:
        codes = codes[told.order]
        weights = None if weights is None else weights[told.order]
    return Units(numbers[codes], weights, told.reach)
