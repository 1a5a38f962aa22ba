"""Who reads a monitor writes nothing, so a full disk and a read-only file do not matter."""

import contextlib
import io
import os
import resource
import shutil
import signal
import sqlite3

import pytest

import nammd
from nammd.cli import main
from nammd.monitor.history import History
from nammd.monitor.page import page_of, render
from tests.monitor.records import add, batch, new_history
from tests.monitor.test_monitor import TRAIN, features_tolerance, rows


def on_a_full_disk(work):
    """Do something in a process that cannot write a byte into any file; return what it says."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
            try:
                with contextlib.redirect_stdout(io.StringIO()):  # what pytest captures is a file
                    os.write(writing, str(work()).encode())
            except BaseException as error:
                os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


@pytest.fixture(scope="module")
def monitor(tmp_path_factory):
    path = tmp_path_factory.mktemp("monitor") / "shop.monitor"
    made = nammd.Monitor.create(path, features_tolerance(), TRAIN)
    made.add(rows(1, size=60), key="2026-03-01")
    return path


def look(path):
    seen = nammd.Monitor.open(path)
    page = render(page_of(seen.state, seen.tolerance_errors(), seen.pooled()))
    return len(seen.state.told), len(seen.pooled()), len(seen.history("pandas")), "<html" in page


def test_a_monitor_is_read_on_a_full_disk(monitor):
    expected = look(monitor)
    assert on_a_full_disk(lambda: look(monitor)) == str(expected)
    assert on_a_full_disk(lambda: main(["monitor", "status", str(monitor), "--now", "2026-03-02"])) == "0"
    note = on_a_full_disk(lambda: nammd.Monitor.open(monitor).note("hello"))
    assert (
        note
        == f"OSError: the monitor {monitor} cannot be written: the disk is full or broken; it is as before"
    )


@pytest.mark.parametrize("command", [["note", "x"], ["acknowledge"], ["forget", "2026-03-01"]])
def test_a_read_only_monitor_is_read_and_not_written_by_root_either(monitor, tmp_path, capsys, command):
    path = shutil.copy(monitor, tmp_path / "shop.monitor")
    path.chmod(0o444)
    before = path.read_bytes()
    assert main(["monitor", "status", str(path), "--now", "2026-03-02"]) == 0
    assert main(["monitor", "page", str(path), "-o", str(tmp_path / "page.html")]) == 0
    name, *more = command
    assert main(["monitor", name, str(path), *more]) == 2
    assert "read-only" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["page.html", "shop.monitor"]


def killed_while_writing(path):
    """Leave a file as a process does that is killed after it has begun to write pages, with its journal."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA cache_size = 1")
    db.execute("BEGIN IMMEDIATE")
    for number in range(200):
        db.execute("INSERT INTO content VALUES (?, 0, ?)", (str(number), b"x" * 5000))
    left = path.with_name("left.monitor")
    for end in ("", "-journal"):
        shutil.copy(f"{path}{end}", f"{left}{end}")
    db.execute("ROLLBACK")
    db.close()
    return left


def test_what_a_killed_writer_left_is_undone(tmp_path):
    path = tmp_path / "shop.monitor"
    add(new_history(path), batch("a"))
    before = History(path).read()
    left = killed_while_writing(path)
    assert os.path.getsize(f"{left}-journal") > 512
    assert History(left).read() == before
    assert not os.path.exists(f"{left}-journal")


def test_what_a_killed_writer_left_is_undone_in_a_copy_where_it_is_read_only(tmp_path):
    path = tmp_path / "shop.monitor"
    add(new_history(path), batch("a"))
    before = History(path).read()
    left = killed_while_writing(path)
    left.chmod(0o444)
    spoiled = left.read_bytes()
    assert History(left).read() == before
    assert left.read_bytes() == spoiled
