"""A column of two datasets in words: `words_for`."""

from __future__ import annotations

from nammd.data.dataset import Dataset
from nammd.encoding import Encoding
from nammd.explaining.sentences import most_changed, quoted, sentence, writer_for
from nammd.explaining.summaries import (
    LabelSummary,
    NumberSummary,
    Summary,
    WordSummary,
    summary_of_counts,
    summary_of_values,
    summary_of_words,
)
from nammd.explaining.writing import percent
from nammd.views.counting import column_values, distinct_numbers, tally_columns
from nammd.views.measure import Measure

EXACT_ROWS = 1_000_000
"""Of columns on a cluster with up to so many rows, the different numbers are brought home for the words."""


def words_for(
    measure: Measure, aspect: str, reference: Dataset, candidate: Dataset, encoding: Encoding
) -> str:
    """Return what changed in a column, in words: from all rows, or from counts where rows are not at hand."""
    if measure.in_cells and (reference.frame is None or candidate.frame is None):
        return unnamed(measure)
    before, now = (summary_of(measure, dataset, encoding) for dataset in (reference, candidate))
    return sentence(measure.title, aspect, before, now)


def unnamed(measure: Measure) -> str:
    """Say that labels changed whose names are not known: they were counted in cells."""
    what = "words" if measure.counted == "words" else "categories"
    return f"{measure.title}: its {what} are distributed differently"


def before_and_now(aspect: str, before: Summary, now: Summary) -> tuple[str, str]:
    """Return a column in both datasets as two short texts: medians, or shares of what changed most."""
    if isinstance(before, WordSummary) and isinstance(now, WordSummary):
        word = most_changed(before, now)
        if word is not None:
            one, two = (f"{quoted(word)} in {percent(s.shares.get(word, 0.0))}" for s in (before, now))
            return one, two
    if isinstance(before, LabelSummary) and isinstance(now, LabelSummary):
        label = most_changed(before, now)
        if label is None:
            return f"missing {percent(before.missing)}", f"missing {percent(now.missing)}"
        shares = before.shares.get(label, 0.0), now.shares.get(label, 0.0)
        return f"{quoted(label)} {percent(shares[0])}", f"{quoted(label)} {percent(shares[1])}"
    assert isinstance(before, NumberSummary)
    assert isinstance(now, NumberSummary)
    if aspect == "missing" or not before.present or not now.present:
        return f"missing {percent(before.missing)}", f"missing {percent(now.missing)}"
    write = writer_for(before, now)
    return f"median {write(before.median)}", f"median {write(now.median)}"


def summary_of(measure: Measure, dataset: Dataset, encoding: Encoding) -> Summary:
    """Summarise a column of a dataset."""
    if not dataset.in_memory:
        counts = tally_columns(dataset, [measure], encoding).columns[measure.name].counts
        if not dataset.is_table or measure.counted != "numbers" or counts.size > EXACT_ROWS:
            return summary_of_counts(counts, measure)
        points, rows, missing = distinct_numbers(dataset, measure, encoding)
        return NumberSummary(points, rows, missing / counts.size, clock=measure.clock)
    if measure.counted == "words":
        return summary_of_words(column_values(dataset, measure, encoding))
    return summary_of_values(column_values(dataset, measure, encoding), labels=measure.counted != "numbers")
