"""Facts that need no test: `Fact`, and which there are.

Those of columns are read off counts of all rows, so they cost next to nothing and are the same for files,
clusters and sketches, as far as these know the rows. Others are about whole datasets: rows that are there
several times, constants and types that changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nammd.data.dataset import Dataset
from nammd.data.frames import Frame
from nammd.data.repeats import DISTINCT, MANY, in_common
from nammd.encoding import Encoding
from nammd.encoding.choosing import CONSTANT
from nammd.encoding.constants import ChangedConstant
from nammd.errors.naming import plain_name, suggestion
from nammd.explaining.sentences import quoted, writer_for
from nammd.explaining.summaries import NumberSummary, summary_of_counts
from nammd.explaining.unit_factors import factor_between
from nammd.explaining.writing import percent, readable
from nammd.reading.text_formats.understanding import SUSPECTED_NUMBERS
from nammd.views.counts import Counts, LabelCounts, NumberCounts
from nammd.views.measure import Measure

FACTS: dict[str, str] = {
    "new-categories": "a category that the reference never has",
    "missing-values": "missing values in a column that has none in the reference",
    "placeholders": "a number such as -999, which often stands for a missing value, where the reference has "
    "none like it",
    "constant-changed": "another value in a column that has one value in the reference",
    "type-changed": "another type of values",
    "ranges-apart": "numbers none of which is in the range of the reference",
    "factor": "numbers that are larger or smaller by a power of ten, or by the factor of common units",
    "repeated-rows": "rows that are there several times",
    "rows-in-reference": "rows of the candidate that are rows of the reference",
    "same-data": "a candidate that is the reference",
    "empty-group": "a category of the reference that no row has any more",
}
"""The facts by name, and what each of them is about."""

_GONE = 20
"""A category is missed from so many expected rows on."""

_SOME, _MOST = 0.01, 0.5
"""Shares of rows in both datasets, or repeated, from which on it is said, and beyond which always."""


@dataclass(frozen=True)
class Fact:
    """A fact about a candidate that people should know.

    Attributes
    ----------
    code : str
        Its name, one of `FACTS`.
    column : str
        The column that it is about; empty where it is about rows.
    message : str
        The fact, in words.
    """

    code: str
    column: str
    message: str

    def __str__(self) -> str:
        return f"{self.column}: {self.message}" if self.column else self.message


def known_facts(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of facts, after checking that there are such."""
    chosen = tuple(dict.fromkeys(names))
    for name in chosen:
        if name not in FACTS:
            raise ValueError(f"there is no fact {name!r}; {suggestion(str(name), list(FACTS))}")
    return chosen


def column_facts(
    measures: Sequence[Measure], reference: Mapping[str, Counts], candidate: Mapping[str, Counts]
) -> tuple[Fact, ...]:
    """Return the facts of single columns."""
    found: list[Fact] = []
    for measure in measures:
        before, now = reference[measure.name], candidate[measure.name]
        found += missing_values(measure.title, before, now)
        if isinstance(before, LabelCounts) and isinstance(now, LabelCounts):
            if measure.counted == "labels":
                found += new_categories(measure.title, before, now)
                found += empty_group(measure.title, before, now)
        elif isinstance(before, NumberCounts) and isinstance(now, NumberCounts) and measure.kind == "numeric":
            found += placeholders(measure, before, now) + changed_scale(measure, before, now)
    return tuple(found)


def missing_values(name: str, before: Counts, now: Counts) -> list[Fact]:
    """Tell of missing values where the reference has none."""
    if before.missing or not now.missing:
        return []
    share = percent(now.missing / now.size)
    return [Fact("missing-values", name, f"{share} of the values are missing, none in the reference")]


def new_categories(name: str, before: LabelCounts, now: LabelCounts) -> list[Fact]:
    """Tell of categories that the reference never has."""
    new = {label: rows for label, rows in now.rows.items() if label not in before.rows}
    if not new:
        return []
    largest = sorted(new, key=lambda label: (-new[label], label))[:3]
    share = percent(sum(new.values()) / now.size)
    names = ", ".join(map(quoted, largest)) + (f" and {len(new) - 3} more" if len(new) > 3 else "")
    message = f"{names} {'is' if len(new) == 1 else 'are'} new, {share} of rows"
    known = {plain_name(label) for label in before.rows}
    if all(plain_name(label) in known for label in new):
        message += ", and known but for case or spaces"
    return [Fact("new-categories", name, message)]


def empty_group(name: str, before: LabelCounts, now: LabelCounts) -> list[Fact]:
    """Tell of categories that no row has any more, though many should."""
    found = []
    for label, rows in before.rows.items():
        share = rows / before.size
        if label not in now.rows and share * now.size >= _GONE and now.rows:
            message = f"no row has {quoted(label)} any more, {percent(share)} of the reference"
            found.append(Fact("empty-group", name, message))
    return found


