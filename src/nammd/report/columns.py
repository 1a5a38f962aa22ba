"""What each column has to do with the distance: alone, against its tolerance, and left out.

*Alone*: the distance of that column by itself, on all rows, and whether it is beyond its tolerance; see
`nammd.views`. Where the result has no tolerances of columns, what is negligible by default is taken. *Left
out*: the distance of all other columns, under the kernel of the result with its bandwidth scaled to them; see
`nammd.report.leaving_out`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.explaining.columns import before_and_now, summary_of, words_for
from nammd.explaining.summaries import Summary, summary_of_counts
from nammd.questions.distance import Estimate, distance
from nammd.report.groups import options_for
from nammd.report.leaving_out import NOTHING, Found, WithoutColumns, measured
from nammd.report.model import ColumnPart, ColumnRow, Contributions, DistanceInterval, PairPart
from nammd.report.profiles import profile
from nammd.report.source import Source, Variable, evenly
from nammd.results import Reportable
from nammd.statistics.margin import confidence_interval
from nammd.statistics.standardized import standardized_difference
from nammd.views.comparing import group_pair
from nammd.views.counting import tally_columns
from nammd.views.family import COLUMNS, WHOLE
from nammd.views.grouped import has_units, is_grouped
from nammd.views.limits import ColumnCheck, check_columns, made_limits, part
from nammd.views.measure import Measure, measures_of
from nammd.views.negligible import Negligible
from nammd.views.placed import pair_of_counts
from nammd.views.relation_limits import PairCheck
from nammd.views.tally import ColumnTally

MOST_ROWS = 2000
LEAST_ROWS = 500

DRAWN = 30
DRAWN_PAIRS = 3
"""Columns beyond so many are in the table, not drawn."""

WIDE = 64
"""With more columns than this, leaving each out in turn would take minutes and tell little."""

WIDE_DRAWN = 12
"""So many columns of such data are drawn."""

EXACT_ROWS = 200_000
"""Up to so many rows the medians in the table are exact; else they are those of a fine lattice."""

# Every column that is left out costs a pass over the pairs of rows. This many pairs take a few seconds,
# whether they belong to three columns with 2000 rows or to twelve with 1000.
_PAIRS = 3 * MOST_ROWS**2

Step = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Checked:
    """All columns of a result, held against their tolerances, and what they are counted from.

    Attributes
    ----------
    checks : tuple of ColumnCheck
        The columns that have a measure of their own, those beyond their tolerance first.
    own : bool
        Whether the tolerances are those of the result; else they are what is negligible by default.
    level : float
        The level for all columns together.
    tallies : tuple of two mappings of str to ColumnTally
        The columns of each dataset.
    """

    checks: tuple[ColumnCheck, ...]
    own: bool
    level: float
    tallies: tuple[Mapping[str, ColumnTally], Mapping[str, ColumnTally]]

    @classmethod
    def of(cls, result: Reportable, alpha: float) -> Checked:
        """Take the columns of a result, or hold them against what is negligible."""
        evidence = result.estimate.evidence
        x, y = evidence.x.dataset, evidence.y.dataset
        grouped = is_grouped(x) or is_grouped(y)
        if grouped and not (has_units(x) and has_units(y)):
            return cls((), False, alpha, ({}, {}))  # single columns do not know of blocks of time
        own = result.column_checks()
        measures: Sequence[Measure] = measures_of(evidence.x.space.encoding, x)
        if own:
            measures = [check.measure for check in own]
        encoding = evidence.x.space.encoding
        before = tally_columns(x, measures, encoding, negligible=Negligible()).columns
        now = tally_columns(y, measures, encoding).columns
        if own:
            level = (WHOLE if result.column_pairs() else COLUMNS).level("columns", alpha)
            return cls(own, result.has_column_tolerances, level, (before, now))
        limits = made_limits(measures, before, Negligible())
        kept = {limit.name: replace(before[limit.name], counts=limit.reference) for limit in limits}
        return cls(check_columns(limits, kept, now, alpha), False, alpha, (before, now))

    def estimate(self, check: ColumnCheck, statistic: str) -> DistanceInterval:
        """Return the distance of a column alone, with its 95 % interval."""
        one, two = (columns[check.measure.name] for columns in self.tallies)
        if one.units is None or two.units is None:
            pair = pair_of_counts(part(check.aspect, one.counts), part(check.aspect, two.counts))
        else:
            pair = group_pair(one.units[check.aspect], two.units[check.aspect])
        if statistic != "nammd":
            pair = replace(pair, statistic="mmd2")
        return DistanceInterval(pair.value, *confidence_interval(pair, 0.95))


def contributions(source: Source, result: Reportable, alpha: float, step: Step) -> Contributions:
    """Return the part that each column has in a distance; `step` hears of every column."""
    estimate: Estimate = result.estimate
    checked = Checked.of(result, alpha)
    by_name = {check.measure.name: check for check in checked.checks}
    many = len(source.variables) > WIDE
    wide = many and not by_name
    count = WIDE_DRAWN if many else len(source.variables)
    most = int(np.clip((_PAIRS / count) ** 0.5, LEAST_ROWS, MOST_ROWS))
    positions = [evenly(side.rows, most) for side in source.sides]
    x, y = (side.encoded[rows] for side, rows in zip(source.sides, positions, strict=True))
    grouping = options_for(estimate, *positions)
    left_out = WithoutColumns(x, y, estimate, grouping)
    found = []
    for variable in _drawn(source, by_name, wide):
        step(f"column {variable.name!r}" if variable.key else variable.name)
        columns = x[:, variable.slots], y[:, variable.slots]
        check = by_name.get(variable.name.removeprefix("column ") if variable.key is None else variable.key)
        alone: Found
        if check is not None:
            alone = checked.estimate(check, estimate.metric)
        else:
            alone = NOTHING if _constant(*columns) else distance(*columns, metric=estimate.metric, **grouping)
        found.append(_Column(variable, alone, check, None if many else left_out.without(variable.slots)))
    parts = tuple(each.part(source, result) for each in found)
    beyond = tuple(check.name for check in checked.checks if check.beyond)
    pairs = [each for each in result.column_pairs() if each.beyond]
    return Contributions(
        columns=parts,
        hidden=len(source.variables) - len(parts),
        tested=len(by_name),
        significant=beyond,
        together=left_out.together,
        rows=(len(x), len(y)),
        alpha=checked.level,
        wide=wide,
        table=_table(result, checked),
        own=checked.own,
        pairs=tuple(map(_pair_part, pairs[:DRAWN_PAIRS])),
        sentence=_wide_sentence(len(source.variables), len(parts))
        if wide
        else _sentence(beyond, len(by_name), checked.own, checked.level, pairs),
    )


def _pair_part(pair: PairCheck) -> PairPart:
    """Return the two tables of a pair of columns; missing values are left out where there are none."""
    whole = pair.tables[0] + pair.tables[1]
    rows, columns = (len(whole) - (not whole[-1].any()), whole.shape[1] - (not whole[:, -1].any()))
    tables = []
    for table in pair.tables:
        shown = np.rint(100 * table[:rows, :columns] / table.max()).astype(int)
        tables.append(tuple((int(i), int(j), int(shown[i, j])) for i, j in np.argwhere(shown > 0)))
    return PairPart(pair.names, pair.words(), tables[0], tables[1], (rows, columns))


def _drawn(source: Source, by_name: Mapping[str, ColumnCheck], wide: bool) -> list[Variable]:
    """Return the columns to draw: those that matter most first, then those without a measure of their own."""
    if wide:
        return most_different(source)
    names = {v.name.removeprefix("column ") if v.key is None else v.key: v for v in source.variables}
    ordered = [names[name] for name in by_name if name in names]
    rest = [variable for variable in source.variables if variable not in ordered]
    return (ordered + rest)[:DRAWN]


@dataclass
class _Column:
    """What has been found out about a column."""

    variable: Variable
    alone: Found
    check: ColumnCheck | None
    without: Found | None

    def part(self, source: Source, result: Reportable) -> ColumnPart:
        picture, values = profile(source, self.variable)
        check, words = self.check, ""
        if check is not None and check.beyond:
            evidence = result.estimate.evidence
            x, y = evidence.x.dataset, evidence.y.dataset
            told = words_for(check.measure, check.aspect, x, y, evidence.x.space.encoding)
            words = told.removeprefix(f"{check.name}: ")
        return ColumnPart(
            name=self.variable.name,
            kind=self.variable.kind,
            alone=measured(self.alone),
            without=None if self.without is None else measured(self.without),
            tolerance=None if check is None else check.tolerance,
            aspect="" if check is None else check.aspect,
            adjusted=None if check is None else check.adjusted,
            significant=check is not None and check.beyond,
            words=words,
            profile=picture,
            values=values,
        )


def _table(result: Reportable, checked: Checked) -> tuple[ColumnRow, ...]:
    """Return a row for every column, those beyond their tolerance first, then by distance over tolerance."""
    evidence = result.estimate.evidence
    datasets, rows = (evidence.x.dataset, evidence.y.dataset), []
    for check in checked.checks:
        summaries: list[Summary] = []
        for dataset, columns in zip(datasets, checked.tallies, strict=True):
            own = columns[check.measure.name].counts
            if own.size <= EXACT_ROWS:
                summaries.append(summary_of(check.measure, dataset, evidence.x.space.encoding))
            else:
                summaries.append(summary_of_counts(own, check.measure))
        before, now = before_and_now(check.aspect, summaries[0], summaries[1])
        rows.append(
            ColumnRow(
                name=check.name,
                kind=check.measure.kind,
                distance=check.distance,
                tolerance=check.tolerance,
                ratio=check.ratio,
                before=before,
                now=now,
                beyond=check.beyond,
            )
        )
    return tuple(rows)


def _constant(x: FloatArray, y: FloatArray) -> bool:
    return bool((x == x[:1]).all() and (y == x[:1]).all())


def _sentence(
    beyond: tuple[str, ...], tested: int, own: bool, level: float, pairs: Sequence[PairCheck]
) -> str:
    shown = f"adjusted p ≤ {level:g}"
    if beyond:
        more = len(beyond) - 5
        listed = ", ".join(beyond[:5]) + (f" and {more} more" if more > 0 else "")
        columns = f"{tested} columns" if tested != 1 else "1 column"
        one = len(beyond) == 1
        if own:
            what = "is beyond its own tolerance" if one else "are beyond their own tolerances"
        else:
            what = f"differ{'s' if one else ''} by more than is negligible"
        return f"{len(beyond)} of {columns} {what} ({shown}): {listed}."
    nothing = "is beyond its own tolerance" if own else "differs by more than is negligible"
    if pairs:
        return f"No single column {nothing} ({shown}), but pairs of them go together differently."
    return f"No column {nothing} ({shown})."


def _wide_sentence(columns: int, shown: int) -> str:
    return (
        f"There are {columns:,} columns, too many to leave each of them out in turn. These are the {shown} "
        "that differ most in mean or spread, in units of their standard deviation. They were picked "
        "because they differ, so no significance is given for them."
    )


def most_different(source: Source) -> list[Variable]:
    """Return the columns with the largest standardized difference, the largest first."""
    scores = standardized_difference(source.x.encoded, source.y.encoded)
    by_column = np.array([scores[variable.slots].max() for variable in source.variables])
    return [source.variables[k] for k in np.argsort(-by_column, kind="stable")[:WIDE_DRAWN]]
