"""JSON lines: one object per line, read in blocks of whole lines; a list of objects is read like that too.

Each block is parsed by itself, a first time for the types of its columns. These are then brought
together, and a second pass parses all blocks with the same types. Records within records become columns.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nammd.data.nested import DEEPEST, flat, flat_columns
from nammd.reading.charsets import UTF8, charset_of
from nammd.reading.formats import explained, open_text, optional, require_text, require_text_fits
from nammd.reading.json_lists import ListOfRecords
from nammd.reading.sources import BLOCK_BYTES, TableFile, sliced
from nammd.reading.text_formats.options import Reading

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


@dataclass(frozen=True)
class _File:
    """A file of objects: where it is, in which encoding, and whether they are one list."""

    path: Path
    charset: str
    is_list: bool

    @property
    def unit(self) -> str:
        """What a place in the file is counted in."""
        return "record" if self.is_list else "line"

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield blocks of whole lines, each with the number of its first line."""
        line, rest = 1, b""
        file = open_text(self.path, self.charset)
        with ListOfRecords(file, self.path) if self.is_list else file as lines:
            while piece := lines.read(BLOCK_BYTES):
                block, newline, rest = (rest + piece).rpartition(b"\n")
                if block.strip():
                    yield line, block + newline
                line += block.count(b"\n") + len(newline)
        if rest.strip():
            yield line, rest


