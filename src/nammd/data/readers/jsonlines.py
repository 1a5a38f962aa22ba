"""JSON lines: one object per line, read in blocks of whole lines.

Each block is parsed by itself, a first time for the types of its columns. These are then brought
together, and a second pass parses all blocks with the same types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nammd.data.readers.charsets import UTF8, charset_of
from nammd.data.readers.formats import explained, open_text, optional, require_text
from nammd.data.readers.sources import BLOCK_BYTES, TableFile, sliced
from nammd.data.written.reading import Reading

_CHANGED = re.compile(r"Column\(/?(.*?)\) changed from (\w+) to (\w+) in row (\d+)")
_ROW = re.compile(r"in row (\d+)")


def open_json_lines(path: Path, reading: Reading | None = None) -> TableFile:
    """Open a file of JSON objects, one on each line."""
    said = Reading.of(reading)
    with explained(path, "JSON lines"), open_text(path) as file:
        head = file.read(1 << 16)
    require_text(path, head, wide=True)
    charset, notes = charset_of(path, head, said.encoding)
    if charset != UTF8:
        with explained(path, "JSON lines"), open_text(path, charset) as file:
            head = file.read(1 << 16)
    require_text(path, head)
    if head.lstrip().startswith(b"["):
        raise ValueError(
            f"{path} is one JSON list, not JSON lines; write one object per line (in pandas: "
            "to_json(path, orient='records', lines=True))"
        )
    schema = _schema(path, charset, said)

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        with explained(path, "JSON lines"):
            for first_line, block in _blocks(path, charset):
                for batch in _parse(path, block, first_line, schema).select(columns).to_batches():
                    yield from sliced(batch, batch_rows)

    return TableFile(path, tuple(schema.names), stream, notes)


def _schema(path: Path, charset: str, reading: Reading) -> Any:
    pa = optional("pyarrow", "app", "reading JSON files")
    types: dict[str, Any] = {}
    with explained(path, "JSON lines"):
        for first_line, block in _blocks(path, charset):
            for field in _parse(path, block, first_line).schema:
                types[field.name] = _common_type(path, field, types.get(field.name, field.type))
    for name in reading.text:  # text that happens to look like times
        if name in types and pa.types.is_timestamp(types[name]):
            types[name] = pa.string()
    return pa.schema(list(types.items()))


def _common_type(path: Path, field: Any, before: Any) -> Any:
    pa = optional("pyarrow", "app", "reading JSON files")
    schemas = [pa.schema([(field.name, before)]), pa.schema([(field.name, field.type)])]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Text that happens to look like times, in all of a block, is text nevertheless.
        if {pa.types.is_timestamp(t) or pa.types.is_string(t) for t in (before, field.type)} == {True}:
            return pa.string()
        raise ValueError(
            f"{path} mixes types in the column {field.name!r}: {before} in one place and {field.type} in "
            "another; write it with one type"
        ) from None


def _blocks(path: Path, charset: str) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole lines, each with the number of its first line."""
    line, rest = 1, b""
    with open_text(path, charset) as file:
        while piece := file.read(BLOCK_BYTES):
            block, newline, rest = (rest + piece).rpartition(b"\n")
            if block.strip():
                yield line, block + newline
            line += block.count(b"\n") + len(newline)
    if rest.strip():
        yield line, rest


def _parse(path: Path, block: bytes, first_line: int, schema: Any = None) -> Any:
    pa = optional("pyarrow", "app", "reading JSON files")
    json = optional("pyarrow.json", "app", "reading JSON files")
    try:
        block.decode("utf-8")  # the parser takes whatever bytes it is given
        return json.read_json(
            pa.BufferReader(block),
            read_options=json.ReadOptions(block_size=2 * len(block) + 1),
            parse_options=json.ParseOptions(explicit_schema=schema),
        )
    except pa.ArrowInvalid as error:
        raise _problem(path, str(error), first_line) from None


def _problem(path: Path, message: str, first_line: int) -> ValueError:
    changed = _CHANGED.search(message)
    if changed:
        name, before, after, row = changed.groups()
        line = first_line + int(row)
        if not name:
            return ValueError(f"{path} is not JSON lines: line {line} is not an object such as {{...}}")
        return ValueError(
            f"{path} mixes types in the column {name!r}: {before} before line {line} and {after} there; "
            "write it with one type"
        )
    row_found = _ROW.search(message)
    line = first_line + int(row_found[1]) if row_found else first_line
    where = f"line {line}" if row_found else f"after line {line}"
    return ValueError(f"{path} is not JSON lines: {where} cannot be parsed; is it cut off, or not JSON?")
