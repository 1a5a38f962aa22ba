"""From rows that are here to a sketch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nammd.columns.counting import count_columns
from nammd.columns.counts import Counts
from nammd.columns.measure import measures_of
from nammd.data.dataset import Dataset
from nammd.data.encoding import Encoding
from nammd.data.encoding.noticed import Noticed
from nammd.data.opening import open_dataset, refuse_summaries
from nammd.engines.progress import Progress
from nammd.kernels import Gaussian, RandomFeatures
from nammd.sketches.building import feature_totals
from nammd.sketches.group_totals import SketchUnits
from nammd.sketches.grouped_rows import GroupedRows
from nammd.sketches.options import digest_of_encoding, encoding_for
from nammd.sketches.sketch import Sketch


def sketch_of(
    x: Any,
    features: RandomFeatures | None,
    encoding: Encoding | None,
    threads: int | None,
    progress: Progress,
    name: str = "x",
    first: bool = True,
) -> Sketch:
    """Sketch data that are here and know their groups, under the name that errors give them.

    What types the columns have is noticed in the `first` part of a dataset.
    """
    dataset = open_dataset(x, name)
    refuse_summaries(dataset)
    rows = encoding_for(dataset, encoding).points(dataset)
    if features is None:
        features = RandomFeatures(Gaussian.median(rows))
    if dataset.units is not None:
        some = GroupedRows.of(dataset, rows, encoding)
        tally, noticed = None, Noticed()
        if encoding is not None and dataset.is_table:
            tally = count_columns(dataset, measures_of(encoding, dataset), encoding)
            noticed = Noticed.of(encoding, dataset, first)
        units = some.summed(features, threads, progress)
        size = int(rows.shape[0]), int(rows.shape[1])
        return of_units(features, size, units, digest_of_encoding(encoding), tally, noticed)
    totals = feature_totals(rows, features, threads, progress)
    size, tally, noticed = (int(rows.shape[0]), int(rows.shape[1])), None, Noticed()
    if encoding is not None and dataset.is_table:
        del rows
        if not isinstance(x, Dataset):  # opened here: nobody else will ask for its points
            dataset.forget_points()
        tally = count_columns(dataset, measures_of(encoding, dataset), encoding)
        noticed = Noticed.of(encoding, dataset, first)
    return Sketch(features, *size, *totals, digest_of_encoding(encoding), tally, noticed)


def of_units(
    features: RandomFeatures,
    size: tuple[int, int],
    units: SketchUnits,
    encoding: str,
    tally: Mapping[str, Counts] | None,
    noticed: Noticed,
) -> Sketch:
    """Return a sketch of so many rows and columns from totals over groups."""
    sums = units.totals.features, units.totals.gram
    return Sketch(features, *size, *sums, encoding, tally, noticed, units)
