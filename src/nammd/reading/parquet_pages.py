"""What the pages of a Parquet file claim, which may be more than its footer tells.

Arrow makes room for a page by the page's own header. So the headers are read here first, without Arrow: they
are structs of Thrift's compact protocol, as the footer is. What Arrow would not read is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from nammd.errors.limits import require_unpacked
from nammd.reading.formats import optional

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_DEEP = 32
_HEAD, _LONGEST_HEAD = 1 << 12, 1 << 24
_APIECE = 1000
"""Bytes that Arrow takes for a column of a row group, or for a page, whatever is in it."""

_I32, _I64, _BOOLEAN = (5,), (6,), (_TRUE, _FALSE)
_ELEMENT = {3: _I32, 5: _I32}
_CHUNK = {3: {4: _I32, 5: _I64, 9: _I64, 11: _I64}}
_PAGE = {
    1: _I32, 2: _I32, 3: _I32, 5: {1: _I32, 2: _I32}, 7: {1: _I32, 2: _I32},
    8: {1: _I32, 4: _I32, 5: _I32, 6: _I32, 7: _BOOLEAN},
}  # fmt: skip
"""What is read of an element of the schema, of a column of a row group, and of the header of a page."""

_DICTIONARY, _DATA, _DATA_2 = 2, 0, 3
_DELTA_LENGTH, _DELTA_STRINGS = 6, 7
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}


def require_pages_fit(path: Path) -> None:
    """Refuse a file whose pages unpack to far more than it has bytes, or hold more than its footer says."""
    packed = path.stat().st_size
    total = 0
    with path.open("rb") as file:
        try:
            for levels, chunk in _chunks(_footer(file, packed)):
                total += _APIECE
                require_unpacked(total, packed, str(path))
                for page in _pages(file, chunk, packed):
                    total += _APIECE + page.claims
                    require_unpacked(total, packed, str(path))
                    if page.encoding in (_DELTA_LENGTH, _DELTA_STRINGS) and page.kind != _DICTIONARY:
                        _require_counted(file, page, chunk.get(4, 0), levels)
            return
        except _Damaged as error:
            reason = str(error)
        except (IndexError, OverflowError, ZeroDivisionError):
            reason = "its description, or a page, ends before it is complete"
    raise ValueError(f"{path} cannot be read as Parquet: it is truncated or damaged ({reason})")


class _Damaged(Exception):
    """What is told cannot be."""


@dataclass(frozen=True)
class _Page:
    """What a page says of itself, and where its bytes are."""

    kind: int
    claims: int
    packed: int
    values: int
    encoding: int
    levels: int
    is_packed: bool
    place: int


class _Compact:
    """Numbers and structs, one after the other."""

    def __init__(self, data: bytes, place: int = 0) -> None:
        self.data, self.place = data, place

    def varint(self) -> int:
        """Read a number, seven bits in a byte."""
        value = shift = 0
        while True:
            byte = self.data[self.place]
            self.place += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise _Damaged("a number is too long")

    def number(self) -> int:
        """Read a number that may be negative."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield number and kind of each field of a struct; who asks for the next has read or skipped this."""
        number = 0
        while head := self.data[self.place]:
            self.place += 1
            number = number + (head >> 4) if head >> 4 else self.number()
            yield number, head & 15
        self.place += 1

    def items(self) -> tuple[int, int]:
        """Read how many things a list has, and of which kind."""
        head = self.data[self.place]
        self.place += 1
        return (self.varint() if head >> 4 == 15 else head >> 4), head & 15

    def skip(self, kind: int, depth: int = 0) -> None:
        """Leave a value out."""
        if depth > _DEEP:
            raise _Damaged("its description is nested too deep")
        if kind in (4, 5, 6):
            self.varint()
        elif kind == _BINARY:
            length = self.varint()
            self.place += length
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        elif kind in (_LIST, _SET):
            count, inner = self.items()
            for _ in range(count):
                self._skip_item(inner, depth + 1)
        elif kind == _MAP:
            count = self.varint()
            kinds = divmod(self.data[self.place], 16) if count else (0, 0)
            self.place += bool(count)
            for _ in range(count):
                self._skip_item(kinds[0], depth + 1)
                self._skip_item(kinds[1], depth + 1)
        elif kind in (_BYTE, _DOUBLE):
            self.place += 1 if kind == _BYTE else 8
        elif kind not in (_TRUE, _FALSE):
            raise _Damaged("its description has a value of a kind that there is not")

    def _skip_item(self, kind: int, depth: int) -> None:
        if self.place >= len(self.data):
            raise IndexError
        self.skip(_BYTE if kind in (_TRUE, _FALSE) else kind, depth)

    def struct(self, wanted: Mapping[int, Any]) -> dict[int, Any]:
        """Read some fields of a struct: numbers by their kind, structs by their own fields.

        A field that is there twice, or as something else, could mean one thing here and another to Arrow.
        """
        found: dict[int, Any] = {}
        for number, kind in self.fields():
            meant = wanted.get(number)
            if meant is None:
                self.skip(kind)
                continue
            if number in found or kind not in ((_STRUCT,) if isinstance(meant, Mapping) else meant):
                raise _Damaged("its description contradicts itself")
            if kind == _STRUCT:
                found[number] = self.struct(meant)
            else:
                found[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self.number()
        return found


def _footer(file: BinaryIO, size: int) -> _Compact:
    file.seek(size - 8)
    length = int.from_bytes(file.read(4), "little")
    file.seek(max(size - 8 - length, 0))
    return _Compact(file.read(length))


def _chunks(footer: _Compact) -> Iterator[tuple[int, dict[int, Any]]]:
    """Yield each column of each row group, and how many kinds of levels stand before its values."""
    levels: list[int] = []
    for field, kind in footer.fields():
        if field == 2 and kind == _LIST:
            levels = _levels([footer.struct(_ELEMENT) for _ in range(footer.items()[0])])
            continue
        if field != 4 or kind != _LIST:
            footer.skip(kind)
            continue
        for _ in range(footer.items()[0]):
            for part, inner in footer.fields():
                if part != 1 or inner != _LIST:
                    footer.skip(inner)
                    continue
                count = footer.items()[0]
                if count != len(levels):  # Arrow ends the process where it is asked for them
                    raise _Damaged(f"a row group has {count} columns, and the schema {len(levels)}")
                for kinds in levels:
                    yield kinds, footer.struct(_CHUNK).get(3, {})  # without anything where it is encrypted


def _levels(elements: list[dict[int, Any]]) -> list[int]:
    """Return for each column how many of two things its pages tell: what is repeated, and what is missing.

    A schema is a tree, told from its root on; a field that has no children is a column.
    """
    found, above = (
        [],
        [[1, False, False]],
    )  # children that are to come, and whether something is repeated, missing
    for place, element in enumerate(elements):
        while len(above) > 1 and above[-1][0] < 1:
            above.pop()
        above[-1][0] -= 1
        kind = element.get(3, 0) if place else 0
        repeated, missing = above[-1][1] or kind == 2, above[-1][2] or kind in (1, 2)
        if element.get(5, 0):
            above.append([element[5], repeated, missing])
        elif place:
            found.append(int(repeated) + int(missing))
    return found


def _pages(file: BinaryIO, chunk: dict[int, Any], size: int) -> Iterator[_Page]:
    """Yield the pages that Arrow reads: from the first on, until all values are there."""
    place, values = chunk.get(9, 0), chunk.get(5, 0)
    if 0 < chunk.get(11, 0) < place:
        place = chunk[11]
    seen = 0
    while seen < values and 0 <= place < size:
        page = _page(file, place)
        if page.claims < 0 or page.packed < 0 or page.values < 0:
            raise _Damaged("a page has a negative size")
        if page.kind == _DICTIONARY and page.values > page.claims:
            raise _Damaged(f"a dictionary of {page.claims} bytes claims {page.values} words")
        if page.kind in (_DATA, _DATA_2):
            seen += page.values
            if seen > values:
                raise _Damaged(f"pages claim more values than the footer, which has {values}")
        yield page
        place = page.place + page.packed


def _page(file: BinaryIO, place: int) -> _Page:
    for length in (_HEAD, _LONGEST_HEAD):
        file.seek(place)
        head = _Compact(file.read(length))
        try:
            found = head.struct(_PAGE)
        except IndexError:
            if length == _LONGEST_HEAD or len(head.data) < length:
                raise
            continue
        break
    kind = found.get(1, -1)
    told: dict[int, Any] = found.get({_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}.get(kind, 0), {})
    second = kind == _DATA_2
    return _Page(
        kind,
        found.get(2, 0),
        found.get(3, 0),
        told.get(1, 0),
        told.get(4 if second else 2, 0),
        told.get(5, 0) + told.get(6, 0) if second else -1,
        told.get(7, True) if second else True,
        place + head.place,
    )


def _require_counted(file: BinaryIO, page: _Page, codec: int, levels: int) -> None:
    """Refuse a page that claims more lengths than it has words: Arrow makes room for all of them."""
    pa = optional("pyarrow", "app", "reading Parquet files")
    file.seek(page.place)
    data = file.read(page.packed)
    place = max(page.levels, 0)  # in the second kind of pages levels are not packed
    if codec and page.is_packed and len(data) > place:
        if codec not in _CODECS:
            raise _Damaged("a page of words is packed in a way that words of its encoding never are")
        data = data[:place] + pa.decompress(data[place:], page.claims - place, _CODECS[codec], asbytes=True)
    for _ in range(levels if page.levels < 0 else 0):
        place += 4 + int.from_bytes(data[place : place + 4], "little")
    lengths = _Compact(data, place)
    if place < len(data):
        _skip_lengths(lengths, page.values)
        if page.encoding == _DELTA_STRINGS and lengths.place < len(data):
            _skip_lengths(lengths, page.values)


def _skip_lengths(data: _Compact, values: int) -> None:
    """Leave out numbers that are told by their differences, after checking that there are not too many."""
    block, parts, count = data.varint(), data.varint(), data.varint()
    data.number()
    if count > values:
        raise _Damaged(f"a page of {values} words claims {count} lengths")
    each = block // parts
    if count > 1 and each < 1:
        raise _Damaged("a page has blocks without values")
    rest = count - 1
    while rest > 0:
        data.number()
        widths = data.data[data.place : data.place + parts]
        if len(widths) < parts:
            raise IndexError
        data.place += parts
        for width in widths:
            if rest > 0:
                data.place += each * width // 8
                rest -= each
