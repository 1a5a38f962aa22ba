"""The tests reject a true null hypothesis at its boundary no more often than they say.

The bounds are the nominal level plus three standard errors of the simulation, and a little more for
what the approximation is known to miss at these sizes. The paper's variance breaks them.
"""

import numpy as np
import pytest

from nammd.datasets.laws import mixtures as laws
from tests.simulate import Asked, at_the_boundary, by_all_variances, noise, pair_of, pvalue, pvalues

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


def rate(pvalues, alpha=0.05):
    """How often a test rejects."""
    return np.mean(pvalues <= alpha)


@pytest.mark.parametrize(("family", "eps", "m", "n"), BOUNDARY)
def test_proving_too_far_holds_its_level(family, eps, m, n):
    greater, _ = at_the_boundary(family, eps, m, n)
    assert rate(greater) <= HIGHEST
    assert rate(greater) >= 0.015  # and is not merely silent


@pytest.mark.parametrize("family", SEPARATED)
def test_the_papers_variance_does_not_hold_its_level_for_separated_pairs(family):
    *_, paper, delta = by_all_variances(family, 0.7, 100, 100)
    assert rate(paper) > HIGHEST
    assert rate(delta) < rate(paper)


@pytest.mark.parametrize(("family", "eps", "m", "n"), BOUNDARY)
def test_proving_closeness_holds_its_level(family, eps, m, n):
    _, less = at_the_boundary(family, eps, m, n)
    assert rate(less) <= HIGHEST


def test_a_stricter_level_is_held_too():
    for family in SEPARATED:
        greater, _ = at_the_boundary(family, 0.7, 100, 100)
        assert rate(greater, 0.01) <= 0.01 + 3 * noise(0.01) + 0.003


def test_equal_laws_are_hardly_ever_called_farther_than_a_small_margin():
    rng = np.random.default_rng(0)
    found = [pvalue(pair_of(*rng.normal(size=(2, 60, 2))), 0.005) for _ in range(400)]
    assert rate(np.array(found)) <= 0.05 + 3 * noise(0.05, 400)


@pytest.mark.parametrize(("m", "n"), [(100, 100), (60, 240)])
def test_mmd2_tests_hold_their_level(m, n):
    """The plain MMD test has no denominator, so its margin is the exact MMD2 of the pair."""
    exact = laws.mmd2_of(*laws.pair_at("concentrated normal", 0.2))
    asked = [Asked(exact, side, statistic="mmd2") for side in ("greater", "less")]
    greater, less = pvalues("concentrated normal", 0.2, m, n, *asked)
    assert 0.015 <= rate(greater) <= HIGHEST
    assert rate(less) <= HIGHEST + 0.01


def test_both_directions_have_power():
    greater, less = pvalues("concentrated normal", 0.2, 100, 100, Asked(0.1), Asked(0.3, "less"))
    assert rate(greater) > 0.95
    assert rate(less) > 0.95
