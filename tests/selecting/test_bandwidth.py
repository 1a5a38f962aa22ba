"""Choosing a bandwidth: the grid, the criterion, and why the split must be honest."""

import numpy as np
import pytest

import nammd
from nammd.engines.sums import KernelSums
from nammd.selecting.bandwidth import GRID, select_bandwidth
from tests.simulate import noise

FIELDS = ("xx_rows", "yy_rows", "xy_rows", "xy_cols", "xx_squares", "yy_squares", "xy_squares")


@pytest.mark.parametrize("sizes", [(30, 30), (300, 520), (513, 256)])
@pytest.mark.parametrize("kind", [nammd.Gaussian, nammd.Laplace])
@pytest.mark.parametrize("bandwidths", [(7.0, 2.0, 0.5), (4.0, 2.0, 0.25)], ids=["grid", "powers"])
def test_sums_of_several_kernels_equal_those_of_each(sizes, kind, bandwidths):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(size, 3)) for size in sizes)
    kernels = [kind(b) for b in bandwidths]
    found = nammd.Tiles(threads=2).many_sums(kernels, (x,), (y,), (x, y))
    for kernel, parts in zip(kernels, found, strict=True):
        sums, alone = KernelSums(*parts, 1.0), nammd.kernel_sums(x, y, kernel)
        for field in FIELDS:
            np.testing.assert_allclose(getattr(sums, field), getattr(alone, field), rtol=1e-10)
        assert (sums.xy_diagonal is None) == (sizes[0] != sizes[1])
        if sums.xy_diagonal is not None:
            assert sums.xy_diagonal == pytest.approx(alone.xy_diagonal, rel=1e-10)


def test_the_chosen_bandwidth_maximises_the_studentized_distance():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(150, 2)), rng.normal(size=(120, 2)) * [1.0, 1.6]
    selection = select_bandwidth(x, y)
    assert len(selection.bandwidths) == len(GRID) == 25
    ratio = selection.bandwidths[-1] / selection.bandwidths[0]
    assert ratio == pytest.approx(100)
    assert selection.bandwidths[12] == pytest.approx(nammd.Gaussian.median(x, y).bandwidth)
    for bandwidth, score in zip(selection.bandwidths, selection.scores, strict=True):
        moments = nammd.distance(x, y, kernel=nammd.Gaussian(bandwidth)).pair.moments
        parts = moments.linear_variance(1.0), moments.variance(1.0) - moments.linear_variance(1.0)
        spread = sum(max(part, 0.0) for part in parts)
        assert score == pytest.approx(moments.mmd2 / np.sqrt(spread), rel=1e-8)
    assert selection.kernel == nammd.Gaussian(selection.bandwidths[int(np.argmax(selection.scores))])


def test_it_finds_the_scale_of_the_difference():
    """The laws differ in fine detail only; the median bandwidth is far too wide to see it."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(800, 1)) * 3
    y = np.round(rng.normal(size=(800, 1)) * 3) + rng.normal(size=(800, 1)) * 0.1
    selection = select_bandwidth(x[:400], y[:400])
    assert selection.bandwidth < 0.5 * nammd.Gaussian.median(x, y).bandwidth
    chosen = nammd.two_sample_test(x[400:], y[400:], kernel=selection.kernel, rng=0)
    default = nammd.two_sample_test(x[400:], y[400:], rng=0)
    assert chosen.pvalue < default.pvalue


def test_testing_on_the_rows_that_chose_the_kernel_is_not_safe_and_a_split_is():
    rng = np.random.default_rng(3)
    grid = np.geomspace(0.05, 5, 10)
    same_rows, split = [], []
    for seed in range(100):
        x, y = rng.normal(size=(2, 60, 1))
        used = select_bandwidth(x, y, grid=grid).kernel
        same_rows.append(nammd.two_sample_test(x, y, kernel=used, permutations=99, rng=seed).rejected)
        honest = select_bandwidth(x[:30], y[:30], grid=grid).kernel
        split.append(nammd.two_sample_test(x[30:], y[30:], kernel=honest, permutations=99, rng=seed).rejected)
    assert np.mean(same_rows) > 0.05 + 3 * noise(0.05, 100)
    assert np.mean(split) <= 0.05 + 3 * noise(0.05, 100)


def test_other_engines_and_grids_are_taken():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(20, 2)), rng.normal(1.0, size=(20, 2))
    one = select_bandwidth(x, y, nammd.Laplace, grid=[1.0, 3.0])
    torch = pytest.importorskip("torch")
    other = select_bandwidth(torch.tensor(x), torch.tensor(y), nammd.Laplace, grid=[1.0, 3.0])
    assert one.kernel == other.kernel
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-9)
    assert "do not test on the same rows" in str(one)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"grid": []}, ValueError, "grid is empty"),
        ({"grid": [1.0, -1.0]}, ValueError, "must be positive"),
        ({"kernel": nammd.Gaussian(1.0)}, TypeError, "class Gaussian or Laplace"),
        ({"kernel": "linear"}, ValueError, "kernel must be one of 'gaussian', 'rbf'"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    x, y = np.random.default_rng(5).normal(size=(2, 10, 2))
    with pytest.raises(error, match=message):
        select_bandwidth(x, y, **options)
