"""What happened in a monitor as lines of JSON, for log pipelines: `event_lines`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nammd.monitor.batch import Batch, StoredDetails
from nammd.monitor.state import State
from nammd.results.base import plain


def event_lines(state: State, after: int = 0) -> Iterator[str]:
    """Yield what happened, in the order in which it was written: batches and events, one JSON object each.

    Every line has a ``number``, its place in the history, a time ``at`` and a ``kind``, which is ``"batch"``
    or that of an event such as ``"alarm opened"``. What a batch was decided to be is what is known now.

    Parameters
    ----------
    state : State
        That of a monitor that was read from its file: ``monitor.state``.
    after : int
        The number of the last line that is known already.

    Yields
    ------
    str
        A line, without its end.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.integrations.events import event_lines
    >>> train, today = np.random.default_rng(0).normal(size=(2, 500, 2))
    >>> tolerance = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2)
    >>> path = pathlib.Path(tempfile.mkdtemp(), "shop.monitor")
    >>> monitor = nammd.Monitor.create(path, tolerance, train)
    >>> verdict = monitor.add(today, key="2026-03-01")
    >>> [json.loads(line)["kind"] for line in event_lines(monitor.state)]
    ['created', 'batch']
    """
    found = [event.to_dict() for event in state.events]
    found += [
        {**_batch(told.batch), "decision": told.decision.value, "level": told.level} for told in state.told
    ]
    for each in sorted(found, key=lambda each: each["number"]):
        if each["number"] > after:
            yield json.dumps(plain({"monitor": state.title} | each), allow_nan=False)


def _batch(batch: Batch) -> dict[str, Any]:
    assert isinstance(batch.details, StoredDetails)  # it was read from a file
    return {
        "number": batch.details.record.number,
        "at": batch.added,
        "kind": "batch",
        "key": batch.key,
        "distance": batch.distance,
        "interval": [batch.low, batch.high],
        "tolerance": batch.epsilon,
        "rows": batch.n,
        "reasons": [moved.words for moved in batch.columns if moved.words],
        "failures": [fact.words for fact in batch.failures],
        "source": batch.source,
    }
