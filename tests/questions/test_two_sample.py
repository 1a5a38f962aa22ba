"""The permutation test: the streamed product against re-indexing, level, power, reproducibility."""

import numpy as np
import pytest

import nammd
from nammd.statistics.permutations import random_signs
from tests.simulate import noise


def reindexed(x, y, kernel, signs, method):
    """Statistics of relabelled samples, computed from the relabelled samples themselves."""
    pooled = np.concatenate([x, y])
    name = "nammd" if method == "nammd" else "mmd2"
    return np.array(
        [nammd.distance(pooled[s > 0], pooled[s < 0], kernel=kernel, metric=name).value for s in signs.T]
    )


@pytest.mark.parametrize("method", ["nammd", "mmd"])
@pytest.mark.parametrize(("m", "n"), [(20, 20), (12, 31), (300, 270)])
def test_every_permutation_equals_the_statistic_of_the_relabelled_rows(m, n, method):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(m, 3)), rng.normal(0.3, 1.2, size=(n, 3))
    kernel = 2.0 * nammd.Gaussian(1.5)
    result = nammd.two_sample_test(x, y, method=method, kernel=kernel, permutations=25, rng=5)
    signs = random_signs(m, n, 26, np.random.default_rng(5))[:, 1:]
    np.testing.assert_allclose(result.null, reindexed(x, y, kernel, signs, method), rtol=1e-9, atol=1e-13)
    observed = nammd.distance(x, y, kernel=kernel, metric="nammd" if method == "nammd" else "mmd2")
    assert result.statistic == pytest.approx(observed.value, rel=1e-9)
    expected = (1 + np.sum(result.null >= result.statistic - 1e-12)) / 26
    assert result.pvalue == expected


def test_permutations_in_several_batches_equal_one_batch(monkeypatch):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(40, 2)), rng.normal(0.2, size=(30, 2))
    monkeypatch.setattr("nammd.statistics.permutations.SIGNS_AT_ONCE", 70 * 10)
    result = nammd.two_sample_test(x, y, permutations=99, rng=0)
    assert result.null.shape == (99,)
    generator = np.random.default_rng(0)
    signs = np.concatenate([random_signs(40, 30, 10, generator) for _ in range(10)], axis=1)
    expected = reindexed(x, y, result.kernel, signs[:, 1:], "nammd")
    np.testing.assert_allclose(result.null, expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nammd_and_mmd_are_the_same_test_for_equal_sizes(seed, dtype):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(60, 2)), rng.normal(0.25, size=(60, 2))
    x, y = x.astype(dtype), y.astype(dtype)
    pvalues = [nammd.two_sample_test(x, y, method=method, rng=seed).pvalue for method in ("nammd", "mmd")]
    assert pvalues[0] == pvalues[1]


def test_nammd_and_mmd_differ_for_unequal_sizes():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(25, 1)), rng.normal(0.1, 2.0, size=(60, 1))
    null = [nammd.two_sample_test(x, y, method=m, rng=0).null for m in ("nammd", "mmd")]
    assert np.any(np.argsort(null[0]) != np.argsort(null[1]))


@pytest.mark.parametrize(("m", "n"), [(30, 30), (10, 40)])
def test_level_is_exact_under_equal_distributions(m, n):
    rng = np.random.default_rng(4)
    runs = [
        nammd.two_sample_test(rng.exponential(size=m), rng.exponential(size=n), permutations=99, rng=rng)
        for _ in range(500)
    ]
    pvalues = np.array([r.pvalue for r in runs])
    for alpha in (0.05, 0.2, 0.5):
        assert abs(np.mean(pvalues <= alpha) - alpha) <= 3.3 * noise(alpha, 500)


def test_power_against_a_change_of_scale():
    rng = np.random.default_rng(5)
    runs = [
        nammd.two_sample_test(rng.normal(size=80), rng.normal(scale=2, size=60), rng=rng) for _ in range(60)
    ]
    assert np.mean([r.rejected for r in runs]) > 0.95


