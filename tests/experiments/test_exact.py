"""The experiments with exact answers: constants by other ways, and sentences that follow the numbers."""

import dataclasses
import math

import numpy as np
import pytest
from experiments.paper import bandwidth, concentration, example_1, same_mmd_norms
from experiments.results import Done, load
from experiments.rule import agreeing, verdict

import nammd
from nammd.datasets.laws import mixtures as laws
from nammd.kernels.bandwidth import median_distance


@pytest.mark.parametrize(
    ("norm", "ratio", "shift"), [(0.4, 0.38300, 0.04528), (0.7, 0.69708, 0.06462)], ids=["0.4", "0.7"]
)
def test_mixtures_have_the_norm_and_the_distance_wanted(norm, ratio, shift):
    family = same_mmd_norms.Family(norm)
    assert (family.ratio, family.shift) == pytest.approx((ratio, shift), abs=5e-6)
    exact = family.exact()
    assert (exact["norm"], exact["other norm"], exact["mmd2"]) == pytest.approx((norm, norm, 0.005))
    x, y = family.sample(np.random.default_rng(0), 2000)
    estimate = nammd.distance(x, y, kernel=nammd.Gaussian(1.0))
    assert abs(estimate.value - exact["nammd"]) < 3.5 * estimate.standard_error
    assert estimate.pair.moments.x.mean == pytest.approx(norm, rel=0.05)


def test_the_median_distance_is_that_of_samples():
    rng = np.random.default_rng(0)
    x, y = math.sqrt(0.3) * rng.standard_normal((2, 1500, 2))
    rows = np.concatenate([x, y + np.array([0.2, 0.0])])
    assert median_distance(rows, "euclidean") == pytest.approx(bandwidth.median_bandwidth(0.3, 0.2), rel=0.02)


def test_the_asymptotic_variance_is_that_of_samples():
    rng = np.random.default_rng(0)
    p, q = laws.normal(0, 0.5), laws.normal(0, 1.0)
    kernel = nammd.Gaussian(example_1.BANDWIDTH)
    variances = [
        nammd.distance(p.sample(rng, 500), q.sample(rng, 500), kernel=kernel).pair.moments.linear_variance(
            1.0
        )
        for _ in range(40)
    ]
    error = np.std(variances) / math.sqrt(len(variances))
    limit = example_1.asymptotic_variance((0.5, 1.0))
    assert abs(np.mean(variances) - limit / 500) < 3.5 * error
    assert limit == pytest.approx(0.0274, abs=5e-5)


def test_the_gap_to_one_keeps_its_digits():
    assert concentration._gap(1.0, 1.0) == pytest.approx(1 - 0.405827, abs=1e-6)
    assert concentration._gap(1e-8, 1.0) == pytest.approx(2e-16, rel=1e-6)


def altered(results, change):
    """Return results with the values of every cell changed."""
    cells = tuple(
        Done(done.cell, change(done.cell, dict(done.values)), done.seconds) for done in results.cells
    )
    return dataclasses.replace(results, cells=cells)


def test_no_correction_stands_where_the_numbers_do_not_bear_it():
    results = load(example_1.EXPERIMENT, "quick")
    assert any("1/66" in one.text for one in example_1.EXPERIMENT.section(results).corrections)
    larger = altered(results, lambda cell, values: values | {"margin": 0.016})
    assert not any("1/66" in one.text for one in example_1.EXPERIMENT.section(larger).corrections)


def test_a_power_below_that_of_mmd_is_told():
    results = load(bandwidth.EXPERIMENT, "quick")
    assert "at least MMD's at every bandwidth" in bandwidth.EXPERIMENT.section(results).sentence

    def worse(cell, values):
        return values | {"gain": {"mean": -0.1, "se": 0.01, "n": 100}} if cell["factor"] == 0.5 else values

    sentence = bandwidth.EXPERIMENT.section(altered(results, worse)).sentence
    assert "below MMD's by more than two standard errors at 0.5 h₀" in sentence


def test_numbers_far_from_the_paper_do_not_agree():
    results = load(bandwidth.EXPERIMENT, "quick")
    far = {"mean": 0.5, "se": 0.001, "n": 1000}
    section = bandwidth.EXPERIMENT.section(altered(results, lambda cell, values: values | {"mmd2": far}))
    assert verdict(section.claim) == "holds in part"
    assert not any(one.agrees for one in section.compared[:5])
    assert section.sentence.startswith(f"{agreeing(section.compared)} of 10 printed powers")
