"""The state of a stream in words, and as plain values: what is proven, from when, and by which evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nammd.monitor.calendar import PERIODS, Gap

if TYPE_CHECKING:
    from nammd.monitor.state import State
    from nammd.monitor.stream import StreamAlarm, Told


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "batch"), counted(2, "batch"), counted(3, "day")
    ('1 batch', '2 batches', '3 days')
    """
    ending = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count} {noun}{ending}"


def headline(state: State) -> str:
    """Return the state in a sentence or two."""
    if state.alarmed:
        return " ".join(_alarmed(state))
    if not state.told:
        return "No batch has been added yet."
    if not state.current:
        return f"No batch has been held against the new tolerance yet; it holds since {state.era.since[:10]}."
    last = state.current[-1]
    if last.side == "within":
        return _within(state, last)
    if last.side == "beyond":
        together = window_name(state, last)
        return f"Not within tolerance: {together} are beyond it, which is no alarm yet."
    return _open(state, last)


def window_name(state: State, told: Told) -> str:
    """Return what the batches are called that prove something together."""
    place = next(k for k in range(len(state.current) - 1, -1, -1) if state.current[k] is told)
    keys = [each.batch.key for each in state.current[place + 1 - told.by : place + 1]]
    unit = state.calendar.every
    noun = unit if unit in PERIODS and state.calendar.unbroken(keys) else "batch"
    return f"the last {counted(told.by, noun)} together"


def _within(state: State, last: Told) -> str:
    how = f": {last.batch.key} is CLOSE" if last.by == 1 else f", by {window_name(state, last)}"
    more = f"; without a gap since {state.within_since}" if state.covered > last.by else ""
    about = "" if last.by == 1 or state.population else ", relative to this reference"
    return f"Within tolerance{how}{about}{more}."


def _open(state: State, last: Told) -> str:
    """Say that the last batches prove nothing, how many, and what was proven before them."""
    sides = [told.side for told in state.current]
    before = next((k for k in range(len(sides) - 1, -1, -1) if sides[k]), None)
    rest = state.current if before is None else state.current[before + 1 :]
    quiet = sum(told.quiet for told in rest)
    said = []
    if quiet:
        said.append(f"{counted(quiet, 'batch')} {'is' if quiet == 1 else 'are'} quiet")
    if quiet < len(rest):
        others = len(rest) - quiet
        said.append(f"{counted(others, 'batch')} {'is' if others == 1 else 'are'} undecided")
    since = " and ".join(said)
    if before is None:
        return f"Nothing is proven yet: {since}."
    key = state.current[before].batch.key
    if sides[before] == "within":
        return f"No alarm: within tolerance up to {key}; since then {since}, which proves nothing."
    return f"No alarm, and nothing is proven since {key}: {since}."


def alarm_name(alarm: StreamAlarm) -> str:
    """Return what an alarm is called.

    >>> from nammd.monitor.stream import StreamAlarm
    >>> alarm_name(StreamAlarm("batch", "2026-03-02", "2026-03-02", view="income"))
    'column income of 2026-03-02'
    """
    if alarm.cause == "batch":
        what = {"": "batch ", "a fact": "a fact about "}.get(alarm.view, f"column {alarm.view} of ")
        return f"{what}{alarm.opened}"
    names = {"stream": "the stream since about ", "silence": "silence ", "refused": "refused batch "}
    return f"{names[alarm.cause]}{alarm.since if alarm.cause == 'stream' else alarm.opened}"


def alarm_words(alarm: StreamAlarm, state: State) -> str:
    """Say what an open alarm is about."""
    seen = " (acknowledged)" if alarm.acknowledged else ""
    if alarm.cause == "refused":
        return f"The batch {alarm.opened} was refused: {alarm.text.rstrip('.')}."
    if alarm.cause == "silence":
        return _silence([gap for gap in state.gaps if gap.name == alarm.opened], state.calendar.every)
    if alarm.cause == "stream":
        about = "the population" if state.population else "this reference"
        return (
            f"In alarm since {alarm.opened}: the batches from about {alarm.since} to then are beyond "
            f"tolerance together, relative to {about}{seen}."
        )
    reason = {"": "", "a fact": " by a fact"}.get(alarm.view, f" by column {alarm.view}")
    since = state.told[state.places[alarm.opened] + 1 :]
    if not since:
        return f"Beyond tolerance: {alarm.opened} is FAR{reason}{seen}."
    far = sum(told.word == "FAR" for told in since)
    as_well = f", and so {'is' if far == 1 else 'are'} {far} of the {len(since)} since" if far else ""
    return f"In alarm since {alarm.opened}: that batch is FAR{reason}{as_well}{seen}."


