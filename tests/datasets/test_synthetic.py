"""The moments of the benchmark laws are those of their definitions."""

import numpy as np
import pytest

from nammd.datasets import blob, hdgm

N = 90_000
DRAWS = {"blob": blob, "hdgm": hdgm}


def cell_covariances(sample):
    cells = np.rint(sample).clip(0, 2)
    inside = sample - cells
    index = (3 * cells[:, 0] + cells[:, 1]).astype(int)
    return [np.cov(inside[index == i].T) for i in range(9)], np.bincount(index) / len(sample)


def test_blob_has_the_stated_covariance_in_every_cell():
    x, y = blob(N, rng=0)
    expected = [-0.020, -0.022, -0.024, -0.026, 0.0, 0.020, 0.022, 0.024, 0.026]
    for sample, off_diagonals in ((x, [0.0] * 9), (y, expected)):
        covariances, weights = cell_covariances(sample)
        np.testing.assert_allclose(weights, 1 / 9, atol=0.006)
        for covariance, off_diagonal in zip(covariances, off_diagonals, strict=True):
            # cells touch at almost three standard deviations, which cuts the variance a little
            np.testing.assert_allclose(np.diag(covariance), 0.03, atol=0.0025)
            assert covariance[0, 1] == pytest.approx(off_diagonal, abs=0.0025)


def test_blob_samples_have_the_same_margins():
    x, y = blob(N, rng=1)
    for sample in (x, y):
        np.testing.assert_allclose(sample.mean(axis=0), 1.0, atol=0.015)
        np.testing.assert_allclose(sample.var(axis=0), 2 / 3 + 0.03, atol=0.015)


@pytest.mark.parametrize("dimension", [2, 10])
def test_hdgm_has_the_stated_means_and_correlations(dimension):
    n = 40_001
    x, y = hdgm(n, dimension=dimension, rng=0)
    assert x.shape == y.shape == (n, dimension)
    for sample, correlation in ((x, 0.0), (y, 0.5)):
        np.testing.assert_allclose(sample.mean(axis=0), 0.25, atol=0.03)
        centred = sample - 0.25
        covariance = np.cov(centred.T)
        np.testing.assert_allclose(np.diag(covariance), 1 + 0.25**2, atol=0.04)
        np.testing.assert_allclose(covariance[0, 1], 0.25**2, atol=0.03)
        # The correlations of the clusters cancel in the covariance, but not in a third moment: with
        # offsets c = -+1/4 and correlations r = +-correlation, E[a b sum] is the mean of
        # 2 (c^3 + c + 2 c r) + (d - 2) (c^2 + r) c over the clusters.
        third = np.mean(centred[:, 0] * centred[:, 1] * centred.sum(axis=1))
        assert third == pytest.approx(-correlation * 0.25 * (dimension + 2), abs=0.12)


def test_hdgm_rows_are_in_random_order():
    x, _ = hdgm(4000, dimension=50, rng=0)
    near_second = x.mean(axis=1) > 0.25
    assert abs(near_second[:2000].mean() - 0.5) < 0.05


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_is_reproducible_and_the_samples_are_independent(name):
    first, again = DRAWS[name](50, rng=3), DRAWS[name](50, rng=3)
    np.testing.assert_array_equal(first, again)
    x, y = DRAWS[name](50, alternative=False, rng=3)
    assert not np.isclose(x, y).any()


def test_without_the_alternative_the_second_sample_is_uncorrelated_too():
    _, y = blob(N, alternative=False, rng=0)
    for covariance in cell_covariances(y)[0]:
        assert covariance[0, 1] == pytest.approx(0.0, abs=0.0025)
    _, y = hdgm(40_000, alternative=False, rng=0)
    centred = y - 0.25
    assert np.mean(centred[:, 0] * centred[:, 1] * centred.sum(axis=1)) == pytest.approx(0.0, abs=0.12)


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (2.5, TypeError), (True, TypeError)])
def test_the_number_of_rows_must_be_a_positive_whole_number(n, error):
    with pytest.raises(error, match="n must be"):
        blob(n)


def test_hdgm_needs_two_columns():
    with pytest.raises(ValueError, match="dimension must be a whole number of at least 2"):
        hdgm(10, dimension=1)
