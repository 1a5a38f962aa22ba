"""A JSON list of records as JSON lines, read in pieces: ``[{...}, {...}]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.errors.checks import counted

_QUOTE, _BACKSLASH, _COMMA, _NEWLINE, _SPACE = b'"\\,\n '
_STEP = np.zeros(256, np.int64)
_STEP[list(b"{[")], _STEP[list(b"}]")] = 1, -1
_BLANK = np.zeros(256, bool)
_BLANK[list(b" \t\r\n")] = True


class ListOfRecords:
    """The bytes of a file that is one JSON list of objects, with each object on a line of its own.

    It is read once, from its beginning. No value is parsed here: only strings and brackets are told apart, so
    a list may be larger than memory.
    """

    def __init__(self, file: Any, path: Path) -> None:
        self._file, self._path = file, path
        self._depth = 0
        self._in_string = self._escaped = False
        self._begun = self._ended = False
        self._objects = self._commas = 0

    def __enter__(self) -> ListOfRecords:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """Return the next piece, of about that size; nothing at the end of a list that is closed."""
        piece = self._file.read(size)
        if not piece:
            if not self._ended:
                raise self._wrong("its list is not closed; is it cut off?")
            return b""
        return self._lines(piece)

    def _lines(self, piece: bytes) -> bytes:
        signs = np.frombuffer(piece, np.uint8).copy()
        if not self._begun:
            signs[: 3 * piece.startswith(b"\xef\xbb\xbf")] = _SPACE
        inside = self._strings(signs)
        steps = np.where(inside, 0, _STEP[signs])
        depths = self._depth + np.cumsum(steps)
        self._depth = int(depths[-1])
        before = depths - steps
        # What stands in the list itself, and not in one of its objects: brackets, commas and blanks.
        between = ((depths < 2) | (before < 2)) & ~_BLANK[signs]
        places = np.flatnonzero(between)
        self._check(signs[places], before[places])
        outer = places[(depths[places] + before[places]) == 1]
        signs[(signs == _NEWLINE) & ~inside] = _SPACE
        signs[outer] = _SPACE
        signs[places[signs[places] == _COMMA]] = _NEWLINE
        return signs.tobytes()

    def _strings(self, signs: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Tell which bytes are those of strings, their quotes included."""
        quotes = np.flatnonzero(signs == _QUOTE)
        slashes = signs == _BACKSLASH
        doubtful = quotes[slashes[quotes - 1] | (quotes == 0)]
        escaped = [place for place in doubtful if self._is_escaped(slashes, int(place))]
        edge = np.zeros(len(signs), np.int64)
        edge[quotes] = 1
        edge[escaped] = 0
        count = int(self._in_string) + np.cumsum(edge)
        inside: NDArray[np.bool_] = (count % 2 == 1) | (edge == 1)
        self._in_string = bool(count[-1] % 2)
        self._escaped = self._is_escaped(slashes, len(signs))
        return inside

    def _is_escaped(self, slashes: NDArray[np.bool_], place: int) -> bool:
        """Tell whether an odd number of backslashes stands before a place."""
        start = place
        while start and slashes[start - 1]:
            start -= 1
        return bool((place - start + (self._escaped and start == 0)) % 2)

    def _check(self, signs: NDArray[np.uint8], before: NDArray[np.int64]) -> None:
        """Refuse a list that holds something else than objects with a comma between them."""
        for sign, depth in zip(signs.tobytes().decode("latin-1"), before.tolist(), strict=True):
            if self._ended:
                raise self._wrong("something stands after its list")
            if not self._begun and sign == "[":
                self._begun = True
            elif depth == 1 and sign == "{" and self._objects == self._commas:
                self._objects += 1
            elif depth == 1 and sign == "," and self._commas == self._objects - 1:
                self._commas += 1
            elif depth == 1 and sign == "]" and self._objects in (0, self._commas + 1):
                self._ended = True
            elif not (depth == 2 and sign == "}"):
                where = f"after {counted(self._objects, 'record')}" if self._objects else "at its beginning"
                raise self._wrong(f"{where} stands {sign!r}")

    def _wrong(self, what: str) -> ValueError:
        return ValueError(
            f"{self._path} is not a JSON list of records, such as [{{...}}, {{...}}]: {what}; or write one "
            "object per line"
        )
