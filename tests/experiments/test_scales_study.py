"""The study of scales draws what it says, asks what a check asks, and reads its counts right."""

from pathlib import Path

import numpy as np
import pytest
from experiments.calibration import scales, scales_text
from experiments.calibration.scale_faults import FAULTS, SCENES
from experiments.calibration.scale_laws import FAR_AWAY, LAWS, drawn
from experiments.calibration.scales import EXPERIMENT, Scales
from experiments.experiment import Context
from experiments.figures import svg
from experiments.results import Done, Results

import nammd
from nammd.statistics.scales import SCALES

ENGINE = nammd.Tiles(threads=1)


def _context(seed: int = 0) -> Context:
    return Context(np.random.default_rng(seed), "cpu", Path())


def _results(settings: Scales, values) -> Results[Scales]:
    """Results of all cells of some settings, each with the values that a function gives."""
    cells = tuple(Done(cell, values(cell), 0.0) for cell in EXPERIMENT.cells(settings))
    return Results(settings, "quick", 0, cells)


@pytest.mark.parametrize("how", ["hull", "ball"])
def test_the_study_asks_what_a_check_asks(how):
    rng = np.random.default_rng(7)
    x, accepted = (drawn(rng, "normal", 80, 2, drift) for drift in (0.0, 1.0))
    candidate = FAULTS["lattice"].spoil(rng, drawn(rng, "normal", 80, 2, 0.5))
    gate, median = (
        nammd.Tolerance.from_reference(
            x, accepted, how=how, scales=which, negligible=False, anyway=True, engine=ENGINE
        ).with_reference(x, engine=ENGINE)
        for which in ("all", "median")
    )
    judged = scales.judged(gate, candidate)
    assert judged.pvalue == gate.check(candidate, joint_only=True, allow=["all"]).pvalue_far
    # The rule of the median alone is read from the first of all scales.
    alone = median.check(candidate, joint_only=True, allow=["all"])
    assert judged.checks[0].pvalue == pytest.approx(alone.pvalue_far, rel=1e-9)


@pytest.mark.parametrize("law", [name for name, law in LAWS.items() if law.even])
def test_both_sides_are_equally_far(law):
    rng = np.random.default_rng(4)
    x, up, down = (drawn(rng, law, 2500, 2, drift, wide=True) for drift in (0.0, 1.0, -1.0))
    # At a finer scale, where all of them are plainly apart.
    kernel = nammd.Gaussian(nammd.Gaussian.median(x).bandwidth / 4)
    one, other = (nammd.distance(x, y, kernel=kernel, engine=ENGINE) for y in (up, down))
    assert abs(one.value - other.value) < 4 * np.hypot(one.standard_error, other.standard_error)
    assert min(each.value / each.standard_error for each in (one, other)) > 4


def test_rows_that_moved_away_are_at_the_margin():
    rng, law = np.random.default_rng(2), "clusters"
    bandwidth, margin = scales.margin_of(law, 2)
    x, y = (drawn(rng, law, 4000, 2, 0.0) for _ in range(2))
    moved = scales.moved_away(rng, y)
    assert np.mean(moved[:, 0] > FAR_AWAY / 2) == pytest.approx(0.05, abs=0.015)
    estimate = nammd.distance(x, moved, kernel=nammd.Gaussian(bandwidth), engine=ENGINE)
    assert abs(estimate.value - margin) < 4 * estimate.standard_error


def test_sizes_and_repetitions():
    assert scales.sizes("20 x 1000:150") == (20, 1000, 150)
    assert scales.sizes("5 x 300") == (5, 300, 300)
    settings = Scales(repetitions=30, middle_repetitions=20, large_repetitions=10)
    found = [scales._repetitions(settings, f"2 x {rows}")[0] for rows in ("300", "150:1000", "2000")]
    assert found == [30, 20, 10]


