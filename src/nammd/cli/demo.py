"""``nammd demo``: the whole story on small files, through the real commands."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from nammd.cli.failure import ERROR, INTERRUPTED
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


def demo(
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the files there; by default to a temporary folder."),
    ] = None,
    *,
    output: OutputOptions,
) -> None:
    """Run the whole story on small files: calibrate, check, check again, report.

    For example:
        nammd demo
        nammd demo --keep demo

    It writes months of made-up credit applications: numbers, categories, dates and missing values. The
    data of two years ago are known to be acceptable, so their distance sets the tolerance. The next month
    is close enough. Then the same month after a form field became optional: the values that are there are
    as before, but more of them are missing; that is noticed, and a report shows where. Every command is
    printed before it is run, so that it can be tried again by hand.

    Exit codes: 0 if the story went as told, 2 error.
    """
    folder = keep if keep is not None else Path(tempfile.mkdtemp(prefix="nammd-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    there = [name for name in (*MONTHS, "tolerance.json", "report.html") if (folder / name).exists()]
    if there:
        raise FileExistsError(
            f"{str(folder)!r} has files of these names already: {', '.join(there)}; give a new folder"
        )
    try:
        write_files(folder)
        steps = [_run(step, folder, output.json) for step in _story()]
    except BaseException:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if output.json:
        print_json({"command": "demo", "folder": str(folder), "steps": steps})
    else:
        print_line(f"The report is {folder / 'report.html'}; open it in a browser.")


def write_files(folder: Path) -> None:
    """Write the months to Parquet files."""
    import pyarrow as pa
    from pyarrow import parquet

    from nammd.datasets import applications

    for name, (month, shift) in MONTHS.items():
        parquet.write_table(pa.table(applications(month, ROWS, shift=shift)), folder / name)


def _story() -> list[tuple[str, int, list[str]]]:
    """Return the commands: why, with which exit code, and which."""
    limit = ["--tolerance", "tolerance.json"]
    return [
        (
            "What is close enough? The data of two years ago were fine, so their distance sets the\n"
            "tolerance. The date of submission is left out: it differs every month.",
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
        print_line(f"$ nammd {shlex.join(words)}")
    with contextlib.chdir(folder), contextlib.redirect_stdout(said) if as_json else contextlib.nullcontext():
        code = main([*words, "--json"] if as_json else words)
    if code in (ERROR, INTERRUPTED):
        raise typer.Exit(code)  # it has said why
    if code != expected:
        raise ValueError(f"the demo did not go as told: 'nammd {shlex.join(words)}' came out otherwise")
    if as_json:
        result = json.loads(said.getvalue())
        return {"why": why.replace("\n", " "), "arguments": words, "exit_code": code, "result": result}
    print_line("")
    return {}
