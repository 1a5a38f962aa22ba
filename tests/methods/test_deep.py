"""MMD-D: the published numbers, its level, its power on blob."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="deep kernels need torch")

import nammd  # noqa: E402
from nammd.datasets import blob  # noqa: E402
from nammd.kernels.deep import Deep  # noqa: E402
from nammd.methods.deep import MMDDeep, criterion, mmd2_and_variance  # noqa: E402

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "deep_kernel_mmd.json").read_text())
ALPHA, REPETITIONS = 0.1, 80


def deep_gram(x, y, features_x, features_y, *, epsilon, s, s0):
    """The matrix of kernel values for features that are given."""
    similar = nammd.Gaussian(math.sqrt(s0 / 2))(features_x, features_y)
    return ((1 - epsilon) * similar + epsilon) * nammd.Gaussian(math.sqrt(s / 2))(x, y)


def grams(case):
    x, y, fx, fy = (np.array(GOLDEN["samples"][case["sample"]][name]) for name in ("X", "Y", "FX", "FY"))
    numbers = {name: case[name] for name in ("epsilon", "s", "s0")}
    pairs = ((x, x, fx, fx), (y, y, fy, fy), (x, y, fx, fy))
    return [deep_gram(*pair, **numbers) for pair in pairs]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda c: f"{c['sample']}-{c['epsilon']:g}")
@pytest.mark.parametrize("convert", [np.asarray, torch.asarray], ids=["numpy", "torch"])
def test_published_values_are_reproduced(case, convert):
    mmd2, variance = mmd2_and_variance(*map(convert, grams(case)))
    assert float(mmd2) == pytest.approx(case["mmd2"], rel=1e-10)
    assert float(variance) == pytest.approx(case["variance"], rel=1e-9)
    assert float(criterion(mmd2, variance)) == pytest.approx(case["criterion"], rel=1e-9)


def test_the_kernel_of_the_package_is_the_published_one():
    case = GOLDEN["cases"][1]
    x, y = (np.array(GOLDEN["samples"][case["sample"]][name]) for name in ("X", "Y"))
    kernel = Deep(torch.nn.Identity(), math.sqrt(case["s"] / 2), math.sqrt(case["s0"] / 2), case["epsilon"])
    numbers = {name: case[name] for name in ("epsilon", "s", "s0")}
    np.testing.assert_allclose(kernel(x, y), deep_gram(x, y, x, y, **numbers), rtol=1e-12)


def test_level_is_held_where_the_distributions_are_equal():
    method = MMDDeep(hidden=5, epochs=3, lr=0.01, permutations=39)
    rejected = []
    for seed in range(REPETITIONS):
        rng = np.random.default_rng([2, seed])
        x, y = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
        rejected.append(nammd.two_sample_test(x, y, method=method, alpha=ALPHA, rng=rng).rejected)
    assert np.mean(rejected) <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / REPETITIONS)


def test_result_says_what_was_done():
    x, y = np.random.default_rng(0).normal(size=(2, 30, 2)) + np.array([0.0, 1.5])[:, None, None]
    method = MMDDeep(epochs=5, permutations=99)
    first, again = (nammd.two_sample_test(x, y[:21], method=method, rng=3) for _ in range(2))
    assert first == again
    assert (first.method, first.m, first.n, first.permutations) == ("mmd-deep", 30, 21, 99)
    assert isinstance(first.kernel, Deep)
    assert first.details["training_rows"] == [15, 11]
    assert first.details["tested_rows"] == [15, 10]
    assert first.details["epochs"] == 5
    assert "mmd-deep" in str(first)
    tensors = nammd.two_sample_test(*map(torch.asarray, (x, y[:21])), method=method, rng=3)
    assert tensors.pvalue == first.pvalue


def test_settings_of_the_paper_can_be_given():
    x, y = np.random.default_rng(0).normal(size=(2, 40, 10))
    method = MMDDeep(hidden=30, lr=5e-5, s=20.0, s0=0.1, epochs=2, batch=10, permutations=19)
    kernel = nammd.two_sample_test(x, y, method=method, rng=0).kernel
    assert kernel.bandwidth == pytest.approx(math.sqrt(10), rel=1e-2)
    assert kernel.feature_bandwidth == pytest.approx(math.sqrt(0.05), rel=1e-2)


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="x has 3 rows; the method 'mmd-deep' needs at least 4"):
        nammd.two_sample_test(np.zeros((3, 1)), np.zeros((5, 1)), method=MMDDeep())


def test_power_on_the_published_blob():
    """Four hundred rows to train on and four hundred to test on; more epochs than ten add next to nothing."""
    method = MMDDeep(epochs=10)
    results = [nammd.two_sample_test(*blob(800, rng=seed), method=method, rng=seed) for seed in range(5)]
    assert np.mean([result.rejected for result in results]) > 0.9
    assert all(result.details["criterion"][1] > result.details["criterion"][0] for result in results)


def test_the_variance_is_never_negative_by_rounding():
    # Equal row means, whose squares do not cancel to the last digit.
    m = 7
    for share in np.linspace(0.1, 1.9, 50, dtype=np.float32):
        gram = torch.full((m, m), float(share), dtype=torch.float32)
        _, variance = mmd2_and_variance(gram, gram, torch.zeros_like(gram))
        assert 0 <= float(variance) < 1e-10
