"""JSON lines: one object per line, read in blocks of whole lines.

Each block is parsed by itself, a first time for the types of its columns. These are then brought
together, and a second pass parses all blocks with the same types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nammd.reading.charsets import UTF8, charset_of
from nammd.reading.formats import explained, open_text, optional, require_text
from nammd.reading.sources import BLOCK_BYTES, TableFile, sliced
from nammd.reading.text_formats.options import Reading

_DEEPEST = 100
"""Values within values within values: so deep at most."""

_LOOK_BYTES = 1 << 14
_MANY_KEYS = 500
_MANY_CELLS = 10**7
_CELLS_PER_BYTE = 50
"""A table of more cells than this for every byte of the file is no table; a cell takes six bytes or so."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?')
_STEP = np.zeros(256, np.int64)
_STEP[list(b"{[")], _STEP[list(b"}]")] = 1, -1

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
    lines = size = 0
    with explained(path, "JSON lines"):
        for first_line, block in _pieces(path, charset):
            for field in _parse(path, block, first_line).schema:
                types[field.name] = _common_type(path, field, types.get(field.name, field.type))
            lines, size = lines + block.count(b"\n") + 1, size + len(block)
            _require_one_table(path, len(types), lines, size)
    for name in reading.text:  # text that happens to look like times
        if name in types and pa.types.is_timestamp(types[name]):
            types[name] = pa.string()
    return pa.schema(list(types.items()))


def _require_one_table(path: Path, keys: int, lines: int, size: int) -> None:
    """Refuse lines that hardly share their keys: the table would be a thousand times larger than the file."""
    if keys * lines > max(_MANY_CELLS, _CELLS_PER_BYTE * size):
        raise ValueError(
            f"{path} has {keys} different keys in {lines} lines, and a line has few of them; columns are the "
            "same keys in every line, so write what varies as values, not as keys"
        )


def _pieces(path: Path, charset: str) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole lines; small ones where keys are many, which take memory for every line."""
    for line, block in _blocks(path, charset):
        start = 0
        while start < len(block):
            end = block.find(b"\n", start + _LOOK_BYTES) + 1 or len(block)
            piece = block[start:end]
            if not start and piece.count(b":") < _MANY_KEYS:
                yield line, block
                break
            if piece.strip():
                yield line, piece
            line, start = line + piece.count(b"\n"), end


def _common_type(path: Path, field: Any, before: Any) -> Any:
    if before == field.type:
        return before
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
        _require_shallow(path, block, first_line)
        return json.read_json(
            pa.BufferReader(block),
            read_options=json.ReadOptions(block_size=2 * len(block) + 1),
            parse_options=json.ParseOptions(explicit_schema=schema),
        )
    except pa.ArrowInvalid as error:
        raise _problem(path, str(error), first_line) from None


def _require_shallow(path: Path, block: bytes, first_line: int) -> None:
    """Refuse values nested so deep that the parser, which calls itself, would run out of its stack."""
    if block.count(b"{") + block.count(b"[") <= _DEEPEST:
        return
    for number, line in enumerate(block.split(b"\n")):
        if line.count(b"{") + line.count(b"[") <= _DEEPEST:
            continue
        signs = np.frombuffer(_STRING.sub(b"", line), np.uint8)
        steps = _STEP[signs]
        if len(steps) and int(np.cumsum(steps).max()) > _DEEPEST:
            raise ValueError(
                f"{path} nests values more than {_DEEPEST} deep in line {first_line + number}; columns hold "
                "plain values, so write it without nesting"
            )


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
