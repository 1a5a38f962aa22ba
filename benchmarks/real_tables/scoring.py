"""Every detector on every batch, and the rates that come of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.real_tables.batches import LIKE, Setup, generator
from benchmarks.real_tables.detectors import Answer, Detector, Judge
from benchmarks.real_tables.faults import FAULTS
from benchmarks.real_tables.sources import Frame

REFUSED = "REFUSED"
"""The word for a batch, or a whole table, that a detector would not judge: neither an alarm nor a find."""


@dataclass(frozen=True)
class Batch:
    """One batch to be judged.

    Attributes
    ----------
    like : {"reference", "accepted"}
        What it is like, but for the fault.
    rows : int
        How many rows were drawn for it.
    frame : DataFrame
        Its rows.
    fault, column : str
        What is wrong with it, and in which column; empty where nothing is.
    """

    like: str
    rows: int
    frame: Frame
    fault: str = ""
    column: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a detector said of a batch, whether it named a column, or the right one, and how long it took.

    Besides, the codes of its cautions, and whether it told of facts.
    """

    table: str
    detector: str
    like: str
    rows: int
    fault: str
    decision: str
    any_column: bool
    right_column: bool
    seconds: float
    cautions: tuple[str, ...] = ()
    noticed: bool = False


@dataclass(frozen=True)
class Plan:
    """Sizes of good batches, how many of each, and sizes of batches with a fault, one for every kind."""

    good_rows: tuple[int, ...]
    repeats: int
    faulty_rows: tuple[int, ...]

    def batches(self, setup: Setup) -> Iterator[Batch]:
        """Yield all batches of a table, one at a time; sizes for which it has too few rows are left out."""
        for like in LIKE:
            for rows in self.good_rows:
                for number in range(self.repeats if setup.has(like, rows) else 0):
                    yield Batch(like, rows, setup.batch(like, rows, number))
            for rows in self.faulty_rows:
                for fault in FAULTS if setup.has(like, rows) else ():
                    good = setup.batch(like, rows, fault.name)
                    happened = fault.applied(good, generator(setup.name, like, rows, fault.name, "fault"))
                    if happened:
                        yield Batch(like, rows, happened[0], fault.name, happened[1])


def outcomes(setup: Setup, detectors: Sequence[Detector], plan: Plan) -> Iterator[Outcome]:
    """Ask every detector about every batch of a table."""
    judges = [(detector.name, _prepared(detector, setup)) for detector in detectors]
    for batch in plan.batches(setup):
        for name, judge in judges:
            started = time.process_time()
            answer = _asked(judge, batch.frame)
            seconds = time.process_time() - started
            yield Outcome(
                table=setup.name,
                detector=name,
                like=batch.like,
                rows=batch.rows,
                fault=batch.fault,
                decision=answer.decision,
                any_column=bool(answer.columns),
                right_column=batch.column in answer.columns,
                seconds=seconds,
                cautions=answer.cautions,
                noticed=answer.noticed,
            )


def _prepared(detector: Detector, setup: Setup) -> Judge:
    """Make a judge; one that refuses the table judges no batch of it."""
    try:
        return detector.prepare(setup)
    except ValueError as error:
        reason = f"{REFUSED}: {error}"
        return lambda batch: Answer(reason)


def _asked(judge: Judge, batch: Frame) -> Answer:
    try:
        return judge(batch)
    except ValueError as error:
        return Answer(f"{REFUSED}: {error}")


def good(outcome: Outcome) -> bool:
    """Return whether nothing was wrong with the batch."""
    return not outcome.fault


def shares(some: Sequence[Outcome]) -> dict[str, float]:
    """Return how many there were, how often each word was said, CLOSE without a fact, and columns named."""
    if not some:
        return {"batches": 0}
    words = Counter(outcome.decision.partition(":")[0] for outcome in some)
    counts = {word: words[word] for word in ("FAR", "CLOSE", "UNDECIDED", REFUSED)}
    counts["silent"] = sum(outcome.decision == "CLOSE" and not outcome.noticed for outcome in some)
    counts["any column"] = sum(outcome.any_column for outcome in some)
    counts["right column"] = sum(outcome.right_column for outcome in some)
    return {"batches": len(some), **{what: count / len(some) for what, count in counts.items()}}


OF_SIZE = frozenset(["few-rows", "near-degenerate", "unresolved-tolerance", "wide-tolerance"])
"""Cautions that say how much so many rows, or this tolerance, can tell; they are true of good batches too."""


def cautions(some: Sequence[Outcome]) -> dict[str, float]:
    """Return in which share of the batches each caution was given."""
    counts = Counter(code for outcome in some for code in outcome.cautions)
    return {code: count / len(some) for code, count in sorted(counts.items())}


def parted(
    some: Sequence[Outcome], by: Callable[[Outcome], str], order: Sequence[str] = ()
) -> dict[str, list[Outcome]]:
    """Part outcomes by a word, in the given order or that of their appearance."""
    parts: dict[str, list[Outcome]] = {word: [] for word in order}
    for outcome in some:
        parts.setdefault(by(outcome), []).append(outcome)
    return {word: part for word, part in parts.items() if part}


def refusals(some: Sequence[Outcome]) -> dict[str, int]:
    """Return why batches were refused, by table, with how often."""
    return dict(Counter(f"{o.table}: {o.decision}" for o in some if o.decision.startswith(REFUSED)))
