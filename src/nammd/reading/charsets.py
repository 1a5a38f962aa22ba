"""In which encoding a text file is written.

UTF-8 is taken for granted as long as the bytes are that. UTF-16 is known by the mark it begins with. Text of
Western Europe in Windows-1252 (of which Latin-1 is a part) is known by its letters: bytes that are no UTF-8,
and are letters among letters in Windows-1252. Anything else somebody has to say.
"""

from __future__ import annotations

import codecs
import io
from pathlib import Path
from typing import Any

from nammd.errors.advice import Advice, refusal

UTF8 = "utf-8"

_WESTERN = frozenset("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿŒœŠšŽžŸ€£§°«»“”‘’„–—·ºª")


def charset_of(path: Path, head: bytes, given: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the encoding of a file by its first bytes, already unpacked, and what there is to say of it."""
    if given is not None:
        return codecs.lookup(given).name, ()
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", ("it is in UTF-16",)
    if b"\x00" in head:
        wide = _without_mark(head)
        if wide:
            raise refusal(
                ValueError,
                f"{path} seems to be in UTF-16 without the mark that says so",
                Advice(f"give Reading(encoding={wide!r})", f"give --encoding {wide}"),
            )
        return UTF8, ()  # no text at all, which others say better
    try:
        codecs.getincrementaldecoder(UTF8)().decode(head)
        return UTF8, ()
    except UnicodeDecodeError:
        pass
    if _is_western(head):
        return "cp1252", ("it is not in UTF-8, and is read as Windows-1252 (Latin-1)",)
    raise not_utf8(path)


def not_utf8(path: Path, where: str = "") -> ValueError:
    """Return the error where a file is in an encoding that is not known, or its name is."""
    if not str(path).isprintable() and ascii(str(path)).count("\\udc"):
        return ValueError(f"{path} has a name that is not UTF-8, so that it cannot be opened; rename it")
    return refusal(
        ValueError,
        f"{path} is not UTF-8 text{where}",
        Advice(
            "say which encoding it is in, for example Reading(encoding='latin-1'), or save it as UTF-8",
            "say which encoding it is in, for example --encoding latin-1, or save it as UTF-8",
        ),
    )


def _without_mark(head: bytes) -> str:
    """Return the name of UTF-16 without a mark: every other byte of plain letters is zero."""
    even, odd = head[0:200:2], head[1:200:2]
    if len(odd) > 4 and odd.count(0) > 0.8 * len(odd) and even.count(0) == 0:
        return "utf-16-le"
    if len(even) > 4 and even.count(0) > 0.8 * len(even) and odd.count(0) == 0:
        return "utf-16-be"
    return ""


def _is_western(head: bytes) -> bool:
    try:
        text = head.decode("cp1252")
    except UnicodeDecodeError:
        return False
    other = [letter for letter in text if ord(letter) > 127]
    return sum(letter in _WESTERN for letter in other) > 0.9 * len(other)


class Transcoded(io.RawIOBase):
    """A file in another encoding, as bytes of UTF-8."""

    def __init__(self, file: Any, charset: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(charset)()
        self._ready = b""
        self._ended = False

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, fewer only at the end."""
        while not self._ended and (size < 0 or len(self._ready) < size):
            piece = self._file.read(1 << 20)
            self._ended = not piece
            self._ready += self._decoder.decode(piece, self._ended).encode(UTF8)
        end = len(self._ready) if size < 0 else size
        found, self._ready = self._ready[:end], self._ready[end:]
        return found

    def close(self) -> None:
        """Close the file too."""
        self._file.close()
        super().close()
