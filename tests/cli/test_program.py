"""The real program, from outside: exit codes, streams, signals, and what it imports."""

import json
import os
import subprocess
import sys
import threading

import pytest

from nammd.cli import progress
from tests.cli.conftest import program
from tests.waiting import GUARD, running, until


def test_exit_codes_2_and_3_and_a_check_imports_no_plotting(files):
    """Tests below end with 0 and 1, and test_check.py has them all in this process."""
    assert program("check", files / "x.npy", files / "nothing.csv", "-e", 0.1).sentence
    # And what it imports, from the inside: no plotting.
    words = ["check", str(files / "x.npy"), str(files / "y.npy"), "-e", "0.002", "--json"]
    code = (
        f"import sys; from nammd.cli import main; code = main({words}); "
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'jinja2', 'torch')) or code)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GUARD)
    assert run.returncode == 3, run.stderr


def test_json_is_all_there_is_on_stdout_and_nothing_warns(reference, far, monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    ran = program("check", reference, far, "-e", 0.01, "--json")
    assert (ran.code, ran.checked["decision"]) == (1, "FAR")
    assert ran.out.startswith("{")
    assert ran.out.endswith("}\n")
    assert ran.err == ""
    assert "\x1b" not in ran.out


def test_help_imports_neither_numpy_nor_any_reader():
    # A stand-in for the package itself: what counts here is what the command line adds to it.
    code = """
import json, pathlib, sys, types
import importlib.util
package = types.ModuleType("nammd")
package.__path__ = [str(pathlib.Path(importlib.util.find_spec("nammd").origin).parent)]
sys.modules["nammd"] = package
from nammd.cli import main
assert main(["check", "--help"]) == 0
print("\\n" + json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GUARD)
    assert run.returncode == 0, run.stderr
    modules = set(json.loads(run.stdout.splitlines()[-1]))
    assert modules.isdisjoint({"numpy", "scipy", "pyarrow", "matplotlib", "pandas", "narwhals", "jinja2"})


def test_without_typer_the_remedy_is_one_sentence():
    code = "import sys; sys.modules['typer'] = None; from nammd.cli import main; sys.exit(main(['--help']))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GUARD)
    assert run.returncode == 2
    assert run.stderr == (
        "nammd: the command line needs the package typer; install it with: pip install 'nammd[app]'\n"
    )


@pytest.mark.parametrize(
    ("words", "colour"),
    [
        (["--help"], "1"),
        (["--version"], ""),
        (["distance", "X", "Z"], ""),
        (["distance", "X", "Z"], "1"),
        (["distance", "X", "Z", "--json"], ""),
    ],
)
def test_a_reader_that_goes_away_is_no_error(files, words, colour, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", colour)
    named = [{"X": files / "x.npy", "Z": files / "z.npy"}.get(word, word) for word in words]
    reader, writer = os.pipe()
    os.close(reader)  # before the program begins, so that it cannot be quicker
    command = [sys.executable, "-m", "nammd", *map(str, named)]
    with running(command, stdout=writer, stderr=subprocess.PIPE, text=True) as process:
        os.close(writer)
        assert process.stderr.read() == ""
        # Never 0, 1 or 3, which would be verdicts.
        assert process.wait() == 141


INTERRUPTED = """
import os, signal, sys
from nammd.cli import main
from nammd.engines import Tiles

def interrupted(*arguments, compute=Tiles.many_sums):
    os.kill(os.getpid(), signal.SIGINT)
    return compute(*arguments)

Tiles.many_sums = interrupted
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interruption_is_one_line(files):
    # The program interrupts itself: nobody else knows on every machine when it is in the middle of its work.
    command = [sys.executable, "-c", INTERRUPTED, "distance", str(files / "x.npy"), str(files / "z.npy")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=GUARD)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "nammd: interrupted\n")


def test_a_terminal_without_the_letters_still_gets_the_answer(files, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    ran = program("compare", files / "x.npy", files / "y.npy", files / "z.npy")
    assert ran.code == 0
    assert "difference" in ran.out


class Terminal:
    """A stream that takes itself for a terminal."""

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass


def test_progress_is_shown_to_people_who_wait(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    with progress.Working(quiet=False) as working:
        working.step("Reading [red]a.csv[/red]")
        until(lambda: "a.csv" in terminal.text, "what is being done")
        working.step("Comparing")
    assert "Reading [red]a.csv[/red]" in terminal.text


def test_no_progress_for_quick_work_or_for_programs(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE", GUARD)  # whatever is done here, it is quick work
    with progress.Working(quiet=False) as working:
        working.step("Reading")
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.Working(quiet=True) as working:
        working.step("Reading")
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join(GUARD)  # once it has ended, it has shown what it shows
    assert terminal.text == ""
