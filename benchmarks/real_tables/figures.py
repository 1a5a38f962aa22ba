"""The figures of real tables, with the bars of nammd."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

from benchmarks.real_tables.batches import LIKE, Setup
from benchmarks.real_tables.detectors import DETECTORS, ROWS
from benchmarks.real_tables.faults import FAULTS
from benchmarks.real_tables.scoring import (
    OF_SIZE,
    Outcome,
    Plan,
    cautions,
    good,
    outcomes,
    parted,
    refusals,
    shares,
)
from benchmarks.real_tables.sources import SOURCES
from benchmarks.results import Bar, Measurement, at_least, at_most
from benchmarks.scale import Scale
from benchmarks.timing import one_thread

_FALSE_ALARMS, _UNDECIDED, _CAUTIONS = at_most(2.0), at_most(15.0), at_most(3.0)
_FOUND, _SILENT, _NAMED = at_least(85.0), at_most(3.0), at_least(95.0)
"""The bars, in percent of batches."""


def figures(scale: Scale) -> Iterator[Measurement]:
    """Judge all batches of all tables that are there, and yield the figures of every detector."""
    sources = SOURCES[: scale.tables]
    for source in sources:
        if reason := source.missing():
            yield Measurement(f"real tables: {source.name}, {source.told}", None, "%", skipped=reason)
    detectors = [detector for detector in DETECTORS if not detector.missing()]
    plan = Plan(scale.batch_rows, scale.batches, scale.fault_rows)
    done: list[Outcome] = []
    with one_thread():
        for source in sources:
            if not source.missing():
                done.extend(outcomes(Setup.of(source.load()), detectors, plan))
    for detector in DETECTORS:
        mine = [outcome for outcome in done if outcome.detector == detector.name]
        if mine:
            yield from summed_up(detector.name, mine)
        else:
            reason = detector.missing() or "no table is installed"
            for what, bar in _bars(detector.name).items():
                yield Measurement(f"real tables, {detector.name}: {what}", None, "%", bar, skipped=reason)


def summed_up(name: str, mine: Sequence[Outcome]) -> Iterator[Measurement]:
    """Yield the figures of one detector; the details of the first tell all parts."""
    details, values = _details(mine), _values(mine)
    for what, bar in _bars(name).items():
        reason = "there are no such batches" if values[what] is None else ""
        yield Measurement(f"real tables, {name}: {what}", values[what], "%", bar, details, reason)
        details = {}
    seconds = median(outcome.seconds for outcome in mine)
    yield Measurement(f"real tables, {name}: a check, median", seconds, "s")


def _bars(name: str) -> dict[str, Bar | None]:
    """Return all figures of a detector, in percent, with the bars that nammd has to clear."""
    bars: dict[str, Bar | None] = {
        "false alarms, like the reference": _FALSE_ALARMS,
        "false alarms, like the accepted data": _FALSE_ALARMS,
        f"UNDECIDED, {ROWS:,} rows like the accepted data": _UNDECIDED,
        "faults found": _FOUND,
        "faults found, like the reference": None,
        "faults found, like the accepted data": None,
        "faults that are CLOSE without a word": _SILENT,
        "right column named, of faults found": _NAMED,
        "right column named, of all faults": None,
        "any column named, of good batches like the reference": None,
        "the most frequent caution about the data, of good batches": _CAUTIONS,
    }
    return bars if name == "nammd" else dict.fromkeys(bars)


def _values(mine: Sequence[Outcome]) -> dict[str, float | None]:
    """Return the same figures, in the same order; None where there was no such batch."""
    like_reference, like_accepted = ([o for o in mine if good(o) and o.like == like] for like in LIKE)
    faulty = [o for o in mine if not good(o)]
    rates = [
        shares(like_reference).get("FAR"),
        shares(like_accepted).get("FAR"),
        shares([o for o in like_accepted if o.rows == ROWS]).get("UNDECIDED"),
        shares(faulty).get("FAR"),
        *(shares([o for o in faulty if o.like == like]).get("FAR") for like in LIKE),
        shares(faulty).get("silent"),
        shares([o for o in faulty if o.decision == "FAR"]).get("right column"),
        shares(faulty).get("right column"),
        shares(like_reference).get("any column"),
        _commonest_caution(like_reference + like_accepted),
    ]
    return {what: None if rate is None else 100 * rate for what, rate in zip(_bars(""), rates, strict=True)}


def _commonest_caution(some: Sequence[Outcome]) -> float | None:
    """Return the share of batches with the commonest caution, of those that should not be there."""
    if not some:
        return None
    return max((rate for code, rate in cautions(some).items() if code not in OF_SIZE), default=0.0)


def _details(mine: Sequence[Outcome]) -> dict[str, Any]:
    """Return the shares of verdicts: of good batches by size, of faulty ones by kind, and of all by table."""
    fresh, faulty = [o for o in mine if good(o)], [o for o in mine if not good(o)]
    return {
        "good": {like: _shared(some, lambda o: str(o.rows)) for like, some in _by_likeness(fresh)},
        "faulty": {like: _shared(some, lambda o: str(o.rows)) for like, some in _by_likeness(faulty)},
        "kinds": {
            kind: _shared(some, lambda o: o.like)
            for kind, some in parted(faulty, lambda o: o.fault, [fault.name for fault in FAULTS]).items()
        },
        "tables": {
            table: {
                **{like: shares([o for o in some if good(o)]) for like, some in _by_likeness(part)},
                "faulty": shares([o for o in part if not good(o)]),
                "seconds": median(o.seconds for o in part),
            }
            for table, part in parted(mine, lambda o: o.table).items()
        },
        "cautions": {"good": cautions(fresh), "faulty": cautions(faulty)},
        "refused": refusals(mine),
    }


def _by_likeness(some: Sequence[Outcome]) -> Iterator[tuple[str, list[Outcome]]]:
    yield from parted(some, lambda o: o.like, LIKE).items()


def _shared(
    some: Sequence[Outcome], by: Callable[[Outcome], str], order: Sequence[str] = ()
) -> dict[str, dict[str, float]]:
    return {word: shares(part) for word, part in parted(some, by, order).items()}
