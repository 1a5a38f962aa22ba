"""What a history comes to: the state of a stream, worked out from its batches every time it is asked for.

Nothing of it is stored. So a batch that came late, was corrected or was added twice leaves no trace in it,
but for the levels that are spent in the order of arrival.

Each batch is tested by itself, and together with those before it (`statistics.window`); all batches are
evidence (`statistics.alarms`). An alarm has one of four causes: a batch, the stream, silence where batches
were expected (`calendar`), and a batch that was refused. The first two end with proof, the others when the
batch comes or somebody acknowledges them. `words` says all of it in sentences.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from nammd.monitor import words
from nammd.monitor.batch import Batch
from nammd.monitor.calendar import Calendar, Gap
from nammd.monitor.collecting import without_collecting
from nammd.monitor.keys import in_order
from nammd.monitor.rates import Spending
from nammd.monitor.records import Era, Event
from nammd.monitor.replay import Snapshot
from nammd.monitor.stream import QUIET, Stream, StreamAlarm, Told
from nammd.statistics.alarms import Watch
from nammd.tolerances.decision import Decision

__all__ = ["State", "StreamAlarm", "Told", "alarms_of", "next_level", "state_of"]


@dataclass(frozen=True)
class State:
    """The state of a stream.

    Attributes
    ----------
    title : str
        What is watched.
    spending : Spending
        What may go wrong.
    told : tuple of Told
        The batches in the order of the stream.
    alarms : tuple of StreamAlarm
        All alarms: those of data in the order in which they were opened, then silence and refused batches.
    events : tuple of Event
        What happened, in the order in which it happened.
    era : Era
        What batches are held against now.
    population : bool
        Whether the stream's claim is about the population of the reference, and not about its rows.
    window : int
        How many batches are taken together at most.
    calendar : Calendar
        When batches are expected.
    gaps : tuple of Gap
        Those that have not come.
    version : str
        That of the history that it was worked out from; see `Snapshot`.
    """

    title: str
    spending: Spending
    told: tuple[Told, ...] = field(repr=False)
    alarms: tuple[StreamAlarm, ...]
    events: tuple[Event, ...] = field(repr=False)
    era: Era = field(repr=False)
    population: bool
    window: int
    calendar: Calendar
    gaps: tuple[Gap, ...]
    version: str = field(repr=False, compare=False)

    @property
    def open_alarms(self) -> tuple[StreamAlarm, ...]:
        """The alarms that are open."""
        return tuple(alarm for alarm in self.alarms if alarm.open)

    @property
    def data_alarms(self) -> list[StreamAlarm]:
        """The alarms about data that have come."""
        return [alarm for alarm in self.alarms if alarm.of_data]

    @property
    def alarmed(self) -> bool:
        """Whether an alarm is open."""
        return bool(self.open_alarms)

    @property
    def line(self) -> float:
        """The logarithm of the evidence at which the stream is in alarm."""
        return float(np.log(self.spending.levels.line))

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of every batch in the stream, by its key."""
        return {told.batch.key: place for place, told in enumerate(self.told)}

    @cached_property
    def current(self) -> tuple[Told, ...]:
        """The batches that were held against what holds now."""
        return tuple(told for told in self.told if told.batch.era == self.era.number)

    def counts(self, told: Sequence[Told] | None = None) -> dict[str, int]:
        """Return how many batches there are of each word."""
        said = [each.word for each in (self.told if told is None else told)]
        return {word: said.count(word) for word in (*(d.value for d in Decision), QUIET)}

    @cached_property
    def covered(self) -> int:
        """How many of the last batches are proven to be within: each by itself, or in such a window.

        Zero where the last one is not.
        """
        end = start = len(self.current)
        if not end or self.current[-1].side != "within":
            return 0
        keys = {told.batch.key: place for place, told in enumerate(self.current)}
        first = max((keys.get(alarm.proof, 0) for alarm in self.alarms if alarm.of_data), default=0)
        for place in range(end - 1, first - 1, -1):
            if place < start - 1:
                break
            if self.current[place].side == "within":
                start = min(start, max(place + 1 - self.current[place].by, first))
        return end - start

    @property
    def within_since(self) -> str:
        """The first batch from which on all are proven to be within; empty in an alarm, or without proof."""
        if self.alarmed or not self.covered:
            return ""
        return self.current[-self.covered].batch.key

    def headline(self) -> str:
        """Return the state in a sentence or two."""
        return words.headline(self)

    def to_dict(self) -> dict[str, Any]:
        """Return what a program may want to know, ready for JSON."""
        return words.as_values(self)


@without_collecting()
def state_of(history: Snapshot, now: datetime.datetime | None = None) -> State:
    """Work the state out from the batches.

    Parameters
    ----------
    history : Snapshot
        The history.
    now : datetime, optional
        The time, for batches that are late. By default that of the last batch, so that the same history has
        the same state at any time.
    """
    spending = Spending.from_dict(history.settings)
    ordered, streams = _watched(history, spending)
    window = int(history.settings["window"])
    told = {each.batch.key: each for stream, seen in streams for each in stream.told(seen, window)}
    current = history.eras[-1]
    known = _alarms(history, ordered, streams)
    gaps = _gaps(history, [batch.key for batch in ordered], now)
    return State(
        title=history.title,
        spending=spending,
        told=tuple(told[batch.key] for batch in ordered),
        alarms=(*known, *map(_of_gap, gaps), *map(_of_refused, history.refused)),
        events=history.events,
        era=current,
        population=_of_population(history),
        window=window,
        calendar=history.calendar,
        gaps=gaps,
        version=history.version,
    )


