"""The median distance between rows: SciPy's, bit by bit, without its import."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from nammd.kernels.bandwidth import quick_median


@pytest.mark.parametrize(
    ("rows", "columns"), [(2, 1), (3, 2), (4, 1), (33, 3), (100, 17), (501, 65), (200, 300)]
)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_median_is_that_of_scipy_bit_by_bit(rows, columns, offset):
    for seed in range(20):
        rng = np.random.default_rng([rows, seed])
        data = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-3, 3, columns) + offset
        found = quick_median(data)
        assert found == np.median(pdist(data, "euclidean"))


@pytest.mark.parametrize("digits", [0, 1, 2, 3])
def test_ties_are_left_to_scipy_or_found_right(digits):
    for seed in range(20):
        data = np.random.default_rng(seed).normal(size=(150, 2)).round(digits)
        found = quick_median(data)
        assert found is None or found == np.median(pdist(data))


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-100, 1e100, 1e150, 1e200, 1e300])
def test_numbers_of_any_magnitude(scale):
    data = scale * np.random.default_rng(0).normal(size=(50, 3))
    with np.errstate(over="ignore", under="ignore"):
        found, expected = quick_median(data), np.median(pdist(data))
    assert found is None or found == expected


def test_one_row_far_out_does_not_mislead():
    data = np.random.default_rng(0).normal(size=(300, 3))
    data[7] = 1e9
    found = quick_median(data)
    assert found is None or found == np.median(pdist(data))


def test_a_bandwidth_needs_no_module_of_spatial_structures():
    program = (
        "import sys, numpy as np, nammd\n"
        "x, y = np.random.default_rng(0).normal(size=(2, 300, 3))\n"
        "nammd.distance(x, y)\n"
        "print('scipy.spatial' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_tensors_are_compared_without_modules_for_tables():
    pytest.importorskip("torch")
    program = (
        "import sys, torch\n"
        "before = set(sys.modules)\n"
        "import nammd\n"
        "nammd.distance(*torch.randn((2, 300, 3)))\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new & {'narwhals', 'pandas', 'pyarrow', 'scipy', 'dask'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]"]
