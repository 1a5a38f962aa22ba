"""The benchmark of whole commands runs, and tells which bars are missed."""

import json

import pytest
from benchmarks.commands import commands, run
from benchmarks.results import Measurement, at_most
from benchmarks.scale import FULL, QUICK

from benchmarks import __main__ as benchmarks

NAME = "calibrate-500x5-csv"


def test_a_command_of_a_tiny_size(tmp_path, capsys):
    assert benchmarks.main(["commands", "--quick", "--only", NAME, "--output", str(tmp_path / "f.json")]) == 0
    assert "nammd calibrate, 500 x 5, CSV: peak memory" in capsys.readouterr().out
    stored = json.loads((tmp_path / "f.json").read_text())
    assert [one["unit"] for one in stored["measurements"]] == ["s", "s", "MB"]
    assert all(one["value"] > 0 for one in stored["measurements"])
    assert stored["measurements"][0]["details"]["name"] == NAME


def test_names_are_unique_and_an_unknown_one_is_refused(capsys):
    names = [command.name for command in commands(FULL)]
    assert len(set(names)) == len(names) == len(commands(QUICK))
    with pytest.raises(SystemExit, match="2"):
        benchmarks.main(["commands", "--only", "chekc"])
    assert "unknown command 'chekc'; choose from help, import" in capsys.readouterr().err


def test_the_memory_is_that_of_the_command_and_not_of_who_starts_it(tmp_path):
    held = bytearray(300_000_000)
    held[::4096] = b"x" * len(held[::4096])
    assert run(["-c", "pass"], tmp_path).megabytes < 100


def test_a_command_that_fails_is_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="no such thing"):
        run(["-c", "raise SystemExit('no such thing')"], tmp_path)


def test_a_missed_bar_is_named(monkeypatch, capsys):
    slow = Measurement("a slow command", 3.0, "s", at_most(2.0))
    monkeypatch.setitem(benchmarks.TOPICS, "commands", lambda scale: iter([slow]))
    assert benchmarks.main(["commands"]) == 1
    assert "missed: a slow command" in capsys.readouterr().out
