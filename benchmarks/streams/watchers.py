"""nammd's monitor and its peers, each with its defaults: at which batches of a stream they raise an alarm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nammd
from benchmarks.real_tables.batches import Setup
from benchmarks.real_tables.detectors import by_evidently
from benchmarks.real_tables.faults import labels
from benchmarks.streams.sources import Stream

DATA, FACT = "data", "a fact"
OPENED = "alarm opened"


@dataclass(frozen=True)
class Watcher:
    """A tool.

    Attributes
    ----------
    name, package : str
        What it is called, and the package that must be there.
    question : str
        What an alarm of it says.
    watch : callable
        Go through a stream, and say of each batch what the alarm at it is about: `DATA`, or a `FACT` about
        some rows that is one with any tolerance; empty where there is none.
    """

    name: str
    package: str
    question: str
    watch: Callable[[Stream], Iterator[str]]

    def missing(self) -> str:
        """Return why it cannot be asked here; an empty text if it can."""
        return "" if find_spec(self.package) else f"{self.package} is not installed"


def by_nammd(stream: Stream) -> Iterator[str]:
    """Add every batch to a monitor with a budget of one false alarm a year: FAR, or a new alarm."""
    tolerance = stream.tolerance()
    with TemporaryDirectory() as folder:
        # An array is compared as it is, which is where the distance is known.
        reference = stream.reference.to_numpy() if stream.known else stream.reference
        monitor = nammd.Monitor.create(Path(folder, "stream.monitor"), tolerance, reference)
        for number, batch in enumerate(stream.batches()):
            told = monitor.add(batch.to_numpy() if stream.known else batch, key=number)
            proven = told.state.told[-1].batch.pvalue_beyond <= told.level
            if proven or any(event.cause == "stream" for event in told.events if event.kind == OPENED):
                yield DATA
            else:
                yield FACT if told.is_far else ""


def by_preset(stream: Stream) -> Iterator[str]:
    """Ask the preset about every batch by itself: half of the columns have drifted from the reference."""
    judge = by_evidently(Setup(stream.name, stream.reference, stream.reference, {}))
    for batch in stream.batches():
        yield DATA if judge(batch).decision == "FAR" else ""


def by_rows(make: Callable[[], Any]) -> Callable[[Stream], Iterator[str]]:
    """Give every column of numbers to a detector of its own, row by row, after the rows of the reference.

    Labels and missing values, which it cannot read, are left out.
    """

    def watch(stream: Stream) -> Iterator[str]:
        text = labels(stream.reference)
        detectors = {name: make() for name in stream.reference if name not in text}

        def alarms(rows: Any) -> int:
            found = 0
            for name, detector in detectors.items():
                for value in rows[name].dropna().astype(float).tolist():
                    detector.update(value)
                    found += bool(detector.drift_detected)
            return found

        alarms(stream.reference)  # what it says there is about the reference
        for batch in stream.batches():
            yield DATA if alarms(batch) else ""

    return watch


def _adwin() -> Any:
    from river.drift import ADWIN

    return ADWIN()


def _kswin() -> Any:
    from river.drift import KSWIN

    return KSWIN(seed=0)


WATCHERS: tuple[Watcher, ...] = (
    Watcher("nammd, `Monitor`", "nammd", "the data are beyond the tolerance", by_nammd),
    Watcher("evidently, `DataDriftPreset`", "evidently", "the batch is not like the reference", by_preset),
    Watcher("river, `ADWIN`", "river", "the mean has changed along the stream", by_rows(_adwin)),
    Watcher("river, `KSWIN`", "river", "the last 30 rows are not like those before", by_rows(_kswin)),
)
"""nammd first."""
