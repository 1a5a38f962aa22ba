"""Canonne's test: published values, level at the boundary, power, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

from nammd.datasets import DiscretePair, discrete_pair
from nammd.methods.canonne import canonne_statistic, canonne_test
from nammd.methods.resampling import upper_pvalue, upper_threshold
from tests.simulate import noise

CASES = json.loads((Path(__file__).parents[1] / "golden" / "canonne.json").read_text())["cases"]
RUNS = 400


@pytest.mark.parametrize("name", CASES)
def test_statistic_matches_the_published_values(name):
    case = CASES[name]
    counts = (np.array(case[key])[None, :] for key in ("X", "Xp", "Y", "Yp"))
    assert canonne_statistic(*counts)[0] == pytest.approx(case["T"], rel=1e-12)
    result = canonne_test(case["sample1"], case["sample2"], 0.1, support=case["support"], resamples=9, rng=0)
    assert result.statistic == pytest.approx(case["T"], rel=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_order_of_the_support_and_its_coordinates_do_not_matter(name):
    case = CASES[name]
    points = np.random.default_rng(0).normal(size=(case["support"], 3))
    x, y = points[case["sample1"]], points[case["sample2"]]
    shuffled = points[np.random.default_rng(1).permutation(len(points))]
    assert canonne_test(x, y, 0.1, support=shuffled, rng=0).statistic == pytest.approx(case["T"])
    assert canonne_test(x, y, 0.1, rng=0).statistic == pytest.approx(case["T"])


def rejection_rate(truth, epsilon, rows, runs, resamples=99, **options):
    rng = np.random.default_rng(12)
    results = [
        canonne_test(*truth.sample(rows, rng=rng), epsilon, support=truth.support,
                     resamples=resamples, rng=rng, **options)
        for _ in range(runs)
    ]  # fmt: skip
    return np.mean([result.rejected for result in results])


@pytest.mark.parametrize(("points", "epsilon", "rows"), [(50, 0.05, 400), (50, 0.35, 401), (9, 0.6, 60)])
def test_level_at_the_boundary(points, epsilon, rows):
    rate = rejection_rate(discrete_pair(points, epsilon, rng=3), epsilon, rows, runs=RUNS)
    assert abs(rate - 0.05) < 3.5 * noise(0.05, RUNS)


def test_level_for_a_boundary_of_ones_own():
    weights = np.r_[np.full(10, 0.09), np.full(10, 0.01)]
    truth = DiscretePair(np.arange(20.0)[:, None], weights, weights[::-1])
    rate = rejection_rate(truth, None, 100, runs=RUNS, boundary=truth)
    assert abs(rate - 0.05) < 3.5 * noise(0.05, RUNS)


def test_closer_distributions_are_hardly_ever_rejected_and_farther_ones_almost_always():
    assert rejection_rate(discrete_pair(50, 0.05, rng=0), 0.15, 800, runs=50) <= 0.02
    assert rejection_rate(discrete_pair(50, 0.25, rng=0), 0.15, 1500, runs=50) >= 0.9


def test_the_threshold_and_the_pvalue_agree():
    rng = np.random.default_rng(0)
    for resamples in (9, 19, 99, 200, 999):
        null = rng.integers(30, size=resamples).astype(float)
        for alpha in (0.01, 0.05, 0.1, 0.29):
            threshold = upper_threshold(null, alpha)
            for observed in range(-1, 31):
                assert (observed > threshold) == (upper_pvalue(null, observed) <= alpha)


def test_the_result_has_the_attributes_of_a_closeness_result():
    x, y = discrete_pair(10, 0.4, rng=0).sample(300, rng=0)
    result = canonne_test(x, y, 0.1, support=10, resamples=99, rng=0)
    assert (result.m, result.n, result.epsilon, result.alternative) == (
        300,
        300,
        pytest.approx(0.1),
        "greater",
    )
    assert result.rejected
    assert result.statistic > result.threshold
    assert len(result.null) == result.resamples == 99
    saved = json.loads(json.dumps(result.to_dict()))
    assert saved["method"] == "canonne"
    assert "null" not in saved
    assert "farther apart than total variation = 0.1 (p = 0.0100)" in str(result)
    assert "No evidence" in str(canonne_test(x, x, 0.3, support=10, rng=0))
    assert result.pvalue == canonne_test(x, y, 0.1, support=10, resamples=99, rng=0).pvalue


def test_a_first_sample_unlike_the_boundary_is_pointed_out():
    weights = np.r_[np.full(10, 0.09), np.full(10, 0.01)]
    skewed = DiscretePair(np.arange(20.0)[:, None], weights, weights[::-1])
    x, y = skewed.sample(200, rng=0)
    codes = [c.code for c in canonne_test(x, y, 0.1, support=20, rng=0).cautions]
    assert codes == ["unlike-boundary"]
    assert not canonne_test(x, y, boundary=skewed, support=20, rng=0).cautions
    assert canonne_test(x, y, 0.1, rng=0).cautions[0].code == "support-from-data"


def test_the_uniform_boundary_is_hardly_ever_pointed_out_for_uniform_data():
    rng = np.random.default_rng(0)
    pair = discrete_pair(30, 0.1, rng=0)
    noted = [
        bool(canonne_test(*pair.sample(60, rng=rng), 0.1, support=30, resamples=9, rng=0).cautions)
        for _ in range(300)
    ]
    assert sum(noted) <= 5


X = np.arange(40) % 10


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"epsilon": None}, TypeError, "either epsilon"),
        ({"boundary": discrete_pair(10, 0.1)}, TypeError, "either epsilon"),
        ({"epsilon": None, "boundary": 0.1}, TypeError, "boundary must be a DiscretePair"),
        ({"epsilon": None, "boundary": discrete_pair(9, 0.1)}, ValueError, "support of the boundary"),
        ({"epsilon": 0}, ValueError, "epsilon must be strictly between 0 and 1"),
        ({"epsilon": 0.95}, ValueError, "epsilon must be strictly between 0 and 0.9"),
        ({"y": X[:30]}, ValueError, "equally large"),
        ({"support": 9}, ValueError, "4 of the 40 rows of x are not in the support"),
        ({"support": [[1.0, 2.0], [3.0, 4.0]]}, ValueError, "columns"),
        ({"alpha": 1.0}, ValueError, "alpha"),
        ({"resamples": 0}, ValueError, "resamples must be a whole number of at least 1"),
        ({"x": X[:3], "y": X[:3]}, ValueError, "at least 4"),
        ({"x": X * 0, "y": X * 0, "support": None}, ValueError, "all rows of x and y are the same"),
    ],
)
def test_what_cannot_be_tested_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        canonne_test(**({"x": X, "y": X, "epsilon": 0.1, "support": 10} | options))
