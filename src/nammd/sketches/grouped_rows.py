"""Rows with their groups on the way into a sketch: `GroupedRows`, and what becomes of whole groups.

A group must be whole when it is summed, so rows that come in batches are held, as points, until their groups
are known to be whole: at the end, or when they take more than `HELD` bytes. Then the groups that the last
batch did not have are summed, and a group that comes again later is counted as one more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nammd.data.arrays import Array, FloatArray, namespace, take_rows, to_numpy
from nammd.data.dataset import Dataset
from nammd.data.row_units import RowUnits
from nammd.data.values import Values
from nammd.encoding import Encoding
from nammd.encoding.noticed import Noticed, rows_left_out
from nammd.engines.progress import Progress
from nammd.engines.tiles.pool import Buffers, Tick, run
from nammd.kernels import RandomFeatures
from nammd.kernels.base import precision_of
from nammd.kernels.random_features import Waves
from nammd.sketches.building import block_rows, runs_over_rows
from nammd.sketches.group_totals import SketchUnits, Trace
from nammd.sketches.options import encoding_for
from nammd.statistics.totals import MORE, UnitTotals, unit_vectors
from nammd.views.counting import look_at_columns
from nammd.views.counts import Counts
from nammd.views.features import ColumnRows
from nammd.views.grouped import ColumnUnits, column_units
from nammd.views.measure import Measure, measures_of

HELD = 1 << 30
"""Bytes of points that are held until groups are whole."""


@dataclass(frozen=True, eq=False)
class ReadRows:
    """Rows on the way into a sketch, every column of them read once.

    Attributes
    ----------
    points : array
        The rows as points.
    tally : mapping of str to Counts, or None
        The columns of a table, counted.
    columns : mapping of str to ColumnRows, or None
        The same row by row, where rows belong together.
    noticed : Noticed
        What there is to say of them.
    """

    points: Array = field(repr=False)
    tally: dict[str, Counts] | None = field(default=None, repr=False)
    columns: dict[str, ColumnRows] | None = field(default=None, repr=False)
    noticed: Noticed = field(default_factory=Noticed)

    @classmethod
    def of(cls, dataset: Dataset, encoding: Encoding | None, first: bool) -> ReadRows:
        """Read data in memory; what types their columns have is noticed in the `first` part of a dataset."""
        chosen = encoding_for(dataset, encoding)
        if encoding is None or not dataset.is_table:
            return cls(chosen.points(dataset), noticed=Noticed(left_out=rows_left_out(dataset)))
        columns: dict[str, ColumnRows] | None = None if dataset.units is None else {}

        def look(measure: Measure, values: Values) -> Counts:
            if columns is not None:
                columns[measure.name] = ColumnRows.of(measure, values)
            return measure.count(values)

        tally = look_at_columns(dataset, measures_of(encoding, dataset), encoding, look)
        return cls(chosen.points(dataset), tally, columns, Noticed.of(encoding, dataset, first))


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Some rows, as points, with their groups.

    Attributes
    ----------
    points : array
        The rows as points.
    units : RowUnits
        Their groups; weights as they were given, and not scaled.
    columns : dict of str to ColumnRows, or None
        The columns of a table by themselves.
    """

    points: Array = field(repr=False)
    units: RowUnits
    columns: dict[str, ColumnRows] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, dataset: Dataset, read: ReadRows) -> GroupedRows:
        """Take the rows of a dataset that knows its groups, as they were read."""
        units = dataset.units
        assert units is not None
        if units.weights is not None:
            units = replace(units, weights=units.weights * units.weight_unit)
        return cls(read.points, units, read.columns)

    @property
    def size(self) -> int:
        """How many bytes it takes, nearly."""
        return int(self.points.shape[0]) * (int(self.points.shape[1]) + len(self.columns or {}) + 2) * 8

    def taken(self, rows: np.ndarray) -> GroupedRows:
        """Return some of the rows."""
        columns = self.columns and {name: column.taken(rows) for name, column in self.columns.items()}
        units = self.units.take(rows)
        if units.names is None:
            units = replace(units, codes=np.arange(len(rows)))
        return GroupedRows(take_rows(self.points, rows), units, columns)

    def summed(
        self, features: Sequence[RandomFeatures], threads: int | None, progress: Progress
    ) -> list[SketchUnits]:
        """Sum over groups at each scale, as if all of them were whole; the first has the columns too."""
        units = self.units
        with runs_over_rows(len(self.points), len(features)):
            totals = [unit_feature_totals(self.points, units, f, threads, progress) for f in features]
        columns: dict[str, ColumnUnits] | None = None
        if self.columns is not None:
            found = {name: column_units(column, units) for name, column in self.columns.items()}
            columns = {
                name: {aspect: each.alone for aspect, each in aspects.items()}
                for name, aspects in found.items()
            }
        said = "" if units.names is None else units.by, units.weights_by
        trace = Trace.of(units.names or ())
        main, *finer = (SketchUnits(each, *said, trace) for each in totals)
        return [replace(main, columns=columns), *finer]


