"""What a reference and accepted data know of each other is kept, and used for these very rows alone."""

import json
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

import nammd
from nammd.engines.tiles.engine import Tiles
from nammd.tolerances import accepted, accepted_file, kept_sums
from nammd.tolerances.file import rendered, sealed
from tests.properties.numbers import differences

ROWS = 800


def rows(seed, loc=0.0, count=ROWS):
    return np.random.default_rng(seed).normal(loc, size=(count, 2))


REFERENCE, ACCEPTED, CANDIDATE = rows(0), rows(1, 0.5, 200), rows(2, 0.2, 150)


@pytest.fixture(autouse=True, scope="module")
def few_are_many():
    """Let so many rows be more than are compared at all scales at once, and more than are moved."""
    with (
        patch.multiple(accepted, FINE_ROWS=700, MOST_MOVED=500),
        patch.multiple(accepted_file, FINE_ROWS=700, MOST_MOVED=500),
    ):
        yield


@pytest.fixture(scope="module")
def tolerance():
    return nammd.Tolerance.from_reference(REFERENCE, {"summer": ACCEPTED}, margin=0.01)


class Summed(list):
    """The parts that are summed, by their numbers of rows; those of several scales apart."""

    def __init__(self):
        super().__init__()
        self.finer = []


@pytest.fixture
def summed(monkeypatch):
    parts, plain = Summed(), Tiles.many_sums

    def many_sums(self, kernels, *given):
        (parts if len(kernels) == 1 else parts.finer).extend(
            tuple(len(each) for each in part) for part in given
        )
        return plain(self, kernels, *given)

    monkeypatch.setattr(Tiles, "many_sums", many_sums)
    return parts


def without(tolerance, scales=None):
    """The tolerance without what is kept, or without that of some scales."""
    kept = {} if scales is None else {s: k for s, k in tolerance.accepted.kept.items() if s not in scales}
    return replace(tolerance, accepted=replace(tolerance.accepted, kept=kept))


def test_a_check_gives_the_same_numbers_with_what_is_kept_and_without(tolerance):
    kept, anew = (each.check(REFERENCE, CANDIDATE) for each in (tolerance, without(tolerance)))
    assert differences(kept, anew) == []


def test_only_what_involves_the_candidate_is_summed(tolerance, summed):
    tolerance.check(REFERENCE, CANDIDATE)
    assert summed
    assert summed.finer
    assert all(len(CANDIDATE) in part for part in [*summed, *summed.finer])


def test_it_is_kept_at_the_scales_that_are_compared(tolerance):
    finer = [each.scale for each in tolerance.scales if not each.too_fine]
    assert finer
    assert list(tolerance.accepted.kept) == [1.0, *finer]


def test_without_one_of_several_scales_all_of_them_are_computed_anew(tolerance, summed):
    found = without(tolerance, scales=[0.5]).check(REFERENCE, CANDIDATE)
    assert all(len(CANDIDATE) in part for part in summed)
    assert (700,) in summed.finer
    assert differences(found, tolerance.check(REFERENCE, CANDIDATE)) == []


@pytest.mark.parametrize("change", ["a number", "the order", "a row less", "the type of numbers"])
def test_sums_of_other_rows_are_computed_anew(tolerance, summed, change):
    other = {
        "a number": np.vstack([REFERENCE[:-1], REFERENCE[-1:] + 1e-6]),
        "the order": REFERENCE[::-1],
        "a row less": REFERENCE[:-1],
        "the type of numbers": REFERENCE.astype("float32"),
    }[change]
    found = tolerance.check(other, CANDIDATE.astype(other.dtype))
    assert (len(other),) in summed
    assert (700,) in summed.finer
    assert differences(found, without(tolerance).check(other, CANDIDATE.astype(other.dtype))) == []


def test_an_engine_of_another_precision_computes_anew(tolerance, summed):
    tolerance.check(REFERENCE, CANDIDATE, engine=Tiles(dtype="float32"))
    assert (ROWS,) in summed
    assert (700,) in summed.finer


