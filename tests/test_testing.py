"""Assertions for other people's test suites."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.testing import assert_close, assert_within, require_close
from pytest_nammd.gates import Gates

TOLERANCE = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2)


def draw(shift, rows=400):
    return np.random.default_rng(int(10 * shift) + rows).normal(shift, 1, size=(rows, 2))


def test_close_data_pass_and_the_verdict_is_returned():
    assert assert_close(draw(0), draw(0.1), TOLERANCE).decision == "CLOSE"


def test_far_data_fail_with_the_verdict_in_words():
    with pytest.raises(AssertionError, match="FAR: the candidate is beyond the tolerance"):
        assert_close(draw(0), draw(1), TOLERANCE)


def test_undecided_fails_unless_told_otherwise():
    x, y = draw(0, 20), draw(0.3, 25)
    with pytest.raises(AssertionError, match="UNDECIDED"):
        assert_close(x, y, TOLERANCE)
    assert assert_close(x, y, TOLERANCE, undecided="pass").decision == "UNDECIDED"
    with pytest.raises(ValueError, match="undecided must be"):
        assert_close(x, y, TOLERANCE, undecided="maybe")


def test_a_file_will_do_for_the_tolerance(tmp_path):
    TOLERANCE.save(tmp_path / "t.json")
    assert_close(draw(0), draw(0.1), tmp_path / "t.json")
    assert_close(draw(0), draw(0.1), str(tmp_path / "t.json"))


def test_within_a_margin():
    assert_within(draw(0), draw(0.1), epsilon=0.05)
    with pytest.raises(AssertionError, match="Not proven that the two datasets are closer"):
        assert_within(draw(0), draw(1), epsilon=0.05)
    with pytest.raises(ValueError, match="epsilon must be"):
        assert_within(draw(0), draw(1), epsilon=5)


def people(rows, seed, new=0):
    rng = np.random.default_rng(seed)
    city = rng.choice(["Ulm", "Bonn", "Trier"], rows)
    city[:new] = "Rome"
    return pa.table({"age": rng.normal(45, 12, rows), "city": city})


def with_plugin(x, y, tolerance, undecided="fail", **options):
    item = SimpleNamespace(name="test", nodeid="test", user_properties=[])
    gates = Gates(item, Path(), {"reference": "", "tolerance": ""}, {}, None)
    return gates(x, tolerance, undecided=undecided, **options).assert_close(y)


@pytest.mark.parametrize("undecided", ["fail", "pass"])
@pytest.mark.parametrize("ask", [assert_close, with_plugin])
def test_both_fail_on_the_facts_that_the_tolerance_names(ask, undecided):
    x, y = people(300, 1), people(300, 2, new=1)  # one row of 300, which is below the usual share
    tolerance = nammd.Tolerance.at(0.2, space=nammd.Space.fit(x))
    strict = tolerance.with_facts(fail_on=("new-categories",))
    assert ask(x, y, tolerance, undecided=undecided).is_close
    with pytest.raises(AssertionError, match="Rome"):
        ask(x, y, strict, undecided=undecided)
    with pytest.raises(AssertionError, match="Rome"):
        ask(x, y, tolerance, undecided=undecided, fail_on=("new-categories",))
    assert ask(x, y, strict, undecided=undecided, allow=("new-categories",)).is_close
    with pytest.raises(AssertionError, match="UNDECIDED"):
        ask(x, x, tolerance, undecided=undecided)  # a copy proves nothing, whoever asks


def test_one_function_decides_for_both():
    from pytest_nammd import gates

    assert gates.require_close is require_close


def test_the_plugin_shows_no_password(tmp_path):
    tolerance = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2)
    item = SimpleNamespace(name="test", nodeid="test", user_properties=[])
    gates = Gates(item, tmp_path, {"reference": "", "tolerance": ""}, {}, None)
    with pytest.raises((ValueError, OSError)) as caught:
        gates(draw(0), tolerance).check("https://me:Zwiebel@127.0.0.1:9/x.npy?sig=geheim")
    for text in (str(caught.value), str(item.user_properties)):
        assert "https://127.0.0.1:9/x.npy" in text
        assert "Zwiebel" not in text
        assert "geheim" not in text
