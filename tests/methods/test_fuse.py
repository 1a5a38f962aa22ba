"""Fused tests: the published numbers, the streamed sums, level and power."""

import json
from pathlib import Path

import numpy as np
import pytest

import nammd
from nammd.methods.bandwidths import fuse_bandwidths
from nammd.methods.fuse import MMDFuse, NAMMDFuse, fuse_kernels, soft_maximum
from nammd.statistics.permutations import random_signs
from tests.simulate import noise

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "mmdfuse.json").read_text())["cases"]
EVERY_GOLDEN = pytest.mark.parametrize("case", GOLDEN, ids=lambda c: c["name"])


def published(case):
    x, y = np.array(case["X"]), np.array(case["Y"])
    pooled = np.concatenate([x, y])
    return pooled, len(x), np.array(case["signs"], dtype=float).T


@EVERY_GOLDEN
def test_bandwidths_are_the_published_ones(case):
    pooled, _, _ = published(case)
    np.testing.assert_allclose(fuse_bandwidths(pooled, "cityblock", 10), case["bandwidths_l1"])
    np.testing.assert_allclose(fuse_bandwidths(pooled, "euclidean", 10), case["bandwidths_l2"])


@EVERY_GOLDEN
def test_scores_and_fused_statistics_are_the_published_ones(case):
    pooled, m, signs = published(case)
    scores = MMDFuse().scores(pooled, fuse_kernels(pooled, 10), signs, m, nammd.Tiles())
    np.testing.assert_allclose(scores, case["M_all"], rtol=1e-7, atol=1e-8)
    fused = soft_maximum(scores)
    np.testing.assert_allclose(fused, case["statistics"], rtol=1e-7)
    assert fused[-1] == pytest.approx(case["original_statistic"])
    assert np.mean(fused >= fused[-1]) == pytest.approx(case["p_value"], abs=1e-6)


@pytest.mark.parametrize(("m", "n"), [(15, 15), (9, 22)])
def test_nammd_scores_recompute_the_denominator_for_every_relabelling(m, n):
    rng = np.random.default_rng(0)
    pooled = rng.normal(size=(m + n, 3))
    signs = random_signs(m, n, 12, rng)
    kernels = fuse_kernels(pooled, 3)
    scores = NAMMDFuse().scores(pooled, kernels, signs, m, nammd.Tiles())
    smaller = min(m, n)
    for kernel, row in zip(kernels, scores, strict=True):
        gram = kernel(pooled, pooled)
        np.fill_diagonal(gram, 0)
        scale = (smaller * (smaller - 1)) ** 1.5 / np.sqrt((gram**2).sum())
        for sign, score in zip(signs.T, row, strict=True):
            value = nammd.distance(pooled[sign > 0], pooled[sign < 0], kernel=kernel).value
            assert score == pytest.approx(scale * value, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [5, 130, 300])
def test_family_sums_equal_those_of_each_kernel(size, dtype):
    rng = np.random.default_rng(size)
    z = rng.normal(size=(size, 4)).astype(dtype)
    kernels = [nammd.Gaussian(0.7), nammd.Laplace(2.0), nammd.Gaussian(3.0), nammd.Laplace(0.5)]
    vectors = random_signs(size - 2, 2, 7, rng)
    together = nammd.Tiles(threads=2).family_forms(kernels, z, vectors)
    tolerance = {"rtol": 1e-9, "atol": 1e-9} if dtype == "float64" else {"rtol": 2e-5, "atol": 2e-2}
    for k, kernel in enumerate(kernels):
        gram = kernel(z.astype(float), z.astype(float))
        np.fill_diagonal(gram, 0)
        forms = np.einsum("ib,ij,jb->b", vectors, gram, vectors)
        np.testing.assert_allclose(together.forms[k], forms, **tolerance)
        np.testing.assert_allclose(together.rows[k], gram.sum(1), rtol=1e-4)
        np.testing.assert_allclose(together.squares[k], (gram**2).sum(), rtol=1e-4)


def test_arrays_of_other_libraries_and_engines_of_ones_own_give_the_same():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30, 2)), rng.normal(0.5, size=(25, 2))
    method = NAMMDFuse(bandwidths=2, permutations=50)
    ours = nammd.two_sample_test(x, y, method=method, rng=0)
    theirs = nammd.two_sample_test(torch.tensor(x), torch.tensor(y), method=method, rng=0)
    np.testing.assert_allclose(theirs.null, ours.null, rtol=1e-7)

    class Plain:
        def __init__(self):
            inner = nammd.Tiles()
            self.sums, self.quadratic_forms = inner.sums, inner.quadratic_forms

    plain = nammd.two_sample_test(x, y, method=method, rng=0, engine=Plain())
    np.testing.assert_allclose(plain.null, ours.null, rtol=1e-9)


@pytest.mark.parametrize(("method", "m", "n"), [("nammd-fuse", 15, 40), ("mmd-fuse", 25, 25)])
def test_level_under_equal_distributions(method, m, n):
    rng = np.random.default_rng(2)
    pvalues = [
        nammd.two_sample_test(
            rng.normal(size=(m, 2)), rng.normal(size=(n, 2)), method=method, permutations=99, rng=rng
        ).pvalue
        for _ in range(200)
    ]
    for alpha in (0.05, 0.2):
        assert abs(np.mean(np.array(pvalues) <= alpha) - alpha) <= 3.3 * noise(alpha, 200)


def blob(rng, n, alternative):
    """Nine clusters on a grid; under the alternative their correlations differ."""
    cells = rng.integers(0, 9, n)
    correlation = np.where(
        cells < 4, -0.02 - 0.002 * cells, np.where(cells > 4, 0.02 + 0.002 * (cells - 5), 0)
    )
    a, b = rng.standard_normal((2, n)) * np.sqrt(0.03)
    slope = (correlation if alternative else 0.0) / 0.03
    y = slope * a + np.sqrt(1 - slope**2) * b
    return np.column_stack([cells % 3 + a, cells // 3 + y])


@pytest.mark.parametrize("method", ["nammd-fuse", "mmd-fuse"])
def test_power_on_blob(method):
    rng = np.random.default_rng(3)
    rejected = [
        nammd.two_sample_test(
            blob(rng, 400, False), blob(rng, 400, True), method=method, permutations=200, rng=rng
        ).rejected
        for _ in range(11)
    ]
    assert np.mean(rejected) > 0.9


def test_results_are_reproducible_and_say_which_method():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 40, 2))
    one, again = (nammd.two_sample_test(x, y, method="nammd-fuse", rng=7) for _ in range(2))
    np.testing.assert_array_equal(one.null, again.null)
    assert one.method == "nammd-fuse"
    assert one.permutations == 2000
    assert len(one.details["kernels"]) == len(one.details["scores"]) == 20
    assert "nammd-fuse" in str(one)
    assert one.to_dict()["details"]["scores"] == one.details["scores"]


def test_settings_are_checked():
    x = np.random.default_rng(5).normal(size=(10, 2))
    with pytest.raises(ValueError, match="bandwidths must be"):
        NAMMDFuse(bandwidths=0)
    with pytest.raises(TypeError, match="'mmd-fuse' takes no kernel"):
        nammd.two_sample_test(x, x + 1, method="mmd-fuse", kernel=nammd.Gaussian(1.0))
    with pytest.raises(ValueError, match="the data is constant"):
        nammd.two_sample_test(np.ones((5, 1)), np.ones((5, 1)), method="nammd-fuse")
    few = nammd.two_sample_test(x, x + 1, method="nammd-fuse", permutations=19, rng=0)
    assert few.permutations == 19