def test_faults_do_what_they_say():
    rng = np.random.default_rng(1)
    rows = SCENES["normal"].draw(rng, 4000, 4, 0.0)
    spoilt = {name: FAULTS[name].spoil(rng, rows) for name in SCENES["normal"].faults}
    assert spoilt["none"] is rows
    assert np.allclose(spoilt["lattice"] / 0.4, np.round(spoilt["lattice"] / 0.4))
    assert [len(np.unique(column)) > 100 for column in spoilt["decimals"].T] == [False, True, True, False]
    assert np.mean((spoilt["repeated"] == rows[0]).all(axis=1)) == pytest.approx(0.1, abs=0.02)
    assert np.mean((spoilt["heaped"] == rows).all(axis=1)) == pytest.approx(0.5, abs=0.03)
    # Fine faults leave what is coarse as it was.
    for name in scales_text.of_kind("fine", ["normal"]):
        assert np.allclose(spoilt[name].std(axis=0), rows.std(axis=0), atol=0.08)
    groups = SCENES["clusters"].draw(rng, 1000, 2, 0.0)
    assert len(FAULTS["lost"].spoil(rng, groups)) == len(groups)


def test_a_ball_that_accepted_data_do_not_set_counts_nothing(monkeypatch):
    same = np.random.default_rng(0).normal(size=(40, 1))
    monkeypatch.setattr(scales, "drawn", lambda *_, **__: same.copy())
    cell = {"law": "normal", "size": "1 x 40"}
    assert scales._ball(cell, _context()) == {}


def _values(cell, far: int):
    """Every rule but the median says FAR of some of 100 candidates."""
    rules = {"all": far, "median": 0, "Bonferroni": far // 2}
    if cell["part"] == "level":
        places = {"hull": ["reference", "5 % moved"], "ball": ["other side"], "noise": ["noise"]}
        found = {f"{p}/{rule}": n for p in places[cell["how"]] for rule, n in rules.items()}
        return {**found, "made": 100, "scales": 400}
    fine = {name for name in SCENES[cell["scene"]].faults if FAULTS[name].kind == "fine"}
    found = {f"{way}/made": 100 for way in scales.WAYS}
    for way in scales.WAYS:
        for name in SCENES[cell["scene"]].faults:
            found |= {f"{way}/{name}/{rule}": 70 if rule == "all" and name in fine else 10 for rule in rules}
    return found


def test_the_section_says_what_was_counted():
    section = scales_text.section(_results(EXPERIMENT.tiny, lambda cell: _values(cell, 4)))
    assert "at most 0.040 ± 0.020 of the samples in any of 4 settings" in section.sentence
    assert "0 are above 0.06, 0 of them" in section.sentence
    assert "it finds 0.70 of the fine faults, where the median alone finds 0.10" in section.sentence
    assert "less than half" not in section.sentence
    assert section.notes == []
    assert "| 40 | a hull, all scales | 0.10 | 0.10 | 0.70 | 0.10 | 0.10 | 0.70 |" in section.body
    assert "| all values rounded to 0.4 | 0.10 → 0.70 | 0.10 → 0.70 | 0.10 → 0.70 |" in section.body
    assert "| normal: shifted by 0.4 | 3 | 0.040 ± 0.020 | 0.040 | 0, 0 | 0.000 | 4.0 |" in section.body
    assert b"<svg" in svg(section.pictures[0])


def test_what_is_above_the_bar_is_told():
    section = scales_text.section(_results(EXPERIMENT.tiny, lambda cell: _values(cell, 20)))
    assert "4 are above 0.06, 4 of them by more than two standard errors" in section.sentence
    [note] = section.notes
    assert "0.200 ± 0.040 (normal, 1 column, 40 rows, like the reference)" in note
    # Two standard errors of 0.11 with 100 cases are 0.063.
    assert not scales_text.clearly_above({"mean": 0.11, "se": 0.031})
    assert scales_text.clearly_above({"mean": 0.13, "se": 0.034})


def test_cases_that_stay_hard_are_told():
    def values(cell):
        found = _values(cell, 4)
        return found | ({"hull/lattice/all": 12} if cell.get("scene") == "wide" else {})

    section = scales_text.section(_results(EXPERIMENT.tiny, values))
    assert "less than half of: all values rounded to 0.4 (normal values): 0.12." in section.notes[0]


def test_the_full_study_has_all_that_is_promised():
    full = EXPERIMENT.full
    found = [scales.sizes(size) for size in full.hull]
    assert {columns for columns, _, _ in found} == {1, 2, 5, 20, 50}
    assert {100, 300, 1000, 2000} <= {rows for _, rows, _ in found}
    assert any(m != n for _, m, n in found)
    assert len(SCALES) == 5
    assert len(LAWS) == 8
