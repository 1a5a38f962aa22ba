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


@pytest.mark.parametrize(
    ("folder", "umask", "mode"),
    [
        (0o755, 0o022, 0o644),
        (0o777, 0o000, 0o644),
        (0o750, 0o022, 0o640),
        (0o700, 0o022, 0o600),
        (0o755, 0o077, 0o600),
    ],
)
def test_a_new_file_is_as_readable_as_its_folder(folder: int, umask: int, mode: int, tmp_path: Path) -> None:
    tmp_path.chmod(folder)
    before = os.umask(umask)
    try:
        write_text(tmp_path / "new", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "new").read_text() == "text"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == mode
    assert _names(tmp_path) == ["new"]


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
def test_a_symbolic_link_is_not_followed(exists: bool, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "links").mkdir()
    link, target = tmp_path / "links" / "t.json", tmp_path / "real" / "t.json"
    if exists:
        target.write_text("before")
    link.symlink_to(target)
    with pytest.raises(PermissionError, match=r"t\.json': it is a symbolic link, .* name the file"):
        write_text(link, "after")
    assert link.is_symlink()
    assert _names(tmp_path / "links") == ["t.json"]
    assert _names(tmp_path / "real") == ["t.json"] * exists
    assert not exists or target.read_text() == "before"


def test_a_link_that_appears_at_the_last_moment_is_replaced_and_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, victim = tmp_path / "t.json", tmp_path / "victim"
    victim.write_text("before")
    real = writing._write_all

    def beaten(handle: int, content: bytes) -> None:
        real(handle, content)
        path.symlink_to(victim)

    monkeypatch.setattr(writing, "_write_all", beaten)
    write_text(path, "after")
    assert victim.read_text() == "before"
    assert not path.is_symlink()
    assert path.read_text() == "after"


def test_a_link_among_leftovers_harms_nothing(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("before")
    (tmp_path / ".t.json.x.unfinished").symlink_to(victim)
    write_text(tmp_path / "t.json", "after")
    assert victim.read_text() == "before"


def test_no_name_that_is_written_can_be_known_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, real = set(), writing._write_all

    def looked(handle: int, content: bytes) -> None:
        seen.update(name for name in _names(tmp_path) if name.startswith("."))
        real(handle, content)

    monkeypatch.setattr(writing, "_write_all", looked)
    for _ in range(5):
        write_text(tmp_path / "t.json", "text")
    assert len(seen) == 5


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
    with pytest.raises(PermissionError, match="symbolic link"):
        write_text(link, "text")


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs a name for standard output")
@pytest.mark.parametrize("to_file", [True, False])
def test_standard_output_is_written_to_wherever_it_leads(to_file: bool, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from nammd.errors.writing import write_text\n"
        "print('before', flush=True); write_text(Path('/dev/stdout'), 'after')"
    )
    out = tmp_path / "out"
    with out.open("wb") as file:
        done = subprocess.run([sys.executable, "-c", code], stdout=file if to_file else subprocess.PIPE)
    assert done.returncode == 0
    assert (out.read_bytes() if to_file else done.stdout) == b"before\nafter"


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
