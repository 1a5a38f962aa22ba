"""The laws of the calibration study are as far apart as they say, and its counts are read right."""

import math

import numpy as np
import pytest
from experiments.calibration import grid, level
from experiments.calibration.grid import Grid, Spot
from experiments.results import Done, Results
from scipy.stats import norm

import nammd
from nammd.datasets.laws import characteristic
from nammd.datasets.laws import mixtures as laws
from nammd.datasets.laws.families import FAMILIES, known_pair

GAUSSIAN, LAPLACE = nammd.Gaussian(0.7), nammd.Laplace(0.7)


def test_there_are_at_least_twelve_laws():
    assert len(FAMILIES) >= 12


@pytest.mark.parametrize("law", FAMILIES)
def test_samples_are_as_far_apart_as_the_laws(law):
    pair = known_pair(law, 0.02)
    assert pair.nammd == pytest.approx(0.02, abs=1e-9)
    x, y = pair.sample(np.random.default_rng(3), 3000, 2500)
    assert (len(x), len(y)) == (3000, 2500)
    estimate = nammd.distance(x, y, kernel=pair.kernel)
    assert abs(estimate.value - 0.02) < 4 * estimate.standard_error
    assert estimate.standard_error < 0.004


def test_quadrature_gives_the_closed_form_of_normal_laws():
    p, q = characteristic.normal(0.0, 0.5, 2), characteristic.normal(0.9, 0.5, 2)
    exact = laws.nammd_of(laws.normal([0, 0], 0.25), laws.normal([0.9, 0.9], 0.25), 0.7)
    assert characteristic.nammd_of(p, q, GAUSSIAN) == pytest.approx(exact, abs=1e-12)


def test_quadrature_gives_the_closed_form_of_the_laplace_kernel():
    # The mean of exp(-|d|) for a normal d, by completing the square on either side of zero.
    shift, spread = 0.9 / 0.7, math.sqrt(2) * 0.5 / 0.7
    exact = math.exp(spread**2 / 2) * (
        math.exp(-shift) * norm.cdf(shift / spread - spread)
        + math.exp(shift) * norm.cdf(-shift / spread - spread)
    )
    p, q = characteristic.normal(0.0, 0.5), characteristic.normal(0.9, 0.5)
    assert characteristic.inner(p, q, LAPLACE) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize(
    "law", [name for name, family in FAMILIES.items() if family.kernel == nammd.Laplace(1.0)]
)
def test_finer_quadrature_changes_nothing_that_a_simulation_would_see(law):
    pair = known_pair(law, 0.2)
    finer = characteristic.nammd_of(pair.p, pair.q, pair.kernel, 4 * characteristic.PANELS)
    assert finer == pytest.approx(0.2, abs=1e-5)


def test_margins_out_of_reach_are_none():
    assert known_pair("correlated", 0.7) is None
    same = known_pair("uniform", 0)
    assert same.p is same.q


def test_sizes_and_repetitions():
    assert grid.rows_of("50+500") == (50, 500)
    assert grid.rows_of("100") == (100, 100)
    settings = Grid(repetitions=30, large_repetitions=5, large_rows=500)
    assert grid.repetitions_of(settings, "500") == 30
    assert grid.repetitions_of(settings, "20+501") == 5


def test_chunks_are_joined():
    cell = {"law": "uniform", "margin": 0.05, "size": "20", "count": 100}
    done = [Done({**cell, "chunk": k}, {"greater paper": hits}, 0.0) for k, hits in enumerate((3, 9))]
    [spot] = grid.spots(Results(Grid(), "quick", 0, tuple(done)))
    assert (spot.tries, spot.rate("greater paper")) == (200, 0.06)


def test_only_what_chance_does_not_explain_is_off():
    # Three standard errors of 0.05 with 1000 repetitions are 0.0207.
    assert not Spot("uniform", 0.05, "20", 1000, {"a": 70}).above("a")
    assert Spot("uniform", 0.05, "20", 1000, {"a": 71}).above("a")
    assert Spot("uniform", 0.05, "20", 1000, {"a": 929}).below("a", 0.95)
    assert not Spot("uniform", 0.05, "20", 1000, {"a": 930}).below("a", 0.95)


def test_what_chance_would_do_is_told():
    # More than 11 of 100 at a rate of 0.05: 0.0043, for each of 100 settings; the same for coverage.
    found = [Spot("uniform", 0.05, "20", 100, {})] * 100
    assert "about 0.4 of the 100 settings" in grid.by_chance(found)
    assert grid.by_chance(found, 0.95) == grid.by_chance(found)


def test_settings_where_the_corrected_test_is_off_are_named():
    names = [f"{a} {v}{s}" for a in level.ALTERNATIVES for v in level.VARIANCES for s in ("", " strict")]
    names += ["greater degenerate", "less degenerate", "no test paper", "no test delta"]
    fine = Spot("uniform", 0.05, "20", 1000, dict.fromkeys(names, 50))
    off = Spot("contaminated", 0.7, "20", 1000, {**fine.counts, "greater corrected": 117})
    told = " ".join(level._notes([fine, off]))
    assert "(*greater*) rejects too often: 0.117 ± 0.010 (contaminated, NAMMD 0.7, 20 rows)" in told
    assert "samples of 20 rows 12% have nothing of it" in told
    assert "rejects too often" not in " ".join(level._notes([fine]))
