"""How far a column may be from what was accepted for it, and whether one is: `ColumnLimit`, `check_columns`.

A column of numbers has two aspects, its values and whether they are there, each with a distance of its own:
one row in a hundred without a value is a far smaller change of a distribution than a tenth of a standard
deviation, and would drown in it. Of labels, a missing one is one more label.

A column is beyond its tolerance if it is farther than what is negligible from each mixture of the reference
and the accepted datasets; see `nammd.statistics.hull`. Every column has its own mixture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from nammd.statistics.adjusting import holm
from nammd.statistics.margin import margin
from nammd.statistics.pair import Pair
from nammd.views.comparing import LEAST_GROUPS, all_single, group_pair, nearest_group_pair
from nammd.views.counts import Counts, LabelCounts, NumberCounts, rounded
from nammd.views.grouped import ColumnUnits
from nammd.views.measure import Measure
from nammd.views.nearest import nearest_counts
from nammd.views.negligible import Negligible
from nammd.views.placed import pair_of_counts
from nammd.views.tally import ColumnTally

LEAST_ROWS = 4
"""The unbiased variance components are averages over four distinct rows."""

HOPELESS = 0.25
"""Half of the largest level of a check: no column with a larger p-value can be beyond its tolerance."""


@dataclass(frozen=True, eq=False)
class ColumnLimit:
    """How far one column may be from the reference.

    Attributes
    ----------
    measure : Measure
        How the column is counted.
    reference : Counts
        The reference, as it was when the limit was made.
    negligible : mapping of str to float
        For each aspect of the column: the distance that is negligible.
    accepted : tuple of (str, Counts)
        The accepted datasets, by their names.
    fixed : mapping of str to float
        For each aspect: a distance that is acceptable, as a number; empty where there is none.
    units : ColumnUnits or None
        The groups of the reference, where rows belong together or have weights.
    accepted_units : tuple of ColumnUnits
        Those of the accepted datasets, likewise.
    """

    measure: Measure
    reference: Counts = field(repr=False)
    negligible: Mapping[str, float]
    accepted: tuple[tuple[str, Counts], ...] = field(default=(), repr=False)
    fixed: Mapping[str, float] = field(default_factory=dict)
    units: ColumnUnits | None = field(default=None, repr=False)
    accepted_units: tuple[ColumnUnits, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """The column."""
        return self.measure.name

    @property
    def made_from(self) -> ColumnTally:
        """The reference, as it was when the limit was made."""
        return ColumnTally(self.reference, self.units)

    def accepting(self, others: Mapping[str, ColumnTally]) -> ColumnLimit:
        """Return the same, where the column may also be like that of other datasets."""
        counts = tuple((label, rounded(other.counts)) for label, other in others.items())
        groups = tuple(_alone(other.units) for other in others.values() if other.units is not None)
        accepted_units = self.accepted_units + (groups if self.units is not None else ())
        return replace(self, accepted=self.accepted + counts, accepted_units=accepted_units)

    def tolerances(self) -> dict[str, float]:
        """Return how far each aspect may be from what was accepted."""
        return {aspect: max(least, self.fixed.get(aspect, 0.0)) for aspect, least in self.negligible.items()}


@dataclass(frozen=True)
class ColumnCheck:
    """One column of a candidate, held against its tolerance.

    Attributes
    ----------
    measure : Measure
        The column.
    aspect : {"values", "missing", "labels"}
        What of it is shown: the aspect with the largest distance over tolerance.
    distance, standard_error : float
        The estimated distance of this column alone from what was accepted.
    tolerance : float
        How far it may be away.
    pvalue : float
        Of "beyond its tolerance", for this column alone.
    adjusted : float
        The same, adjusted for the number of columns by Holm's method.
    beyond : bool
        Whether that is proven.
    """

    measure: Measure = field(repr=False)
    aspect: str
    distance: float
    standard_error: float
    tolerance: float
    pvalue: float
    adjusted: float = 1.0
    beyond: bool = False

    @property
    def name(self) -> str:
        """What people call the column."""
        return self.measure.title

    def doubtful(self, alpha: float) -> bool:
        """Tell whether it would be beyond its tolerance if it were alone, and is not proven to be."""
        return self.pvalue <= alpha and not self.beyond

    @property
    def ratio(self) -> float:
        """The distance over the tolerance."""
        distance = max(self.distance, 0.0)
        return distance / self.tolerance if self.tolerance > 0 else (math.inf if distance else 0.0)

    def to_dict(self) -> dict[str, str | float | bool]:
        """Return it as plain values."""
        return {
            "name": self.name,
            "kind": self.measure.kind,
            "aspect": self.aspect,
            "distance": self.distance,
            "standard_error": self.standard_error,
            "tolerance": self.tolerance,
            "ratio": self.ratio,
            "pvalue": self.pvalue,
            "adjusted": self.adjusted,
            "beyond": self.beyond,
        }


def aspects(counts: Counts) -> tuple[str, ...]:
    """Return what there is to compare in a column."""
    return ("labels",) if isinstance(counts, LabelCounts) else ("values", "missing")


def part(aspect: str, counts: Counts) -> Counts:
    """Return the counts of one aspect of a column."""
    if aspect == "missing" and isinstance(counts, NumberCounts):
        return counts.presence()
    return replace(counts, missing=0.0) if isinstance(counts, NumberCounts) else counts


def made_limits(
    measures: Sequence[Measure],
    reference: Mapping[str, ColumnTally],
    negligible: Negligible,
    accepted: Mapping[str, Mapping[str, ColumnTally]] | None = None,
) -> tuple[ColumnLimit, ...]:
    """Return the limits of columns from a reference, and from what is acceptable where that is known.

    Parameters
    ----------
    measures : sequence of Measure
        The columns.
    reference : mapping of str to ColumnTally
        The reference, by column.
    negligible : Negligible
        What is negligible.
    accepted : mapping of str to mapping of str to ColumnTally, optional
        Accepted datasets by name, each by column.
    """
    negligible.require_known(tuple(measure.name for measure in measures))
    found = []
    for measure in measures:
        own, changes = reference[measure.name], negligible.of_column(measure.name)
        least = {}
        for aspect in aspects(own.counts):
            some = part(aspect, own.counts)
            if some.size >= LEAST_ROWS:
                least[aspect] = changes.distance(aspect, some)
        least |= own.negligible
        units = None if own.units is None else _alone(own.units)
        made = ColumnLimit(measure, rounded(own.counts), least, fixed=own.blocks, units=units)
        found.append(made.accepting({label: each[measure.name] for label, each in (accepted or {}).items()}))
    return tuple(found)


def check_columns(
    limits: Sequence[ColumnLimit],
    reference: Mapping[str, ColumnTally],
    candidate: Mapping[str, ColumnTally],
    level: float,
) -> tuple[ColumnCheck, ...]:
    """Hold every column of a candidate against its limit.

    Parameters
    ----------
    limits : sequence of ColumnLimit
        The columns.
    reference : mapping of str to ColumnTally
        The reference of this check, by column.
    candidate : mapping of str to ColumnTally
        The candidate.
    level : float
        The level for all columns together.

    Returns
    -------
    tuple of ColumnCheck
        The column with the largest distance over tolerance first.
    """
    found, alike = [], dict[object, ColumnCheck | None]()
    for limit in limits:
        x, y = reference[limit.name], candidate[limit.name]
        check: Callable[[str], ColumnCheck | None]
        if (
            x.units is None
            or y.units is None
            or all_single(x.units, y.units, limit.units or {}, *limit.accepted_units)
        ):
            check = partial(_by_counts, limit, x.counts, y.counts, alike)
        else:
            check = partial(_by_groups, limit, (x.units, y.units))
        found.append(_checked(limit, check))
    adjusted = holm([each.pvalue for each in found])
    noted = [replace(each, adjusted=p) for each, p in zip(found, adjusted, strict=True)]
    return at_level(noted, level)


def at_level(columns: Sequence[ColumnCheck], level: float) -> tuple[ColumnCheck, ...]:
    """Return columns, those that are beyond their tolerances at a level first."""
    noted = [replace(each, beyond=each.adjusted <= level) for each in columns]
    return tuple(sorted(noted, key=lambda each: (-each.beyond, -each.ratio)))


def _alone(units: ColumnUnits) -> ColumnUnits:
    return {aspect: each.alone for aspect, each in units.items()}


def _checked(limit: ColumnLimit, check: Callable[[str], ColumnCheck | None]) -> ColumnCheck:
    found = [each for each in map(check, limit.negligible) if each is not None]
    if not found:
        return ColumnCheck(limit.measure, "values", 0.0, 0.0, 1.0, 1.0)
    most = max(
        found, key=lambda each: (-each.pvalue, each.ratio) if each.pvalue < HOPELESS else (-1.0, each.ratio)
    )
    return replace(most, pvalue=min(1.0, len(found) * min(each.pvalue for each in found)))


def _by_groups(limit: ColumnLimit, both: tuple[ColumnUnits, ColumnUnits], aspect: str) -> ColumnCheck | None:
    """Hold one aspect against its limit where rows belong together; None if groups are too few."""
    x, y = (units[aspect] for units in both)
    if min(x.totals.count, y.totals.count) < LEAST_GROUPS:
        return None
    accepted = [each[aspect] for each in limit.accepted_units]

    def nearest() -> Pair:
        return nearest_group_pair(x, accepted, y)

    return _aspect(limit, aspect, group_pair(x, y), nearest if accepted else None)


def _by_counts(
    limit: ColumnLimit, x: Counts, y: Counts, alike: dict[object, ColumnCheck | None], aspect: str
) -> ColumnCheck | None:
    """Hold one aspect against its limit where every row stands for itself; None if rows are too few.

    Whether values are there is alike in most columns of a table, and is looked at once.
    """
    every = [part(aspect, counts) for counts in (x, y, *(c for _, c in limit.accepted))]
    if aspect != "missing":
        return _counted(limit, aspect, every)
    key = (*map(_presence, every), *limit.tolerances().values())
    if key not in alike:
        alike[key] = _counted(limit, aspect, every)
    found = alike[key]
    return None if found is None else replace(found, measure=limit.measure)


def _presence(counts: Counts) -> tuple[float, float]:
    """Return how many rows have a value, and how many have none."""
    assert isinstance(counts, LabelCounts)
    return counts.rows["present"], counts.missing


def _counted(limit: ColumnLimit, aspect: str, every: Sequence[Counts]) -> ColumnCheck | None:
    mine, theirs, *others = every
    if min(mine.size, theirs.size) < LEAST_ROWS:
        return None
    accepted = [other for other in others if other.size >= LEAST_ROWS]

    def nearest() -> Pair:
        return nearest_counts(mine, accepted, theirs).pair

    return _aspect(limit, aspect, pair_of_counts(mine, theirs), nearest if accepted else None)


def _aspect(limit: ColumnLimit, aspect: str, pair: Pair, nearest: Callable[[], Pair] | None) -> ColumnCheck:
    """Hold one aspect of a column against its limit.

    The nearest mixture is looked for where the reference alone is not near enough to be the answer.
    """
    tolerance = limit.tolerances()[aspect]
    pvalue = _beyond(pair, tolerance)
    if nearest is not None and pvalue < HOPELESS:
        pair = nearest()
        pvalue = max(pvalue, _beyond(pair, tolerance))
    return ColumnCheck(limit.measure, aspect, pair.value, pair.standard_error, tolerance, pvalue)


def _beyond(pair: Pair, eps: float) -> float:
    """Return the p-value of "farther than eps"; where there is none, nothing is proven."""
    if pair.constant:  # one value in each: they are the same, or as different as can be
        return float(not pair.value > eps)
    pvalue = margin(pair, eps, "corrected", "greater").pvalue("greater")
    return 1.0 if np.isnan(pvalue) else pvalue
