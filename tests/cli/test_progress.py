"""What people see of a long command: how long it will take, how far it is, and that it was stopped."""

import os
import re
import select
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from nammd.cli import demo, progress
from nammd.engines import progress as engine_progress
from tests.cli.test_program import Terminal
from tests.waiting import running, until

NOTE = re.compile(
    r"nammd: note: comparing 200 with 180 rows will take about \d+ s on 1 thread; quicker: --sample N for N "
    r"random rows of each file, 'nammd sketch' for time in proportion to the rows, --engine cuda on a GPU, "
    r"or --engine dask on a cluster\n"
)


announced = pytest.mark.filterwarnings("default::nammd.LongComputationWarning")  # as outside of tests


@pytest.fixture
def every_computation_is_long(monkeypatch):
    monkeypatch.setattr(engine_progress, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(engine_progress, "_FIRST_LOOK_SECONDS", 0.0)


@pytest.fixture
def pair(tmp_path):
    for name, rows in (("a.npy", 200), ("b.npy", 180)):
        np.save(tmp_path / name, np.random.default_rng(rows).normal(size=(rows, 3)))
    return tmp_path / "a.npy", tmp_path / "b.npy"


@announced
@pytest.mark.usefixtures("every_computation_is_long")
def test_a_long_computation_is_announced_with_the_options_that_help(nammd, pair):
    ran = nammd("distance", *pair, "--threads", 1)
    assert ran.code == 0
    assert NOTE.fullmatch(ran.err)


@announced
@pytest.mark.usefixtures("every_computation_is_long")
def test_programs_are_told_nothing(nammd, pair):
    ran = nammd("distance", *pair, "--threads", 1, "--json")
    assert ran.json["m"] == 200
    assert ran.err == ""


@announced
def test_a_short_computation_is_not_announced(nammd, pair):
    assert nammd("distance", *pair).err == ""


def test_the_engine_is_named_without_what_shows_its_progress(nammd, pair):
    assert nammd("distance", *pair, "--threads", 2, "--json").json["engine"] == "Tiles(threads=2)"


def test_a_bar_shows_how_far_the_engine_is_until_the_next_step(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: clock.now))
    with progress.Working(quiet=False) as working:
        working.step("Measuring")
        working.progress(0, 200)
        clock.now = 40.0
        working.progress(50, 200)
        until(lambda: "25%, about 2 min left" in terminal.text, "the time that is left")
        assert "━" in terminal.text
        working.step("Writing")
        until(lambda: "Writing" in terminal.text, "the next step")
        assert "%" not in terminal.text[terminal.text.index("Writing") :]


def test_steps_say_which_of_several_they_are_about(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.Working(quiet=False) as working:
        working.among(3, 52)
        working.step("Reading week-3.parquet")
        until(lambda: "Reading week-3.parquet (3 of 52)" in terminal.text, "which of them")


@pytest.mark.parametrize("quiet", [True, False])
def test_without_a_terminal_the_engine_shows_nothing(quiet):
    with progress.Working(quiet=quiet) as working:
        assert working.progress is False


def test_an_interrupted_demo_ends_as_such_and_leaves_no_folder(nammd, monkeypatch, tmp_path):
    def stop(*anything):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "ROWS", 300)
    monkeypatch.setattr("nammd.cli.calibrate.open_files", stop)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ran = nammd("demo")
    assert ran.code == 130
    assert ran.err == "nammd: interrupted\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_the_announcement_stands_above_the_bar(tmp_path):
    import pty

    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(400_000, 8)).astype("float32"))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "nammd", "distance", "a.npy", "a.npy", "--threads", "1", "--exact"]
    env = os.environ | {"COLUMNS": "300", "TERM": "xterm"}
    with running(command, stderr=theirs, stdout=subprocess.PIPE, cwd=tmp_path, env=env) as process:
        text = ""
        while " left" not in text.rpartition("cluster")[2]:
            assert process.poll() is None, text
            if select.select([ours], [], [], 0.2)[0]:
                text += os.read(ours, 4096).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        while select.select([ours], [], [], 0)[0]:  # what it wrote before it ended is there
            text += os.read(ours, 4096).decode(errors="replace")
    os.close(ours)
    os.close(theirs)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
    lines = [line.strip() for line in re.split(r"[\r\n]+", plain) if line.strip()]
    [note] = [line for line in lines if "note:" in line]
    assert note.startswith("nammd: note: comparing 400,000 with 400,000 rows will take about ")
    assert note.endswith("or --engine dask on a cluster")
    bar = re.compile(r"Measuring the distance ━.* \d+%, about \d+ (min|h|days) left")
    assert any(bar.search(line) for line in lines)
    assert lines[-1] == "nammd: interrupted"
