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
from nammd.tolerances.kept_sums import KeptSums
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
        patch.object(accepted_file, "MOST_MOVED", 500),
    ):
        yield


@pytest.fixture(scope="module")
def tolerance():
    return nammd.Tolerance.from_reference(REFERENCE, {"summer": ACCEPTED}, margin=0.01)


@pytest.fixture
def summed(monkeypatch):
    """The parts that are summed at the main scale, by their numbers of rows."""
    parts, plain = [], Tiles.many_sums

    def many_sums(self, kernels, *given):
        if len(kernels) == 1:
            parts.extend(tuple(len(each) for each in part) for part in given)
        return plain(self, kernels, *given)

    monkeypatch.setattr(Tiles, "many_sums", many_sums)
    return parts


def without(tolerance):
    return replace(tolerance, accepted=replace(tolerance.accepted, kept=KeptSums()))


def test_a_check_gives_the_same_numbers_with_what_is_kept_and_without(tolerance):
    kept, anew = (each.check(REFERENCE, CANDIDATE) for each in (tolerance, without(tolerance)))
    assert differences(kept, anew) == []


def test_only_what_involves_the_candidate_is_summed(tolerance, summed):
    tolerance.check(REFERENCE, CANDIDATE)
    assert summed
    assert all(len(CANDIDATE) in part for part in summed)


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
    assert differences(found, without(tolerance).check(other, CANDIDATE.astype(other.dtype))) == []


def test_an_engine_of_another_precision_computes_anew(tolerance, summed):
    tolerance.check(REFERENCE, CANDIDATE, engine=Tiles(dtype="float32"))
    assert (ROWS,) in summed


def test_what_is_kept_stays_after_more_was_accepted(tolerance, summed):
    wider = tolerance.accepting({"winter": rows(3, -0.5, 180)})
    del summed[:]
    found = wider.check(REFERENCE, CANDIDATE)
    assert (ROWS,) not in summed
    assert (ROWS, len(ACCEPTED)) not in summed
    assert (ROWS, 180) in summed
    assert differences(found, without(wider).check(REFERENCE, CANDIDATE)) == []


def test_a_file_without_them_is_read(tolerance, tmp_path):
    tolerance.save(tmp_path / "tolerance.json")
    content = json.loads((tmp_path / "tolerance.json").read_bytes())
    assert content["accepted"].pop("kept")["reference"] == tolerance.origin.digest
    (tmp_path / "older.json").write_bytes(sealed(rendered(content)))
    older = nammd.Tolerance.load(tmp_path / "older.json")
    assert not older.accepted.kept.reference
    assert differences(older.check(REFERENCE, CANDIDATE), tolerance.check(REFERENCE, CANDIDATE)) == []


def test_sums_of_too_few_rows_are_refused(tolerance, tmp_path):
    tolerance.save(tmp_path / "tolerance.json")
    content = json.loads((tmp_path / "tolerance.json").read_bytes())
    content["accepted"]["kept"]["within"][0]["rows"] = "AAAAAAAA8D8="
    (tmp_path / "tolerance.json").write_bytes(sealed(rendered(content)))
    with pytest.raises(ValueError, match="800 numbers, not 1"):
        nammd.Tolerance.load(tmp_path / "tolerance.json")


def test_no_more_numbers_are_kept_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(kept_sums, "MOST_NUMBERS", 1_250)
    kept = nammd.Tolerance.from_reference(REFERENCE, ACCEPTED, margin=0.01).accepted.kept
    numbers = sum(len(each.rows) for each in kept.within.values())
    numbers += sum(len(each.rows) + len(each.cols) for each in kept.between.values())
    assert list(kept.within) == [0]  # what spares most of the work
    assert ROWS <= numbers <= 1_250


def test_sums_of_few_rows_are_not_kept():
    few = nammd.Tolerance.from_reference(rows(0, 0.0, 300), ACCEPTED, margin=0.02)
    assert not few.accepted.kept.reference
