"""A column of two datasets in words: `words_for`."""

from __future__ import annotations

import numpy as np

from nammd.columns.counting import count_columns
from nammd.columns.measure import Measure
from nammd.data.arrays import to_numpy
from nammd.data.dataset import ArrayDataset, Dataset, TableDataset
from nammd.data.frames import Values
from nammd.explaining.sentences import most_changed, quoted, sentence, writer_for
from nammd.explaining.summaries import (
    LabelSummary,
    NumberSummary,
    Summary,
    summary_of_counts,
    summary_of_values,
)
from nammd.explaining.writing import percent


def words_for(measure: Measure, aspect: str, reference: Dataset, candidate: Dataset) -> str:
    """Return what changed in a column, in words: from all rows, or from their counts on a cluster."""
    if measure.counted == "cells" and not isinstance(reference, TableDataset):
        return f"{measure.title}: its categories are distributed differently"  # their names are not known
    before, now = (summary_of(measure, dataset) for dataset in (reference, candidate))
    return sentence(measure.title, aspect, before, now)


def before_and_now(aspect: str, before: Summary, now: Summary) -> tuple[str, str]:
    """Return a column in both datasets as two short texts: medians, or shares of what changed most."""
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


def summary_of(measure: Measure, dataset: Dataset) -> Summary:
    """Summarise a column of a dataset."""
    if isinstance(dataset, TableDataset):
        name = dataset.names[0] if dataset.one_column else measure.name
        return summary_of_values(dataset.frame.values(name), labels=measure.counted != "numbers")
    if isinstance(dataset, ArrayDataset) and not dataset.on_cluster:
        numbers = np.asarray(to_numpy(dataset.array)[:, int(measure.name)], dtype=np.float64)
        return summary_of_values(Values("numeric", np.zeros(len(numbers), dtype=bool), numbers=numbers))
    return summary_of_counts(count_columns(dataset, [measure])[measure.name], measure)
