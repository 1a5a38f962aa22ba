"""When a stream is in alarm: opened by a batch or by all of them, and closed by proof, not by silence."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.levels import Rate
from nammd.statistics.stream import BETS, strength

Cause: TypeAlias = Literal["batch", "stream"]
Ending: TypeAlias = Literal["batch", "stream", "hand"]


@dataclass(frozen=True)
class Alarm:
    """An alarm, by the positions of batches.

    Attributes
    ----------
    cause : {"batch", "stream"}
        Whether a single batch is beyond the tolerance, or several of them together.
    opened : int
        The batch that opened it.
    since : int
        The batch from which on the evidence was gathered: about where the change began.
    closed : int or None
        The batch that closed it; None while it is open.
    by : {"batch", "stream", "hand"} or None
        What closed it: that batch, which is proven to be within the tolerance; several together; or somebody.
    proof : int or None
        The batch from which on the evidence that closed it was gathered.
    """

    cause: Cause
    opened: int
    since: int
    closed: int | None = None
    by: Ending | None = None
    proof: int | None = None


@dataclass(frozen=True)
class Watch:
    """What a stream comes to.

    Attributes
    ----------
    evidence : array of shape (batches,)
        The logarithm of the evidence after every batch.
    alarms : tuple of Alarm
        The alarms, in the order in which they were opened.
    """

    evidence: FloatArray
    alarms: tuple[Alarm, ...]


@dataclass(frozen=True)
class Proofs:
    """What single batches prove, and what people did, batch by batch.

    Attributes
    ----------
    far, close : sequence of bool
        Whether a batch is proven to be beyond the tolerance, or within.
    apart : sequence of bool
        Whether it is far for another reason than its distance, such as one column: then the evidence of the
        stream, which is about the distance, cannot close the alarm.
    by_hand : sequence of sets of str
        The causes of the alarms that somebody closed when this was the last batch.
    """

    far: Sequence[bool]
    close: Sequence[bool]
    apart: Sequence[bool]
    by_hand: Sequence[Collection[str]]

    @classmethod
    def of(cls, far: Sequence[bool], close: Sequence[bool]) -> Proofs:
        """Take the distance for the only reason, and nobody to have closed anything."""
        return cls(far, close, [False] * len(far), [()] * len(far))


def watch(up: FloatArray, down: FloatArray, proofs: Proofs, rate: Rate) -> Watch:
    """Go through the batches of a stream in their order.

    A batch that is proven to be beyond the tolerance opens an alarm, and so does the evidence of the stream
    where it reaches the line of its rate. Both are closed by a batch that is proven to be within, or by the
    evidence of "within" that has been gathered since, where that reaches the line. The evidence starts anew
    after an alarm.

    Parameters
    ----------
    up, down : array of shape (batches, bets)
        The logarithm of what each batch multiplies the evidence of "beyond" and of "within" by, for every
        bet; see `nammd.statistics.stream.factors`.
    proofs : Proofs
        What single batches prove.
    rate : Rate
        What may go wrong.

    Returns
    -------
    Watch
    """
    line = math.log(rate.line)
    evidence, begun = _nothing(), 0
    within, back = _nothing(), np.zeros(len(BETS), int)
    steps = np.empty((len(up), len(BETS)))
    alarms: list[Alarm] = []
    open_ones: list[Alarm] = []
    for t in range(len(up)):
        evidence = steps[t] = rate.entry(evidence, t + 1) + up[t]
        # The mean is at most the largest, which is quicker to look at: there may be thousands of batches.
        now = float(strength(evidence)) if max(evidence.tolist()) >= line else -math.inf
        if open_ones:
            back[within <= rate.fresh(t + 1)] = t
            within = rate.entry(within, t + 1) + down[t]
            proven = strength(within) >= line
            ended = [a for a in open_ones if proofs.close[t] or (proven and not proofs.apart[a.opened])]
            since = t if proofs.close[t] else int(back[int(np.argmax(within))])
            by: Ending = "batch" if proofs.close[t] else "stream"
            alarms += [replace(a, closed=t, by=by, proof=since) for a in ended]
            open_ones = [a for a in open_ones if a not in ended]
            if ended:
                evidence, begun, now = _nothing(), t + 1, -math.inf
            if proofs.close[t]:
                continue
        if proofs.far[t] or now >= line:
            new: list[Alarm] = []
            causes = {alarm.cause for alarm in open_ones}
            if proofs.far[t] and "batch" not in causes:
                new.append(Alarm("batch", t, t))
            if now >= line and "stream" not in causes:
                new.append(Alarm("stream", t, _start(steps[begun : t + 1], begun, rate)))
            if new and not open_ones:
                within = _nothing()
            open_ones += new
        if dropped := [a for a in open_ones if a.cause in proofs.by_hand[t]]:
            alarms += [replace(a, closed=t, by="hand", proof=t) for a in dropped]
            open_ones = [a for a in open_ones if a not in dropped]
            evidence, begun = _nothing(), t + 1
    alarms += open_ones
    return Watch(strength(steps), tuple(sorted(alarms, key=lambda alarm: (alarm.opened, alarm.cause))))


def _start(steps: FloatArray, begun: int, rate: Rate) -> int:
    """Return the batch since which the strongest bet has gathered its evidence; `steps` are since `begun`."""
    path = steps[:, int(np.argmax(steps[-1]))].tolist()
    for place in range(len(path) - 1, 0, -1):
        if path[place - 1] <= rate.fresh(begun + place + 1):
            return begun + place
    return begun


def _nothing() -> FloatArray:
    return np.full(len(BETS), -np.inf)
