"""What can be read of a damaged monitor is moved into a new file, and what is missing is told."""

import hashlib
import shutil
import sqlite3

import numpy as np
import pytest

import nammd
from nammd.monitor.chain import COLUMNS
from nammd.monitor.history import History
from nammd.monitor.repair import repair
from nammd.monitor.state import state_of
from tests.monitor.records import add, batch, days, edit, new_history, resealed
from tests.monitor.test_monitor import TRAIN, features_tolerance, rows


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "shop.monitor"
    history = new_history(path, rate="ever", amount=0.05)
    for key in days(6):
        add(history, batch(key))
    history.write(lambda writer: writer.event("2026-01-02T00:00:00+00:00", "note", days(6)[2], text="hello"))
    return path


def levels(path):
    return {told.batch.key: told.level for told in state_of(History(path).read()).told}


def test_a_whole_monitor_needs_no_repair(path):
    assert repair(path).path is None
    assert [file.name for file in path.parent.iterdir()] == ["shop.monitor"]


def test_all_but_a_deleted_batch_is_moved_and_the_old_file_stays(path):
    expected = levels(path)
    edit(path, "DELETE FROM record WHERE key = '2020-01-02'")
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    done = repair(path)
    assert done.path == path.with_name("shop.repaired.monitor")
    assert done.missing == ("record 6 (batch 2020-01-02) is missing",)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    # The tests that were made stay spent: every batch that is left has the level that it had.
    assert levels(done.path) == {key: level for key, level in expected.items() if key != "2020-01-02"}
    events = History(done.path).read().events
    assert [event.kind for event in events] == ["created", "note", "repaired"]
    assert "2020-01-02" in events[-1].text
    add(History(done.path), batch("2020-01-07"))
    with pytest.raises(FileExistsError):
        repair(path)


def test_changed_and_inserted_records_are_left_out(path):
    edit(path, "UPDATE record SET body = replace(body, '0.9', '0.8') WHERE key = '2020-01-03'")
    edit(
        path,
        f"INSERT INTO record SELECT 99, {COLUMNS.removeprefix('number, ')} FROM record LIMIT 1",
    )
    done = repair(path, path.with_name("new.monitor"))
    assert done.missing[0] == "record 7 (batch 2020-01-03) is not what was written"
    assert "2020-01-03" not in levels(done.path)
    assert len(levels(done.path)) == 5


def test_a_record_that_was_changed_and_sealed_anew_is_left_out(path, tmp_path):
    other = shutil.copy(path, tmp_path / "other.monitor")

    def lower(records):
        records[5][2]["u"] = -1.0
        return records

    resealed(other, lower)
    edit(path, "DELETE FROM record WHERE number = 6")
    with sqlite3.connect(path) as db:
        db.execute("ATTACH ? AS other", [str(other)])
        db.execute("INSERT INTO record SELECT * FROM other.record WHERE number = 6")
    db.close()
    done = repair(path)
    assert done.missing == ("record 6 (batch 2020-01-02) is not what was written",)


def test_a_lost_end_is_told(path):
    edit(path, "UPDATE head SET digest = 'x'")
    assert "whether there were more" in repair(path).missing[0]


def test_without_its_beginning_nothing_is_moved(path):
    edit(path, "DELETE FROM record WHERE number = 1")
    with pytest.raises(ValueError, match="its beginning is gone"):
        repair(path)
    assert [file.name for file in path.parent.iterdir()] == ["shop.monitor"]


def test_batches_that_were_held_against_what_is_gone_are_left_out(path):
    history = History(path)
    history.write(lambda writer: writer.begin_era("2026-01-02T00:00:00+00:00", "{}", 1))
    add(history, batch("2020-01-07", era=2))
    edit(path, "DELETE FROM record WHERE kind = 'era' AND number > 3")
    done = repair(path)
    assert any("batch 2020-01-07) cannot be used" in words for words in done.missing)
    assert len(levels(done.path)) == 6


def test_bytes_that_are_spoiled_leave_what_can_be_read(path, tmp_path):
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    kept = 0
    for k in range(60):
        spoiled = tmp_path / f"{k}.monitor"
        start = int(rng.integers(100, len(content) - 200))
        spoiled.write_bytes(content[:start] + rng.bytes(200) + content[start + 200 :])
        done, words = attempt(spoiled)
        assert done is not None or str(spoiled) in words
        if done is not None and done.path is not None:
            kept += 1
            assert done.missing
            assert repair(done.path).path is None
    assert kept > 3


def attempt(path):
    try:
        return repair(path), ""
    except (ValueError, OSError) as error:
        return None, str(error)


def test_rows_of_the_reference_that_are_gone_are_asked_for(tmp_path):
    path = tmp_path / "shop.monitor"
    monitor = nammd.Monitor.create(path, features_tolerance(), TRAIN)
    for k, key in enumerate(days(3)):
        monitor.add(rows(k, size=60), key=key)
    seen = monitor._history.read()
    for digest in (seen.references[0].content, seen.summed[days(3)[1]]):
        edit(path, "UPDATE content SET content = x'00' WHERE digest = ?", digest)
    done = nammd.Monitor.repair(path)
    assert done.missing == (
        "the rows of the reference: give it again with --reference FILE",
        f"the sums of the batch {days(3)[1]}",
    )
    with pytest.raises(FileNotFoundError, match="reference="):
        nammd.Monitor.open(done.path).add(rows(9, size=60), key="2020-02-01")
    again = nammd.Monitor.open(done.path, reference=TRAIN)
    again.add(rows(9, size=60), key="2020-01-04")
    assert again.pooled()[0].batches == 3
