"""How far a column may be from the reference, and whether one is: `ColumnLimit`, `check_columns`.

A column of numbers has two aspects, its values and whether they are there, each with a distance of its own:
one row in a hundred without a value is a far smaller change of a distribution than a tenth of a standard
deviation, and would drown in it. Of labels, a missing one is one more label.

A column is beyond its tolerance if it is beyond what is negligible *and* farther than each of the accepted
datasets; so the p-value is the largest of those. What the accepted data differ by is uncertain, and counts as
in the joint test: by the rule of `nammd.statistics.difference`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial

import numpy as np

from nammd.statistics.adjusting import holm
from nammd.statistics.difference import Difference
from nammd.statistics.margin import margin
from nammd.statistics.pair import Pair
from nammd.views.comparing import Compared, accepted_pairs, all_single, by_units
from nammd.views.counts import Counts, LabelCounts, NumberCounts, rounded
from nammd.views.grouped import ColumnUnits
from nammd.views.measure import Measure
from nammd.views.negligible import Negligible
from nammd.views.placed import pair_of_placed, placed
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
        """Return how far each aspect may be away: the largest of what is acceptable."""
        return dict(self._tolerances)

    @cached_property
    def _tolerances(self) -> dict[str, float]:
        found = {}
        for aspect, least in self.negligible.items():
            found[aspect] = max([least, self.fixed.get(aspect, 0.0), *self._accepted_values(aspect)])
        return found

    def _accepted_values(self, aspect: str) -> list[float]:
        if self.units is not None and not all_single(self.units, *self.accepted_units):
            found = accepted_pairs(self.units, self.accepted_units, aspect)
            return [pair.value for pair in found]
        every = [part(aspect, counts) for counts in (self.reference, *(c for _, c in self.accepted))]
        if aspect == "missing":
            return _distances_of_presence(tuple(map(_presence, every)))
        return _distances(every)


def _distances(every: Sequence[Counts]) -> list[float]:
    """Return the distances of samples of one column from the first of them."""
    first, *others = placed(every)
    return [
        pair_of_placed(first, other).value for other in others if min(first.size, other.size) >= LEAST_ROWS
    ]


def _presence(counts: Counts) -> tuple[float, float]:
    """Return how many rows have a value, and how many have none."""
    assert isinstance(counts, LabelCounts)
    return counts.rows["present"], counts.missing


@lru_cache(maxsize=256)
def _distances_of_presence(every: tuple[tuple[float, float], ...]) -> list[float]:
    """Return the same of whether values are there, which is alike in most columns of a table."""
    return _distances([LabelCounts({"present": present}, missing) for present, missing in every])


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
        The estimated distance of this column alone.
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

    @property
    def ratio(self) -> float:
        """The distance over the tolerance."""
        return max(self.distance, 0.0) / self.tolerance

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
        others = {label: each[measure.name] for label, each in (accepted or {}).items()}
        counts = tuple((label, rounded(other.counts)) for label, other in others.items())
        made = ColumnLimit(measure, rounded(own.counts), least, counts, own.blocks)
        if own.units is not None:
            groups = tuple(_alone(other.units) for other in others.values() if other.units is not None)
            made = replace(made, units=_alone(own.units), accepted_units=groups)
        found.append(made)
    return tuple(found)


def check_columns(
    limits: Sequence[ColumnLimit],
    reference: Mapping[str, ColumnTally],
    candidate: Mapping[str, ColumnTally],
    level: float,
    shared: bool,
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
    shared : bool
        Whether the reference is the one that the limits were made from.

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
            check = partial(_by_counts, limit, x.counts, y.counts, shared, alike)
        else:
            check = partial(_by_groups, limit, (x.units, y.units), shared)
        found.append(_checked(limit, check))
    adjusted = holm([each.pvalue for each in found])
    noted = [replace(each, adjusted=p, beyond=p <= level) for each, p in zip(found, adjusted, strict=True)]
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


def _by_groups(
    limit: ColumnLimit, both: tuple[ColumnUnits, ColumnUnits], shared: bool, aspect: str
) -> ColumnCheck | None:
    """Hold one aspect of a column against its limit, where rows belong together."""
    compared = by_units(limit, *both, shared, aspect)
    return None if compared is None else _aspect(limit, aspect, compared, shared)


def _by_counts(
    limit: ColumnLimit,
    x: Counts,
    y: Counts,
    shared: bool,
    alike: dict[object, ColumnCheck | None],
    aspect: str,
) -> ColumnCheck | None:
    """Hold one aspect against its limit where every row stands for itself; None if rows are too few.

    Whether values are there is alike in most columns of a table, and is looked at once.
    """
    made_from = [] if shared else [limit.reference]
    every = [part(aspect, counts) for counts in (x, y, *made_from, *(c for _, c in limit.accepted))]
    if aspect != "missing":
        return _counted(limit, aspect, every, shared)
    key = (*map(_presence, every), limit.negligible[aspect], limit.fixed.get(aspect))
    if key not in alike:
        alike[key] = _counted(limit, aspect, every, shared)
    found = alike[key]
    return None if found is None else replace(found, measure=limit.measure)


def _counted(limit: ColumnLimit, aspect: str, every: Sequence[Counts], shared: bool) -> ColumnCheck | None:
    mine, theirs, *rest = placed(every)
    if min(mine.size, theirs.size) < LEAST_ROWS:
        return None
    home, others = (mine, rest) if shared else (rest[0], rest[1:])
    pair = pair_of_placed(mine, theirs)
    bars = [pair_of_placed(home, other) for other in others if min(home.size, other.size) >= LEAST_ROWS]
    return _aspect(limit, aspect, Compared(pair, pair, bars), shared)


def _aspect(limit: ColumnLimit, aspect: str, compared: Compared, shared: bool) -> ColumnCheck:
    """Hold one aspect of a column against its limit."""
    least, pair = limit.negligible[aspect], compared.pair
    numbers = [value for value in (least, limit.fixed.get(aspect)) if value is not None]
    pvalue, tolerance = _beyond_numbers(pair, numbers), max(numbers)
    bars = [bar for bar in compared.bars if not (bar.constant and bar.moments.mmd2 <= least)]
    tolerance = max([tolerance, *(bar.value for bar in bars)])
    if bars and pvalue < HOPELESS:
        pvalue = max([pvalue, *(_farther(bar, compared.beside_bars, shared) for bar in bars)])
    return ColumnCheck(limit.measure, aspect, pair.value, pair.standard_error, tolerance, pvalue)


def _beyond_numbers(pair: Pair, numbers: Sequence[float]) -> float:
    if pair.constant:  # one value in each: they are the same, or as different as can be
        return float(not pair.value > max(numbers))
    found = [margin(pair, eps, "corrected", "greater").pvalue("greater") for eps in numbers]
    return float(np.nan_to_num(max(found), nan=1.0)) if not np.isnan(found).any() else 1.0


def _farther(bar: Pair, candidate: Pair, shared: bool) -> float:
    pvalue = Difference.of(bar, candidate, shared).swapped.closer()
    return 1.0 if np.isnan(pvalue) else pvalue
