"""Runs: resuming, failures, processes, interrupts, and the command line."""

import dataclasses
import json
from dataclasses import dataclass

import pytest
from experiments.__main__ import main
from experiments.experiment import Experiment, chunks
from experiments.results import best, load, path_of
from experiments.running import Options, run
from experiments.section import Section
from experiments.settings import Settings

from experiments import tasks


@dataclass(frozen=True)
class Draws(Settings):
    cells: int = 3


class Recorder:
    """Draws a number for every cell; remembers which cells it was asked for, and may fail at one."""

    def __init__(self):
        self.asked, self.fail_at, self.error = [], None, RuntimeError("no luck")

    def __call__(self, settings, cell, context):
        if cell["k"] == self.fail_at:
            raise self.error
        self.asked.append(cell["k"])
        return {"draw": context.rng.random(), "nothing": float("nan")}


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def experiment(recorder, monkeypatch):
    made = Experiment(
        name="draws",
        labels=("text",),
        title="Draws",
        seed=1,
        quick=Draws(),
        full=Draws(cells=4),
        tiny=Draws(cells=0),
        cells=lambda settings: [{"k": k} for k in range(settings.cells)],
        run_cell=recorder,
        section=lambda results: Section("", ""),
    )
    monkeypatch.setattr(tasks, "named", lambda name: made)
    return made


def draws(experiment, folder, mode="quick"):
    return [done.values["draw"] for done in load(experiment, mode, folder).cells]


def test_results_are_kept_with_settings_and_seed(experiment, tmp_path, capsys):
    assert run([experiment], Options(folder=tmp_path))
    stored = json.loads((tmp_path / "draws.json").read_text())
    assert stored["settings"] == {"repetitions": 1, "cells": 3}
    assert (stored["seed"], stored["mode"], stored["device"]) == (1, "quick", "cpu")
    assert stored["cells"][0]["values"]["nothing"] is None
    assert "3 of 3 cells" in capsys.readouterr().err
    assert not list((tmp_path / ".partial").iterdir())


def test_an_interrupted_run_resumes_with_the_same_numbers(experiment, recorder, tmp_path):
    run([experiment], Options(folder=tmp_path / "whole"))
    recorder.asked.clear()
    recorder.fail_at, recorder.error = 2, KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        run([experiment], Options(folder=tmp_path))
    assert load(experiment, "quick", tmp_path) is None
    [partial] = (tmp_path / ".partial").iterdir()
    partial.write_text(partial.read_text() + '{"cell": {"k":')  # cut in the middle of a line
    recorder.fail_at = None
    assert run([experiment], Options(folder=tmp_path))
    assert recorder.asked == [0, 1, 2]
    assert draws(experiment, tmp_path) == draws(experiment, tmp_path / "whole")


def test_a_failed_cell_is_named_and_the_others_are_kept(experiment, recorder, tmp_path, capsys):
    recorder.fail_at = 1
    assert not run([experiment], Options(folder=tmp_path))
    assert "draws: the cell k=1 failed: RuntimeError: no luck" in capsys.readouterr().err
    recorder.fail_at = None
    assert run([experiment], Options(folder=tmp_path))
    assert recorder.asked == [0, 2, 1]


@pytest.mark.parametrize("change", [{"seed": 2}, {"quick": Draws(repetitions=9)}])
def test_a_run_with_other_settings_starts_anew(experiment, recorder, tmp_path, change, monkeypatch):
    recorder.fail_at = 2
    run([experiment], Options(folder=tmp_path))
    recorder.fail_at = None
    other = dataclasses.replace(experiment, **change)
    monkeypatch.setattr(tasks, "named", lambda name: other)
    run([other], Options(folder=tmp_path))
    assert recorder.asked == [0, 1, 0, 1, 2]


