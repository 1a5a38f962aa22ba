"""Batches as a history holds them, without computing any; and histories edited by hand."""

import json
import sqlite3
from contextlib import closing

from nammd.monitor import alarms
from nammd.monitor.batch import Batch, Details
from nammd.monitor.chain import COLUMNS, Head, Record
from nammd.monitor.history import History
from nammd.monitor.records import Kept

SETTINGS = {"rate": "budget", "amount": 1.0, "every": "day", "claim": "reference", "window": 30}


def batch(key, *, z=-3.0, p_far=0.9, p_close=1e-6, digest="d", **changed):
    """A batch that is so many deviations beyond the tolerance."""
    found = {
        "key": key,
        "number": 0,
        "era": 1,
        "digest": digest,
        "added": "2026-01-01T00:00:00+00:00",
        "source": "",
        "m": 500,
        "n": 100,
        "epsilon": 0.05,
        "u": 0.01 * z,
        "deviation": 0.012,
        "share": 0.02,
        "given": 0.01,
        "reference": 0.005,
        "features": 0.0,
        "error": 0.004,
        "distance": 0.05 + 0.004 * z,
        "low": 0.04 + 0.004 * z,
        "high": 0.06 + 0.004 * z,
        "pvalue_close": p_close,
        "pvalue_far": p_far,
        "pvalue_beyond": p_far,
        "pvalue_doubt": changed.get("pvalue_beyond", p_far),
    }
    details = {
        name: changed.pop(name) for name in ("facts", "cautions", "columns", "settings") if name in changed
    }
    return Batch(**(found | changed), details=Details(**details))


def new_history(path, key=None, **settings):
    def begin(writer):
        number = writer.keep(Kept("train.csv", 500, "", "array", "", ""), b"")
        writer.begin_era("2026-01-01T00:00:00+00:00", "{}", number)
        writer.event("2026-01-01T00:00:00+00:00", "created")

    head = {"created": "2026-01-01T00:00:00+00:00", "made_by": "nammd 0", "title": "shop"}
    return History.create(path, head | {"settings": SETTINGS | settings}, begin, key)


def days(count, start=1):
    import datetime

    first = datetime.date(2020, 1, 1)
    return [(first + datetime.timedelta(days=start - 1 + k)).isoformat() for k in range(count)]


def add(history, one):
    """Add a batch, with the events that come of it."""

    def insert(writer):
        seen = writer.read()
        alarms.follow(writer, "2026-01-02T00:00:00+00:00", seen, seen.with_batch(writer.insert(one)))

    history.write(insert)


def edit(path, statement, *values):
    """Edit a history as somebody might who knows SQL; tell whether SQLite let that happen."""
    db = sqlite3.connect(path)
    try:
        with db:
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                db.execute(f"DROP TRIGGER {name}")
            return db.execute(statement, values).rowcount > 0
    except sqlite3.IntegrityError:
        return False
    finally:
        db.close()


def resealed(path, change):
    """Change the records of a history as somebody might who knows how they are sealed.

    `change` gets them as lists of kind, key, content and details, and returns what they shall be.
    """
    with closing(sqlite3.connect(path)) as db, db:
        rows = db.execute(f"SELECT {COLUMNS} FROM record ORDER BY number").fetchall()
        found = [Record(*row) for row in rows]
        plain = [[r.kind, r.key, json.loads(r.body), r.details and json.loads(r.details)] for r in found]
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute("DELETE FROM record")
        head = Head()
        for kind, key, content, details in change(plain):
            record = head.next(kind, key, content, None, details or None)
            db.execute(f"INSERT INTO record ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", record)
            head = Head(record.number, record.name, record.digest)
        db.execute("UPDATE head SET number = ?, name = ?, digest = ?, seal = ?", (*head, head.sealed(None)))
