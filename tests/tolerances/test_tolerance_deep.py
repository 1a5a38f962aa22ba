"""A tolerance can hold a deep kernel."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="deep kernels need torch")

import nammd  # noqa: E402
from nammd.kernels.networks import mlp  # noqa: E402


def test_a_tolerance_with_a_deep_kernel_survives_its_file(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 3)), rng.normal(0.5, size=(80, 3))
    kernel = nammd.Deep(mlp(3, hidden=8, rng=0), bandwidth=2.0, feature_bandwidth=0.5)
    tolerance = nammd.Tolerance.from_reference(x, y, kernel=kernel, how="ball")
    tolerance.save(tmp_path / "t.json")
    loaded = nammd.Tolerance.load(tmp_path / "t.json")
    candidate = rng.normal(0.2, size=(90, 3))
    before, after = tolerance.check(x, candidate), loaded.check(x, candidate)
    assert loaded.kernel == kernel
    assert before.distance == after.distance
    assert before.pvalue_close == after.pvalue_close
