"""The history of a stream in one SQLite file: `History`.

Every call opens the file, does one thing in one transaction and closes it again. So nothing is left beside
the file, several processes may use it at once, and one that is killed leaves it as it was before the call,
or after.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nammd.monitor import schema
from nammd.monitor.records import BATCH_COLUMNS, Batch, Damaged, Era, Event, EventKind, checksum

PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""

PART = 16 * 2**20
"""Bytes of a reference in one row: SQLite holds at most a gigabyte in one."""

_SQLITE = b"SQLite format 3\x00"


@dataclass(frozen=True)
class Kept:
    """A reference as it is kept.

    Attributes
    ----------
    name : str
        What it is called.
    rows : int
        How many rows it has.
    digest : str
        Of its rows, as points of the space of its tolerance; empty where there is none, as of a sketch.
    kind : {"table", "column", "array", "sketch", "file", "elsewhere"}
        How: its content inside, or the path of a file, or nothing at all.
    path : str
        Where it came from; empty where it was data in memory.
    content : str
        The digest of what is kept inside; empty where that is nothing.
    """

    name: str
    rows: int
    digest: str
    kind: str
    path: str
    content: str = ""


@dataclass(frozen=True)
class Snapshot:
    """All of a history at one moment, but for the rows of the reference.

    Attributes
    ----------
    title, created : str
        What it watches, and since when.
    settings : dict
        What may go wrong, and how often batches come.
    eras : tuple of Era
        What batches are held against, the last one now.
    batches : tuple of Batch
        In the order of arrival.
    events : tuple of Event
        In the order in which they happened.
    tests : int
        How many tests there have been.
    """

    title: str
    created: str
    settings: dict[str, Any]
    eras: tuple[Era, ...]
    batches: tuple[Batch, ...]
    events: tuple[Event, ...]
    tests: int

    @property
    def version(self) -> str:
        """A text that is another one after every change of the history; see `History.version`."""
        last = self.events[-1].number if self.events else 0
        return _version(self.tests, len(self.batches), last, self.eras[-1].number)

    def batch(self, key: str) -> Batch | None:
        """Return the batch of a key."""
        return next((batch for batch in self.batches if batch.key == key), None)

    def with_batch(self, batch: Batch) -> Snapshot:
        """Return the same after a batch was inserted, the last of all so far."""
        return replace(self, batches=(*self.without_batch(batch.key).batches, batch), tests=batch.number)

    def without_batch(self, key: str) -> Snapshot:
        """Return the same after a batch was removed."""
        return replace(self, batches=tuple(batch for batch in self.batches if batch.key != key))

    def with_events(self, *events: Event) -> Snapshot:
        """Return the same with more events."""
        return replace(self, events=(*self.events, *events))


class History:
    """The history of a stream.

    Parameters
    ----------
    path : Path
        The file; it is there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._look()

    @classmethod
    def create(
        cls,
        path: Path,
        monitor: tuple[str, str, str],
        settings: dict[str, Any],
        begin: Callable[[Writer], Any],
    ) -> History:
        """Make a file; it is there completely or not at all.

        `monitor` is when it was made, by what, and its title; `begin` writes what it begins with.
        """
        if not path.parent.is_dir():
            raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
        if path.exists():
            raise _taken(path)
        making = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            with _sentences(path), closing(sqlite3.connect(making, isolation_level=None)) as db:
                with _transaction(db):
                    schema.bring_up(db)
                    stored = json.dumps(settings, sort_keys=True, allow_nan=False)
                    row = [*monitor, stored]
                    db.execute("INSERT INTO monitor VALUES (1, ?, ?, ?, ?, ?)", (*row, checksum(row)))
                    begin(Writer(db))
                db.execute("PRAGMA journal_mode = WAL")
            try:
                os.link(making, path)  # unlike a renaming it replaces nothing
            except FileExistsError:
                raise _taken(path) from None
            except OSError:  # a file system without links
                os.rename(making, path)
        finally:
            for name in (
                making,
                *(making.with_name(making.name + end) for end in ("-wal", "-shm", "-journal")),
            ):
                with suppress(FileNotFoundError):
                    name.unlink()
        return cls(path)

    def _look(self) -> None:
        """Say in a sentence what is wrong with the file; bring one of an earlier version up to this one."""
        if not self.path.exists():
            raise FileNotFoundError(f"there is no monitor {self.path}; make one with 'nammd monitor init'")
        if self.path.is_dir():
            raise IsADirectoryError(f"{self.path} is a folder, not a monitor")
        with self.path.open("rb") as file:
            head = file.read(len(_SQLITE))
        if head != _SQLITE:
            raise ValueError(f"{self.path} is not a monitor: it is no SQLite file")
        with self._open() as db:
            application = int(db.execute("PRAGMA application_id").fetchone()[0])
            version = schema.version_of(db)
            if application != schema.APPLICATION:
                raise ValueError(f"{self.path} is not a monitor: it is a SQLite file of another program")
            if version > schema.VERSION:
                raise ValueError(
                    f"{self.path} was written by a newer nammd (file version {version}, this one reads up to "
                    f"{schema.VERSION}); upgrade nammd to use it"
                )
            if 0 < version < schema.VERSION:
                with _transaction(db):
                    schema.bring_up(db)
            if version < 1:
                raise Damaged("it has no tables")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with _sentences(self.path):
            options = "mode=rw"
            if not os.access(self.path, os.W_OK) or not os.access(self.path.parent, os.W_OK):
                # Reading needs files beside it, unless it is known that nobody writes.
                waiting = self.path.with_name(self.path.name + "-wal").exists()
                options = "mode=ro" if waiting else "mode=ro&immutable=1"
            address = f"{self.path.resolve().as_uri()}?{options}"
            with closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE)) as db:
                db.execute("PRAGMA foreign_keys = ON")
                db.execute("PRAGMA synchronous = FULL")
                yield db

    def read(self) -> Snapshot:
        """Return all of it, as it is at one moment."""
        with self._open() as db, _transaction(db, "DEFERRED"):
            return _snapshot(db)

    def version(self) -> str:
        """Return a text that is another one after every change."""
        with self._open() as db, _transaction(db, "DEFERRED"):
            return _version_now(db)

    def eras(self) -> tuple[Era, ...]:
        """Return what batches have been held against, the present last."""
        with self._open() as db, _transaction(db, "DEFERRED"):
            return _eras(db)

    def write(self, change: Callable[[Writer], Any]) -> Any:
        """Change it in one transaction; what `change` returns is returned, and what it raises undoes all."""
        with self._open() as db, _transaction(db):
            return change(Writer(db))

    def reference(self, number: int) -> tuple[Kept, bytes]:
        """Return a reference as it is kept, with its content."""
        with self._open() as db, _transaction(db, "DEFERRED"):
            row = db.execute(
                "SELECT name, rows, digest, kind, path, content FROM reference WHERE number = ?", (number,)
            ).fetchone()
            if row is None:
                raise Damaged("a reference is missing")
            parts = db.execute(
                "SELECT content FROM reference_part WHERE reference = ? ORDER BY part", (number,)
            ).fetchall()
        return Kept(*row), b"".join(bytes(part) for (part,) in parts)

    def sums(self, era: Era) -> tuple[bytes | None, dict[str, bytes]]:
        """Return the sums of the reference of an era and of its batches, where there are any."""
        with self._open() as db, _transaction(db, "DEFERRED"):
            reference = db.execute(
                "SELECT content FROM reference_sums WHERE reference = ?", (era.reference,)
            ).fetchone()
            rows = db.execute(
                "SELECT key, batch_sums.content FROM batch_sums JOIN batch USING (key) WHERE batch.era = ?",
                (era.number,),
            ).fetchall()
        return None if reference is None else reference[0], {str(key): bytes(value) for key, value in rows}


