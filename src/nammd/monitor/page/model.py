"""The page about a stream as plain values: what stands where, before anything is drawn."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass

from nammd.monitor.calendar import Gap
from nammd.monitor.keys import in_order, time_of
from nammd.monitor.pooling import Window
from nammd.monitor.records import Event
from nammd.monitor.state import State
from nammd.monitor.stream import QUIET, StreamAlarm, Told
from nammd.tolerances.decision import Decision

MARKS = 400
"""So many marks fit beside each other; where there are more batches, neighbours share one."""

ROWS = 400
"""So many batches are listed."""

MULTIPLES = 6
"""So many columns have a picture of their own."""

WORST = (Decision.FAR.value, Decision.UNDECIDED.value, QUIET, Decision.CLOSE.value)


LIKENESSES = 4
"""So many accepted datasets have a line of their own."""


@dataclass(frozen=True)
class Mark:
    """One place of the time line: a batch, or neighbours that share it.

    Attributes
    ----------
    place : float
        Where it is, from 0 to 1.
    first, last : str
        The keys of the first and the last batch.
    word : str
        The worst of theirs: FAR, UNDECIDED, quiet or CLOSE.
    distance, low, high : float
        The mean distance, and the ends of all intervals.
    epsilon, epsilon_error : float
        The tolerance, and its standard error.
    mean : float
        The running mean of the distances.
    evidence : float
        The largest logarithm of the evidence.
    """

    place: float
    first: str
    last: str
    word: str
    distance: float
    low: float
    high: float
    epsilon: float
    epsilon_error: float
    mean: float
    evidence: float

    @property
    def name(self) -> str:
        """What it is called."""
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True)
class Flag:
    """A change or a note on the time line."""

    place: float
    letter: str
    event: Event


@dataclass(frozen=True)
class Period:
    """An alarm on the time line."""

    start: float
    end: float
    alarm: StreamAlarm


@dataclass(frozen=True)
class Missing:
    """Batches that have not come, on the time line."""

    start: float
    end: float
    gap: Gap


@dataclass(frozen=True)
class Known:
    """A caution, said once for all batches that have it."""

    code: str
    message: str
    batches: int
    last: str


@dataclass(frozen=True)
class Multiple:
    """One column over time: its distance over its own tolerance, and whether it is proven to be beyond."""

    name: str
    points: tuple[tuple[float, float, bool], ...]
    largest: float
    last: str


@dataclass(frozen=True)
class Likeness:
    """How much of the batches is like one of the accepted datasets, over time."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Page:
    """The page.

    Attributes
    ----------
    state : State
        The state of the stream.
    marks : tuple of Mark
        The time line, from left to right.
    shared : int
        How many batches share a mark.
    flags, periods, missing : tuple
        Changes and notes, alarms, and batches that have not come.
    cautions : tuple of Known
        What makes numbers less sure, of the batches that are listed.
    ticks : tuple of (float, str)
        What is written below the time line.
    windows : tuple of Window
        The last days together.
    multiples : tuple of Multiple
        The columns that moved most.
    likenesses : tuple of Likeness
        What batches are like, where other data than the reference were accepted.
    listed : tuple of Told
        The batches that are listed, the newest first.
    made : str
        When, in universal time.
    """

    state: State
    marks: tuple[Mark, ...]
    shared: int
    flags: tuple[Flag, ...]
    periods: tuple[Period, ...]
    missing: tuple[Missing, ...]
    cautions: tuple[Known, ...]
    ticks: tuple[tuple[float, str], ...]
    windows: tuple[Window, ...]
    multiples: tuple[Multiple, ...]
    likenesses: tuple[Likeness, ...]
    listed: tuple[Told, ...]
    made: str


