"""Assertions for other people's test suites."""

import numpy as np
import pytest

import nammd
from nammd.testing import assert_close, assert_within

TOLERANCE = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), columns=2)


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
