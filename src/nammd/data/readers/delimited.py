"""CSV and TSV files, in blocks.

Arrow's streaming reader takes the types of the columns from the first block and fails where a later one
disagrees. A file of more than one block is therefore read once for its types alone: where a value does
not fit, the type of its column is relaxed, in the order in which Arrow itself tries types on a file that
it reads whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nammd.data.naming import require_unique
from nammd.data.readers.charsets import UTF8, charset_of, not_utf8
from nammd.data.readers.formats import explained, open_text, optional, require_text
from nammd.data.readers.quotes import require_closed_quotes
from nammd.data.readers.sources import BLOCK_BYTES, TableFile, sliced
from nammd.data.written.reading import Reading

Types = dict[str, Any]

_MISFIT = re.compile(r"In CSV column #(\d+): .*CSV conversion error to ([^:]*):")
_PERHAPS = r"^0[0-9]+$|^[-+]?[1-9][0-9]{0,2}\.[0-9]{3}$"
_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


@dataclass(frozen=True)
class _Style:
    """How a file is written: what separates its columns, its encoding, and its words for missing values."""

    path: Path
    delimiter: str
    charset: str
    missing: tuple[str, ...]


def open_delimited(path: Path, tabs: bool = False, reading: Reading | None = None) -> TableFile:
    """Open a CSV file, or with `tabs` a TSV file."""
    said = Reading.of(reading)
    with explained(path, "text"), open_text(path) as file:
        head = file.read(BLOCK_BYTES)
    require_text(path, head, wide=True)
    charset, remarks = charset_of(path, head, said.encoding)
    if charset != UTF8:
        with explained(path, "text"), open_text(path, charset) as file:
            head = file.read(BLOCK_BYTES)
    require_text(path, head)
    one_block = len(head) < BLOCK_BYTES
    if one_block and len(head.strip().splitlines()) == 1:
        raise ValueError(f"{path} has columns but no rows")
    delimiter, notes = ("\t", ()) if tabs else _delimiter(head)
    style = _Style(path, delimiter, charset, tuple(said.missing))
    require_closed_quotes(path, [head] if one_block else _blocks(style), delimiter)
    names, types = _first_look(style)
    require_unique(names, str(path))
    text = optional("pyarrow", "app", "reading CSV files").string()
    types |= {name: text for name in {*said.text, *_doubtful(style, head, names)} if name in names}
    if not one_block:
        types = _settled_types(style, names, types)

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        with _explained(style, names), _reader(style, types, columns) as reader:
            _require_utf8(path, reader.schema)
            for batch in reader:
                yield from sliced(_without_blanks(batch), batch_rows)

    return TableFile(path, names, stream, notes + remarks)


def _without_blanks(batch: Any) -> Any:
    """Return a batch whose empty cells are missing values in columns of text too.

    Arrow would do it by itself, together with all other words for missing values. These stay in text until
    somebody has counted them: NA may be Namibia.
    """
    pa = optional("pyarrow", "app", "reading CSV files")
    pc = optional("pyarrow.compute", "app", "reading CSV files")
    columns = [
        pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
        if pa.types.is_string(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _doubtful(style: _Style, head: bytes, names: tuple[str, ...]) -> list[str]:
    """Return columns that look like numbers to Arrow, and may be something else.

    00123 is a code. 1.250 beside 800, or in a file that is not separated by commas, may be a thousand and
    some. They are left as text, and all of the column decides (`nammd.data.written`).
    """
    pa = optional("pyarrow", "app", "reading CSV files")
    pc = optional("pyarrow.compute", "app", "reading CSV files")
    lines = head if len(head) < BLOCK_BYTES else head[: head.rfind(b"\n") + 1]
    try:
        with _reader(style, {name: pa.string() for name in names}, [], pa.BufferReader(lines)) as reader:
            table = reader.read_all()
    except pa.ArrowException:  # whatever is wrong is found by those who read all of it
        return []
    found = []
    for name, column in zip(names, table.columns, strict=True):
        # One look rules out nearly all columns, of which there may be thousands.
        if not pc.any(pc.match_substring_regex(column, _PERHAPS)).as_py():
            continue
        cells = column.filter(pc.not_equal(column, ""))

        def share(pattern: str, cells: Any = cells) -> float:
            return float(pc.mean(pc.match_substring_regex(cells, pattern).cast("int8")).as_py())

        if share(r"^\s*[-+]?[0-9.]+\s*$") < 0.5:
            continue
        grouped = share(r"^[-+]?[1-9][0-9]{0,2}\.[0-9]{3}$")
        short = share(r"^[-+]?[0-9]{1,3}$")
        doubtful = grouped and grouped + short == 1 and (short or style.delimiter != ",")
        if share(r"^0[0-9]+$") or doubtful:
            found.append(name)
    return found


def _blocks(style: _Style) -> Iterator[bytes]:
    with explained(style.path, "CSV"), open_text(style.path, style.charset) as file:
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


@contextmanager
def _reader(
    style: _Style, types: Types, columns: list[str], source: Any = None, threads: bool = True
) -> Iterator[Any]:
    csv = optional("pyarrow.csv", "app", "reading CSV files")
    with ExitStack() as stack:
        if source is None:
            source = str(style.path)
            if style.charset != UTF8 or style.path.suffix.lower() == ".xz":  # Arrow knows neither
                source = stack.enter_context(open_text(style.path, style.charset))
        yield stack.enter_context(
            csv.open_csv(
                source,
                read_options=csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=threads),
                parse_options=csv.ParseOptions(delimiter=style.delimiter, newlines_in_values=True),
                convert_options=csv.ConvertOptions(
                    column_types=types, include_columns=columns, null_values=list(style.missing)
                ),
            )
        )


def _first_look(style: _Style) -> tuple[tuple[str, ...], Types]:
    """Return the names of all columns, and the types that Arrow would not find by itself.

    These are moments too far for nanoseconds (the years 1 or 9999), which it takes for text. Only the first
    block is looked at; where a later one disagrees the type is relaxed like any other.
    """
    with _explained(style), _reader(style, {}, []) as reader:
        names, batch = tuple(reader.schema.names), next(iter(reader), None)
    return names, {} if batch is None else _distant_moments(batch)


def _distant_moments(batch: Any) -> Types:
    pa = optional("pyarrow", "app", "reading CSV files")
    types: Types = {}
    if not any(pa.types.is_string(kind) for kind in batch.schema.types):
        return types
    for name, column in zip(batch.schema.names, _without_blanks(batch).columns, strict=True):
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


def _settled_types(style: _Style, names: tuple[str, ...], types: Types) -> Types:
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
        with _explained(style, names):
            try:
                with _reader(style, types, []) as reader:
                    _require_utf8(style.path, reader.schema)
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
def _explained(style: _Style, names: tuple[str, ...] = ()) -> Iterator[None]:
    pa = optional("pyarrow", "app", "reading CSV files")
    with explained(style.path, "CSV"):
        try:
            yield
        except pa.ArrowInvalid as error:
            misfit = _MISFIT.search(str(error))
            if misfit and "UTF8" in str(error):
                raise not_utf8(style.path, _in_column(names[int(misfit[1])])) from None
            if _RAGGED.search(str(error)):
                raise _ragged(style, str(error)) from None
            raise


def _ragged(style: _Style, message: str) -> ValueError:
    # Only a reader without threads knows the number of the line; the error is worth a second look.
    try:
        with _reader(style, {}, [], threads=False) as reader:
            for _ in reader:
                pass
    except ValueError as error:
        message = str(error) if _RAGGED.search(str(error)) else message
    found = _RAGGED.search(message)
    assert found is not None
    row, expected, got = found.groups()
    where = f"row {row}" if row else "a row"
    return ValueError(
        f"{style.path} is ragged: {where} has {got} columns where the header has {expected}; look for a "
        "delimiter inside a value that is not in quotes"
    )


def _require_utf8(path: Path, schema: Any) -> None:
    for field in schema:
        if str(field.type) == "binary":  # what Arrow makes of text that it cannot decode
            raise not_utf8(path, _in_column(field.name))


def _in_column(name: str) -> str:
    return f" in the column {name!r}"
