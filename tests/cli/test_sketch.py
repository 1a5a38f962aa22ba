"""``nammd sketch``, and sketches in place of data."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import nammd as library
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
    whole = Sketch.of(table, sketch.features, space=limit.space)
    np.testing.assert_allclose(sketch.total, whole.total, rtol=1e-9, atol=1e-9)
    document = nammd("sketch", reference, "-o", "r.sketch", "-t", tolerance, "--json").json
    assert (document["command"], document["rows"], document["n_features"]) == ("sketch", rows, 1024)
    assert document["bytes"] == (tmp_path / "r.sketch").stat().st_size


def test_scales_are_kept_if_asked_for_and_their_bytes_told(nammd, reference, close, tolerance):
    for path, name in ((reference, "r.sketch"), (close, "c.sketch")):
        ran = nammd("sketch", path, "-o", name, "-t", tolerance, "--n-features", 256, "--scales", "all")
        assert "scales  the bandwidth, and 1/2, 1/4, 1/8 and 1/16 of it" in ran.out
    assert "MB with --scales median" in ran.out
    found = nammd("distance", "r.sketch", "c.sketch", "--scales", "all", "--json").json
    assert [each["scale"] for each in found["scales"]] == [0.5, 0.25, 0.125, 0.0625]
    alone = ("sketch", close, "-o", "m.sketch", "-t", tolerance, "--n-features", 256)
    assert nammd(*alone, "--json").json["scales"] == [1.0]
    told = nammd("distance", "r.sketch", "m.sketch", "--scales", "all").err
    assert "m.sketch was sketched at one scale; make it with 'nammd sketch --scales all'" in told


def test_checks_of_sketches_decide_like_checks_of_data(nammd, sketches, reference, close, far, tolerance):
    for name, data, code in (("close", close, 0), ("far", far, 1)):
        ran = nammd("check", sketches["reference"], sketches[name], "-t", tolerance)
        assert ran.code == nammd("check", reference, data, "-t", tolerance).code == code
        assert "by 256 random features (their error is included)" in ran.out
        assert f"{sketches[name]}, a sketch of " in ran.out
    document = nammd("check", sketches["reference"], sketches["far"], "-t", tolerance, "--json").checked
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
    Tolerance.at(0.05, features, n_columns=2).save(tmp_path / "t.json")
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(800, 2)))
        assert nammd("sketch", f"{name}.npy", "-o", f"{name}.sketch", "-t", "t.json").code == 0
    assert Sketch.load(tmp_path / "a.sketch").features == features
    ran = nammd("check", "a.sketch", "b.sketch", "-t", "t.json")
    assert ran.code == 0
    assert "64 random features (seed 7) of Gaussian" in ran.out
    refused = nammd("sketch", "a.npy", "-o", "c.sketch", "-t", "t.json", "--n-features", 128)
    assert "leave out --n-features" in refused.sentence
    refused = nammd("sketch", "a.npy", "-o", "c.sketch", "-t", "t.json", "--seed", 8)
    assert "leave out --seed, the file fixes it" in refused.sentence
    assert nammd("sketch", "a.npy", "-o", "c.sketch", "-t", "t.json", "--seed", 7).code == 0


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
    assert "make both with the same --tolerance, --n-features and --seed" in words
    assert nammd("sketch", reference, "-o", "seed.sketch", "-t", tolerance, "--seed", 6).code == 0
    words = nammd("distance", "other.sketch", "seed.sketch").sentence
    assert "different seeds (5 and 6); make both with the same --tolerance, --n-features and --seed" in words
    Tolerance.at(0.1, Gaussian(1.0), n_columns=2).save(tmp_path / "other.json")
    words = nammd("check", sketches["reference"], sketches["far"], "-t", "other.json").sentence
    assert "not sketched in this space, with its encoding" in words
    assert "make it with 'nammd sketch' and the same --tolerance" in words


def test_a_tolerance_for_other_features_or_another_kernel_does_not_fit(nammd, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(800, 2)))
    kernels = {
        "t": RandomFeatures(Gaussian(1.5), 64, rng=7),
        "seed": RandomFeatures(Gaussian(1.5), 64, rng=8),
        "kernel": Gaussian(2.0),
    }
    for name, kernel in kernels.items():
        Tolerance.at(0.05, kernel, n_columns=2).save(tmp_path / f"{name}.json")
    for name in ("a", "b"):
        assert nammd("sketch", f"{name}.npy", "-o", f"{name}.sketch", "-t", "t.json").code == 0
    words = nammd("check", "a.sketch", "b.sketch", "-t", "seed.json").sentence
    assert "different seeds (7 and 8); make them with 'nammd sketch' and this --tolerance" in words
    words = nammd("check", "a.sketch", "b.sketch", "-t", "kernel.json").sentence
    assert "fixes its kernel when it is made, with 'nammd sketch' and --tolerance" in words


def test_mistakes_are_noticed_before_any_work(nammd, reference, tolerance):
    assert "with --tolerance FILE" in nammd("sketch", reference, "-o", "r.sketch").sentence
    wanted = ("-o", "r.sketch", "-t", tolerance)
    assert "leave out --sample" in nammd("sketch", reference, *wanted, "--sample", 50).sentence
    assert "no file or folder 'none.csv'" in nammd("sketch", "none.csv", *wanted).sentence
    assert "--bandwidth cannot be combined" in nammd("sketch", reference, *wanted, "--bandwidth", 2).sentence
    assert "even number" in nammd("sketch", reference, *wanted, "--n-features", 77).sentence
    assert "--n-features" in nammd("sketch", reference, *wanted, "--n-features", 32).sentence
    assert "named twice" in nammd("sketch", reference, "-o", tolerance, "-t", tolerance).sentence
    assert "no folder" in nammd("sketch", reference, "-o", "none/r.sketch", "-t", tolerance).sentence


def test_a_table_without_the_columns_is_refused_with_its_name(nammd, tmp_path, tolerance):
    parquet.write_table(pa.table({"other": [1.0, 2.0, 3.0, 4.0]}), tmp_path / "other.parquet")
    words = nammd("sketch", "other.parquet", "-o", "o.sketch", "-t", tolerance).sentence
    assert "cannot sketch other.parquet" in words
    assert not (tmp_path / "o.sketch").exists()


def test_a_missing_sketch_is_missing_and_not_something_else(nammd, sketches, tolerance):
    for command in (("check", "-t", tolerance), ("distance",)):
        for pair in ((sketches["far"], "nothere.sketch"), ("nothere.sketch", sketches["far"])):
            words = nammd(command[0], *pair, *command[1:]).sentence
            assert "there is no file or folder 'nothere.sketch'" in words


@pytest.mark.parametrize("kept", [0, 60, 5000])
def test_a_damaged_sketch_is_called_damaged_by_every_command(nammd, tmp_path, sketches, tolerance, kept):
    (tmp_path / "cut.sketch").write_bytes(sketches["far"].read_bytes()[:kept])
    whole = sketches["reference"]
    for command in (
        ("check", whole, "cut.sketch", "-t", tolerance),
        ("distance", "cut.sketch", whole),
        ("distance", "cut.sketch", "cut.sketch"),
        ("test", "cut.sketch", whole),
        ("sketch", "cut.sketch", "-o", "new.sketch", "-t", tolerance),
    ):
        assert "cut.sketch is a damaged or incomplete sketch" in nammd(*command).sentence


def test_questions_about_sketches_are_answered_as_the_library_does(nammd, sketches):
    one, two, three = (str(sketches[name]) for name in ("reference", "far", "close"))
    ranked = nammd("rank", one, two, three, "--json").json
    expected = library.rank(one, {two: two, three: three})
    assert [e["value"] for e in ranked["entries"]] == [e.estimate.value for e in expected.entries]
    compared = nammd("compare", one, three, two, "--json").json
    assert compared["pvalue"] == library.compare_pairs((one, three), (one, two)).pvalue
    planned = nammd("plan", one, two, "--epsilon", 0.1, "--json").json
    assert planned["m"] == library.plan(0.1, pilot=(one, two)).m


def test_commands_that_need_rows_say_so(nammd, sketches, reference, tolerance):
    one, two = sketches["reference"], sketches["far"]
    for command in (
        ("test", one, two),
        ("calibrate", one, two, "-o", "t.json"),
        ("calibrate", reference, two, "-o", "t.json"),
    ):
        words = nammd(*command).sentence
        assert f"'nammd {command[0]}' needs rows, and " in words
        assert "'nammd check', 'distance', 'compare', 'rank' and 'plan' take sketches" in words
    words = nammd("sketch", one, "-o", "new.sketch", "-t", tolerance).sentence
    assert "is a sketch already; give the data" in words


def test_engines_are_refused_before_a_cluster_is_started(nammd, monkeypatch, sketches, tmp_path, tolerance):
    def started(*arguments, **options):
        raise AssertionError("a cluster was started")

    monkeypatch.setattr("distributed.LocalCluster", started)
    monkeypatch.setattr("distributed.Client", started)
    pair = sketches["reference"], sketches["far"]
    for command in (("check", *pair, "-t", tolerance), ("distance", *pair)):
        for option in ("--engine", "dask"), ("--engine", "cuda"):
            words = nammd(*command, *option).sentence
            assert "sketches are summed already" in words
            assert "leave out --engine" in words
        words = nammd(*command, "--engine", "dask", "--scheduler", "tcp://127.0.0.1:1").sentence
        assert "leave out --scheduler" in words
        assert nammd(*command, "--threads", 2, "--engine", "cpu").code in (0, 1)
    np.save(tmp_path / "x.npy", np.zeros((8, 2)))
    wanted = ("sketch", "x.npy", "-o", "x.sketch", "-t", tolerance)
    assert "leave out --engine cuda" in nammd(*wanted, "--engine", "cuda").sentence
    assert "workers of a cluster read Parquet, and x.npy is something else" in (
        nammd(*wanted, "--engine", "dask").sentence
    )


def test_the_workers_of_a_cluster_make_the_same_sketch(nammd, monkeypatch, tmp_path, reference, tolerance):
    wanted = ("sketch", reference, "-t", tolerance, "--n-features", 64)
    assert nammd(*wanted, "-o", "here.sketch").code == 0
    monkeypatch.setattr(Sketch, "of_file", None)  # nobody reads the file here
    ran = nammd(*wanted, "-o", "there.sketch", "--engine", "dask", "--threads", 1)
    assert ran.code == 0, ran
    here, there = (Sketch.load(tmp_path / f"{name}.sketch") for name in ("here", "there"))
    assert (here.n, here.encoding) == (there.n, there.encoding)
    np.testing.assert_allclose(here.products, there.products, rtol=1e-9, atol=1e-9)


def test_a_terminal_shows_one_display_with_the_share_of_the_rows(nammd, tmp_path, monkeypatch):
    """The engine draws nothing of its own; rows done are told to the display of the command."""
    drawn, told = [], []
    monkeypatch.setattr("nammd.engines.progress.Meter._draw", lambda *more: drawn.append(more))
    monkeypatch.setattr("nammd.cli.progress.Working.progress", lambda self, *call: told.append(call))
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(70_000, 2)))
    Tolerance.at(0.05, Gaussian(1.5), n_columns=2).save(tmp_path / "t.json")
    monkeypatch.setattr("nammd.engines.progress._UPDATE_SECONDS", 0.0)
    assert nammd("sketch", "x.npy", "-o", "x.sketch", "-t", "t.json", "--n-features", 64).code == 0
    assert drawn == []
    assert told[0] == (0, 70_000)
    assert told[-1] == (70_000, 70_000)
    assert any(0 < done < 70_000 for done, _ in told)


def test_without_the_number_of_rows_the_display_counts_them(nammd, tmp_path, monkeypatch):
    steps = []
    monkeypatch.setattr("nammd.cli.progress.Working.step", lambda self, words: steps.append(words))
    rows = np.random.default_rng(0).normal(size=(100, 2))
    np.savetxt(tmp_path / "x.csv", rows, delimiter=",", header="a,b", comments="")
    Tolerance.at(0.05, Gaussian(1.5), x=pa.table({"a": rows[:, 0], "b": rows[:, 1]})).save(
        tmp_path / "t.json"
    )
    assert nammd("sketch", "x.csv", "-o", "x.sketch", "-t", "t.json", "--n-features", 64).code == 0
    assert steps[-1] == "Sketching x.csv: 100 rows"
