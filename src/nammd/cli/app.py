"""The commands by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer

from nammd.cli.calibrate import accept, calibrate
from nammd.cli.check import check
from nammd.cli.compare import compare, rank
from nammd.cli.demo import demo
from nammd.cli.measure import copies, distance, plan, two_sample
from nammd.cli.monitor import add, group
from nammd.cli.monitor_export import events, metrics
from nammd.cli.monitor_history import accept as accept_batch
from nammd.cli.monitor_history import (
    acknowledge,
    change,
    forget,
    note,
    page,
    repair,
    serve,
    status,
)
from nammd.cli.monitor_init import init
from nammd.cli.options import lesson, with_options
from nammd.cli.sketch import sketch

app = typer.Typer(
    name="nammd",
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_GATE, _QUESTIONS, _START = "Guard a pipeline", "Other questions about datasets", "See it work"
_COMMANDS: list[tuple[str, str, Callable[..., None]]] = [
    (_GATE, "check", check),
    (_GATE, "calibrate", calibrate),
    (_GATE, "accept", accept),
    (_GATE, "sketch", sketch),
    (_QUESTIONS, "distance", distance),
    (_QUESTIONS, "test", two_sample),
    (_QUESTIONS, "compare", compare),
    (_QUESTIONS, "rank", rank),
    (_QUESTIONS, "plan", plan),
    (_QUESTIONS, "copies", copies),
    (_START, "demo", demo),
]
_MONITOR: list[tuple[str, Callable[..., None]]] = [
    ("init", init),
    ("add", add),
    ("status", status),
    ("page", page),
    ("serve", serve),
    ("metrics", metrics),
    ("events", events),
    ("note", note),
    ("acknowledge", acknowledge),
    ("accept", accept_batch),
    ("forget", forget),
    ("change", change),
    ("repair", repair),
]
for _panel, _name, _command in _COMMANDS:
    app.command(_name, help=lesson(_command), rich_help_panel=_panel)(with_options(_command, _name))
    if _name == "sketch":  # after the other commands of a gate
        app.add_typer(group(_MONITOR), name="monitor", rich_help_panel=_GATE)


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


app.callback(invoke_without_command=True, help=lesson(root))(root)


@cache
def parser() -> Any:
    """Return what parses a command line, built from all commands once."""
    return typer.main.get_command(app)
