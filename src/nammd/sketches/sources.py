"""Sketches of rows that are here, or come in pieces: as batches, files, collections of Dask or Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from nammd.data.arrays import Array, to_numpy
from nammd.data.dataset import Dataset
from nammd.data.group_labels import AllLeftOut
from nammd.data.mapped import MappedPieces, Number
from nammd.data.opening import open_dataset, refuse_summaries
from nammd.data.pieces import Graph, Key, fetch, fresh_name, tree
from nammd.data.row_grouping import RowGrouping, dataset_with_grouping
from nammd.encoding.farthest import naming_the_farthest
from nammd.encoding.noticed import Noticed
from nammd.engines.progress import Meter, Progress
from nammd.errors.addresses import shown
from nammd.errors.advice import Advice, prefixed, refusal
from nammd.errors.checks import counted
from nammd.kernels import RandomFeatures
from nammd.sketches import grouped_rows
from nammd.sketches.building import feature_totals, runs_over_rows
from nammd.sketches.group_totals import SketchUnits
from nammd.sketches.grouped_rows import GroupedRows, ReadRows
from nammd.sketches.options import Settings, columns_alone, encoding_for
from nammd.sketches.sketch import RowProgress, Sketch
from nammd.views.counts import Counts, merged

_LOOKED_AT, _LEAST_LOOKED_AT = 200, 20
"""So many rows tell whether any are similar, and fewer do not."""


def sketch_of(
    dataset: Dataset, settings: Settings, threads: int | None, progress: Progress, first: bool = True
) -> Sketch:
    """Sketch data that are here and know their groups.

    What types the columns have is noticed in the `first` part of a dataset.
    """
    refuse_summaries(dataset)
    read = ReadRows.of(dataset, settings.encoding, first)
    settings = settings.fitted(dataset)
    size, digest = (int(read.points.shape[0]), int(read.points.shape[1])), settings.digest
    if first:
        _require_alike_rows(read.points, settings.features[0])
    far = naming_the_farthest({dataset.name: read.points}, settings.encoding)
    if dataset.units is not None:
        with far:
            units = GroupedRows.of(dataset, read).summed(settings.features, threads, progress)
        return of_units(settings, size, units, read.tally, read.noticed)
    with far, runs_over_rows(size[0], len(settings.features)):
        main, *finer = (
            Sketch(each, *size, *feature_totals(read.points, each, threads, progress), digest)
            for each in settings.features
        )
    return replace(main, tally=read.tally, noticed=read.noticed, finer=tuple(finer))


def _require_alike_rows(points: Array, features: RandomFeatures) -> None:
    """Refuse a bandwidth that is so small that no two rows are similar: features would be noise.

    Nothing of that can be seen later.
    """
    some = to_numpy(points[: min(_LOOKED_AT, points.shape[0]), :])
    values = np.triu(features.kernel(some, some), 1)
    if len(some) >= _LEAST_LOOKED_AT and not values.max() > 1e-9 * features.bound:
        raise ValueError(
            f"the bandwidth of {features.kernel} is so small beside the distances between rows that no two "
            "rows count as similar, and a sketch would tell nothing; take one of the size of these distances"
        )


def of_units(
    settings: Settings,
    size: tuple[int, int],
    units: Sequence[SketchUnits],
    tally: Mapping[str, Counts] | None,
    noticed: Noticed,
) -> Sketch:
    """Return a sketch of so many rows and columns from totals over groups, at each scale."""
    main, *finer = (
        Sketch(features, *size, each.totals.features, each.totals.gram, settings.digest, units=each)
        for features, each in zip(settings.features, units, strict=True)
    )
    return replace(main, tally=tally, noticed=noticed, finer=tuple(finer))


def of_batches(
    batches: Iterable[Any],
    settings: Settings,
    row_grouping: RowGrouping,
    threads: int | None,
    progress: RowProgress = None,
    total: int | None = None,
) -> Sketch:
    """Return the sketch of all rows of some batches; `total` is how many there will be, if that is known."""
    _require_batches(batches)
    if row_grouping:
        return of_grouped_batches(batches, settings, row_grouping, threads, progress, total)
    sketch: Sketch | None = None
    # One remaining time for all batches, with the reading of them.
    with nullcontext() if total is None else Meter(progress, total) as meter:
        for batch in batches:
            if _rows(batch) == 0:
                continue
            within = False if meter is None else _adding_to(meter)
            dataset = open_dataset(batch, "x")
            part = sketch_of(dataset, settings, threads, within, first=sketch is None)
            del dataset  # or its points would be there while the next batch is read
            if sketch is None:
                sketch = part
            else:
                if part.n_columns != sketch.n_columns:
                    raise ValueError(
                        f"the batches differ: one has {counted(sketch.n_columns, 'column')}, a later one "
                        f"{part.n_columns}"
                    )
                for one, more in zip((sketch, *sketch.finer), (part, *part.finer), strict=True):
                    one.n += more.n
                    one.total += more.total  # in place: nobody else has seen these arrays
                    one.products += more.products
                sketch.tally = _taken_in(sketch.tally, part.tally)
                sketch.noticed += part.noticed
                del part, more  # or its counts would be there while the next batch is counted
            if meter is None and callable(progress):
                progress(sketch.n, None)
    if sketch is None:
        raise ValueError("there are no rows to sketch: every batch is empty, or there are none")
    return sketch


def of_grouped_batches(
    batches: Iterable[Any],
    settings: Settings,
    row_grouping: RowGrouping,
    threads: int | None,
    progress: RowProgress = None,
    total: int | None = None,
) -> Sketch:
    """Return the same of rows that belong together; they are held until their groups are whole."""
    held: list[GroupedRows] = []
    size, tally, noticed = (0, 0), None, Noticed()
    units: list[SketchUnits] = []

    def close(rows: GroupedRows) -> None:
        """Sum groups that are whole; that takes far longer than reading, so it is what progress tells of."""
        nonlocal units
        within = False if meter is None else _adding_to(meter)
        with naming_the_farthest({"the rows of the last batches": rows.points}, settings.encoding):
            found = rows.summed(settings.features, threads, within)
        units = [one + more for one, more in zip(units, found, strict=True)] if units else found

    with nullcontext() if total is None else Meter(progress, total) as meter:
        for batch in batches:
            if _rows(batch) == 0:
                continue
            try:
                dataset = dataset_with_grouping(open_dataset(batch, "a batch"), row_grouping, 1)
            except AllLeftOut:
                noticed += Noticed(left_out=_rows(batch))
                continue
            read = ReadRows.of(dataset, settings.encoding, first=not size[0])
            width = int(read.points.shape[1])
            if size[0] and width != size[1]:
                raise ValueError(
                    f"the batches differ: one has {counted(size[1], 'column')}, a later one {width}"
                )
            tally = _taken_in(tally, read.tally) if size[0] else read.tally
            noticed += read.noticed
            size = size[0] + int(read.points.shape[0]), width
            held.append(GroupedRows.of(dataset, read))
            if meter is None and callable(progress):
                progress(size[0], None)
            if row_grouping.groups is None or sum(part.size for part in held) > grouped_rows.HELD:
                whole, rest = grouped_rows.whole_groups(held)
                held = [] if rest is None else [rest]
                close(whole)
        if held:
            close(grouped_rows.joined(held))
    if not units:
        raise ValueError("there are no rows to sketch: every batch is empty, or there are none")
    return of_units(settings, size, units, tally, noticed)


def _taken_in(
    tally: Mapping[str, Counts] | None, more: Mapping[str, Counts] | None
) -> Mapping[str, Counts] | None:
    """Return the counts of both; column by column, so that hardly more than one of them is there."""
    if tally is None or more is None:
        return None
    one, other = dict(tally), dict(more)
    for name in list(one):
        one[name] = merged(one.pop(name), other.pop(name))
    return one


def _require_batches(batches: Any) -> None:
    """Refuse one dataset in place of several: its rows, or the names of its columns, would be the batches."""
    if len(getattr(batches, "shape", (0, 0, 0))) <= 2 or isinstance(batches, (str, bytes, Sketch)):
        raise TypeError(
            f"batches must be an iterable of arrays or tables, not one {type(batches).__name__}; for one "
            "dataset use Sketch.of(x, features), or give [x]"
        )


def _adding_to(meter: Meter) -> Callable[[float, float], None]:
    """Return a function that counts the rows of one batch among those of all."""
    before = 0.0

    def report(done: float, total: float) -> None:
        nonlocal before
        meter.add(done - before)
        before = done

    return report


def of_file(
    path: str | Path,
    settings: Settings,
    row_grouping: RowGrouping,
    threads: int | None,
    progress: RowProgress,
    reading: dict[str, Any],
) -> Sketch:
    """Return the sketch of a file, reading it batch by batch."""
    from nammd.reading.files import counted_batches

    written = None if settings.encoding is None else settings.encoding.for_files
    batches, total = counted_batches(path, reading=written, **reading)
    tables = (_as_table(batch) for batch in batches)
    try:
        return of_batches(tables, settings, row_grouping, threads, progress, total)
    except (TypeError, ValueError) as error:
        raise prefixed(error, f"cannot sketch {shown(path)}") from error


def of_cluster(
    dataset: Dataset, settings: Settings, row_grouping: RowGrouping, progress: Progress = None
) -> Sketch:
    """Return the sketch of data on a cluster, or that come in batches; only sums travel."""
    columns_alone(row_grouping)
    encoding_for(dataset, settings.encoding)  # refuses tables without one
    settings = settings.fitted(dataset)
    pieces = dataset.in_pieces()
    if isinstance(pieces, MappedPieces):
        part = partial(_numbered_part, settings=settings, row_grouping=row_grouping)
        found = pieces.total(part, partial(reduce, _added), whole=bool(row_grouping))
        return _of_whole_groups(found, pieces.whereabouts.regroup)
    name = fresh_name("sketch")
    level: list[Key] = [(name, 0, k) for k in range(len(pieces.keys))]
    one = [
        partial(_part, settings=settings, row_grouping=row_grouping, first=first) for first in (False, True)
    ]
    tasks: Graph = {
        key: (one[k == 0], piece) for k, (key, piece) in enumerate(zip(level, pieces.keys, strict=True))
    }
    # How far the workers are is told by these: a cluster keeps whatever is watched, so that must be small.
    counts: dict[Key, float] = {(name, "rows", k): n for k, n in enumerate(pieces.sizes or [1] * len(level))}
    tasks |= {count: (_counted_rows, key) for count, key in zip(counts, level, strict=True)}
    sums, whole = tree((name,), level, partial(reduce, _added))
    with Meter(progress, sum(counts.values())) as meter:
        sketch, *_ = fetch(pieces.graph() | tasks | sums, [whole, *counts], counts, meter.add)
    return _of_whole_groups(sketch, pieces.whereabouts.regroup)


def _of_whole_groups(sketch: Sketch | None, regroup: str) -> Sketch:
    """Return the sketch of all partitions; refuse one of nothing, or of groups that are torn apart."""
    if sketch is None:
        raise ValueError("there are no rows to sketch: every partition is empty")
    if sketch.units is not None and sketch.units.split:
        raise refusal(
            ValueError,
            f"{sketch.units.split} parts of groups by {sketch.units.by} are in another partition than the "
            "rest of their group, and would count as groups of their own",
            Advice(
                f"partition by group first, for example {regroup.format(sketch.units.by)}",
                "leave --engine out: the file is then read here, and groups are put together",
            ),
        )
    return sketch


def _numbered_part(
    piece: Any, number: Number, settings: Settings, row_grouping: RowGrouping
) -> Sketch | None:
    # What types columns have is noticed in every partition: the very first one may have no rows.
    return _part(piece, settings, row_grouping, first=number[1] == 0)


def _part(block: Any, settings: Settings, row_grouping: RowGrouping, first: bool) -> Sketch | None:
    if not _rows(block):
        return None
    try:
        dataset = dataset_with_grouping(open_dataset(block, "a partition of x"), row_grouping, 1)
    except AllLeftOut:
        return None
    # The scheduler runs partitions side by side, so each has one thread.
    return sketch_of(dataset, settings, 1, False, first=first)


def _counted_rows(sketch: Sketch | None) -> int:
    return 0 if sketch is None else sketch.n


def _added(one: Sketch | None, other: Sketch | None) -> Sketch | None:
    if one is None or other is None:
        return one or other
    return one + other


def _rows(batch: Any) -> int:
    shape = getattr(batch, "shape", None)
    return int(shape[0]) if shape else len(batch)


def _as_table(batch: Any) -> Any:
    if type(batch).__module__.startswith("pyarrow"):
        import pyarrow as pa

        return pa.Table.from_batches([batch])
    return batch
