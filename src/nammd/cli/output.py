"""Results for people, and as one JSON document for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from nammd.cli.paths import file_of
from nammd.cli.printing import one_line, printable
from nammd.errors.writing import require_writable

if TYPE_CHECKING:
    from nammd.cli.options import OutputOptions
    from nammd.results.base import Result

DOCUMENT = 1
"""The version of the JSON documents: another one where a field goes, or means something else."""

_COLOURS = {"close": "green", "far": "red", "undecided": "yellow", "neutral": ""}


class MadeFrom(Protocol):
    """What a result was made from, in words and for JSON."""

    def lines(self) -> list[tuple[str, str]]:
        """Return rows of the printed table."""

    def notes(self) -> list[str]:
        """Return what happened to the data on the way."""

    def to_dict(self) -> dict[str, Any]:
        """Return what was read, ready for JSON."""


def deliver(
    command: str,
    result: Result,
    made_from: MadeFrom,
    output: OutputOptions,
    *,
    rows: Sequence[tuple[str, str]] = (),
    fields: Mapping[str, Any] | None = None,
) -> None:
    """Print a result with what it was made from, for programs or for people.

    Parameters
    ----------
    command : str
        The name of the command.
    result : Result
        What came out.
    made_from : MadeFrom
        The files, and how they were read.
    output : OutputOptions
        For whom to print.
    rows : sequence of (str, str)
        Further rows of the table for people.
    fields : mapping, optional
        Further entries of the document for programs.
    """
    if output.json:
        print_json(command, found(result, made_from) | dict(fields or {}))
    else:
        tell(result, made_from, rows)


def found(result: Result, made_from: MadeFrom) -> dict[str, Any]:
    """Return a result with what it was made from, for programs."""
    return {**result.to_dict(), "inputs": made_from.to_dict(), "notes": made_from.notes()}


def tell(result: Result, made_from: MadeFrom, rows: Sequence[tuple[str, str]] = ()) -> None:
    """Print a result with what it was made from, and further rows of the table, for people."""
    cautions = [caution.message for caution in result.cautions]
    print_lines(result.headline(), [*result.lines(), *made_from.lines(), *rows], cautions, result.tone)
    print_notes(made_from.notes())


def require_folder(*paths: Path | None) -> None:
    """Refuse an output that cannot be written, before any work is done for it."""
    for path in paths:
        if path is None:
            continue
        require_writable(path)


def require_new_folder(path: Path) -> None:
    """Refuse a folder for output that can neither be used nor made."""
    if path.is_dir():
        if not os.access(path, os.W_OK):
            raise PermissionError(f"cannot write to {str(path)!r}: permission denied")
        return
    if path.exists():
        raise NotADirectoryError(f"cannot write to {str(path)!r}: it is a file; several pages need a folder")
    require_folder(path)


def refuse_overwriting(outputs: Sequence[Path | None], inputs: Sequence[Path | None]) -> None:
    """Refuse to write an output over a file that is read, or over another output."""
    taken = {file_of(path).resolve() for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        if path.resolve() in taken:
            raise ValueError(
                f"{str(path)!r} is named twice: writing it would destroy what is read or written"
            )
        taken.add(path.resolve())


def print_notes(notes: Sequence[str]) -> None:
    """Print what happened to the data on the way, on stderr."""
    sys.stdout.flush()  # so that the notes come after the result wherever both streams go
    for note in notes:
        print(f"  Note: {one_line(note)}", file=sys.stderr)


def print_json(command: str, fields: Mapping[str, Any], exit_code: int = 0) -> None:
    """Print the document of a command: the only thing on stdout, and valid JSON without NaN.

    What all documents have stands first: which schema describes it, who wrote it, and the exit code.
    """
    from nammd import __version__
    from nammd.results.base import plain

    schema = f"nammd/{command.replace(' ', '-')}/{DOCUMENT}"
    head = {"schema": schema, "nammd": __version__, "command": command, "exit_code": exit_code}
    print(json.dumps(plain(head | dict(fields)), indent=2, allow_nan=False))


def print_lines(
    headline: str | None,
    lines: Sequence[tuple[str, str]],
    cautions: Sequence[str] = (),
    tone: str = "neutral",
) -> None:
    """Print a headline, lines and cautions, with layout and colour where people look at it."""
    lines = [(one_line(label), one_line(value)) for label, value in lines]
    cautions = [one_line(caution) for caution in cautions]
    if not _for_people():
        width = max((len(label) for label, _ in lines), default=0)
        if headline is not None:
            print(one_line(headline))
        for label, value in lines:
            print(f"  {label:<{width}}  {value}")
        for caution in cautions:
            print(f"  Note: {caution}")
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    # Text, never markup: the values contain names from the data.
    if headline is not None:
        console.print(Text(one_line(headline), style=f"bold {_COLOURS[tone]}"))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=all(len(label) <= 40 for label, _ in lines))
    table.add_column(overflow="fold")
    for label, value in lines:
        table.add_row(Text(label, style="dim"), Text(value))
    console.print(Padding(table, (0, 0, 0, 2)))
    for caution in cautions:
        console.print(Padding(Text(f"Note: {caution}", style="yellow"), (0, 0, 0, 2)))


def print_table(
    headline: str, header: Sequence[str], rows: Sequence[Sequence[str]], tone: str = "neutral"
) -> None:
    """Print a headline and a table with a header; the second column is an answer, which is coloured."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    if not _for_people():
        from nammd.results.words import aligned

        print(one_line(headline))
        for line in aligned([header, *rows]):
            print(f"  {line}")
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(one_line(headline), style=f"bold {_COLOURS[tone]}"))
    table = Table.grid(padding=(0, 2))
    for name in header:
        table.add_column(overflow="fold", no_wrap=name == header[1])
    table.add_row(*(Text(name, style="dim") for name in header))
    for name, word, *rest in rows:
        colour = _COLOURS.get(word.lower(), "red")
        table.add_row(Text(name), Text(word, style=f"bold {colour}"), *map(Text, rest))
    console.print(Padding(table, (0, 0, 0, 2)))


def print_line(text: str) -> None:
    """Print a line as it is."""
    print(printable(text), flush=True)


def _for_people() -> bool:
    # FORCE_COLOR is how logs of CI systems ask for the colours of a terminal.
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))
