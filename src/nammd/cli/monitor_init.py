"""``nammd monitor init``: begin to watch a stream."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nammd.cli.computing import computing
from nammd.cli.monitor import MachineOptions, MonitorFile, ReadingOptions, engine_for
from nammd.cli.options import OutputOptions
from nammd.cli.output import print_json, print_lines, require_folder
from nammd.cli.paths import place
from nammd.cli.printing import one_line
from nammd.cli.progress import Working


class Rate(StrEnum):
    """What may go wrong."""

    budget = "budget"
    ever = "ever"
    discoveries = "discoveries"


class Claim(StrEnum):
    """What the evidence of the stream is about."""

    reference = "reference"
    population = "population"


Grace = Annotated[
    str,
    typer.Option(
        metavar="N",
        help="How many further periods may end before a batch that has not come is an alarm, or none.",
    ),
]
Days = Annotated[
    str | None,
    typer.Option(metavar="DAYS", help="The days on which batches are expected, such as mon-fri or mon,thu."),
]
Holidays = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Days without a batch: a file with a date on each line."),
]


def grace_of(text: str) -> int | None:
    """Read how many periods may pass.

    >>> grace_of("2"), grace_of("none")
    (2, None)
    """
    if text.strip().lower() == "none":
        return None
    if not text.strip().isdecimal():
        raise ValueError(f"--grace is a whole number of periods, or none, not {text!r}")
    return int(text)


def holidays_of(path: Path | None) -> list[str]:
    """Return the dates in a file."""
    if path is None:
        return []
    from nammd.monitor.calendar import holidays_in

    return holidays_in(path.read_text(encoding="utf-8"))


def init(
    monitor: MonitorFile,
    reference: Annotated[
        Path,
        typer.Option(
            "--reference", "-r", parser=place, metavar="FILE", help="What batches are compared with."
        ),
    ],
    tolerance: Annotated[
        Path, typer.Option("--tolerance", "-t", metavar="FILE", help="A file from 'nammd calibrate'.")
    ],
    false_alarms: Annotated[
        str, typer.Option(metavar="N/PERIOD", help="How many false alarms are acceptable.")
    ] = "1/year",
    every: Annotated[
        str,
        typer.Option(metavar="PERIOD", help="How often batches come: hour, day, week, month, or N a year."),
    ] = "day",
    rate: Annotated[
        Rate,
        typer.Option(
            help="What is bounded: the false alarms a year (budget), the probability of ever one (ever), or "
            "their share of all alarms (discoveries); the latter two by --alpha."
        ),
    ] = Rate.budget,
    alpha: Annotated[float, typer.Option(help="The bound, for --rate ever and discoveries.")] = 0.05,
    claim: Annotated[
        Claim,
        typer.Option(
            help="Whether the evidence of the stream is about these rows of the reference, or about the "
            "population that they were drawn from, which notices slow drift later."
        ),
    ] = Claim.reference,
    window: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=1000, help="How many of the last batches are taken together at most."
        ),
    ] = 30,
    grace: Grace = "2",
    days: Days = None,
    holidays: Holidays = None,
    title: Annotated[
        str | None, typer.Option(help="What is watched; by default the name of the file.")
    ] = None,
    *,
    reading: ReadingOptions,
    machine: MachineOptions,
    output: OutputOptions,
) -> None:
    """Begin to watch a stream: MONITOR is made, with the reference and the tolerance inside.

    For example:
        nammd monitor init shop.monitor --reference train.parquet --tolerance tolerance.json
        nammd monitor init shop.monitor -r train.parquet -t tolerance.json --false-alarms 1/year --every day

    The false alarms that are acceptable and how often batches come make the level of every test: one a year
    with a batch a day is 1/365. A batch that does not come is an alarm too, of 'nammd monitor status'. The
    file is all that is needed from here on.

    Exit codes: 0 done, 2 error.
    """
    require_folder(monitor)
    with computing(machine.chosen), Working(quiet=output.json) as working:
        data = reading.open(reference, tolerance, machine, working, first=0)
        from nammd.monitor import Monitor

        made = Monitor.create(
            monitor,
            tolerance,
            data,
            false_alarms=false_alarms,
            every=every,
            rate=rate.value,
            alpha=alpha,
            claim=claim.value,
            window=window,
            grace=grace_of(grace),
            days=days,
            holidays=holidays_of(holidays),
            title=title,
            engine=None if not data.keeps_rows else engine_for(machine, working),
        )
    state = made.state
    if output.json:
        print_json("monitor init", {"monitor": str(monitor), **state.to_dict()})
        return
    level = f"{state.spending.sentence()}"
    lines = [
        ("promise", level[0].upper() + level[1:]),
        ("expected", state.calendar.sentence()),
        ("reference", f"{reference}, {made.reference_rows} rows"),
        ("next", f"nammd monitor add {shlex.quote(str(monitor))} FILE"),
    ]
    print_lines(one_line(f"{monitor} is ready: {state.title}."), [(a, one_line(b)) for a, b in lines])
