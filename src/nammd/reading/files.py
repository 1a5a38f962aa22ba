"""Reading datasets from files and folders: `read` and `batches`.

Every format is a stream of batches (`sources`). Reading keeps all of them, sampling keeps a
few rows of each, and nothing here knows one table format from another.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.dataset import Dataset, Source
from nammd.data.pieces import Pieces
from nammd.data.sampling import Positions, Reservoir, sample_positions
from nammd.errors.addresses import local_path, shown
from nammd.errors.advice import Advice, naming, refusal
from nammd.errors.checks import whole
from nammd.errors.limits import require_unpacked
from nammd.errors.naming import chosen_columns
from nammd.reading.formats import Format, format_of, optional, text_files_in
from nammd.reading.places import is_database, is_elsewhere, local, split_sheet
from nammd.reading.sources import BATCH_ROWS, ArrayFile, TableFile
from nammd.reading.text_formats.options import Reading

_LARGE_BYTES = 1 << 22

_READ_AGAIN_BYTES = 1 << 23
"""Columns of a larger table need not be kept: they are read again where somebody asks for them."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """What was read from a file.

    Attributes
    ----------
    data : pyarrow.Table, array or Pieces
        A table, or an array with one row per observation for NPY, NPZ and images. Pieces of a table that
        the workers of a Dask cluster will read, where the file was only looked at.
    path : Path or str
        Where it came from; the address where it is not a file.
    total_rows : int
        The rows that the file has.
    notes : tuple of str
        What the reader should know: arrays that were flattened, images that were resized.
    words : mapping
        How often words for missing values stood among numbers and times, by column, in all of the file.
    again : callable or None
        Reads some columns of a large table once more, so that they need not be kept; None where they are.
    """

    data: Any
    path: Path | str
    total_rows: int
    notes: tuple[str, ...] = ()
    words: Mapping[str, Mapping[str, int]] = field(default_factory=dict, repr=False)
    again: Callable[[Sequence[str]], Any] | None = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        """The rows in `data`."""
        return self.total_rows if isinstance(self.data, Pieces) else len(self.data)

    @property
    def sampled(self) -> bool:
        """Whether `data` is a sample of the rows in the file."""
        return self.rows < self.total_rows

    def __repr__(self) -> str:
        rows = f"{self.rows} of {self.total_rows} rows" if self.sampled else f"{self.rows} rows"
        width = len(self.data.names) if isinstance(self.data, Pieces) else self.data.shape[1]
        return f"Loaded({str(self.path)!r}, {rows}, {width} columns)"

    def to_dataset(self, keep: bool = True) -> Dataset:
        """Return it opened, under the name of its file; a large table may be let go where it is not kept."""
        from nammd.data.opening import open_content

        again = None if keep else self.again
        source = Source(self.path, self.total_rows, self.notes, self.words, again)
        return open_content(self.data, str(self.path), source)


def read(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    sample: int | None = None,
    rng: Any = 0,
    key: str | None = None,
    features: Any = None,
    reading: Reading | None = None,
    query: str | None = None,
) -> Loaded:
    r"""Read a dataset from a file or a folder.

    The extension says which format: CSV and TSV (.csv, .tsv, also .gz, .bz2, .xz, .zst), Parquet (.parquet,
    or a folder of them), Arrow or Feather (.arrow, .feather, .ipc), JSON lines, or a list of records (.jsonl,
    .ndjson, .json), NumPy (.npy, .npz), Excel (.xlsx, .xlsm), or a folder of images. Records within records
    become columns, such as ``user.age``.

    Parameters
    ----------
    path : str or path
        The file or folder; ``"-"`` for standard input; an address such as ``https://...``, or one that fsspec
        knows (``s3://...``), whose data are copied first; or that of a database, such as
        ``sqlite:///shop.db``, with a `query`. A sheet of a workbook is named behind a #:
        ``shop.xlsx#May``.
    columns : sequence of str, optional
        The columns to read, by default all. Those of NPY and NPZ files are named "0", "1", ...
    sample : int, optional
        Read a uniform random sample of this many rows, in the order of the file. The file is read in
        batches, so it may be larger than memory. By default all rows are read.
    rng : int, numpy.random.Generator or None, default 0
        Decides which rows are sampled. The same rows are drawn whatever the format.
    key : str, optional
        Which array of an NPZ file.
    features : str, path or callable, optional
        For images: the name of a torchvision model, the file of a TorchScript module, or a function on
        batches of float tensors (images, channels, height, width). By default the pixels themselves,
        between 0 and 1.
    reading : Reading, optional
        How a text file is written: its encoding, its words for missing values, and the columns to leave as
        text. Text is read as numbers and dates where a space is fitted, see `nammd.Space.fit`.
    query : str, optional
        What to ask a database.

    Returns
    -------
    Loaded
        The data and what is to be known about it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "people.csv")
    >>> _ = path.write_text("age,city\n31,Ulm\n47,Bonn\n")
    >>> read(path, columns=["age"]).data.to_pydict()
    {'age': [31, 47]}
    """
    if sample is not None:
        whole(sample, "sample")
    with naming(shown(path)), ExitStack() as stack:
        source = _open_place(path, key, features, reading, query, stack)
        data: Any
        again = None
        words: Mapping[str, Mapping[str, int]] = {}
        if isinstance(source, ArrayFile):
            data, total = _read_array(source, columns, sample, rng)
        else:
            data, total = _read_table(source, columns, sample, rng)
            words = source.words
            if sample is None and data.get_total_buffer_size() > _READ_AGAIN_BYTES:
                again = _again(path, reading)
        where = shown(path) if is_elsewhere(path) else source.path
        return Loaded(data, where, total, source.notes, words, again)


def _again(path: str | os.PathLike[str], reading: Reading | None) -> Callable[[Sequence[str]], Any] | None:
    """Return what reads some columns of a file once more; None of what is no file, or may be another then."""
    if is_elsewhere(path) or not local_path(path).is_file():
        return None
    return partial(_read_again, path, reading, _state(path))


def _read_again(
    path: str | os.PathLike[str],
    reading: Reading | None,
    before: tuple[int, int, int] | None,
    columns: Sequence[str],
) -> Any:
    if _state(path) != before:
        raise refusal(
            ValueError,
            f"{path} is not what it was when it was opened, and its columns are needed once more",
            Advice(
                python="run this again; nammd.tables.read(path) in place of the path keeps them in memory",
                shell="run this again when nobody writes to it",
            ),
        )
    return read(path, columns=columns, reading=reading).data


def _state(path: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    try:
        status = local_path(path).stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def scan(path: str | os.PathLike[str], *, columns: Sequence[str] | None = None) -> Loaded | None:
    """Look at a Parquet file or folder whose rows the workers of a Dask cluster will read.

    Parameters
    ----------
    path, columns
        As in `read`. The workers must see the file under the same name.

    Returns
    -------
    Loaded or None
        None where the file is of another format, which only `read` can read.
    """
    where = local_path(split_sheet(path)[0])
    if format_of(where) != "Parquet":
        return None
    from nammd.reading.columnar import scan_parquet

    pieces = scan_parquet(where, columns)
    return Loaded(pieces, where, pieces.rows or 0)


def batches(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    key: str | None = None,
    features: Any = None,
    reading: Reading | None = None,
    query: str | None = None,
) -> Iterator[Any]:
    """Read a file or a folder batch by batch, in the order of its rows.

    Parameters
    ----------
    path, columns, key, features, reading, query
        As in `read`.
    batch_rows : int, optional
        The most rows of a batch.

    Returns
    -------
    iterator of pyarrow.RecordBatch or array
        A batch of an Arrow file is a view into it: copy what you keep.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp(), "points.npy")
    >>> np.save(path, np.zeros((10, 2)))
    >>> [batch.shape for batch in batches(path, batch_rows=4)]
    [(4, 2), (4, 2), (2, 2)]
    """
    return counted_batches(path, columns, batch_rows, key, features, reading, query)[0]


def counted_batches(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    key: str | None = None,
    features: Any = None,
    reading: Reading | None = None,
    query: str | None = None,
) -> tuple[Iterator[Any], int | None]:
    """Return what `batches` does, and the number of all rows where the file tells it without being read."""
    whole(batch_rows, "batch_rows")
    # Not a generator itself, so that mistakes in the call show at the call.
    with naming(shown(path)), ExitStack() as stack:
        source = _open_place(path, key, features, reading, query, stack)
        if isinstance(source, ArrayFile):
            chosen = _array_columns(source, columns)
            parts: Iterator[Any] = (_select(batch, chosen) for batch in source.stream(batch_rows))
        else:
            parts = _table_batches(source, _table_columns(source, columns), batch_rows, keep=False)
        return _named(parts, shown(path), stack.pop_all()), source.rows


def _named(parts: Iterator[Any], path: str, copies: ExitStack) -> Iterator[Any]:
    with copies, naming(path):
        yield from parts


def _open_place(
    path: str | os.PathLike[str],
    key: str | None,
    features: Any,
    reading: Reading | None,
    query: str | None,
    stack: ExitStack,
) -> TableFile | ArrayFile:
    """Open what is at a place; copies of it last as long as the stack."""
    if is_database(path):
        from nammd.reading.databases import open_query

        return open_query(str(path), query)
    if query is not None:
        raise ValueError(f"a query is for databases, and {shown(path)} is none; leave it out")
    place, sheet = split_sheet(path)
    return _open(stack.enter_context(local(place)), sheet, key, features, reading)


def _open(
    path: Path, sheet: str | None, key: str | None, features: Any, reading: Reading | None
) -> TableFile | ArrayFile:
    path = local_path(path)
    kind = format_of(path)
    _require_no_hole(path)
    if key is not None and kind != "NPZ":
        raise ValueError(f"key={key!r} chooses an array of an NPZ file, but {path} is {kind}; leave it out")
    if features is not None and kind != "images":
        raise ValueError(f"features are taken from images, but {path} is {kind}; leave them out")
    # Imported one by one: a check of two Parquet files should not wait for the rest.
    if kind in ("CSV", "TSV", "JSON lines"):
        return _open_text(path, kind, reading)
    if kind == "Parquet":
        from nammd.reading.columnar import open_parquet

        return open_parquet(path)
    if kind == "Arrow":
        from nammd.reading.columnar import open_arrow

        return open_arrow(path)
    if kind == "Excel":
        from nammd.reading.workbooks import open_workbook

        return open_workbook(path, sheet, reading)
    if kind == "images":
        from nammd.reading.images import open_images

        return open_images(path, features)
    from nammd.reading.arrayfiles import open_npy, open_npz

    return open_npy(path) if kind == "NPY" else open_npz(path, key)


def _require_no_hole(path: Path) -> None:
    """Refuse a file that is large by name only: where nothing was written, it takes no room on the disk."""
    status = path.stat()
    if path.is_file() and hasattr(status, "st_blocks"):
        require_unpacked(status.st_size, status.st_blocks * 512, str(path))


def _open_text(path: Path, kind: Format, reading: Reading | None) -> TableFile:
    def open_one(file: Path, reading: Reading | None) -> TableFile:
        if kind == "JSON lines":
            from nammd.reading.jsonlines import open_json_lines

            return open_json_lines(file, reading)
        from nammd.reading.delimited import open_delimited

        return open_delimited(file, kind == "TSV", reading, keep=not path.is_dir())

    if not path.is_dir():
        return open_one(path, reading)
    from nammd.reading.folders import open_text_folder

    return open_text_folder(path, text_files_in(path, kind), open_one, reading)


def _read_table(
    source: TableFile, columns: Sequence[str] | None, sample: int | None, rng: Any
) -> tuple[Any, int]:
    pa = optional("pyarrow", "app", "reading tables")
    chosen = _table_columns(source, columns)
    parts = _table_batches(source, chosen, BATCH_ROWS, keep=sample is None)
    if sample is None:
        table = pa.Table.from_batches(list(parts))
        # Not `nbytes`, which takes as long for very many columns as to read them.
        if table.get_total_buffer_size() > _LARGE_BYTES:
            pa.default_memory_pool().release_unused()  # what it was unpacked from is as large
        return table, table.num_rows

    def take(table: Any, positions: Positions) -> Any:
        return table.take(pa.array(positions))

    def join(tables: list[Any]) -> Any:
        return pa.concat_tables(tables).combine_chunks()

    reservoir: Reservoir[Any] = Reservoir(sample, rng, take, join)
    for batch in parts:
        reservoir.add(pa.Table.from_batches([batch]), batch.num_rows)
    return reservoir.sample(), reservoir.seen


def _read_array(
    source: ArrayFile, columns: Sequence[str] | None, sample: int | None, rng: Any
) -> tuple[NDArray[Any], int]:
    chosen = _array_columns(source, columns)
    if sample is None or sample >= source.rows:
        return _joined(
            (_select(batch, chosen) for batch in source.stream(BATCH_ROWS)), source.rows
        ), source.rows
    return _select(source.take(sample_positions(source.rows, sample, rng)), chosen), source.rows


def _joined(parts: Iterator[NDArray[Any]], rows: int) -> NDArray[Any]:
    """Return batches as one array; each is copied as it comes, so they are never all there twice."""
    first = next(parts)
    result = np.empty((rows, first.shape[1]), first.dtype)
    end = 0
    for part in itertools.chain([first], parts):
        result[end : end + len(part)] = part
        end += len(part)
    return result


def _table_columns(source: TableFile, columns: Sequence[str] | None) -> list[str]:
    if columns is None:
        return list(source.names)
    return chosen_columns(columns, source.names, str(source.path))


def _array_columns(source: ArrayFile, columns: Sequence[str] | None) -> list[int] | None:
    if columns is None:
        return None
    if source.names is None:
        raise ValueError(f"{source.path} holds images, which have no columns to choose; leave columns out")
    return [int(name) for name in chosen_columns(columns, source.names, str(source.path))]


def _table_batches(source: TableFile, columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
    empty = True
    for batch in source.stream(columns, batch_rows, keep):
        if batch.num_rows:
            empty = False
            yield batch
    if empty:
        raise ValueError(f"{source.path} has columns but no rows")


def _select(batch: NDArray[Any], columns: list[int] | None) -> NDArray[Any]:
    return batch if columns is None else batch[:, columns]
