"""The experiments cover the paper, and each of them runs."""

import dataclasses
import os
from pathlib import Path

import pytest
from experiments.experiment import key_of
from experiments.registry import experiments, named
from experiments.results import load, settings_dict
from experiments.running import Options, run_one

from experiments import labels

ALL = list(experiments().values())

# Take a line away when the module is there; once the set is empty every label must be covered.
STILL_TO_COME: set[str] = set()


def test_every_label_is_covered_once():
    covered = [label for experiment in ALL for label in experiment.labels]
    assert sorted(covered) == sorted(set(labels.ALL) - STILL_TO_COME)


def test_names_are_told_where_one_is_unknown():
    with pytest.raises(LookupError, match=r"there is no experiment 'nothing'; choose from .*limitations"):
        named("nothing")


@pytest.mark.parametrize("experiment", ALL, ids=lambda e: e.name)
def test_cells_are_different(experiment):
    for settings in (experiment.tiny, experiment.quick, experiment.full):
        keys = [key_of(cell) for cell in experiment.cells(settings)]
        assert len(set(keys)) == len(keys) > 0


@pytest.mark.parametrize("experiment", ALL, ids=lambda e: e.name)
@pytest.mark.parametrize("which", [0, -1], ids=["first", "last"])
def test_a_tiny_cell_runs_and_gives_the_same_values_again(experiment, which):
    data = Path(os.environ.get("NAMMD_DATA") or "data")
    if lacking := experiment.missing(data):
        pytest.skip(f"no {', '.join(lacking)} in the data folder")
    tiny = dataclasses.replace(experiment, quick=experiment.tiny)
    cell = list(tiny.cells(tiny.tiny))[which]
    values = run_one(tiny, cell, Options(data=data)).values
    assert values
    if which == 0 and not experiment.alone:  # measurements of time differ
        assert run_one(tiny, cell, Options(data=data)).values == values


@pytest.mark.parametrize("mode", ["quick", "full"])
@pytest.mark.parametrize("experiment", ALL, ids=lambda e: e.name)
def test_kept_results_are_those_of_the_settings(experiment, mode):
    results = load(experiment, mode)
    if results is None:  # the page takes the full ones where there are some
        other = load(experiment, "full" if mode == "quick" else "quick")
        assert other is not None, f"run: python -m experiments run {experiment.name}"
        return
    settings = experiment.settings(mode == "full")
    assert settings_dict(results.settings) == settings_dict(settings)
    assert results.seed == experiment.seed
    assert [key_of(d.cell) for d in results.cells] == [key_of(c) for c in experiment.cells(settings)]
