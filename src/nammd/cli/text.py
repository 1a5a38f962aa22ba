"""Text from outside - names of files and columns, messages - made safe to print."""

from __future__ import annotations

import re
import unicodedata

_OPTIONS = {
    r"Tolerance\.from_split": "--split",
    r"Tolerance\.from_noise": "--noise",
    r"weights=\{'([^']*)': ([\d.]+)\}": r"--weights \1=\2",
    r"\bkey=(?=')": "--key ",
    r"make both with the same RandomFeatures, for example Sketch\.of\(y, first\.features\)": (
        "make both with the same --tolerance, --n-features and --seed"
    ),
    r"make it with Sketch\.of\(data, features, encoding=tolerance\.encoding\)": (
        "make it with 'nammd sketch' and the same --tolerance"
    ),
    r"an epsilon from other frequencies does not fit these sketches, so take .* exact kernel": (
        "make them with 'nammd sketch' and this --tolerance, which fixes the features"
    ),
    r"a sketch fixes its kernel when it is made": (
        "a sketch fixes its kernel when it is made, with 'nammd sketch' and --tolerance"
    ),
}

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


def for_shell(text: str) -> str:
    """Put a message of the library on one line, with options of the command line for Python names.

    >>> for_shell("use Tolerance.from_split, or weights={'age': 1}")
    'use --split, or --weights age=1'
    """
    for pattern, option in _OPTIONS.items():
        text = re.sub(pattern, option, text)
    return one_line(text)


def _visible(character: str) -> str:
    # Cc: control; Cs: bytes that are no text; Cn: no character; Zl, Zp: line breaks of another kind.
    hidden = unicodedata.category(character) in ("Cc", "Cs", "Cn", "Zl", "Zp") and character != "\n"
    if hidden or character in _TURNS_THE_DIRECTION:
        return character.encode("unicode_escape", "surrogatepass").decode("ascii")
    return character
