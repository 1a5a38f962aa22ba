"""The history is a chain: nothing of it can be taken out, changed, put in or moved unnoticed."""

import re
import shutil
import sqlite3

import pytest

import nammd
from nammd.monitor.chain import COLUMNS, Record
from nammd.monitor.history import History
from nammd.monitor.state import state_of
from tests.monitor.records import SETTINGS, add, batch, days, edit, new_history, resealed
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


@pytest.fixture
def plain(tmp_path):
    """A history of five batches; the last one opens an alarm, which is acknowledged."""
    path = tmp_path / "plain.monitor"
    history = new_history(path)
    for key in days(4):
        add(history, batch(key))
    add(history, batch(days(5)[-1], z=3.0, p_far=1e-9, p_close=1.0))
    history.write(lambda writer: writer.event("2026-01-02T00:00:00+00:00", "acknowledged", days(5)[-1]))
    return path


def numbers(path):
    """The records by their names."""
    with sqlite3.connect(path) as db:
        rows = db.execute(f"SELECT {COLUMNS} FROM record").fetchall()
    db.close()
    return {Record(*row).name: row[0] for row in rows}


def said(path):
    with pytest.raises(ValueError, match="is damaged") as caught:
        History(path)
    return str(caught.value)


def test_a_deleted_batch_is_named_by_its_key(plain):
    place = numbers(plain)["batch 2020-01-03"]
    edit(plain, "DELETE FROM record WHERE key = '2020-01-03'")
    assert f"record {place} (batch 2020-01-03) is missing" in said(plain)


def test_the_last_record_is_missed_too(plain):
    place = max(numbers(plain).values())
    edit(plain, f"DELETE FROM record WHERE number = {place}")
    assert f"record {place} (acknowledged 2020-01-05) is missing" in said(plain)


def test_several_records_that_are_gone_are_counted(plain):
    edit(plain, "DELETE FROM record WHERE kind = 'batch' AND key IN ('2020-01-02', '2020-01-03')")
    assert "records 6 to 7 are missing, the last of them record 7 (batch 2020-01-03)" in said(plain)


def test_a_changed_batch_is_named_by_its_key(plain):
    edit(plain, "UPDATE record SET body = replace(body, '0.9', '0.8') WHERE key = '2020-01-03'")
    assert "(batch 2020-01-03) is not what was written" in said(plain)


def test_records_that_change_places_are_found(plain):
    edit(plain, "UPDATE record SET number = 100 WHERE number = 5")
    edit(plain, "UPDATE record SET number = 5 WHERE number = 6")
    edit(plain, "UPDATE record SET number = 6 WHERE number = 100")
    assert "record 5 (batch 2020-01-02) is not what was written" in said(plain)


def test_a_record_that_was_put_in_is_found(plain):
    last = max(numbers(plain).values())
    edit(
        plain,
        f"INSERT INTO record ({COLUMNS}) SELECT {last} + 1, {COLUMNS.removeprefix('number, ')} FROM record "
        "WHERE number = 5",
    )
    assert f"record {last + 1} (batch 2020-01-01) is not what was written" in said(plain)


def test_a_record_that_was_sealed_anew_does_not_fit_into_the_chain(plain):
    other = plain.with_name("other.monitor")
    shutil.copy(plain, other)

    def lower(records):
        records[5][2]["u"] = -1.0
        return records

    resealed(other, lower)
    History(other)  # somebody who seals all of it anew is found with a key only
    edit(plain, "DELETE FROM record WHERE number = 6")
    with sqlite3.connect(plain) as db:
        db.execute("ATTACH ? AS other", [str(other)])
        db.execute("INSERT INTO record SELECT * FROM other.record WHERE number = 6")
    db.close()
    assert "record 7 (batch 2020-01-03) does not follow the one before it" in said(plain)


def test_late_replaced_and_forgotten_batches_are_more_records(plain):
    before = numbers(plain)
    history = History(plain)
    add(history, batch("2019-12-31"))
    add(history, batch("2020-01-02", digest="other"))
    history.write(lambda writer: writer.event("2026-01-02T00:00:00+00:00", "batch forgotten", "2020-01-03"))
    after = numbers(plain)
    assert {name: after[name] for name in before} != before  # of two batches of one key the last is told
    assert max(after.values()) > max(before.values())
    keys = [told.batch.key for told in state_of(History(plain).read()).told]
    assert keys == ["2019-12-31", "2020-01-01", "2020-01-02", "2020-01-04", "2020-01-05"]
    assert History(plain).read().tests == 7


@pytest.mark.parametrize(
    ("place", "name", "value", "words"),
    [
        ("batch", "pvalue_far", 1.5, "pvalue_far is 1.5"),
        ("batch", "pvalue_beyond", "x", "pvalue_beyond is no number"),
        ("batch", "deviation", -1.0, "deviation is -1"),
        ("batch", "u", float("inf"), "cannot be"),
        ("batch", "n", 0, "its n is not a whole number"),
        ("batch", "m", 10**400, "cannot be"),
        ("batch", "era", 10**9, "not held against what held then"),
        ("batch", "epsilon", float("nan"), "cannot be"),
        ("batch", "failures", [["none", "x", 0.0]], "of no kind"),
        ("batch", "failures", [["data", "x"]], "are not kinds with words and numbers"),
        ("batch", "failures", [["data", "x", float("nan")]], "the p-value of a fact"),
        ("batch", "sums", "x", "cannot be"),
        (
            "monitor",
            "settings",
            SETTINGS | {"amount": 10**400},
            "",
        ),
        ("monitor", "settings", SETTINGS | {"rate": "ever", "amount": 1e-320}, ""),
        (
            "monitor",
            "settings",
            SETTINGS | {"every": "1e308"},
            "",
        ),
        ("monitor", "title", 7, "title is no text"),
        ("era", "number", 7, "its number is not the next one"),
        ("era", "reference", 7, "its reference is not there"),
        ("reference", "rows", -5, "its number of rows is none"),
        ("reference", "content", "0" * 64, "are missing or not what was written"),
        ("acknowledged", "cause", "x", "its cause is none"),
    ],
)
def test_numbers_that_cannot_be_are_refused_though_they_are_sealed(plain, place, name, value, words):
    def change(records):
        [content, *_] = [record[2] for record in records if record[0] == place]
        content[name] = value
        return records

    resealed(plain, change)
    assert words in said(plain)


def test_tests_that_were_lost_cannot_be_a_billion(plain):
    resealed(plain, lambda records: [*records, ["lost", "", {"tests": 10**9, "text": ""}, None]])
    assert "its number of tests is none" in said(plain)


def test_details_that_cannot_be_name_the_file_when_they_are_looked_at(plain):
    def change(records):
        records[4][3]["columns"] = [["age", 7]]
        return records

    resealed(plain, change)
    found = History(plain).read().batches[0]
    with pytest.raises(ValueError, match=re.escape(str(plain)) + ".*its columns are not names"):
        _ = found.columns
