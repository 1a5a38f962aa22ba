"""Moving what can be read of a damaged history into a new file; the damaged one is never changed.

A record is taken over where it is by itself what was written, and where the next one says so too. In the
place of what is gone stands a record that says so, and that tests are spent where there were, or may have
been, any.
"""

from __future__ import annotations

import dataclasses
import datetime
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nammd.errors.seal_key import current_key, require_key
from nammd.monitor.chain import (
    COLUMNS,
    KEYED,
    Damaged,
    Head,
    Record,
    content_of,
    gone,
    is_whole,
    told,
)
from nammd.monitor.file import copied, require_sqlite, sentences
from nammd.monitor.history import History, Row, Writer, require_schema, stored_content
from nammd.monitor.records import EVENTS, Kept
from nammd.monitor.replay import MOST_LOST

UNKNOWN = Kept("a reference that is lost", 1, "", "elsewhere", "")
"""What stands in the place of a reference of which nothing is known any more."""

MISSES = 1000
"""After so many numbers without a record there are no more, where nothing says how many there were."""


@dataclass(frozen=True)
class Repair:
    """What came of repairing a history.

    Attributes
    ----------
    path : Path or None
        The new file; None where nothing was wrong with the old one.
    batches, events : int
        How many of them are there.
    missing : tuple of str
        What could not be taken over, in words.
    """

    path: Path | None
    batches: int
    events: int
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gap:
    """Records that are gone."""

    words: str
    tests: int


def repair(path: Path, into: Path | None = None) -> Repair:
    """Move what can be read of a history into a new file, and tell what is missing.

    Parameters
    ----------
    path : Path
        The damaged file; it stays as it is.
    into : Path, optional
        The new file; by default one beside it, with ``.repaired`` in its name.
    """
    key = current_key()
    require_sqlite(path)
    with suppress(ValueError, OSError):
        whole = History(path, key)
        whole.require_contents()
        return _done(None, whole)
    new = path.with_name(f"{path.stem}.repaired{path.suffix}") if into is None else into
    with copied(path) as place, sentences(path, "read"), closing(sqlite3.connect(place)) as db:
        require_schema(db, path)
        head = _head(db, key, path)
        items = list(_chained(_rows(db, head), head, key))
        if not items or isinstance(items[0], Gap) or items[0].kind != "monitor":
            raise ValueError(
                f"nothing of {path} can be taken over: its beginning is gone, or it was sealed with another "
                "key; take it from a backup"
            )
        moving = Moving(db, path)
        if head is None:
            moving.missing.append("the end of the chain: whether there were more records is not known")
        beginning = content_of(items[0].body)
        made = History.create(new, beginning, lambda writer: moving.take(writer, items[1:]), key)
    return _done(new, made, moving.missing)


def _done(new: Path | None, history: History, missing: Sequence[str] = ()) -> Repair:
    seen = history.read()
    return Repair(new, len(seen.batches), len(seen.events), tuple(missing))


def _head(db: sqlite3.Connection, key: bytes | None, path: Path) -> Head | None:
    """Return the end of the chain, if it is what was written."""
    try:
        row = db.execute("SELECT number, name, digest, seal FROM head").fetchone()
    except sqlite3.Error:
        return None
    if row is None or [type(value) for value in row] != [int, str, str, str]:
        return None
    require_key(row[3].startswith(KEYED), key, f"the monitor {path}")
    head = Head(*row[:3])
    return head if head.sealed(key) == row[3] else None


def _rows(db: sqlite3.Connection, head: Head | None) -> list[Row]:
    """Return the rows that can be read; where some cannot, one by one."""
    with suppress(sqlite3.Error, UnicodeDecodeError):
        return db.execute(f"SELECT {COLUMNS} FROM record ORDER BY number").fetchall()
    rows: list[Row] = []
    number = misses = 0
    while misses < MISSES and (head is None or number < head.number):
        number, misses = number + 1, misses + 1
        with suppress(sqlite3.Error, UnicodeDecodeError):
            row = db.execute(f"SELECT {COLUMNS} FROM record WHERE number = ?", (number,)).fetchone()
            if row is not None:
                rows.append(row)
                misses = 0
    return rows


def _chained(rows: list[Row], head: Head | None, key: bytes | None) -> Iterator[Record | Gap]:
    """Return the records that the chain proves, with gaps in the place of all others."""
    records = [Record(*row) for row in rows if is_whole(row, key)]
    there = {row[0] for row in rows}
    late: list[Record] = []
    if head is not None:
        late = [record for record in records if record.number > head.number]
        records = records[: len(records) - len(late)]
    after = {record.number - 1: record.before for record in records}
    if head is not None:
        after[head.number] = head.digest
    # One that was changed and sealed anew is not the one that the next record follows.
    records = [record for record in records if after.get(record.number, record.digest) == record.digest]
    number = 0
    for record in records:
        if record.number > number + 1:
            yield _gap(number + 1, record.number - 1, record.follows, there)
        yield record
        number = record.number
    if head is not None and head.number > number:
        yield _gap(number + 1, head.number, head.name, there)
    for record in late:
        yield Gap(f"{record.told()} was put in after the last one", 0)


