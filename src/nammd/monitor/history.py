"""The history of a stream in one SQLite file: `History`.

Every call opens the file, does one thing in one transaction and closes it again. So nothing is left beside
the file, several processes may use it at once, and one that is killed leaves it as it was before the call,
or after.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from nammd.errors.seal_key import require_key, wrong_key
from nammd.monitor import schema
from nammd.monitor.batch import Batch
from nammd.monitor.calendar import Calendar
from nammd.monitor.chain import COLUMNS, KEYED, Damaged, Head, Record, is_whole, require_chain
from nammd.monitor.collecting import without_collecting
from nammd.monitor.file import JOURNAL, committed, reading, require_sqlite, sentences, writing
from nammd.monitor.records import Era, Event, EventKind, Kept
from nammd.monitor.replay import Replay, Snapshot, version_of

PART = 16 * 2**20
"""Bytes of a content in one row: SQLite holds at most a gigabyte in one."""

MISSING = "the rows of its reference, or the sums of a batch, are missing or not what was written"
Row = tuple[Any, ...]


class History:
    """The history of a stream.

    Parameters
    ----------
    path : Path
        The file; it is there.
    key : bytes, optional
        The key that it is sealed with.
    """

    def __init__(self, path: Path, key: bytes | None = None) -> None:
        self.path = path
        self._key = key
        # What was read last, so that only what is new since must be checked: never changed, only replaced.
        self._known: tuple[list[Row], Replay] = [], Replay(path)
        require_sqlite(path)
        with reading(path) as db:
            needed = self._replay(db).contents()
            there = {digest for (digest,) in db.execute("SELECT DISTINCT digest FROM content")}
            if not needed <= there:
                raise Damaged(MISSING)

    @classmethod
    def create(
        cls,
        path: Path,
        beginning: dict[str, Any],
        begin: Callable[[Writer], Any],
        key: bytes | None = None,
    ) -> History:
        """Make a file; it is there completely or not at all.

        `beginning` is when it was made, by what, its title and its settings; `begin` writes what comes next.
        """
        if not path.parent.is_dir():
            raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
        if path.exists():
            raise _taken(path)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
        os.close(handle)
        making = Path(name)
        try:
            with sentences(path, "written"), closing(sqlite3.connect(making, isolation_level=None)) as db:
                db.execute("BEGIN IMMEDIATE")
                with committed(db):
                    schema.make_tables(db)
                    writer = Writer(db, key, Replay(path))
                    writer.append("monitor", "", beginning)
                    begin(writer)
                    db.execute("INSERT INTO head VALUES (1, ?, ?, ?, ?)", writer.end())
            try:
                os.link(making, path)  # unlike a renaming it replaces nothing
            except FileExistsError:
                raise _taken(path) from None
            except OSError:  # a file system without links
                os.rename(making, path)
        finally:
            for left in (making, Path(f"{making}{JOURNAL}")):
                left.unlink(missing_ok=True)
        return cls(path, key)

    def read(self) -> Snapshot:
        """Return all of it, as it is at one moment."""
        with reading(self.path) as db:
            return self._replay(db).snapshot()

    def version(self) -> str:
        """Return a text that is another one after every change."""
        with reading(self.path) as db:
            return version_of(self._head(db))

    def write(self, change: Callable[[Writer], Any]) -> Any:
        """Change it in one transaction; what `change` returns is returned, and what it raises undoes all."""
        with writing(self.path) as db:
            head, known = self._head(db), self._known[1]
            writer = Writer(db, self._key, (known if known.head == head else self._replay(db)).copy())
            found = change(writer)
            if writer.head != head:
                db.execute("UPDATE head SET number = ?, name = ?, digest = ?, seal = ?", writer.end())
        return found

    def contents(self, *digests: str) -> dict[str, bytes]:
        """Return large contents by their digests, each checked."""
        with reading(self.path) as db:
            self._head(db)
            return {digest: stored_content(db, digest) for digest in digests}

    def require_contents(self) -> None:
        """Refuse a history of which a large content is not what was written."""
        for digest in self._known[1].contents():
            self.contents(digest)

    def sums(self, era: Era) -> tuple[bytes | None, dict[str, bytes]]:
        """Return the sums of the reference of an era and of its batches, where there are any."""
        seen = self.read()
        own = seen.references[era.reference - 1].sums
        keys = {
            b.key: seen.summed[b.key] for b in seen.batches if b.era == era.number and b.key in seen.summed
        }
        found = self.contents(*filter(None, (own, *keys.values())))
        return found.get(own), {key: found[digest] for key, digest in keys.items()}

    @without_collecting()
    def _replay(self, db: sqlite3.Connection) -> Replay:
        """Return what the records come to; those that are as they were when they were read last are known."""
        head, (known, replay) = self._head(db), self._known
        rows = db.execute(f"SELECT {COLUMNS} FROM record ORDER BY number").fetchall()
        if rows[: len(known)] != known:
            known, replay = [], Replay(self.path)
        replay = replay.copy()
        for record in require_chain(rows[len(known) :], replay.head, head, self._key):
            replay.take(record)
        self._known = rows, replay
        return replay

    def _head(self, db: sqlite3.Connection) -> Head:
        """Return the end of the chain, if it was sealed with the key, or without where there is none."""
        require_schema(db, self.path)
        row = db.execute("SELECT number, name, digest, seal FROM head").fetchone()
        if row is None or [type(value) for value in row] != [int, str, str, str]:
            raise Damaged("the end of its chain is not what was written")
        head, seal = Head(*row[:3]), row[3]
        require_key(seal.startswith(KEYED), self._key, f"the monitor {self.path}")
        if head.sealed(self._key) == seal:
            return head
        if self._key is not None:
            first = db.execute(f"SELECT {COLUMNS} FROM record WHERE number = 1").fetchone()
            if first is not None and not is_whole(first, self._key):
                raise wrong_key(f"the monitor {self.path}")
        raise Damaged("the end of its chain is not what was written")


class Writer:
    """What can be done within a transaction.

    Attributes
    ----------
    replay : Replay
        What is there, with what this transaction has done so far.
    """

    def __init__(self, db: sqlite3.Connection, key: bytes | None, replay: Replay) -> None:
        self._db, self._key, self.replay = db, key, replay
        self._stored = replay.contents()

    @property
    def head(self) -> Head:
        """The end of the chain."""
        return self.replay.head

    def append(self, kind: str, key: str, content: Any, details: Any = None) -> Record:
        """Add a record, and read it again: what could not be read is not to be committed."""
        record = self.head.next(kind, key, content, self._key, details)
        self.replay.take(record)
        places = ", ".join("?" * len(record))
        self._db.execute(f"INSERT INTO record ({COLUMNS}) VALUES ({places})", record)
        return record

    def read(self) -> Snapshot:
        """Return all of it, with what this transaction has done so far."""
        return self.replay.snapshot()

    def insert(self, batch: Batch, sums: bytes = b"") -> Batch:
        """Add a batch with its sums, which gets the next number; one with its key is replaced."""
        content, details = dataclasses.replace(batch, sums=self.store(sums)).content()
        self.append("batch", batch.key, content, details)
        stored = self.replay.batches[batch.key]
        stored.details.read()
        return stored

    def keep_sums_of(self, chosen: Callable[[list[str]], Sequence[str]]) -> None:
        """Keep the sums of some batches only: those that are chosen from the keys of all that have some."""
        keys = list(self.replay.summed)
        kept = set(chosen(keys)) if keys else set()
        for key in keys:
            if key not in kept:
                self.append("sums dropped", key, {})

    def event(self, at: str, kind: EventKind, key: str = "", cause: str = "", text: str = "") -> Event:
        """Add an event; that a batch is forgotten takes it out."""
        self.append(kind, key, {"at": at, "cause": cause, "text": text})
        return self.replay.events[-1]

    def begin_era(self, at: str, tolerance: str, reference: int) -> int:
        """Begin to hold batches against something else; return its number."""
        number = len(self.replay.eras) + 1
        content = {"number": number, "since": at, "tolerance": tolerance, "reference": reference}
        self.append("era", "", content)
        return number

    def expect(self, calendar: Calendar) -> None:
        """Begin to expect batches by a calendar."""
        self.append("calendar", "", calendar.to_dict())

    def keep(self, kept: Kept, content: bytes, sums: bytes = b"") -> int:
        """Keep a reference with its sums; return its number."""
        stored = dataclasses.replace(kept, content=self.store(content), sums=self.store(sums))
        number = len(self.replay.references) + 1
        self.append("reference", "", {"number": number} | dataclasses.asdict(stored))
        return number

    def end(self) -> tuple[Any, ...]:
        """Take out contents that are not needed any more; return the row of the end of the chain."""
        for digest in self._stored - self.replay.contents():
            self._db.execute("DELETE FROM content WHERE digest = ?", (digest,))
        return (*self.head, self.head.sealed(self._key))

    def store(self, content: bytes) -> str:
        """Keep a large content, if there is any; return its digest."""
        if not content:
            return ""
        digest = hashlib.sha256(content).hexdigest()
        for part in range(-(-len(content) // PART)):
            row = digest, part, content[part * PART : (part + 1) * PART]
            self._db.execute("INSERT OR IGNORE INTO content VALUES (?, ?, ?)", row)
        self._stored.add(digest)
        return digest


def stored_content(db: sqlite3.Connection, digest: str) -> bytes:
    """Return a large content, if it is what was written."""
    rows = db.execute("SELECT content FROM content WHERE digest = ? ORDER BY part", (digest,)).fetchall()
    parts = [part for (part,) in rows if type(part) is bytes]
    content = b"".join(parts)
    if len(parts) < len(rows) or hashlib.sha256(content).hexdigest() != digest:
        raise Damaged(MISSING)
    return content


def require_schema(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a file of another program, or of another version of this one."""
    version = schema.version_of(db)
    if int(db.execute("PRAGMA application_id").fetchone()[0]) != schema.APPLICATION:
        raise ValueError(f"{path} is not a monitor: it is a SQLite file of another program")
    if version > schema.VERSION:
        raise ValueError(
            f"{path} was written by a newer nammd (file version {version}, this one reads {schema.VERSION}); "
            "upgrade nammd to use it"
        )
    if version < schema.VERSION:
        raise ValueError(
            f"{path} was made by an earlier version of nammd; make it anew with 'nammd monitor init'"
        )


def _taken(path: Path) -> FileExistsError:
    return FileExistsError(f"{path} already exists; name another file, or remove it first")
