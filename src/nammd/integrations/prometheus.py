"""The state of a monitor as metrics, in the text format of Prometheus: `metrics_text`.

Times are given as moments, since a file that nobody renews would show an age that does not grow; the age
stands beside them for who reads the text at once.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from nammd.monitor.state import State
from nammd.statistics.alarms import Cause

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""What a server says of the text."""

CAUSES: tuple[str, ...] = get_args(Cause)
"""These have a line even where no such alarm is open, so that a graph has a zero and not a gap."""


@dataclass(frozen=True)
class Metric:
    """One metric, with what it says and its values.

    Attributes
    ----------
    name, meaning : str
        What it is called, and what it means.
    values : dict
        Its values by labels, which are pairs of a name and a value.
    """

    name: str
    meaning: str
    values: Mapping[tuple[tuple[str, str], ...], float] = field(default_factory=dict)

    def text(self, labels: tuple[tuple[str, str], ...]) -> str:
        """Return its lines, with further labels in every one."""
        # Of batches some may be forgotten, and of alarms some are closed: nothing here is a counter.
        lines = [f"# HELP {self.name} {_escaped(self.meaning)}", f"# TYPE {self.name} gauge"]
        for own, value in self.values.items():
            pairs = ",".join(f'{name}="{_quoted(text)}"' for name, text in (*labels, *own))
            lines.append(f"{self.name}{{{pairs}}} {number(value)}")
        return "".join(f"{line}\n" for line in lines)


def metrics_text(state: State, now: datetime.datetime | None = None) -> str:
    """Return the state of a stream as metrics.

    Parameters
    ----------
    state : State
        That of a monitor: ``monitor.state_at()``, which knows what is late by now.
    now : datetime, optional
        When the age of the last batch is taken; by default now.

    Returns
    -------
    str
        For a scrape of Prometheus, or a file for the text collector of its node exporter.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.integrations.prometheus import metrics_text
    >>> train, today = np.random.default_rng(0).normal(size=(2, 500, 2))
    >>> tolerance = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2)
    >>> path = pathlib.Path(tempfile.mkdtemp(), "shop.monitor")
    >>> monitor = nammd.Monitor.create(path, tolerance, train)
    >>> verdict = monitor.add(today, key="2026-03-01")
    >>> print([line for line in metrics_text(monitor.state_at()).splitlines() if "CLOSE" in line][0])
    nammd_monitor_batches{monitor="shop",verdict="CLOSE"} 1
    """
    moment = datetime.datetime.now(datetime.UTC) if now is None else now
    labels = (("monitor", state.title),)
    return "".join(metric.text(labels) for metric in metrics(state, moment))


def metrics(state: State, now: datetime.datetime) -> list[Metric]:
    """Return all metrics of a stream; those of the last batch have no value where there is none."""
    open_alarms = state.open_alarms
    causes = dict.fromkeys((*CAUSES, *(alarm.cause for alarm in open_alarms)))
    return [
        Metric(
            "nammd_monitor_batches",
            "Batches in the history, by verdict.",
            {(("verdict", word),): count for word, count in state.counts().items()},
        ),
        Metric(
            "nammd_monitor_alarms_open",
            "Alarms that are open, by cause.",
            {(("cause", cause),): sum(a.cause == cause for a in open_alarms) for cause in causes},
        ),
        Metric(
            "nammd_monitor_alarms_unacknowledged",
            "Open alarms that nobody has acknowledged.",
            {(): sum(not alarm.acknowledged for alarm in open_alarms)},
        ),
        Metric(
            "nammd_monitor_alarm_line",
            "The evidence at which the stream is in alarm.",
            {(): state.spending.levels.line},
        ),
        *_of_the_last(state, now),
    ]


def _of_the_last(state: State, now: datetime.datetime) -> list[Metric]:
    """Return what is known of the last batch: the last of the stream, and the last that came."""
    told = state.told
    last = told[-1] if told else None
    batch = None if last is None else last.batch
    moved = () if batch is None else reversed(batch.columns)  # of two with one name, that which moved most
    came = max((datetime.datetime.fromisoformat(each.batch.added) for each in told), default=None)

    def one(name: str, meaning: str, value: float | None) -> Metric:
        return Metric(f"nammd_monitor_{name}", meaning, {} if value is None else {(): value})

    return [
        one(
            "distance_over_margin",
            "Distance of the last batch over its margin, at least 0; 1 is at the tolerance.",
            None if batch is None else max(batch.distance, 0.0) / batch.epsilon,
        ),
        one("distance", "Estimated distance of the last batch.", None if batch is None else batch.distance),
        one("margin", "The tolerance of the last batch.", None if batch is None else batch.epsilon),
        Metric(
            "nammd_monitor_column_distance_over_margin",
            "The columns of the last batch that moved most: distance over their own margins.",
            {(("column", each.name),): each.ratio for each in moved},
        ),
        one(
            "e_value",
            "Evidence for drift beyond the tolerance, of all batches together.",
            None if last is None else math.exp(min(last.evidence, 700.0)),
        ),
        one("last_batch_rows", "Rows of the last batch.", None if batch is None else batch.n),
        one(
            "last_batch_added_timestamp_seconds",
            "When a batch was last added, in seconds since 1970.",
            None if came is None else came.timestamp(),
        ),
        one(
            "last_batch_age_seconds",
            "How long ago a batch was last added, at the time of writing.",
            None if came is None else (now - came).total_seconds(),
        ),
    ]


def number(value: float) -> str:
    """Return a number as Prometheus reads it.

    >>> [number(value) for value in (3, 0.1, float("nan"), float("-inf"), 1e300)]
    ['3', '0.1', 'NaN', '-Inf', '1e+300']
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if isinstance(value, int) else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(text: str) -> str:
    """Return the value of a label; what no text can hold, as halves of characters, is spelled out."""
    known = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return _escaped(known).replace('"', r"\"")
