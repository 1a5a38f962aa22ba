"""The laws of `nammd.statistics.tails` against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from nammd.statistics.tails import MOST, gamma_tails, normal_below, normal_scores

SHAPES = [1e-3, 0.3, 1.0, 2.5, 15.0, 70.0, 999.0, 1.9e3, 3e6]


def test_normal_tails_have_all_digits_far_out() -> None:
    scores = np.linspace(-37.0, 9.0, 2001)
    np.testing.assert_allclose(normal_below(scores), special.ndtr(scores), rtol=2e-13)


def test_one_by_one_or_many_at_once_is_the_same() -> None:
    scores = np.random.default_rng(0).normal(size=(2, MOST // 2 + 1)) * 3
    np.testing.assert_allclose(normal_below(scores)[0], normal_below(scores[0]), rtol=1e-14)


def test_normal_scores_undo_the_normal_law() -> None:
    shares = np.r_[1e-12, np.linspace(1e-6, 1 - 1e-6, 401)]
    np.testing.assert_allclose(normal_scores(shares), special.ndtri(shares), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("shape", SHAPES)
def test_gamma_tails_are_those_of_scipy(shape: float) -> None:
    spread = np.sqrt(shape)
    place = np.maximum(shape + spread * np.linspace(-12.0, 30.0, 1001), 0.0)
    below, above = gamma_tails(np.full(len(place), shape), place)
    np.testing.assert_allclose(below, special.gammainc(shape, place), rtol=2e-11, atol=1e-300)
    np.testing.assert_allclose(above, special.gammaincc(shape, place), rtol=2e-11, atol=1e-300)


def test_nothing_is_below_zero_nor_above_infinity() -> None:
    below, above = gamma_tails(np.full(3, 2.0), np.array([0.0, np.inf, np.nan]))
    np.testing.assert_array_equal(below, [0.0, 1.0, np.nan])
    np.testing.assert_array_equal(above, [1.0, 0.0, np.nan])