def test_what_is_kept_stays_after_more_was_accepted(tolerance, summed):
    wider = tolerance.accepting({"winter": rows(3, -0.5, 180)})
    del summed[:]
    found = wider.check(REFERENCE, CANDIDATE)
    assert (ROWS,) not in summed
    assert (ROWS, len(ACCEPTED)) not in summed
    assert (ROWS, 180) in summed
    assert list(wider.accepted.kept) == [1.0]  # finer scales may have other rows of each now
    assert differences(found, without(wider).check(REFERENCE, CANDIDATE)) == []


@pytest.fixture
def content(tolerance, tmp_path):
    """What stands in its file."""
    tolerance.save(tmp_path / "tolerance.json")
    return json.loads((tmp_path / "tolerance.json").read_bytes())


def loaded(content, tmp_path):
    """Return the tolerance of a file with this content."""
    (tmp_path / "other.json").write_bytes(sealed(rendered(content)))
    return nammd.Tolerance.load(tmp_path / "other.json")


def test_a_file_without_them_is_read(tolerance, content, tmp_path):
    assert content["accepted"].pop("kept")["reference"] == tolerance.origin.digest
    older = loaded(content, tmp_path)
    assert not older.accepted.kept
    assert differences(older.check(REFERENCE, CANDIDATE), tolerance.check(REFERENCE, CANDIDATE)) == []


def test_a_file_with_those_of_the_main_scale_alone_is_read(tolerance, content, tmp_path):
    assert content["accepted"]["kept"].pop("finer")
    older = loaded(content, tmp_path)
    assert list(older.accepted.kept) == [1.0]
    assert differences(older.check(REFERENCE, CANDIDATE), tolerance.check(REFERENCE, CANDIDATE)) == []


def test_a_file_gives_the_same_sums(tolerance, content, tmp_path):
    again = loaded(content, tmp_path).accepted.kept
    assert list(again) == list(tolerance.accepted.kept)
    for scale, kept in tolerance.accepted.kept.items():
        assert again[scale].reference == kept.reference
        assert [*again[scale].within] == sorted(kept.within)
        for part, sums in kept.between.items():
            np.testing.assert_array_equal(again[scale].between[part].rows, sums.rows)
            np.testing.assert_array_equal(again[scale].between[part].cols, sums.cols)


def test_sums_of_too_few_rows_are_refused(content, tmp_path):
    content["accepted"]["kept"]["within"][0]["rows"] = "AAAAAAAA8D8="
    with pytest.raises(ValueError, match="800 numbers, not 1"):
        loaded(content, tmp_path)


def test_at_finer_scales_too(content, tmp_path):
    content["accepted"]["kept"]["finer"][0]["within"][0]["rows"] = "AAAAAAAA8D8="
    with pytest.raises(ValueError, match="700 numbers, not 1"):
        loaded(content, tmp_path)


def test_finer_scales_with_other_parts_are_refused(content, tmp_path):
    content["accepted"]["kept"]["finer"][0]["between"].pop()
    with pytest.raises(ValueError, match="the same parts at every scale"):
        loaded(content, tmp_path)


def test_no_more_numbers_are_kept_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(kept_sums, "MOST_NUMBERS", 1_250)
    kept = nammd.Tolerance.from_reference(REFERENCE, ACCEPTED, margin=0.01).accepted.kept[1.0]
    numbers = sum(len(each.rows) for each in kept.within.values())
    numbers += sum(len(each.rows) + len(each.cols) for each in kept.between.values())
    assert list(kept.within) == [0]  # what spares most of the work
    assert ROWS <= numbers <= 1_250


def test_sums_of_few_rows_are_not_kept():
    few = nammd.Tolerance.from_reference(rows(0, 0.0, 300), ACCEPTED, margin=0.02)
    assert not few.accepted.kept
