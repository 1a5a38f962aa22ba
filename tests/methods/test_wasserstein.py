"""The Wasserstein test: closed forms, level at the boundary, power, and what it refuses."""

import json
import sys

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from nammd.datasets import discrete_pair
from nammd.methods.wasserstein import wasserstein_test

pytest.importorskip("ot")
POINTS = np.random.default_rng(0).normal(size=(16, 2))


def test_on_the_line_the_statistic_is_the_area_between_the_distribution_functions():
    rng = np.random.default_rng(1)
    points = np.sort(rng.normal(size=12))
    x, y = rng.choice(points, 50), rng.choice(points, 70)
    result = wasserstein_test(x, y, 0.01, support=points, resamples=1, rng=0)
    assert result.statistic == pytest.approx(wasserstein_distance(x, y), rel=1e-9)


def test_two_points_in_the_plane():
    x = np.array([[0.0, 0.0]] * 3 + [[3.0, 4.0]])
    y = np.array([[0.0, 0.0]] + [[3.0, 4.0]] * 3)
    assert wasserstein_test(x, y, 1.0, resamples=1, rng=0).statistic == pytest.approx(5 / 2)


@pytest.mark.parametrize("support", [POINTS, POINTS[:7]], ids=["even", "odd"])
def test_the_default_boundary_is_at_the_margin(support):
    import ot

    cost = ot.dist(support, support, metric="euclidean")
    result = wasserstein_test(support, support, 0.2, support=support, resamples=1, rng=5)
    assert ot.emd2(result.boundary.p, result.boundary.q, cost) == pytest.approx(0.2, rel=1e-9)
    assert result.epsilon == 0.2


def test_a_given_boundary_sets_the_margin():
    import ot

    pair = discrete_pair(POINTS, 0.3, rng=0)
    cost = ot.dist(POINTS, POINTS, metric="euclidean")
    result = wasserstein_test(*pair.sample(50, rng=0), support=POINTS, boundary=pair, resamples=9, rng=0)
    assert result.epsilon == pytest.approx(ot.emd2(pair.p, pair.q, cost), rel=1e-9)


def rejection_rate(truth, rows, runs, epsilon=None, boundary=None):
    rng = np.random.default_rng(7)
    results = [
        wasserstein_test(*truth.sample(*rows, rng=rng), epsilon, support=truth.support, boundary=boundary,
                         resamples=19, rng=rng)  # as few as the level 0.05 allows: each solves a transport
        for _ in range(runs)
    ]  # fmt: skip
    return np.mean([result.rejected for result in results])


@pytest.mark.parametrize(("variation", "rows"), [(0.1, (200, 200)), (0.4, (80, 150))])
def test_level_at_the_boundary(variation, rows):
    truth = discrete_pair(POINTS, variation, rng=1)
    rate = rejection_rate(truth, rows, 300, boundary=truth)
    assert 0.05 - 3.5 * 0.0126 < rate < 0.05 + 3.5 * 0.0126


def test_power_against_farther_distributions_and_silence_about_closer_ones():
    near, margin, far = (discrete_pair(POINTS, variation, rng=1) for variation in (0.02, 0.15, 0.35))
    assert rejection_rate(far, (400, 400), 20, boundary=margin) >= 0.9
    assert rejection_rate(near, (400, 400), 20, boundary=margin) <= 0.05
    assert rejection_rate(far, (400, 400), 20, epsilon=0.05) >= 0.9


def test_nearness_of_the_points_counts():
    """Total variation sees no difference between a small and a large move; this distance does."""
    points = np.array([0.0, 0.01, 5.0, 5.01])
    near = np.repeat(points, [0, 100, 50, 50])
    far = np.repeat(points, [0, 50, 100, 50])
    x = np.repeat(points, 50)
    assert wasserstein_test(x, near, 0.1, support=points, rng=0).statistic < 0.01
    assert wasserstein_test(x, far, 0.1, support=points, rng=0).statistic > 1.0


def test_the_result_prints_and_saves():
    x, y = discrete_pair(POINTS, 0.5, rng=0).sample(200, 150, rng=0)
    result = wasserstein_test(x, y, 0.1, support=POINTS, resamples=99, rng=0)
    assert (result.m, result.n, result.points, result.rejected) == (200, 150, 16, True)
    assert "farther apart than Wasserstein distance = 0.1" in str(result)
    assert json.loads(json.dumps(result.to_dict()))["method"] == "wasserstein"
    again = wasserstein_test(x, y, 0.1, support=POINTS, resamples=99, rng=0)
    np.testing.assert_array_equal(result.null, again.null)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.inf])
def test_the_margin_is_positive(epsilon):
    with pytest.raises(ValueError, match="epsilon must be positive"):
        wasserstein_test(POINTS, POINTS, epsilon)


def test_a_margin_beyond_the_default_boundary_is_refused():
    with pytest.raises(ValueError, match=r"epsilon must be at most .* boundary pair of your own"):
        wasserstein_test(POINTS, POINTS, 100.0, rng=0)


def test_a_missing_solver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(ImportError, match=r'pip install "nammd\[baselines\]"'):
        wasserstein_test(POINTS, POINTS, 0.1)
