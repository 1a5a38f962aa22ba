"""The commands by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from nammd.cli.options import lesson, with_options

_GATE, _QUESTIONS, _START = "Guard a pipeline", "Other questions about datasets", "See it work"
# By the modules that they are in: a command line has one of them, and the others need not be imported.
_COMMANDS: list[tuple[str, str, str]] = [
    (_GATE, "check", "check"),
    (_GATE, "calibrate", "calibrate"),
    (_GATE, "accept", "calibrate"),
    (_GATE, "sketch", "sketch"),
    (_GATE, "monitor", "monitor"),
    (_QUESTIONS, "distance", "measure"),
    (_QUESTIONS, "test", "measure"),
    (_QUESTIONS, "compare", "compare"),
    (_QUESTIONS, "rank", "compare"),
    (_QUESTIONS, "plan", "measure"),
    (_QUESTIONS, "copies", "measure"),
    (_START, "demo", "demo"),
]
_MONITOR: list[tuple[str, str]] = [
    ("init", "monitor_init"),
    ("add", "monitor"),
    ("status", "monitor_history"),
    ("page", "monitor_history"),
    ("serve", "monitor_history"),
    ("metrics", "monitor_export"),
    ("events", "monitor_export"),
    ("note", "monitor_history"),
    ("acknowledge", "monitor_history"),
    ("accept", "monitor_history"),
    ("forget", "monitor_history"),
    ("change", "monitor_history"),
    ("repair", "monitor_history"),
]
_NAMED = {"test": "two_sample"}
"""Commands whose functions have another name, since tests are found by it."""


def app(only: str | None = None) -> typer.Typer:
    """Return all commands, or one of them."""
    made = typer.Typer(
        name="nammd",
        rich_markup_mode="rich",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for panel, name, module in _COMMANDS:
        if only not in (None, name):
            continue
        if name == "monitor":
            from nammd.cli.monitor import group

            made.add_typer(
                group([(each, _function(each, place)) for each, place in _MONITOR]),
                name=name,
                rich_help_panel=panel,
            )
        else:
            command = _function(name, module)
            made.command(name, help=lesson(command), rich_help_panel=panel)(with_options(command, name))
    made.callback(invoke_without_command=True, help=lesson(root))(root)
    return made


def _function(name: str, module: str) -> Callable[..., None]:
    found: Callable[..., None] = getattr(import_module(f"nammd.cli.{module}"), _NAMED.get(name, name))
    return found


def _print_version(wanted: bool) -> None:
    if wanted:
        from nammd import __version__

        print(f"nammd {__version__}")
        raise typer.Exit


def root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Tell whether two datasets are close enough, with statistical significance.

    Start with 'nammd demo', which runs the whole story on small files that it writes itself.

    A gate for a pipeline takes two commands, 'calibrate' once and 'check' every time:
        nammd calibrate train.parquet accepted.parquet -o tolerance.json
        nammd check train.parquet today.parquet --tolerance tolerance.json

    Files may be CSV, TSV, Parquet (a file or a folder), Arrow or Feather, JSON lines, NPY, NPZ, or a
    folder of images. The distance is the norm-adaptive MMD (NAMMD): 0 for equal distributions, at most 1.

    Exit codes: 0 done (check: close), 1 far (check only), 2 error, 3 undecided (check only).
    """
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(2)


def parser(arguments: Sequence[str] = ()) -> Any:
    """Return what parses a command line: of the command that it begins with, or else of all commands."""
    first = arguments[0] if arguments else None
    return _parser(first if any(first == name for _, name, _ in _COMMANDS) else None)


@cache
def _parser(only: str | None) -> Any:
    return typer.main.get_command(app(only))
