"""Distances between rows, for bandwidths: SciPy's, bit by bit, without its import."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from nammd.kernels import bandwidth


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@pytest.mark.parametrize(("rows", "columns"), [(2, 1), (33, 3), (100, 17), (65, 128)])
def test_distances_are_those_of_scipy_bit_by_bit(monkeypatch, rows, columns, metric):
    monkeypatch.delitem(sys.modules, "scipy.spatial.distance")
    monkeypatch.setattr(bandwidth, "_asked", [])
    rng = np.random.default_rng(rows)
    data = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-5, 5, columns)
    np.testing.assert_array_equal(bandwidth.row_distances(data, metric), pdist(data, metric))
    assert bandwidth._asked == [rows]


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
