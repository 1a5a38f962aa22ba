"""``nammd sketch``, and sketches in place of data."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from nammd import Gaussian, RandomFeatures, Sketch, Tolerance


@pytest.fixture
def sketches(nammd, tmp_path, reference, close, far, tolerance):
    """Sketches of the three files, made by the program."""
    made = {}
    for name, path in (("reference", reference), ("close", close), ("far", far)):
        made[name] = tmp_path / f"{name}.sketch"
        ran = nammd("sketch", path, "-o", made[name], "--tolerance", tolerance, "--n-features", 256)
        assert ran.code == 0, ran
    return made


def test_a_sketch_is_written_and_described(nammd, tmp_path, reference, tolerance):
    ran = nammd("sketch", reference, "-o", "r.sketch", "-t", tolerance, "--n-features", 64, "--seed", 3)
    rows = parquet.read_metadata(reference).num_rows
    assert ran.out.startswith("The sketch is in r.sketch.\n")
    assert f"{reference}, {rows} rows" in ran.out
    assert "64 random features (seed 3) of Gaussian" in ran.out
    limit = Tolerance.load(tolerance)
    sketch = Sketch.load(tmp_path / "r.sketch")
    assert sketch.features == RandomFeatures(limit.kernel, 64, rng=3)
    table = parquet.read_table(reference)
    whole = Sketch.of(table, sketch.features, encoding=limit.encoding)
    np.testing.assert_allclose(sketch.total, whole.total, rtol=1e-9, atol=1e-9)
    document = nammd("sketch", reference, "-o", "r.sketch", "-t", tolerance, "--json").json
    assert (document["command"], document["rows"], document["n_features"]) == ("sketch", rows, 1024)
    assert document["bytes"] == (tmp_path / "r.sketch").stat().st_size


def test_checks_of_sketches_decide_like_checks_of_data(nammd, sketches, reference, close, far, tolerance):
    for name, data, code in (("close", close, 0), ("far", far, 1)):
        ran = nammd("check", sketches["reference"], sketches[name], "-t", tolerance)
        assert ran.code == nammd("check", reference, data, "-t", tolerance).code == code
        assert "by 256 random features (their error is included)" in ran.out
        assert f"{sketches[name]}, a sketch of " in ran.out
    document = nammd("check", sketches["reference"], sketches["far"], "-t", tolerance, "--json").json
    assert document["decision"] == "FAR"
    assert document["inputs"]["files"][1]["sketch"].startswith("RandomFeatures(Gaussian(")


def test_distances_of_sketches(nammd, sketches, reference, far, tolerance):
    plain = nammd("distance", sketches["reference"], sketches["far"], "--json").json
    limited = nammd("distance", sketches["reference"], sketches["far"], "-t", tolerance, "--json").json
    whole = nammd("distance", reference, far, "-t", tolerance, "--json").json
    assert plain["value"] == limited["value"]
    assert abs(plain["value"] - whole["value"]) < 4 * plain["standard_error"]
    assert plain["standard_error"] > whole["standard_error"]


def test_a_tolerance_under_random_features_fixes_them(nammd, tmp_path):
    rng = np.random.default_rng(0)
    features = RandomFeatures(Gaussian(1.5), 64, rng=7)
    Tolerance.at(0.05, features, columns=2).save(tmp_path / "t.json")
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(800, 2)))
        assert nammd("sketch", f"{name}.npy", "-o", f"{name}.sketch", "-t", "t.json").code == 0
    assert Sketch.load(tmp_path / "a.sketch").features == features
    ran = nammd("check", "a.sketch", "b.sketch", "-t", "t.json")
    assert ran.code == 0
    assert "64 random features (seed 7) of Gaussian" in ran.out
    refused = nammd("sketch", "a.npy", "-o", "c.sketch", "-t", "t.json", "--n-features", 32)
    assert "leave out --n-features" in refused.sentence


def test_a_sketch_beside_data_names_the_command_to_run(nammd, sketches, far, tolerance):
    for command in (("check", "-t", tolerance), ("distance",)):
        ran = nammd(command[0], sketches["reference"], far, *command[1:])
        assert f"nammd sketch {far} -o far.sketch --tolerance FILE" in ran.sentence


def test_what_sketches_cannot_do_is_said(nammd, sketches, tolerance):
    pair = sketches["reference"], sketches["far"]
    assert "give --tolerance FILE" in nammd("check", *pair, "--epsilon", 0.1).sentence
    assert "leave out --html" in nammd("check", *pair, "-t", tolerance, "--html", "r.html").sentence
    for option in (("--columns", "a"), ("--bandwidth", 2), ("--sample", 100), ("--exclude", "a")):
        words = nammd("distance", *pair, *option).sentence
        assert f"{option[0]} cannot be combined with sketches" in words


def test_other_sketches_do_not_fit(nammd, sketches, tmp_path, reference, tolerance):
    assert nammd("sketch", reference, "-o", "other.sketch", "-t", tolerance, "--seed", 5).code == 0
    words = nammd("check", "other.sketch", sketches["far"], "-t", tolerance).sentence
    assert "1024 and 256 features" in words
    Tolerance.at(0.1, Gaussian(1.0), columns=2).save(tmp_path / "other.json")
    words = nammd("check", sketches["reference"], sketches["far"], "-t", "other.json").sentence
    assert "not sketched with the encoding of this tolerance" in words


def test_mistakes_are_noticed_before_any_work(nammd, reference, tolerance):
    assert "with --tolerance FILE" in nammd("sketch", reference, "-o", "r.sketch").sentence
    wanted = ("-o", "r.sketch", "-t", tolerance)
    assert "leave out --sample" in nammd("sketch", reference, *wanted, "--sample", 50).sentence
    assert "no file or folder 'none.csv'" in nammd("sketch", "none.csv", *wanted).sentence
    assert "--bandwidth cannot be combined" in nammd("sketch", reference, *wanted, "--bandwidth", 2).sentence
    assert "even number" in nammd("sketch", reference, *wanted, "--n-features", 7).sentence
    assert "named twice" in nammd("sketch", reference, "-o", tolerance, "-t", tolerance).sentence
    assert "no folder" in nammd("sketch", reference, "-o", "none/r.sketch", "-t", tolerance).sentence


def test_a_table_without_the_columns_is_refused_with_its_name(nammd, tmp_path, tolerance):
    parquet.write_table(pa.table({"other": [1.0, 2.0, 3.0, 4.0]}), tmp_path / "other.parquet")
    words = nammd("sketch", "other.parquet", "-o", "o.sketch", "-t", tolerance).sentence
    assert "cannot sketch other.parquet" in words
    assert not (tmp_path / "o.sketch").exists()
