"""Results for people, and as one JSON document for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from nammd.cli.printing import one_line, printable
from nammd.data.writing import require_writable

if TYPE_CHECKING:
    from nammd.cli.options import OutputOptions
    from nammd.results.base import Result

_COLOURS = {"close": "green", "far": "red", "undecided": "yellow", "neutral": ""}


class MadeFrom(Protocol):
    """What a result was made from, in words and for JSON."""

    def facts(self) -> list[tuple[str, str]]:
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
        The entries of the document for programs, instead of the result's own.
    """
    notes = made_from.notes()
    if output.json:
        own = result.to_dict() if fields is None else fields
        print_json({"command": command, **own, "inputs": made_from.to_dict(), "notes": notes})
        return
    facts = [(one_line(a), one_line(b)) for a, b in [*result.facts(), *made_from.facts(), *rows]]
    cautions = [one_line(caution.message) for caution in result.cautions()]
    print_facts(one_line(result.headline()), facts, cautions, result.tone)
    sys.stdout.flush()  # so that the notes come after it wherever both streams go
    for note in notes:
        print(f"  Note: {one_line(note)}", file=sys.stderr)


def require_folder(*paths: Path | None) -> None:
    """Refuse an output that cannot be written, before any work is done for it."""
    for path in paths:
        if path is None:
            continue
        require_writable(path)


def refuse_overwriting(outputs: Sequence[Path | None], inputs: Sequence[Path | None]) -> None:
    """Refuse to write an output over a file that is read, or over another output."""
    taken = {path.resolve() for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        if path.resolve() in taken:
            raise ValueError(
                f"{str(path)!r} is named twice: writing it would destroy what is read or written"
            )
        taken.add(path.resolve())


def print_json(document: dict[str, Any]) -> None:
    """Print a document: the only thing on stdout, and valid JSON without NaN."""
    from nammd.results.base import plain

    print(json.dumps(plain(document), indent=2, allow_nan=False))


def print_facts(
    headline: str, facts: Sequence[tuple[str, str]], cautions: Sequence[str] = (), tone: str = "neutral"
) -> None:
    """Print a headline and a table, with layout and colour where people look at it."""
    if not _for_people():
        width = max((len(label) for label, _ in facts), default=0)
        print(headline)
        for label, value in facts:
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
    console.print(Text(headline, style=f"bold {_COLOURS[tone]}"))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=all(len(label) <= 40 for label, _ in facts))
    table.add_column(overflow="fold")
    for label, value in facts:
        table.add_row(Text(label, style="dim"), Text(value))
    console.print(Padding(table, (0, 0, 0, 2)))
    for caution in cautions:
        console.print(Padding(Text(f"Note: {caution}", style="yellow"), (0, 0, 0, 2)))


def print_line(text: str) -> None:
    """Print a line as it is."""
    print(printable(text), flush=True)


def _for_people() -> bool:
    # FORCE_COLOR is how logs of CI systems ask for the colours of a terminal.
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))
