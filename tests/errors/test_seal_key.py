"""Files that are sealed with a key: a wrong or a missing one is refused, and none is ever shown."""

import json
import os
import pathlib

import numpy as np
import pytest

import nammd
from nammd.cli import main
from tests.monitor.records import edit

KEY, OTHER = "a secret of this team", "a secret of other people"
RNG = np.random.default_rng(0)
TRAIN = RNG.normal(size=(60, 2))


def tolerance():
    return nammd.Tolerance.at(0.05, nammd.Gaussian(1.0), n_columns=2)


def save_tolerance(path):
    tolerance().save(path)
    return nammd.Tolerance.load


def save_sketch(path):
    nammd.Sketch.of(TRAIN, nammd.RandomFeatures(nammd.Gaussian(1.0), 16, rng=0)).save(path)
    return nammd.Sketch.load


def save_kernel(path):
    pytest.importorskip("torch")
    from nammd.kernels.networks import mlp

    nammd.Deep(mlp(2, rng=0), bandwidth=1.0, feature_bandwidth=0.5).save(path)
    return nammd.Deep.load


def save_monitor(path):
    monitor = nammd.Monitor.create(path, tolerance(), TRAIN)
    monitor.add(RNG.normal(size=(50, 2)), key="a")
    return lambda place: nammd.Monitor.open(place).state


FILES = {
    "t.json": save_tolerance,
    "x.sketch": save_sketch,
    "k.safetensors": save_kernel,
    "s.monitor": save_monitor,
}


@pytest.mark.parametrize("name", FILES)
def test_only_the_key_that_a_file_was_sealed_with_opens_it(tmp_path, name):
    path = tmp_path / name
    with nammd.seal_key(KEY):
        load = FILES[name](path)
        load(path)
    assert KEY.encode() not in path.read_bytes()
    with pytest.raises(ValueError, match="is sealed with a key, and none was given; give it") as missing:
        load(path)
    with (
        nammd.seal_key(OTHER),
        pytest.raises(ValueError, match="not sealed with the key that was given") as wrong,
    ):
        load(path)
    for caught in (missing, wrong):
        assert name in str(caught.value)
        assert KEY not in str(caught.value)
        assert OTHER not in str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_with_a_key_files_without_one_are_refused(tmp_path, name):
    path = tmp_path / name
    load = FILES[name](path)
    with nammd.seal_key(KEY), pytest.raises(ValueError, match="is not sealed with a key, and one was given"):
        load(path)


@pytest.mark.parametrize("name", [name for name in FILES if name != "s.monitor"])
def test_a_file_that_was_changed_is_refused_with_its_key(tmp_path, name):
    path = tmp_path / name
    with nammd.seal_key(KEY):
        load = FILES[name](path)
        content = path.read_bytes()
        for place in range(0, len(content), max(1, len(content) // 40)):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            with pytest.raises(ValueError, match=name):
                load(path)


def test_a_monitor_that_was_changed_is_refused_with_its_key(tmp_path):
    path = tmp_path / "s.monitor"
    with nammd.seal_key(KEY):
        load = save_monitor(path)
        edit(path, "UPDATE record SET body = replace(body, '0.', '1.') WHERE kind = 'batch'")
        with pytest.raises(ValueError, match=r"record 6 \(batch a\) is not what was written"):
            load(path)
        done = nammd.Monitor.repair(path)
        assert done.missing == ("record 6 (batch a) is not what was written",)
        load(done.path)
    with pytest.raises(ValueError, match="sealed with a key"):
        load(done.path)
    with nammd.seal_key(OTHER), pytest.raises(ValueError, match="another key"):
        nammd.Monitor.repair(path, tmp_path / "new.monitor")
    with pytest.raises(ValueError, match="sealed with a key"):
        nammd.Monitor.repair(path, tmp_path / "new.monitor")


def test_who_has_no_key_cannot_make_a_shorter_history(tmp_path):
    path = tmp_path / "s.monitor"
    with nammd.seal_key(KEY):
        load = save_monitor(path)
        edit(
            path,
            "UPDATE head SET (number, name, digest) = "
            "(SELECT 4, 'created', digest FROM record WHERE number = 4)",
        )
        edit(path, "DELETE FROM record WHERE number > 4")
        with pytest.raises(ValueError, match="the end of its chain is not what was written"):
            load(path)


def test_key_comes_from_the_variable(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    monkeypatch.setenv("NAMMD_SEAL_KEY", KEY)
    save_tolerance(path)
    with nammd.seal_key(None), pytest.raises(ValueError, match="sealed with a key"):
        nammd.Tolerance.load(path)
    assert nammd.Tolerance.load(path).epsilon == 0.05
    for short in ("", "short"):
        monkeypatch.setenv("NAMMD_SEAL_KEY", short)
        with pytest.raises(ValueError, match="NAMMD_SEAL_KEY has fewer than 16 letters"):
            nammd.Tolerance.load(path)
    with pytest.raises(TypeError, match="must be text or bytes"), nammd.seal_key(7):
        pass


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, shift in (("train", 0.0), ("good", 0.3), ("2026-03-01", 0.0)):
        np.save(f"{name}.npy", np.random.default_rng(len(name)).normal(shift, 1, size=(80, 2)))
    pathlib.Path("team.key").write_text(f"{KEY}\n")
    pathlib.Path("other.key").write_text(f"{OTHER}\n")
    return tmp_path


def run(capsys, *arguments):
    code = main([*arguments])
    out, err = capsys.readouterr()
    assert KEY not in out + err
    return code, out, err


def test_from_the_shell(shop, capsys):
    key = ("--seal-key", "team.key")
    assert run(capsys, "calibrate", "train.npy", "good.npy", "-o", "t.json", *key)[0] == 0
    assert run(capsys, "monitor", "init", "s.monitor", "-r", "train.npy", "-t", "t.json", *key)[0] == 0
    assert run(capsys, "monitor", "add", "s.monitor", "2026-03-01.npy", *key)[0] in (0, 3)
    assert run(capsys, "monitor", "status", "s.monitor", "--now", "2026-03-02", *key)[0] == 0
    checks = ("check", "train.npy", "good.npy", "--tolerance", "t.json")
    assert run(capsys, *checks, *key)[0] in (0, 3)
    code, _, err = run(capsys, *checks)
    assert code == 2
    assert err == (
        "nammd: the tolerance file t.json is sealed with a key, and none was given; give its file with "
        "--seal-key FILE, or the key in the variable NAMMD_SEAL_KEY\n"
    )
    for command in (checks, ("monitor", "status", "s.monitor")):
        code, _, err = run(capsys, *command, "--seal-key", "other.key")
        assert code == 2
        assert "was not sealed with the key that was given, or was changed since" in err
    assert run(capsys, *checks, "--seal-key", "none.key")[2] == "nammd: none.key: no such file or directory\n"
    code, out, _ = run(capsys, *checks, *key, "--json", "--html", "page.html")
    assert json.loads(out)["exit_code"] == code
    for file in os.listdir(shop):
        assert file == "team.key" or KEY.encode() not in pathlib.Path(file).read_bytes()
