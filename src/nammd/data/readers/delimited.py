"""CSV and TSV files, in blocks.

Arrow's streaming reader takes the types of the columns from the first block and fails where a later one
disagrees. A file of more than one block is therefore read once for its types alone: where a value does
not fit, the type of its column is relaxed, in the order in which Arrow itself tries types on a file that
it reads whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nammd.data.naming import require_unique
from nammd.data.readers.formats import explained, open_text, optional, require_text
from nammd.data.readers.quotes import require_closed_quotes
from nammd.data.readers.sources import BLOCK_BYTES, TableFile, sliced

Types = dict[str, Any]

_MISFIT = re.compile(r"In CSV column #(\d+): .*CSV conversion error to ([^:]*):")
_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


def open_delimited(path: Path, tabs: bool = False) -> TableFile:
    """Open a CSV file, or with `tabs` a TSV file."""
    with explained(path, "text"), open_text(path) as file:
        head = file.read(BLOCK_BYTES)
    require_text(path, head)
    one_block = len(head) < BLOCK_BYTES
    if one_block and len(head.strip().splitlines()) == 1:
        raise ValueError(f"{path} has columns but no rows")
    delimiter, notes = ("\t", ()) if tabs else _delimiter(head)
    require_closed_quotes(path, [head] if one_block else _blocks(path), delimiter)
    names = _names(path, delimiter)
    require_unique(names, str(path))
    types = _distant_moments(path, delimiter)
    if not one_block:
        types = _settled_types(path, delimiter, names, types)

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        with _explained(path, delimiter, names), _reader(path, delimiter, types, columns) as reader:
            _require_utf8(path, reader.schema)
            for batch in reader:
                yield from sliced(batch, batch_rows)

    return TableFile(path, names, stream, notes)


def _blocks(path: Path) -> Iterator[bytes]:
    with explained(path, "CSV"), open_text(path) as file:
        while block := file.read(BLOCK_BYTES):
            yield block


def _delimiter(head: bytes) -> tuple[str, tuple[str, ...]]:
    """Return what separates the columns: a comma, unless the header has none and something else."""
    header = head.lstrip().splitlines()[0].decode("utf-8", errors="replace")
    if "," not in header:
        for delimiter, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
            if delimiter in header:
                return delimiter, (f"the columns are separated by {name}, not by commas",)
    return ",", ()


def _names(path: Path, delimiter: str) -> tuple[str, ...]:
    with _explained(path, delimiter), _reader(path, delimiter, {}, []) as reader:
        return tuple(reader.schema.names)


def _reader(path: Path, delimiter: str, types: Types, columns: list[str], threads: bool = True) -> Any:
    csv = optional("pyarrow.csv", "app", "reading CSV files")
    return csv.open_csv(
        str(path),
        read_options=csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=threads),
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=types, include_columns=columns, strings_can_be_null=True
        ),
    )


def _distant_moments(path: Path, delimiter: str) -> Types:
    """Return the types of moments too far for nanoseconds (the years 1 or 9999), which Arrow takes for text.

    Only the first block is looked at; where a later one disagrees the type is relaxed like any other.
    """
    pa = optional("pyarrow", "app", "reading CSV files")
    types: Types = {}
    with _explained(path, delimiter), _reader(path, delimiter, {}, []) as reader:
        batch = next(iter(reader), None)
    for name, column in zip(batch.schema.names, batch.columns, strict=True) if batch is not None else ():
        if not pa.types.is_string(column.type) or column.null_count == len(column):
            continue
        for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
            try:
                column.cast(kind)
            except pa.ArrowInvalid:
                continue
            types[name] = kind
            break
    return types


def _settled_types(path: Path, delimiter: str, names: tuple[str, ...], types: Types) -> Types:
    pa = optional("pyarrow", "app", "reading CSV files")
    ladder = [
        pa.null(),
        pa.int64(),
        pa.bool_(),
        pa.date32(),
        pa.time32("s"),
        pa.timestamp("s"),
        pa.timestamp("ns"),
        pa.timestamp("us"),
        pa.timestamp("s", "UTC"),
        pa.timestamp("ns", "UTC"),
        pa.timestamp("us", "UTC"),
        pa.float64(),
        pa.string(),
    ]
    while True:
        with _explained(path, delimiter, names):
            try:
                with _reader(path, delimiter, types, []) as reader:
                    _require_utf8(path, reader.schema)
                    types = dict(zip(names, reader.schema.types, strict=True))
                    for _ in reader:
                        pass
                return types
            except pa.ArrowInvalid as error:
                misfit = _MISFIT.search(str(error))
                if misfit is None:
                    raise
                name = names[int(misfit[1])]
                rung = ladder.index(types[name]) if types.get(name) in ladder else len(ladder)
                if rung + 1 >= len(ladder):
                    raise
                types[name] = ladder[rung + 1]


@contextmanager
def _explained(path: Path, delimiter: str, names: tuple[str, ...] = ()) -> Iterator[None]:
    pa = optional("pyarrow", "app", "reading CSV files")
    with explained(path, "CSV"):
        try:
            yield
        except pa.ArrowInvalid as error:
            misfit = _MISFIT.search(str(error))
            if misfit and "UTF8" in str(error):
                raise _not_utf8(path, names[int(misfit[1])]) from None
            if _RAGGED.search(str(error)):
                raise _ragged(path, delimiter, str(error)) from None
            raise


def _ragged(path: Path, delimiter: str, message: str) -> ValueError:
    # Only a reader without threads knows the number of the line; the error is worth a second look.
    try:
        with _reader(path, delimiter, {}, [], threads=False) as reader:
            for _ in reader:
                pass
    except ValueError as error:
        message = str(error) if _RAGGED.search(str(error)) else message
    found = _RAGGED.search(message)
    assert found is not None
    row, expected, got = found.groups()
    where = f"row {row}" if row else "a row"
    return ValueError(
        f"{path} is ragged: {where} has {got} columns where the header has {expected}; look for a "
        "delimiter inside a value that is not in quotes"
    )


def _require_utf8(path: Path, schema: Any) -> None:
    for field in schema:
        if str(field.type) == "binary":  # what Arrow makes of text that it cannot decode
            raise _not_utf8(path, field.name)


def _not_utf8(path: Path, column: str) -> ValueError:
    return ValueError(f"{path} is not UTF-8 text in the column {column!r}; save it with the encoding UTF-8")
