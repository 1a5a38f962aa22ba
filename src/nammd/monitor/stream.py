"""The batches of one era, in the order of the stream: `Told` what each of them means, and `StreamAlarm`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.monitor.batch import Batch
from nammd.monitor.rates import Spending
from nammd.monitor.records import Event
from nammd.statistics.alarms import Alarm, Proofs, Watch, watch
from nammd.statistics.stream import factors, running_mean, score
from nammd.statistics.window import Batches, Proven, proven
from nammd.tolerances.decision import Decision, decided

Side: TypeAlias = Literal["within", "beyond", ""]
AlarmCause: TypeAlias = Literal["batch", "stream", "silence", "refused"]
QUIET = "quiet"


class Told(NamedTuple):
    """A batch with what it means in its stream.

    Attributes
    ----------
    batch : Batch
        What was found of it.
    level : float
        The level of its tests.
    decision : Decision
        What they say.
    quiet : bool
        Whether it proves nothing and shows nothing: no view is in doubt, no fact is against it, no alarm was
        open, and the last batches together are not beyond the tolerance.
    side : {"within", "beyond", ""}
        What is proven of it: by itself, or of the last batches together.
    by : int
        Of how many batches, with itself as the last; 0 where nothing is proven.
    evidence : float
        The logarithm of the evidence of the stream after it.
    mean, mean_low, mean_high : float
        The mean of the distances up to it, with an interval that holds at all times.
    """

    batch: Batch
    level: float
    decision: Decision
    quiet: bool
    side: Side
    by: int
    evidence: float
    mean: float
    mean_low: float
    mean_high: float

    @property
    def word(self) -> str:
        """What it is called: its decision, or quiet."""
        return QUIET if self.quiet else self.decision.value


@dataclass(frozen=True)
class StreamAlarm:
    """An alarm, by the keys of batches.

    Attributes
    ----------
    cause : {"batch", "stream", "silence", "refused"}
        Whether one batch is beyond the tolerance, several together, or a batch has not come, or could not be
        taken.
    opened, since : str
        The batch that opened it, and the one from which on the evidence was gathered; of silence the gap.
    closed : str
        The batch that closed it; empty while it is open.
    acknowledged : str
        What was said when somebody acknowledged it; empty where nobody has.
    view : str
        The column, where it is one and not the distance that is beyond; "a fact" where that is the reason.
    by : {"batch", "stream", "hand", "change", ""}
        What closed it: a batch that is CLOSE, several together, somebody, or another tolerance.
    proof : str
        The batch from which on the evidence that closed it was gathered.
    text : str
        Of a batch that was refused: why.
    """

    cause: AlarmCause
    opened: str
    since: str
    closed: str = ""
    acknowledged: str = ""
    view: str = ""
    by: str = ""
    proof: str = ""
    text: str = ""

    @property
    def open(self) -> bool:
        """Whether it is open."""
        return not self.closed

    @property
    def of_data(self) -> bool:
        """Whether it is about data that have come."""
        return self.cause in ("batch", "stream")


class Stream:
    """The batches of one era, in the order of the stream."""

    def __init__(self, batches: Sequence[Batch], levels: dict[str, float], population: bool) -> None:
        self.batches, self.population = batches, population
        self.keys = [batch.key for batch in batches]
        self.levels = [levels[batch.key] for batch in batches]
        pairs = list(zip(batches, self.levels, strict=True))
        self.decisions = [_decision(*each) for each in pairs]
        self.calm = np.array([_calm(*each) for each in pairs], bool)

    def watched(self, spending: Spending, events: Sequence[Event]) -> Watch:
        """Go through the batches, for the evidence and the alarms."""
        closed: dict[str, set[str]] = {}
        for event in events:
            if event.kind == "closed by hand":
                closed.setdefault(event.key, set()).add(event.cause)
        proofs = Proofs(
            far=[decision is Decision.FAR for decision in self.decisions],
            close=[decision is Decision.CLOSE for decision in self.decisions],
            apart=[self._apart(place) for place in range(len(self.batches))],
            by_hand=[closed.get(batch.key, ()) for batch in self.batches],
        )
        return watch(self._beyond(), factors(self._scores(-1.0)), proofs, spending.levels)

    def told(self, seen: Watch, window: int) -> list[Told]:
        """Return the batches with what they mean."""
        values, errors = np.array([(b.distance, b.error) for b in self.batches]).T
        mean = running_mean(values, errors, self.batches[-1].epsilon)
        together = self._windows(window)
        open_at = np.zeros(len(self.batches) + 1, int)
        for alarm in seen.alarms:
            open_at[alarm.opened : alarm.closed] += 1
        undecided = np.array([decision is Decision.UNDECIDED for decision in self.decisions], bool)
        quiet = undecided & self.calm & (open_at[:-1] == 0) & (together.side <= 0)
        proofs = [
            _proof(decision, side, length)
            for decision, side, length in zip(
                self.decisions, together.side.tolist(), together.length.tolist(), strict=True
            )
        ]
        sides, by = zip(*proofs, strict=True)
        numbers = (each.tolist() for each in (seen.evidence, mean.value, mean.low, mean.high))
        columns = (self.batches, self.levels, self.decisions, quiet.tolist(), sides, by, *numbers)
        return list(map(Told._make, zip(*columns, strict=True)))  # there may be many thousands

    def alarm(self, alarm: Alarm) -> StreamAlarm:
        """Return an alarm by the keys of batches."""
        return StreamAlarm(
            cause=alarm.cause,
            opened=self.keys[alarm.opened],
            since=self.keys[alarm.since],
            closed="" if alarm.closed is None else self.keys[alarm.closed],
            view=self._view(alarm),
            by=alarm.by or "",
            proof="" if alarm.proof is None else self.keys[alarm.proof],
        )

    def _view(self, alarm: Alarm) -> str:
        """Return the column that is beyond, where it is not the distance."""
        if alarm.cause != "batch" or not self._apart(alarm.opened):
            return ""
        batch = self.batches[alarm.opened]
        if not batch.pvalue_beyond <= self.levels[alarm.opened]:
            return "a fact"
        return next((moved.name for moved in batch.columns if moved.words), "")

    def _apart(self, place: int) -> bool:
        far = self.decisions[place] is Decision.FAR
        return far and not self.batches[place].pvalue_far <= self.levels[place]

    def _windows(self, most: int) -> Proven:
        """Take the last batches together, at each of them."""
        numbers = np.array([_NUMBERS(batch) for batch in self.batches], float).T
        u, given, pvalue, deviation, features, reference, rows = numbers
        shared = np.stack((features, reference) if self.population else (features,), axis=1)
        each = zip(self.batches, self.decisions, strict=True)
        apart = np.array([decision is Decision.FAR or bool(b.failures) for b, decision in each], bool)
        batches = Batches(u, given, pvalue, deviation, shared, rows, apart, ~self.calm)
        return proven(batches, np.array(self.levels), most)

    def _beyond(self) -> FloatArray:
        """Return the logarithm of what each batch multiplies the evidence of "beyond" by, for every bet.

        Bets on its rows, which are exact for this reference; normal scores where there are none, and where
        the claim is about the population of the reference.
        """
        steps = factors(self._scores(1.0))
        if not self.population:
            for place, batch in enumerate(self.batches):
                if batch.bets:
                    steps[place] = batch.bets
        return steps

    def _scores(self, sign: float) -> FloatArray:
        """Return the scores of "beyond", or of "within"."""
        paid = [b.reference if self.population else 0.0 for b in self.batches]
        return np.array(
            [score(sign * b.u, b.given, b.features, p) for b, p in zip(self.batches, paid, strict=True)]
        )


_NUMBERS = attrgetter("u", "given", "pvalue_close", "deviation", "features", "reference", "n")


def _decision(batch: Batch, level: float) -> Decision:
    # A fact that is a matter of degree, and is not proven at this level, leaves a doubt.
    doubtful = batch.pvalue_doubt <= level or bool(batch.failures)
    return decided(batch.pvalue_close, batch.pvalue_beyond, level, doubtful, batch.against(level))


def _calm(batch: Batch, level: float) -> bool:
    """Tell whether a batch shows nothing by itself: it could be tested, no view is in doubt, and no fact."""
    return batch.pvalue_doubt > level and not batch.failures


def _proof(decision: Decision, side: int, length: int) -> tuple[Side, int]:
    if decision is Decision.UNDECIDED:
        return ("within" if side < 0 else "beyond" if side > 0 else ""), length
    return ("within" if decision is Decision.CLOSE else "beyond"), 1
