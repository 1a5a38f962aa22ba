"""Sketches whose sums belong together: `require_alike`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nammd.data.advice import Advice, refusal
from nammd.data.checks import counted
from nammd.sketches.group_totals import difference_in_units

if TYPE_CHECKING:
    from nammd.sketches.sketch import Sketch


def require_alike(a: Sketch, b: Sketch, verb: str = "compared") -> None:
    """Refuse sketches whose sums do not belong together, and say in what they differ."""
    difference = a.features.difference(b.features)
    if difference:
        raise refusal(
            ValueError,
            f"these sketches cannot be {verb}: {difference}",
            Advice(
                "make both with the same RandomFeatures, for example Sketch.of(y, first.features)",
                "make both with the same --tolerance, --n-features and --seed",
            ),
        )
    if a.columns != b.columns:
        raise ValueError(
            f"these sketches cannot be {verb}: their data have {a.columns} and {counted(b.columns, 'column')}"
        )
    if a.encoding != b.encoding:
        raise ValueError(
            f"these sketches cannot be {verb}: their tables were turned into numbers by different "
            "encodings; make both with the same tolerance file or the same Space"
        )
    by = difference_in_units(a.units, b.units)
    if by:
        raise refusal(
            ValueError,
            f"these sketches cannot be {verb}: {by}",
            Advice("make both with the same groups= and row_weights=", "make both with the same --group"),
        )
