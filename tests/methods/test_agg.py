"""MMDAgg: the published implementation's values, its level and its power."""

import json
from pathlib import Path

import numpy as np
import pytest

import nammd
from nammd.data.arrays import pooled_sample
from nammd.methods import agg as mmd_agg
from nammd.methods.agg import MMDAgg
from nammd.statistics.permutations import random_signs
from tests.simulate import noise

CASES = json.loads((Path(__file__).parents[1] / "golden" / "mmdagg.json").read_text())["cases"]
QUICK = MMDAgg(permutations=300, level_permutations=300)
REPETITIONS = 120
HIGHEST = 0.05 + 3 * noise(0.05, REPETITIONS)


def blob(n, rng, correlated=False):
    """Nine spots on a grid; with `correlated`, each is stretched along a diagonal."""
    cell = rng.integers(9, size=n)
    covariance = np.array([-0.02, -0.022, -0.024, -0.026, 0, 0.02, 0.022, 0.024, 0.026])[cell] * correlated
    deviates, deviation = rng.normal(size=(2, n)), np.sqrt(0.03)
    slope = covariance / deviation
    first = deviation * deviates[0]
    second = slope * deviates[0] + np.sqrt(0.03 - slope**2) * deviates[1]
    return np.stack([cell // 3 + first, cell % 3 + second], axis=1)


def published_signs(case):
    """The signs of the published code: the data's column first, then B1, then B2 columns."""
    m, n, b1 = len(case["X"]), len(case["Y"]), case["B1"]
    count, legacy = b1 + case["B2"] + 1, np.random.RandomState(case["seed"])
    if case["approx_type"] == "wild bootstrap":
        signs = legacy.choice([-1, 1], size=(count, n))
        signs[b1] = 1
    else:
        order = legacy.rand(count, m + n).argsort(axis=1)
        order[b1] = np.arange(m + n)
        signs = np.repeat([1, -1], [m, n])[order]
    return np.concatenate([signs[b1 : b1 + 1], signs[:b1], signs[b1 + 1 :]]).T.astype(np.int8)


def wild_statistics(x, y, kernels, signs, engine):
    """MMD² without the pairs (x_i, y_i), for every kernel and column of signs."""
    sums = engine.paired_forms(kernels, x, y, signs)
    return mmd_agg.wild_means(sums, len(x), engine.precision_for(x, y))


def permuted_statistics(x, y, kernels, signs, engine):
    """The unbiased MMD² for every kernel and column of signs, +1 for rows that count as those of x."""
    sums = engine.family_forms(kernels, pooled_sample(x, y), signs)
    return mmd_agg.permuted_means(sums, signs, (len(x), len(y)), engine.precision_for(x, y))


def statistics_of(case):
    x, y = np.array(case["X"]), np.array(case["Y"])
    wild = case["approx_type"] == "wild bootstrap"
    collection = {"laplace": np.array(case["bandwidths_l1"]), "gaussian": np.array(case["bandwidths_l2"])}
    compute = wild_statistics if wild else permuted_statistics
    # The published wild bootstrap sums over pairs; here it is their mean.
    statistics = compute(x, y, mmd_agg.kernels_of(collection), published_signs(case), nammd.Tiles())
    return statistics, len(x) * (len(x) - 1) if wild else 1


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_bandwidths_are_the_published_ones(case):
    collection = mmd_agg.bandwidth_collection(np.array(case["X"]), np.array(case["Y"]), 10)
    np.testing.assert_allclose(collection["laplace"], case["bandwidths_l1"], rtol=1e-13)
    np.testing.assert_allclose(collection["gaussian"], case["bandwidths_l2"], rtol=1e-13)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_statistics_are_the_published_ones(case):
    statistics, scale = statistics_of(case)
    np.testing.assert_allclose(scale * statistics[:, 0], case["mmd_vals"], rtol=1e-10, atol=1e-13 * scale)
    resampled = case["M_first3_replicates_per_row"]
    np.testing.assert_allclose(scale * statistics[:, 1:4], resampled, rtol=1e-10, atol=1e-13 * scale)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_decisions_are_the_published_ones(case):
    statistics, scale = statistics_of(case)
    split, weights = 1 + case["B1"], np.full(20, case["weights"][0])
    settings = statistics[:, :split], statistics[:, split:], weights, case["alpha"], case["B3"]
    exact = mmd_agg.aggregate_tests(*settings, tie=0.0)  # the published code knows no ties
    assert exact.u == case["u"]
    np.testing.assert_allclose(scale * exact.thresholds, case["quantiles"], rtol=1e-10, atol=1e-13 * scale)
    np.testing.assert_array_equal(exact.pvalues, case["p_vals"])
    np.testing.assert_array_equal(exact.levels, case["thresholds"])
    assert exact.rejected == bool(case["output"])
    tied = mmd_agg.aggregate_tests(*settings)
    assert (tied.u, tied.rejected) == (exact.u, exact.rejected)
    assert (tied.pvalues >= exact.pvalues).all()


def test_wild_bootstrap_statistics_are_their_definition():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    kernels = mmd_agg.kernels_of(mmd_agg.bandwidth_collection(x, y, 3))
    signs = rng.choice([-1, 1], (30, 9)).astype(np.int8)
    actual = wild_statistics(x, y, kernels, signs, nammd.Tiles(threads=2))
    for kernel, statistics in zip(kernels, actual, strict=True):
        h = kernel(x, x) + kernel(y, y) - kernel(x, y) - kernel(y, x)
        np.fill_diagonal(h, 0.0)
        expected = np.einsum("ib,ij,jb->b", signs, h, signs) / (30 * 29)
        np.testing.assert_allclose(statistics, expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("method", [QUICK])
def test_float32_and_tensors_give_the_decision_of_float64(method):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(60, 2)), rng.normal(0.6, size=(60, 2))
    results = [
        nammd.two_sample_test(a, b, method=method, rng=1)
        for a, b in ((x, y), (x.astype("float32"), y.astype("float32")), (torch.asarray(x), torch.asarray(y)))
    ]
    assert len({r.pvalue for r in results}) == 1
    for other in results[1:]:
        assert other.statistic == pytest.approx(results[0].statistic, rel=1e-4)
    assert results[2].engine == "Tiles() on torch, cpu"


def test_permuted_statistics_are_those_of_the_relabelled_rows():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(12, 2)), rng.normal(1.0, size=(19, 2))
    signs = random_signs(12, 19, 5, rng).astype(np.int8)
    pooled, kernel = np.concatenate([x, y]), nammd.Gaussian(1.3 / np.sqrt(2))
    [actual] = permuted_statistics(x, y, [kernel], signs, nammd.Tiles())
    expected = [
        nammd.distance(pooled[s > 0], pooled[s < 0], kernel=kernel, metric="mmd2").value for s in signs.T
    ]
    np.testing.assert_allclose(actual, expected, rtol=1e-10)


@pytest.mark.parametrize(("m", "n"), [(20, 20), (15, 25)])
def test_the_level_is_held_and_needs_the_aggregation(m, n):
    rng = np.random.default_rng(2)
    # Sorted rows: the order of the rows must not matter.
    runs = [
        nammd.two_sample_test(
            np.sort(rng.normal(size=(m, 1)), axis=0), np.sort(rng.normal(size=(n, 1)), axis=0),
            method=QUICK, rng=rng,
        )
        for _ in range(REPETITIONS)
    ]  # fmt: skip
    assert np.mean([run.rejected for run in runs]) <= HIGHEST
    assert np.mean([min(run.details["pvalues"]) <= 0.05 for run in runs]) > HIGHEST


def test_power_on_blob():
    rng = np.random.default_rng(3)
    runs = [
        nammd.two_sample_test(blob(450, rng), blob(450, rng, correlated=True), method=QUICK, rng=rng)
        for _ in range(6)
    ]
    assert np.mean([run.rejected for run in runs]) > 0.9


@pytest.mark.parametrize("n", [40, 60])
def test_the_result_tells_one_story(n):
    rng = np.random.default_rng(4)
    for shift in (0.0, 0.5, 2.0):
        x, y = rng.normal(size=(40, 3)), rng.normal(shift, size=(n, 3))
        result = nammd.two_sample_test(x, y, method=QUICK, rng=7)
        details = result.details
        assert result.rejected == (result.pvalue <= 0.05) == (result.statistic > result.threshold)
        assert result.rejected == bool(np.any(np.array(details["pvalues"]) <= details["levels"]))
        assert result.method == "mmd-agg"
        assert (result.m, result.n) == (40, n)
        assert result.null.shape == (300,)
        assert details["resampling"] == ("wild bootstrap" if n == 40 else "permutations")
        assert len(details["bandwidths"]) == len(details["kernels"]) == 20
        assert details["statistics"][details["best"]] == result.statistic
        assert result.to_dict()["details"]["u"] == details["u"]
    assert result.rejected


def test_the_same_generator_gives_the_same_result():
    x, y = np.random.default_rng(5).normal(size=(2, 30, 2))
    one, two, other = (nammd.two_sample_test(x, y, method=QUICK, rng=seed) for seed in (0, 0, 1))
    assert one == two
    assert one.details == two.details
    np.testing.assert_array_equal(one.null, two.null)
    assert not np.array_equal(one.null, other.null)


@pytest.mark.parametrize("n", [12, 15])
def test_constant_data_is_not_told_apart(n):
    result = nammd.two_sample_test(np.ones((12, 2)), np.ones((n, 2)), method=QUICK, rng=0)
    assert not result.rejected
    assert result.pvalue == 1.0


def test_too_few_resamples_for_the_level_never_reject():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(30, 1)), rng.normal(9.0, size=(30, 1))
    few = MMDAgg(permutations=9, level_permutations=200)
    result = nammd.two_sample_test(x, y, method=few, alpha=0.001, rng=0)
    assert not result.rejected
    assert result.pvalue > 0.001


@pytest.mark.parametrize("field", ["bandwidths", "permutations", "level_permutations", "bisections"])
def test_settings_are_checked(field):
    with pytest.raises(ValueError, match=f"{field} must be a whole number of at least"):
        MMDAgg(**{field: 0})
    with pytest.raises(TypeError, match=f"{field} must be a whole number"):
        MMDAgg(**{field: 2.5})
