"""Verdicts hold their level where the tolerance was estimated, at every ratio of sizes.

Accepted data and candidate are exactly equally far from the reference, so that every FAR and every CLOSE
is wrong. The whole study stands in ``experiments/calibration/estimated.py``; these are settings where it is
not enough to know the variance of the difference, and some where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from experiments.calibration.cases import Sizes, case_of
from experiments.calibration.plain_rule import plain_pvalues

import nammd
from nammd.engines.blas import single_threaded_blas
from nammd.statistics.difference import Difference
from nammd.statistics.pair import Pair
from nammd.tolerances.bars import Accepted
from nammd.tolerances.decision import Held, combined
from tests.simulate import noise, pairs_of

ALPHA = 0.05

FALSELY_FAR = [
    ("exponential", 0.3, "250:40"),
    ("uneven spread", 0.05, "20:200"),
    ("rare value: more often or up", 0.05, "50:50"),
    ("rare value: more often or up", 0.05, "20:200"),
]
"""Where the plain rule says FAR too often."""

SLIGHTLY = FALSELY_FAR[1:3]
"""Where it does so only in one of nine cases: fewer draws would not show it."""

FALSELY_CLOSE = [
    ("rare stray", 0.05, "20:200"),
    ("rare value: more often or up, turned", 0.01, "500:50"),
]
"""Where one in eight accepted samples has none of the rare rows, and so no variance at all; and where a
candidate with too few rare rows is both closer and less variable than it should be."""

HARMLESS = [
    ("shifted normal", 0.05, "50:50"),
    ("five columns", 0.05, "20:100"),
    ("normal: up or wider", 0.02, "100:50"),
]


def repetitions(*setting: object) -> int:
    return 250 if setting in SLIGHTLY else 150


def highest(*setting: object) -> float:
    """The highest rate of errors that is not too often."""
    return ALPHA + 3 * noise(ALPHA, repetitions(*setting)) + 0.006


class Rates(NamedTuple):
    far: float
    close: float
    plain_far: float
    covers: float
    far_of_two: float
    close_of_two: float


def _drawn(law: str, margin: float, size: str) -> Iterator[list[Pair]]:
    """The reference with two accepted datasets and with the candidate."""
    case, rng, sizes = case_of(law, margin), np.random.default_rng(11), Sizes.of(size)
    assert case is not None
    with single_threaded_blas:
        for _ in range(repetitions(law, margin, size)):
            x, *ys = (
                rows.reshape(len(rows), -1)
                for rows in (
                    case.reference.sample(rng, sizes.reference),
                    case.accepted.sample(rng, sizes.accepted),
                    case.accepted.sample(rng, sizes.accepted),
                    case.candidate.sample(rng, sizes.candidate),
                )
            )
            yield pairs_of(x, *ys, kernel=case.kernel)


@cache
def _rates(law: str, margin: float, size: str) -> Rates:
    pvalues, plain, of_two = [], [], []
    for *accepted, candidate in _drawn(law, margin, size):
        rules = [Difference.of(each, candidate, True) for each in accepted]
        both = [(rule.closer(), rule.swapped.closer()) for rule in rules]
        pvalues.append(both[0])
        plain.append(plain_pvalues(rules[0])[1])
        held = [Held.of(Accepted("", pair), *each) for pair, each in zip(accepted, both, strict=True)]
        of_two.append(combined(held))
    close, far = np.mean(np.array(pvalues) <= ALPHA, axis=0)
    close_of_two, far_of_two = np.mean(np.array(of_two) <= ALPHA, axis=0)
    covers = np.mean(np.min(pvalues, axis=1) > ALPHA / 2)
    return Rates(far, close, np.mean(np.array(plain) <= ALPHA), covers, far_of_two, close_of_two)


@pytest.mark.parametrize(("law", "margin", "size"), FALSELY_FAR)
def test_far_is_not_said_too_often_where_the_plain_rule_says_it(law, margin, size):
    rates = _rates(law, margin, size)
    assert rates.plain_far > highest(law, margin, size)
    assert rates.far <= highest(law, margin, size)


@pytest.mark.parametrize(("law", "margin", "size"), FALSELY_FAR + FALSELY_CLOSE + HARMLESS)
def test_close_is_not_said_too_often(law, margin, size):
    assert _rates(law, margin, size).close <= highest(law, margin, size)


@pytest.mark.parametrize(("law", "margin", "size"), HARMLESS)
def test_where_all_is_well_far_is_not_merely_silent(law, margin, size):
    assert 0.008 <= _rates(law, margin, size).far <= highest(law, margin, size)


@pytest.mark.parametrize(("law", "margin", "size"), FALSELY_FAR + FALSELY_CLOSE + HARMLESS)
def test_the_interval_of_the_difference_covers(law, margin, size):
    assert _rates(law, margin, size).covers >= 0.95 - 3 * noise(0.95, repetitions(law, margin, size))


@pytest.mark.parametrize(("law", "margin", "size"), FALSELY_FAR + FALSELY_CLOSE + HARMLESS)
def test_two_accepted_datasets_hold_the_level_too(law, margin, size):
    rates = _rates(law, margin, size)
    assert rates.close_of_two <= highest(law, margin, size)
    assert rates.far_of_two <= rates.far


def test_few_equal_rows_prove_nothing_about_rare_ones_and_many_do():
    rng, kernel = np.random.default_rng(2), nammd.Gaussian(1.0)
    x, mixed = rng.normal(size=(200, 1)), rng.choice([0.4, 2.4], (200, 1), p=[0.9, 0.1])
    for rows, decided in ((20, False), (400, True)):
        equal = np.full((rows, 1), 0.4)
        both = nammd.compare_pairs((x, equal), (x, mixed), kernel=kernel)
        assert max(both.rule.closer(), both.rule.swapped.closer()) >= 0.5
        assert (min(both.rule.closer(), both.rule.swapped.closer()) <= 0.05) is decided
        turned = nammd.compare_pairs((x, mixed), (x, equal), kernel=kernel)
        assert turned.rule.closer() == pytest.approx(both.rule.swapped.closer())


def test_a_candidate_that_is_all_zeros_is_far():
    rng = np.random.default_rng(2)
    x, accepted = rng.normal(size=(300, 2)), rng.normal(loc=0.5, size=(300, 2))
    tolerance = nammd.Tolerance.from_reference(x, accepted, how="ball")
    assert tolerance.check(x, np.zeros((60, 2))).is_far
