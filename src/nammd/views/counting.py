"""From a dataset to the tally of its columns: in memory, or by the workers of a cluster, piece by piece.

Every column is read once. Where the rows are in memory and are no points yet, they become points in the same
pass: an encoding shows the values of each column on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray, to_numpy
from nammd.data.dataset import Dataset
from nammd.data.frames import Frame
from nammd.data.row_units import RowUnits
from nammd.data.threads import each_in_threads
from nammd.data.values import Values
from nammd.encoding import Encoding
from nammd.encoding.constants import Constant, constants_in, constants_together
from nammd.encoding.noticed import Cells, note_unread, unread_in
from nammd.views.counted import count_columns
from nammd.views.counts import FEW, Counts, merged, rounded
from nammd.views.features import ColumnRows
from nammd.views.grouped import column_units, has_units
from nammd.views.measure import Measure
from nammd.views.negligible import Negligible
from nammd.views.perturbed import block_distances, blocks_of_columns, unit_block_distances
from nammd.views.relations import Columns, RelationCounter, SampleRelations
from nammd.views.tally import ColumnTally, Tally
from nammd.views.there import RelationsThere, look_there
from nammd.views.unit_negligible import negligible_by_groups

T = TypeVar("T")


def has_counts(dataset: Dataset) -> bool:
    """Tell whether the columns of a dataset can be counted: there are rows, or a summary that kept counts."""
    return dataset.keeps_rows or getattr(getattr(dataset, "summary", None), "tally", None) is not None


def tally_columns(
    dataset: Dataset,
    measures: Sequence[Measure],
    encoding: Encoding,
    *,
    constants: Sequence[str] = (),
    negligible: Negligible | None = None,
    edges: Sequence[int] = (),
    pairs: Columns | bool = False,
) -> Tally:
    """Return what the columns of a dataset tell: all rows, in one pass, in linear time.

    Parameters
    ----------
    dataset : Dataset
        The dataset; of a table in memory the rows become points on the way, where they are none yet.
    measures : sequence of Measure
        How the columns that are compared are counted.
    encoding : Encoding
        How the values of a table are written, numbers and dates in texts for example.
    constants : sequence of str
        Columns of a table that are left out since they have one value in a reference.
    negligible : Negligible, optional
        What is negligible, where that is to be worked out by groups.
    edges : sequence of int
        Where blocks of rows end, for how far each of them is from the rest; of data in memory.
    pairs : Columns or bool
        Whether to count how columns go together: by the columns of a reference, or, with True, by those of
        this dataset. Of a table that is not in memory rows drawn at random tell, and on Dask none.

    Returns
    -------
    Tally
    """
    if not measures and not constants:
        return Tally()
    if dataset.summary is not None:
        kept = dataset.summary
        groups = kept.unit_tally or {}
        # As from its file, so that a summary answers the same before it was written.
        return Tally({m.name: ColumnTally(rounded(kept.tally[m.name]), groups.get(m.name)) for m in measures})
    if dataset.frame is None:
        encoding.points(dataset)  # refuses what is not like the reference
    if not dataset.in_memory:
        return replace(
            _on_cluster(dataset, measures, encoding, constants),
            relations=_relations_elsewhere(dataset, measures, encoding, pairs),
        )
    units = dataset.units if has_units(dataset) else None
    together = _Together.of(dataset, pairs, units, edges)

    def look(measure: Measure, values: Values) -> ColumnTally:
        together.add([(measure, values)])
        return _look(measure, values, units, negligible, edges)

    found: dict[str, Constant] = {}
    if dataset.frame is None:
        array = dataset.array

        def look_here(measure: Measure) -> ColumnTally:
            return look(measure, _numbers(array, measure))

        there = None
        if units is None and not edges and not isinstance(array, np.ndarray):
            there = look_there(array, measures, together.whole, look_here)
        if there is None:
            # With groups of rows there are matrix products.
            values = array.size if units is None and isinstance(array, np.ndarray) else 0
            looks = each_in_threads(look_here, measures, values=values)
            there = {m.name: each for m, each in zip(measures, looks, strict=True)}
        columns = there
    else:
        if dataset.frame.rows <= FEW and units is None:  # of a few rows each there may be very many
            kept = look_at_columns(dataset, measures, encoding, lambda measure, values: (measure, values))
            columns = _look_at_all([kept[measure.name] for measure in measures], together, edges)
        else:
            columns = look_at_columns(dataset, measures, encoding, look)
        found = constants_in(dataset.frame, constants, encoding.reading)
    if together.whole is not None:
        together.whole.in_order(measures)
    return Tally(columns, found, *together.found())


@dataclass(frozen=True)
class _Together:
    """How columns go together, counted while they are read: in all rows, and in blocks of them."""

    whole: RelationsThere | None = None
    blocks: tuple[tuple[NDArray[np.intp], RelationCounter], ...] = ()

    @classmethod
    def of(
        cls, dataset: Dataset, pairs: Columns | bool, units: RowUnits | None, edges: Sequence[int]
    ) -> _Together:
        """Prepare for a dataset; where rows belong together in time, nothing is counted."""
        if pairs is False or (dataset.units is not None and units is None):
            return cls()
        whole = RelationsThere(None if pairs is True else pairs, units)
        blocks = []
        for ends in pairwise(edges):
            rows = np.arange(*ends)
            blocks.append((rows, RelationCounter(None, None if units is None else units.take(rows))))
        return cls(whole, tuple(blocks))

    def add(self, columns: Sequence[tuple[Measure, Values]]) -> None:
        """Take the values of columns."""
        if self.whole is None:
            return
        classes = self.whole.add_all(columns)
        known = [(m, values, c) for (m, values), c in zip(columns, classes, strict=True) if c is not None]
        for rows, counter in self.blocks:
            counter.add_all(
                [(m, values.take(rows)) for m, values, _ in known], {m.name: c for m, _, c in known}
            )

    def found(self) -> tuple[SampleRelations | None, tuple[SampleRelations, ...]]:
        """Return how they go together."""
        if self.whole is None:
            return None, ()
        found = self.whole.found()
        return found, tuple(counter.found(found.columns) for _, counter in self.blocks)


def look_at_columns(
    dataset: Dataset, measures: Sequence[Measure], encoding: Encoding, look: Callable[[Measure, Values], T]
) -> dict[str, T]:
    """Return what a look at each column of a table in memory tells; its rows become points on the way."""
    wanted, found = {measure.name: measure for measure in measures}, dict[str, T]()

    def keep(name: str, values: Values) -> None:
        if name in wanted:
            found[name] = look(wanted[name], values)

    def look_again(measure: Measure) -> None:
        keep(measure.name, column_values(dataset, measure, encoding))

    if measures:
        encoding.points(dataset, keep)
    left = [measure for measure in measures if measure.name not in found]  # the points were there already
    values = len(left) * (dataset.rows or 0) if dataset.units is None else 0
    each_in_threads(look_again, left, values=values)
    return {measure.name: found[measure.name] for measure in measures}


def _look_at_all(
    columns: Sequence[tuple[Measure, Values]], together: _Together, edges: Sequence[int]
) -> dict[str, ColumnTally]:
    """Return what the values of columns of a few rows tell, all at once."""
    together.add(columns)

    def counted(rows: NDArray[np.intp]) -> list[Counts]:
        return count_columns([(measure, values.take(rows)) for measure, values in columns])

    every = np.arange(edges[-1]) if edges else np.empty(0, np.intp)
    parts = [(counted(every[a:b]), counted(np.delete(every, slice(a, b)))) for a, b in pairwise(edges)]
    blocks = blocks_of_columns(parts) if parts else [{} for _ in columns]
    return {
        measure.name: ColumnTally(counts, blocks=own)
        for (measure, _), counts, own in zip(columns, count_columns(columns), blocks, strict=True)
    }


def _look(
    measure: Measure,
    values: Values,
    units: RowUnits | None,
    negligible: Negligible | None,
    edges: Sequence[int],
) -> ColumnTally:
    """Return what the values of a column tell."""
    found = ColumnTally(measure.count(values))
    if edges and (units is None or units.all_alike):
        parts = [measure.count(values.take(np.arange(*ends))) for ends in pairwise(edges)]
        found = replace(found, blocks=block_distances(parts))
    if units is None:
        return found
    rows = ColumnRows.of(measure, values)
    least = (
        {} if negligible is None else negligible_by_groups(rows, units, negligible.of_column(measure.name))
    )
    blocks = unit_block_distances(rows, units, edges) if edges and not units.all_alike else found.blocks
    return replace(found, units=column_units(rows, units), negligible=least, blocks=blocks)


def _on_cluster(
    dataset: Dataset, measures: Sequence[Measure], encoding: Encoding, constants: Sequence[str]
) -> Tally:
    """Return the tally of a dataset on a cluster; what comes back are counts, and values of constants."""
    if not dataset.is_table:
        counts = _together(dataset.each_block(partial(_count_block, measures=tuple(measures))), measures)
        return Tally({name: ColumnTally(each) for name, each in counts.items()})
    if dataset.one_column and len(measures) == 1:
        dataset = dataset.renamed(measures[0].name)
    parts = dataset.each_frame(
        partial(_look_at_piece, measures=tuple(measures), encoding=encoding, constants=tuple(constants))
    )
    note_unread(encoding, dataset, [measure.name for measure in measures], [cells for *_, cells in parts])
    counts = _together([part for part, *_ in parts], measures)
    return Tally(
        {name: ColumnTally(each) for name, each in counts.items()},
        constants_together([part for _, part, _ in parts]),
    )


def _relations_elsewhere(
    dataset: Dataset, measures: Sequence[Measure], encoding: Encoding, pairs: Columns | bool
) -> SampleRelations | None:
    """Return how the columns of a table that is not in memory go together: in rows drawn at random.

    Classes are ranks within all rows, which do not add up over pieces.
    """
    if pairs is False or not dataset.is_table:
        return None
    frame = dataset.frame_for_pairs()
    if frame is None:
        return None
    counter = RelationCounter(None if pairs is True else pairs, None)
    for measure in measures:
        counter.add(measure, encoding.values(frame, measure.name))
    return counter.found()


def _look_at_piece(
    frame: Frame, measures: Sequence[Measure], encoding: Encoding, constants: Sequence[str]
) -> tuple[dict[str, Counts], dict[str, Constant], tuple[int, Cells]]:
    counts = {measure.name: measure.count(encoding.values(frame, measure.name)) for measure in measures}
    return counts, constants_in(frame, constants, encoding.reading), unread_in(frame)


def column_values(dataset: Dataset, measure: Measure, encoding: Encoding) -> Values:
    """Return the values of a column of a dataset in memory, as they are meant."""
    if dataset.frame is not None:
        frame = dataset.frame.renamed(measure.name) if dataset.one_column else dataset.frame
        return encoding.values(frame, measure.name)
    return _numbers(dataset.array, measure)


def _numbers(block: Any, measure: Measure) -> Values:
    """Return the values of a column of an array."""
    numbers = _column_of(block, measure)
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


def _column_of(block: Any, measure: Measure) -> FloatArray:
    """Return a column of an array, by its number."""
    number = int(measure.name)
    if not 0 <= number < block.shape[1]:
        raise ValueError(f"there is no column {number} in data of {block.shape[1]} columns")
    return to_numpy(block[:, number])


def _count_block(block: Any, measures: Sequence[Measure]) -> dict[str, Counts]:
    return {
        measure.name: measure.count_numbers(_column_of(block, measure)) for measure in measures if len(block)
    }


def _together(parts: Sequence[dict[str, Counts]], measures: Sequence[Measure]) -> dict[str, Counts]:
    filled = [part for part in parts if part]
    return {m.name: reduce(merged, (part[m.name] for part in filled)) for m in measures}
