"""Confidence intervals contain the true distance as often as they say.

A margin is in the interval where neither one-sided test rejects it at half of the level, so that two p-values
tell whether an interval covers the true distance; a few intervals are inverted to show that it is so.
"""

from itertools import islice

import numpy as np
import pytest

import nammd
from tests.simulate import KERNEL, REPETITIONS, at_the_boundary, close_calls, noise, pair_of, pvalue, samples

SETTINGS = [
    ("concentrated normal", 0.7, 100, 100),
    ("contaminated", 0.7, 100, 100),
    ("rare stray", 0.2, 100, 100),
    ("scaled normal", 0.2, 100, 100),
    ("contaminated", 0.02, 150, 150),
    ("correlated", 0.02, 100, 200),
]


@pytest.mark.parametrize(("family", "eps", "m", "n"), SETTINGS)
def test_intervals_cover_the_true_distance(family, eps, m, n):
    greater, less = at_the_boundary(family, eps, m, n)
    above, below = greater <= 0.05, less <= 0.05  # the whole interval is, at the level 0.9
    assert np.mean(~above & ~below) >= 0.9 - 3 * noise(0.9) - 0.01
    assert np.mean(above) <= 0.05 + 3 * noise(0.05) + 0.01
    assert np.mean(below) <= 0.05 + 3 * noise(0.05) + 0.01


@pytest.mark.parametrize(("family", "eps", "m", "n"), SETTINGS)
def test_they_are_what_the_tests_do_not_reject_and_simulated_p_values_are_those_of_the_tests(
    family, eps, m, n
):
    greater, less = at_the_boundary(family, eps, m, n)
    chosen = close_calls(np.minimum(greater, less), 0.05, 8)
    for k, (x, y) in enumerate(islice(samples(family, eps, m, n), max(chosen) + 1)):
        if k in chosen:
            results = {
                side: nammd.closeness_test(x, y, eps, kernel=KERNEL, alternative=side)
                for side in ("greater", "less")
            }
            low, high = results["less"].confidence_interval(0.9)
            assert (low > eps, high < eps) == (greater[k] <= 0.05, less[k] <= 0.05)
            assert results["greater"].pvalue == pytest.approx(greater[k], rel=1e-9)
            assert results["less"].pvalue == pytest.approx(less[k], rel=1e-9)


def test_wald_intervals_would_not_cover_near_zero():
    """Why the upper end is not the estimate plus standard errors."""
    setting = ("correlated", 0.02, 100, 200)
    pairs = [pair_of(x, y) for x, y in samples(*setting, repetitions=500)]
    wald = np.array([pair.value + 1.2816 * pair.standard_error for pair in pairs])
    assert np.mean(wald >= 0.02) < 0.9 - 3 * noise(0.9, 500)
    assert np.mean(at_the_boundary(*setting)[1] > 0.1) >= 0.9 - 3 * noise(0.9, REPETITIONS)


def test_equal_laws_give_intervals_that_reach_zero():
    rng = np.random.default_rng(7)
    drawn = [rng.normal(size=(2, 80, 3)) for _ in range(200)]
    pairs = [pair_of(x, y) for x, y in drawn]
    asked = {"low": (1e-12, "greater"), "above": (1e-12, "less"), "short": (0.05, "less")}
    found = {name: np.array([pvalue(pair, *what) for pair in pairs]) for name, what in asked.items()}
    zero, above, short = found["low"] > 0.025, found["above"] > 0.025, found["short"] <= 0.025
    assert np.mean(zero) >= 0.93
    assert np.all(above)
    assert np.mean(short) > 0.5
    for k in close_calls(found["low"], 0.025, 10) | close_calls(found["short"], 0.025, 10):
        low, high = nammd.distance(*drawn[k], kernel=KERNEL).confidence_interval(0.95)
        assert (low == 0, high > 0, high < 0.05) == (zero[k], above[k], short[k])
