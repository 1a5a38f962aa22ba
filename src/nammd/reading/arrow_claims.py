"""What the messages of an Arrow file claim to hold, read from their headers before anything is unpacked.

Every message begins with a marker and the length of its header, which is a flatbuffer; the buffers follow. A
packed buffer begins with the number of bytes that it unpacks to.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

_MARKER = b"\xff\xff\xff\xff"
_FILE = b"ARROW1\0\0"
_DICTIONARY, _ROWS = 2, 3
_LONGEST_HEADER = 1 << 28


def claimed_bytes(path: Path) -> int:
    """Return how many bytes the messages of a file, or of a stream, claim to unpack to; damaged ones end it.

    A value counts as one byte at least: columns without any buffers may have any number of them.
    """
    total = 0
    with path.open("rb") as file:
        if file.read(len(_FILE)) != _FILE:
            file.seek(0)
        while (start := file.read(8))[:4] == _MARKER and len(start) == 8:
            (length,) = struct.unpack("<i", start[4:])
            if not 0 < length <= _LONGEST_HEADER:
                break
            header = file.read(length)
            body = file.tell()
            try:
                claimed, size = _message(header, file, body)
            except (struct.error, IndexError):  # which the reader will say better
                break
            total += claimed
            if size < 0:
                break
            file.seek(body + size)
    return total


def _message(header: bytes, file: BinaryIO, body: int) -> tuple[int, int]:
    """Return the bytes that a message claims, and the size of its body."""
    table = _offset(header, 0)
    kind = _field(header, table, 1)
    size = _field(header, table, 3)
    length = 0 if not size else struct.unpack_from("<q", header, size)[0]
    place = _field(header, table, 2)
    what = header[kind] if kind else 0
    if not place or what not in (_DICTIONARY, _ROWS):
        return 0, length
    rows = _offset(header, place)
    if what == _DICTIONARY:
        rows = _offset(header, _field(header, rows, 1))
    nodes = _vector(header, _field(header, rows, 1))
    buffers = _vector(header, _field(header, rows, 2))
    values = sum(max(count, 0) for count, _ in nodes)
    if not _field(header, rows, 3):  # not packed, so they are in the file as they are
        return max(values, sum(max(size, 0) for _, size in buffers)), length
    claimed = 0
    for offset, packed in buffers:
        if packed > 8:
            file.seek(body + max(offset, 0))
            (unpacked,) = struct.unpack("<q", file.read(8))
            claimed += packed if unpacked < 0 else unpacked
    return max(values, claimed), length


def _offset(header: bytes, place: int) -> int:
    return int(place + struct.unpack_from("<I", header, place)[0])


def _field(header: bytes, table: int, number: int) -> int:
    """Return where a field of a table is; 0 where it has none."""
    described = table - struct.unpack_from("<i", header, table)[0]
    size = struct.unpack_from("<H", header, described)[0]
    entry = 4 + 2 * number
    found = struct.unpack_from("<H", header, described + entry)[0] if entry < size else 0
    return table + found if found else 0


def _vector(header: bytes, place: int) -> list[tuple[int, int]]:
    """Return the pairs of numbers in a vector."""
    if not place:
        return []
    start = _offset(header, place)
    (count,) = struct.unpack_from("<I", header, start)
    return [struct.unpack_from("<qq", header, start + 4 + 16 * k) for k in range(count)]
