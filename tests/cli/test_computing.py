"""``--engine`` and ``--scheduler``: where a command computes."""

import json
import logging
import subprocess
import sys

import numpy as np
import pytest
from distributed import LocalCluster
from pyarrow import parquet

import nammd as library
from nammd.engines import OnDevice
from tests.cli.conftest import people
from tests.waiting import GUARD, running, until

SCHEDULER = "import sys; from distributed.cli.dask_scheduler import main; main(sys.argv[1:])"


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Give a scheduler that is there all the time it needs to answer."""
    monkeypatch.setattr("nammd.cli.computing.CONNECT_SECONDS", GUARD)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The same tables as folders of Parquet files, of several row groups each."""
    folder = tmp_path_factory.mktemp("folders")
    for name, older in {"reference": 0.0, "accepted": 0.5, "close": 0.1, "far": 2.0}.items():
        table = people(len(name), older, rows=600)
        (folder / name).mkdir()
        for part in range(3):
            rows = table[200 * part : 200 * (part + 1)]
            parquet.write_table(rows, folder / name / f"part-{part}.parquet", row_group_size=90)
    return folder


@pytest.fixture(scope="module")
def address():
    """A cluster that the commands of this module share; to start one for each takes seconds."""
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(silence_logs=logging.CRITICAL, **options) as cluster:
        yield cluster.scheduler_address


def assert_alike(there, here):
    """Assert that two documents say the same, but for the engine; pairs are not compared on a cluster."""
    if isinstance(here, float):
        assert there == pytest.approx(here, rel=1e-8, abs=1e-12)
    elif isinstance(here, dict):
        assert there.keys() == here.keys()
        for name in set(here) - {"engine", "pairs_compared"}:
            assert_alike(there[name], here[name])
    elif isinstance(here, list):
        assert len(there) == len(here)
        for one, other in zip(there, here, strict=True):
            assert_alike(one, other)
    else:
        assert there == here


@pytest.mark.parametrize(
    "command",
    [
        ("distance", "reference", "close", "--exclude", "age", "--kernel", "laplace"),
        ("check", "reference", "far", "--epsilon", "0.02"),
        ("compare", "reference", "close", "far"),
        ("rank", "reference", "close", "far"),
        ("test", "reference", "close", "--permutations", "19"),
        ("plan", "reference", "far", "--epsilon", "0.02"),
    ],
    ids=lambda words: " ".join(words[:1] + words[3:]),
)
def test_commands_say_the_same_on_a_cluster(nammd, folders, address, command):
    words = [folders / word if (folders / word).exists() else word for word in command]
    here = nammd(*words, "--json")
    there = nammd(*words, "--json", "--engine", "dask", "--scheduler", address)
    assert there.code == here.code
    assert there.err == ""
    assert_alike(there.json, here.json)


def test_a_tolerance_from_a_cluster_serves_anywhere(nammd, folders, address):
    on = ["--engine", "dask", "--scheduler", address]
    assert nammd("calibrate", folders / "reference", folders / "accepted", "-o", "t.json", *on).code == 0
    files = folders / "reference", folders / "close"
    here = nammd("check", *files, "-t", "t.json", "--json")
    there = nammd("check", *files, "-t", "t.json", "--json", *on)
    assert here.checked["cautions"] == []  # the reference is recognised by its digest
    assert_alike(there.json, here.json)


def test_files_of_other_formats_are_read_here(nammd, files, address):
    on = ["--engine", "dask", "--scheduler", address]
    there = nammd("distance", files / "x.npy", files / "y.npy", "--json", *on)
    assert there.json["engine"] == "Cluster()"
    assert_alike(there.json, nammd("distance", files / "x.npy", files / "y.npy", "--json").json)


def test_a_local_cluster_is_started_and_closed(nammd, folders):
    ran = nammd(
        "distance", folders / "reference", folders / "close", "--engine", "dask", "--threads", 1, "--json"
    )
    assert ran.code == 0
    assert ran.json["engine"] == "Cluster()"
    assert ran.err == ""
    from distributed import default_client

    with pytest.raises(ValueError, match="No clients found"):
        default_client()


