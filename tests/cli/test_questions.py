"""``nammd distance``, ``test``, ``compare``, ``rank`` and ``plan``."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import nammd as library


@pytest.fixture
def x(files):
    return files / "x.npy"


@pytest.fixture
def y(files):
    return files / "y.npy"


@pytest.fixture
def z(files):
    return files / "z.npy"


def test_distance_is_that_of_the_library(nammd, x, z):
    found = nammd("distance", x, z, "--json").json
    a, b = np.load(x), np.load(z)
    expected = library.distance(a, b)
    assert found["value"] == expected.value
    assert found["confidence_interval"]["high"] == expected.confidence_interval()[1]
    assert nammd("distance", x, z).out.startswith("The NAMMD distance between the two datasets is ")


def test_distance_can_be_measured_as_a_tolerance_does(nammd, reference, far, tolerance):
    found = nammd("distance", reference, far, "--tolerance", tolerance, "--json").json
    checked = nammd("check", reference, far, "--tolerance", tolerance, "--json").checked
    assert found["value"] == checked["estimate"]["value"]


@pytest.mark.parametrize("method", ["nammd", "mmd"])
def test_a_difference_is_found_and_exits_with_0(nammd, x, z, method):
    ran = nammd("test", x, z, "--method", method, "--permutations", 99)
    assert ran.code == 0
    assert ran.out.startswith("The two datasets come from different distributions (p = 0.0100)")


def test_the_seed_decides_the_permutations(nammd, x, y):
    def pvalue(seed):
        return nammd("test", x, y, "--permutations", 200, "--seed", seed, "--json").json["pvalue"]

    assert pvalue(1) == pvalue(1)
    assert len({pvalue(seed) for seed in range(4)}) > 1


def test_the_two_sample_test_does_not_care_which_dataset_comes_first(nammd, reference, close):
    found = [
        nammd("test", *pair, "--permutations", 99, "--json").json
        for pair in ((reference, close), (close, reference))
    ]
    assert found[0]["statistic"] == pytest.approx(found[1]["statistic"], rel=1e-6)


def test_the_two_sample_test_sees_a_column_that_is_constant_in_each(nammd, tmp_path):
    noise = np.random.default_rng(0).normal(size=(2, 50))
    for k in range(2):
        parquet.write_table(
            pa.table({"noise": noise[k], "version": [float(k)] * 50}), tmp_path / f"{k}.parquet"
        )
    assert nammd("test", "0.parquet", "1.parquet", "--json").json["rejected"]


def test_the_two_sample_test_pools_columns_of_different_number_types(nammd, tmp_path):
    (tmp_path / "a.csv").write_text("n,w\n" + "\n".join(f"{k % 7},a" for k in range(40)))
    (tmp_path / "b.csv").write_text("n,w\n" + "\n".join(f"{k % 7 + 0.5},b" for k in range(40)))
    assert nammd("test", "a.csv", "b.csv", "--json").json["rejected"]


def test_compare_names_the_files(nammd, x, y, z):
    ran = nammd("compare", x, y, z)
    assert ran.code == 0
    assert ran.out.startswith(f"{z} is farther from {x} than {y} (p < 0.0001).")
    assert nammd("compare", x, z, y).out.startswith(f"No evidence that {y} is farther from {x} than {z}")


def test_compare_can_look_in_both_directions(nammd, x, y, z):
    ran = nammd("compare", x, z, y, "--alternative", "two-sided")
    assert ran.out.startswith(f"{y} is nearer to {x} than {z}")
    assert nammd("compare", x, y, z, "--json").json["shared"] is True


def test_rank_orders_by_distance(nammd, x, y, z):
    ran = nammd("rank", x, z, y, "--json")
    assert [entry["name"] for entry in ran.json["entries"]] == [str(y), str(z)]
    assert ran.json["contrasts"][0]["significant"]
    assert nammd("rank", x, z, y).out.startswith(f"{y} is nearest")


def test_rank_refuses_a_file_that_is_given_twice(nammd, x, y):
    assert "given twice" in nammd("rank", x, y, y).sentence


def test_plan_counts_rows_or_tells_the_power(nammd, x, y):
    rows = nammd("plan", "--epsilon", 0.05, "--distance", 0.01, x, y, "--json").json
    assert rows["m"] == rows["n"] > 4
    assert rows["power"] >= 0.8
    more = nammd("plan", "--epsilon", 0.05, "--distance", 0.01, "--power", 0.99, x, y, "--json").json
    assert more["m"] > rows["m"]
    power = nammd("plan", "-e", 0.05, "-d", 0.01, "--rows", rows["m"], x, y, "--json").json["power"]
    assert power == pytest.approx(rows["power"])


def test_plan_takes_epsilon_from_a_tolerance(nammd, reference, close, tolerance):
    ran = nammd("plan", "--tolerance", tolerance, reference, close)
    assert ran.code == 0
    assert "rows (forecast)" in ran.out


def test_plan_refuses_what_contradicts_itself(nammd, x, y):
    assert "not both" in nammd("plan", "-e", 0.1, "--power", 0.9, "--rows", 100, x, y).sentence
    assert "--epsilon NUMBER or --tolerance FILE" in nammd("plan", x, y).sentence
    assert "at least 4 rows" in nammd("plan", "-e", 0.1, "--rows", 2, x, y).sentence


def test_a_folder_of_images_is_compared_by_pixels(nammd, tmp_path):
    pil = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for name, level in {"dark": 60, "bright": 200}.items():
        (tmp_path / name).mkdir()
        for k in range(8):
            pixels = rng.normal(level, 20, (4, 4)).clip(0, 255).astype("uint8")
            pil.fromarray(pixels).save(tmp_path / name / f"{k}.png")
    found = nammd("distance", "dark", "bright", "--json").json
    assert found["value"] > 0.3
    assert found["cautions"][0]["code"] == "few-rows"


def test_other_methods_choose_kernels_of_their_own(tmp_path):
    import json

    import numpy as np

    from nammd.cli import main

    rng = np.random.default_rng(0)
    paths = [str(tmp_path / name) for name in ("a.npy", "b.npy")]
    for path, shift in zip(paths, (0.0, 1.0), strict=True):
        np.save(path, rng.normal(shift, 1, size=(60, 2)))
    from contextlib import redirect_stdout
    from io import StringIO

    with redirect_stdout(StringIO()) as said:
        assert main(["test", *paths, "--method", "nammd-fuse", "--permutations", "99", "--json"]) == 0
    document = json.loads(said.getvalue())
    assert document["method"] == "nammd-fuse"
    assert document["permutations"] == 99
    assert document["rejected"] is True
    assert main(["test", *paths, "--method", "mmd-fuse", "--bandwidth", "1"]) == 2


def test_files_that_are_read_are_not_written_over(tmp_path):
    import numpy as np

    from nammd.cli import main

    rng = np.random.default_rng(1)
    paths = [str(tmp_path / name) for name in ("a.npy", "b.npy")]
    for path in paths:
        np.save(path, rng.normal(size=(60, 2)))
    before = (tmp_path / "b.npy").read_bytes()
    assert main(["check", *paths, "--epsilon", "0.1", "--html", paths[1]]) == 2
    assert main(["calibrate", *paths, "-o", paths[1]]) == 2
    same = str(tmp_path / "out.x")
    assert main(["check", *paths, "--epsilon", "0.1", "--html", same, "--junit", same]) == 2
    assert (tmp_path / "b.npy").read_bytes() == before


def test_samples_of_two_files_are_drawn_independently(tmp_path):
    import json
    from contextlib import redirect_stdout
    from io import StringIO

    import numpy as np

    from nammd.cli import main

    path = str(tmp_path / "a.npy")
    np.save(path, np.random.default_rng(2).normal(size=(2000, 2)))
    with redirect_stdout(StringIO()) as said:
        main(["distance", path, path, "--sample", "50", "--json"])
    assert abs(json.loads(said.getvalue())["value"]) < 0.02  # the same rows would give about -0.02
