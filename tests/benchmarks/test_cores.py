"""The benchmark of many cores runs, and is not judged where there are fewer."""

import json

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import cores


def test_it_runs_in_small(tmp_path, capsys):
    assert benchmarks.main(["cores", "--quick", "--output", str(tmp_path / "f.json")]) == 0
    stored = json.loads((tmp_path / "f.json").read_text())["measurements"]
    assert [one["unit"] for one in stored] == ["s", "s", "MB", "s", "x"]
    assert all(one["value"] > 0 for one in stored)
    assert "mmd-agg, n = 240, d = 10: half of them / all" in capsys.readouterr().out


@pytest.mark.parametrize("cpus", [2, 15])
def test_fewer_cores_are_not_judged(cpus, monkeypatch, capsys):
    monkeypatch.setattr(cores, "environment", lambda: {"cpus": cpus})
    assert benchmarks.main(["cores"]) == 0
    assert f"skipped: only {cpus} of them" in capsys.readouterr().out
