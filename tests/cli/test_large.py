"""Many rows from the shell: by features, or in pairs with --exact."""

import numpy as np
import pytest

from nammd.kernels import large


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "MOST_ROWS", 1_000)
    monkeypatch.setattr(large, "FEATURES", 100)
    rng = np.random.default_rng(0)
    found = {}
    for name, shift in (("reference", 0.0), ("candidate", 0.02), ("far", 1.0)):
        found[name] = tmp_path / f"{name}.npy"
        np.save(found[name], rng.normal(shift, 1, size=(700, 2)))
    return found


@pytest.mark.parametrize("exact", [False, True])
def test_exact_keeps_the_kernel(files, tmp_path, nammd, exact):
    options, word = (["--exact"], "Gaussian, bandwidth") if exact else ([], "100 orthogonal features")
    tolerance = tmp_path / "tolerance.json"
    x, y, z = files.values()
    made = nammd("calibrate", x, "--margin", "0.02", "-o", tolerance, *options)
    assert word in made.out, made
    checked = nammd("check", x, y, "-t", tolerance, *options)
    assert checked.code == 0
    assert word in checked.out
    assert word in nammd("check", x, z, "--epsilon", "0.02", *options).out
    assert word in nammd("distance", x, y, *options).out
    assert ("without features" in nammd("distance", x, z, *options).out) is not exact
    assert (
        nammd("rank", x, y, z, "--json", *options)
        .json["entries"][0]["kernel"]
        .startswith("Gaussian" if exact else "RandomFeatures")
    )
    assert nammd("compare", x, y, z, *options).code == 0
