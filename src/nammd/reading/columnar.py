"""Parquet files and folders, read here or by the workers of a cluster, and Arrow IPC (Feather) files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nammd.data.nested import flat, flat_columns
from nammd.data.pieces import Key, Pieces, fresh_name
from nammd.errors.addresses import local_path
from nammd.errors.limits import require_unpacked
from nammd.errors.naming import chosen_columns
from nammd.reading.arrow_claims import claimed_bytes
from nammd.reading.formats import explained, files_in, optional, require_magic
from nammd.reading.parquet_claims import checked_footer
from nammd.reading.sources import TableFile, TableStream, sliced

PIECE_ROWS = 131_072
"""Row groups are read together up to this many rows."""

# Arrow takes a relative path with a colon for an address, so all that it is given are absolute.
_STREAM_START = b"\xff\xff\xff\xff"


def open_parquet(path: Path) -> TableFile:
    """Open a Parquet file, or a folder of them with or without Hive partitions."""
    return _open_folder(path) if path.is_dir() else _open_file(path)


def _open_file(path: Path) -> TableFile:
    parquet = optional("pyarrow.parquet", "app", "reading Parquet files")
    require_magic(path, "Parquet")
    with explained(path, "Parquet"):
        footer = checked_footer(path)
        schema = footer.schema.to_arrow_schema()

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        # Without pre_buffer a row group is read as it is needed, not all at once.
        with (
            explained(path, "Parquet"),
            parquet.ParquetFile(path.absolute(), pre_buffer=False, page_checksum_verification=True) as file,
        ):
            yield from map(validated, file.iter_batches(batch_size=batch_rows, columns=columns))

    return _with_flat_columns(path, schema, stream, footer.num_rows)


def _with_flat_columns(path: Path, schema: Any, stream: TableStream, rows: int | None = None) -> TableFile:
    """Return a file whose records are columns; `stream` reads it with the columns of its schema."""
    places = flat_columns(schema, str(path))

    def flattened(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        outer = list(dict.fromkeys(places[name][0] for name in columns))
        for batch in stream(outer, batch_rows, keep):
            yield flat(batch, str(path)).select(columns)

    nested = any(len(place) > 1 for place in places.values())
    return TableFile(path, tuple(places), flattened if nested else stream, rows=rows)


def _open_folder(folder: Path) -> TableFile:
    dataset = folder_dataset(folder)

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        with explained(folder, "a Parquet folder"):
            # File by file: a scan of all of them reads ahead, now more and now less.
            for fragment in dataset.get_fragments():
                found = fragment.to_batches(
                    schema=dataset.schema,
                    columns=columns,
                    batch_size=batch_rows,
                    batch_readahead=1,
                    fragment_scan_options=checking_pages(),
                )
                yield from map(validated, found)

    with explained(folder, "a Parquet folder"):
        rows = dataset.count_rows()  # from the footers
    return _with_flat_columns(folder, dataset.schema, stream, rows)


def checking_pages() -> Any:
    """Return how pieces of Parquet files are read: when they are needed, and with the checksums they have."""
    datasets = optional("pyarrow.dataset", "app", "reading Parquet folders")
    return datasets.ParquetFragmentScanOptions(pre_buffer=False, page_checksum_verification=True)


def folder_dataset(folder: Path) -> Any:
    """Return the Parquet files of a folder as one Arrow dataset; the types of columns suit all of them."""
    pa = optional("pyarrow", "app", "reading Parquet files")
    datasets = optional("pyarrow.dataset", "app", "reading Parquet folders")
    files = files_in(folder, (".parquet", ".pq"))
    schemas = []
    for file in files:
        if not file.stat().st_size:
            raise ValueError(f"{file} is empty: it has no bytes at all")
        require_magic(file, "Parquet")
        with explained(file, "Parquet"):
            schemas.append(checked_footer(file).schema.to_arrow_schema())

    def dataset(schema: Any = None) -> Any:
        return datasets.dataset(
            [str(file.absolute()) for file in files],
            schema=schema,
            format="parquet",
            partitioning=datasets.partitioning(flavor="hive"),
            partition_base_dir=str(folder.absolute()),
        )

    with explained(folder, "a Parquet folder"):
        partitioned = dataset().schema
        try:
            schema = pa.unify_schemas([*schemas, partitioned], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(
                f"{folder} has Parquet files that disagree about the type of a column: {error}"
            ) from None
        return dataset(schema)


def file_dataset(path: Path) -> Any:
    """Return one Parquet file as an Arrow dataset."""
    datasets = optional("pyarrow.dataset", "app", "reading Parquet files")
    require_magic(path, "Parquet")
    with explained(path, "Parquet"):
        checked_footer(path)
        return datasets.dataset(str(path.absolute()), format="parquet")


def scan_parquet(path: Path, columns: Sequence[str] | None = None) -> Pieces:
    """Return a Parquet file or folder in pieces that the workers will read, in the order of the rows.

    Only the footers of the files are read here. The workers must see the files under the same names.
    """
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    path = local_path(path).resolve()
    dataset = folder_dataset(path) if path.is_dir() else file_dataset(path)
    places = flat_columns(dataset.schema, str(path))
    chosen = list(places) if columns is None else chosen_columns(columns, list(places), str(path))
    outer = list(dict.fromkeys(places[name][0] for name in chosen))
    name, tasks, sizes = fresh_name("read"), dict[Key, Any](), list[int]()
    with explained(path, "Parquet"):
        for fragment in dataset.get_fragments():
            for piece, rows in _row_groups(fragment):
                reader = partial(_read_piece, piece, dataset.schema, outer, chosen, path)
                tasks[(name, len(sizes))] = (reader,)
                sizes.append(rows)
    if not sum(sizes):
        raise ValueError(f"{path} has columns but no rows")
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[])
    return Pieces(tuple(tasks), (Delayed((name, 0), graph, layer=name),), tuple(chosen), tuple(sizes))


def _row_groups(fragment: Any) -> list[tuple[Any, int]]:
    """Cut a Parquet file into runs of row groups."""
    runs: list[list[Any]] = []
    for group in fragment.row_groups:
        if runs and sum(g.num_rows for g in runs[-1]) + group.num_rows <= PIECE_ROWS:
            runs[-1].append(group)
        else:
            runs.append([group])
    return [
        (fragment.subset(row_group_ids=[g.id for g in run]), sum(g.num_rows for g in run))
        for run in runs
        if sum(g.num_rows for g in run)
    ]


def _read_piece(piece: Any, schema: Any, outer: list[str], columns: list[str], path: Path) -> Any:
    with explained(path, "Parquet"):
        table = piece.to_table(schema=schema, columns=outer, fragment_scan_options=checking_pages())
        return flat(validated(table), str(path)).select(columns)


def open_arrow(path: Path) -> TableFile:
    """Open an Arrow IPC file (also called Feather), or an Arrow IPC stream."""
    pa = optional("pyarrow", "app", "reading Arrow files")
    with path.open("rb") as file:
        streamed = file.read(4) == _STREAM_START
    if not streamed:
        require_magic(path, "Arrow")
    require_unpacked(claimed_bytes(path), path.stat().st_size, str(path))

    def batches(source: Any) -> Iterator[Any]:
        if streamed:
            with pa.ipc.open_stream(source) as reader:
                yield from reader
        else:
            reader = pa.ipc.open_file(source)
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i)

    with explained(path, "Arrow"), pa.OSFile(str(path)) as source:
        reader = pa.ipc.open_stream(source) if streamed else pa.ipc.open_file(source)
        schema = reader.schema

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        # Some writers put a whole table into one batch; a memory map reads only what is used of it.
        # What is kept is read properly: a map changes when somebody writes to the file.
        open_source = pa.OSFile if keep else pa.memory_map
        with explained(path, "Arrow"), open_source(str(path)) as source:
            for batch in batches(source):
                for part in sliced(validated(batch.select(columns)), batch_rows):
                    yield _without_views(part, path)

    return _with_flat_columns(path, schema, stream)


def validated(batch: Any) -> Any:
    """Return a batch whose offsets and codes lie within its buffers; to use others would end the process."""
    batch.validate(full=True)
    return batch


def _without_views(batch: Any, path: Path) -> Any:
    """Return a batch with plain strings; rows of the string views that polars writes cannot be taken."""
    pa = optional("pyarrow", "app", "reading Arrow files")
    plain = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
    if not any(str(field.type) in plain for field in batch.schema):
        return batch
    views = [column for column in batch.columns if str(column.type) in plain]
    require_unpacked(sum(map(_viewed_bytes, views)), batch.nbytes, str(path))
    try:
        columns = [column.cast(plain.get(str(column.type), column.type)) for column in batch.columns]
    except KeyError:  # known by name, but not yet by its values
        raise ValueError(
            f"{path} has text that pyarrow {pa.__version__} cannot read; update pyarrow"
        ) from None
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _viewed_bytes(column: Any) -> int:
    """Return how long all texts are together; many views may show the same."""
    views = np.frombuffer(column.buffers()[1], np.int32)[4 * column.offset :: 4]
    return int(views[: len(column)].sum(dtype=np.int64))
