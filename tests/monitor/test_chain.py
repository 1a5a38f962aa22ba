"""The history is a chain: nothing of it can be taken out, changed, put in or moved unnoticed."""

import re
import shutil
import sqlite3

import pytest

import nammd
from tests.monitor.records import edit
from tests.monitor.test_monitor import TRAIN, features_tolerance, rows


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A monitor with all that there is: batches late, replaced and forgotten, alarms, notes, sums."""
    path = tmp_path_factory.mktemp("whole") / "shop.monitor"
    monitor = nammd.Monitor.create(path, features_tolerance(), TRAIN)
    for key, shift in (("2026-03-02", 0.0), ("2026-03-01", 1.5), ("2025-01-01", 0.0), ("2026-03-03", 0.0)):
        monitor.add(rows(int(key[-1]), shift, size=60), key=key)
    monitor.acknowledge("known")
    monitor.note("hello", key="2026-03-02")
    monitor.add(rows(9, size=60), key="2026-03-02", replace=True)
    monitor.forget("2026-03-03")
    monitor.change(tolerance=features_tolerance())
    monitor.add(rows(8, size=60), key="2026-03-04")
    return path


@pytest.fixture
def path(whole, tmp_path):
    return shutil.copy(whole, tmp_path / "shop.monitor")


def rows_of(path):
    with sqlite3.connect(path) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = [name for name in tables if not name.startswith("sqlite_")]
        found = {name: [r for (r,) in db.execute(f"SELECT rowid FROM {name}")] for name in tables}
    db.close()
    return found


def columns_of(path, table):
    with sqlite3.connect(path) as db:
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    db.close()
    return names


def look(path):
    """Use all that there is of a monitor."""
    monitor = nammd.Monitor.open(path)
    monitor.state.to_dict()
    monitor.pooled()
    monitor.add(rows(7, size=60), key="2026-03-09")


def refused(path):
    with pytest.raises(ValueError, match=re.escape(str(path))) as caught:
        look(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_row_that_is_deleted_is_found_in_every_table(whole, tmp_path):
    for table, numbers in rows_of(whole).items():
        for number in numbers:
            path = shutil.copy(whole, tmp_path / "shop.monitor")
            edit(path, f"DELETE FROM {table} WHERE rowid = {number}")
            assert "nammd monitor repair" in refused(path)


@pytest.mark.parametrize("value", ["NULL", "''", "0", "-1", "1000000000", "1e308", "'x'", "x'00ff'"])
def test_a_value_that_is_changed_is_found_in_every_column(whole, tmp_path, value):
    for table, numbers in rows_of(whole).items():
        for name in columns_of(whole, table):
            path = shutil.copy(whole, tmp_path / "shop.monitor")
            where = f"rowid = {numbers[-1]} AND {name} IS NOT {value} AND '{name}' != 'part'"
            if edit(path, f"UPDATE {table} SET {name} = {value} WHERE {where}"):
                refused(path)
