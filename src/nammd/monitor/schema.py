"""The tables of a history.

A `record` is anything that was ever written, in the order of writing; see `chain`. Its large contents, the
rows of a reference and the sums of batches, stand in `content` under their digests. `head` is the end of the
chain: without it nobody would miss the last records.
"""

from __future__ import annotations

import sqlite3

APPLICATION = 0x6E616D6D
"""What tells a history from other SQLite files: "namm"."""

VERSION = 5

_STATEMENTS = (
    """CREATE TABLE record (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        body TEXT NOT NULL,
        details TEXT NOT NULL,
        follows TEXT NOT NULL,
        before TEXT NOT NULL,
        digest TEXT NOT NULL
    )""",
    """CREATE TRIGGER record_stays BEFORE UPDATE ON record
        BEGIN SELECT RAISE(ABORT, 'records are only ever added'); END""",
    """CREATE TRIGGER record_is_kept BEFORE DELETE ON record
        BEGIN SELECT RAISE(ABORT, 'records are only ever added'); END""",
    """CREATE TABLE head (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        number INTEGER NOT NULL,
        name TEXT NOT NULL,
        digest TEXT NOT NULL,
        seal TEXT NOT NULL
    )""",
    """CREATE TABLE content (
        digest TEXT NOT NULL,
        part INTEGER NOT NULL,
        content BLOB NOT NULL,
        PRIMARY KEY (digest, part)
    )""",
)


def version_of(db: sqlite3.Connection) -> int:
    """Return the version of the tables; zero where there are none yet."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def make_tables(db: sqlite3.Connection) -> None:
    """Make the tables; the caller has begun a transaction and commits it."""
    for statement in _STATEMENTS:
        db.execute(statement)
    # Pragmas take no parameters; both are whole numbers of this module.
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {VERSION}")
