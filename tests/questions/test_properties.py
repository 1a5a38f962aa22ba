"""Laws that hold for any data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import nammd
from tests.simulate import pvalue

KERNELS = st.sampled_from(
    [
        nammd.Gaussian(1.5),
        nammd.Laplace(3.0),
        2.0 * nammd.Gaussian(0.8) + nammd.Laplace(1.0),
    ]
)
SIZES = st.integers(4, 25)


@st.composite
def pairs(draw):
    columns = draw(st.integers(1, 4))
    numbers = st.floats(-4, 4, allow_subnormal=False).map(lambda v: round(v, 3))
    return tuple(draw(arrays(np.float64, (draw(SIZES), columns), elements=numbers)) for _ in "xy")


def summary(x, y, kernel, **options):
    """The distance, its standard error and both p-values, as one vector."""
    ask = nammd.paper.distance if "cross" in options else nammd.distance
    estimate = ask(x, y, kernel=kernel, **options)
    tests = [
        pvalue(estimate.pair, 0.1, side, v) for side in ("greater", "less") for v in ("corrected", "delta")
    ]
    return np.array([estimate.value, estimate.standard_error, *tests])


def same(one, other):
    """Equal up to rounding; where the variance is all rounding error, p-values mean nothing."""
    np.testing.assert_allclose(one[:2], other[:2], rtol=1e-8, atol=1e-7)
    if min(one[1], other[1]) > 1e-4:
        np.testing.assert_allclose(one[2:], other[2:], rtol=1e-5, atol=1e-7)


@settings(deadline=None, max_examples=40)
@given(pairs(), KERNELS)
def test_symmetric_in_the_two_datasets(pair, kernel):
    x, y = pair
    same(summary(x, y, kernel), summary(y, x, kernel))


@settings(deadline=None, max_examples=40)
@given(pairs(), KERNELS, st.integers(0, 2**32))
def test_the_order_of_rows_does_not_matter(pair, kernel, seed):
    x, y = pair
    rng = np.random.default_rng(seed)
    same(summary(x, y, kernel), summary(rng.permutation(x), rng.permutation(y), kernel))


@settings(deadline=None, max_examples=40)
@given(pairs(), KERNELS, st.floats(-1e4, 1e4))
def test_moving_both_datasets_does_not_matter(pair, kernel, offset):
    x, y = pair
    same(summary(x, y, kernel), summary(x + offset, y + offset, kernel))


@settings(deadline=None, max_examples=40)
@given(pairs(), KERNELS, st.randoms(use_true_random=False))
def test_the_order_of_columns_does_not_matter(pair, kernel, random):
    x, y = pair
    order = list(range(x.shape[1]))
    random.shuffle(order)
    same(summary(x, y, kernel), summary(x[:, order], y[:, order], kernel))


@settings(deadline=None, max_examples=40)
@given(pairs(), KERNELS, st.integers(1, 9), st.integers(1, 9), st.integers(1, 3))
def test_tile_size_and_threads_do_not_matter(pair, kernel, rows, columns, threads):
    x, y = pair
    engine = nammd.Tiles(tile_rows=rows, tile_columns=columns, threads=threads)
    same(summary(x, y, kernel), summary(x, y, kernel, engine=engine))


@settings(deadline=None, max_examples=40)
@given(pairs(), KERNELS, st.floats(0.01, 100))
def test_scaling_the_kernel_does_not_change_nammd(pair, kernel, factor):
    x, y = pair
    same(summary(x, y, kernel), summary(x, y, factor * kernel))


@settings(deadline=None, max_examples=40)
@given(pairs(), KERNELS)
def test_distances_and_intervals_stay_in_range(pair, kernel):
    x, y = pair
    estimate = nammd.distance(x, y, kernel=kernel)
    assert -0.5 <= estimate.value <= 1 + 1e-12
    low, high = estimate.confidence_interval(0.9)
    assert 0 <= low <= high <= 1
    wide = estimate.confidence_interval(0.99)
    assert wide[0] <= low + 1e-12
    assert wide[1] >= high - 1e-12


@settings(deadline=None, max_examples=40)
@given(pairs(), KERNELS, st.floats(0.01, 0.9), st.sampled_from(["greater", "less"]))
def test_the_threshold_says_the_same_as_the_pvalue(pair, kernel, eps, side):
    x, y = pair
    result = nammd.closeness_test(x, y, eps, kernel=kernel, alternative=side)
    if np.isnan(result.pvalue) or abs(result.pvalue - result.alpha) < 1e-6:
        return
    beyond = result.statistic > result.threshold
    assert result.rejected == (beyond if side == "greater" else result.statistic < result.threshold)


@pytest.mark.parametrize("cross", ["full", "off-diagonal"])
def test_symmetry_holds_for_both_kinds_of_cross_pairs(cross):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 2)), rng.normal(0.5, size=(30, 2))
    kernel = nammd.Gaussian(1.0)
    same(summary(x, y, kernel, cross=cross), summary(y, x, kernel, cross=cross))
