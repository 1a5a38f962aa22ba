"""``nammd monitor``: looking at a history, and writing into it."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nammd.cli.monitor import MonitorFile, OnAlarm, Webhook, opened
from nammd.cli.monitor_init import Days, Holidays, grace_of, holidays_of
from nammd.cli.options import OutputOptions
from nammd.cli.output import print_json, print_line, print_lines, print_notes, require_folder
from nammd.cli.paths import given, place, short_names
from nammd.cli.printing import one_line

if TYPE_CHECKING:
    from nammd.monitor.records import Event

EVENTS = 5
"""So many of the last events are shown."""


Now = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="What time it is, as 2026-03-01 or 2026-03-01T06:30; by default the clock of this computer.",
    ),
]


def moment(text: str | None) -> datetime.datetime | None:
    """Read a time; without a zone it is universal time."""
    if text is None:
        return None
    from nammd.monitor.calendar import universal

    try:
        return universal(datetime.datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise ValueError(f"a time is given as 2026-03-01 or 2026-03-01T06:30, not as {text!r}") from None


def status(
    monitor: MonitorFile,
    now: Now = None,
    on_alarm: OnAlarm = None,
    webhook: Webhook = None,
    *,
    output: OutputOptions,
) -> None:
    """Tell the state of a stream: within tolerance or not, since when, by what, and what is missing.

    For example:
        nammd monitor status shop.monitor
        nammd monitor status shop.monitor --json
        nammd monitor status shop.monitor --on-alarm "mail -s silence me@example.org"

    Run it by a scheduler: it knows of batches that have not come, without a new one. With --on-alarm or
    --webhook it tells of them, once for each gap, and notes that in the history.

    Exit codes: 0 no alarm, 1 an alarm is open, 2 error.
    """
    watched, when, untold = opened(monitor), moment(now), list[str]()
    if on_alarm is not None or webhook is not None:
        from nammd.integrations.alerts import Alerts

        alerts = Alerts(on_alarm, webhook, say=untold.append)
        watched.tell_silence(alerts, now=when)
        alerts.wait()
        print_notes(untold)
    state, windows = watched.state_at(when), watched.pooled()
    code = 1 if state.alarmed else 0
    if output.json:
        pooled = [{"name": w.name, "distance": w.distance, "interval": [w.low, w.high]} for w in windows]
        events = [event.to_dict() for event in state.events]
        print_json("monitor status", state.to_dict() | {"pooled": pooled, "events": events}, code)
        raise typer.Exit(code)
    from nammd.monitor.verdict import evidence_words
    from nammd.results import estimated, interval, number

    counts = ", ".join(f"{count} {word}" for word, count in state.counts().items() if count)
    lines = [("batches", f"{len(state.told)}" + (f": {counts}" if counts else ""))]
    if state.told:
        last = state.told[-1]
        lines += [
            ("last", f"{last.batch.key}, {last.word}, distance {estimated(last.batch.distance)}"),
            *_like(last.batch.settings.get("like", {})),
            ("evidence", evidence_words(last, state)),
            (
                "mean distance",
                f"{number(last.mean)}, 95 % interval {interval((last.mean_low, last.mean_high))}",
            ),
        ]
    lines += [
        (w.name, f"{estimated(w.distance)}, 95 % interval {interval((w.low, w.high))}") for w in windows
    ]
    lines += [("promise", state.spending.sentence()), ("expected", state.calendar.sentence())]
    lines += [(event.at[:10], _event(event)) for event in state.events[-EVENTS:]]
    tone = "far" if state.alarmed else "close" if state.within_since else "neutral"
    told = [(one_line(a), one_line(b)) for a, b in lines]
    print_lines(one_line(f"{state.title}: {state.headline()}"), told, tone=tone)
    raise typer.Exit(code)


def _event(event: Event) -> str:
    """Say what happened, and to which batch, where its sentence is somebody's and need not say so."""
    own = event.kind in ("note", "acknowledged", "closed by hand") and event.key
    return f"{event.kind}{f' {event.key}' if own else ''}: {event.text}"


