"""Confidence intervals contain the true distance as often as they say."""

import numpy as np
import pytest

import nammd
from tests.simulate import KERNEL, estimates, noise

SETTINGS = [
    ("concentrated normal", 0.7, 100, 100),
    ("contaminated", 0.7, 100, 100),
    ("rare stray", 0.2, 100, 100),
    ("scaled normal", 0.2, 100, 100),
    ("contaminated", 0.02, 150, 150),
    ("correlated", 0.02, 100, 200),
]


def ends(runs, level):
    return np.array([e.confidence_interval(level) for e in runs])


@pytest.mark.parametrize(("family", "eps", "m", "n"), SETTINGS)
def test_intervals_cover_the_true_distance(family, eps, m, n):
    runs = estimates(family, eps, m, n)[:500]
    low, high = ends(runs, 0.9).T
    covered = np.mean((low <= eps) & (eps <= high))
    assert covered >= 0.9 - 3 * noise(0.9, 500) - 0.01
    assert np.mean(low > eps) <= 0.05 + 3 * noise(0.05, 500) + 0.01
    assert np.mean(high < eps) <= 0.05 + 3 * noise(0.05, 500) + 0.01


def test_wald_intervals_would_not_cover_near_zero():
    """Why the upper end is not the estimate plus standard errors."""
    runs = estimates("correlated", 0.02, 100, 200)[:500]
    wald = np.array([e.value + 1.2816 * e.standard_error for e in runs])
    assert np.mean(wald >= 0.02) < 0.9 - 3 * noise(0.9, 500)
    assert np.mean(ends(runs, 0.8)[:, 1] >= 0.02) >= 0.9 - 3 * noise(0.9, 500)


def test_equal_laws_give_intervals_that_reach_zero():
    rng = np.random.default_rng(7)
    runs = [nammd.distance(*rng.normal(size=(2, 80, 3)), kernel=KERNEL) for _ in range(200)]
    low, high = ends(runs, 0.95).T
    assert np.mean(low == 0) >= 0.93
    assert np.all(high > 0)
    assert np.median(high) < 0.05
