"""Every moment against its definition: an average over tuples of distinct indices."""

from itertools import permutations, product

import numpy as np
import pytest

import nammd
from nammd.statistics.atom_pair import pair_of_rows
from nammd.statistics.grams import unit_eigenvalue
from nammd.statistics.side import top_eigenvalue

KERNELS = [nammd.Gaussian(1.3), nammd.Laplace(2.0), 2.5 * nammd.Gaussian(0.7)]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def definitions(kxx, kxy):
    """The x components by enumeration; transpose to get the y components."""
    m, n = kxy.shape
    rows, cols = range(m), range(n)
    xx2 = mean(kxx[i, j] * kxx[k, h] for i, j, k, h in permutations(rows, 4))
    xy2 = mean(
        kxy[i, a] * kxy[j, b] for (i, j), (a, b) in product(permutations(rows, 2), permutations(cols, 2))
    )
    wx = mean(kxx[i, j] * kxy[i, a] for (i, j), a in product(permutations(rows, 2), cols))
    product_of_means = mean(kxx[i, j] * kxy[k, a] for (i, j, k), a in product(permutations(rows, 3), cols))
    return {
        "mean": mean(kxx[i, j] for i, j in permutations(rows, 2)),
        "v1": mean(kxx[i, j] * kxx[i, k] for i, j, k in permutations(rows, 3)) - xx2,
        "v2": mean(kxx[i, j] ** 2 for i, j in permutations(rows, 2)) - xx2,
        "c": mean(kxy[i, a] * kxy[i, b] for i, (a, b) in product(rows, permutations(cols, 2))) - xy2,
        "w": wx - product_of_means,
    }, mean(k**2 for k in kxy.ravel()) - xy2


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(("m", "n"), [(4, 4), (4, 7), (6, 5)])
def test_moments_are_averages_over_distinct_indices(kernel, m, n):
    rng = np.random.default_rng(m * 10 + n)
    x, y = rng.normal(size=(m, 2)), rng.normal(0.5, 1.4, size=(n, 2))
    moments = pair_of_rows(nammd.kernel_sums(x, y, kernel)).moments
    kxx, kyy, kxy = kernel(x, x), kernel(y, y), kernel(x, y)
    for side, within, cross in ((moments.x, kxx, kxy), (moments.y, kyy, kxy.T)):
        expected, dxy = definitions(within, cross)
        for name, value in expected.items():
            assert getattr(side, name) == pytest.approx(value, rel=1e-10, abs=1e-13), name
        assert moments.dxy == pytest.approx(dxy, rel=1e-10, abs=1e-13)
    assert moments.xy == pytest.approx(kxy.mean(), rel=1e-12)
    if m == n:
        off = pair_of_rows(nammd.kernel_sums(x, y, kernel), "off-diagonal").moments
        assert off.xy == pytest.approx(mean(kxy[i, j] for i, j in permutations(range(m), 2)))


def h_minus(eps, kxx, kyy, kxy, bound, i, j):
    h = kxx[i, j] + kyy[i, j] - kxy[i, j] - kxy[j, i]
    return h - eps * (4 * bound - kxx[i, j] - kyy[i, j])


@pytest.mark.parametrize("eps", [0.0, 0.3])
def test_off_diagonal_statistic_is_the_papers_double_sum(eps):
    kernel = nammd.Gaussian(1.0)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 2)), rng.normal(1.0, size=(6, 2))
    kxx, kyy, kxy = kernel(x, x), kernel(y, y), kernel(x, y)
    estimate = nammd.paper.distance(x, y, kernel=kernel, cross="off-diagonal")
    u = estimate.pair.moments.mmd2 - eps * estimate.pair.moments.denominator
    expected = mean(h_minus(eps, kxx, kyy, kxy, 1.0, i, j) for i, j in permutations(range(6), 2))
    assert u == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("a", [1.0, 1.4])