def _like(shares: dict[str, float]) -> list[tuple[str, str]]:
    from nammd.tolerances.verdict_words import like_in_words

    return [("like", like_in_words(tuple(shares.items())))] if len(shares) > 1 else []


def page(
    monitor: MonitorFile,
    out: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")],
    now: Now = None,
    *,
    output: OutputOptions,
) -> None:
    """Write a page about the stream: one HTML file that needs nothing else, and no script to be read.

    For example:
        nammd monitor page shop.monitor -o monitor.html

    Exit codes: 0 done, 2 error.
    """
    require_folder(out)
    if out.exists() and out.resolve() == monitor.resolve():
        raise ValueError(f"{str(out)!r} is the history itself: writing a page over it would destroy it")
    written = opened(monitor).page(out, now=moment(now))
    if output.json:
        print_json("monitor page", {"page": str(written)})
    else:
        print_line(f"The page is {written}.")


def serve(
    monitor: MonitorFile,
    host: Annotated[
        str, typer.Option(help="Where to listen; another one than this machine needs a token.")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes one that is free.")] = 8765,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="NAMMD_MONITOR_TOKEN",
            metavar="TOKEN",
            help="What a reader must know. Better in the variable than on the command line.",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="A further name by which browsers may ask for it."),
    ] = None,
) -> None:
    """Show the page of a stream live, in a browser on this machine. Stop it with Ctrl-C.

    For example:
        nammd monitor serve shop.monitor
        NAMMD_MONITOR_TOKEN=$(openssl rand -hex 16) nammd monitor serve shop.monitor --host 0.0.0.0

    A new batch appears by itself; alarms can be acknowledged and notes written. Nothing is loaded from
    elsewhere and nothing is sent anywhere. Other machines are served with a token only, for reading too:
    reports hold rows of the data. The connection is not encrypted: put a proxy with TLS before it where that
    matters.

    Exit codes: 130 when it was interrupted, 2 error.
    """
    from nammd.monitor.serving.running import serve as listen

    listen(
        opened(monitor), host, port, token, tuple(name or ()), lambda address: print_line(f"Open {address}")
    )


def note(
    monitor: MonitorFile,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The note.")],
    key: Annotated[str | None, typer.Option(metavar="KEY", help="The batch that it is about.")] = None,
) -> None:
    """Write a note into the history, which the page shows.

    For example:
        nammd monitor note shop.monitor "the form changed" --key 2026-03-01

    Exit codes: 0 done, 2 error.
    """
    opened(monitor).note(text, key)
    print_line("The note is in the history.")


def acknowledge(
    monitor: MonitorFile,
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="What is to be said about it.")] = "",
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="The batch that opened the alarm; else all open ones.")
    ] = None,
    close: Annotated[
        bool, typer.Option("--close", help="Close all open alarms too, without waiting for proof.")
    ] = False,
    now: Now = None,
) -> None:
    """Acknowledge alarms: somebody has seen them. Those of data stay open until these are proven to be back.

    Silence and refused batches are closed by it.

    For example:
        nammd monitor acknowledge shop.monitor "a supplier changed units; fixed tomorrow"
        nammd monitor acknowledge shop.monitor "fixed" --close
        nammd monitor acknowledge shop.monitor "no trade that day" --key 2026-03-05

    Exit codes: 0 done, 2 error.
    """
    watched, when = opened(monitor), moment(now)
    count = watched.acknowledge(text, key, now=when)
    closed = watched.close(text, now=when) if close else 0
    if not count and not closed:
        raise ValueError("there is no alarm to acknowledge")
    done, number = ("closed", closed) if close else ("acknowledged", count)
    print_line(f"{number} {'alarm was' if number == 1 else 'alarms were'} {done}.")