def _gap(first: int, last: int, name: str, there: set[Any]) -> Gap:
    known = first == last and (name in ("monitor", "reference", "era", "calendar") or _is_event(name))
    changed = first == last and first in there
    words = f"{told(first, name)} is not what was written" if changed else gone(first, last, name)
    return Gap(words, 0 if known else min(last - first + 1, MOST_LOST))


def _is_event(name: str) -> bool:
    return any(name == kind or name.startswith(f"{kind} ") for kind in (*EVENTS, "sums dropped", "lost"))


class Moving:
    """Writing into the new file what the old one has, and noting what is missing."""

    def __init__(self, old: sqlite3.Connection, path: Path) -> None:
        self._old, self._path = old, path
        self._references: dict[Any, int] = {}
        self._eras: dict[Any, int] = {}
        self._without_sums: set[str] = set()
        self.missing: list[str] = []

    def take(self, writer: Writer, items: list[Record | Gap]) -> None:
        """Take records over, in their order."""
        for item in items:
            if isinstance(item, Gap):
                self._lose(writer, item)
                continue
            try:
                self._move(writer, item)
            except Damaged as error:
                self._lose(writer, Gap(f"{item.told()} cannot be used: {error}", int(item.kind == "batch")))
        if not writer.replay.eras:
            raise ValueError(
                f"nothing of {self._path} can be taken over: what its batches were held against is gone; "
                "take it from a backup"
            )
        self.missing += [f"the sums of the batch {key}" for key in sorted(self._without_sums)]
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        count = len(self.missing)
        words = f"What could be read was moved here; missing: {'; '.join(self.missing[:5])}"
        writer.event(now, "repaired", text=words + (f"; and {count - 5} more." if count > 5 else "."))

    def _lose(self, writer: Writer, gap: Gap) -> None:
        self.missing.append(gap.words)
        writer.append("lost", "", {"tests": gap.tests, "text": gap.words})

    def _move(self, writer: Writer, record: Record) -> None:
        content = content_of(record.body)
        if record.kind == "reference":
            self._move_reference(writer, content)
        elif record.kind == "era":
            number, known = len(writer.replay.eras) + 1, _number(content, "reference")
            if known not in self._references:
                self._move_reference(writer, dataclasses.asdict(UNKNOWN) | {"number": known})
            reference = self._references[known]
            writer.append("era", "", content | {"number": number, "reference": reference})
            self._eras[_number(content, "number")] = number
            self._without_sums.clear()
        elif record.kind == "batch":
            self._move_batch(writer, record, content)
        elif record.kind == "sums dropped":
            self._without_sums.discard(record.key)
            if record.key in writer.replay.summed:
                writer.append("sums dropped", record.key, {})
        else:
            writer.append(record.kind, record.key, content)
            if record.kind == "batch forgotten":
                self._without_sums.discard(record.key)

    def _move_batch(self, writer: Writer, record: Record, content: dict[str, Any]) -> None:
        sums = self._content(content.get("sums"))
        moved = content | {"era": self._eras.get(_number(content, "era")), "sums": writer.store(sums)}
        writer.append("batch", record.key, moved, content_of(record.details))
        if content.get("sums") and not sums:
            self._without_sums.add(record.key)  # unless they were dropped later
        else:
            self._without_sums.discard(record.key)

    def _move_reference(self, writer: Writer, content: dict[str, Any]) -> None:
        rows, sums = (self._content(content.get(name)) for name in ("content", "sums"))
        number = len(writer.replay.references) + 1
        stored = {"number": number, "content": writer.store(rows), "sums": writer.store(sums)}
        if (content.get("content") and not rows) or content["name"] == UNKNOWN.name:
            stored["kind"] = "file" if content.get("path") else "elsewhere"
            self.missing.append("the rows of the reference: give it again with --reference FILE")
        writer.append("reference", "", content | stored)
        self._references[_number(content, "number")] = number

    def _content(self, digest: Any) -> bytes:
        """Return a large content; nothing where it is damaged."""
        try:
            return stored_content(self._old, digest) if isinstance(digest, str) and digest else b""
        except (Damaged, sqlite3.Error):
            return b""


def _number(content: dict[str, Any], name: str) -> int | None:
    found = content.get(name)
    return found if type(found) is int else None
