"""When a stream is in alarm: opened by a batch or by all of them, and closed by proof, not by silence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.levels import Rate
from nammd.statistics.stream import BETS, factors, strength

Cause: TypeAlias = Literal["batch", "stream"]


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
    """

    cause: Cause
    opened: int
    since: int
    closed: int | None = None


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


def watch(
    scores: FloatArray, below: FloatArray, far: Sequence[bool], close: Sequence[bool], rate: Rate
) -> Watch:
    """Go through the batches of a stream in their order.

    A batch that is proven to be beyond the tolerance opens an alarm, and so does the evidence of the stream
    where it reaches the line of its rate. Both are closed by a batch that is proven to be within, or by the
    evidence of "within" that has been gathered since, where that reaches the line. The evidence starts anew
    after an alarm.

    Parameters
    ----------
    scores, below : array of shape (batches,)
        The scores of "beyond" and of "within", with the reference fixed; NaN where a batch has none.
    far, close : sequence of bool
        The batches that are proven to be beyond, or within.
    rate : Rate
        What may go wrong.

    Returns
    -------
    Watch
    """
    line = math.log(rate.line)
    up, down = factors(np.asarray(scores, float)), factors(np.asarray(below, float))
    evidence, start = _nothing(), np.zeros(len(BETS), int)
    within = _nothing()
    found = np.empty(len(up))
    alarms: list[Alarm] = []
    open_ones: list[Alarm] = []
    for t in range(len(up)):
        start[evidence <= rate.fresh(t + 1)] = t
        evidence = rate.entry(evidence, t + 1) + up[t]
        found[t] = strength(evidence)
        if open_ones:
            within = rate.entry(within, t + 1) + down[t]
            if close[t] or strength(within) >= line:
                alarms += [Alarm(a.cause, a.opened, a.since, t) for a in open_ones]
                open_ones, evidence = [], _nothing()
                continue
        causes = {alarm.cause for alarm in open_ones}
        new: list[Alarm] = []
        if far[t] and "batch" not in causes:
            new.append(Alarm("batch", t, t))
        if found[t] >= line and "stream" not in causes:
            new.append(Alarm("stream", t, int(start[int(np.argmax(evidence))])))
        if new and not open_ones:
            within = _nothing()
        open_ones += new
    alarms += open_ones
    return Watch(found, tuple(sorted(alarms, key=lambda alarm: (alarm.opened, alarm.cause))))


def _nothing() -> FloatArray:
    return np.full(len(BETS), -np.inf)