def test_the_same_generator_gives_the_same_result_and_others_differ():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(2, 50, 2))
    one, again, other = (nammd.two_sample_test(x, y, rng=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.null, again.null)
    assert np.any(one.null != other.null)


def test_the_smallest_pvalue_counts_the_data_itself():
    x, y = np.zeros((30, 1)), np.full((30, 1), 9.0) + np.arange(30)[:, None]
    assert nammd.two_sample_test(x, y, permutations=19, rng=0).pvalue == 1 / 20
    result = nammd.two_sample_test(x, y, permutations=19, rng=0)
    assert result.rejected == (result.statistic > result.threshold or result.pvalue <= result.alpha)


def test_ties_count_as_at_least_as_far():
    """With two and two rows there are three partitions; rounding must not split their ties."""
    x, y = np.array([0.1, 0.2]), np.array([5.3, 5.7])
    result = nammd.two_sample_test(x, y, kernel=nammd.Gaussian(1.0), permutations=3000, rng=0)
    assert result.pvalue == pytest.approx(1 / 3, abs=3 * noise(1 / 3, 3000))


@pytest.mark.parametrize(("m", "n"), [(3, 2), (5, 40), (250, 250), (700, 3)])
def test_random_signs_have_the_right_counts(m, n):
    signs = random_signs(m, n, 200, np.random.default_rng(0))
    assert set(np.unique(signs)) == {-1.0, 1.0}
    np.testing.assert_array_equal((signs > 0).sum(axis=0), m)


def test_random_signs_choose_every_subset_equally_often():
    count = 60_000
    signs = random_signs(2, 3, count, np.random.default_rng(1)) > 0
    codes = signs.T @ (1 << np.arange(5))
    _, frequency = np.unique(codes, return_counts=True)
    assert len(frequency) == 10
    chi2 = np.sum((frequency - count / 10) ** 2 / (count / 10))
    assert chi2 < 27.9  # the 0.999 quantile with nine degrees of freedom


def test_float32_permutations_agree_with_float64():
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(2, 700, 8))
    kernel = nammd.Gaussian(4.0)
    double = nammd.two_sample_test(x, y, kernel=kernel, rng=0)
    single = nammd.two_sample_test(x.astype("float32"), y.astype("float32"), kernel=kernel, rng=0)
    assert np.abs(single.null - double.null).max() < 1e-4 * double.null.std()
    assert single.pvalue == double.pvalue


@pytest.mark.parametrize(
    "engine",
    [nammd.Tiles(tile_columns=16), nammd.Tiles(tile_rows=1024, tile_columns=32), nammd.Tiles(tile_rows=7)],
)
def test_the_shape_of_tiles_does_not_matter(engine):
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(300, 2)), rng.normal(0.1, size=(280, 2))
    default = nammd.two_sample_test(x, y, permutations=50, rng=0)
    other = nammd.two_sample_test(x, y, permutations=50, rng=0, engine=engine)
    np.testing.assert_allclose(other.null, default.null, rtol=1e-9, atol=1e-13)
    assert other.statistic == pytest.approx(default.statistic, rel=1e-9)


def test_ties_are_ties_in_the_precision_of_the_tiles():
    rng = np.random.default_rng(9)
    x, y = rng.integers(0, 3, (2, 40, 1)).astype(float)
    for seed in range(10):
        double, single = (
            nammd.two_sample_test(x, y, rng=seed, engine=nammd.Tiles(dtype=dtype)).pvalue
            for dtype in ("float64", "float32")
        )
        assert double == single


def test_very_unequal_samples_are_relabelled_quickly_and_fairly():
    signs = random_signs(3, 5000, 400, np.random.default_rng(0))
    np.testing.assert_array_equal((signs > 0).sum(axis=0), 3)
    mirrored = random_signs(5000, 3, 400, np.random.default_rng(0))
    np.testing.assert_array_equal((mirrored < 0).sum(axis=0), 3)
    means = np.nonzero(signs > 0)[0].mean()
    assert abs(means - 2501) < 4 * 5003 / np.sqrt(12 * 1200)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.41, 0.45, 0.5])
def test_the_threshold_agrees_with_the_pvalue(alpha):
    rng = np.random.default_rng(10)
    for seed in range(20):
        x, y = rng.normal(size=(2, 15, 1))
        result = nammd.two_sample_test(x, y, permutations=99, rng=seed, alpha=alpha)
        assert result.rejected == (result.statistic > result.threshold)
