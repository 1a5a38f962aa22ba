"""Numbers as people read them."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nammd
from nammd.results import number, share, share_of


@given(st.floats(min_value=1e-300, max_value=1e6), st.sampled_from([1, -1]))
def test_no_number_has_zeros_to_be_counted(value, sign):
    told = number(sign * value)
    assert not re.search(r"0\.0000", told)
    assert float(told) == pytest.approx(sign * value, rel=5e-3)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.006 * 0.02, "0.6 % of the tolerance"),
        (0.02, "100 % of the tolerance"),
        (0.04, "200 % of the tolerance"),
        (0.3, "15 times the tolerance"),
        (-0.001, "0 % of the tolerance"),
        (1e-9, "under 0.01 % of the tolerance"),
        (math.nan, "share of the tolerance not available"),
    ],
)
def test_a_distance_is_a_share_of_its_tolerance(value, told):
    assert share_of(value, 0.02, "tolerance") == told


def test_a_share_stays_short_however_far_it_is():
    assert max(len(share(value, 1e-9)) for value in (1e-12, 1e-9, 1e-3, 1.0)) <= 12


def test_verdicts_and_ladders_say_distances_as_shares():
    rng = np.random.default_rng(0)
    x, near, far = (rng.normal(shift, size=(200, 2)) for shift in (0.0, 0.5, 0.8))
    tolerance = nammd.Tolerance.from_reference(x, {"near": near, "far": far}, how="ball")
    told = dict(tolerance.lines())
    assert "100 % of the tolerance" in told["far"]
    assert re.search(r", \d\d % of the tolerance", told["near"])
    verdict = tolerance.check(x, rng.normal(0.1, size=(200, 2)))
    assert verdict.details.share_told() in verdict.headline()
    assert verdict.details.share_told() in dict(verdict.lines())["distance"]
    assert "100 % of the tolerance" in dict(verdict.lines())["against far"]
