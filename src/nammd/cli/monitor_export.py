"""``nammd monitor``: for other programs, what is known of a stream and what happened in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nammd.cli.monitor import MonitorFile, opened
from nammd.cli.output import print_line, refuse_overwriting, require_folder
from nammd.cli.printing import one_line


def metrics(
    monitor: MonitorFile,
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The file to write; else they are printed."),
    ] = None,
) -> None:
    """Write the state of a stream as metrics for Prometheus: distance over margin, evidence, alarms, ages.

    For example:
        nammd monitor metrics shop.monitor
        nammd monitor metrics shop.monitor -o /var/lib/node_exporter/shop.prom

    The file is replaced in one step, so it is never read half written. 'nammd monitor serve' has the same
    at /metrics.

    Exit codes: 0 done, 2 error.
    """
    require_folder(out)
    refuse_overwriting([out], [monitor])
    from nammd.errors.writing import write_text
    from nammd.integrations.prometheus import metrics_text

    text = metrics_text(opened(monitor).state_at())
    if out is None:
        print(text, end="")
    else:
        write_text(out, text)
        print_line(one_line(f"The metrics are in {out}."))


def events(
    monitor: MonitorFile,
    after: Annotated[
        int, typer.Option(metavar="NUMBER", min=0, help="Leave out all up to the line of this number.")
    ] = 0,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Print lines of JSON, batches among them, for log pipelines.")
    ] = False,
) -> None:
    """Print what happened in a stream, in the order in which it was written.

    For example:
        nammd monitor events shop.monitor
        nammd monitor events shop.monitor --jsonl --after 12 >> shop.jsonl

    Every line of JSON has a number: the place of what it tells in the history. Give the last one that you
    have with --after to get what is new.

    Exit codes: 0 done, 2 error.
    """
    state = opened(monitor).state
    if jsonl:
        from nammd.integrations.events import event_lines

        for line in event_lines(state, after):
            print(line)
        return
    for event in state.events:
        if event.number > after:
            print_line(one_line(f"{event.number:>6}  {event.at}  {event.kind}: {event.text}"))