def page_of(
    state: State,
    errors: dict[int, float],
    windows: Sequence[Window] = (),
    view: tuple[str, str] | None = None,
) -> Page:
    """Work the page out.

    Parameters
    ----------
    state : State
        The state of the stream.
    errors : dict
        The standard errors of the tolerances, by the number of their era.
    windows : sequence of Window
        The last days together.
    view : tuple of str, optional
        The first and the last batch of the time line; by default all are on it.
    """
    first, last = _view(state, view)
    shown = state.told[first : last + 1]
    places = _places(state, first, last)
    shared = max(1, math.ceil(len(shown) / MARKS))
    groups = [range(i, min(i + shared, len(shown))) for i in range(0, len(shown), shared)]
    marks = [_mark([shown[k] for k in group], places[first + group[0]], errors) for group in groups]
    return Page(
        state=state,
        marks=tuple(marks),
        shared=shared,
        flags=_flags(state, places),
        periods=_periods(state, places),
        missing=_missing(state, places, first, last),
        cautions=_cautions(state.told[-ROWS:]),
        ticks=_ticks(state, places),
        windows=tuple(windows),
        multiples=_multiples(state, places),
        likenesses=_likenesses(shown, groups, marks),
        listed=tuple(reversed(state.told[-ROWS:])),
        made=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _view(state: State, view: tuple[str, str] | None) -> tuple[int, int]:
    """Return the places of the first and the last batch to show; a key that is not there shows all."""
    if view is not None and all(key in state.places for key in view):
        first, last = sorted(state.places[key] for key in view)
        return first, last
    return 0, len(state.told) - 1


def _places(state: State, first: int, last: int) -> list[float]:
    """Return where batches stand, 0 to 1 for those shown: by time where all tell one, else side by side."""
    times = [time_of(told.batch.key) for told in state.told]
    count = len(times)
    if first >= last:
        return [0.5 + (k - first) for k in range(count)]
    known = [_seconds(when) for when in times if when is not None]
    if len(known) < count or known[last] <= known[first]:
        known = [float(k) for k in range(count)]
    return [(t - known[first]) / (known[last] - known[first]) for t in known]


def _mark(group: Sequence[Told], place: float, errors: dict[int, float]) -> Mark:
    batches = [told.batch for told in group]
    first, last = batches[0], batches[-1]
    distances = [b.distance for b in batches if not math.isnan(b.distance)]
    return Mark(
        place=place,
        first=first.key,
        last=last.key,
        word=next(word for word in WORST if any(told.word == word for told in group)),
        distance=sum(distances) / len(distances) if distances else math.nan,
        low=min((b.low for b in batches if not math.isnan(b.low)), default=math.nan),
        high=max((b.high for b in batches if not math.isnan(b.high)), default=math.nan),
        epsilon=last.epsilon,
        epsilon_error=errors.get(last.era, 0.0),
        mean=group[-1].mean,
        evidence=max(told.evidence for told in group),
    )


def _likenesses(
    shown: Sequence[Told], groups: Sequence[range], marks: Sequence[Mark]
) -> tuple[Likeness, ...]:
    """Return how much of each mark is like each accepted dataset: those with the largest part first."""
    found: dict[str, list[tuple[float, float]]] = {}
    for group, mark in zip(groups, marks, strict=True):
        shares: dict[str, float] = {}
        for told in (shown[k] for k in group):
            for name, share in told.batch.settings.get("like", {}).items():
                shares[name] = shares.get(name, 0.0) + share / len(group)
        for name, share in shares.items():
            found.setdefault(name, []).append((mark.place, share))
    accepted = [name for name in found if name != "reference"]
    accepted.sort(key=lambda name: -sum(share for _, share in found[name]))
    return tuple(Likeness(name, tuple(found[name])) for name in accepted[:LIKENESSES])


def _flags(state: State, places: Sequence[float]) -> tuple[Flag, ...]:
    shown = ("note", "tolerance changed", "reference changed", "batch refused")
    found: list[tuple[float, Event]] = []
    refused = {alarm.opened: alarm.text for alarm in state.open_alarms if alarm.cause == "refused"}
    keys = [told.batch.key for told in state.told]
    for event in state.events:
        if event.kind not in shown or not state.told:
            continue
        if event.kind == "batch refused" and refused.get(event.key) != event.text:
            continue
        at = state.places.get(event.key)
        if at is None and event.key:  # a batch that is not there: where it would be
            at = min(in_order([*keys, event.key]).index(len(keys)), len(keys) - 1)
        elif at is None:  # about no batch: at the first that came after it
            later = [i for i, told in enumerate(state.told) if told.batch.added >= event.at]
            at = min(later, default=len(state.told) - 1)
        if 0 <= places[at] <= 1:
            found.append((places[at], event))
    found.sort(key=lambda each: each[0])
    return tuple(Flag(place, _letter(k), event) for k, (place, event) in enumerate(found))


def _letter(k: int) -> str:
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[k] if k < 26 else str(k - 25)


def _periods(state: State, places: Sequence[float]) -> tuple[Period, ...]:
    """Return the alarms on the part of the time line that is shown."""
    found = []
    for alarm in state.alarms:
        if not alarm.of_data:
            continue
        start = places[state.places[alarm.opened]]
        end = places[state.places[alarm.closed]] if alarm.closed else max(places)
        if end >= 0 and start <= 1:
            found.append(Period(max(start, 0.0), min(end, 1.0), alarm))
    return tuple(found)


def _missing(state: State, places: Sequence[float], first: int, last: int) -> tuple[Missing, ...]:
    """Return the gaps on the part of the time line that is shown; those after the last batch at its end."""
    times = [time_of(told.batch.key) for told in state.told]
    known = [_seconds(when) for when in times if when is not None]
    if len(known) < len(times) or not known or known[last] <= known[first]:
        return ()
    length = known[last] - known[first]
    found = []
    for gap in state.gaps:
        ends = [
            (_seconds(when) - known[first]) / length for when in map(time_of, gap.ends) if when is not None
        ]
        if len(ends) == 2 and ends[1] >= 0 and (ends[0] <= 1 or last == len(times) - 1):
            found.append(Missing(min(max(ends[0], 0.0), 1.0), min(max(ends[1], 0.0), 1.0), gap))
    return tuple(found)


def _seconds(when: datetime.datetime) -> float:
    return when.replace(tzinfo=datetime.UTC).timestamp()


def _cautions(told: Sequence[Told]) -> tuple[Known, ...]:
    """Return every caution once, in the words of the last batch that has it."""
    found: dict[str, Known] = {}
    for each in told:
        for code, message in dict(each.batch.cautions).items():
            count = found[code].batches if code in found else 0
            found[code] = Known(code, message, count + 1, each.batch.key)
    return tuple(sorted(found.values(), key=lambda known: -known.batches))


def _ticks(state: State, places: Sequence[float], wanted: int = 4) -> tuple[tuple[float, str], ...]:
    """Return some keys along the time line, the first and the last among them."""
    shown = [k for k in range(len(state.told)) if 0 <= places[k] <= 1]
    if not shown:
        return ()
    found: list[tuple[float, str]] = []
    for k in range(wanted):
        at = shown[round(k * (len(shown) - 1) / (wanted - 1))]
        if not found or places[at] - found[-1][0] > 0.8 / wanted:
            found.append((places[at], state.told[at].batch.key))
    return tuple(found)


def _multiples(state: State, places: Sequence[float]) -> tuple[Multiple, ...]:
    """Return the columns that were beyond most often, and then those that moved most on average."""
    series: dict[str, list[tuple[float, float, bool]]] = {}
    words: dict[str, str] = {}
    for place, told in zip(places, state.told, strict=True):
        for moved in told.batch.columns if 0 <= place <= 1 else ():
            if math.isfinite(moved.ratio):
                series.setdefault(moved.name, []).append((place, moved.ratio, bool(moved.words)))
                words[moved.name] = moved.words or words.get(moved.name) or moved.name

    def order(name: str) -> tuple[int, float]:
        points = series[name]
        return -sum(proven for _, _, proven in points), -sum(ratio for _, ratio, _ in points) / len(points)

    most = sorted(series, key=order)[:MULTIPLES]
    return tuple(
        Multiple(name, tuple(series[name]), max(point[1] for point in series[name]), words[name])
        for name in most
    )