def placeholders(measure: Measure, before: NumberCounts, now: NumberCounts) -> list[Fact]:
    """Tell of -999 and the like, far from everything that the reference has, unless all is like that."""
    found = []
    for suspect in (now.low, now.high):
        apart = max(before.low - suspect, suspect - before.high)
        if suspect not in SUSPECTED_NUMBERS or not apart > before.high - before.low:
            continue
        edge = before.low if suspect < before.low else before.high
        place, near = measure.places(np.array([suspect, edge]))
        rows = round(float(now.rows[np.abs(now.places - place) < abs(near - place) / 2].sum()))
        if 0 < rows < now.present / 2:
            share = percent(rows / now.size)
            message = (
                f"{suspect:.0f} in {share} of rows, far from everything in the reference: a missing value?"
            )
            found.append(Fact("placeholders", measure.title, message))
    return found


def changed_scale(measure: Measure, before: NumberCounts, now: NumberCounts) -> list[Fact]:
    """Tell of another unit, or at least of another range."""
    one, two = (summary_of_counts(counts, measure) for counts in (before, now))
    assert isinstance(one, NumberSummary)
    assert isinstance(two, NumberSummary)
    if not one.present or not two.present:
        return []
    found = []
    write = writer_for(one, two)
    factor = factor_between(one, two)
    if factor is not None:
        found.append(Fact("factor", measure.title, f"values are {factor.words()}"))
    if now.low > before.high or now.high < before.low:
        ranges = [f"{write(counts.low)} to {write(counts.high)}" for counts in (now, before)]
        message = f"{ranges[0]}, all outside the range of the reference, {ranges[1]}"
        found.append(Fact("ranges-apart", measure.title, message))
    return found


def row_facts(x: Any, y: Any) -> tuple[Fact, ...]:
    """Return the facts about the rows of two samples; none where the rows are not at hand."""
    if not (x.keeps_rows and y.keeps_rows) or x.keys is None or y.keys is None:
        return ()
    common = in_common(x.keys, y.keys)
    if (x.same_rows(y) and not x.constant) or common == x.size == y.size:
        return (Fact("same-data", "", "the candidate is the reference: all rows are the same"),)
    found = []
    shared, again, before = common / y.size, _repeated(y.keys), _repeated(x.keys)
    # Rows of few values are alike by chance, within a dataset as between two of them; that is no news.
    if shared >= max(_SOME, min(3 * max(again, before), _MOST)):
        message = f"{percent(shared)} of the candidate's rows are rows of the reference"
        found.append(Fact("rows-in-reference", "", message))
    if len(y.keys) >= MANY and before <= 1 - DISTINCT and again >= max(_SOME, 2 * before, 3 * shared):
        message = f"{percent(again)} of the candidate's rows repeat an earlier row"
        found.append(Fact("repeated-rows", "", message))
    return tuple(found)


def _repeated(keys: Any) -> float:
    return 1.0 - len(np.unique(keys)) / len(keys)


def type_facts(
    encoding: Encoding,
    reference: Dataset,
    candidate: Dataset,
    changed: Mapping[str, ChangedConstant],
    fractions: Collection[str],
) -> tuple[Fact, ...]:
    """Return the facts about constants and types, of tables in memory also in columns that are left out.

    `changed` are columns of one value in the reference that have others now, `fractions` columns of the
    candidate with numbers that are not whole.
    """
    found = [Fact("constant-changed", name, _other_values(each)) for name, each in changed.items()]
    if reference.frame is not None and candidate.frame is not None and not reference.one_column:
        found += _types(encoding, reference.frame, candidate.frame, fractions)
    return tuple(found)


def _other_values(changed: ChangedConstant) -> str:
    told = "one value in the reference, others now"
    before, now = ([_written(value) for value in each.meant] for each in changed)
    new = [value for value in now if value not in before]
    if not before or not new:
        return told
    return (
        f"always {before[0]} in the reference, now " + ", ".join(new[:3]) + (" ..." if len(new) > 3 else "")
    )


def _written(value: str | float) -> str:
    return quoted(value) if isinstance(value, str) else readable(value)


def _types(encoding: Encoding, reference: Frame, candidate: Frame, fractions: Collection[str]) -> list[Fact]:
    found = []
    ignored = {entry.column for entry in encoding.left_out if entry.reason != CONSTANT}
    for name in reference.names:
        if name not in candidate.names:
            continue
        if name in ignored:
            before, now = (_dtype_kind(frame, name) for frame in (reference, candidate))
            if before != now:
                found.append(Fact("type-changed", name, f"{before} in the reference, {now} now"))
        elif name in fractions and reference.holds_whole_numbers(name):
            found.append(Fact("type-changed", name, "whole numbers in the reference, fractions now"))
    return found


def _dtype_kind(frame: Frame, name: str) -> str:
    dtype = frame.series(name).dtype
    if dtype.is_numeric():
        return "numbers"
    return "times" if dtype.is_temporal() else "text"
