"""Monitors that somebody edited: by bytes, by SQL, and sealed anew with values that cannot be."""

from __future__ import annotations

import contextlib
import datetime
import sqlite3
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import nammd
from nammd.monitor.history_view import columns_of
from nammd.monitor.page import page_of, render
from nammd.monitor.state import state_of
from tests.fuzz.mutate import mutated
from tests.fuzz.resealed import edited
from tests.fuzz.rules import Finding, refusing
from tests.monitor.records import resealed

Random = np.random.Generator
NAME = "m.monitor"
NOW = datetime.datetime(2026, 3, 12)


@lru_cache(maxsize=1)
def _whole(folder: Path) -> tuple[bytes, Any]:
    """Return a monitor with records of every kind, and what it comes to."""
    rng = np.random.default_rng(0)
    features = nammd.RandomFeatures(nammd.Gaussian(1.0), 16, rng=0)
    tolerance = nammd.Tolerance.at(0.05, features, n_columns=2)
    path = folder / "whole.monitor"
    path.unlink(missing_ok=True)
    monitor = nammd.Monitor.create(path, tolerance, rng.normal(size=(40, 2)), rate="discoveries")
    for key, shift in (("2026-03-02", 0.0), ("2026-03-01", 3.0), ("2025-01-01", 0.0), ("2026-03-03", 0.0)):
        monitor.add(rng.normal(shift, 1, size=(30, 2)), key=key)
    monitor.acknowledge("known")
    monitor.note("hello", key="2026-03-02")
    monitor.add(rng.normal(size=(30, 2)), key="2026-03-02", replace=True)
    monitor.forget("2026-03-03")
    for key in ("2026-03-05", "2026-03-06"):
        with contextlib.suppress(ValueError):
            monitor.add(rng.normal(size=(30, 3)), key=key)
    monitor.acknowledge("an old format", key="2026-03-05", now=NOW)
    monitor.expect(grace=1, days="mon-fri", holidays=["2026-03-02"])
    monitor.acknowledge("nobody was there", key="2025-01-02", now=NOW)
    monitor.change(tolerance=tolerance)
    monitor.add(rng.normal(size=(30, 2)), key="2026-03-04")
    return path.read_bytes(), _meaning(path)


def _meaning(path: Path) -> Any:
    """Return what a monitor comes to, all of it."""
    monitor = nammd.Monitor.open(path)
    seen = monitor._history.read()
    monitor._history.require_contents()
    state = state_of(seen, NOW)
    windows = monitor.pooled()
    render(page_of(state, monitor.tolerance_errors(), windows))
    columns_of(state)
    return state.to_dict(), [told.batch for told in state.told], state.events, windows


def _require_same_or_refused(path: Path, whole: Any) -> None:
    """An edited monitor is refused, or comes to the same; what is moved out of it can be read."""
    refused = True
    with refusing(NAME):
        found = _meaning(path)
        refused = False
        if repr(found) != repr(whole):
            raise Finding("an edited monitor was taken, and comes to something else")
    if refused:
        _require_repair(path)


def _require_repair(path: Path) -> None:
    before, new = path.read_bytes(), path.with_name("new.monitor")
    new.unlink(missing_ok=True)
    with refusing(NAME):
        done = nammd.Monitor.repair(path, new)
        if done.path is not None:
            with refusing(new.name):
                _meaning(new)
    if path.read_bytes() != before:
        raise Finding("repairing has changed the damaged file")


def _clean(path: Path) -> None:
    for end in ("", "-journal", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def monitor_bytes(rng: Random, folder: Path) -> None:
    """A monitor of which bytes were changed is refused, or comes to the same."""
    whole, meaning = _whole(folder)
    path = folder / NAME
    _clean(path)
    path.write_bytes(mutated(rng, whole))
    _require_same_or_refused(path, meaning)


VALUES = ("NULL", "''", "'x'", "0", "-1", "1000000000", "1e308", "x'00ff'", "'{}'", "'[]'", "9e999")


def _statement(rng: Random, db: sqlite3.Connection) -> str:
    """Return an edit of one row, or of two."""
    table = str(rng.choice(["record", "record", "record", "head", "content"]))
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    places = [number for (number,) in db.execute(f"SELECT rowid FROM {table}")]
    if not places:
        return f"DELETE FROM {table}"
    place, other = (int(rng.choice(places)) for _ in range(2))
    column = str(rng.choice(columns))
    rest, here = ", ".join(columns[1:]), f"WHERE rowid = {place}"
    return [
        f"DELETE FROM {table} WHERE rowid = {place}",
        f"DELETE FROM {table} WHERE rowid >= {place}",
        f"UPDATE {table} SET {column} = {rng.choice(VALUES)} {here}",
        f"UPDATE {table} SET {column} = (SELECT {column} FROM {table} WHERE rowid = {other}) {here}",
        f"UPDATE {table} SET {column} = substr({column}, 1, 20) || 'x' || substr({column}, 22) {here}",
        f"UPDATE {table} SET {column} = replace({column}, '0', '1') {here}",
        f"INSERT OR IGNORE INTO {table} SELECT {max(places) + 1}, {rest} FROM {table} WHERE rowid = {place}",
        f"INSERT OR REPLACE INTO {table} SELECT {other}, {rest} FROM {table} WHERE rowid = {place}",
    ][int(rng.integers(8))]


def monitor_sql(rng: Random, folder: Path) -> None:
    """A monitor that was edited by SQL is refused, or comes to the same."""
    whole, meaning = _whole(folder)
    path = folder / NAME
    _clean(path)
    path.write_bytes(whole)
    with contextlib.closing(sqlite3.connect(path)) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        for _ in range(int(rng.choice([1, 1, 2, 3]))):
            with contextlib.suppress(sqlite3.IntegrityError):
                db.execute(_statement(rng, db))
        db.commit()
    _require_same_or_refused(path, meaning)


def monitor_fields(rng: Random, folder: Path) -> None:
    """A monitor with strange values, sealed as if it were right, is refused or can be used."""
    path = folder / NAME
    _clean(path)
    path.write_bytes(_whole(folder)[0])

    def change(records: list[Any]) -> list[Any]:
        place = int(rng.integers(len(records)))
        kind, key, content, details = records[place]
        chance = rng.random()
        if chance < 0.1:
            return [*records[:place], *records[place + 1 :]]
        if chance < 0.15:
            records.insert(int(rng.integers(len(records))), records.pop(place))
        elif chance < 0.2:
            records[place] = [kind, "2026-03-07" if rng.random() < 0.5 else "\x1b[31m\n", content, details]
        elif details and chance < 0.5:
            records[place] = [kind, key, content, edited(rng, details)]
        else:
            records[place] = [kind, key, edited(rng, content), details]
        return records

    with contextlib.suppress(ValueError, UnicodeEncodeError):  # a surrogate that no file holds
        resealed(path, change)
    with refusing(NAME):
        _meaning(path)
        with refusing():
            nammd.Monitor.open(path).add(np.random.default_rng(1).normal(size=(30, 2)), key="2026-03-09")
