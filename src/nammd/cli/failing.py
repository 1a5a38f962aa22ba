"""What went wrong, wherever a result was asked for: as JSON, as a JUnit case, and as a page.

A pipeline that waits for these files then shows the error, and not that they are missing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from nammd.cli.errors import ERROR, sentence
from nammd.cli.junit import Case, case_name, junit_xml
from nammd.cli.output import print_json

NOT_FAILURES = (typer.Exit, typer.Abort, BrokenPipeError)


def tell_failure(command: str, given: Mapping[str, Any], error: Exception) -> None:
    """Write an error where the result of a command was to be.

    Parameters
    ----------
    command : str
        The name of the command.
    given : mapping
        Its arguments.
    error : Exception
        What went wrong.
    """
    if isinstance(error, NOT_FAILURES):
        return
    message, kind = sentence(error), type(error).__name__
    candidates = given.get("candidates") or ()
    several = command == "check" and len(candidates) > 1
    html, junit = given.get("html"), given.get("junit")
    taken = {path.resolve() for path in _paths(v for k, v in given.items() if k not in ("html", "junit"))}
    if html is not None and several:
        html = html / "index.html" if html.is_dir() or _can_make(html, taken) else None
    # What cannot be written is left alone: the error is told already.
    with contextlib.suppress(OSError, ImportError):
        if junit is not None and _can_be_written(junit, {*taken, *_paths([html])}):
            from nammd.data.writing import write_text

            cases = [
                Case(case_name(candidate, given["reference"]), "error", kind, message)
                for candidate in candidates
            ]
            write_text(junit, junit_xml(cases))
        if html is not None and _can_be_written(html, taken):
            from nammd.report import failure_page, write_page

            html.parent.mkdir(exist_ok=True)
            write_page(failure_page(f"nammd {command}", message), html)
    output = given.get("output")
    if output is not None and output.json:
        found = {"error": {"kind": kind, "message": message}, "exit_code": ERROR}
        if several:
            print_json([{"command": command, "candidate": str(c)} | found for c in candidates])
        else:
            print_json({"command": command} | found)


def in_words(error: Exception) -> Exception:
    """Return an error of the same kind that says what the command line says of it."""
    try:
        return type(error)(sentence(error))
    except TypeError:  # some take more than words, such as those about an encoding
        return ValueError(sentence(error))


def _paths(values: Iterable[Any]) -> list[Path]:
    each = (v if isinstance(v, Sequence) and not isinstance(v, str) else [v] for v in values)
    return [path for some in each for path in some if isinstance(path, Path)]


def _can_make(folder: Path, taken: set[Path]) -> bool:
    return not folder.exists() and folder.parent.is_dir() and folder.resolve() not in taken


def _can_be_written(path: Path, taken: set[Path]) -> bool:
    """Tell whether an output can be written without harm to what is read, or to another output."""
    return path.resolve() not in {each.resolve() for each in taken} and not path.is_dir()