def test_skewness_terms_are_their_definitions(a):
    kernel = nammd.Laplace(1.5)
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(9, 2)), rng.normal(0.4, size=(7, 2))
    m, n = len(x), len(y)
    kxx, kyy, kxy = kernel(x, x), kernel(y, y), kernel(x, y)
    np.fill_diagonal(kxx, 0)
    np.fill_diagonal(kyy, 0)
    gx = a * kxx.sum(1) / (m - 1) - kxy.mean(1)
    gy = a * kyy.sum(1) / (n - 1) - kxy.mean(0)
    gx, gy = gx - gx.mean(), gy - gy.mean()
    cubic = 8 * (np.mean(gx**3) / m**2 + np.mean(gy**3) / n**2)
    quadratic = 8 * (
        a * gx @ kxx @ gx / (m * (m - 1)) / m**2
        + a * gy @ kyy @ gy / (n * (n - 1)) / n**2
        - 2 * gx @ kxy @ gy / (m * n) / (m * n)
    )
    pair = nammd.distance(x, y, kernel=kernel).pair
    np.testing.assert_allclose(pair.cubic_and_quadratic(a - 1, "greater"), [cubic, quadratic], rtol=1e-10)


def test_second_order_terms_of_large_samples_hardly_depend_on_the_rows_chosen(monkeypatch):
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2100, 3)), rng.exponential(size=(2100, 3))
    kernel = nammd.Gaussian(1.5)
    chosen = nammd.closeness_test(x, y, 0.05, kernel=kernel, alternative="greater")
    monkeypatch.setattr("nammd.spaces.sample.representatives", np.arange)
    everything = nammd.closeness_test(x, y, 0.05, kernel=kernel, alternative="greater")
    assert chosen.estimate.second_order_rows == (1024, 1024)
    assert everything.estimate.second_order_rows == (2100, 2100)
    step = abs(everything.threshold - chosen.threshold) / chosen.standard_error
    assert 0 < step < 0.02


@pytest.mark.parametrize("size", [5, 64, 65, 150])
def test_largest_eigenvalue_matches_a_full_decomposition(size):
    rng = np.random.default_rng(size)
    gram = nammd.Gaussian(1.0)(x := rng.normal(size=(size, 2)), x)
    centring = np.eye(size) - 1 / size
    exact = np.linalg.eigvalsh(centring @ gram @ centring)[-1] / size
    assert unit_eigenvalue(gram, np.ones(size), np.ones(size)) == pytest.approx(exact, rel=1e-12)
    # Units of several sizes, some of which stand for several others: as if these were all there.
    sizes, repeats = rng.integers(1, 4, size).astype(float), rng.integers(1, 4, size)
    every, joint = np.repeat(sizes, repeats), np.repeat(np.repeat(gram, repeats, 0), repeats, 1)
    off = np.eye(len(every)) - np.outer(every, np.ones(len(every))) / every.sum()
    exact = np.linalg.eigvalsh(off @ joint @ off.T)[-1] / (every @ every)
    found = unit_eigenvalue(gram, sizes, every, repeats.astype(float))
    assert found == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("apart", [0.0, 1e-10, 1e-7, 1e-5, 1e-3])
def test_two_largest_eigenvalues_may_be_next_to_each_other(apart):
    rng = np.random.default_rng(1)
    axes = np.linalg.qr(rng.normal(size=(200, 200)))[0]
    matrix = (axes * np.concatenate([[1.0, 1.0 - apart], np.linspace(0, 0.9, 198)])) @ axes.T
    assert top_eigenvalue(matrix, 200.0) == pytest.approx(1.0, rel=1e-8)


def test_a_start_that_ends_at_once_is_enough():
    assert top_eigenvalue(np.eye(100), 100.0) == pytest.approx(1.0)


def test_constant_data_has_no_eigenvalue():
    assert unit_eigenvalue(np.ones((100, 100)), np.ones(100), np.ones(100)) == pytest.approx(0, abs=1e-12)


def test_data_with_a_period_do_not_fool_the_second_order_terms():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(4000, 1))
    x[::2] = 0.0
    y = rng.permutation(x)
    kernel = nammd.Gaussian(1.0)
    eigenvalues = nammd.distance(x, y, kernel=kernel).pair.eigenvalues
    assert eigenvalues[0] == pytest.approx(eigenvalues[1], rel=0.15)


def test_changing_the_data_later_does_not_change_an_interval():
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(100, 2)), rng.normal(0.5, size=(100, 2))
    untouched = nammd.distance(x.copy(), y.copy(), kernel=nammd.Gaussian(1.0))
    estimate = nammd.distance(x, y, kernel=nammd.Gaussian(1.0))
    x *= 0.0
    assert estimate.confidence_interval() == untouched.confidence_interval()
