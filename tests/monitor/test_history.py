"""The file of a history: whole or as before, whatever happens to the process or the disk."""

import multiprocessing
import os
import resource
import signal
import sqlite3
import threading
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nammd.monitor import schema
from nammd.monitor.batch import Against, Moved
from nammd.monitor.history import History
from nammd.monitor.state import state_of
from tests.monitor.records import add, batch, days, new_history
from tests.waiting import GUARD


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.monitor"


def test_what_was_written_is_read_again(path):
    history = new_history(path)
    one = batch(
        "2026-03-01",
        cautions=(("few-rows", "only 'few' \u2014 rows"),),
        columns=(Moved("age", "age: older", 1.5),),
        deviation=float("nan"),
        settings={"engine": "tiles"},
        failures=(Against("data", "other units", 0.01),),
    )
    add(history, one)
    [found] = History(path).read().batches
    assert found.number == 1
    assert np.isnan(found.deviation)
    assert found.details.read() == one.details
    expected = replace(one, number=1, deviation=found.deviation, details=found.details)
    assert found == expected


def test_version_of_what_was_read_is_that_of_the_file(path):
    history = new_history(path)
    changes = [
        lambda writer: writer.insert(batch("a")),
        lambda writer: writer.insert(batch("a", digest="other")),
        lambda writer: writer.event("2026-01-02T00:00:00+00:00", "note", text="hello"),
        lambda writer: writer.begin_era("2026-01-02T00:00:00+00:00", "{}", 1),
        lambda writer: writer.event("2026-01-02T00:00:00+00:00", "batch forgotten", "a"),
    ]
    versions = {history.version()}
    for change in changes:
        seen = history.read()
        assert history.write(lambda writer: writer.read()) == seen
        history.write(change)
        assert history.write(lambda writer: writer.read()) == history.read() != seen
        assert history.read().version == history.version()
        versions.add(history.version())
    assert len(versions) == len(changes) + 1


def test_one_file_is_left_and_nothing_beside_it(path):
    add(new_history(path), batch("a"))
    assert [file.name for file in path.parent.iterdir()] == ["shop.monitor"]


def test_it_is_not_made_over_another_file(path):
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="already exists"):
        new_history(path)
    assert path.read_text() == "mine"


def test_events_are_only_ever_added(path):
    new_history(path)
    with sqlite3.connect(path) as db:
        for statement in ("UPDATE record SET body = 'x'", "DELETE FROM record"):
            with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
                db.execute(statement)


def write_wrong_files(folder):
    plain, other, newer, empty = (folder / name for name in ("a.txt", "other.db", "newer.monitor", "empty"))
    plain.write_text("hello, this is no database")
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE batch (key TEXT)")
    new_history(newer)
    with sqlite3.connect(newer) as db:
        db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    empty.write_bytes(b"")
    return plain, other, newer, empty


def test_wrong_files_are_named_in_one_sentence(tmp_path):
    plain, other, newer, empty = write_wrong_files(tmp_path)
    for file, words in (
        (plain, "is not a monitor: it is no SQLite file"),
        (empty, "is not a monitor"),
        (other, "a SQLite file of another program"),
        (newer, "written by a newer nammd"),
    ):
        with pytest.raises(ValueError, match=words) as caught:
            History(file)
        assert str(file) in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError, match="there is no monitor"):
        History(tmp_path / "none.monitor")


def trouble(path, before):
    """What is said of a file; nothing where it holds what it held."""
    try:
        found = History(path).read()
    except (ValueError, OSError) as error:  # OSError: a byte that makes it look locked or read-only
        return str(error)
    assert found.batches == before.batches
    assert found.settings == before.settings
    return ""


def test_damage_anywhere_is_one_sentence_or_changes_nothing(path, tmp_path):
    """Bytes are flipped all over the file: it is as before, or the error says that it is damaged."""
    history = new_history(path)
    for key in days(30):
        add(history, batch(key))
    before, content = history.read(), path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(150):
        where = int(rng.integers(16, len(content)))
        spoiled = tmp_path / "spoiled.monitor"
        spoiled.write_bytes(content[:where] + bytes([content[where] ^ 0xFF]) + content[where + 1 :])
        words = trouble(spoiled, before)
        refused += bool(words)
        assert not words or str(spoiled) in words
    assert refused > 10


