"""From a dataset to the counts of its columns: in memory, or by the workers of a cluster, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np

from nammd.columns.counts import Counts, merged
from nammd.columns.measure import Measure
from nammd.data.arrays import to_numpy
from nammd.data.dataset import ArrayDataset, Dataset, SpreadArray, SpreadTable, SummaryDataset, TableDataset
from nammd.data.frames import Frame, Values
from nammd.data.spread import frame_of_piece, pieces_of


def has_counts(dataset: Dataset) -> bool:
    """Tell whether the columns of a dataset can be counted: there are rows, or a summary that kept counts."""
    return dataset.keeps_rows or getattr(getattr(dataset, "summary", None), "tally", None) is not None


def count_columns(dataset: Dataset, measures: Sequence[Measure]) -> dict[str, Counts]:
    """Return the counts of columns by name: all rows, in one pass, in linear time."""
    if not measures:
        return {}
    if isinstance(dataset, SummaryDataset):
        return {measure.name: dataset.summary.tally[measure.name] for measure in measures}
    if isinstance(dataset, SpreadTable):
        look = partial(_count_piece, owner=dataset.name, names=dataset.names, measures=tuple(measures))
        return _together(pieces_of(dataset).each(look), measures)
    if isinstance(dataset, SpreadArray):
        blocks = pieces_of(dataset).each(partial(_count_block, measures=tuple(measures)))
        return _together(blocks, measures)
    if isinstance(dataset, TableDataset):
        return _of_frame(_frame(dataset, measures), measures)
    assert isinstance(dataset, ArrayDataset)
    return _count_block(to_numpy(dataset.array), measures)


def _frame(dataset: TableDataset, measures: Sequence[Measure]) -> Frame:
    if dataset.one_column and len(measures) == 1:
        return dataset.frame.renamed(measures[0].name)
    return dataset.frame


def _of_frame(frame: Frame, measures: Sequence[Measure]) -> dict[str, Counts]:
    return {measure.name: measure.count(frame.values(measure.name)) for measure in measures}


def _count_piece(
    piece: Any, owner: str, names: tuple[str, ...], measures: tuple[Measure, ...]
) -> dict[str, Counts]:
    if not len(piece):
        return {}
    return _of_frame(frame_of_piece(piece, owner, names), measures)


def _count_block(block: Any, measures: Sequence[Measure]) -> dict[str, Counts]:
    return {
        measure.name: measure.count_numbers(np.asarray(block[:, int(measure.name)], dtype=np.float64))
        for measure in measures
        if len(block)
    }


def _together(parts: Sequence[dict[str, Counts]], measures: Sequence[Measure]) -> dict[str, Counts]:
    filled = [part for part in parts if part]
    return {m.name: reduce(merged, (part[m.name] for part in filled)) for m in measures}


def count_parts(
    dataset: Dataset, measures: Sequence[Measure], edges: Sequence[int]
) -> list[dict[str, Counts]]:
    """Return the counts of consecutive blocks of rows of a dataset in memory, which end at some edges."""
    found: list[dict[str, Counts]] = [{} for _ in range(len(edges) - 1)]
    for measure in measures:
        values = _values(dataset, measure, measures)
        for k, (start, stop) in enumerate(pairwise(edges)):
            found[k][measure.name] = measure.count(_rows(values, slice(start, stop)))
    return found


def _values(dataset: Dataset, measure: Measure, measures: Sequence[Measure]) -> Values:
    if isinstance(dataset, TableDataset):
        return _frame(dataset, measures).values(measure.name)
    assert isinstance(dataset, ArrayDataset)
    numbers = np.asarray(to_numpy(dataset.array)[:, int(measure.name)], dtype=np.float64)
    return Values("numeric", np.zeros(len(numbers), dtype=bool), numbers=numbers)


def _rows(values: Values, rows: slice) -> Values:
    numbers = None if values.numbers is None else values.numbers[rows]
    codes = None if values.codes is None else values.codes[rows]
    return replace(values, missing=values.missing[rows], numbers=numbers, codes=codes)
