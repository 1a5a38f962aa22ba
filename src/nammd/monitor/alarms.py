"""What a change of the batches does to the alarms, the events that tell of them, and who is told."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from nammd.errors.advice import Advice, refusal
from nammd.monitor.batch import Batch
from nammd.monitor.history import Writer
from nammd.monitor.measuring import MeasuredBatch
from nammd.monitor.pooling import WINDOWS, members
from nammd.monitor.records import Era, Event, EventKind
from nammd.monitor.replay import Snapshot
from nammd.monitor.state import State, StreamAlarm, state_of
from nammd.monitor.verdict import BatchVerdict
from nammd.results import Caution


def same(there: Batch, digest: str, era: Era) -> bool:
    """Tell whether a batch is there already: the same rows, held against the same."""
    return there.digest == digest and there.era == era.number


def refused(key: str) -> ValueError:
    """Return the error that says that a key is taken by other data."""
    return refusal(
        ValueError,
        f"there is a batch {key!r} already, with other data or held against something else",
        Advice("give replace=True to put these in its place", "give --replace to put these in its place"),
    )


def is_there(seen: Snapshot, key: str, digest: str, replace: bool) -> bool:
    """Tell whether a batch is there already; other data under its key are refused, unless they replace it."""
    there = seen.batch(key)
    if there is None or same(there, digest, seen.eras[-1]):
        return there is not None
    if not replace:
        raise refused(key)
    return False


def store(
    writer: Writer, measured: MeasuredBatch, replacing: bool, at: str
) -> tuple[tuple[Event, ...] | None, State]:
    """Store a batch; return the events and the state, or no events where the batch is there already.

    Another process may have changed the history since the batch was checked.
    """
    batch, seen = measured.batch, writer.read()
    if batch.era != seen.eras[-1].number:
        raise ValueError(
            "the tolerance or the reference was changed while the batch was checked; add it again"
        )
    if is_there(seen, batch.key, batch.digest, replacing):
        return None, state_of(seen)
    if seen.batch(batch.key) is not None:
        words = f"Other data took the place of {batch.key}."
        seen = seen.with_events(writer.event(at, "batch replaced", batch.key, text=words))
    stored = writer.insert(batch, measured.sums)
    writer.keep_sums_of(lambda keys: members(keys, WINDOWS[-1])[0])
    return follow(writer, at, seen, seen.with_batch(stored))


def follow(writer: Writer, at: str, was: Snapshot, now: Snapshot) -> tuple[tuple[Event, ...], State]:
    """Tell what became of the alarms after a change; return the new events and the new state."""
    before, after = state_of(was), state_of(now)
    kinds: list[tuple[EventKind, StreamAlarm]] = []
    for alarm in after.alarms:
        earlier = _same_alarm(alarm, before, after)
        if earlier is None:
            kinds.append(("alarm opened", alarm))
        if not alarm.open and (earlier is None or earlier.open):
            kinds.append(("alarm closed", alarm))
        if alarm.open and earlier is not None and not earlier.open:
            kinds.append(("alarm opened", alarm))
    kinds += [
        ("alarm withdrawn", alarm) for alarm in before.alarms if _same_alarm(alarm, after, after) is None
    ]
    new = tuple(
        writer.event(at, kind, alarm.opened, alarm.cause, _words(kind, alarm, now)) for kind, alarm in kinds
    )
    return new, replace(after, events=(*after.events, *new))


def close(writer: Writer, at: str, text: str) -> int:
    """Close the alarms that are open, as of the last batch; return how many."""
    state = state_of(writer.read())
    causes = {alarm.cause for alarm in state.open_alarms}
    for cause in sorted(causes):
        writer.event(at, "closed by hand", state.told[-1].batch.key, cause, text)
    return len(causes)


def acknowledge(writer: Writer, at: str, text: str, key: str | None) -> int:
    """Acknowledge the alarms that are open, or that of a batch; return how many."""
    state = state_of(writer.read())
    found = [
        alarm
        for alarm in state.alarms
        if (alarm.open if key is None else alarm.opened == key) and not alarm.acknowledged
    ]
    for alarm in found:
        writer.event(at, "acknowledged", alarm.opened, alarm.cause, text)
    return len(found)


def _same_alarm(alarm: StreamAlarm, others: State, order: State) -> StreamAlarm | None:
    """Return the alarm of another state that is the same one: of the same cause, at the same time."""

    def span(each: StreamAlarm) -> tuple[int, int]:
        places = order.places
        opened = places.get(each.opened, -1)
        start = places.get(each.since, opened)
        return start, places.get(each.closed, len(places)) if each.closed else len(places)

    first, last = span(alarm)
    for other in others.alarms:
        start, end = span(other)
        if other.cause == alarm.cause and start <= last and first <= end:
            return other
    return None


_WORDS: dict[tuple[str, str], str] = {
    ("alarm opened", "batch"): "The batch {opened} is beyond the tolerance.",
    (
        "alarm opened",
        "stream",
    ): "The batches since about {since} are beyond the tolerance, relative to this reference.",
    ("alarm closed", "batch"): "Within the tolerance again by {closed}.",
    ("alarm closed", "stream"): "Within the tolerance again by {closed}.",
    ("alarm withdrawn", "batch"): "The alarm of {opened} does not stand any more: the batches have changed.",
    ("alarm withdrawn", "stream"): "The alarm of {opened} does not stand any more: the batches have changed.",
}


def _words(kind: EventKind, alarm: StreamAlarm, now: Snapshot) -> str:
    words = _WORDS[kind, alarm.cause].format(opened=alarm.opened, since=alarm.since, closed=alarm.closed)
    if (kind, alarm.cause) == ("alarm opened", "batch") and (batch := now.batch(alarm.opened)) is not None:
        moved = "; ".join(each.words for each in batch.columns if each.words)
        words = f"{words.removesuffix('.')}: {moved}." if moved else words
    return words


TIME_LIMIT = 30.0
"""Seconds that the program may take."""

OnAlarm: TypeAlias = str | Sequence[str] | Callable[[dict[str, Any]], Any] | None


_TOLD = ("key", "decision", "level", "distance", "interval", "epsilon", "columns")


def tell(on_alarm: OnAlarm, path: Path, result: BatchVerdict) -> BatchVerdict:
    """Tell of the alarms that a batch opened; return its verdict with a caution about what went wrong."""
    if on_alarm is None:
        return result
    found = result.to_dict()
    about = {
        "monitor": str(path.resolve()),
        "state": result.state.headline(),
        "batch": {name: found[name] for name in _TOLD},
    }
    opened = [event for event in result.events if event.kind == "alarm opened"]
    troubles = [trouble for event in opened if (trouble := alert(on_alarm, event, about))]
    cautions = [
        Caution("alert-failed", f"{trouble}; the batch was added all the same") for trouble in troubles
    ]
    return replace(result, warnings=(*result.warnings, *cautions))


def alert(on_alarm: OnAlarm, event: Event, about: dict[str, Any], limit: float = TIME_LIMIT) -> str:
    """Tell of an event; return what went wrong, or an empty text. It never raises: a batch is added by then.

    Parameters
    ----------
    on_alarm : str, sequence of str or callable
        A command with its arguments, which is run without a shell; or a function of the event.
    event : Event
        What happened.
    about : dict
        What else the program is told: the monitor, and the state of the stream.
    limit : float
        Seconds that a command may take.
    """
    told = {"event": event.to_dict(), **about}
    try:
        if callable(on_alarm):
            on_alarm(told)
            return ""
        command = (
            shlex.split(on_alarm) if isinstance(on_alarm, str) else [str(word) for word in on_alarm or ()]
        )
        if not command:
            return "the command for alarms is empty"
        done = subprocess.run(
            command, input=json.dumps(told), text=True, timeout=limit, check=False, stdout=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return f"the command for alarms took longer than {limit:g} s and was stopped"
    except Exception as error:
        return f"the command for alarms failed: {type(error).__name__}: {error}"
    return "" if done.returncode == 0 else f"the command for alarms failed with exit code {done.returncode}"
