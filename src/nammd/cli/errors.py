"""Any failure as one sentence on stderr and an exit code.

Wherever a result was asked for, as JSON, a JUnit case or a page, the failure is written there too: a pipeline
that waits for these files then shows the error, and not that they are missing.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import typer

from nammd.cli.junit import Case, case_name, junit_xml
from nammd.cli.output import print_json
from nammd.cli.paths import file_of
from nammd.cli.printing import one_line
from nammd.errors.addresses import repeats, without_addresses

ERROR = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""What shells report of a program whose reader went away: 128 + SIGPIPE."""

EXPECTED = (ValueError, TypeError, OSError, ImportError, MemoryError)
"""What the library raises to say that the input is wrong; the rest is a fault of the program."""

_GIVEN: ContextVar[tuple[str, ...]] = ContextVar("addresses", default=())
"""The addresses among the arguments, which may hold passwords."""

QUICKER = (
    "--sample N for N random rows of each file, 'nammd sketch' for time in proportion to the rows, "
    "--engine cuda on a GPU, or --engine dask on a cluster"
)


def guarded(arguments: list[str]) -> int:
    """Run the command line; return its exit code, whatever happens."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # a result must not be lost to a terminal without its letters
            reconfigure(errors="replace")
    try:
        words = [text for word in arguments for text in (word, word.partition("=")[2])]
        _GIVEN.set(tuple(text for text in words if ":/" in text))
        with warnings.catch_warnings():
            warnings.showwarning = _note
            code = _run(arguments)
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # rich exits with 1, which would mean "far"
        # The reader has what it wanted. Python would complain once more when it closes the stream.
        _discard_stdout()
        return BROKEN_PIPE
    except Exception as error:
        if os.environ.get("NAMMD_DEBUG"):
            print(without_addresses(traceback.format_exc(), _GIVEN.get()), file=sys.stderr)
        _tell_usage(arguments, error)
        return _say(sentence(error), ERROR)


def _run(arguments: list[str]) -> int:
    """Parse and run, without the parts of typer that print errors in several lines and exit."""
    from nammd.cli.app import parser

    command = parser(arguments)
    try:
        with command.make_context("nammd", arguments) as context:
            command.invoke(context)
    except typer.Exit as finished:
        return int(finished.exit_code)
    return 0


def sentence(error: BaseException) -> str:
    """Say in one sentence what went wrong; whatever repeats an address repeats what is shown of it."""
    return without_addresses(_sentence(error), _GIVEN.get())


def _sentence(error: BaseException) -> str:
    usage = getattr(error, "format_message", None)
    if usage is not None:
        context = getattr(error, "ctx", None)
        where = context.command_path if context is not None else "nammd"
        return f"{one_line(usage()).rstrip('.')}; see '{where} --help'"
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("nammd"):
        return f"the package {error.name} is needed for this; install it with: pip install 'nammd[app]'"
    if isinstance(error, MemoryError):
        words = one_line(str(error)) or "there is not enough memory for this"
        return f"{words}; --sample N reads only N rows of each file"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return one_line(f"{os.fsdecode(error.filename)}: {error.strerror.lower()}")
    from nammd.errors.advice import in_shell

    words = one_line(in_shell(error))
    if isinstance(error, EXPECTED) and words:
        return words
    name = f"{type(error).__name__}: {words}" if words else type(error).__name__
    hint = "" if os.environ.get("NAMMD_DEBUG") else " (set NAMMD_DEBUG=1 for the traceback)"
    return f"something unexpected went wrong: {name}{hint}"


def _say(words: str, code: int) -> int:
    with contextlib.suppress(OSError):  # nobody reads stderr: the exit code is left to tell
        print(f"nammd: {words}", file=sys.stderr, flush=True)
    return code


def _note(message: Warning | str, *where: Any, **more: Any) -> None:
    """Print a warning of a library as a note, without the line of code that raised it."""
    # By the name of the method: the class would import NumPy, which a wrong option can do without.
    forecast = getattr(message, "forecast", None)
    words = str(message) if forecast is None else f"{forecast()}; quicker: {QUICKER}"
    if forecast is None and any(repeats(words, address) for address in _GIVEN.get()):
        words = f"{type(message).__name__}, whose words repeat a part of an address that is not shown"
    _say(f"note: {one_line(words)}", 0)


def _discard_stdout() -> None:
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
    told = error_entry(error)
    kind, message = told["kind"], told["message"]
    candidates = given.get("candidates") or ()
    several = command == "check" and len(candidates) > 1
    html, junit = given.get("html"), given.get("junit")
    taken = {path.resolve() for path in _paths(v for k, v in given.items() if k not in ("html", "junit"))}
    if html is not None and several:
        if _can_make(html, taken):
            with contextlib.suppress(OSError):
                html.mkdir()
        html = html / "index.html"
    # What cannot be written is left alone: the error is told already.
    with contextlib.suppress(OSError, ImportError):
        if junit is not None and _can_be_written(junit, {*taken, *_paths([html])}):
            from nammd.errors.writing import write_text

            cases = [
                Case(case_name(candidate, given["reference"]), "error", kind, message)
                for candidate in candidates
            ]
            write_text(junit, junit_xml(cases))
        if html is not None and _can_be_written(html, taken):
            from nammd.report import failure_page, write_page

            write_page(failure_page(f"nammd {command}", message), html)
    output = given.get("output")
    if output is not None and output.json:
        print_json(command, _failed(command, told, candidates), ERROR)


def _tell_usage(arguments: Sequence[str], error: Exception) -> None:
    """Print a document about a command line that could not be parsed, where one was asked for."""
    words = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    context = getattr(error, "ctx", None)
    if context is None or "--json" not in words:
        return
    if any("--json" in parameter.opts for parameter in context.command.params):
        command = context.command_path.partition(" ")[2]
        print_json(command, _failed(command, error_entry(error)), ERROR)


def error_entry(error: BaseException) -> dict[str, str]:
    """Return an error as documents have it."""
    return {"kind": type(error).__name__, "message": sentence(error)}


def _failed(command: str, error: dict[str, str], candidates: Iterable[Any] = ()) -> dict[str, Any]:
    """Return what a document says after an error; that of a check says it of each candidate."""
    if command != "check":
        return {"error": error}
    entry = {"decision": None, "error": error, "exit_code": ERROR}
    return {"error": error, "candidates": [{"candidate": str(each)} | entry for each in candidates]}


def in_words(error: Exception) -> Exception:
    """Return an error of the same kind that says what the command line says of it."""
    try:
        return type(error)(sentence(error))
    except TypeError:  # some take more than words, such as those about an encoding
        return ValueError(sentence(error))


def _paths(values: Iterable[Any]) -> list[Path]:
    each = (v if isinstance(v, Sequence) and not isinstance(v, str) else [v] for v in values)
    return [file_of(path) for some in each for path in some if isinstance(path, Path)]


def _can_make(folder: Path, taken: set[Path]) -> bool:
    return not folder.exists() and folder.parent.is_dir() and folder.resolve() not in taken


def _can_be_written(path: Path, taken: set[Path]) -> bool:
    """Tell whether an output can be written without harm to what is read, or to another output."""
    return (
        path.resolve() not in {each.resolve() for each in taken}
        and path.parent.is_dir()
        and not path.is_dir()
    )
