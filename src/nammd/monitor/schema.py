"""The tables of a history, and how a file of an earlier version becomes one of this version.

A version is a step, and a step is a list of statements. A new file takes all steps, an older one those that
it lacks, in one transaction.
"""

from __future__ import annotations

import sqlite3

APPLICATION = 0x6E616D6D
"""What tells a history from other SQLite files: "namm"."""

_FIRST = (
    """CREATE TABLE monitor (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        created TEXT NOT NULL,
        made_by TEXT NOT NULL,
        title TEXT NOT NULL,
        settings TEXT NOT NULL,
        checksum TEXT NOT NULL
    )""",
    """CREATE TABLE reference (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        rows INTEGER NOT NULL,
        digest TEXT NOT NULL,
        kind TEXT NOT NULL,
        path TEXT NOT NULL,
        content TEXT NOT NULL
    )""",
    """CREATE TABLE reference_part (
        reference INTEGER NOT NULL REFERENCES reference (number),
        part INTEGER NOT NULL,
        content BLOB NOT NULL,
        PRIMARY KEY (reference, part)
    )""",
    """CREATE TABLE era (
        number INTEGER PRIMARY KEY,
        since TEXT NOT NULL,
        tolerance TEXT NOT NULL,
        reference INTEGER NOT NULL REFERENCES reference (number)
    )""",
    """CREATE TABLE batch (
        key TEXT PRIMARY KEY,
        number INTEGER NOT NULL UNIQUE,
        era INTEGER NOT NULL REFERENCES era (number),
        digest TEXT NOT NULL,
        added TEXT NOT NULL,
        source TEXT NOT NULL,
        m INTEGER NOT NULL,
        n INTEGER NOT NULL,
        epsilon REAL NOT NULL,
        u REAL, deviation REAL, share REAL,
        given REAL, reference REAL, features REAL, error REAL,
        distance REAL, low REAL, high REAL,
        pvalue_close REAL, pvalue_far REAL, pvalue_beyond REAL,
        cautions TEXT NOT NULL,
        columns TEXT NOT NULL,
        settings TEXT NOT NULL,
        report TEXT NOT NULL,
        checksum TEXT NOT NULL
    )""",
    """CREATE TABLE event (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        cause TEXT NOT NULL,
        text TEXT NOT NULL
    )""",
    """CREATE TRIGGER event_stays BEFORE UPDATE ON event
        BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END""",
    """CREATE TRIGGER event_is_kept BEFORE DELETE ON event
        BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END""",
    # How many tests there have been, forgotten ones included: levels that are spent are spent.
    "CREATE TABLE tally (id INTEGER PRIMARY KEY CHECK (id = 1), tests INTEGER NOT NULL)",
    "INSERT INTO tally VALUES (1, 0)",
)

_SUMS = (
    # Of batches and of references, where the tolerance has features; the last days are summed from them.
    """CREATE TABLE batch_sums (
        key TEXT PRIMARY KEY REFERENCES batch (key) ON DELETE CASCADE,
        content BLOB NOT NULL
    )""",
    """CREATE TABLE reference_sums (
        reference INTEGER PRIMARY KEY REFERENCES reference (number),
        content BLOB NOT NULL
    )""",
)

STEPS: tuple[tuple[str, ...], ...] = (_FIRST, _SUMS)
VERSION = len(STEPS)


def version_of(db: sqlite3.Connection) -> int:
    """Return the version of the tables; zero where there are none yet."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def bring_up(db: sqlite3.Connection, upto: int = VERSION) -> None:
    """Take the steps that a file lacks; the caller has begun a transaction and commits it."""
    for step in STEPS[version_of(db) : upto]:
        for statement in step:
            db.execute(statement)
    # Pragmas take no parameters; both are whole numbers of this module.
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {upto}")
