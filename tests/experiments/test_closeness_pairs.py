"""The helpers of the tables of closeness tests do what the tests of nammd do, only quicker."""

from pathlib import Path

import numpy as np
import pytest
from experiments.experiment import Context
from experiments.paper.closeness_pairs import (
    EQUAL,
    GAP,
    METHODS,
    Known,
    at_equal_level,
    rejections,
    rows_for,
    setting_at,
)
from experiments.paper.finite import Counting, FinitePair
from experiments.paper.natural_level import PAPER, STAND_INS

import nammd

KERNEL = nammd.Gaussian(0.7)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def points(rng):
    return rng.normal(size=(12, 2)), rng.normal(0.8, 1.0, size=(9, 2))


def _rows(points, x, y):
    """Return the rows that numbers of points stand for."""
    every = np.concatenate(points)
    return every[x[:, 0].astype(int)], every[y[:, 0].astype(int)]


@pytest.mark.parametrize("method", METHODS)
def test_tests_by_counting_are_those_of_the_rows_themselves(points, rng, method):
    pair = FinitePair.of(*points, KERNEL)
    x, y = pair.sample(40, rng)
    quick = nammd.paper.closeness_test(
        x, y, 0.1, kernel=pair.kernel, engine=Counting(), alternative="greater", **METHODS[method]
    )
    plain = nammd.paper.closeness_test(
        *_rows(points, x, y), 0.1, kernel=KERNEL, alternative="greater", **METHODS[method]
    )
    assert quick.statistic == pytest.approx(plain.statistic, rel=1e-9)
    assert quick.pvalue == pytest.approx(plain.pvalue, rel=1e-6)


def test_permutation_tests_by_counting_are_those_of_the_rows_themselves(points, rng):
    pair = FinitePair.of(*points, KERNEL)
    x, y = pair.sample(30, rng)
    quick = nammd.two_sample_test(x, y, kernel=pair.kernel, engine=Counting(), permutations=99, rng=1)
    plain = nammd.two_sample_test(*_rows(points, x, y), kernel=KERNEL, permutations=99, rng=1)
    assert quick.statistic == pytest.approx(plain.statistic, rel=1e-6)
    assert quick.pvalue == plain.pvalue


def test_sums_are_remembered_by_kernel_and_sample(points, rng):
    pair, wider = FinitePair.of(*points, KERNEL), FinitePair.of(*points, nammd.Gaussian(2.0))
    (x, y), engine = pair.sample(10, rng), Counting()
    first = engine.sums(pair.kernel, (x,), (y,), (x, y))
    assert engine.sums(pair.kernel, (x.copy(),))[0] is first[0]
    assert engine.sums(wider.kernel, (x,))[0].squares != first[0].squares
    assert engine.sums(pair.kernel, (y,))[0].squares != first[0].squares


def test_exact_distances_are_the_limits_of_estimates(points, rng):
    pair = FinitePair.of(*points, KERNEL)
    estimate = nammd.distance(*pair.sample(200_000, rng), kernel=pair.kernel, engine=Counting())
    assert pair.nammd == pytest.approx(estimate.value, abs=4 * estimate.standard_error)
    assert pair.mmd2 == pytest.approx(estimate.pair.moments.mmd2, rel=0.05)


def test_pairs_meet_the_conditions_and_can_be_told_apart(rng):
    context = Context(rng, "cpu", Path("data"))
    setting = setting_at("blob", 30, 0.3, KERNEL, KERNEL, context)
    assert setting.first.nammd == pytest.approx(0.3, abs=1e-6)
    assert setting.second.nammd == pytest.approx(0.3 + GAP, abs=1e-6)
    assert sum(setting.second.norms) > sum(setting.first.norms)
    assert setting.second.mmd2 > setting.first.mmd2
    known = Known.of(setting, KERNEL)
    rows = rows_for(known, 0.95, 5000, rng)
    found = rejections(dict.fromkeys(METHODS, known), rows, 16, rng)
    for name in METHODS:
        assert found[name]["level"].mean() < 0.2 < 0.7 < found[name]["power"].mean()
        assert found[name][EQUAL].shape == (16,)
    # An estimated margin costs power.
    assert found["compared"]["power"].mean() < found["our nammd"]["power"].mean()


def test_a_test_that_rejects_too_often_gains_nothing_at_equal_level(rng):
    level, power = rng.random(9999), rng.random(9999) ** 4
    honest, bold = at_equal_level(level, power), at_equal_level(level / 3, power / 3)
    assert np.array_equal(honest, bold)
    assert honest.mean() == pytest.approx(0.05**0.25, abs=0.02)
    assert at_equal_level(level, rng.random(9999)).mean() == pytest.approx(0.05, abs=0.01)
    assert not at_equal_level(level[:10], power).any()  # too few to say where the bar is


def test_every_variant_of_the_paper_has_a_stand_in():
    assert set(PAPER) == set(STAND_INS)