class Writer:
    """What can be done within a transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def read(self, seen: Snapshot | None = None) -> Snapshot:
        """Return all of it, with what this transaction has done so far; `seen` if that is still all of it."""
        return seen if seen is not None and seen.version == _version_now(self._db) else _snapshot(self._db)

    def insert(self, batch: Batch, sums: bytes = b"") -> Batch:
        """Add a batch with its sums, which gets the next number; one with its key is replaced."""
        self._db.execute("UPDATE tally SET tests = tests + 1")
        [number] = self._db.execute("SELECT tests FROM tally").fetchone()
        numbered = replace(batch, number=int(number))
        self.remove(batch.key)
        places = ", ".join("?" * (len(BATCH_COLUMNS) + 1))
        self._db.execute(f"INSERT INTO batch ({_BATCH}, checksum) VALUES ({places})", numbered.to_row())
        if sums:
            self._db.execute("INSERT INTO batch_sums VALUES (?, ?)", (batch.key, sums))
        # As it is there: what could not be read again is not to be committed.
        row = self._db.execute(f"SELECT {_BATCH}, checksum FROM batch WHERE key = ?", (batch.key,)).fetchone()
        return Batch.from_row(row)

    def remove(self, key: str) -> None:
        """Remove a batch, if it is there."""
        self._db.execute("DELETE FROM batch WHERE key = ?", (key,))

    def keep_sums_of(self, chosen: Callable[[list[str]], Sequence[str]]) -> None:
        """Keep the sums of some batches only: those that are chosen from the keys of all that have some."""
        keys = [str(key) for (key,) in self._db.execute("SELECT key FROM batch_sums").fetchall()]
        kept = set(chosen(keys)) if keys else set()
        dropped = [(key,) for key in keys if key not in kept]
        self._db.executemany("DELETE FROM batch_sums WHERE key = ?", dropped)

    def event(self, at: str, kind: EventKind, key: str = "", cause: str = "", text: str = "") -> Event:
        """Add an event."""
        cursor = self._db.execute(
            "INSERT INTO event (at, kind, key, cause, text) VALUES (?, ?, ?, ?, ?)",
            (at, kind, key, cause, text),
        )
        return Event(int(cursor.lastrowid or 0), at, kind, key, cause, text)

    def begin_era(self, at: str, tolerance: str, reference: int) -> int:
        """Begin to hold batches against something else; return its number."""
        cursor = self._db.execute(
            "INSERT INTO era (since, tolerance, reference) VALUES (?, ?, ?)", (at, tolerance, reference)
        )
        return int(cursor.lastrowid or 0)

    def keep(self, kept: Kept, content: bytes, sums: bytes = b"") -> int:
        """Keep a reference with its sums; return its number."""
        cursor = self._db.execute(
            "INSERT INTO reference (name, rows, digest, kind, path, content) VALUES (?, ?, ?, ?, ?, ?)",
            (kept.name, kept.rows, kept.digest, kept.kind, kept.path, kept.content),
        )
        number = int(cursor.lastrowid or 0)
        parts = [(number, k, content[k * PART : (k + 1) * PART]) for k in range(-(-len(content) // PART))]
        self._db.executemany("INSERT INTO reference_part VALUES (?, ?, ?)", parts)
        if sums:
            self._db.execute("INSERT INTO reference_sums VALUES (?, ?)", (number, sums))
        return number


_BATCH = ", ".join(BATCH_COLUMNS)
_EVENT = "number, at, kind, key, cause, text"


def _snapshot(db: sqlite3.Connection) -> Snapshot:
    beginning = db.execute("SELECT created, made_by, title, settings, checksum FROM monitor").fetchone()
    if beginning is None or checksum(list(beginning[:-1])) != beginning[-1]:
        raise Damaged("its beginning is not what was written")
    created, _, title, settings, _ = beginning
    batches = db.execute(f"SELECT {_BATCH}, checksum FROM batch ORDER BY number").fetchall()
    events = db.execute(f"SELECT {_EVENT} FROM event ORDER BY number").fetchall()
    [tests] = db.execute("SELECT tests FROM tally").fetchone()
    return Snapshot(
        title=title,
        created=created,
        settings=json.loads(settings),
        eras=_eras(db),
        batches=tuple(Batch.from_row(row) for row in batches),
        events=tuple(Event(*row) for row in events),
        tests=int(tests),
    )


def _eras(db: sqlite3.Connection) -> tuple[Era, ...]:
    rows = db.execute("SELECT number, since, tolerance, reference FROM era ORDER BY number").fetchall()
    return tuple(Era(*row) for row in rows)


def _version_now(db: sqlite3.Connection) -> str:
    counts = db.execute(
        "SELECT (SELECT tests FROM tally), (SELECT COUNT(*) FROM batch), "
        "(SELECT COALESCE(MAX(number), 0) FROM event), (SELECT MAX(number) FROM era)"
    )
    return _version(*counts.fetchone())


def _version(tests: int, batches: int, last_event: int, era: int) -> str:
    return f"{tests}-{batches}-{last_event}-{era}"


@contextmanager
def _transaction(db: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    db.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk may have undone it already
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


_MEANINGS: Sequence[tuple[tuple[str, ...], type[Exception], str]] = (
    (("disk is full", "disk i/o error"), OSError, "cannot be written: the disk is full; it is as before"),
    (("locked", "busy"), TimeoutError, "is being written by another process; try again"),
    (("readonly", "read-only"), PermissionError, "cannot be written: permission denied"),
    (("unable to open",), PermissionError, "cannot be opened: permission denied"),
)


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """Turn what SQLite has to say into one sentence about the file."""
    try:
        yield
    except sqlite3.Error as error:
        words = str(error).lower()
        for marks, kind, meaning in _MEANINGS:
            if any(mark in words for mark in marks):
                raise kind(f"the monitor {path} {meaning}") from None
        raise _damaged(path, error) from None
    except (Damaged, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, error) from None


def _taken(path: Path) -> FileExistsError:
    return FileExistsError(f"{path} already exists; name another file, or remove it first")


def _damaged(path: Path, error: Exception) -> ValueError:
    return ValueError(f"the monitor {path} is damaged ({error}); take it from a backup")
