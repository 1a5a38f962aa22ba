"""What the benchmark of the GPU says of sums over units: how far they are from float64."""

import numpy as np
import pytest
from benchmarks.gpu_calls import first_rows, scale_error, unit_error

import nammd
from nammd.engines.units import Units

KERNEL = nammd.Gaussian(2.0)


class Wrong(nammd.Tiles):
    """An engine of which one sum for a unit is off."""

    def unit_sums(self, kernel, *parts):
        found = super().unit_sums(kernel, *parts)
        found[2].sized_cols[3] *= 1.001
        return found


@pytest.mark.parametrize(("engine", "error"), [(nammd.Tiles(), 1e-6), (Wrong(), 1e-3)])
def test_the_largest_error_of_any_sum_is_found(engine, error):
    x, y = np.random.default_rng(0).normal(size=(2, 120, 3)).astype("float32")
    labels, weights = np.repeat(np.arange(60), 2), np.random.default_rng(1).uniform(1, 2, 120)
    one, two = Units(labels), Units(labels + 60, weights)
    found = unit_error(engine, KERNEL, (x, one), (y, two))
    assert 0 < found <= 1.01 * error
    assert found > error / 100


def test_units_of_the_first_rows():
    some = first_rows(Units(np.repeat(np.arange(9), 3), np.arange(27.0) + 1), 10)
    assert some.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]
    assert some.weights.tolist() == list(range(1, 11))


@pytest.mark.parametrize("off", [0.0, 1e-3])
def test_the_error_at_scales_is_that_of_any_sum(off):
    """It is none of the tile engine in float64, and that of the sum that is wrong at any scale."""

    class Wrong(nammd.Tiles):
        def many_sums(self, kernels, *parts):
            found = super().many_sums(kernels, *parts)
            cols = found[2].parts[1].cols
            cols[3] += off * 16 * (cols[3] + cols.mean())
            return found

    x, y = np.random.default_rng(2).normal(size=(2, 60, 3))
    assert scale_error(Wrong(), nammd.Gaussian(2.0), x, y) == pytest.approx(off, abs=1e-6)


def test_the_error_at_scales_is_relative_where_few_rows_are_near_each_other():
    """Of 64 columns next to no rows are; the largest sums are hundreds of times the mean one."""
    x, y = np.random.default_rng(3).normal(size=(2, 512, 64)).astype("float32")
    assert 0 < scale_error(nammd.Tiles(dtype="float32"), nammd.Gaussian(11.0), x, y) < 1e-5
