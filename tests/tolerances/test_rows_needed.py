"""The advice of an undecided check can be followed: it says what limits the answer."""

from unittest.mock import patch

import numpy as np
import pytest

import nammd
from nammd.tolerances.forecasting import MOST, REALISTIC, Needed, Setting
from tests.simulate import KERNEL


def draw(rng, shift, rows):
    return rng.normal(shift, 1.0, size=(rows, 1))


def undecided(epsilon, shift, m, n, seed=0):
    """The first undecided check of candidates at some distance, against a margin that is a number."""
    rng = np.random.default_rng(seed)
    tolerance = nammd.Tolerance.at(epsilon, KERNEL, n_columns=1)
    for _ in range(40):
        verdict = tolerance.check(draw(rng, 0.0, m), draw(rng, shift, n))
        if verdict.decision == "UNDECIDED":
            return verdict
    raise AssertionError("all were decided")


@pytest.mark.parametrize("shift", [0.0, 0.2, 0.35, 0.7])
@pytest.mark.parametrize(("m", "n"), [(1000, 40), (200, 200), (100, 1000)])
def test_it_never_asks_for_fewer_rows_than_there_are(shift, m, n):
    verdict = undecided(0.02, shift, m, n)
    if verdict.details.rows_needed is not None:
        reference, candidate = verdict.details.rows_needed
        assert reference >= m
        assert candidate >= n
        assert max(reference, candidate) <= REALISTIC * max(m, n, 500)
    else:
        assert verdict.details.limited_by is not None
        assert "will not help" in verdict.advice()


def test_rows_that_nobody_will_get_are_not_asked_for():
    verdict = undecided(0.02, 0.55, 2000, 2000)
    assert (verdict.details.rows_needed, verdict.details.limited_by) == (None, "distance")
    assert verdict.advice() == "More data will not help: the difference is almost exactly the tolerance."


def test_where_the_reference_is_in_the_way_it_says_so():
    verdict = undecided(0.01, 0.2, 60, 2000)
    assert verdict.details.rows_needed is not None
    assert verdict.details.rows_needed[0] > 60
    assert verdict.advice().startswith("More candidate rows alone will not help: about ")
    assert "reference rows (60 now)" in verdict.advice()


def test_where_the_candidate_is_in_the_way_only_its_rows_are_asked_for():
    verdict = undecided(0.02, 0.3, 3000, 60, seed=1)
    reference, candidate = verdict.details.rows_needed
    assert reference == 3000
    assert verdict.advice() == f"Check again with about {candidate} candidate rows (60 now; for 80 % power)."


def test_rows_that_are_asked_for_settle_it():
    verdict = undecided(0.02, 0.3, 3000, 60, seed=1)
    setting, (_, candidate) = verdict.details.setting, verdict.details.rows_needed
    assert setting.decided(candidate, max(verdict.distance, 0.0), frozen=True) >= 0.8
    assert setting.decided(round(candidate / 1.2), max(verdict.distance, 0.0), frozen=True) < 0.8


def test_as_many_rows_as_there_are_are_told_as_that():
    told = Needed((300, 80), None, None, (300, 80)).sentence(
        nammd.Tolerance.at(0.02, KERNEL, n_columns=1).bars[0]
    )
    assert told == "A few more rows should be enough: samples of these sizes mostly are."


@pytest.mark.parametrize("shift", [0.0, 0.25, 0.42])
def test_it_takes_few_forecasts(shift):
    verdict = undecided(0.02, shift, 300, 40)
    with patch.object(Setting, "decided", autospec=True, side_effect=Setting.decided) as asked:
        verdict.details.setting.needed(max(verdict.distance, 0.0), 0.8)
    assert asked.call_count <= 16


def test_no_more_than_so_many_rows_are_realistic():
    assert REALISTIC == 20
    assert MOST == 10**7
