"""Parquet files written byte by byte, so that their pages can claim what their footer does not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
INT64, BYTE_ARRAY = 2, 6
PLAIN, DELTA_LENGTH, DELTA_STRINGS, DICTIONARY_CODES = 0, 6, 7, 8
_BLOCK = 1 << 24


@dataclass(frozen=True)
class Page:
    """A page: what it is, what it claims to unpack to, and its packed bytes."""

    kind: str
    claims: int
    packed: bytes
    encoding: int = PLAIN
    values: int = 1


@lru_cache(maxsize=1)
def zeros(count: int) -> bytes:
    """Return so many zeros, packed."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as file:
        for _ in range(count // _BLOCK):
            file.write(bytes(_BLOCK))
    return sink.getvalue().to_pybytes()


def whole(content: bytes) -> bytes:
    """Return bytes, packed."""
    return pa.compress(content, codec="zstd", asbytes=True)


def lengths(count: int) -> bytes:
    """Return a page that claims so many words of no letters, told by their differences, in one block."""
    return whole((varint(1 << 30) + varint(1) + varint(count) + bytes(2)).ljust(1024, b"\0"))


def write(path: Path, pages: list[Page], kind: int = INT64, values: int = 1) -> None:
    """Write a file of one column, whose footer claims a few bytes for it whatever its pages claim."""
    content, places = bytearray(b"PAR1"), []
    for page in pages:
        places.append(len(content))
        content += _header(page) + page.packed
    size = len(content) - 4
    firsts = {page.kind: place for page, place in zip(reversed(pages), reversed(places), strict=True)}
    column = {
        1: (_I32, kind), 2: (_LIST, (_I32, [page.encoding for page in pages])), 3: (_LIST, (_BINARY, [b"a"])),
        4: (_I32, 6), 5: (_I64, values), 6: (_I64, 100), 7: (_I64, size), 9: (_I64, firsts["data"]),
    }  # fmt: skip
    if "dictionary" in firsts:
        column[11] = (_I64, firsts["dictionary"])
    _finish(path, bytes(content), kind, [{2: (_I64, 0), 3: (_STRUCT, column)}], values)


def write_columns(path: Path, groups: int, columns: int) -> None:
    """Write row groups of many columns that say nothing, beside a schema of one."""
    _finish(path, b"PAR1", INT64, [{2: (_I64, 0)}] * columns, 1, groups)


def _finish(path: Path, content: bytes, kind: int, columns: list[Any], values: int, groups: int = 1) -> None:
    group = {1: (_LIST, (_STRUCT, columns)), 2: (_I64, 100), 3: (_I64, values)}
    schema = [
        {4: (_BINARY, b"schema"), 5: (_I32, 1)},
        {1: (_I32, kind), 3: (_I32, 0), 4: (_BINARY, b"a")},
    ]
    footer = _struct(
        {
            1: (_I32, 2),
            2: (_LIST, (_STRUCT, schema)),
            3: (_I64, values),
            4: (_LIST, (_STRUCT, [group] * groups)),
        }
    )
    path.write_bytes(content + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def _header(page: Page) -> bytes:
    fields: dict[int, Any] = {2: (_I32, page.claims), 3: (_I32, len(page.packed))}
    if page.kind == "dictionary":
        fields |= {1: (_I32, 2), 7: (_STRUCT, {1: (_I32, page.values), 2: (_I32, page.encoding)})}
    else:
        told = {1: (_I32, page.values), 2: (_I32, page.encoding), 3: (_I32, 3), 4: (_I32, 3)}
        fields |= {1: (_I32, 0), 5: (_STRUCT, told)}
    return _struct(fields)


def _struct(fields: dict[int, Any]) -> bytes:
    """Return a struct of Thrift's compact protocol."""
    found, before = bytearray(), 0
    for number, (kind, value) in sorted(fields.items()):
        found += bytes([(number - before) << 4 | kind]) + _value(kind, value)
        before = number
    return bytes(found) + b"\0"


def _value(kind: int, value: Any) -> bytes:
    if kind in (_I32, _I64):
        return varint(value << 1 if value >= 0 else (-value << 1) - 1)
    if kind == _BINARY:
        return varint(len(value)) + value
    if kind == _LIST:
        inner, items = value
        few = len(items) < 15
        head = bytes([len(items) << 4 | inner]) if few else bytes([15 << 4 | inner]) + varint(len(items))
        made = {id(item): _value(inner, item) for item in {id(item): item for item in items}.values()}
        return head + b"".join(made[id(item)] for item in items)  # of a million columns all may be one
    return _struct(value)


def varint(value: int) -> bytes:
    """Return a number, seven bits in a byte."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes(found) + bytes([value])
