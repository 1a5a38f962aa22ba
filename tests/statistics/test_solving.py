"""A root in a bracket, and least squares without minus, against SciPy's."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq, nnls

from nammd.statistics.solving import nonnegative_least_squares, root_between


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (lambda x: x**3 - 2, 0.0, 5.0),
        (lambda x: math.log(max(x, 1e-300) / 0.05), 1e-5, 1.0),
        (lambda x: math.erf(5 * x - 1) - 0.2, 0.0, 2.0),
        (lambda x: x - 1e-7, 0.0, 1.0),
        (lambda x: 1 - x, 3.0, 0.5),
    ],
)
def test_a_root_is_that_of_scipy(function: Callable[[float], float], low: float, high: float) -> None:
    found = root_between(function, (low, function(low)), (high, function(high)))
    assert found == pytest.approx(brentq(function, low, high, xtol=1e-18, rtol=1e-14), rel=1e-13, abs=1e-16)


def test_a_function_that_jumps_has_its_root_where_it_jumps() -> None:
    assert root_between(lambda x: -1.0 if x < 0.3 else 5.0, (0.0, -1.0), (1.0, 5.0)) == pytest.approx(0.3)


def test_a_root_at_zero_ends() -> None:
    assert abs(root_between(math.atan, (-1.0, math.atan(-1.0)), (2.0, math.atan(2.0)))) < 1e-17


@pytest.mark.parametrize("heavy", [0.0, 1e4])
def test_least_squares_are_those_of_scipy(heavy: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        count = int(rng.integers(1, 9))
        matrix = rng.normal(size=(count + int(rng.integers(0, 4)), count))
        matrix, target = np.vstack([matrix, np.full(count, heavy)]), rng.normal(size=len(matrix) + 1)
        target[-1] = heavy
        found = nonnegative_least_squares(matrix, target)
        assert (found >= 0).all()
        np.testing.assert_allclose(found, nnls(matrix, target)[0], rtol=0, atol=1e-9)


def test_nothing_is_wanted_of_columns_that_lead_away() -> None:
    found = nonnegative_least_squares(-np.eye(3), np.ones(3))
    np.testing.assert_array_equal(found, np.zeros(3))
