"""The law of a distance near zero."""

import numpy as np
import pytest
from scipy.stats import chi2, ncx2, norm

from nammd.statistics.near_zero import NearZero


@pytest.mark.parametrize("value", [-0.5, 0.0, 0.7, 3.0])
def test_at_zero_with_nothing_left_it_is_a_chi_square(value):
    law = NearZero(centre=0.0, along=1.0, rest=1e-12)
    assert law.below(value) == pytest.approx(chi2(1).cdf(value + 1), abs=0.01)


@pytest.mark.parametrize("value", [-0.5, 0.5, 2.0, 6.0])
def test_away_from_zero_it_is_a_noncentral_chi_square(value):
    law = NearZero(centre=2.0, along=1.0, rest=1e-12)
    assert law.below(value) == pytest.approx(ncx2(1, 2.0).cdf(value + 1), abs=0.01)


def test_far_from_zero_it_is_normal():
    law = NearZero(centre=1.0, along=1e-6, rest=1e-6)
    sigma = np.sqrt(4e-6 + 2e-12 + 1e-6)
    for z in (-2.0, 0.0, 1.0):
        assert law.below(1.0 + z * sigma) == pytest.approx(norm.cdf(z), abs=1e-3)


@pytest.mark.parametrize("degrees", [np.inf, 8.0])
def test_quantiles_invert_it(degrees):
    law = NearZero(centre=0.01, along=0.004, rest=1e-5, degrees=degrees)
    for probability in (0.01, 0.05, 0.5, 0.95):
        assert law.below(law.quantile(probability)) == pytest.approx(probability, abs=1e-9)


def test_its_lower_tail_ends_before_that_of_a_normal_law_of_the_same_variance():
    """This is what the proof of closeness gains by it."""
    law = NearZero(centre=0.005, along=0.004, rest=1e-6)
    sigma = np.sqrt(4 * 0.005 * 0.004 + 2 * 0.004**2 + 1e-6)
    assert law.quantile(0.05) > 0.005 - 1.645 * sigma
