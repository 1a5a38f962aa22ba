"""``nammd monitor``: watch a stream of batches against a tolerance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nammd.cli.check import Undecided, exit_code
from nammd.cli.computing import computing
from nammd.cli.data import open_files
from nammd.cli.errors import ERROR, error_entry, sentence
from nammd.cli.many import worst_code
from nammd.cli.options import (
    DataOptions,
    DownloadLimit,
    EngineName,
    KernelOptions,
    OutputOptions,
    UnpackLimit,
    lesson,
    with_options,
)
from nammd.cli.output import print_json, print_line, print_lines, print_notes
from nammd.cli.paths import given, place
from nammd.cli.printing import one_line
from nammd.cli.progress import Working

if TYPE_CHECKING:
    from nammd.engines import Engine
    from nammd.monitor import BatchVerdict, Monitor
    from nammd.tolerances.many_datasets import Turn

_ENGINE, _DATA = "Where it is computed", "Which data"


@dataclass(frozen=True)
class MachineOptions:
    """Where it is computed."""

    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="The number of threads; by default every core.", rich_help_panel=_ENGINE
        ),
    ] = None
    engine: Annotated[
        EngineName,
        typer.Option(help="The cores of this machine, its GPU, or a Dask cluster.", rich_help_panel=_ENGINE),
    ] = EngineName.auto
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="With --engine dask: the cluster.", rich_help_panel=_ENGINE),
    ] = None

    @property
    def chosen(self) -> KernelOptions:
        """The same, as other commands have it."""
        return KernelOptions(threads=self.threads, engine=self.engine, scheduler=self.scheduler)


@dataclass(frozen=True)
class ReadingOptions:
    """How files are read."""

    sample: Annotated[
        int | None,
        typer.Option(metavar="N", min=4, help="Draw N rows of each file at random.", rich_help_panel=_DATA),
    ] = None
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="The seed of everything random.", rich_help_panel=_DATA)
    ] = 0
    unpack_limit: UnpackLimit = None
    download_limit: DownloadLimit = None
    array: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which array of an .npz file to take.", rich_help_panel=_DATA),
    ] = None

    query: Annotated[
        str | None,
        typer.Option(metavar="SQL", help="What to ask a database.", rich_help_panel=_DATA),
    ] = None

    @property
    def chosen(self) -> DataOptions:
        """The same, as other commands have it."""
        array, query = (None if value is None else [value] for value in (self.array, self.query))
        return DataOptions(sample=self.sample, seed=self.seed, key=array, query=query)

    def open(self, path: Path, limit: Any, machine: MachineOptions, working: Working, first: int) -> Any:
        """Open a file as 'nammd check' does, the reference as the first and a batch as the second of two."""
        role = "batch" if first else "reference"
        [data] = open_files([(role, path)], limit, self.chosen, machine.chosen, working, first).datasets
        return data


OnAlarm = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="A program to run where an alarm is opened; it gets the event as JSON on its standard input. It "
        "is run without a shell.",
    ),
]
Webhook = Annotated[
    str | None,
    typer.Option(
        envvar="NAMMD_WEBHOOK",
        metavar="URL",
        help="An address that the same JSON is sent to, with retries. Better in the variable than on the "
        "command line.",
    ),
]
MonitorFile = Annotated[Path, typer.Argument(metavar="MONITOR", help="The file of the history.")]
Reference = Annotated[
    Path | None,
    typer.Option(
        *("--reference", "-r"),
        parser=place,
        metavar="FILE",
        help="The reference, where it is not in the history.",
    ),
]


def add(
    monitor: MonitorFile,
    batches: Annotated[
        list[Path], typer.Argument(parser=place, metavar="FILE...", help="One or more batches.")
    ],
    key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="What the batch is called; by default the date in the file's name."),
    ] = None,
    key_from_name: Annotated[
        bool, typer.Option("--key-from-name", help="Without a date, take the name of the file itself.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put other data in the place of a batch with the same key.")
    ] = False,
    reference: Reference = None,
    reports: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a report with pictures for every batch that is not CLOSE."),
    ] = None,
    on_alarm: OnAlarm = None,
    webhook: Webhook = None,
    undecided: Annotated[
        Undecided | None,
        typer.Option(
            help="Let undecided batches exit with 0 (ok) or 1 (fail); else quiet ones exit with 0, others "
            "with 3."
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Of several batches, print alarms and the state only.")
    ] = False,
    *,
    reading: ReadingOptions,
    machine: MachineOptions,
    output: OutputOptions,
) -> None:
    """Check one or more batches, and add them to the history.

    For example:
        nammd monitor add shop.monitor 2026-03-01.parquet
        nammd monitor add shop.monitor days/*.parquet --key-from-name
        nammd monitor add shop.monitor today.csv --key 2026-03-02 --on-alarm "mail -s drift me@example.org"

    Adding the same batch twice changes nothing. Batches may come late and in any order: the state of the
    stream is worked out anew from all of them.

    A batch that proves nothing by itself and shows nothing is quiet; the last ones together say more. Data
    that cannot be taken are noted in the history, and an alarm until they are replaced or acknowledged.

    Exit codes, for the worst of the batches: 0 close or quiet, 1 far, 3 undecided, 2 error.
    """
    keys = [_key_of(path, key, key_from_name, len(batches)) for path in batches]
    twice = [name for name, times in Counter(keys).items() if times > 1]
    if twice:
        raise ValueError(f"two of the files would be the batch {twice[0]!r}; give each a key of its own")
    if reports is not None and not reports.is_dir():
        raise FileNotFoundError(f"there is no folder {str(reports)!r} for reports")
    from nammd.integrations.alerts import Alerts
    from nammd.monitor import Monitor

    untold: list[str] = []
    alerts = Alerts(on_alarm, webhook, say=untold.append)
    with computing(machine.chosen), Working(quiet=output.json) as working:
        watched = Monitor.open(monitor, reference=None if reference is None else given(reference))
        limit = watched.tolerance
        files = dict(zip(keys, batches, strict=True))

        def read(name: str) -> Any:
            data = reading.open(files[name], limit, machine, working, first=1)
            watched.engine = None if not data.keeps_rows else engine_for(machine, working)
            return data

        turns = watched.add_all(
            {name: partial(read, name) for name in keys},
            replace=replace,
            report=None if reports is None else lambda name: reports / f"{_file_name(name)}.html",
            on_alarm=alerts,
            errors="raise" if len(keys) == 1 else "keep",
            progress=lambda done, total, _: working.among(done + 1, total),
        )
    code = worst_code([ERROR if t.result is None else batch_code(t.result, undecided) for t in turns])
    if not output.json:
        _print_for_people(turns, quiet)
    alerts.wait()  # the batches are stored, and people can read of them
    if output.json:
        _print_for_programs(turns, untold, code)
    else:
        print_notes(untold)
    raise typer.Exit(code)


def batch_code(result: BatchVerdict, undecided: Undecided | None) -> int:
    """Return the exit code of a batch; one that is quiet is well, unless somebody said otherwise."""
    return 0 if result.quiet and undecided is None else exit_code(result, undecided)


def _print_for_programs(turns: list[Turn[BatchVerdict]], notes: list[str], code: int) -> None:
    told = [turn.result.to_dict() for turn in turns if turn.result is not None]
    stream = told[-1]["stream"] if told else None
    batches = [{name: value for name, value in each.items() if name != "stream"} for each in told]
    errors = [{"batch": t.name, "error": error_entry(t.error)} for t in turns if t.error is not None]
    document = {"batches": batches, "errors": errors, "stream": stream, "notes": notes}
    print_json("monitor add", document, code)


def _print_for_people(turns: list[Turn[BatchVerdict]], quiet: bool) -> None:
    results = [turn.result for turn in turns if turn.result is not None]
    if len(turns) == 1:
        [result] = results
        lines = [(one_line(a), one_line(b)) for a, b in result.lines()]
        cautions = [one_line(caution.message) for caution in result.cautions]
        print_lines(one_line(result.headline()), lines, cautions, result.tone)
        _print_events(result)
        return
    for turn in turns:
        if turn.result is not None:
            if not quiet:
                print_line(one_line(turn.result.headline()))
            _print_events(turn.result)
        else:
            print_line(one_line(f"{turn.name} was not added: {sentence(turn.error or ValueError())}"))
    if results:
        from nammd.monitor.words import counted

        counts = Counter(result.word for result in results)
        told = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        many = counted(len(results), "batch")
        print_line(one_line(f"{many}: {told}. {results[-1].state.headline()}"))


def _print_events(result: BatchVerdict) -> None:
    for event in result.events:
        print_line(f"  {one_line(event.kind.upper())}: {one_line(event.text)}")


def _key_of(path: Path, key: str | None, from_name: bool, count: int) -> str:
    from nammd.monitor.keys import key_in_name

    if key is not None:
        if count > 1 or from_name:
            raise ValueError("--key names one batch; for several use --key-from-name, or leave it out")
        return key
    found = key_in_name(path.stem)
    if found is None and not from_name:
        raise ValueError(
            f"what is the batch in {path} called? its name holds no date; give --key KEY, or "
            "--key-from-name to take the name itself"
        )
    return path.stem if found is None else found


def _file_name(key: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in key)


def engine_for(machine: MachineOptions, working: Working) -> Engine | None:
    """Return the engine that was asked for."""
    from nammd.engines import Cluster, OnDevice, Tiles

    if machine.engine is EngineName.dask:
        return Cluster(progress=working.progress)
    if machine.engine is EngineName.cuda:
        return OnDevice("cuda")
    return Tiles(threads=machine.threads, progress=working.progress)


def opened(path: Path) -> Monitor:
    """Open a monitor."""
    from nammd.monitor import Monitor

    return Monitor.open(path)


def group(commands: list[tuple[str, Callable[..., None]]]) -> typer.Typer:
    """Return the commands of 'nammd monitor' as one."""
    app = typer.Typer(
        name="monitor",
        rich_markup_mode="rich",
        add_completion=False,
        pretty_exceptions_enable=False,
        no_args_is_help=False,
        help=lesson(monitor_root),
    )
    for name, command in commands:
        app.command(name, help=lesson(command))(with_options(command, f"monitor {name}"))
    app.callback(invoke_without_command=True, help=lesson(monitor_root))(monitor_root)
    return app


def monitor_root(context: typer.Context) -> None:
    """Watch a stream of batches: within tolerance or not, since when, and what changed.

    For example:
        nammd monitor init shop.monitor --reference train.parquet --tolerance tolerance.json
        nammd monitor add shop.monitor 2026-03-01.parquet
        nammd monitor status shop.monitor
        nammd monitor page shop.monitor -o monitor.html

    The history is one file. False alarms have a budget instead of a level for each look, and slow drift that
    no single day shows is noticed from all of them together.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(ERROR)
