"""Every statement of the paper has a check, and every check fails with a constant that is too good."""

import dataclasses
import math
import re
import shutil

import numpy as np
import pytest
from experiments.page import DOCS
from experiments.paper import bounds, level_map, theory, theory_checks, two_values
from experiments.paper.bounds import promised
from experiments.paper.future_work import limitations_table
from experiments.paper.theory_checks import CHECKS, FEW
from experiments.paper.two_values import TwoValues, outcomes
from experiments.results import FOLDER, Done, load
from experiments.rule import verdict

import nammd

# The labels of the definitions, lemmas, theorems and remarks that can be computed.
STATEMENTS = {
    "Def:NAMMD",
    "lem:asym_dis",
    "lem:aysm_mmd_dct",
    "lem:var_est",
    "lem:larg_devi",
    "thm:larg_U",
    "thm:typeI",
    "thm:samp_comp",
    "thm:comp_dct",
    "app:est",
    "app:opt",
    "app:NAMMD1",
    "remark on own kernels",
}


def test_every_statement_has_a_check():
    assert {label.partition(",")[0].partition(" (")[0] for label, _ in CHECKS.values()} == STATEMENTS


@pytest.mark.parametrize(
    ("check", "altered"),
    [
        (theory_checks.definition, {"bound": 3.5}),
        (theory_checks.largest_delta, {"limit": 0.49}),
        (theory_checks.asymptotic_mmd, {"factor": 3.0}),
        (theory_checks.variance_estimate, {"rate": 1.5}),
        (theory_checks.unbiased, {"order": 3}),
        (theory_checks.deviation, {"constant": 0.8}),
        (theory_checks.u_statistics, {"constant": 2.5}),
        (theory_checks.type_one_equal, {"constant": 0.03}),
        (theory_checks.sample_size, {"spread": 0.1, "constant": 0.1}),
        (theory_checks.mmd_alone, {"constant": 0.4}),
        (theory_checks.gain_between, {"stated": 1 / 45}),
        (theory_checks.oracle_kernel, {"least": 0.005}),
        (theory_checks.selection, {"counted": 1.0}),
        (theory_checks.near_one, {"power": 2.0}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_check_holds_and_fails_with_a_constant_that_is_too_good(check, altered):
    assert check().holds
    assert not check(**altered).holds


def test_the_simplified_variance_is_not_the_true_one_and_the_remedy_is():
    assert not theory_checks.asymptotic_nammd().holds
    assert theory_checks.asymptotic_nammd(counted=1.0).holds
    assert not theory_checks.type_one().holds
    assert theory_checks.type_one(counted=1.0).holds
    # It matters little where NAMMD is small.
    assert theory_checks.type_one(largest=0.1).found < 0.06 < 0.15 < theory_checks.type_one().found


def test_the_gain_is_one_in_sixty_six_and_not_in_sixty_five():
    assert not theory_checks.gain(1 / 65).holds
    assert theory_checks.gain(1 / 66).holds


def test_the_bound_on_mmd_alone_has_the_delta_of_its_rows():
    found = [promised(rows)["bound"] for rows in (20, 50, 100, 200, 400, 800)]
    assert found == pytest.approx([0.997, 0.985, 0.949, 0.838, 0.563, 0.170], abs=5e-4)


@pytest.mark.parametrize("pair", FEW[:4:3])
def test_counted_outcomes_are_those_of_samples(pair):
    rng, m = np.random.default_rng(0), 12
    found = outcomes(pair, m)
    assert found.probability.sum() == pytest.approx(1)
    assert found.expected(found.mmd2) == pytest.approx(pair.population.mmd2)
    far = 100.0 if pair.apart else 0.0  # where y has its values
    x, y = np.where(rng.random((m, 1)) < pair.p, 0.0, 30.0), np.where(rng.random((m, 1)) < pair.q, 0.0, 30.0)
    counts = np.array([[np.sum((x == u) & (y == v))] for u in (0, 30) for v in (0, 30)], float)
    mmd2, denominator, zeta1, zeta2 = two_values._estimates(
        pair, m, counts[0] + counts[1], counts[0] + counts[2], pair.cross.ravel() @ counts
    )
    moments = nammd.paper.distance(x, y + far, kernel=nammd.Gaussian(1.0)).pair.moments
    assert (mmd2[0], denominator[0]) == pytest.approx((moments.mmd2, moments.denominator))
    variance = (4 * (m - 2) * zeta1[0] + 2 * zeta2[0]) / (m * (m - 1))
    assert variance == pytest.approx(moments.variance(1.0), abs=1e-12)


def test_levels_are_those_of_the_test_itself():
    pair, m = TwoValues(0.9, 0.8, 0.0, True), 30
    epsilon, z = pair.population.nammd, theory.quantile(0.05)
    found = outcomes(pair, m)
    exact = found.chance(found.rejects(epsilon, z))
    rng, hits = np.random.default_rng(1), 0
    for _ in range(400):
        x = np.where(rng.random((m, 1)) < pair.p, 0.0, 30.0)
        y = np.where(rng.random((m, 1)) < pair.q, 0.0, 30.0) + 100.0
        hits += nammd.paper.closeness_test(x, y, epsilon, kernel=nammd.Gaussian(1.0)).rejected
    assert hits / 400 == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 400))


def test_the_table_of_limitations_has_its_figures_from_result_files(tmp_path):
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".partial"))
    whole = limitations_table(tmp_path)
    assert whole == limitations_table()
    assert whole.count("\n") == 7
    for path in re.findall(r"\]\(([^)]*)\)", whole):
        assert (DOCS / path).is_file()
    stored = tmp_path / "limitations.json"
    stored.write_text(
        re.sub(r'"smallest eigenvalue": -[\d.]+', '"smallest eigenvalue": -0.77', stored.read_text("utf-8")),
        "utf-8",
    )
    assert "smallest eigenvalue -0.77" in limitations_table(tmp_path)


def altered(results, change):
    cells = tuple(Done(d.cell, change(dict(d.values)), d.seconds) for d in results.cells)
    return dataclasses.replace(results, cells=cells)


def test_verdicts_on_the_statements_follow_the_checks():
    section, results = bounds.EXPERIMENT.section, load(bounds.EXPERIMENT, "quick")

    def stated(holds, bound):
        return lambda values: values | ({"holds": holds} if "holds" in values else {"bound": bound})

    assert verdict(section(results).claim) == "holds in part"
    assert any("footnote" in one.text for one in section(results).corrections)
    holding = section(altered(results, stated(True, 1.0)))
    assert verdict(holding.claim) == "holds"
    assert not any("footnote" in one.text for one in holding.corrections)
    failing = section(altered(results, stated(False, -1.0)))
    assert verdict(failing.claim) == "does not hold"
    assert "lem:larg_devi" in failing.sentence
    assert "exceeded at 20, 100, 400 rows" in failing.sentence


def test_the_map_tells_the_denominator_from_small_samples():
    section, results = level_map.EXPERIMENT.section, load(level_map.EXPERIMENT, "quick")
    told = section(results)
    assert "random denominator" in told.short
    assert "above 0.07 alone: rare stray" in told.sentence

    def exact(values):
        return values | {"variance ratio": {"mean": 1.0, "se": 0.0, "n": 1}} if len(values) == 1 else values

    without = section(altered(results, exact)).sentence
    assert "tends to 0.050 (mean over the laws), and for no law above 0.07" in without
    assert without.count("of which the denominator +0.000") == 2
