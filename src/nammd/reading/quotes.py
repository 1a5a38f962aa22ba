"""Quotes in a delimited file: one that is never closed swallows rows without a word.

A parser takes everything up to the next quote for one value, so a lost quote in the last column leaves a
table that looks right and has fewer rows. Where quotes stand is therefore checked before the file is parsed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_QUOTE = 0x22
_BOM = b"\xef\xbb\xbf"


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