def test_full_results_are_preferred_and_quick_ones_kept(experiment, tmp_path):
    assert best(experiment, tmp_path) is None
    run([experiment], Options(folder=tmp_path))
    assert best(experiment, tmp_path).mode == "quick"
    run([experiment], Options(folder=tmp_path, full=True))
    assert best(experiment, tmp_path).mode == "full"
    assert path_of("draws", "quick", tmp_path).is_file()
    # A cell's generator does not depend on how many cells there are.
    assert draws(experiment, tmp_path, "full")[:3] == draws(experiment, tmp_path)


def test_another_seed_has_files_of_its_own(experiment, tmp_path):
    for seed in (None, 5):
        assert run([experiment], Options(folder=tmp_path, seed=seed))
    own, other = load(experiment, "quick", tmp_path), load(experiment, "quick", tmp_path, seed=5)
    assert (own.seed, other.seed) == (1, 5)
    assert [d.cell for d in own.cells] == [d.cell for d in other.cells]
    assert [d.values["draw"] for d in own.cells] != [d.values["draw"] for d in other.cells]
    assert path_of("draws", "quick", tmp_path, seed=5).name == "draws.seed5.json"


def test_results_of_other_settings_are_refused(experiment, tmp_path):
    run([experiment], Options(folder=tmp_path))
    text = path_of("draws", "quick", tmp_path).read_text().replace('"cells": 3', '"sells": 3')
    path_of("draws", "quick", tmp_path).write_text(text)
    with pytest.raises(ValueError, match=r"other settings than draws has now .*experiments run draws"):
        load(experiment, "quick", tmp_path)


def test_processes_find_the_same_numbers(tmp_path):
    options = ["run", "limitations", "--data", str(tmp_path)]
    assert main([*options, "--jobs", "2", "--results", str(tmp_path / "two")]) == 0
    assert main([*options, "--jobs", "1", "--results", str(tmp_path / "one")]) == 0
    one, two = (json.loads((tmp_path / name / "limitations.json").read_text()) for name in ("one", "two"))
    assert [cell["values"] for cell in one["cells"]] == [cell["values"] for cell in two["cells"]]
    assert one["code"] == two["code"]
    assert {"EXPERIMENT", "_cells", "_run"} <= set(one["code"]["experiments.paper.limitations"])


def test_cells_of_other_code_are_not_taken_up(experiment, recorder, tmp_path, monkeypatch):
    recorder.fail_at = 2
    assert not run([experiment], Options(folder=tmp_path))
    recorder.fail_at = None
    monkeypatch.setattr("experiments.partial.changed", lambda code: ["nammd.distance"])
    assert run([experiment], Options(folder=tmp_path))
    assert recorder.asked == [0, 1, 0, 1, 2]


def test_a_run_whose_code_changed_meanwhile_is_not_written(experiment, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("experiments.running.changed", lambda code: ["nammd.distance"])
    assert not run([experiment], Options(folder=tmp_path))
    assert "draws: not written, since nammd.distance changed meanwhile" in capsys.readouterr().err
    assert load(experiment, "quick", tmp_path) is None


def test_missing_data_are_named_and_the_experiment_is_skipped(experiment, tmp_path, monkeypatch, capsys):
    needing = dataclasses.replace(experiment, data=(("HIGGS.csv", "higgs_small"),))
    monkeypatch.setattr("experiments.__main__.named", lambda name: needing)
    assert main(["run", "draws", "--data", str(tmp_path), "--results", str(tmp_path), "--jobs", "1"]) == 0
    assert f"draws: skipped, since {tmp_path} has no HIGGS.csv or higgs_small" in capsys.readouterr().err


def test_wrong_options_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["run", "nothing"])
    assert "there is no experiment 'nothing'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run", "limitations", "--jobs", "0"])
    assert "--jobs must be at least 1, not 0" in capsys.readouterr().err


def test_experiments_are_listed(capsys):
    assert main(["list"]) == 0
    assert "limitations" in capsys.readouterr().out


def test_repetitions_are_cut_into_chunks():
    assert chunks(250, 100) == [(0, 100), (1, 100), (2, 50)]
