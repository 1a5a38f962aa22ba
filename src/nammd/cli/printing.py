"""Text from outside - names of files and columns, messages - made safe to print."""

from __future__ import annotations

import unicodedata

_TURNS_THE_DIRECTION = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def printable(text: str) -> str:
    r"""Show control characters instead of obeying them; a name may not move the cursor.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(_visible(c) for c in text)


def one_line(text: str) -> str:
    r"""Put a message on one line.

    >>> one_line("first\n  second")
    'first second'
    """
    return printable(" ".join(text.split()))


def _visible(character: str) -> str:
    # Cc: control; Cs: bytes that are no text; Cn: no character; Zl, Zp: line breaks of another kind.
    hidden = unicodedata.category(character) in ("Cc", "Cs", "Cn", "Zl", "Zp") and character != "\n"
    if hidden or character in _TURNS_THE_DIRECTION:
        return character.encode("unicode_escape", "surrogatepass").decode("ascii")
    return character
