"""The door: whatever somebody passed becomes a `Dataset`, or a sentence that says what is wrong with it.

This is the only module that asks what kind of thing it was given. Arrays stay where they are and keep their
library; float32 stays float32, everything else numeric becomes float64. Tables of pandas, polars, Arrow and
any other library that narwhals knows, lazy ones included, and streams of Arrow batches become columns in
memory. Dask collections and Spark DataFrames stay on their cluster; lazy tables of Polars and DuckDB that are
large are read in batches. A path is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import (
    Array,
    FloatArray,
    as_columns,
    is_foreign_array,
    is_torch,
    library_of,
    namespace,
    take_rows,
    to_numpy,
)
from nammd.data.blocks import blocks_of
from nammd.data.dask_tables import SpreadTable
from nammd.data.dataset import (
    ArrayDataset,
    Dataset,
    Source,
    SpreadArray,
    SummaryDataset,
    TableDataset,
)
from nammd.data.frames import Frame, column_name
from nammd.data.magnitudes import first_beyond, too_large, within_limits
from nammd.data.mapped import MappedPieces
from nammd.data.mapped_tables import MappedTable
from nammd.data.nested import flat
from nammd.data.pieces import Pieces, is_dask, is_dask_table
from nammd.data.several import as_table
from nammd.data.spark_tables import is_spark, spark_pieces
from nammd.data.streamed_tables import held_or_pieces
from nammd.data.to_float64 import is_arrow
from nammd.errors.addresses import local_path, not_there
from nammd.errors.advice import Advice, naming, refusal
from nammd.errors.checks import counted, not_finite
from nammd.errors.naming import listed, require_unique

if TYPE_CHECKING:
    from nammd.reading.text_formats.options import Reading

NO_ROWS = Advice(
    python="distance, closeness_test, compare_pairs, rank, plan and the checks of a tolerance take sketches",
    shell="'nammd check', 'distance', 'compare', 'rank' and 'plan' take sketches",
)


def open_dataset(
    data: Any, name: str, *, by_workers: bool = False, reading: Reading | None = None, settled: bool = True
) -> Dataset:
    """Open a dataset; one that is open already is returned as it is.

    Parameters
    ----------
    data : object
        A path, a table, an array, a collection of Dask or Spark, a sketch, or what `nammd.tables.read`
        returned.
    name : str
        What messages call it, unless it is a file, which has a name of its own.
    by_workers : bool
        Whether the workers of a Dask cluster are to read Parquet files, instead of this process.
    reading : Reading, optional
        How a text file is written.
    settled : bool
        Whether to make the pass in which a Spark DataFrame tells its size, and comes here if it is small. Who
        needs but one pass over the rows leaves it out.

    Returns
    -------
    Dataset
    """
    if isinstance(data, Dataset):
        return data
    if isinstance(data, (str, os.PathLike)):
        return open_file(data, by_workers=by_workers, reading=reading)
    if not is_dask(data) and hasattr(data, "to_dataset"):  # what a reader returned
        opened: Dataset = data.to_dataset()
        return opened
    content = open_content(data, name)
    return content.settled() if settled else content


def open_content(data: Any, name: str, source: Source | None = None) -> Dataset:
    """Open data that are not a file, or what was read from one."""
    if isinstance(data, Mapping) and library_of(data) != "datasets":  # a dict of columns
        table = _open_table(as_table(data, name), name, source)
        assert table is not None
        return replace(table, given=data)
    if isinstance(data, (Pieces, MappedPieces)) or is_dask(data):
        return _open_spread(data, name, source)
    if is_spark(data):
        return _open_spread(spark_pieces(data, name), name, source)
    if getattr(type(data), "keeps_no_rows", False):  # not by its class, which is made of what is here
        return SummaryDataset(name, data, source=source, summary=data)
    if not isinstance(data, (np.ndarray, list, tuple)) and not is_torch(data):
        found = held_or_pieces(data, name)
        if isinstance(found, MappedPieces):
            return _open_spread(found, name, source)
        table = _open_table(data if found is None else found, name, source)
        if table is not None:
            return table
    return ArrayDataset(name, data, source=source, array=_checked_array(data, name))


def open_all(
    data: Mapping[str, Any],
    *,
    min_rows: int = 1,
    by_workers: bool = False,
    reading: Reading | None = None,
) -> list[Dataset]:
    """Open several datasets, by the names that messages give them; what is given twice is opened once."""
    opened: dict[Any, Dataset] = {}
    found = []
    for name, value in data.items():
        key = str(value) if isinstance(value, (str, os.PathLike)) else id(value)
        if isinstance(value, Dataset):  # it is open already
            opened[key] = value
        elif key not in opened:
            opened[key] = open_dataset(value, name, by_workers=by_workers, reading=reading)
        found.append(opened[key])
    for dataset in found:
        require_rows(dataset, min_rows)
    return found


def require_rows(dataset: Dataset, least: int) -> None:
    """Refuse a dataset that is too small, where its size is known without a pass."""
    if dataset.rows is not None and dataset.rows < least:
        raise ValueError(f"{dataset.name} has {counted(dataset.rows, 'row')}; at least {least} are needed")


def refuse_summaries(*datasets: Dataset) -> None:
    """Refuse a sketch where rows are needed."""
    for dataset in datasets:
        if not dataset.keeps_rows:
            raise refusal(
                TypeError,
                f"{dataset.name} is a sketch, and this needs rows, which sketches do not keep; give the data "
                "themselves",
                NO_ROWS,
            )


def numeric_array(data: Any, name: str) -> Array:
    """Return data as rows of numbers as they are; the columns of a table must all be numeric.

    It is for those who want numbers, not points: supports of distributions, coordinates.
    """
    dataset = open_dataset(data, name)
    refuse_summaries(dataset)
    if isinstance(dataset, TableDataset):
        return _checked_array(_table_numbers(dataset.frame, name), name)
    if isinstance(dataset, ArrayDataset):
        return dataset.array
    raise TypeError(f"{name} must be an array or a table in memory; call its .compute() first")


def numeric_arrays(min_rows: int = 1, **data: Any) -> list[FloatArray]:
    """Return several datasets as rows of numbers as they are, in NumPy; they must have the same columns."""
    found = {name: to_numpy(numeric_array(value, name)) for name, value in data.items()}
    first = next(iter(found))
    for name, array in found.items():
        if array.shape[1] != found[first].shape[1]:
            raise ValueError(
                f"{first} has {counted(found[first].shape[1], 'column')} but {name} has {array.shape[1]}; "
                "both datasets must have the same columns"
            )
        if len(array) < min_rows:
            raise ValueError(f"{name} has {counted(len(array), 'row')}; at least {min_rows} are needed")
    return list(found.values())


def row_taker(data: Any) -> tuple[Callable[[NDArray[Any]], Any], int]:
    """Return a function that takes rows of an array or a table, in its own type, and the number of rows."""
    if isinstance(data, (list, tuple, np.ndarray)):
        array = np.asarray(data)
        return lambda rows: array[rows], len(array)
    if is_foreign_array(data):
        return lambda rows: take_rows(data, rows), int(data.shape[0])
    if isinstance(data, Mapping):
        columns = {name: np.asarray(values) for name, values in data.items()}
        count = len(next(iter(columns.values())))
        return lambda rows: {name: values[rows] for name, values in columns.items()}, count
    import narwhals as nw

    table = nw.from_native(data, allow_series=True)
    eager = table.collect() if isinstance(table, nw.LazyFrame) else table
    return lambda rows: eager[rows.tolist()].to_native(), len(eager)


def open_file(path: str | os.PathLike[str], *, by_workers: bool = False, **reading: Any) -> Dataset:
    """Open a file or a folder.

    Parameters
    ----------
    path : str or path
        The file or folder, or a sketch.
    by_workers : bool
        Whether the workers of a Dask cluster are to read Parquet files, instead of this process.
    **reading
        Options of `nammd.tables.read`.

    Returns
    -------
    Dataset
    """
    from nammd.reading.files import read, scan
    from nammd.reading.places import is_elsewhere, split_sheet

    if is_elsewhere(path):
        return read(path, **reading).to_dataset()
    where = local_path(path)
    if not local_path(split_sheet(path)[0]).exists():
        raise not_there(path)
    with naming(str(where)):
        summary = _summary_in(where)
        if summary is not None:
            return SummaryDataset(str(path), path, source=Source(where, summary.n), summary=summary)
        scanned = scan(path, columns=reading.get("columns")) if by_workers else None
        return (scanned or read(path, **reading)).to_dataset(keep=False)


def _summary_in(path: Path) -> Any:
    """Return the sketch in a file; None where there is none."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        if path.suffix != ".sketch" and file.read(2) != b"PK":
            return None
    from nammd.sketches import file as sketch_file

    if not (sketch_file.is_sketch_file(path) or sketch_file.is_broken_sketch(path)):
        return None
    return sketch_file.read(path)


