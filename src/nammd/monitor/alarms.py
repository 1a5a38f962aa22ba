"""What a change of the batches does to the alarms, the events that tell of them, and who is told."""

from __future__ import annotations

import datetime
import json
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from nammd.errors.advice import Advice, refusal
from nammd.monitor.batch import Batch
from nammd.monitor.history import Writer
from nammd.monitor.measuring import MeasuredBatch
from nammd.monitor.pooling import WINDOWS, members
from nammd.monitor.records import Era, Event, EventKind
from nammd.monitor.replay import Snapshot, version_of
from nammd.monitor.state import State, alarms_of, state_of
from nammd.monitor.stream import StreamAlarm
from nammd.monitor.verdict import BatchVerdict
from nammd.monitor.words import alarm_words, closed_words, opened_words, withdrawn_words
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
    writer: Writer, measured: MeasuredBatch, replacing: bool, at: str, known: State | None = None
) -> tuple[tuple[Event, ...] | None, State]:
    """Store a batch; return the events and the state, or no events where the batch is there already.

    Another process may have changed the history since the batch was checked, and since the state was `known`.
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
    return follow(writer, at, seen, seen.with_batch(stored), known)


def follow(
    writer: Writer, at: str, was: Snapshot, now: Snapshot, known: State | None = None
) -> tuple[tuple[Event, ...], State]:
    """Tell what became of the alarms after a change; return the new events and the new state.

    Where the state before it is `known`, it need not be worked out again.
    """
    still = None if known is None or known.version != was.version else known.data_alarms
    before, after = alarms_of(was) if still is None else still, state_of(now)
    said: list[tuple[EventKind, StreamAlarm, str]] = []
    for alarm in after.data_alarms:
        earlier = _same_alarm(alarm, before, after.places)
        if earlier is None or (alarm.open and not earlier.open):
            said.append(("alarm opened", alarm, opened_words(alarm, after)))
        if not alarm.open and (earlier is None or earlier.open):
            said.append(("alarm closed", alarm, closed_words(alarm)))
    for alarm in before:
        if _same_alarm(alarm, after.data_alarms, after.places) is None:
            said.append(("alarm withdrawn", alarm, withdrawn_words(alarm)))
    new = tuple(writer.event(at, kind, alarm.opened, alarm.cause, words) for kind, alarm, words in said)
    return new, replace(after, events=(*after.events, *new), version=version_of(writer.head))


def refuse(writer: Writer, at: str, key: str, text: str) -> Event | None:
    """Note that a batch could not be taken; None where just that is known already."""
    known = writer.replay.refused.get(key)
    if known is not None and known.text == text:
        return None
    return writer.event(at, "batch refused", key, "refused", text)


def untold_silence(state: State) -> list[StreamAlarm]:
    """Return the silence that nobody has been told of.

    A gap that has grown since, or of which a part has come, is the same one.
    """
    told = [
        state.calendar.numbers(event.key)
        for event in state.events
        if (event.kind, event.cause) == ("alarm opened", "silence")
    ]
    new = []
    for alarm in state.open_alarms:
        here = state.calendar.numbers(alarm.opened) if alarm.cause == "silence" else None
        if here is not None and not any(span and span[0] <= here[0] <= span[1] for span in told):
            new.append(alarm)
    return new


def note_silence(writer: Writer, at: str, now: datetime.datetime | None) -> tuple[tuple[Event, ...], State]:
    """Note that somebody is told of silence; return the events, and the state."""
    state = state_of(writer.read(), now)
    new = tuple(
        writer.event(at, "alarm opened", alarm.opened, alarm.cause, alarm_words(alarm, state))
        for alarm in untold_silence(state)
    )
    return new, replace(state, events=(*state.events, *new))


def close(writer: Writer, at: str, text: str, now: datetime.datetime | None = None) -> int:
    """Close the alarms that are open, as of the last batch; return how many."""
    state = state_of(writer.read(), now)
    for cause in sorted({alarm.cause for alarm in state.open_alarms if alarm.of_data}):
        writer.event(at, "closed by hand", state.told[-1].batch.key, cause, text)
    for alarm in state.open_alarms:
        if not alarm.of_data:
            writer.event(at, "acknowledged", alarm.opened, alarm.cause, text)
    return len(state.open_alarms)


def acknowledge(
    writer: Writer, at: str, text: str, key: str | None, now: datetime.datetime | None = None
) -> int:
    """Acknowledge the alarms that are open, or those of a batch; return how many."""
    state = state_of(writer.read(), now)
    found = [
        alarm
        for alarm in state.alarms
        if (alarm.open if key is None else key in (alarm.opened, alarm.since)) and not alarm.acknowledged
    ]
    for alarm in found:
        writer.event(at, "acknowledged", alarm.opened, alarm.cause, text)
    return len(found)


def _same_alarm(
    alarm: StreamAlarm, others: Sequence[StreamAlarm], places: Mapping[str, int]
) -> StreamAlarm | None:
    """Return the alarm of another state that is the same one: of the same cause, at the same time."""

    def span(each: StreamAlarm) -> tuple[int, int]:
        opened = places.get(each.opened, -1)
        start = places.get(each.since, opened)
        return start, places.get(each.closed, len(places)) if each.closed else len(places)

    first, last = span(alarm)
    for other in others:
        start, end = span(other)
        if other.cause == alarm.cause and start <= last and first <= end:
            return other
    return None


TIME_LIMIT = 30.0
"""Seconds that the program may take."""

OnAlarm: TypeAlias = str | Sequence[str] | Callable[[dict[str, Any]], Any] | None


_TOLD = ("key", "decision", "level", "distance", "interval", "epsilon", "reasons")


def tell(on_alarm: OnAlarm, path: Path, result: BatchVerdict) -> BatchVerdict:
    """Tell of the alarms that a batch opened; return its verdict with a caution about what went wrong."""
    opened = [event for event in result.events if event.kind == "alarm opened"]
    if on_alarm is None or not opened:
        return result
    found = result.to_dict()
    about = {
        "monitor": str(path.resolve()),
        "state": result.state.headline(),
        "batch": {name: found[name] for name in _TOLD},
    }
    troubles = [trouble for event in opened if (trouble := alert(on_alarm, event, about))]
    cautions = [
        Caution("alert-failed", f"{trouble}; the batch was added all the same") for trouble in troubles
    ]
    return replace(result, cautions=(*result.cautions, *cautions))


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
