"""Every computation ends, with a number or a sentence, however extreme a bandwidth or a moment is."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nammd
from nammd.cli import main
from nammd.statistics.margin import boundary

KERNELS = [nammd.Gaussian, nammd.Laplace]


def _samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 2)), rng.normal(size=(60, 2))


@pytest.mark.parametrize("bandwidth", [5e-324, 1e-320, 2e-308])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_bandwidth_without_digits_is_refused(kernel: type, bandwidth: float) -> None:
    with pytest.raises(ValueError, match=r"bandwidth must be at least 2.23e-308, below which numbers lose"):
        kernel(bandwidth)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_bandwidth_whose_ratio_to_the_data_is_beyond_numbers_is_refused(kernel: type) -> None:
    x, y = (1e4 * sample for sample in _samples())
    if kernel is nammd.Laplace:  # its exponent saturates, which is right
        assert nammd.distance(x, y, kernel=kernel(3e-308)).value == 0
        return
    with pytest.raises(ValueError, match="the bandwidth is so far from the scale of the data"):
        nammd.distance(x, y, kernel=kernel(3e-308))


@pytest.mark.parametrize("bandwidth", [1e-200, 1e-30, 1e30, 1e200, 1.7e308])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.filterwarnings("error")
def test_extreme_bandwidths_end(kernel: type, bandwidth: float) -> None:
    x, y = _samples()
    result = nammd.distance(x, y, kernel=kernel(bandwidth))
    assert -1e-9 <= result.value <= 1


@pytest.mark.parametrize(
    ("start", "end"), [(math.nan, 0.0), (0.0, math.nan), (math.inf, 0.0), (math.nan, math.nan)]
)
@pytest.mark.parametrize("doubt", [1.0, -1.0])
def test_a_boundary_without_ends_is_no_number(start: float, end: float, doubt: float) -> None:
    assert math.isnan(boundary(lambda eps: doubt, start, end, 0.1))


@pytest.mark.parametrize("step", [math.nan, math.inf, 0.0, 1e-300, 0.1, 5.0])
@pytest.mark.parametrize(("start", "end"), [(0.2, 1.0), (0.2, 0.0)])
def test_a_boundary_is_found_with_any_step(start: float, end: float, step: float) -> None:
    edge = (start + 2 * end) / 3
    assert boundary(lambda eps: abs(edge - start) - abs(eps - start), start, end, step) == pytest.approx(edge)
    assert boundary(lambda eps: 1.0 if abs(eps - start) < abs(edge - start) else -1.0, start, end, step) == (
        pytest.approx(edge)
    )
    assert boundary(lambda eps: 1.0, start, end, step) == end


@pytest.mark.parametrize("bandwidth", [0.05, 0.03, 0.022, 0.02, 0.0185, 0.017])
def test_kernel_values_too_small_for_their_cubes_are_no_error(bandwidth: float) -> None:
    x, y = np.arange(30.0), np.arange(30.0) + 0.5
    kernel = nammd.Gaussian(bandwidth)
    low, high = nammd.distance(x, y, kernel=kernel).confidence_interval()
    assert 0 <= low <= high <= 1
    tests = [
        nammd.closeness_test(x, y, eps, kernel=kernel, alternative="greater") for eps in (0.1, 1e-3, 1e-200)
    ]
    assert all(0 <= test.pvalue <= 1 or math.isnan(test.pvalue) for test in tests)
    compared = nammd.compare_pairs((x, y), (x, y + 0.2), kernel=kernel)
    assert 0 <= compared.pvalue <= 1 or math.isnan(compared.pvalue)


def test_kernel_values_that_are_no_numbers_are_refused() -> None:
    class Broken(nammd.Kernel):
        bound = 1.0

        def __call__(self, x, y, /):
            return np.where((x[:, :1] > 5) | (y[:, 0] > 5), np.nan, 1.0)

    x, y = (np.vstack([sample, np.full((200, 2), 0.0), [[9.0, 9.0]]]) for sample in _samples())
    with pytest.raises(ValueError, match="the kernel gives values that are not finite numbers"):
        nammd.distance(x, y, kernel=Broken())


def test_the_command_line_refuses_such_a_bandwidth(tmp_path, capsys) -> None:
    x, y = _samples()
    paths = [str(tmp_path / name) for name in ("x.npy", "y.npy")]
    for path, sample in zip(paths, (x, y), strict=True):
        np.save(path, sample)
    assert main(["distance", *paths, "--bandwidth", "1e-320"]) == 2
    assert "bandwidth must be at least 2.23e-308" in capsys.readouterr().err
