"""The constructed pairs are at the distance that was asked for."""

import sys

import numpy as np
import pytest
import torch

import nammd
from nammd.datasets import blob, pair_with_nammd

POINTS = blob(40, rng=0)[0]
KERNELS = [nammd.Gaussian(0.5), nammd.Laplace(1.0), nammd.Gaussian(0.4) + nammd.Laplace(2.0)]


@pytest.fixture(autouse=True)
def _one_thread():
    """Tensors this small only lose by threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def exact_parts(x, y, kernel):
    """The norms and the cross term of uniform distributions, from the sums that the library uses."""
    sums = nammd.kernel_sums(x, y, kernel)
    m, n = len(x), len(y)
    return (
        (sums.xx_rows.sum() + m * kernel.bound) / m**2,  # the sums leave out pairs of a row with itself
        (sums.yy_rows.sum() + n * kernel.bound) / n**2,
        sums.xy_rows.sum() / (m * n),
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("target", [0.002, 0.02, 0.08])
def test_the_distance_is_the_target(kernel, target):
    pair = pair_with_nammd(POINTS, target, kernel, rng=0)
    x_norm, y_norm, cross = exact_parts(pair.x, pair.y, kernel)
    mmd2 = x_norm + y_norm - 2 * cross
    assert mmd2 / (4 * kernel.bound - x_norm - y_norm) == pytest.approx(target, abs=2e-7)
    assert pair.nammd == pytest.approx(target, abs=1e-7)
    assert pair.mmd2 == pytest.approx(mmd2, abs=1e-10)
    assert pair.norms == pytest.approx((x_norm, y_norm), abs=1e-10)
    np.testing.assert_array_equal(pair.x, POINTS)


def test_samples_of_the_pair_estimate_the_target():
    kernel = nammd.Gaussian(0.5)
    pair = pair_with_nammd(POINTS, 0.05, kernel, rng=0)
    estimate = nammd.distance(*pair.sample(1500, 1000, rng=1), kernel=kernel)
    assert (estimate.m, estimate.n) == (1500, 1000)
    assert abs(estimate.value - 0.05) < 4 * estimate.standard_error < 0.03


def test_moving_both_reaches_larger_distances():
    kernel = nammd.Gaussian(1.0)
    pair = pair_with_nammd(POINTS, 0.5, kernel, move="both", rng=0)
    assert pair.nammd == pytest.approx(0.5, abs=1e-7)
    assert (pair.x != POINTS).any()


def test_a_start_of_ones_own_is_kept_to():
    start = POINTS[:25] + np.array([0.4, 0.0])
    pair = pair_with_nammd(POINTS, 0.05, nammd.Gaussian(0.5), start=start)
    again = pair_with_nammd(POINTS, 0.05, nammd.Gaussian(0.5), start=start)
    assert pair.y.shape == (25, 2)
    np.testing.assert_array_equal(pair.y, again.y)


def test_the_same_generator_gives_the_same_pair():
    pairs = [pair_with_nammd(POINTS, 0.03, KERNELS[0], rng=seed).y for seed in (0, 0, 1)]
    np.testing.assert_array_equal(pairs[0], pairs[1])
    assert (pairs[0] != pairs[2]).any()


def test_a_condition_on_the_norms_is_met():
    kernel = nammd.Gaussian(0.5)
    plain = pair_with_nammd(POINTS, 0.05, kernel, rng=0)
    wanted = 1.3 * plain.norms[1]
    pair = pair_with_nammd(POINTS, 0.05, kernel, rng=0, condition=lambda found: found.norms[1] > wanted)
    assert pair.norms[1] > wanted
    assert pair.nammd == pytest.approx(0.05, abs=1e-7)
    with pytest.raises(RuntimeError, match="none of 2 attempts"):
        pair_with_nammd(POINTS, 0.05, kernel, rng=0, attempts=2, condition=lambda found: False)


def test_a_target_out_of_reach_is_reported():
    with pytest.raises(RuntimeError, match="not reached in 20 steps"):
        pair_with_nammd(POINTS, 0.9, nammd.Gaussian(0.1), max_steps=20, rng=0)


@pytest.mark.parametrize("target", [0.0, 1.0, -0.1])
def test_the_target_is_a_distance(target):
    with pytest.raises(ValueError, match="target must be strictly between 0 and 1"):
        pair_with_nammd(POINTS, target, nammd.Gaussian(0.5))


def test_a_missing_torch_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'pip install "nammd\[torch\]"'):
        pair_with_nammd(POINTS, 0.05, nammd.Gaussian(0.5))