def test_truncated_file_is_damaged(path):
    history = new_history(path)
    for key in days(60):
        add(history, batch(key))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="is damaged"):
        History(path).read()


def test_file_of_an_earlier_version_is_refused(path):
    new_history(path)
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {schema.VERSION - 1}")
    with pytest.raises(ValueError, match="made by an earlier version of nammd; make it anew"):
        History(path)


def test_batches_are_stored_by_eight_processes_at_once(path):
    new_history(path)
    in_a_small_process(_store_with_eight, path)
    found = History(path).read()
    assert [b.number for b in found.batches] == list(range(1, 41))
    assert len({b.key for b in found.batches}) == 40


def in_a_small_process(function, path):
    """Run what starts processes in a new one: a copy of one that has run thousands of tests takes long."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as small:
        small.submit(function, path).result(GUARD)


def _store_with_eight(path):
    children = []
    for name in "abcdefgh":
        children.append(os.fork())
        if children[-1] == 0:
            code = 1
            try:
                for k in range(5):
                    add(History(path), batch(f"{name}-{k}"))
                code = 0
            finally:
                os._exit(code)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8


def _write_until_killed(path, acknowledged, seed, kill_at):
    """In a process of its own: add batches, one after the other, and say when each is there.

    With `kill_at` it kills itself at one of the statements that SQLite runs; else it is killed from outside.
    """
    history = History(path)
    if kill_at is not None:
        left = [kill_at]

        def count(statement):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        connect = sqlite3.connect

        def traced(*args, **options):
            db = connect(*args, **options)
            db.set_trace_callback(count)
            return db

        sqlite3.connect = traced
    for k in range(50):
        add(history, batch(f"{seed}-{k}", z=3.0, p_far=1e-9, p_close=1.0))
        os.write(acknowledged, b".")


def test_killed_process_leaves_the_history_as_before_or_as_after(on_disk):
    in_a_small_process(_kill_again_and_again, on_disk / "stream.monitor")


def _kill_again_and_again(path):
    """Kill it at each of the statements that a few batches take, and at random moments."""
    history = new_history(path)
    rng = np.random.default_rng(1)
    there = 0
    for attempt in range(90):
        if attempt % 15 == 0:  # so that the file stays small, and the test quick
            path.unlink()
            Path(f"{path}-journal").unlink(missing_ok=True)
            history, there = new_history(path), 0
        kill_at = 1 + attempt if attempt < 60 else None
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(reading)
                _write_until_killed(path, writing, attempt, kill_at)
            finally:
                os._exit(0)
        os.close(writing)
        if kill_at is None:
            threading.Event().wait(float(rng.uniform(0.0, 0.02)))
            os.kill(child, signal.SIGKILL)
        with os.fdopen(reading, "rb") as pipe:
            said = len(pipe.read())
        os.waitpid(child, 0)
        found = history.read()
        state = state_of(found)
        assert there + said <= len(found.batches) <= there + said + 1
        assert found.tests == len(found.batches)
        opened = [event.key for event in found.events if event.kind == "alarm opened"]
        assert sorted(opened) == sorted(alarm.opened for alarm in state.alarms)
        there = len(found.batches)
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_full_disk_leaves_the_history_as_before(path):
    """The system refuses to let files grow, as it does where the disk is full."""
    history = new_history(path)
    for key in days(20):
        add(history, batch(key))
    before = history.read()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            size = path.stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            try:
                large = "x" * 200_000
                add(history, batch("late", report=large))
                os.write(writing, b"it was written")
            except OSError as error:
                os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    assert "the disk is full" in said
    assert str(path) in said
    assert history.read() == before
    add(history, batch("late"))
    assert len(history.read().batches) == 21


def test_history_that_cannot_be_written_can_be_read(path):
    history = new_history(path)
    add(history, batch("a"))
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert len(History(path).read().batches) == 1
        with pytest.raises(PermissionError, match="read-only"):
            add(History(path), batch("b"))
    finally:
        path.parent.chmod(0o755)
        path.chmod(0o644)
