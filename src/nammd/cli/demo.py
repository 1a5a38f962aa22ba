"""``nammd demo``: the whole story on small files, through the real commands."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from nammd.cli import demo_monitor
from nammd.cli.errors import ERROR, INTERRUPTED
from nammd.cli.options import OutputOptions
from nammd.cli.output import print_json, print_line

ROWS = 4000
REFERENCE, ACCEPTED, CLOSE, FAR = (
    "2026-01.parquet",
    "2024-01.parquet",
    "2026-02.parquet",
    "2026-02-new-form.parquet",
)
MONTHS = {REFERENCE: (24, None), ACCEPTED: (0, None), CLOSE: (25, None), FAR: (25, "missing")}
"""The files: which month of applications, counted from January 2024, and which fault is planted in it."""

CUSTOMERS = {"customers-2026-01.parquet": 24, "customers-2026-02.parquet": 25}
"""Months with several applications by each customer, to try --group with."""


def demo(
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the files there; by default to a temporary folder."),
    ] = None,
    monitor: Annotated[
        bool, typer.Option("--monitor", help="A year of days instead, watched with 'nammd monitor'.")
    ] = False,
    *,
    output: OutputOptions,
) -> None:
    """Run the whole story on small files: calibrate, check, check again, report.

    For example:
        nammd demo
        nammd demo --keep demo
        nammd demo --monitor

    It writes months of made-up credit applications: numbers, categories, dates and missing values. The
    data of two years ago are known to be acceptable, so their distance sets the tolerance. The next month
    is close enough. Then the same month after a form field became optional: the values that are there are
    as before, but more of them are missing; that is noticed, and a report shows where. Every command is
    printed before it is run, so that it can be tried again by hand.

    With --monitor it is a year of days of a shop: a season that is within tolerance, a broken week, and a
    slow drift that the stream knows of before any single day does. It takes less than a minute.

    Exit codes: 0 if the story went as told, 2 error.
    """
    folder = keep if keep is not None else Path(tempfile.mkdtemp(prefix="nammd-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    names = demo_monitor.NAMES if monitor else (*MONTHS, "tolerance.json", "report.html")
    there = [name for name in names if os.path.lexists(folder / name)]
    if there:
        raise FileExistsError(
            f"{str(folder)!r} has files of these names already: {', '.join(there)}; give a new folder"
        )
    try:
        (demo_monitor.write_files if monitor else write_files)(folder)
        story = demo_monitor.story() if monitor else _story()
        steps = [_run(step, folder, output.json) for step in story]
    except BaseException:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if output.json:
        print_json("demo", {"folder": str(folder), "steps": steps})
    else:
        made = f"page is {folder / demo_monitor.PAGE}" if monitor else f"report is {folder / 'report.html'}"
        print_line(f"The {made}; open it in a browser.")


def write_files(folder: Path) -> None:
    """Write the months to Parquet files."""
    import pyarrow as pa
    from pyarrow import parquet

    from nammd.datasets import applications

    for name, (month, shift) in MONTHS.items():
        parquet.write_table(pa.table(applications(month, ROWS, shift=shift)), folder / name)
    for name, month in CUSTOMERS.items():
        parquet.write_table(pa.table(applications(month, ROWS, customers=ROWS // 4)), folder / name)


def _story() -> list[tuple[str, int, list[str]]]:
    """Return the commands: why, with which exit code, and which."""
    limit = ["--tolerance", "tolerance.json"]
    return [
        (
            "What is close enough? The data of two years ago were fine: a month may be like this one, like\n"
            "that one, or like both mixed. The date of submission is left out: it differs every month.",
            0,
            ["calibrate", REFERENCE, ACCEPTED, "--exclude", "submitted", "-o", limit[1]],
        ),
        ("Is the next month close enough?", 0, ["check", REFERENCE, CLOSE, *limit]),
        (
            "And after a form field became optional, so that more incomes are missing?",
            1,
            ["check", REFERENCE, FAR, *limit, "--html", "report.html"],
        ),
    ]


def _run(step: tuple[str, int, list[str]], folder: Path, as_json: bool) -> dict[str, Any]:
    """Run one command in the folder; return what it said if that is for programs."""
    from nammd.cli import main

    why, expected, words = step
    said = io.StringIO()
    if not as_json:
        print_line("\n".join(f"# {line}" for line in why.splitlines()))
        print_line(f"$ nammd {_as_typed(words)}")
    words = [name for word in words for name in _matching(word, folder)]
    with contextlib.chdir(folder), contextlib.redirect_stdout(said) if as_json else contextlib.nullcontext():
        code = main([*words, "--json"] if as_json else words)
    if code in (ERROR, INTERRUPTED):
        raise typer.Exit(code)  # it has said why
    if code != expected:
        raise ValueError(f"the demo did not go as told: 'nammd {_as_typed(step[2])}' came out otherwise")
    if as_json:
        result = json.loads(said.getvalue())
        return {"why": why.replace("\n", " "), "arguments": step[2], "exit_code": code, "result": result}
    print_line("")
    return {}


def _as_typed(words: list[str]) -> str:
    """Return a command as it is typed in a shell, which replaces patterns by the names of files itself."""
    return " ".join(word if "*" in word else shlex.quote(word) for word in words)


def _matching(word: str, folder: Path) -> list[str]:
    """Return the files that a pattern stands for, as a shell does it; any other word as it is."""
    if "*" not in word:
        return [word]
    return sorted(str(path.relative_to(folder)) for path in folder.glob(word))
