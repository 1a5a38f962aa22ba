"""Comparing pairs: formulas, level with independent and shared data, and recognition of sharing."""

import math
from functools import cache
from itertools import islice

import numpy as np
import pytest

import nammd
from nammd.datasets.laws import mixtures as laws
from nammd.engines.blas import single_threaded_blas
from nammd.statistics.difference import Difference
from tests.simulate import KERNEL, noise, pair_of, pairs_of, pvalue

REPETITIONS = 500


def data(rng, *shifts, size=80):
    return [rng.normal(s, 0.5, size=(size, 2)) for s in shifts]


def test_the_difference_and_its_parts():
    x, a, b = data(np.random.default_rng(0), 0, 0.3, 0.8)
    result = nammd.compare_pairs((x, a), (x, b), kernel=KERNEL)
    first, second = (nammd.distance(x, z, kernel=KERNEL).value for z in (a, b))
    assert result.first.value == pytest.approx(first, rel=1e-12)
    assert result.difference == pytest.approx(second - first, rel=1e-10)
    assert result.statistic == pytest.approx(result.difference / result.standard_error)
    assert result.rejected
    assert result.pvalue < 1e-3
    low, high = result.confidence_interval(0.95)
    assert low < result.difference < high


def test_swapping_the_pairs_turns_the_answer_round():
    x, a, b = data(np.random.default_rng(1), 0, 0.3, 0.4)
    forward = nammd.compare_pairs((x, a), (x, b))
    backward = nammd.compare_pairs((x, b), (x, a))
    assert forward.difference == pytest.approx(-backward.difference)
    assert forward.pvalue == pytest.approx(1 - backward.pvalue)
    less = nammd.compare_pairs((x, b), (x, a), alternative="less")
    assert less.pvalue == pytest.approx(forward.pvalue)
    both = nammd.compare_pairs((x, a), (x, b), alternative="two-sided")
    assert both.pvalue == pytest.approx(2 * min(forward.pvalue, backward.pvalue))


@pytest.mark.parametrize("place", range(4))
def test_a_shared_dataset_is_recognised_wherever_it_stands(place):
    x, a, b = data(np.random.default_rng(2), 0, 0.3, 0.4)
    first, second = [((x, a), (x, b)), ((a, x), (x, b)), ((x, a), (b, x)), ((a, x), (b, x))][place]
    result = nammd.compare_pairs(first, second, kernel=KERNEL)
    assert result.shared
    expected = nammd.compare_pairs((x, a), (x, b), kernel=KERNEL)
    assert result.pvalue == pytest.approx(expected.pvalue, rel=1e-9)


def test_a_copy_is_shared_only_if_said_so():
    x, a, b = data(np.random.default_rng(3), 0, 0.3, 0.4)
    apart = nammd.compare_pairs((x, a), (x.copy(), b), kernel=KERNEL)
    told = nammd.compare_pairs((x, a), (x.copy(), b), kernel=KERNEL, shared=True)
    known = nammd.compare_pairs((x, a), (x, b), kernel=KERNEL)
    assert not apart.shared
    assert told.standard_error == known.standard_error != apart.standard_error


def test_the_influence_form_gives_nearly_the_same_standard_error():
    """The variance of a difference is the sum of squared differences of influences."""
    x, a, b = data(np.random.default_rng(4), 0, 0.5, 0.9, size=1500)
    result = nammd.compare_pairs((x, a), (x, b), kernel=KERNEL)
    one, two = result.first, result.second
    squares = (
        np.sum((two.influence_x - one.influence_x) ** 2)
        + np.sum(one.influence_y**2)
        + np.sum(two.influence_y**2)
    )
    linear = result.rule.variance_parts[0]
    assert np.sqrt(linear) == pytest.approx(np.sqrt(squares), rel=0.01)
    # Corresponding samples borrow from each other, which only ever adds.
    assert np.sqrt(squares) < result.standard_error < 1.3 * np.sqrt(squares)


def drawn(shared):
    """Draw samples at equal distances, and the pairs of them that share a sample or none."""
    p, q = laws.pair_at("concentrated normal", 0.1)
    rng = np.random.default_rng(5)
    for _ in range(REPETITIONS):
        x1, y1, y2 = p.sample(rng, 80), q.sample(rng, 80), q.sample(rng, 80)
        x2 = x1 if shared else p.sample(rng, 80)
        pairs = pairs_of(x1, y1, y2) if shared else [pair_of(x1, y1), pair_of(x2, y2)]
        yield (x1, y1, x2, y2), pairs


def larger(first, second, shared):
    """The p-value of "the second distance is larger"."""
    return Difference.of(first, second, shared).swapped.closer()


@cache
@single_threaded_blas
def pvalues(shared):
    """Those p-values as they are, as if nothing was shared, and with the first distance taken as known."""
    found = [
        (
            larger(*pairs, shared),
            larger(*pairs, False) if shared else math.nan,
            math.nan if shared else pvalue(pairs[1], pairs[0].value),
        )
        for _, pairs in drawn(shared)
    ]
    return np.array(found).T


@pytest.mark.parametrize("shared", [True, False])
def test_the_rules_are_those_of_the_public_function(shared):
    for number, ((x1, y1, x2, y2), _) in enumerate(islice(drawn(shared), 8)):
        result = nammd.compare_pairs((x1, y1), (x2, y2), kernel=KERNEL)
        assert result.shared is shared
        assert result.pvalue == pytest.approx(pvalues(shared)[0][number], rel=1e-9)
        assert result.rejected is (result.pvalue <= 0.05)


def test_level_with_a_shared_dataset_and_without():
    slack = 3 * noise(0.05, REPETITIONS) + 0.006
    with_covariance, as_if_independent, _ = np.mean(pvalues(True) <= 0.05, axis=1)
    assert abs(with_covariance - 0.05) <= slack
    # Ignoring the covariance wastes power.
    assert as_if_independent < with_covariance - 0.015
    assert abs(np.mean(pvalues(False)[0] <= 0.05) - 0.05) <= slack


def test_treating_an_estimated_margin_as_known_is_not_safe():
    """Why compare_pairs exists: the same comparison with epsilon plugged in over-rejects."""
    *_, plugged_in = pvalues(False)
    assert np.mean(plugged_in <= 0.05) > 0.05 + 3 * noise(0.05, REPETITIONS) + 0.02


def test_unequal_sizes_work():
    rng = np.random.default_rng(6)
    x1, y1, x2, y2 = (rng.normal(s, 1, size=(k, 2)) for s, k in ((0, 50), (0.2, 70), (0, 90), (1, 30)))
    assert nammd.compare_pairs((x1, y1), (x2, y2)).rejected


def test_mmd2_can_be_compared_too():
    x, a, b = data(np.random.default_rng(8), 0, 0.3, 0.8)
    result = nammd.compare_pairs((x, a), (x, b), metric="mmd2")
    assert result.rejected
    assert result.first.metric == "mmd2"
