"""What two sketches tell of samples whose rows belong together or have weights: `GroupedSketchEvidence`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nammd.data.arrays import FloatArray
from nammd.errors.advice import Caution
from nammd.evidence.cautions import (
    few_rows,
    few_sketched_groups,
    few_sketched_rows,
    sketched_groups_in_common,
    split_groups,
)
from nammd.evidence.sketches import SketchEvidence, powers
from nammd.sketches.group_totals import SketchUnits
from nammd.statistics.evidence import Terms
from nammd.statistics.moments import Moments
from nammd.statistics.spread import Spread, effective_number
from nammd.statistics.total_terms import TotalInfluences, TotalSkewness, total_terms
from nammd.statistics.unit_totals import TotalSide, UnitTotals, total_moments


@dataclass(frozen=True, eq=False)
class GroupedSketchEvidence(SketchEvidence):
    """The same as of single rows, from totals over groups; see `nammd.statistics.unit_totals`."""

    @cached_property
    def units(self) -> tuple[SketchUnits, SketchUnits]:
        """The groups of both."""
        one, two = (sketch.units for sketch in self._sketches)
        assert one is not None
        assert two is not None
        return one, two

    @cached_property
    def sides(self) -> tuple[TotalSide, TotalSide]:
        """Both samples as the statistics see them."""
        x, y = (units.totals for units in self.units)
        return TotalSide(x, y), TotalSide(y, x)

    @cached_property
    def moments(self) -> Moments:
        """The moments of the pair of samples that was sketched."""
        return total_moments(*self.sides, self._bound, (self.x.size, self.y.size))

    @cached_property
    def higher_order(self) -> TotalSkewness:  # type: ignore[override]
        """What is of higher order, as far as totals tell it."""
        return TotalSkewness(*map(TotalInfluences, self.sides))

    @cached_property
    def spread(self) -> Spread | None:
        """How the distance varies over the frequencies, where the exact kernel is meant."""
        if not self.exact:
            return None
        x, y = (units.totals for units in self.units)
        half = len(x.features) // 2

        def waves(values: FloatArray) -> FloatArray:
            return (values[:half] + values[half:]) * half

        def own(z: UnitTotals) -> FloatArray:
            return waves(z.features**2 - z.gram.diagonal()) / z.pairs

        within = own(x) + own(y)
        across = waves(x.features * y.features) / (x.size * y.size)
        return Spread(within - 2 * across, 4 * self._bound - within, self.carriers)

    @cached_property
    def carriers(self) -> float:
        """How many frequencies carry the distance, or the mean kernel values, whichever are fewer."""
        x, y = (units.totals.features / units.totals.size for units in self.units)
        return min(effective_number(powers(x - y)), effective_number(powers(x) + powers(y)))

    def terms(self, slope: float, scale: float, normed: bool) -> Terms:
        """Return how the groups take part in a distance of that slope and scale, third moments aside."""
        higher = self.higher_order
        return total_terms(higher.x, higher.y, slope, scale, normed)

    def described(self) -> list[tuple[str, str]]:
        """Return the rows of a printed table that say what the groups and weights are."""
        one, two = self.units
        enough = " and ".join(f"{number:.0f}" for number in self.effective_groups)
        rows = []
        if one.by:
            by = f" by {one.by}" if one.by != "group" else ""
            shared = f"; {self.shared_groups} in both" if self.shared_groups else ""
            rows.append(("groups", f"{one.count} and {two.count}{by} (effectively {enough}{shared})"))
        if one.weights_by:
            alone = "" if rows else f" (effectively {enough} rows)"
            rows.append(("row weights", f"by {one.weights_by}{alone}"))
        return rows

    def options_as_code(self) -> list[str]:
        """Return what was said of the rows: nothing, since the sketches know it."""
        return []

    def summary(self) -> dict[str, Any]:
        """Return the same for programs."""
        one, two = self.units
        return {
            "x": one.count,
            "y": two.count,
            "effective": list(self.effective_groups),
            "in_both": self.shared_groups,
            "split": [one.split, two.split],
            "by": one.by or "row",
            "row_weights": one.weights_by or None,
            "block_lengths": None,
        }

    @cached_property
    def effective_groups(self) -> tuple[float, float]:
        """How many groups of equal size tell as much as those of x, and of y."""
        one, two = (units.totals.equal_groups for units in self.units)
        return one, two

    @cached_property
    def shared_groups(self) -> int:
        """How many groups are in both, by the traces of their labels."""
        one, two = self.units
        return min(one.trace.common(two.trace), one.count, two.count)

    def _few(self) -> tuple[Caution, ...]:
        one, two = self.effective_groups
        found: tuple[Caution, ...] = ()
        for sample, units in zip((self.x, self.y), self.units, strict=True):
            found += split_groups(sample.name, units)
        found += sketched_groups_in_common(self.y.name, self.x.name, self.shared_groups, self.units[1].count)
        if self.units[0].by:
            return found + few_sketched_groups(one, two)
        return found + (few_rows(round(one), round(two)) or few_sketched_rows(round(one), round(two)))
