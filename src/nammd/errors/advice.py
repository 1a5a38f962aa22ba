"""What to tell people: cautions about a result, and errors that say what to do, in Python and in the shell.

A sentence is made once. Where the advice differs between a program and a command line, both stand side by
side, and whoever prints it takes the one that fits; no text is rewritten afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar


@dataclass(frozen=True)
class Caution:
    """Something the reader of a result should know before relying on it.

    Attributes
    ----------
    code : str
        A short name that does not change, for programs.
    message : str
        A sentence for people.
    """

    code: str
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Advice:
    """What to do about a problem.

    Attributes
    ----------
    python, shell : str
        The same advice for a Python program and for the command line.
    """

    python: str
    shell: str


Error = TypeVar("Error", bound=Exception)


def refusal(kind: type[Error], problem: str, advice: Advice) -> Error:
    """Return an error of a built-in kind that carries its advice for both.

    Its text is for Python; `in_shell` returns the one for the command line.

    >>> error = refusal(ValueError, "there are two arrays", Advice("give key='x'", "give --key x"))
    >>> print(error)
    there are two arrays; give key='x'
    >>> in_shell(error)
    'there are two arrays; give --key x'
    """
    error = kind(f"{problem}; {advice.python}")
    error.__dict__.update(problem=problem, advice=advice)
    return error


def in_shell(error: BaseException) -> str:
    """Return what an error says, for the command line."""
    advice = getattr(error, "advice", None)
    if not isinstance(advice, Advice):
        return str(error)
    return f"{error.problem}; {advice.shell}"  # type: ignore[attr-defined]


def prefixed(error: Exception, words: str) -> Exception:
    """Return an error of the same kind that begins with other words, such as the name of a file."""
    advice = getattr(error, "advice", None)
    if isinstance(advice, Advice):
        return refusal(type(error), f"{words}: {error.problem}", advice)  # type: ignore[attr-defined]
    return type(error)(f"{words}: {error}")


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Let no error pass that does not name the file, or the column, that it is about.

    Whatever a library raises about damaged data is a refusal of these data, so it becomes a ValueError.

    >>> with naming("data.csv"):
    ...     raise OverflowError("Python int too large to convert to C long")
    Traceback (most recent call last):
    ...
    ValueError: data.csv cannot be read: Python int too large to convert to C long
    """
    try:
        yield
    except (ImportError, Warning):
        raise
    except MemoryError:
        raise MemoryError(f"there is not enough memory to read {what}") from None
    except Exception as error:
        foreign = type(error).__module__ != "builtins" or isinstance(error, _OF_LIBRARIES)
        if isinstance(error, OSError) and error.errno is not None:
            if error.filename is not None:
                raise
            foreign = True
        if foreign:
            raise ValueError(f"{what} cannot be read: {_first_line(error)}") from error
        if not isinstance(error, (ValueError, TypeError, OSError)) or what in str(error):
            raise  # a fault of the program, or a sentence that says it all
        raise prefixed(error, what) from error


@contextmanager
def about(*names: str) -> Iterator[None]:
    """Let no refusal pass that names none of the datasets that it is about.

    >>> with about("may.csv", "june.csv"):
    ...     raise ValueError("the bandwidth is too small")
    Traceback (most recent call last):
    ...
    ValueError: may.csv and june.csv: the bandwidth is too small
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        named = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", str(error)) for name in names)
        if named or type(error) not in (TypeError, ValueError):
            raise
        some = list(dict.fromkeys(names))
        words = " and ".join(some[:2]) + (f" and {len(some) - 2} more" if len(some) > 2 else "")
        raise prefixed(error, words) from error


_OF_LIBRARIES = (
    EOFError,
    OverflowError,
    RecursionError,
    SyntaxError,
    UnicodeError,
    RuntimeError,
    BufferError,
)
"""What libraries raise about data; the rest of the built-in errors would be faults of this program."""


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
