"""How far a column may be from what was accepted for it, and whether one is: `ColumnLimit`, `check_columns`.

A column of numbers has two aspects, its values and whether they are there, each with a distance of its own:
one row in a hundred without a value is a far smaller change of a distribution than a tenth of a standard
deviation, and would drown in it. Of labels, a missing one is one more label.

A column is beyond its tolerance if it is farther than what is negligible from each mixture of the reference
and the accepted datasets; see `nammd.statistics.hull`. Every column has its own mixture.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.adjusting import holm
from nammd.statistics.elementwise import choose, number
from nammd.statistics.margin import margin
from nammd.statistics.pair import Pair
from nammd.views.comparing import LEAST_GROUPS, all_single, group_pair, nearest_group_pair
from nammd.views.counts import Counts, LabelCounts, NumberCounts, all_rounded
from nammd.views.grouped import ColumnUnits
from nammd.views.measure import Measure
from nammd.views.nearest import nearest_mixture
from nammd.views.negligible import Negligible, shifted_distances
from nammd.views.stacked import stacked_pairs
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
    gaps = isinstance(counts, NumberCounts) and counts.missing
    return replace(counts, missing=0.0) if gaps else counts


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
    found, numbers = [], {}
    for measure in measures:
        own = part("values", reference[measure.name].counts)
        if isinstance(own, NumberCounts) and own.size >= LEAST_ROWS:
            numbers[measure.name] = own, negligible.of_column(measure.name).shift
    moved = dict(zip(numbers, shifted_distances(list(numbers.values())).tolist(), strict=True))
    kept = all_rounded([reference[measure.name].counts for measure in measures])
    for measure, counts in zip(measures, kept, strict=True):
        tally, changes = reference[measure.name], negligible.of_column(measure.name)
        least = {"values": moved[measure.name]} if measure.name in moved else {}
        for aspect in aspects(tally.counts):
            some = part(aspect, tally.counts)
            if isinstance(some, LabelCounts) and some.size >= LEAST_ROWS:
                least[aspect] = changes.distance(aspect, some)
        least |= tally.negligible
        units = None if tally.units is None else _alone(tally.units)
        found.append(ColumnLimit(measure, counts, least, fixed=tally.blocks, units=units))
    return accepting(found, accepted or {})


def accepting(
    limits: Sequence[ColumnLimit], others: Mapping[str, Mapping[str, ColumnTally]]
) -> tuple[ColumnLimit, ...]:
    """Return the same limits, where columns may also be like those of other datasets, by their names."""
    if not others:
        return tuple(limits)
    kept = [all_rounded([each[limit.name].counts for limit in limits]) for each in others.values()]
    found = []
    for limit, *counts in zip(limits, *kept, strict=True):
        units = [each[limit.name].units for each in others.values()]
        groups = tuple(_alone(own) for own in units if own is not None and limit.units is not None)
        accepted = limit.accepted + tuple(zip(others, counts, strict=True))
        found.append(replace(limit, accepted=accepted, accepted_units=limit.accepted_units + groups))
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
    asked, by_aspect = list[_Asked](), list[list[ColumnCheck]]()
    for place, limit in enumerate(limits):
        x, y, grouped = reference[limit.name], candidate[limit.name], list[ColumnCheck]()
        if (
            x.units is None
            or y.units is None
            or all_single(x.units, y.units, limit.units or {}, *limit.accepted_units)
        ):
            asked += _asked(place, limit, x.counts, y.counts)
        else:
            both = x.units, y.units
            grouped = [each for a in limit.negligible if (each := _by_groups(limit, both, a)) is not None]
        by_aspect.append(grouped)
    for question, check in zip(asked, _by_counts(asked), strict=True):
        by_aspect[question.place].append(check)
    found = [_checked(limit, each) for limit, each in zip(limits, by_aspect, strict=True)]
    adjusted = holm([each.pvalue for each in found])
    noted = [
        each if p == each.adjusted else replace(each, adjusted=p)
        for each, p in zip(found, adjusted, strict=True)
    ]
    return at_level(noted, level)


def at_level(columns: Sequence[ColumnCheck], level: float) -> tuple[ColumnCheck, ...]:
    """Return columns, those that are beyond their tolerances at a level first."""
    noted = [
        each if each.beyond == (each.adjusted <= level) else replace(each, beyond=not each.beyond)
        for each in columns
    ]
    return tuple(sorted(noted, key=lambda each: (-each.beyond, -each.ratio)))


def _alone(units: ColumnUnits) -> ColumnUnits:
    return {aspect: each.alone for aspect, each in units.items()}


def _checked(limit: ColumnLimit, found: Sequence[ColumnCheck]) -> ColumnCheck:
    if not found:
        return ColumnCheck(limit.measure, "values", 0.0, 0.0, 1.0, 1.0)
    most = max(
        found, key=lambda each: (-each.pvalue, each.ratio) if each.pvalue < HOPELESS else (-1.0, each.ratio)
    )
    pvalue = min(1.0, len(found) * min(each.pvalue for each in found))
    return most if pvalue == most.pvalue else replace(most, pvalue=pvalue)


def _by_groups(limit: ColumnLimit, both: tuple[ColumnUnits, ColumnUnits], aspect: str) -> ColumnCheck | None:
    """Hold one aspect against its limit where rows belong together; None if groups are too few."""
    x, y = (units[aspect] for units in both)
    if min(x.totals.count, y.totals.count) < LEAST_GROUPS:
        return None
    accepted = [each[aspect] for each in limit.accepted_units]
    pair, tolerance = group_pair(x, y), limit.tolerances()[aspect]
    pvalue = _beyond(pair, tolerance)
    if accepted and pvalue < HOPELESS:
        pair = nearest_group_pair(x, accepted, y)
        pvalue = max(pvalue, _beyond(pair, tolerance))
    return ColumnCheck(limit.measure, aspect, pair.value, pair.standard_error, tolerance, pvalue)


class _Asked(NamedTuple):
    """One aspect of a column, by counts: of the limit at this place."""

    place: int
    measure: Measure
    aspect: str
    tolerance: float
    mine: Counts
    theirs: Counts
    accepted: Sequence[Counts]


def _asked(place: int, limit: ColumnLimit, x: Counts, y: Counts) -> Iterator[_Asked]:
    """Yield the aspects of a column where every row stands for itself; none if rows are too few."""
    for aspect, tolerance in limit.tolerances().items():
        mine, theirs, *others = [part(aspect, counts) for counts in (x, y, *(c for _, c in limit.accepted))]
        if min(mine.size, theirs.size) >= LEAST_ROWS:
            accepted = [other for other in others if other.size >= LEAST_ROWS]
            yield _Asked(place, limit.measure, aspect, tolerance, mine, theirs, accepted)


def _by_counts(asked: Sequence[_Asked]) -> Iterator[ColumnCheck]:
    """Hold aspects of columns against their limits, all at once.

    The nearest mixture is looked for where the reference alone is not near enough to be the answer.
    """
    tolerances = np.array([each.tolerance for each in asked])
    numbers = _numbers([(each.mine, each.theirs) for each in asked], tolerances)
    left = [k for k in np.flatnonzero(numbers[2] < HOPELESS).tolist() if asked[k].accepted]
    alone = list[tuple[int, Counts]]()
    for k in left:
        each = asked[k]
        near = nearest_mixture(each.mine, each.accepted, each.theirs)
        if near.alone is not None:
            alone.append((k, near.alone))
            continue
        pair, least = near.pair, numbers[2, k]
        numbers[:, k] = pair.value, pair.standard_error, max(least, _beyond(pair, each.tolerance))
    where = [k for k, _ in alone]
    found = _numbers([(corner, asked[k].theirs) for k, corner in alone], tolerances[where])
    found[2] = np.maximum(found[2], numbers[2, where])
    numbers[:, where] = found
    for each, (value, error, pvalue) in zip(asked, numbers.T.tolist(), strict=True):
        yield ColumnCheck(each.measure, each.aspect, value, error, each.tolerance, pvalue)


def _numbers(samples: Sequence[tuple[Counts, Counts]], tolerances: FloatArray) -> FloatArray:
    """Return the distances of columns in two samples, their standard errors and p-values of "beyond"."""
    found = np.empty((3, len(samples)))
    for which, pair in stacked_pairs(samples):
        found[:, which] = pair.value, pair.standard_error, _beyond(pair, number(tolerances[which]))
    return found


def _beyond(pair: Pair, eps: float) -> float:
    """Return the p-value of "farther than eps"; where there is none, nothing is proven."""
    pvalue = margin(pair, eps, "corrected", "greater").pvalue("greater")
    found = choose(pvalue != pvalue, 1.0, pvalue)
    # One value in each: they are the same, or as different as can be.
    return choose(pair.constant, choose(pair.value > eps, 0.0, 1.0), found)
