"""What each column has to do with the distance: alone, and left out.

*Alone*: the distance of that column by itself, under a Gaussian kernel with the median bandwidth of that
column. The kernel of the result was made for all columns at once; on one of them it would see next to
nothing. *Left out*: the distance of all other columns, under the kernel of the result with its bandwidth
scaled to them; see `nammd.report.leaving_out`.

Whether a column differs at all is a question without a margin, so it is answered by permutations, and
adjusted for the number of columns by Holm's method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.questions.distance import Estimate, distance
from nammd.questions.two_sample import two_sample_test
from nammd.report.groups import options_for
from nammd.report.leaving_out import NOTHING, Found, WithoutColumns, measured
from nammd.report.model import ColumnPart, Contributions, Measured
from nammd.report.profiles import profile
from nammd.report.source import Source, Variable, evenly
from nammd.report.wide import WIDE_DRAWN, most_different
from nammd.statistics.adjusting import holm
from nammd.statistics.margin import Statistic

MOST_ROWS = 2000
LEAST_ROWS = 500

DRAWN = 30
"""Columns beyond so many are counted, not drawn."""

WIDE = 64
"""With more columns than this, leaving each out in turn would take minutes and tell little."""

# Every column costs three passes over the pairs of rows. This many pairs take a few seconds, whether
# they belong to three columns with 2000 rows or to twelve with 1000.
_PAIRS = 3 * MOST_ROWS**2

Step = Callable[[str], None]


def contributions(source: Source, estimate: Estimate, alpha: float, step: Step) -> Contributions:
    """Return the part that each column has in a distance; `step` hears of every column."""
    wide = len(source.variables) > WIDE
    count = WIDE_DRAWN if wide else len(source.variables)
    most = int(np.clip((_PAIRS / count) ** 0.5, LEAST_ROWS, MOST_ROWS))
    positions = [evenly(side.rows, most) for side in source.sides]
    x, y = (side.encoded[rows] for side, rows in zip(source.sides, positions, strict=True))
    belonging = options_for(estimate, *positions)
    left_out = WithoutColumns(x, y, estimate, belonging)
    # Holm's method multiplies the smallest p-value by the number of columns, so permutations must be
    # fine enough for that to be significant.
    permutations = 0 if wide else max(999, int(np.ceil(1.5 * count / alpha)) - 1)

    found = []
    for variable in most_different(source) if wide else source.variables:
        step(f"column {variable.name!r}" if variable.key else variable.name)
        columns = x[:, variable.slots], y[:, variable.slots]
        alone = (
            NOTHING if _constant(*columns) else distance(*columns, statistic=estimate.statistic, **belonging)
        )
        if wide:
            found.append(_Column(variable, alone))
        else:
            p = _pvalue(*columns, estimate.statistic, permutations, belonging)
            found.append(_Column(variable, alone, left_out.without(variable.slots), p))
    # A constant column cannot differ: it is no test, and the others do not pay for it.
    tested = [f for f in found if f.pvalue is not None]
    for each, p in zip(tested, holm([f.pvalue or 0.0 for f in tested]), strict=True):
        each.adjusted = p
    together = left_out.together
    if not wide:
        found.sort(key=lambda f: (f.significant(alpha), f.contribution(together)), reverse=True)
    parts = tuple(f.part(source, alpha) for f in found[:DRAWN])
    significant = tuple(f.variable.name for f in found if f.significant(alpha))
    return Contributions(
        columns=parts,
        hidden=len(source.variables) - len(parts),
        tested=len(tested),
        significant=significant,
        together=together,
        rows=(len(x), len(y)),
        permutations=permutations,
        alpha=alpha,
        wide=wide,
        sentence=_wide_sentence(len(source.variables), len(parts))
        if wide
        else _sentence(significant, len(tested), together, alpha),
    )


@dataclass
class _Column:
    """What has been found out about a column so far."""

    variable: Variable
    alone: Found
    without: Found | None = None
    pvalue: float | None = None
    adjusted: float | None = None

    def contribution(self, together: Measured) -> float:
        """Return how much a column matters: what it shows alone, or takes away when it goes.

        The second matters where columns differ only in how they go together.
        """
        if self.without is None:
            return self.alone.value
        return max(self.alone.value, together.value - self.without.value)

    def significant(self, alpha: float) -> bool:
        return self.adjusted is not None and self.adjusted <= alpha

    def part(self, source: Source, alpha: float) -> ColumnPart:
        picture, facts = profile(source, self.variable)
        return ColumnPart(
            name=self.variable.name,
            kind=self.variable.kind,
            alone=measured(self.alone),
            without=None if self.without is None else measured(self.without),
            pvalue=self.pvalue,
            adjusted=self.adjusted,
            significant=self.significant(alpha),
            profile=picture,
            facts=facts,
        )


def _pvalue(
    x: FloatArray, y: FloatArray, statistic: Statistic, permutations: int, belonging: dict[str, Any]
) -> float | None:
    if _constant(x, y):
        return None
    method: Literal["nammd", "mmd"] = "nammd" if statistic == "nammd" else "mmd"
    return two_sample_test(x, y, method=method, permutations=permutations, rng=0, **belonging).pvalue


def _constant(x: FloatArray, y: FloatArray) -> bool:
    return bool((x == x[:1]).all() and (y == x[:1]).all())


def _sentence(significant: tuple[str, ...], tested: int, together: Measured, alpha: float) -> str:
    level = f"adjusted p ≤ {alpha:g}"
    if significant:
        more = len(significant) - 5
        listed = ", ".join(significant[:5]) + (f" and {more} more" if more > 0 else "")
        columns = f"{tested} columns" if tested != 1 else "1 column"
        verb = "differs significantly on its" if len(significant) == 1 else "differ significantly on their"
        return f"{len(significant)} of {columns} {verb} own ({level}): {listed}."
    if together.low > 0 and tested > 1:
        return (
            f"No column differs significantly on its own ({level}), though together they do: the "
            "difference lies in how columns go together, or is spread thinly over many of them."
        )
    return f"No column differs significantly on its own ({level})."


def _wide_sentence(columns: int, shown: int) -> str:
    return (
        f"There are {columns:,} columns, too many to leave each of them out in turn. These are the {shown} "
        "that differ most in mean or spread, in units of their standard deviation. They were picked "
        "because they differ, so no significance is given for them."
    )
