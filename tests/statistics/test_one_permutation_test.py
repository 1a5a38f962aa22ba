"""With equal sizes and all cross pairs the permutation tests with NAMMD and with MMD² are one test."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import rankdata

import nammd

KERNELS = [nammd.Gaussian(0.7), nammd.Laplace(0.5)]


def statistics(gram, m, *, off_diagonal=False):
    """Return MMD² and NAMMD for every relabelling of the rows of a pooled kernel matrix."""
    size = len(gram)
    n = size - m
    without = gram - np.diag(np.diag(gram))
    found = []
    for chosen in combinations(range(size), m):
        x, y = np.array(chosen), np.setdiff1d(np.arange(size), chosen)
        xx = without[np.ix_(x, x)].sum() / (m * (m - 1))
        yy = without[np.ix_(y, y)].sum() / (n * (n - 1))
        cross = gram[np.ix_(x, y)]
        xy = (cross.sum() - np.trace(cross)) / (m * (m - 1)) if off_diagonal else cross.mean()
        found.append((xx + yy - 2 * xy, (xx + yy - 2 * xy) / (4 - xx - yy), xx + yy))
    return np.array(found).T.round(12)


def pooled(kernel, rows, seed=0):
    values = np.random.default_rng(seed).normal(size=(rows, 2))
    return np.asarray(kernel(values, values))


@pytest.mark.parametrize("kernel", KERNELS, ids=["Gaussian", "Laplace"])
@pytest.mark.parametrize("seed", range(3))
def test_both_order_all_relabellings_by_the_means_within(kernel, seed):
    mmd2, own, within = statistics(pooled(kernel, 8, seed), 4)
    np.testing.assert_array_equal(rankdata(mmd2), rankdata(own))
    np.testing.assert_array_equal(rankdata(mmd2), rankdata(within))


def test_so_do_they_for_a_kernel_with_negative_values():
    angles = np.random.default_rng(0).uniform(0, 6, size=8)
    mmd2, own, within = statistics(np.cos(angles[:, None] - angles), 4)
    assert within.min() < 0
    np.testing.assert_array_equal(rankdata(mmd2), rankdata(own))


def test_both_are_the_functions_of_the_proof():
    gram, m = pooled(KERNELS[0], 8), 4
    mmd2, own, within = statistics(gram, m)
    total = gram.sum() - np.trace(gram)
    expected = (2 - 1 / m) * within - total / m**2
    np.testing.assert_allclose(mmd2, expected, atol=1e-9)
    np.testing.assert_allclose(own, expected / (4 - within), atol=1e-9)


def test_they_do_not_for_off_diagonal_pairs():
    mmd2, own, _ = statistics(pooled(KERNELS[0], 8), 4, off_diagonal=True)
    assert (rankdata(mmd2) != rankdata(own)).any()


def test_they_do_not_for_unequal_sizes():
    mmd2, own, _ = statistics(pooled(KERNELS[0], 8), 3)
    assert (rankdata(mmd2) != rankdata(own)).any()


@pytest.mark.parametrize("seed", range(5))
def test_the_tests_of_nammd_have_one_pvalue(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(25, 2)), rng.normal(0.3, 1.2, size=(25, 2))
    found = [
        nammd.two_sample_test(x, y, method=method, kernel=KERNELS[0], permutations=199, rng=seed).pvalue
        for method in ("nammd", "mmd")
    ]
    assert found[0] == found[1]