def _alarmed(state: State) -> list[str]:
    """Say what all open alarms are about, a sentence for each kind."""
    opened = state.open_alarms
    known = {alarm.opened for alarm in opened if alarm.cause == "batch"}
    # What one batch shows by itself need not be said again of the batches since then.
    data = [a for a in opened if a.cause == "batch" or (a.cause == "stream" and a.since not in known)]
    said = [alarm_words(alarm, state) for alarm in data]
    if data and any(alarm.opened != state.told[-1].batch.key for alarm in data):
        said.append("That the data are back is not proven.")
    if gaps := [gap for gap in state.gaps if not gap.acknowledged]:
        said.append(_silence(gaps, state.calendar.every))
    refused = [alarm for alarm in opened if alarm.cause == "refused"]
    if len(refused) > 1:
        said.append(f"{counted(len(refused), 'batch')} were refused: {_some([a.opened for a in refused])}.")
    return [*said, *(alarm_words(alarm, state) for alarm in refused if len(refused) == 1)]


def _silence(gaps: Sequence[Gap], every: str) -> str:
    missing = sum(gap.missing for gap in gaps)
    verb = "is" if missing == 1 else "are"
    return f"Silence: {counted(missing, every)} {verb} missing, {_some([gap.name for gap in gaps])}."


def _some(names: Sequence[str], most: int = 3) -> str:
    """Return some names in a row.

    >>> _some(["a", "b"]), _some(list("abcde"))
    ('a and b', 'a, b, c and 2 more')
    """
    shown = [*names] if len(names) <= most else [*names[:most], f"{len(names) - most} more"]
    return " and ".join(", ".join(part) for part in (shown[:-1], shown[-1:]) if part)


def opened_words(alarm: StreamAlarm, state: State) -> str:
    """Say that an alarm of data was opened, and by what."""
    if alarm.cause == "stream":
        about = "the population" if state.population else "this reference"
        return (
            f"The batches since about {alarm.since} are beyond the tolerance together, relative to {about}."
        )
    told = state.told[state.places[alarm.opened]]
    moved = "; ".join(told.batch.reasons(told.level, facts=1))
    what = f"The batch {alarm.opened} is beyond the tolerance"
    if alarm.view and alarm.view != "a fact":
        what = f"The column {alarm.view} of {alarm.opened} is beyond its tolerance"
    return f"{what}: {moved}."


def closed_words(alarm: StreamAlarm) -> str:
    """Say that an alarm of data is over, and by which proof."""
    over = f"The alarm of {alarm_name(alarm)} is over"
    if alarm.by == "batch":
        return f"{over}: {alarm.closed} is CLOSE."
    if alarm.by == "stream" and alarm.proof == alarm.closed:
        return f"{over}: the evidence of {alarm.closed} alone is that it is within the tolerance."
    if alarm.by == "stream":
        return f"{over}: the batches from {alarm.proof} to {alarm.closed} together are within the tolerance."
    return f"{over}: {'somebody closed it' if alarm.by == 'hand' else 'what is accepted has changed'}."


def withdrawn_words(alarm: StreamAlarm) -> str:
    """Say that an alarm does not stand any more."""
    return f"The alarm of {alarm_name(alarm)} does not stand any more: the batches have changed."


def as_values(state: State) -> dict[str, Any]:
    """Return what a program may want to know, ready for JSON."""
    last = state.told[-1] if state.told else None
    recent = state.told[-state.window :]
    return {
        "title": state.title,
        "state": state.headline(),
        "alarm": state.alarmed,
        "alarms": [
            {
                "name": alarm_name(alarm),
                "cause": alarm.cause,
                "opened": alarm.opened,
                "since": alarm.since,
                "closed": alarm.closed or None,
                "acknowledged": alarm.acknowledged or None,
                "text": alarm_words(alarm, state) if alarm.open else closed_words(alarm),
            }
            for alarm in state.alarms
        ],
        "batches": len(state.told),
        "decisions": state.counts(),
        "within_since": state.within_since or None,
        "window": _window_values(state),
        "silence": [{"first": gap.first, "last": gap.last, "missing": gap.missing} for gap in state.gaps],
        "expected": {"every": state.calendar.every} | state.calendar.to_dict(),
        "like": {told.batch.key: told.batch.settings.get("like", {}) for told in recent},
        "rate": state.spending.to_dict() | {"line": state.spending.levels.line},
        "claim": "population" if state.population else "reference",
        "holds_since": state.era.since,
        "evidence": None if last is None else float(np.exp(min(last.evidence, 700.0))),
        "last": None if last is None else last.batch.key,
        "mean": None if last is None else [last.mean, last.mean_low, last.mean_high],
    }


def _window_values(state: State) -> dict[str, Any]:
    """Return what the last batches prove, together or the last by itself."""
    if not state.current:
        return {"most": state.window, "proven": None, "batches": 0, "first": None}
    last = state.current[-1]
    first = state.current[-last.by].batch.key if last.by else None
    return {"most": state.window, "proven": last.side or None, "batches": last.by, "first": first}