def _open_spread(data: Any, name: str, source: Source | None) -> Dataset:
    if isinstance(data, (Pieces, MappedPieces)) or is_dask_table(data):
        pieces = data if isinstance(data, MappedPieces) else Pieces.of(data)
        require_unique(pieces.names, name)
        if not pieces.names:
            raise ValueError(f"{name} is empty: it has no columns")
        if isinstance(pieces, MappedPieces):
            return MappedTable(name, data, source=source, pieces=pieces)
        series = is_dask_table(data) and data.ndim == 1
        return SpreadTable(name, data, source=source, pieces=pieces, one_column=series)
    if not hasattr(type(data), "chunks"):
        raise TypeError(f"{name} must be a Dask array or dataframe, not {type(data).__name__}")
    # What has no rows has the same columns and types, so it meets the same objections.
    model = _floating(_rows(np.empty((0,) * (data.ndim > 0) + data.shape[1:], data.dtype), name), name)
    if model.shape[1] == 0:
        raise ValueError(f"{name} is empty: it has no columns")
    array = blocks_of(Pieces.of(data), partial(_floating_rows, name=name), model.shape[1], model.dtype)
    if array.shape[0] == 0:
        raise ValueError(f"{name} is empty: it has shape {tuple(array.shape)}")
    return SpreadArray(name, data, source=source, array=array)


