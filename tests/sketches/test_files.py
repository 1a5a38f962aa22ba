"""Sketches as files."""

import io
import json
import zipfile

import numpy as np
import pytest

import nammd
from nammd.errors.seal import ROOM, sealed
from nammd.sketches.file import archived, is_broken_sketch, is_sketch_file
from tests.sketches.samples import FEATURES, X

SKETCH = nammd.Sketch.of(X, FEATURES)


@pytest.fixture
def path(tmp_path):
    return SKETCH.save(tmp_path / "x.sketch")


def rewritten(path, **changes):
    """Write a sketch file again with other contents; a function changes the description."""
    with np.load(path) as archive:
        arrays = dict(archive)
    for name, change in changes.items():
        if name == "description":
            described = json.loads(arrays["nammd-sketch"].tobytes())
            change(described)
            arrays["nammd-sketch"] = np.frombuffer(json.dumps(described).encode(), np.uint8)
        elif change is None:
            del arrays[name]
        else:
            arrays[name] = change
    path.write_bytes(archived(arrays))
    return path


def test_a_sketch_comes_back_bit_by_bit(path):
    back = nammd.Sketch.load(str(path))
    assert (back.features, back.n, back.n_columns, back.encoding) == (FEATURES, 700, 3, "")
    np.testing.assert_array_equal(back.total, SKETCH.total)
    np.testing.assert_array_equal(back.products, SKETCH.products)
    assert is_sketch_file(path)


def test_the_file_is_half_a_matrix_and_holds_no_rows(tmp_path):
    large = nammd.Sketch.of(np.tile(X, (30, 1)), FEATURES).save(tmp_path / "large.sketch")
    small = SKETCH.save(tmp_path / "small.sketch")
    assert large.stat().st_size < small.stat().st_size + 100
    assert small.stat().st_size < 64 * 65 / 2 * 8 + 64 * 8 + 4000


def test_no_pickle_is_ever_loaded(path):
    content = io.BytesIO()
    np.savez(content, **dict.fromkeys(("nammd-sketch", "total"), np.array([{"a": 1}], dtype=object)))
    with zipfile.ZipFile(content, "a") as archive:
        archive.comment = ROOM.encode()
    path.write_bytes(sealed(content.getvalue()))
    with pytest.raises(ValueError, match=r"damaged: its content cannot be read"):
        nammd.Sketch.load(path)


def set_to(name, value):
    return lambda described: described.__setitem__(name, value)


DAMAGES = {
    "n": ({"description": set_to("n", 0)}, "n must be a whole number of at least 1, not 0"),
    "columns": (
        {"description": set_to("columns", "3")},
        "columns must be a whole number from 1 to .*, not '3'",
    ),
    "rows": ({"description": set_to("n", 699)}, "do not belong to its number of rows"),
    "encoding": ({"description": set_to("encoding", None)}, "encoding must be text, not None"),
    "missing": ({"description": lambda d: d.pop("features")}, "'features' is missing"),
    "kernel": (
        {"description": set_to("features", {"kind": "gaussian", "bandwidth": 1.0})},
        "features must be random features",
    ),
    "seed": ({"description": lambda d: d["features"].update(seed=5)}, "not those that this version"),
    "frequencies": (
        {"description": lambda d: d["frequencies"].__setitem__(3, 0.5)},
        "frequencies are not those",
    ),
    "no sums": ({"total": None}, "total"),
    "short": ({"total": np.zeros(63)}, "total must be 64 numbers"),
    "triangle": ({"products": np.zeros(64)}, "products must be 2080 numbers"),
    "type": ({"total": np.zeros(64, np.float32)}, "total must be 64 numbers in float64"),
    "nan": ({"total": np.full(64, np.nan)}, "NaN or infinity"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_said_in_a_sentence(path, damage):
    changes, words = DAMAGES[damage]
    with pytest.raises(ValueError, match=f"the sketch file .*x.sketch is damaged: .*{words}"):
        nammd.Sketch.load(rewritten(path, **changes))


def test_a_flipped_byte_is_noticed(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"damaged"):
        nammd.Sketch.load(path)


def test_any_changed_byte_is_refused(path):
    """Byte by byte where the archive and its arrays are described: each may ask for anything."""
    whole = path.read_bytes()
    entries = whole.index(b"PK\x01\x02")
    described = [*range(0, 240), *range(entries, len(whole))]
    for at in described:
        for flip in (0x01, 0x08, 0x20, 0xFF):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
            with pytest.raises(ValueError, match=r"damaged|not a sketch file") as caught:
                nammd.Sketch.load(path)
            words = str(caught.value)
            assert "x.sketch" in words
            assert not any(word in words for word in ("pickle", "encrypted", "password", "header"))


@pytest.mark.parametrize("version", [True, 0, -5, "1", None, 1.0])
def test_a_version_that_never_was_is_damage(path, version):
    with pytest.raises(ValueError, match=r"the sketch file .*x.sketch is damaged: its version is"):
        nammd.Sketch.load(rewritten(path, description=set_to("version", version)))


def test_a_sketch_without_a_checksum_is_refused(path):
    with np.load(path) as archive:
        np.savez(path.with_suffix(".npz"), **dict(archive))
    with pytest.raises(ValueError, match="has no checksum: it is damaged, or was made by an earlier version"):
        nammd.Sketch.load(path.with_suffix(".npz"))


@pytest.mark.parametrize("kept", [0, 3, 50, 2000])
def test_an_incomplete_file_is_not_called_something_else(path, kept):
    path.write_bytes(path.read_bytes()[:kept])
    assert is_broken_sketch(path)
    with pytest.raises(ValueError, match="is a damaged or incomplete sketch; copy it again, or make it anew"):
        nammd.Sketch.load(path)


def test_the_beginning_of_a_sketch_is_recognised_under_any_name(path, tmp_path):
    other = tmp_path / "renamed.bin"
    other.write_bytes(path.read_bytes()[:2000])
    assert is_broken_sketch(other)
    np.savez(tmp_path / "data.npz", x=X)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "data.npz").read_bytes()[:2000])
    assert not is_broken_sketch(tmp_path / "data.npz")
    assert not is_broken_sketch(tmp_path / "cut.npz")
    assert not is_broken_sketch(tmp_path / "none.sketch")


def test_a_newer_file_asks_for_an_upgrade(path):
    with pytest.raises(ValueError, match=r"written by a newer nammd \(file version 4"):
        nammd.Sketch.load(rewritten(path, description=set_to("version", 4)))
    for version in (2, 3):
        with pytest.raises(ValueError, match="version must be that of its content"):
            nammd.Sketch.load(rewritten(path, description=set_to("version", version)))


def test_other_files_are_not_sketches(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no sketch file"):
        nammd.Sketch.load(tmp_path / "none.sketch")
    text, archive = tmp_path / "text.sketch", tmp_path / "other.zip"
    text.write_text("rows\n")
    with zipfile.ZipFile(archive, "w") as other:
        other.writestr("a.txt", "a")
    for path in (text, archive):
        assert not is_sketch_file(path)
        with pytest.raises(ValueError, match="not a sketch file written by nammd"):
            nammd.Sketch.load(path)
    with pytest.raises(FileNotFoundError, match="no folder"):
        SKETCH.save(tmp_path / "none" / "x.sketch")
