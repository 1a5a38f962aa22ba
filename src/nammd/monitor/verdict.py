"""What came of adding a batch: `BatchVerdict`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nammd.monitor.records import Event
from nammd.monitor.state import State
from nammd.monitor.stream import QUIET, Told
from nammd.monitor.words import window_name
from nammd.results import Caution, Result, Tone, estimated, interval, number, probability
from nammd.tolerances.decision import Decision
from nammd.tolerances.verdict import Verdict
from nammd.tolerances.verdict_words import like_in_words

_MEANING = {
    Decision.CLOSE: "within the tolerance",
    Decision.FAR: "beyond the tolerance",
    Decision.UNDECIDED: "neither proven to be within the tolerance nor beyond",
}


@dataclass(frozen=True)
class BatchVerdict(Result):
    """The outcome of adding a batch to a monitor.

    Attributes
    ----------
    key : str
        What the batch is called.
    decision : Decision
        CLOSE, FAR or UNDECIDED, at the level that the budget of false alarms allows.
    quiet : bool
        Whether an UNDECIDED batch shows nothing: no view is in doubt, no fact is against it, no alarm is
        open, and the last batches together are not beyond the tolerance.
    side : {"within", "beyond", ""}
        What is proven: of the batch, or of the last batches together.
    by : int
        Of how many batches, with this one as the last; 0 where nothing is proven.
    level : float
        That level.
    distance : float
        The estimated NAMMD between the reference and the batch.
    interval : tuple of float
        A confidence interval for it: what the tests of the verdict leave.
    epsilon : float
        The tolerance.
    pvalue_close, pvalue_far : float
        Of "within the tolerance" and "beyond".
    repeated : bool
        Whether the same batch had been added before; then nothing has changed.
    events : tuple of Event
        What happened to the alarms of the stream.
    reasons : tuple of str
        The columns that are proven to have moved, in words.
    moved : tuple of str
        What moved most, proven or not, in words that say which.
    failures : tuple of str
        The facts that speak against the batch, in words; see `Verdict.failures`.
    cautions : tuple of Caution
        What to know before relying on it.
    state : State
        The state of the stream, with this batch.
    verdict : Verdict or None
        The check of the batch with all that belongs to it; None where it had been added before.
    """

    key: str
    decision: Decision
    quiet: bool
    side: str
    by: int
    level: float
    distance: float
    interval: tuple[float, float]
    epsilon: float
    pvalue_close: float
    pvalue_far: float
    repeated: bool
    events: tuple[Event, ...]
    reasons: tuple[str, ...]
    moved: tuple[str, ...]
    failures: tuple[str, ...]
    cautions: tuple[Caution, ...]
    state: State = field(repr=False, compare=False)
    verdict: Verdict | None = field(repr=False, compare=False)

    @classmethod
    def of(
        cls, state: State, key: str, verdict: Verdict | None = None, events: tuple[Event, ...] = ()
    ) -> BatchVerdict:
        """Look a batch up in the state of its stream."""
        told = state.told[state.places[key]]
        batch = told.batch
        return cls(
            key=key,
            decision=told.decision,
            quiet=told.quiet,
            side=told.side,
            by=told.by,
            level=told.level,
            distance=batch.distance,
            interval=(batch.low, batch.high),
            epsilon=batch.epsilon,
            pvalue_close=batch.pvalue_close,
            pvalue_far=batch.pvalue_far,
            repeated=verdict is None,
            events=events,
            reasons=tuple(moved.words for moved in batch.columns if moved.words),
            moved=batch.moved,
            failures=tuple(fact.words for fact in batch.failures),
            cautions=tuple(Caution(code, message) for code, message in (*batch.facts, *batch.cautions)),
            state=state,
            verdict=verdict,
        )

    @property
    def is_close(self) -> bool:
        """Whether the batch is proven to be within the tolerance."""
        return self.decision is Decision.CLOSE

    @property
    def is_far(self) -> bool:
        """Whether the batch is proven to be beyond the tolerance."""
        return self.decision is Decision.FAR

    @property
    def word(self) -> str:
        """What the batch is called in its stream: CLOSE, FAR, UNDECIDED, or quiet."""
        return QUIET if self.quiet else self.decision.value

    @property
    def tone(self) -> Tone:
        """How the answer is coloured."""
        tones: dict[Decision, Tone] = {
            Decision.CLOSE: "close",
            Decision.FAR: "far",
            Decision.UNDECIDED: "undecided",
        }
        return tones[self.decision]

    def headline(self) -> str:
        """Return the outcome in one sentence."""
        again = " It had been added before; nothing has changed." if self.repeated else ""
        distance, eps = estimated(self.distance), number(self.epsilon)
        told = f"distance {distance}, tolerance {eps}"
        meaning = "it shows nothing" if self.quiet else _MEANING[self.decision]
        batch = self.state.told[self.state.places[self.key]].batch
        if self.is_far and (self.failures or self.reasons or batch.fine):
            meaning = batch.reasons(self.level, facts=1)[0]
        elif not self.is_close and self.failures:
            meaning = self.failures[0]
        return f"{self.key} is {self.word}: {meaning} ({told}).{again}"

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        told = self.state.told[self.state.places[self.key]]
        level, like = (told.batch.settings.get(name) for name in ("interval_level", "like"))
        ends = f"{100 * (level or 0.95):.4g} % interval {interval(self.interval)}"
        rows = [
            ("distance", f"NAMMD = {estimated(self.distance)}, {ends}"),
            *([("like", like_in_words(tuple(like.items())))] if like and len(like) > 1 else []),
            ("p-value for CLOSE", probability(self.pvalue_close)),
            ("p-value for FAR", probability(self.pvalue_far)),
            ("level", f"{self.level:.3g}"),
            ("rows", f"{told.batch.m} reference, {told.batch.n} in this batch"),
        ]
        rows += [("against it", fact) for fact in self.failures]
        if self.is_far or self.reasons:
            rows.append(("moved most", "; ".join(self.moved)))
        if self.by > 1 and told.batch.era == self.state.era.number:
            rows.append(("together", f"{window_name(self.state, told)} are {self.side} the tolerance"))
        return [*rows, ("stream", self.state.headline()), ("evidence", evidence_words(told, self.state))]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the state of the stream, ready for JSON."""
        found = super().to_dict()
        found["events"] = [event.to_dict() for event in self.events]
        return found | {"stream": self.state.to_dict()}


def evidence_words(told: Told, state: State) -> str:
    """Say how much evidence of drift there is after a batch, and how much an alarm takes."""
    line, now = state.spending.levels.line, float(np.exp(min(told.evidence, 700.0)))
    value = "over a million" if now > 1e6 else f"{now:.3g}"
    return f"{value} for drift beyond the tolerance; {line:.3g} is an alarm"
