"""Estimates against exact population values."""

from functools import cache

import numpy as np
import pytest

import nammd
from nammd.datasets.laws import mixtures as laws
from nammd.statistics.atom_pair import pair_of_rows
from tests.simulate import KERNEL, Grams, pair_of


@pytest.mark.parametrize("family", laws.FAMILIES)
def test_families_reach_the_value_they_are_put_at(family):
    assert laws.nammd_of(*laws.pair_at(family, 0.02)) == pytest.approx(0.02, abs=1e-10)


@pytest.mark.parametrize("family", laws.FAMILIES)
def test_the_distance_of_a_large_sample_is_the_population_value(family):
    p, q = laws.pair_at(family, 0.02)
    rng = np.random.default_rng(1)
    estimate = nammd.distance(p.sample(rng, 4000), q.sample(rng, 3000), kernel=KERNEL)
    assert abs(estimate.value - 0.02) < 3.5 * estimate.standard_error
    assert estimate.standard_error < 0.005


@cache
def sums_of_small_samples():
    """The sums of both kinds of cross pairs, which are read off the same."""
    p, q = laws.pair_at("contaminated", 0.1)
    rng = np.random.default_rng(2)
    return [Grams.of(p.sample(rng, 12), q.sample(rng, 12)).sums for _ in range(2000)]


@pytest.mark.parametrize("cross", ["full", "off-diagonal"])
def test_mmd2_is_unbiased_and_its_variance_estimate_too(cross):
    """The mean of V over samples is the variance of MMD2 over samples (a = 1)."""
    p, q = laws.pair_at("contaminated", 0.1)
    moments = [pair_of_rows(sums, cross).moments for sums in sums_of_small_samples()]
    values = np.array([m.mmd2 for m in moments])
    variances = np.array([m.variance(1.0) for m in moments])
    error = values.std() / np.sqrt(len(values))
    assert abs(values.mean() - laws.mmd2_of(p, q)) < 3.5 * error
    spread = np.sqrt(2 / len(values) + variances.var() / variances.mean() ** 2 / len(values))
    assert abs(variances.mean() / values.var() - 1) < 4 * spread


def test_unequal_sizes_have_the_right_standard_error():
    p, q = laws.pair_at("concentrated normal", 0.2)
    rng = np.random.default_rng(3)
    pairs = (pair_of(p.sample(rng, 40), q.sample(rng, 160)) for _ in range(1500))
    values, errors = np.array([(pair.value, pair.standard_error) for pair in pairs]).T
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(np.std(values), rel=0.06)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_float32_near_identical_data_is_accurate_far_from_the_origin(offset):
    rng = np.random.default_rng(4)
    # Steps of 1/8 are exact in float32 up to 2^21, so both versions hold the same numbers.
    x, y = np.round(rng.normal(size=(2, 1500, 16)) * 64) / 8
    y[:, 0] += 1.0
    kernel = nammd.Gaussian(32.0)
    exact = nammd.distance(x, y, kernel=kernel)
    single = nammd.distance((x + offset).astype(np.float32), (y + offset).astype(np.float32), kernel=kernel)
    assert abs(single.value - exact.value) < 1e-4 * exact.standard_error


@pytest.mark.parametrize(("m", "n"), [(12, 12), (40, 160)])
def test_simulated_sums_and_errors_are_those_of_the_engine(m, n):
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(m, 2)), rng.normal(0.5, size=(n, 2))
    estimate, pair, sums = nammd.distance(x, y, kernel=KERNEL), pair_of(x, y), Grams.of(x, y).sums
    assert (pair.value, pair.standard_error) == pytest.approx((estimate.value, estimate.standard_error))
    for field in ("xx_rows", "yy_rows", "xy_rows", "xy_cols", "xx_squares", "yy_squares", "xy_squares"):
        np.testing.assert_allclose(getattr(sums, field), getattr(estimate.sums, field), 1e-12, err_msg=field)
    assert sums.xy_diagonal == (None if m != n else pytest.approx(estimate.sums.xy_diagonal))


def test_nammd_approaches_one_for_two_distant_points_and_is_zero_for_equal_laws():
    far = nammd.distance(np.zeros(50), np.full(50, 100.0), kernel=KERNEL)
    assert far.value == pytest.approx(1.0)
    rng = np.random.default_rng(5)
    same = nammd.distance(rng.normal(size=2000), rng.normal(size=2000), kernel=KERNEL)
    assert abs(same.value) < 1e-3