def alarms_of(history: Snapshot) -> list[StreamAlarm]:
    """Return the alarms about data that have come, without all that else is told of every batch."""
    return _alarms(history, *_watched(history, Spending.from_dict(history.settings)))


def _of_population(history: Snapshot) -> bool:
    return bool(history.settings.get("claim") == "population")


def _watched(history: Snapshot, spending: Spending) -> tuple[list[Batch], list[tuple[Stream, Watch]]]:
    """Return the batches in the order of the stream, and what those of every era come to."""
    arrived, levels = history.batches, _levels(history, spending)
    ordered = [arrived[i] for i in in_order([batch.key for batch in arrived])]
    streams = []
    for era in sorted({batch.era for batch in ordered}):
        own = [batch for batch in ordered if batch.era == era]
        stream = Stream(own, levels, _of_population(history))
        streams.append((stream, stream.watched(spending, history.events)))
    return ordered, streams


def _alarms(
    history: Snapshot, ordered: Sequence[Batch], streams: Sequence[tuple[Stream, Watch]]
) -> list[StreamAlarm]:
    """Return the alarms about data in the order in which they were opened, with what people said of them."""
    alarms = [stream.alarm(each) for stream, seen in streams for each in seen.alarms]
    current = history.eras[-1]
    places = {batch.key: place for place, batch in enumerate(ordered)}
    # An alarm about what batches are not held against any more is over.
    beginnings = {b.era: b.key for b in reversed(ordered)}
    alarms = [
        replace(a, closed=beginnings.get(current.number, a.opened), by="change")
        if a.open and ordered[places[a.opened]].era != current.number
        else a
        for a in alarms
    ]
    known = [_acknowledged(alarm, history.events, places) for alarm in alarms]
    return sorted(known, key=lambda alarm: (places[alarm.opened], alarm.cause))


def _levels(history: Snapshot, spending: Spending) -> dict[str, float]:
    """Return the level of every batch: tests spend in the order of arrival, in every era anew."""
    found: dict[str, float] = {}
    for era in history.eras:
        batches = [batch for batch in history.batches if batch.era == era.number]
        tests = max((batch.number for batch in batches), default=era.tests) - era.tests
        levels = spending.levels.levels(_pvalues(batches, era.tests, tests))
        found |= {batch.key: levels[batch.number - era.tests - 1] for batch in batches}
    return found


def next_level(history: Snapshot) -> float:
    """Return the level of the next test."""
    era = history.eras[-1]
    batches = [batch for batch in history.batches if batch.era == era.number]
    pvalues = _pvalues(batches, era.tests, history.tests - era.tests)
    return Spending.from_dict(history.settings).levels.levels([*pvalues, 1.0])[-1]


def _pvalues(batches: Sequence[Batch], before: int, tests: int) -> list[float]:
    """Return the p-values of all tests in their order; of batches that are gone nothing is known."""
    found = [float("nan")] * tests
    for batch in batches:
        found[batch.number - before - 1] = batch.pvalue
    return found


def _gaps(history: Snapshot, keys: Sequence[str], now: datetime.datetime | None) -> tuple[Gap, ...]:
    """Return the batches that have not come, those that somebody has acknowledged apart."""
    calendar = history.calendar
    if not calendar.expects:
        return ()
    came = max((batch.added for batch in history.batches), default=history.created)
    missing = [(first, last, "") for first, last in calendar.gaps(keys, came, now)]
    for event in history.events if missing else ():
        seen = calendar.numbers(event.key) if (event.kind, event.cause) == _SILENCE_SEEN else None
        if seen is not None:
            missing = [part for gap in missing for part in _parted(gap, *seen, event.text or "seen")]
    return tuple(calendar.named(*each) for each in missing)


_SILENCE_SEEN = ("acknowledged", "silence")


def _parted(gap: tuple[int, int, str], first: int, last: int, text: str) -> list[tuple[int, int, str]]:
    """Return the parts of a gap before, within and after what somebody has acknowledged."""
    start, end, said = gap
    parts = [
        (start, min(end, first - 1), said),
        (max(start, first), min(end, last), text),
        (max(start, last + 1), end, said),
    ]
    return [part for part in parts if part[0] <= part[1]]


def _of_gap(gap: Gap) -> StreamAlarm:
    closed = gap.name if gap.acknowledged else ""
    by = "hand" if gap.acknowledged else ""
    return StreamAlarm("silence", gap.name, gap.first, closed, gap.acknowledged, by=by)


def _of_refused(event: Event) -> StreamAlarm:
    return StreamAlarm("refused", event.key, event.key, text=event.text)


def _acknowledged(alarm: StreamAlarm, events: Sequence[Event], places: dict[str, int]) -> StreamAlarm:
    """Tell whether somebody has acknowledged an alarm: at a batch between its beginning and its end."""
    start = places[alarm.since]
    end = places[alarm.closed] if alarm.closed else len(places)
    for event in reversed(events):
        here = event.kind == "acknowledged" and event.cause == alarm.cause
        if here and start <= places.get(event.key, -1) <= end:
            return replace(alarm, acknowledged=event.text or "seen")
    return alarm
