"""The SQLite file of a history: opened for one call, for reading or for writing, and closed again.

Who reads writes nothing, not even beside the file: so a full disk and a read-only file can be read. What a
process that was killed while writing has left is undone first; where that may not be written, in a copy.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from nammd.monitor.chain import Damaged, damaged

PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""

JOURNAL = "-journal"
"""Behind the name of the file: what SQLite needs to undo what was begun."""

_SQLITE = b"SQLite format 3\x00"
_LEFT = "SQLITE_READONLY_ROLLBACK"
"""What SQLite says where something must be undone before the file can be read."""


def require_sqlite(path: Path) -> None:
    """Refuse what is not there, or no SQLite file."""
    if not path.exists():
        raise FileNotFoundError(f"there is no monitor {path}; make one with 'nammd monitor init'")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a monitor")
    with path.open("rb") as file:
        head = file.read(len(_SQLITE))
    if head != _SQLITE:
        raise ValueError(f"{path} is not a monitor: it is no SQLite file")


def require_writable(path: Path) -> None:
    """Refuse a file that its mode says not to write, also to those who may write everything."""
    if not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK):
        raise PermissionError(
            f"the monitor {path} cannot be written: it is read-only; make it writable, or write into a copy"
        )


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file for reading, in a transaction: what is read is the state of one moment."""
    with sentences(path, "read"):
        try:
            db = _begun(path, "ro", "DEFERRED")
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorname", "") != _LEFT:
                raise
            with _undone(path) as place, closing(_begun(place, "rw", "DEFERRED")) as db:
                yield db
            return
        with closing(db):
            yield db


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file for writing, in a transaction that is undone where anything is raised."""
    require_writable(path)
    with sentences(path, "written"), closing(_begun(path, "rw", "IMMEDIATE")) as db, committed(db):
        yield db


@contextmanager
def committed(db: sqlite3.Connection) -> Iterator[None]:
    """Commit at the end what was begun, or undo it where anything is raised."""
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk may have undone it already
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@contextmanager
def copied(path: Path) -> Iterator[Path]:
    """Copy a file, with what is to be undone, to where nobody else looks; the file itself stays as it is."""
    with tempfile.TemporaryDirectory(prefix="nammd-") as folder:
        place = Path(folder, "copy.monitor")
        shutil.copyfile(path, place)
        with suppress(FileNotFoundError):
            shutil.copyfile(f"{path}{JOURNAL}", f"{place}{JOURNAL}")
        yield place


@contextmanager
def _undone(path: Path) -> Iterator[Path]:
    """Return where a file can be read of which a writer was killed: there or, if it is read-only, a copy."""
    try:
        require_writable(path)
        may_write = os.access(path.parent, os.W_OK)
    except PermissionError:
        may_write = False
    if may_write:
        yield path
    else:
        with copied(path) as place:
            yield place


def _begun(path: Path, mode: str, kind: str) -> sqlite3.Connection:
    """Return a connection with a transaction that sees the file as it is now."""
    address = f"{path.resolve().as_uri()}?mode={mode}"
    db = sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE)
    try:
        db.execute("PRAGMA synchronous = EXTRA")  # what is committed stays, also after a power cut
        db.execute(f"BEGIN {kind}")
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except BaseException:
        db.close()
        raise
    return db


_MEANINGS: Sequence[tuple[tuple[str, ...], type[Exception], str]] = (
    (
        ("disk is full", "disk i/o error"),
        OSError,
        "cannot be {}: the disk is full or broken; it is as before",
    ),
    (("locked", "busy"), TimeoutError, "is being written by another process; try again"),
    (("readonly", "read-only"), PermissionError, "cannot be {}: permission denied"),
    (("unable to open",), PermissionError, "cannot be {}: permission denied"),
)


@contextmanager
def sentences(path: Path, done: str) -> Iterator[None]:
    """Turn what SQLite has to say into one sentence about the file."""
    try:
        yield
    except sqlite3.Error as error:
        words = str(error).lower()
        for marks, kind, meaning in _MEANINGS:
            if any(mark in words for mark in marks):
                raise kind(f"the monitor {path} {meaning.format(done)}") from None
        raise damaged(path, error) from None
    except (Damaged, UnicodeDecodeError) as error:
        raise damaged(path, error) from None
