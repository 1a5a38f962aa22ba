"""CSV and TSV files, in blocks.

A quote that is never closed swallows rows without a word: a parser takes everything up to the next one for
one value, so a lost quote in the last column leaves a table that looks right and has fewer rows. Where quotes
stand is therefore checked before a file is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.reading.charsets import UTF8, charset_of
from nammd.reading.column_types import settled, without_blanks, words_in
from nammd.reading.formats import explained, open_text, require_text
from nammd.reading.parsing import Style, explained_rows, opened
from nammd.reading.sources import BLOCK_BYTES, TableFile, sliced
from nammd.reading.text_formats.options import Reading

_MOST_COMMENTS = 1000

_DECLARED = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=([,;|\t])"?\r?\n', re.IGNORECASE)
"""How Excel says in a first line what separates the columns."""

KEPT_BLOCKS = 16
"""A file of no more blocks is read once, for the types of its columns and for its rows."""

_QUOTE = 0x22
_BOM = b"\xef\xbb\xbf"


def open_delimited(
    path: Path, tabs: bool = False, reading: Reading | None = None, keep: bool = True
) -> TableFile:
    """Open a CSV file, or with `tabs` a TSV file; `keep` its rows where they are few."""
    said = Reading.of(reading)
    with explained(path, "text"), open_text(path) as file:
        head = file.read(BLOCK_BYTES)
    require_text(path, head, wide=True)
    charset, remarks = charset_of(path, head, said.encoding)
    if charset != UTF8:
        with explained(path, "text"), open_text(path, charset) as file:
            head = file.read(BLOCK_BYTES)
    require_text(path, head)
    if head.lstrip(_BOM).startswith((b'{"', b'[{"')):
        raise ValueError(f"{path} holds JSON, by its content; give it the extension .jsonl")
    one_block = len(head) < BLOCK_BYTES
    if one_block and len(head.strip().splitlines()) == 1:
        raise ValueError(f"{path} has columns but no rows")
    declared = _DECLARED.match(head)
    comments = _comments(head) if declared is None else 1
    delimiter, notes = ("\t", ()) if tabs else _delimiter(head, comments)
    if declared is not None:
        delimiter = declared[1].decode()
    elif comments:
        lines = (
            "the first line is a comment and is"
            if comments == 1
            else f"the first {comments} lines are comments and are"
        )
        notes += (f"{lines} left out",)
    style = Style(path, delimiter, charset, tuple(said.missing), BLOCK_BYTES, comments)
    require_closed_quotes(path, [head] if one_block else style.blocks(), delimiter)
    found = settled(style, head, said.text, KEPT_BLOCKS if keep else 0)

    def stream(columns: list[str], batch_rows: int, keep: bool) -> Iterator[Any]:
        if found.batches is not None:
            for batch in found.batches:
                yield from sliced(batch.select(columns), batch_rows)
            return
        with explained_rows(style, found.names), opened(style, found.types, columns) as reader:
            for batch in reader:
                yield from sliced(without_blanks(batch), batch_rows)

    if found.sum_in_last_row:
        notes += (f"the last row has {found.sum_in_last_row!r}: if it sums up the others, take it out",)
    return TableFile(path, found.names, stream, notes + remarks, words=words_in(style, found))


def _comments(head: bytes) -> int:
    """Return how many lines before the header are comments; a header may begin with # itself."""
    lines = head.removeprefix(_BOM).splitlines()[:_MOST_COMMENTS]
    first = next((k for k, line in enumerate(lines) if not line.startswith(b"#")), 0)
    if not first:
        return 0
    delimiter = _delimiter(lines[first], 0)[0].encode()
    # The names of the columns have as many delimiters as the rows below them.
    named = lines[first - 1].count(delimiter) == lines[first].count(delimiter) > 0
    return first - 1 if named else first


def _delimiter(head: bytes, comments: int) -> tuple[str, tuple[str, ...]]:
    """Return what separates the columns: a comma, unless the header has none and something else."""
    header = head.lstrip().splitlines()[comments].decode("utf-8", errors="replace")
    if "," not in header:
        for delimiter, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
            if delimiter in header:
                return delimiter, (f"the columns are separated by {name}, not by commas",)
    return ",", ()


def require_closed_quotes(path: Path, blocks: Iterable[bytes], delimiter: str) -> None:
    """Refuse a text whose quotes are not closed, or close in the middle of a value.

    Parameters
    ----------
    path : Path
        The file, for the message.
    blocks : iterable of bytes
        Its content, unpacked, in pieces of any size.
    delimiter : str
        What separates the columns.
    """
    quotes = _Quotes(path, delimiter)
    rest = b""
    for number, block in enumerate(blocks):
        piece = rest + (block.removeprefix(_BOM) if number == 0 else block)
        # What a quote means depends on what follows it, so the end waits for the next block.
        kept = piece.rstrip(b'" ')
        rest = piece[len(kept) :]
        quotes.add(kept, rest[:1])
    quotes.add(rest, b"\n")
    quotes.finish()


class _Quotes:
    def __init__(self, path: Path, delimiter: str) -> None:
        self._path = path
        self._separators = frozenset([*delimiter.encode(), *b"\r\n"])
        self._table = np.isin(np.arange(256), list(self._separators))
        self._inside = False
        self._before = 0x0A
        self._lines = 1
        self._opened = 1

    def add(self, block: bytes, following: bytes) -> None:
        """Go on with a block; `following` is the byte after it."""
        if not block:
            return
        if b'"' in block:
            values = np.frombuffer(block + (following or b"\n"), np.uint8)
            places = np.flatnonzero(values[:-1] == _QUOTE)
            if self._is_plain(values, places):
                self._inside ^= bool(len(places) % 2)
                if self._inside:
                    self._opened = self._lines + block.count(b"\n", 0, int(places[-1]))
            else:
                self._one_by_one(block, values, places)
        self._lines += block.count(b"\n")
        self._before = block[-1]

    def finish(self) -> None:
        """Refuse a quote that is open at the end."""
        if self._inside:
            raise self._refusal("is never closed")

    def _is_plain(self, values: NDArray[np.uint8], places: NDArray[np.intp]) -> bool:
        """Tell whether quotes open at the start of a value and close at its end, one after the other."""
        before = np.where(places > 0, values[places - 1], self._before)
        joined = np.diff(places, prepend=-2) == 1  # two in a row stand for one in the text
        opens = np.arange(len(places)) % 2 == int(self._inside)
        after = values[places + 1]
        starts = self._table[before] | joined
        ends = self._table[after] | (after == _QUOTE)
        return bool(np.where(opens, starts, ends).all())

    def _one_by_one(self, block: bytes, values: NDArray[np.uint8], places: NDArray[np.intp]) -> None:
        skip = -1
        for place in map(int, places):
            if place == skip:
                continue
            if not self._inside:
                before = block[place - 1] if place else self._before
                if before in self._separators:
                    self._inside = True
                    self._opened = self._lines + block.count(b"\n", 0, place)
                continue  # a quote within a value that has none around it is a letter like others
            after: Any = values[place + 1 :]
            if after[0] == _QUOTE:
                skip = place + 1
                continue
            gap = int(np.argmax(after[:64] != 0x20))
            if after[gap] not in self._separators:
                raise self._refusal("closes in the middle of a value, or is not closed where it should be")
            self._inside = False

    def _refusal(self, what: str) -> ValueError:
        return ValueError(
            f"{self._path} has a quote that {what}, near line {self._opened}; everything up to the next "
            'quote would count as one value, so close it, or double a quote that is part of a value ("")'
        )
