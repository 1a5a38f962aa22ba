"""Files are written whole or not at all, where they were meant to be, and over nothing that must stay."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nammd.errors import writing
from nammd.errors.writing import write_bytes, write_text
from tests.waiting import running, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="of POSIX file systems")


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    write_text(tmp_path / "new", "text")
    assert (tmp_path / "new").read_text() == "text"
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert _names(tmp_path) == ["new", "other"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text("before")
    path.chmod(mode)
    write_text(path, "after")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "after"


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text("before")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match=f"cannot write '{path}': it is read-only"):
        write_text(path, "after")
    assert path.read_text() == "before"


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_stays_one(exists: bool, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "links").mkdir()
    link, target = tmp_path / "links" / "t.json", tmp_path / "real" / "t.json"
    if exists:
        target.write_text("before")
    link.symlink_to(target)
    write_text(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"
    assert _names(tmp_path / "links") == _names(tmp_path / "real") == ["t.json"]


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    path, content = tmp_path / "pipe", os.urandom(300_000)
    os.mkfifo(path)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    write_bytes(path, content)
    reader.join()
    assert found == [content]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_device_is_written_to_and_stays_one(tmp_path: Path) -> None:
    write_text(Path("/dev/null"), "text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    write_text(link, "text")
    assert link.is_symlink()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_names_the_file() -> None:
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_text(Path("/dev/full"), "text")


def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.json"
    path.write_text("before")
    real = writing._write_all

    def full(handle: int, content: bytes) -> None:
        real(handle, content[: len(content) // 2])
        with open("/dev/full", "wb", buffering=0) as device:  # the real error of a full disk
            device.write(b"rest")

    monkeypatch.setattr(writing, "_write_all", full)
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
        write_text(path, "after")
    assert path.read_text() == "before"
    assert _names(tmp_path) == ["t.json"]


KILLED = """
import sys, time
from pathlib import Path
from nammd.errors import writing

def stuck(handle, content):
    import os
    os.write(handle, content[:3])
    print("writing", flush=True)
    time.sleep(1000)

writing._write_all = stuck
writing.write_text(Path(sys.argv[1]), "never")
"""


def test_what_a_killed_writer_left_is_taken_away_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    command = [sys.executable, "-c", KILLED, str(path)]
    with running(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        write_text(path, "first")  # beside one that still writes, which is left alone
        assert len(_names(tmp_path)) == 2
        process.send_signal(signal.SIGKILL)
        until(lambda: process.poll() is not None, "the writer to end")
    assert len(_names(tmp_path)) == 2
    assert path.read_text() == "first"
    write_text(path, "second")
    assert _names(tmp_path) == ["t.json"]


def test_files_of_similar_names_are_nobodys_leftovers(tmp_path: Path) -> None:
    mine = [".t.json.bak", ".t.json", "t.json.unfinished", ".other.json.abc.unfinished"]
    for name in mine:
        (tmp_path / name).write_text("mine")
    write_text(tmp_path / "t.json", "new")
    assert _names(tmp_path) == sorted([*mine, "t.json"])


def test_many_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    failures: list[BaseException] = []

    def write(k: int) -> None:
        try:
            for _ in range(20):
                write_text(path, f"{k}" * 1000)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(set(path.read_text())) == 1
    assert _names(tmp_path) == ["t.json"]