def accept(
    monitor: MonitorFile,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY]...", help="Batches that were fine after all.")
    ] = None,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Why that is fine.")] = "",
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "--file",
            parser=place,
            metavar="FILE",
            help="The data: of the batches in their order, where their files are not where they were; or "
            "without a KEY any data.",
        ),
    ] = None,
) -> None:
    """Take data into what is accepted: from here on batches may be like them too.

    For example:
        nammd monitor accept shop.monitor 2026-12-24 --why "as every year"
        nammd monitor accept shop.monitor 2026-12-24 --why "as every year" --file archive/2026-12-24.parquet
        nammd monitor accept shop.monitor --file december.parquet --why "as every year"

    The history keeps no rows of batches: they are read from their files again, and must be the same. Open
    alarms of data are acknowledged and end; the evidence and the budget of false alarms start anew.

    Exit codes: 0 done, 2 error.
    """
    if not why.strip():
        raise ValueError("why is that fine? give --why TEXT, which is kept")
    names, files = list(keys or ()), list(file or ())
    if names and files and len(names) != len(files):
        raise ValueError("give --file once for each KEY, or leave KEY out")
    data = dict(zip(names or short_names(files), files, strict=True)) if files else names
    print_line(one_line(opened(monitor).accept(data, why)))


def forget(
    monitor: MonitorFile, key: Annotated[str, typer.Argument(metavar="KEY", help="The batch to remove.")]
) -> None:
    """Remove a batch from the history, as if it had never come. That it was there stays among the events.

    For example:
        nammd monitor forget shop.monitor 2026-03-01

    Exit codes: 0 done, 2 error.
    """
    watched = opened(monitor)
    watched.forget(key)
    print_line(one_line(f"The batch {key} was removed. {watched.state.headline()}"))


def change(
    monitor: MonitorFile,
    reference: Annotated[
        Path | None,
        typer.Option("--reference", "-r", parser=place, metavar="FILE", help="The new reference."),
    ] = None,
    tolerance: Annotated[
        Path | None, typer.Option("--tolerance", "-t", metavar="FILE", help="The new tolerance.")
    ] = None,
    grace: Annotated[
        str | None, typer.Option(metavar="N", help="How many further periods may end; see 'init'.")
    ] = None,
    days: Days = None,
    holidays: Holidays = None,
) -> None:
    """Hold the batches to come against another tolerance or reference, or expect them at other times.

    For example:
        nammd monitor change shop.monitor --reference train-2027.parquet --tolerance tolerance-2027.json
        nammd monitor change shop.monitor --holidays 2027.txt --days mon-fri

    With another tolerance or reference the evidence starts anew.

    Exit codes: 0 done, 2 error.
    """
    compared, expected = (reference, tolerance), (grace, days, holidays)
    if not any(each is not None for each in (*compared, *expected)):
        raise ValueError("what changes? give --reference, --tolerance, --grace, --days or --holidays")
    watched = opened(monitor)
    if any(each is not None for each in expected):
        was = watched.state.calendar
        watched.expect(
            grace=was.grace if grace is None else grace_of(grace),
            days=was.days if days is None else days,
            holidays=was.holidays if holidays is None else holidays_of(holidays),
        )
        print_line(f"{watched.state.calendar.sentence()}.")
    if any(each is not None for each in compared):
        watched.change(tolerance=tolerance, reference=None if reference is None else given(reference))
        print_line("From here on batches are held against that.")


def repair(
    monitor: MonitorFile,
    out: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The new file; by default one with .repaired in its name.",
        ),
    ] = None,
    *,
    output: OutputOptions,
) -> None:
    """Move what can be read of a damaged history into a new file, and tell what is missing there.

    For example:
        nammd monitor repair shop.monitor

    The damaged file stays as it is. Look at what is missing before you go on with the new one.

    Exit codes: 0 done, 2 error.
    """
    from nammd.monitor import Monitor

    done = Monitor.repair(monitor, out)
    if output.json:
        found = {"repaired": None if done.path is None else str(done.path), "missing": list(done.missing)}
        counts = {"batches": done.batches, "events": done.events}
        print_json("monitor repair", {**found, **counts})
    elif done.path is None:
        print_line(one_line(f"{monitor} is whole: there is nothing to repair."))
    else:
        lines = [("batches", f"{done.batches}"), *(("missing", words) for words in done.missing)]
        print_lines(one_line(f"What can be read is in {done.path}."), [(a, one_line(b)) for a, b in lines])
