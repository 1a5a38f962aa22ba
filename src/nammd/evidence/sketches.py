"""What two sketches tell of the samples that were sketched: `SketchEvidence`.

A sketch keeps the totals of its random features over its units, rows or groups of rows, and so two sketches
are a pair by its totals: the same numbers as the rows give under the kernel of the features, up to rounding,
but for third moments (`nammd.statistics.totals`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nammd.data.arrays import FloatArray
from nammd.errors.advice import Caution
from nammd.evidence.cautions import (
    few_frequencies,
    few_rows,
    few_sketched_groups,
    few_sketched_rows,
    flat_kernel,
    same_rows,
    sketched_groups_in_common,
    split_groups,
    unread,
)
from nammd.evidence.evidence import Evidence
from nammd.sketches.group_totals import SketchUnits
from nammd.sketches.sample import SketchSample
from nammd.statistics.spread import Spread, effective_number
from nammd.statistics.totals import TotalPair, UnitTotals


@dataclass(frozen=True, eq=False)
class SketchEvidence(Evidence):
    """Two sketches of the same features.

    Attributes
    ----------
    x, y : SketchSample
        The sketches, as they were when they were compared.
    exact : bool
        Whether the kernel that the features approximate is meant, and not the features themselves.
    """

    x: SketchSample
    y: SketchSample
    exact: bool

    @cached_property
    def meeting(self) -> TotalPair:
        """The two samples, as the statistics see them."""
        weighted = self.units is not None and bool(self.units[0].weights_by)
        rows = self.x.size, self.y.size
        return TotalPair(_totals(self.x), _totals(self.y), rows, self._bound, weighted)

    @property
    def units_used(self) -> tuple[int, int]:
        """All units: totals are over all of them."""
        return self.meeting.x.count, self.meeting.y.count

    @property
    def _bound(self) -> float:
        return self.x.sketch.features.bound

    @cached_property
    def spread(self) -> Spread | None:  # type: ignore[override]
        """How the distance varies over the frequencies, where the exact kernel is meant."""
        if not self.exact:
            return None
        return spread_of(self.meeting.x, self.meeting.y, self._bound)

    @property
    def computed_by(self) -> str:  # type: ignore[override]
        """The sketches themselves."""
        return f"sketches of {self.x.sketch.features!r}"

    @property
    def approximation(self) -> str:  # type: ignore[override]
        """The random features, where the exact kernel is meant."""
        if not self.exact:
            return ""
        return f"{self.x.sketch.features.n_features} random features (their error is included)"

    @cached_property
    def obstacle(self) -> Caution | None:
        """Why there is nothing to test with: the same rows on both sides."""
        return same_rows(self.x, self.y)

    @cached_property
    def cautions(self) -> tuple[Caution, ...]:
        """What to know: few rows or groups, few frequencies, or nothing to test with."""
        cells = unread(*dict.fromkeys([self.x, self.y]))
        if self.obstacle is not None:
            return (self.obstacle, *cells)
        flat = flat_kernel(self.x, self.y, self.meeting.moments)
        return flat + self._few() + few_frequencies(self.spread, self.x.sketch.features.n_features) + cells

    def _few(self) -> tuple[Caution, ...]:
        if self.units is None:
            m, n = self.x.size, self.y.size
            return few_rows(m, n) or few_sketched_rows(m, n)
        one, two = self.effective_groups
        found: tuple[Caution, ...] = ()
        for sample, units in zip((self.x, self.y), self.units, strict=True):
            found += split_groups(sample.name, units)
        found += sketched_groups_in_common(self.y.name, self.x.name, self.shared_groups, self.units[1].count)
        if self.units[0].by:
            return found + few_sketched_groups(one, two)
        return found + (few_rows(round(one), round(two)) or few_sketched_rows(round(one), round(two)))

    # Rows that belong together, or have weights.

    @cached_property
    def units(self) -> tuple[SketchUnits, SketchUnits] | None:
        """The groups of both; None where every row stands for itself."""
        one, two = self.x.sketch.units, self.y.sketch.units
        return None if one is None or two is None else (one, two)

    @cached_property
    def effective_groups(self) -> tuple[float, float]:
        """How many groups of equal size tell as much as those of x, and of y."""
        return self.meeting.x.equal_groups, self.meeting.y.equal_groups

    @cached_property
    def shared_groups(self) -> int:
        """How many groups are in both, by the traces of their labels."""
        if self.units is None:
            return 0
        one, two = self.units
        return min(one.trace.common(two.trace), one.count, two.count)

    def described(self) -> list[tuple[str, str]]:
        """Return the rows of a printed table that say what the groups and weights are."""
        if self.units is None:
            return []
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

    def summary(self) -> dict[str, Any] | None:
        """Return the same for programs."""
        if self.units is None:
            return None
        one, two = self.units
        return {
            "x": one.count,
            "y": two.count,
            "effective": list(self.effective_groups),
            "in_both": self.shared_groups,
            "split": [one.split, two.split],
            "by": one.by or "row",
            "sample_weight": one.weights_by or None,
            "block_lengths": None,
            "periods": None,
        }


def spread_of(x: UnitTotals, y: UnitTotals, bound: float) -> Spread:
    """Return how the distance of two samples varies over the frequencies of their features."""
    half = len(x.features) // 2

    def waves(values: FloatArray) -> FloatArray:
        return (values[:half] + values[half:]) * half

    one, two = (waves(z.features**2 - z.gram.diagonal()) / z.pairs for z in (x, y))
    within = one + two
    across = waves(x.features * y.features) / (x.size * y.size)
    # How many frequencies carry the distance, or the mean kernel values, whichever are fewer: by squares of
    # mean features, which are never negative. Where they are all noise of the rows, that is spread over all
    # frequencies, and so it is taken: the error of the rows is then the larger one.
    p, q = x.features / x.size, y.features / y.size
    carriers = min(effective_number(_powers(p - q)), effective_number(_powers(p) + _powers(q)))
    return Spread(within - 2 * across, 4 * bound - within, carriers)


def _totals(sample: SketchSample) -> UnitTotals:
    """Return the totals over the units of a sample; of rows, over units of one row each."""
    z = sample.sketch
    if z.units is not None:
        return z.units.totals
    return UnitTotals.of_rows(z.n, z.total, z.products, z.features.bound)


def _powers(means: FloatArray) -> FloatArray:
    """Return the squared length of the mean wave of each frequency."""
    half = len(means) // 2
    powers: FloatArray = means[:half] ** 2 + means[half:] ** 2
    return powers
