"""A reference that is not the one of the tolerance is held against that one first.

A tolerance does not keep the rows of its reference, but it keeps what each column of it was like, and how far
a column may be from that. So the columns of the given reference are held against these, as those of a
candidate would be: one that is beyond its tolerance says that the given reference is another population, and
nothing is close to the right one by being close to that. What columns do together is not known of the other
rows, and is not compared.
"""

from __future__ import annotations

from nammd.explaining.columns import unnamed
from nammd.explaining.sentences import sentence
from nammd.explaining.summaries import summary_of_counts
from nammd.tolerances.gate_columns import GateColumns
from nammd.views.limits import ColumnCheck, ColumnLimit, check_columns
from nammd.views.tally import ColumnTally


def unlike_own_reference(columns: GateColumns, alpha: float) -> tuple[str, ...]:
    """Return what is beyond its tolerance in the reference of a check, in words, at a level for all columns.

    Nothing where it is the one that the tolerance was made from, where that was never there, or where columns
    cannot be compared.
    """
    found = columns.dataset.looked_at(columns, lambda: _held_against_own(columns))
    return tuple(words for check, words in found if check.adjusted <= alpha)


def _held_against_own(columns: GateColumns) -> list[tuple[ColumnCheck, str]]:
    made, tolerance = columns.tolerance.column_tolerances, columns.tolerance
    if not tolerance.origin.digest or columns.is_the_one or made is None or not made.limits:
        return []
    if not columns.measures or not columns.comparable(columns.dataset):
        return []
    limits, given = {limit.name: limit for limit in columns.limits}, columns.of_reference
    own = {name: limit.made_from for name, limit in limits.items()}
    return [
        (check, _words(check, limits[check.measure.name], given[check.measure.name]))
        for check in check_columns(columns.limits, own, given, 1.0)
    ]


def _words(check: ColumnCheck, limit: ColumnLimit, given: ColumnTally) -> str:
    measure = check.measure
    if measure.in_cells:
        return unnamed(measure)
    before, now = (summary_of_counts(counts, measure) for counts in (limit.reference, given.counts))
    return sentence(measure.title, check.aspect, before, now)
