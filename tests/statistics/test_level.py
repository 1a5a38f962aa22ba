"""The tests reject a true null hypothesis at its boundary no more often than they say.

The bounds are the nominal level plus three standard errors of the simulation, and a little more for
what the approximation is known to miss at these sizes. The paper's variance breaks them.
"""

import numpy as np
import pytest

import nammd
from nammd.datasets.laws import mixtures as laws
from tests.simulate import KERNEL, estimates, noise, rejection_rate

SEPARATED = ["concentrated normal", "contaminated", "uneven spread", "rare stray"]
BOUNDARY = [
    *((family, 0.7, 100, 100) for family in SEPARATED),
    ("shifted normal", 0.2, 100, 100),
    ("scaled normal", 0.2, 100, 100),
    ("five columns", 0.2, 100, 100),
    ("rare stray", 0.2, 100, 100),
    ("two points", 0.05, 150, 100),
    ("correlated", 0.02, 100, 200),
    ("contaminated", 0.02, 150, 150),
]
HIGHEST = 0.05 + 3 * noise(0.05) + 0.006


@pytest.mark.parametrize(("family", "eps", "m", "n"), BOUNDARY)
def test_proving_too_far_holds_its_level(family, eps, m, n):
    rate = rejection_rate(estimates(family, eps, m, n), eps)
    assert rate <= HIGHEST
    assert rate >= 0.015  # and is not merely silent


@pytest.mark.parametrize("family", SEPARATED)
def test_the_papers_variance_does_not_hold_its_level_for_separated_pairs(family):
    runs = estimates(family, 0.7, 100, 100)
    assert rejection_rate(runs, 0.7, variance="paper") > HIGHEST
    assert rejection_rate(runs, 0.7, variance="delta") < rejection_rate(runs, 0.7, variance="paper")


@pytest.mark.parametrize(("family", "eps", "m", "n"), BOUNDARY)
def test_proving_closeness_holds_its_level(family, eps, m, n):
    assert rejection_rate(estimates(family, eps, m, n), eps, "less") <= HIGHEST


def test_a_stricter_level_is_held_too():
    for family in SEPARATED:
        rate = rejection_rate(estimates(family, 0.7, 100, 100), 0.7, alpha=0.01)
        assert rate <= 0.01 + 3 * noise(0.01) + 0.003


def test_equal_laws_are_hardly_ever_called_farther_than_a_small_margin():
    rng = np.random.default_rng(0)
    runs = [nammd.distance(*rng.normal(size=(2, 60, 2)), kernel=KERNEL) for _ in range(400)]
    assert rejection_rate(runs, 0.005) <= 0.05 + 3 * noise(0.05, 400)


@pytest.mark.parametrize(("m", "n"), [(100, 100), (60, 240)])
def test_mmd2_tests_hold_their_level(m, n):
    """The plain MMD test has no denominator, so its margin is the exact MMD2 of the pair."""
    same_samples = estimates("concentrated normal", 0.2, m, n)
    runs = [nammd.Estimate.of(e.evidence, "mmd2") for e in same_samples]
    margin = laws.mmd2_of(*laws.pair_at("concentrated normal", 0.2))
    assert 0.015 <= rejection_rate(runs, margin) <= HIGHEST
    assert rejection_rate(runs, margin, "less") <= HIGHEST + 0.01


def test_both_directions_have_power():
    runs = estimates("concentrated normal", 0.2, 100, 100)
    assert rejection_rate(runs, 0.1) > 0.95
    assert rejection_rate(runs, 0.3, "less") > 0.95