def _open_table(data: Any, name: str, source: Source | None) -> TableDataset | None:
    """Return a table in memory; None where `data` is no table."""
    import narwhals as nw

    try:
        table = nw.from_native(_arrow_table(data), pass_through=True, allow_series=True)
    except Exception:  # narwhals refuses duplicate names, with an error that depends on its version
        names = data.column_names if hasattr(data, "column_names") else data.columns
        require_unique([column_name(each) for each in names], name)
        raise
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    series = isinstance(table, nw.Series)
    if series:
        table = table.to_frame()
    if not isinstance(table, nw.DataFrame):
        return None
    if not series and _has_records(table):
        table = nw.from_native(flat(table.to_arrow(), name))
    frame = Frame(table, name, again=None if source is None else source.again)
    if source is not None:
        frame.words = {
            column: (found, source.total_rows or frame.rows) for column, found in source.words.items()
        }
    if source is not None and source.again is not None:
        data = source.path  # the table itself may be let go
    return TableDataset(name, data, source=source, frame=frame, one_column=series)


def _has_records(table: Any) -> bool:
    """Tell whether a table has columns of records; narwhals looks at the names of all columns for a type."""
    native = table.to_native()
    if not is_arrow(native):
        import narwhals as nw

        return nw.Struct in table.schema.values()
    import pyarrow as pa

    return any(map(pa.types.is_struct, native.schema.types))


def _arrow_table(data: Any) -> Any:
    """Return what Arrow holds, or can read as a stream, as a table; a stream can be read once only."""
    library = library_of(data)
    arrow = library in ("pyarrow", "datasets") or hasattr(data, "__arrow_c_stream__")
    if library in _KNOWN_TABLES or not arrow:
        return data
    import pyarrow as pa

    if library == "datasets":
        return _hugging_face(data, pa)
    if isinstance(data, (pa.Table, pa.ChunkedArray)):
        return data
    if isinstance(data, pa.Array):
        return pa.chunked_array([data])
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    return pa.table(data) if hasattr(data, "__arrow_c_stream__") else data


