"""Runs with another seed are compared figure by figure, with all runs of a figure taken together."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from experiments.experiment import Experiment
from experiments.registry import named
from experiments.results import Done, Results, load, save
from experiments.rule import Claim, Comparison
from experiments.second_seeds import SECOND_SEED, figures, seeds_table
from experiments.section import Section
from experiments.settings import Settings
from experiments.summary import mean, rate


@dataclass(frozen=True)
class Runs(Settings):
    runs: int = 2


def results(*cells, mode="quick", seed=1, settings=Runs(repetitions=4)):
    done = tuple(Done(cell, values, 0.0) for cell, values in cells)
    return Results(settings=settings, mode=mode, seed=seed, cells=done, nammd="0", device="cpu", platform="")


def test_runs_and_chunks_of_a_figure_are_taken_together():
    low, high = mean([0.1, 0.2, 0.3]), mean([0.7, 0.8, 0.9])
    found = figures(
        results(
            ({"data": "blob", "run": 0}, {"power": low}),
            ({"data": "blob", "run": 1}, {"power": high}),
            ({"data": "higgs", "run": 0}, {"power": low}),
        )
    )
    assert found["data higgs", "power"] == low
    both = found["data blob", "power"]
    assert both["mean"] == pytest.approx(0.5)
    assert both["se"] == pytest.approx(0.3)  # that of two runs which are .6 apart, not of six values


def test_lists_with_a_figure_for_each_run_are_one_figure_and_others_are_several():
    one, two, three = (mean([k, k + 1.0]) for k in range(3))
    found = figures(results(({"data": "blob"}, {"runs": [one, two], "levels": [one, two, three]})))
    assert {place[-1] for place in found} == {"runs", "0", "1", "2"}
    assert found["data blob", "runs"]["mean"] == 1.0


def test_decisions_are_counted_run_by_run():
    found = figures(results(({"data": "blob"}, {"hits": {"mmd": "11110000", "nammd": "10101010"}})))
    assert found["data blob", "hits", "mmd"]["se"] == pytest.approx(0.5)  # all in one run, none in the other
    alike = found["data blob", "hits", "nammd"]
    assert (alike["mean"], alike["n"]) == (0.5, 8)
    assert alike["se"] == pytest.approx(rate([True, False] * 4)["se"], abs=0.02)


def test_pvalues_of_chunks_are_one_mean():
    cells = [({"norm": 0.4, "chunk": k, "count": 2}, {"pvalues": [0.1 + k, 0.2 + k]}) for k in range(2)]
    assert figures(results(*cells))["norm 0.4", "pvalues"]["mean"] == pytest.approx(0.65)


@pytest.fixture
def experiment():
    def section(found):
        share = found.cells[0].values["power"]["mean"]
        return Section("", "", claim=Claim("it is high", [Comparison("power", share > 0.5)]))

    other = named("bounds")
    return Experiment(**{**vars(other), "quick": Runs(), "full": Runs(), "section": section})


@pytest.mark.parametrize(("moved", "within"), [(0.0, "100%"), (0.5, "0%")])
def test_the_table_says_how_far_figures_moved_and_what_became_of_the_claim(
    experiment, moved, within, tmp_path
):
    rng = np.random.default_rng(0)
    for seed, shift in ((None, 0.0), (SECOND_SEED, moved)):
        one = results(({"data": "blob"}, {"power": mean(rng.normal(0.4 + shift, 0.1, 100))}))
        save(experiment, replace(one, seed=seed or 1), tmp_path, seed)
    assert load(experiment, "quick", tmp_path, SECOND_SEED).seed == SECOND_SEED
    last = seeds_table([(experiment, None, None)], tmp_path).splitlines()[-1].split(" | ")
    assert last[1:4] == ["short", "1", within]
    assert last[-2:] == ["0 of 1", f"{int(moved > 0)} of 1 |"]


def test_full_runs_come_first_and_without_both_there_is_no_row(experiment, tmp_path):
    for seed in (None, SECOND_SEED):
        for mode in ("quick", "full"):
            one = results(({"data": "blob"}, {"power": mean([0.4, 0.5])}), mode=mode, seed=seed or 1)
            save(experiment, one, tmp_path, seed)
            if seed is None:
                assert seeds_table([(experiment, None, None)], tmp_path) == ""
    assert "| full |" in seeds_table([(experiment, None, None)], tmp_path)
