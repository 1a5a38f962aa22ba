"""Files of tolerances: numbers survive to the last bit, and nothing that was changed is believed."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nammd
from nammd.errors.seal import sealed
from nammd.tolerances.file import VERSION, rendered

RNG = np.random.default_rng(0)
TRAIN, ACCEPTED, TODAY = RNG.normal(size=(60, 2)), RNG.normal(0.5, 1, (50, 2)), RNG.normal(0.3, 1, (40, 2))
MADE = {
    "reference": nammd.Tolerance.from_reference(TRAIN, {"a": ACCEPTED, "b": ACCEPTED + 0.2}, anyway=True),
    "noise": nammd.Tolerance.from_noise(TRAIN, level=0.5, anyway=True),
    "split": nammd.Tolerance.from_split(TRAIN, anyway=True),
    "given": nammd.Tolerance.at(0.05, nammd.Gaussian(1.0), n_columns=2),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.mark.parametrize("kind", MADE)
def test_a_check_gives_the_same_bits_after_reading(kind, tmp_path):
    MADE[kind].save(tmp_path / "t.json")
    loaded = nammd.Tolerance.load(tmp_path / "t.json")
    before, after = (one.check(TRAIN, TODAY) for one in (MADE[kind], loaded))
    assert before == after
    assert (before.details.rows_needed, before.details.limited_by) == (
        after.details.rows_needed,
        after.details.limited_by,
    )
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "t.json").read_bytes()


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for key, inner in enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def changed(value):
    if isinstance(value, bool) or value is None:
        return "something else"
    if isinstance(value, (int, float)):
        return value * 1.0000001 + 1e-12
    return value + "A"


@pytest.mark.parametrize("kind", MADE)
def test_every_single_value_is_protected(kind, folder):
    MADE[kind].save(folder / f"{kind}.json")
    whole = (folder / f"{kind}.json").read_text()
    paths = [path for path, _ in leaves(json.loads(whole)) if path not in {("format",), ("version",)}]
    assert len(paths) > 20
    for path in paths:
        stored = json.loads(whole)
        inner = stored
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = changed(inner[path[-1]])
        (folder / "mutated.json").write_text(json.dumps(stored))
        with pytest.raises(ValueError, match=r"mutated.json was changed or damaged after nammd wrote it"):
            nammd.Tolerance.load(folder / "mutated.json")


@pytest.fixture(scope="module")
def saved(folder):
    MADE["reference"].save(folder / "whole.json")
    return (folder / "whole.json").read_bytes()


@given(position=st.integers(0, 10**9), byte=st.integers(0, 255))
@settings(max_examples=150)
def test_any_changed_byte_is_noticed(folder, saved, position, byte):
    content = bytearray(saved)
    content[position % len(content)] = byte
    (folder / "bytes.json").write_bytes(content)
    if content == saved:
        assert nammd.Tolerance.load(folder / "bytes.json") == MADE["reference"]
        return
    with pytest.raises(ValueError, match=r"bytes\.json"):
        nammd.Tolerance.load(folder / "bytes.json")


def test_an_older_file_says_what_to_do(tmp_path):
    MADE["given"].save(tmp_path / "t.json")
    stored = json.loads((tmp_path / "t.json").read_text()) | {"version": 1}
    (tmp_path / "t.json").write_text(json.dumps(stored))
    with pytest.raises(ValueError, match=r"t\.json was made by an earlier version: calibrate again$"):
        nammd.Tolerance.load(tmp_path / "t.json")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(": ", ":", 1),
        lambda text: text + "\n",
        lambda text: text[:-1],
        lambda text: text.replace("\n", "\r\n", 1),
        lambda text: text.replace(f'"version": {VERSION}', f'"version": {VERSION}, "version": {VERSION}'),
        lambda text: json.dumps(json.loads(text), indent=1, sort_keys=True) + "\n",
        lambda text: json.dumps(json.loads(text)),
    ],
)
def test_a_file_that_says_the_same_in_other_bytes_is_refused(change, tmp_path):
    path = tmp_path / "t.json"
    MADE["given"].save(path)
    path.write_bytes(change(path.read_text()).encode())
    with pytest.raises(ValueError, match=r"t\.json was changed or damaged after nammd wrote it"):
        nammd.Tolerance.load(path)


def test_the_line_ends_of_another_system_are_no_change(tmp_path):
    path = tmp_path / "t.json"
    MADE["given"].save(path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert nammd.Tolerance.load(path) == MADE["given"]


@pytest.mark.parametrize("number", ["1" + "0" * 400, "1" + "0" * 5000, "-1e999", "NaN", "1e80"])
def test_numbers_beyond_all_numbers_are_refused_as_damage(number, tmp_path):
    path = tmp_path / "t.json"
    MADE["given"].save(path)
    stored = json.loads(path.read_text())
    stored["bars"][0]["value"] = "here"
    content = rendered(stored).replace(b'"here"', number.encode())
    path.write_bytes(sealed(content))
    with pytest.raises(ValueError, match=r"t\.json"):
        nammd.Tolerance.load(path)


@pytest.mark.parametrize("name", ["1" + "0" * 30, "nobody", "1"])
def test_limits_of_columns_that_are_not_compared_are_refused(name, tmp_path):
    path = tmp_path / "t.json"
    nammd.Tolerance.from_noise(np.random.default_rng(0).normal(size=(60, 2)), level=0.5, anyway=True).save(
        path
    )
    stored = json.loads(path.read_text())
    stored["columns"]["limits"]["names"][0] = name
    stored["columns"]["pairs"] = None
    path.write_bytes(sealed(rendered(stored)))
    with pytest.raises(ValueError, match=rf"t\.json is damaged: the column '{name}' has a limit, and is not"):
        nammd.Tolerance.load(path)