def joined(parts: Sequence[GroupedRows]) -> GroupedRows:
    """Return the rows of several parts; groups of the same name are one."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0].units
    points = np.concatenate([to_numpy(part.points) for part in parts])
    weights = None
    if first.weights is not None:
        weights = np.concatenate([part.units.weights for part in parts])
    if first.names is None:
        units = replace(first, codes=np.arange(len(points)), weights=weights)
    else:
        names = sorted({name for part in parts for name in part.units.names or ()})
        place = {name: k for k, name in enumerate(names)}
        codes = [
            np.array([place[name] for name in part.units.names or ()], dtype=np.intp)[part.units.codes]
            for part in parts
        ]
        units = replace(first, codes=np.concatenate(codes), names=tuple(names), weights=weights)
    columns = None
    if parts[0].columns is not None:
        columns = {
            name: ColumnRows.joined([part.columns[name] for part in parts if part.columns is not None])
            for name in parts[0].columns
        }
    return GroupedRows(points, units, columns)


def whole_groups(parts: Sequence[GroupedRows]) -> tuple[GroupedRows, GroupedRows | None]:
    """Return the rows of the groups that the last part does not have, and the others, which may go on."""
    every, last = joined(parts), parts[-1].units
    if every.units.names is None or last.names is None:
        return every, None
    seen = set(last.names)
    goes_on = np.array([name in seen for name in every.units.names])[every.units.codes]
    if goes_on.all():
        return every, None  # nothing but groups of the last part: there is no room to wait for more of them
    return every.taken(np.flatnonzero(~goes_on)), every.taken(np.flatnonzero(goes_on))


def unit_feature_totals(
    x: Array, units: RowUnits, features: RandomFeatures, threads: int | None, progress: Progress = None
) -> UnitTotals:
    """Return totals over the groups of a checked sample; an array of another device comes here in blocks."""
    waves = Waves(features.frequencies(int(x.shape[1])), precision_of(x, x))
    job = _GroupBlocks(x, units, waves, features.scale)
    run([job], threads, progress, of_pairs=False)
    return UnitTotals(job.count, job.total, job.products)


class _GroupBlocks:
    """The totals as a job of `nammd.engines.tiles.pool`: blocks of whole groups."""

    on_cpu = True

    def __init__(self, x: Array, units: RowUnits, waves: Waves, scale: float) -> None:
        self._waves, self._buffers, self._scale, self.samples = waves, Buffers(), scale, (x,)
        codes = units.codes if units.names is not None else np.arange(len(units.codes))
        self._order = np.argsort(codes, kind="stable")
        self._weights = None if units.weights is None else units.weights[self._order]
        ordered = codes[self._order]
        self._groups = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        self._ends = np.r_[self._groups[1:], len(ordered)]
        self._rows = block_rows(waves.size)
        # A block ends with the group in which it gets so many rows.
        block = np.concatenate([[0], self._ends[:-1]]) // self._rows
        self._first = np.flatnonzero(np.r_[True, block[1:] != block[:-1]])
        self._last = np.r_[self._first[1:], len(self._groups)]
        self.starts = range(len(self._first))
        self.nanoseconds = 0.02 * float(len(ordered)) * waves.size**2
        self.count = len(self._groups)
        self.total = np.zeros(waves.size + MORE)
        self.products = np.zeros((waves.size + MORE, waves.size + MORE))

    def work(self, start: int) -> int:
        """Return how many rows the block has."""
        return int(self._ends[self._last[start] - 1] - self._groups[self._first[start]])

    def panel(self, start: int, tick: Tick) -> tuple[FloatArray, FloatArray]:
        """Return the totals of the groups of one block."""
        groups = slice(self._first[start], self._last[start])
        starts, ends = self._groups[groups], self._ends[groups]
        z, sizes = np.zeros((len(starts), self._waves.size)), np.zeros(len(starts))
        for low in range(int(starts[0]), int(ends[-1]), self._rows):
            self._add(z, sizes, starts, (low, min(low + self._rows, int(ends[-1]))))
            tick(min(low + self._rows, int(ends[-1])) - low)
        v = unit_vectors(z * self._scale, sizes)
        return v.sum(axis=0), v.T @ v

    def _add(self, z: FloatArray, sizes: FloatArray, starts: np.ndarray, rows: tuple[int, int]) -> None:
        """Add the features of some rows to those of their groups."""
        low, high = rows
        points = take_rows(self.samples[0], self._order[low:high])
        points = points if namespace(points) is np else to_numpy(points)
        block = self._buffers.tile(high - low, self._waves.size, self._waves.precision)
        self._waves.fill(points, block)
        if self._weights is not None:
            block *= self._weights[low:high, None].astype(block.dtype)
        first = int(np.searchsorted(starts, low, "right")) - 1
        last = int(np.searchsorted(starts, high, "left"))
        edges = np.maximum(starts[first:last], low) - low
        z[first:last] += np.add.reduceat(block, edges, axis=0, dtype=np.float64)
        weights = np.ones(high - low) if self._weights is None else self._weights[low:high]
        sizes[first:last] += np.add.reduceat(weights, edges)

    def merge(self, start: int, partial: tuple[FloatArray, FloatArray]) -> None:
        """Add the totals of a block."""
        total, products = partial
        self.total += total
        self.products += products