def open_json_lines(path: Path, reading: Reading | None = None) -> TableFile:
    """Open a file of JSON objects, one on each line, or all in one list."""
    said = Reading.of(reading)
    with explained(path, "JSON lines"), open_text(path) as file:
        head = file.read(1 << 16)
    require_text(path, head, wide=True)
    with explained(path, "JSON lines"):
        require_text_fits(path)
    charset, notes = charset_of(path, head, said.encoding)
    if charset != UTF8:
        with explained(path, "JSON lines"), open_text(path, charset) as file:
            head = file.read(1 << 16)
    require_text(path, head)
    found = _File(path, charset, head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["))
    schema = _schema(found, said)
    names = tuple(flat_columns(schema, str(path)))

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        with explained(path, "JSON lines"):
            for first_line, block in found.blocks():
                table = flat(_parse(found, block, first_line, schema), str(path))
                for batch in table.select(columns).to_batches():
                    yield from sliced(batch, batch_rows)

    return TableFile(path, names, stream, notes)


def _schema(file: _File, reading: Reading) -> Any:
    """Return the types of the columns, which suit all blocks."""
    pa = optional("pyarrow", "app", "reading JSON files")
    types: dict[str, Any] = {}
    lines = size = 0
    with explained(file.path, "JSON lines"):
        for first_line, block in _pieces(file):
            for field in _parse(file, block, first_line).schema:
                known = types.get(field.name, field.type)
                types[field.name] = _common_type(file.path, field.name, known, field.type)
            lines, size = lines + block.count(b"\n") + 1, size + len(block)
            keys = sum(map(_keys, types.values()))
            _require_one_table(file, keys, lines, size)
    text = set(reading.text)
    return pa.schema([(name, _as_text(kind, name, text)) for name, kind in types.items()])


def _keys(kind: Any) -> int:
    fields = kind.num_fields if str(kind).startswith("struct") else 0
    return sum(_keys(kind.field(place).type) for place in range(fields)) or 1


def _as_text(kind: Any, name: str, text: Collection[str]) -> Any:
    """Return the type of a column, or of all in a record, without times where text was asked for."""
    pa = optional("pyarrow", "app", "reading JSON files")
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return pa.struct([(f.name, _as_text(f.type, f"{name}.{f.name}", text)) for f in fields])
    return pa.string() if name in text and pa.types.is_timestamp(kind) else kind


def _require_one_table(file: _File, keys: int, lines: int, size: int) -> None:
    """Refuse lines that hardly share their keys: the table would be a thousand times larger than the file."""
    if keys * lines > max(_MANY_CELLS, _CELLS_PER_BYTE * size):
        raise ValueError(
            f"{file.path} has {keys} different keys in {lines} {file.unit}s, and a {file.unit} has few of "
            f"them; columns are the same keys in every {file.unit}, so write what varies as values, not as "
            "keys"
        )


def _pieces(file: _File) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole lines; small ones where keys are many, which take memory for every line."""
    for line, block in file.blocks():
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


def _common_type(path: Path, name: str, before: Any, now: Any) -> Any:
    if before == now:
        return before
    pa = optional("pyarrow", "app", "reading JSON files")
    if pa.types.is_struct(before) and pa.types.is_struct(now):
        fields: dict[str, Any] = {}
        for kind in (before, now):
            for field in (kind.field(place) for place in range(kind.num_fields)):
                known = fields.get(field.name, field.type)
                fields[field.name] = _common_type(path, f"{name}.{field.name}", known, field.type)
        return pa.struct(list(fields.items()))
    schemas = [pa.schema([(name, before)]), pa.schema([(name, now)])]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Text that happens to look like times, in all of a block, is text nevertheless.
        if {pa.types.is_timestamp(t) or pa.types.is_string(t) for t in (before, now)} == {True}:
            return pa.string()
        kinds = ["a record" if pa.types.is_struct(kind) else str(kind) for kind in (before, now)]
        raise ValueError(
            f"{path} mixes types in the column {name!r}: {kinds[0]} in one place and {kinds[1]} in "
            "another; write it with one type"
        ) from None


def _parse(file: _File, block: bytes, first_line: int, schema: Any = None) -> Any:
    pa = optional("pyarrow", "app", "reading JSON files")
    json = optional("pyarrow.json", "app", "reading JSON files")
    try:
        block.decode("utf-8")  # the parser takes whatever bytes it is given
        _require_shallow(file, block, first_line)
        return json.read_json(
            pa.BufferReader(block),
            read_options=json.ReadOptions(block_size=2 * len(block) + 1),
            parse_options=json.ParseOptions(explicit_schema=schema),
        )
    except pa.ArrowInvalid as error:
        raise _problem(file, str(error), first_line, block) from None


def _require_shallow(file: _File, block: bytes, first_line: int) -> None:
    """Refuse values nested so deep that the parser, which calls itself, would run out of its stack."""
    if block.count(b"{") + block.count(b"[") <= DEEPEST:
        return
    for number, line in enumerate(block.split(b"\n")):
        if line.count(b"{") + line.count(b"[") <= DEEPEST:
            continue
        signs = np.frombuffer(_STRING.sub(b"", line), np.uint8)
        steps = _STEP[signs]
        if len(steps) and int(np.cumsum(steps).max()) > DEEPEST:
            raise ValueError(
                f"{file.path} nests values more than {DEEPEST} deep in {file.unit} {first_line + number}; "
                "columns hold plain values, so write it without nesting"
            )


def _problem(file: _File, message: str, first_line: int, block: bytes) -> ValueError:
    path, unit = file.path, file.unit
    what = "a JSON list of records" if file.is_list else "JSON lines"
    changed = _CHANGED.search(message)
    if changed:
        name, before, after, row = changed.groups()
        line = first_line + int(row)
        if not name:
            return ValueError(f"{path} is not {what}: {unit} {line} is not an object such as {{...}}")
        if f'"{name}"'.encode() not in block:  # a place within a record, as the parser writes it
            name = name.replace("/", ".")
        return ValueError(
            f"{path} mixes types in the column {name!r}: {before} before {unit} {line} and {after} there; "
            "write it with one type"
        )
    row_found = _ROW.search(message)
    line = first_line + int(row_found[1]) if row_found else first_line
    where = f"{unit} {line}" if row_found else f"after {unit} {line}"
    return ValueError(f"{path} is not {what}: {where} cannot be parsed; is it cut off, or not JSON?")
