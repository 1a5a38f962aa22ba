"""Parquet files and folders, and Arrow IPC (Feather) files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nammd.tables.formats import explained, files_in, optional, require_magic
from nammd.tables.sources import TableFile, sliced

_STREAM_START = b"\xff\xff\xff\xff"


def open_parquet(path: Path) -> TableFile:
    """Open a Parquet file, or a folder of them with or without Hive partitions."""
    return _open_folder(path) if path.is_dir() else _open_file(path)


def _open_file(path: Path) -> TableFile:
    parquet = optional("pyarrow.parquet", "app", "reading Parquet files")
    require_magic(path, "Parquet")
    with explained(path, "Parquet"):
        names = tuple(parquet.read_schema(path).names)

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        # Without pre_buffer a row group is read as it is needed, not all at once.
        with explained(path, "Parquet"), parquet.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_size=batch_rows, columns=columns):
                # Parquet takes "a" to mean "a.b" as well, so choose again.
                yield batch.select(columns)

    return TableFile(path, names, stream)


def _open_folder(folder: Path) -> TableFile:
    pa = optional("pyarrow", "app", "reading Parquet files")
    parquet = optional("pyarrow.parquet", "app", "reading Parquet files")
    datasets = optional("pyarrow.dataset", "app", "reading Parquet folders")
    files = files_in(folder, (".parquet", ".pq"))
    schemas = []
    for file in files:
        if not file.stat().st_size:
            raise ValueError(f"{file} is empty: it has no bytes at all")
        require_magic(file, "Parquet")
        with explained(file, "Parquet"):
            schemas.append(parquet.read_schema(file))

    def dataset(schema: Any = None) -> Any:
        return datasets.dataset(
            [str(file) for file in files],
            schema=schema,
            format="parquet",
            partitioning=datasets.partitioning(flavor="hive"),
            partition_base_dir=str(folder),
        )

    with explained(folder, "a Parquet folder"):
        partitioned = dataset().schema
        try:
            schema = pa.unify_schemas([*schemas, partitioned], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(
                f"{folder} has Parquet files that disagree about the type of a column: {error}"
            ) from None

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        with explained(folder, "a Parquet folder"):
            yield from dataset(schema).to_batches(
                columns=columns, batch_size=batch_rows, batch_readahead=1, fragment_readahead=1
            )

    return TableFile(folder, tuple(schema.names), stream)


def open_arrow(path: Path) -> TableFile:
    """Open an Arrow IPC file (also called Feather), or an Arrow IPC stream."""
    pa = optional("pyarrow", "app", "reading Arrow files")
    with path.open("rb") as file:
        streamed = file.read(4) == _STREAM_START
    if not streamed:
        require_magic(path, "Arrow")

    def batches(source: Any, columns: list[str] | None) -> Iterator[Any]:
        if streamed:
            with pa.ipc.open_stream(source) as reader:
                yield from reader
            return
        wanted = None
        if columns is not None:
            names = pa.ipc.open_file(source).schema.names
            wanted = sorted(names.index(name) for name in columns)
        reader = pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=wanted))
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)

    with explained(path, "Arrow"), pa.OSFile(str(path)) as source:
        reader = pa.ipc.open_stream(source) if streamed else pa.ipc.open_file(source)
        names = tuple(reader.schema.names)

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        # Some writers put a whole table into one batch; a memory map reads only what is used of it.
        # What is kept is read properly: a map changes when somebody writes to the file.
        open_source = pa.OSFile if keep else pa.memory_map
        with explained(path, "Arrow"), open_source(str(path)) as source:
            for batch in batches(source, columns):
                yield from sliced(batch.select(columns), batch_rows)

    return TableFile(path, names, stream)