@pytest.mark.parametrize("where", ["tcp://127.0.0.1:9", "nowhere"])
def test_a_wrong_address_is_named_soon(nammd, folders, monkeypatch, where):
    monkeypatch.setattr("nammd.cli.computing.CONNECT_SECONDS", 0.1)
    words = ["--engine", "dask", "--scheduler", where]
    ran = nammd("distance", folders / "reference", folders / "close", *words)
    assert f"no Dask scheduler answers at '{where}' within 0.1 seconds" in ran.sentence
    assert "leave --scheduler out" in ran.sentence


def test_a_cluster_without_workers_is_named(nammd, folders, tmp_path):
    # In a process of its own: whatever becomes of it, nothing of it is left here.
    written = tmp_path / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(written)]
    command = [sys.executable, "-c", SCHEDULER, *options]
    with running(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as scheduler:

        def address():
            assert scheduler.poll() is None
            try:
                return json.loads(written.read_text())["address"]
            except (FileNotFoundError, ValueError):  # not there, or not all of it
                return None

        words = ["--engine", "dask", "--scheduler", until(address, "a scheduler")]
        ran = nammd("distance", folders / "reference", folders / "close", *words)
    assert "has no workers; start some with 'dask worker'" in ran.sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["distance", "reference", "close", "--scheduler", "tcp://a:1"], "give --engine dask with it"),
        (["distance", "reference", "close", "--engine", "gpu"], "'gpu' is not one of 'auto', 'cpu', 'cuda'"),
        (
            [
                "distance",
                "reference",
                "close",
                "--engine",
                "dask",
                "--scheduler",
                "tcp://a:1",
                "--threads",
                "2",
            ],
            "--threads is for this machine",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(nammd, folders, words, sentence):
    assert sentence in nammd(*(folders / w if (folders / w).exists() else w for w in words)).sentence


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["check", "reference", "close", "--epsilon", "0.02", "--html", "r.html"], "--html"),
        (["calibrate", "reference", "--noise", "1.5"], "--noise"),
        (["calibrate", "reference", "--split"], "--split"),
    ],
    ids=lambda words: str(words[0]),
)
def test_what_needs_rows_says_so_before_it_is_computed(nammd, folders, address, command, option):
    words = [folders / word if (folders / word).exists() else word for word in command]
    ran = nammd(*words, "--engine", "dask", "--scheduler", address)
    assert f"{option} looks at single rows" in ran.sentence
    assert "add --sample N" in ran.sentence
    assert nammd(*words, "--engine", "dask", "--scheduler", address, "--sample", 200).code in (0, 3)


def test_a_method_that_needs_rows_is_refused(nammd, folders, address):
    words = ["--method", "mmd-agg", "--engine", "dask", "--scheduler", address]
    ran = nammd("test", folders / "reference", folders / "close", *words)
    assert "'mmd-agg' needs the rows in memory" in ran.sentence


def test_cuda_needs_a_gpu(nammd, folders, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    ran = nammd("distance", folders / "reference", folders / "close", "--engine", "cuda")
    assert "--engine cuda needs a GPU that PyTorch can use" in ran.sentence


def test_samples_are_moved_to_a_device_for_their_sums():
    pytest.importorskip("torch")
    x, y = np.random.default_rng(0).normal(size=(2, 80, 3))
    there = library.distance(x, y, engine=OnDevice("cpu"))
    assert there.value == pytest.approx(library.distance(x, y).value, abs=1e-6)
    assert there.engine == "Tiles() on torch, cpu"
    permuted = library.two_sample_test(x, y, permutations=19, rng=0, engine=OnDevice("cpu"))
    assert permuted.pvalue == library.two_sample_test(x, y, permutations=19, rng=0).pvalue
