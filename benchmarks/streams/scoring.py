"""Every tool on every stream: delays, and alarms where nothing has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from statistics import mean, median
from typing import Any

from benchmarks.results import Bar, Measurement, at_most
from benchmarks.scale import Scale
from benchmarks.streams.sources import (
    BEFORE,
    FLIGHTS,
    LAWS,
    RATIOS,
    Stream,
    at_half,
    changing,
    flights,
    no_flights,
)
from benchmarks.streams.watchers import DATA, FACT, WATCHERS, Watcher
from benchmarks.timing import one_thread

AFTER = 15
"""So many batches after a change somebody waits for an alarm."""
YEAR = 365
_BUDGET = at_most(1.0)
"""Of a year: what a monitor promises by default."""


def figures(scale: Scale) -> Iterator[Measurement]:
    """Yield the figures of every tool; the details have those of every stream."""
    with one_thread():
        for watcher in WATCHERS:
            for what, values in _values(watcher, scale):
                bar = _BUDGET if watcher.package == "nammd" and what.startswith("false") else None
                yield _figure(watcher, what, values, bar)


def _values(watcher: Watcher, scale: Scale) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every figure of a tool with what it is made of; without its package, with nothing."""
    year, streams, season, after = (YEAR, 2, 40, AFTER) if scale.judged else (10, 1, 3, 2)
    laws = LAWS if scale.judged else LAWS[:1]
    before: list[int] = []
    absent = bool(watcher.missing())
    for ratio in RATIOS:
        delays: dict[str, list[int | None]] = {}
        for law in laws if not absent else ():
            runs = [delay(watcher, changing(law, ratio, k, after)) for k in range(streams)]
            delays[law] = [each for each, _ in runs]
            before += [early for _, early in runs]
        yield f"delay, {ratio:g} times the tolerance", {"delays": delays}
    counted = {"alarms": sum(before), "batches": BEFORE * len(before)}
    yield "alarms a year, like the reference", {} if absent else counted
    said = {} if absent else {law: Counter(watcher.watch(at_half(law, year))) for law in laws}
    alarms = {law: each[DATA] + each[FACT] for law, each in said.items()}
    facts = {law: each[FACT] for law, each in said.items()}
    yield "false alarms a year, at half the tolerance", {"alarms": alarms, "facts": facts, "batches": year}
    for like, name in FLIGHTS.items():
        if not absent and not no_flights():
            told = Counter(watcher.watch(flights(like, season)))
            yield name, {"alarms": told[DATA] + told[FACT], "facts": told[FACT], "batches": season}
        else:
            yield name, {}


def delay(watcher: Watcher, stream: Stream) -> tuple[int | None, int]:
    """Return at which batch from the change on there is an alarm, one for the first; and how many before."""
    if stream.change is None:
        raise ValueError(f"nothing changes in {stream.name}")
    answers = watcher.watch(stream)
    early = sum(map(bool, islice(answers, stream.change)))
    return next((number for number, alarm in enumerate(answers, 1) if alarm), None), early


def _figure(watcher: Watcher, what: str, values: dict[str, Any], bar: Bar | None) -> Measurement:
    """Sum streams up: the median delay, where an alarm that never comes is the latest; the rate of alarms."""
    name = f"streams, {watcher.name}: {what}"
    details = {"question": watcher.question} | values
    if reason := watcher.missing() or ("" if values else no_flights()):
        return Measurement(name, None, "batches", bar, details, reason)
    if "delays" in values:
        found = [AFTER + 1 if each is None else each for law in values["delays"].values() for each in law]
        return Measurement(name, float(median(found)), "batches", bar, details)
    alarms = values["alarms"]
    if isinstance(alarms, dict):
        alarms = mean(alarms.values())
    share = alarms / values["batches"]
    if what in FLIGHTS.values():
        return Measurement(name, 100 * share, "%", bar, details)
    return Measurement(name, YEAR * share, "a year", bar, details)
