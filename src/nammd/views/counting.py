"""From a dataset to the counts of its columns: in memory, or by the workers of a cluster, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray, to_numpy
from nammd.data.dataset import Dataset
from nammd.data.frames import Frame
from nammd.data.values import Values
from nammd.encoding import Encoding
from nammd.views.counts import Counts, merged, rounded
from nammd.views.measure import Measure


def has_counts(dataset: Dataset) -> bool:
    """Tell whether the columns of a dataset can be counted: there are rows, or a summary that kept counts."""
    return dataset.keeps_rows or getattr(getattr(dataset, "summary", None), "tally", None) is not None


def count_columns(dataset: Dataset, measures: Sequence[Measure], encoding: Encoding) -> dict[str, Counts]:
    """Return the counts of columns by name: all rows, in one pass, in linear time.

    `encoding` says how the values of a table are written, numbers and dates in texts for example.
    """
    if not measures:
        return {}
    if dataset.summary is not None:
        # As from its file, so that a summary answers the same before it was written.
        return {measure.name: rounded(dataset.summary.tally[measure.name]) for measure in measures}
    if not dataset.is_table:
        return _together(dataset.each_block(partial(_count_block, measures=tuple(measures))), measures)
    if dataset.one_column and len(measures) == 1:
        dataset = dataset.renamed(measures[0].name)
    count = partial(_counts_of, measures=tuple(measures), encoding=encoding)
    return _together(dataset.each_frame(count), measures)


def column_values(dataset: Dataset, measure: Measure, encoding: Encoding) -> Values:
    """Return the values of a column of a dataset in memory, as they are meant."""
    if dataset.frame is not None:
        frame = dataset.frame.renamed(measure.name) if dataset.one_column else dataset.frame
        return encoding.values(frame, measure.name)
    numbers = _column_of(to_numpy(dataset.array), measure)
    return Values("numeric", np.zeros(len(numbers), dtype=bool), numbers=numbers)


def distinct_numbers(
    dataset: Dataset, measure: Measure, encoding: Encoding
) -> tuple[FloatArray, FloatArray, int]:
    """Return the different numbers of a column on a cluster, how often each is there, and the missing."""
    look = partial(_distinct_of, measure=measure, encoding=encoding)
    parts = dataset.each_frame(look)
    points, where = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    rows = np.bincount(where, np.concatenate([part[1] for part in parts]), len(points))
    return points, rows.astype(np.float64, copy=False), sum(part[2] for part in parts)


def _distinct_of(frame: Frame, measure: Measure, encoding: Encoding) -> tuple[FloatArray, FloatArray, int]:
    values = encoding.values(frame, measure.name)
    numbers = np.empty(0) if values.numbers is None else values.numbers[~values.missing]
    points, rows = np.unique(numbers, return_counts=True)
    return points, rows.astype(np.float64), int(np.count_nonzero(values.missing))


def _counts_of(frame: Frame, measures: Sequence[Measure], encoding: Encoding) -> dict[str, Counts]:
    return {measure.name: measure.count(encoding.values(frame, measure.name)) for measure in measures}


def _column_of(block: Any, measure: Measure) -> FloatArray:
    """Return a column of an array, by its number."""
    number = int(measure.name)
    if not 0 <= number < block.shape[1]:
        raise ValueError(f"there is no column {number} in data of {block.shape[1]} columns")
    return np.asarray(block[:, number], dtype=np.float64)


def _count_block(block: Any, measures: Sequence[Measure]) -> dict[str, Counts]:
    return {
        measure.name: measure.count_numbers(_column_of(block, measure)) for measure in measures if len(block)
    }


def _together(parts: Sequence[dict[str, Counts]], measures: Sequence[Measure]) -> dict[str, Counts]:
    filled = [part for part in parts if part]
    return {m.name: reduce(merged, (part[m.name] for part in filled)) for m in measures}


def count_parts(
    dataset: Dataset, measures: Sequence[Measure], edges: Sequence[int], encoding: Encoding
) -> list[dict[str, Counts]]:
    """Return the counts of consecutive blocks of rows of a dataset in memory, which end at some edges."""
    found: list[dict[str, Counts]] = [{} for _ in range(len(edges) - 1)]
    for measure in measures:
        values = column_values(dataset, measure, encoding)
        for k, (start, stop) in enumerate(pairwise(edges)):
            found[k][measure.name] = measure.count(_rows(values, slice(start, stop)))
    return found


def _rows(values: Values, rows: slice) -> Values:
    numbers = None if values.numbers is None else values.numbers[rows]
    codes = None if values.codes is None else values.codes[rows]
    return replace(values, missing=values.missing[rows], numbers=numbers, codes=codes)
