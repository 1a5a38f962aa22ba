"""What a history comes to: the state of a stream, worked out from its batches every time it is asked for.

Nothing of it is stored. So a batch that came late, was corrected or was added twice leaves no trace in it,
but for the levels that are spent in the order of arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.monitor.batch import Batch
from nammd.monitor.keys import in_order
from nammd.monitor.rates import Spending
from nammd.monitor.records import Event
from nammd.monitor.replay import Snapshot
from nammd.statistics.alarms import Cause, Proofs, watch
from nammd.statistics.stream import running_mean, score
from nammd.tolerances.decision import Decision, decided


@dataclass(frozen=True)
class Told:
    """A batch with what it means in its stream.

    Attributes
    ----------
    batch : Batch
        What was found of it.
    level : float
        The level of its tests.
    decision : Decision
        What they say.
    evidence : float
        The logarithm of the evidence of the stream after it.
    mean, mean_low, mean_high : float
        The mean of the distances up to it, with an interval that holds at all times.
    """

    batch: Batch
    level: float
    decision: Decision
    evidence: float
    mean: float
    mean_low: float
    mean_high: float


@dataclass(frozen=True)
class StreamAlarm:
    """An alarm, by the keys of batches.

    Attributes
    ----------
    cause : {"batch", "stream"}
        Whether one batch is beyond the tolerance, or several together.
    opened, since : str
        The batch that opened it, and the one from which on the evidence was gathered.
    closed : str
        The batch that closed it; empty while it is open.
    acknowledged : str
        What was said when somebody acknowledged it; empty where nobody has.
    """

    cause: Cause
    opened: str
    since: str
    closed: str = ""
    acknowledged: str = ""

    @property
    def open(self) -> bool:
        """Whether it is open."""
        return not self.closed


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
        All alarms, in the order in which they were opened.
    events : tuple of Event
        What happened, in the order in which it happened.
    era : int
        What batches are held against now.
    population : bool
        Whether the stream's claim is about the population of the reference, and not about its rows.
    """

    title: str
    spending: Spending
    told: tuple[Told, ...] = field(repr=False)
    alarms: tuple[StreamAlarm, ...]
    events: tuple[Event, ...] = field(repr=False)
    era: int
    population: bool

    @property
    def open_alarms(self) -> tuple[StreamAlarm, ...]:
        """The alarms that are open."""
        return tuple(alarm for alarm in self.alarms if alarm.open)

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

    def counts(self, told: Sequence[Told] | None = None) -> dict[str, int]:
        """Return how many batches there are of each decision."""
        these = self.told if told is None else told
        return {decision.value: sum(t.decision is decision for t in these) for decision in Decision}

    @property
    def within_since(self) -> str:
        """The first batch after the last alarm; empty while one is open, or where nothing is proven."""
        if self.alarmed or not self.told:
            return ""
        start = max((self.places[alarm.closed] for alarm in self.alarms), default=0)
        proven = any(told.decision is Decision.CLOSE for told in self.told[start:])
        return self.told[start].batch.key if proven or self.alarms else ""

    def headline(self) -> str:
        """Return the state in a sentence."""
        if not self.told:
            return "No batch has been added yet."
        if self.alarmed:
            known = {alarm.opened for alarm in self.open_alarms if alarm.cause == "batch"}
            # What one batch shows by itself need not be said again of the batches since then.
            told = [a for a in self.open_alarms if a.cause == "batch" or a.since not in known]
            return " ".join(_alarm_words(alarm) for alarm in told)
        start = max((self.places[alarm.closed] for alarm in self.alarms), default=0)
        undecided = self.counts(self.told[start:])["UNDECIDED"]
        batches = "batch is" if undecided == 1 else "batches are"
        rest = f"; {undecided} {batches} undecided" if undecided else ""
        if self.within_since:
            return f"Within tolerance since {self.within_since}{rest}."
        return f"Nothing is proven yet{rest}, and there is no alarm."

    def to_dict(self) -> dict[str, Any]:
        """Return what a program may want to know, ready for JSON."""
        last = self.told[-1] if self.told else None
        return {
            "title": self.title,
            "state": self.headline(),
            "alarm": self.alarmed,
            "alarms": [
                {
                    "cause": alarm.cause,
                    "opened": alarm.opened,
                    "since": alarm.since,
                    "closed": alarm.closed or None,
                    "acknowledged": alarm.acknowledged or None,
                }
                for alarm in self.alarms
            ],
            "batches": len(self.told),
            "decisions": self.counts(),
            "rate": self.spending.to_dict() | {"line": self.spending.levels.line},
            "claim": "population" if self.population else "reference",
            "evidence": None if last is None else float(np.exp(min(last.evidence, 700.0))),
            "last": None if last is None else last.batch.key,
            "mean": None if last is None else [last.mean, last.mean_low, last.mean_high],
        }


def _alarm_words(alarm: StreamAlarm) -> str:
    seen = " (acknowledged)" if alarm.acknowledged else ""
    if alarm.cause == "batch":
        return f"Beyond tolerance since {alarm.opened}: that batch is FAR{seen}."
    return (
        f"Beyond tolerance since about {alarm.since}, relative to this reference: all batches up to "
        f"{alarm.opened} together say so{seen}."
    )