def _hugging_face(data: Any, pa: Any) -> Any:
    """Return a dataset of Hugging Face as an Arrow table; labels that have names are categories."""
    if isinstance(data, Mapping):
        raise TypeError(f"give one split of the Hugging Face dataset, not all: it has {listed(data)}")
    arrow = data.with_format("arrow")
    if hasattr(type(data), "num_rows"):
        table = arrow[:]
    else:  # it is streamed, and knows no end
        table = pa.concat_tables(list(arrow.iter(batch_size=4096)))
    for place, (column, feature) in enumerate((getattr(data, "features", None) or {}).items()):
        if type(feature).__name__ == "ClassLabel":
            codes = table.column(column).combine_chunks()
            codes = pa.compute.if_else(pa.compute.less(codes, 0), None, codes).cast(pa.int32())
            table = table.set_column(place, column, pa.DictionaryArray.from_arrays(codes, feature.names))
    return table


_KNOWN_TABLES = ("pandas", "polars", "modin", "cudf")
"""Libraries whose tables narwhals takes as they are, so that no copy is made for Arrow."""


def _checked_array(data: Any, name: str) -> Array:
    """Return data as a two-dimensional floating-point array of finite numbers."""
    array = _rows(_as_array(data, name), name)
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise ValueError(f"{name} is empty: it has shape {tuple(array.shape)}")
    array = _floating(array, name)
    _require_finite(array, name)
    return array


def _as_array(data: Any, name: str) -> Any:
    if isinstance(data, np.ndarray):
        # In this order: masked arrays are a module that is imported when somebody names it.
        if type(data) is not np.ndarray and isinstance(data, np.ma.MaskedArray):
            raise TypeError(f"{name} is a masked array; fill or drop the masked values first")
        return np.asarray(data)
    if is_foreign_array(data):
        return data.detach() if hasattr(data, "detach") else data
    try:
        array = np.asarray(data)
    except ValueError:
        raise ValueError(f"the rows of {name} differ in length; they must form a table") from None
    if array.dtype == object or array.ndim == 0:
        raise TypeError(
            f"{name} must be an array, a table, a Dask collection, a sketch or the path of a file, not "
            f"{type(data).__name__}"
        )
    return array


def _rows(array: Array, name: str) -> Array:
    array = as_columns(array)
    if array.ndim != 2:
        raise ValueError(
            f"{name} has {array.ndim} dimensions; give one row per observation, for example "
            f"{name}.reshape(len({name}), -1)"
        )
    return array


def _floating(array: Array, name: str) -> Array:
    xp = namespace(array)
    if xp is np:
        if array.dtype.kind not in "fiub":
            raise TypeError(
                f"{name} has type {array.dtype}, which is not a real number; encode it as numbers first"
            )
        if array.dtype == np.float16:
            return array.astype(np.float32)
        return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
    if xp.isdtype(array.dtype, "complex floating"):
        raise TypeError(f"{name} has complex values; split them into real columns first")
    if xp.isdtype(array.dtype, "real floating"):
        if array.dtype in (xp.float32, xp.float64):
            return array
        return xp.astype(array, xp.float32)  # half precision
    return xp.astype(array, xp.float64)


def _floating_rows(piece: Any, name: str) -> Array:
    return _floating(_rows(piece, name), name)


def _require_finite(array: Array, name: str) -> None:
    if within_limits(array):
        return
    found = to_numpy(array)
    bad = int((~np.isfinite(found)).any(axis=1).sum())
    beyond = None if bad else first_beyond(found)
    raise not_finite(name, bad, len(found)) if beyond is None else too_large(name, *beyond)


def _table_numbers(frame: Frame, name: str) -> Any:
    every = {column: frame.values(column) for column in frame.names}
    other = [column for column, v in every.items() if v.kind not in ("numeric", "boolean", None)]
    if other:
        raise TypeError(
            f"{name} has columns that are not numeric: {listed(other)}; encode them as numbers or leave them "
            "out"
        )
    missing = [column for column, v in every.items() if v.missing.any()]
    if missing:
        raise ValueError(
            f"{name} has missing values in {listed(missing)}; fill them or drop those rows first"
        )
    return np.column_stack(
        [
            v.numbers if v.numbers is not None else np.array([c == "True" for c in v.categories])[v.codes]
            for v in every.values()
        ]
    ).astype(np.float64)
