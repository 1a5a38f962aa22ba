"""What the records of a chain come to: `Replay` reads them one by one, `Snapshot` is the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nammd.monitor.batch import Batch, StoredDetails
from nammd.monitor.calendar import Calendar
from nammd.monitor.chain import Damaged, Head, Record, content_of
from nammd.monitor.rates import Spending
from nammd.monitor.records import EVENTS, Era, Event, Kept, require_texts

MOST_LOST = 100_000
"""So many tests may be missing in one place of a history that was repaired."""

CLAIMS = ("reference", "population")

LONGEST_WINDOW = 1000
"""So many batches are looked at together at most."""


@dataclass(frozen=True)
class Snapshot:
    """All of a history at one moment, but for its large contents.

    Attributes
    ----------
    title, created : str
        What it watches, and since when.
    settings : dict
        What may go wrong, and how often batches come.
    eras : tuple of Era
        What batches are held against, the last one now.
    references : tuple of Kept
        What they were compared with.
    batches : tuple of Batch
        In the order of arrival.
    events : tuple of Event
        In the order in which they happened.
    refused : tuple of Event
        The batches that could not be taken, unless one of their key has come since, or somebody has seen it.
    calendar : Calendar
        When batches are expected.
    tests : int
        How many tests there have been.
    summed : mapping of str to str
        The digests of the sums that are kept, by the keys of their batches.
    version : str
        A text that is another one after every change of the history.
    """

    title: str
    created: str
    settings: dict[str, Any]
    eras: tuple[Era, ...]
    references: tuple[Kept, ...]
    batches: tuple[Batch, ...]
    events: tuple[Event, ...]
    refused: tuple[Event, ...]
    calendar: Calendar
    tests: int
    summed: Mapping[str, str]
    version: str

    def batch(self, key: str) -> Batch | None:
        """Return the batch of a key."""
        return next((batch for batch in self.batches if batch.key == key), None)

    def with_batch(self, batch: Batch) -> Snapshot:
        """Return the same after a batch was inserted, the last of all so far."""
        others = self.without_batch(batch.key).batches
        refused = tuple(event for event in self.refused if event.key != batch.key)
        return replace(self, batches=(*others, batch), refused=refused, tests=batch.number)

    def without_batch(self, key: str) -> Snapshot:
        """Return the same after a batch was removed."""
        return replace(self, batches=tuple(batch for batch in self.batches if batch.key != key))

    def with_events(self, *events: Event) -> Snapshot:
        """Return the same with more events."""
        return replace(self, events=(*self.events, *events))


@dataclass
class Replay:
    """What the records so far come to; see `Snapshot` for what it holds."""

    path: Path
    last: Head | Record = field(default_factory=Head)
    beginning: dict[str, Any] = field(default_factory=dict)
    references: list[Kept] = field(default_factory=list)
    eras: list[Era] = field(default_factory=list)
    batches: dict[str, Batch] = field(default_factory=dict)
    summed: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    refused: dict[str, Event] = field(default_factory=dict)
    calendar: dict[str, Any] = field(default_factory=lambda: Calendar("").to_dict())
    tests: int = 0

    @property
    def head(self) -> Head:
        """The end of the chain."""
        return Head(self.last.number, self.last.name, self.last.digest)

    def copy(self) -> Replay:
        """Return one that can go on by itself."""
        mutable = ("references", "eras", "batches", "summed", "events", "refused")
        return replace(self, **{name: getattr(self, name).copy() for name in mutable})

    def take(self, record: Record) -> None:
        """Take the next record, which belongs to the chain; refuse one that cannot be."""
        try:
            content = content_of(record.body)
            if (record.number == 1) is not (record.kind == "monitor"):
                raise Damaged("it is not where it can be")
            self._take(record, content)
        except Damaged as error:
            raise Damaged(f"{record.told()} cannot be: {error}") from None
        self.last = record

    def _take(self, record: Record, content: dict[str, Any]) -> None:
        kind, key = record.kind, record.key
        if kind == "batch":
            batch = Batch.read(key, self.tests + 1, content, StoredDetails.of(record, self.path))
            if batch.era != len(self.eras):
                raise Damaged("it was not held against what held then")
            self.forget(key)  # the order is that of arrival
            self.tests += 1
            self.refused.pop(key, None)
            self.batches[key] = batch
            if batch.sums:
                self.summed[key] = batch.sums
        elif kind in EVENTS:
            event = Event.read(record.number, kind, key, content)
            if kind == "batch forgotten" and not self.forget(key):
                raise Damaged("there is no such batch")
            if kind == "batch refused":
                self.refused[key] = event
            elif kind == "acknowledged" and event.cause == "refused" and not self.refused.pop(key, None):
                raise Damaged("there is no such batch that was refused")
            self.events.append(event)
        elif kind == "sums dropped":
            if self.summed.pop(key, None) is None:
                raise Damaged("there are no such sums")
        elif kind == "reference":
            self._require_next(content, len(self.references))
            self.references.append(Kept.read(content))
        elif kind == "era":
            self._require_next(content, len(self.eras))
            self.eras.append(Era.read(len(self.references), self.tests, content))
            self.summed.clear()  # sums of different spaces do not add up
        elif kind == "calendar":
            try:
                Calendar.from_dict(self.beginning["settings"]["every"], content)
            except ValueError as error:
                raise Damaged(str(error)) from None
            self.calendar = content
        elif kind == "lost":
            if type(content.get("tests")) is not int or not 0 <= content["tests"] <= MOST_LOST:
                raise Damaged("its number of tests is none")
            self.tests += content["tests"]
        elif kind == "monitor":
            require_beginning(content)
            self.beginning = content
        else:
            raise Damaged("its kind is not known")

    @staticmethod
    def _require_next(content: Mapping[str, Any], so_far: int) -> None:
        if type(content.get("number")) is not int or content["number"] != so_far + 1:
            raise Damaged("its number is not the next one")

    def forget(self, key: str) -> bool:
        """Take a batch out, and tell whether it was there."""
        self.summed.pop(key, None)
        return self.batches.pop(key, None) is not None

    def contents(self) -> set[str]:
        """Return the digests of the large contents that belong to it."""
        own = {digest for kept in self.references for digest in (kept.content, kept.sums)}
        return {*own, *self.summed.values()} - {""}

    def snapshot(self) -> Snapshot:
        """Return what the records come to."""
        if not self.eras:
            raise Damaged("there is nothing that batches are held against")
        return Snapshot(
            title=self.beginning["title"],
            created=self.beginning["created"],
            settings=self.beginning["settings"],
            eras=tuple(self.eras),
            references=tuple(self.references),
            batches=tuple(self.batches.values()),
            events=tuple(self.events),
            refused=tuple(self.refused.values()),
            calendar=Calendar.from_dict(self.beginning["settings"]["every"], self.calendar),
            tests=self.tests,
            summed=dict(self.summed),
            version=version_of(self.head),
        )


def version_of(head: Head) -> str:
    """Return a text that is another one for every end of a chain."""
    return f"{head.number}-{head.digest[:16]}"


def require_beginning(content: Mapping[str, Any]) -> None:
    """Refuse a beginning whose settings cannot be."""
    require_texts(content, "title", "created", "made_by")
    settings = content.get("settings")
    if type(settings) is not dict or settings.get("claim") not in CLAIMS:
        raise Damaged("its settings are none")
    window = settings.get("window")
    if type(window) is not int or not 1 <= window <= LONGEST_WINDOW:
        raise Damaged("its window is none")
    try:
        Spending.from_dict(settings)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Damaged(f"its settings are none ({error})") from None