def state_of(history: Snapshot) -> State:
    """Work the state out from the batches."""
    spending = Spending.from_dict(history.settings)
    population = history.settings.get("claim") == "population"
    arrived = history.batches
    levels = _levels(arrived, spending)
    ordered = [arrived[i] for i in in_order([batch.key for batch in arrived])]
    told: dict[str, Told] = {}
    alarms: list[StreamAlarm] = []
    for era in sorted({batch.era for batch in ordered}):
        stream = [batch for batch in ordered if batch.era == era]
        found, raised = _stream(stream, [levels[b.key] for b in stream], spending, population, history.events)
        told |= {each.batch.key: each for each in found}
        alarms += raised
    current = history.eras[-1].number
    places = {batch.key: place for place, batch in enumerate(ordered)}
    # An alarm about what batches are not held against any more is over.
    beginnings = {b.era: b.key for b in reversed(ordered)}
    alarms = [
        replace(a, closed=beginnings.get(current, a.opened))
        if a.open and told[a.opened].batch.era != current
        else a
        for a in alarms
    ]
    seen = [_acknowledged(alarm, history.events, places) for alarm in alarms]
    return State(
        title=history.title,
        spending=spending,
        told=tuple(told[batch.key] for batch in ordered),
        alarms=tuple(sorted(seen, key=lambda alarm: (places[alarm.opened], alarm.cause))),
        events=history.events,
        era=current,
        population=population,
    )


def _levels(arrived: Sequence[Batch], spending: Spending) -> dict[str, float]:
    """Return the level of every batch: tests spend in the order in which they were made."""
    levels = spending.levels.levels(_pvalues(arrived, max((batch.number for batch in arrived), default=0)))
    return {batch.key: levels[batch.number - 1] for batch in arrived}


def next_level(history: Snapshot) -> float:
    """Return the level of the next test."""
    pvalues = _pvalues(history.batches, history.tests)
    return Spending.from_dict(history.settings).levels.levels([*pvalues, 1.0])[-1]


def _pvalues(arrived: Sequence[Batch], tests: int) -> list[float]:
    """Return the p-values of all tests in their order; of batches that are gone nothing is known."""
    found = [float("nan")] * tests
    for batch in arrived:
        found[batch.number - 1] = batch.pvalue_beyond
    return found


def _stream(
    stream: Sequence[Batch],
    levels: Sequence[float],
    spending: Spending,
    population: bool,
    events: Sequence[Event],
) -> tuple[list[Told], list[StreamAlarm]]:
    decisions = [_decision(batch, level) for batch, level in zip(stream, levels, strict=True)]
    above, below = _scores(stream, population)
    closed: dict[str, set[str]] = {}
    for event in events:
        if event.kind == "closed by hand":
            closed.setdefault(event.key, set()).add(event.cause)
    far = [decision is Decision.FAR for decision in decisions]
    proofs = Proofs(
        far=far,
        close=[decision is Decision.CLOSE for decision in decisions],
        apart=[f and not b.pvalue_far <= level for f, b, level in zip(far, stream, levels, strict=True)],
        by_hand=[closed.get(batch.key, ()) for batch in stream],
    )
    seen = watch(above, below, proofs, spending.levels)
    values, errors = (np.array([getattr(b, name) for b in stream]) for name in ("distance", "error"))
    mean = running_mean(values, errors, stream[-1].epsilon)
    told = [
        Told(
            batch,
            levels[t],
            decisions[t],
            *(float(a[t]) for a in (seen.evidence, mean.value, mean.low, mean.high)),
        )
        for t, batch in enumerate(stream)
    ]
    keys = [batch.key for batch in stream]
    alarms = [
        StreamAlarm(a.cause, keys[a.opened], keys[a.since], "" if a.closed is None else keys[a.closed])
        for a in seen.alarms
    ]
    return told, alarms


def _decision(batch: Batch, level: float) -> Decision:
    against = {kind for kind, _ in batch.failures}
    return decided(batch.pvalue_close, batch.pvalue_beyond, level, against=against)


def _scores(stream: Sequence[Batch], population: bool) -> tuple[FloatArray, FloatArray]:
    """Return the scores of "beyond" and of "within"."""

    def of(sign: float) -> FloatArray:
        return np.array(
            [score(sign * b.u, b.given, b.features, b.reference if population else 0.0) for b in stream]
        )

    return of(1.0), of(-1.0)


def _acknowledged(alarm: StreamAlarm, events: Sequence[Event], places: dict[str, int]) -> StreamAlarm:
    """Tell whether somebody has acknowledged an alarm: at a batch between its beginning and its end."""
    start = places[alarm.since]
    end = places[alarm.closed] if alarm.closed else len(places)
    for event in reversed(events):
        here = event.kind == "acknowledged" and event.cause == alarm.cause
        if here and start <= places.get(event.key, -1) <= end:
            return replace(alarm, acknowledged=event.text or "seen")
    return alarm
