"""The level where rows belong together, in a small part of the study; a naive variance fails it.

The rows are single precision: their kernel values, most of the work, then cost a third.
"""

from functools import cache
from itertools import islice

import numpy as np
import pytest
from experiments.calibration.group_data import Grouped, in_both, in_groups, series

import nammd
from nammd.datasets import known_pair
from nammd.engines.blas import single_threaded_blas
from tests.simulate import Grams, pair_of_groups, pvalue

REPETITIONS, ENGINE = 100, nammd.Tiles(threads=1)


def in_time(pair, rng, rows, _, memory):
    """Two series in the order of time."""
    x, y = (series(law, rng, rows, memory) for law in (pair.p, pair.q))
    return Grouped(x, y, nammd.TimeBlocks())


def drawn(kind, law, margin, groups, correlation):
    """Draw pairs of samples at a margin, in single precision."""
    pair, rng = known_pair(law, margin), np.random.default_rng([groups, round(1000 * margin)])
    sizes = "uneven" if kind == "uneven" else "unequal"
    while True:
        data = KINDS[kind](pair, rng, groups, sizes, correlation)
        yield data._replace(x=data.x.astype(np.float32), y=data.y.astype(np.float32)), pair.kernel


def pairs_of(data, kernel):
    """The pair by groups and the pair by rows, from one Gram matrix; of a series by the public function."""
    x, y = (rows.reshape(len(rows), -1) for rows in (data.x, data.y))
    single = Grams.of(x, y, kernel)
    grams = Grams(*(part.astype(float) for part in (single.x, single.y, single.cross)), single.bound)
    if isinstance(data.groups, nammd.TimeBlocks):
        together = nammd.distance(x, y, groups=data.groups, kernel=kernel, engine=ENGINE).pair
    else:
        together = pair_of_groups(x, y, grams, data.groups)
    return together, grams.pair(x, y)


@cache
def rates(*case):
    """How often each test rejects at the boundary: with groups, and without."""
    margin, found = case[2], []
    with single_threaded_blas:
        for data, kernel in islice(drawn(*case), REPETITIONS):
            both = pairs_of(data, kernel)
            found.append([pvalue(pair, margin, side) for pair in both for side in ("greater", "less")])
    return np.mean(np.array(found) <= 0.05, axis=0)


KINDS = {"groups": in_groups, "uneven": in_groups, "both": in_both, "series": in_time}
CASES = [
    ("groups", "shifted normal", 0.05, 30, 0.6),
    ("groups", "exponential", 0.05, 30, 0.6),
    ("groups", "uniform", 0.3, 12, 0.6),
    # Groups of a kind that is easily missed, and which would bring the two laws closer.
    ("groups", "exponential", 0.3, 12, 0.6),
    ("groups", "rare stray", 0.3, 12, 0.6),
    # One group has half of all rows, and the skewness is its own.
    ("uneven", "concentrated normal", 0.005, 30, 0.6),
    # Distances near zero, where groups that are in both samples meet themselves.
    ("both", "exponential", 0.005, 30, 0.6),
    ("series", "rare stray", 0.05, 200, 0.7),
]


@pytest.mark.parametrize("case", CASES)
def test_the_pairs_are_those_of_the_public_function(case):
    for data, kernel in islice(drawn(*case), 3):
        how = {"kernel": kernel, "engine": ENGINE}
        public = (
            nammd.distance(data.x, data.y, groups=data.groups, **how),
            nammd.distance(data.x, data.y, **how),
        )
        for one, other in zip(pairs_of(data, kernel), public, strict=True):
            for side in ("greater", "less"):
                # Of a large group some rows stand for all in the terms of higher order.
                near = {"abs": 0.01} if case[0] == "uneven" else {"rel": 1e-3}
                assert pvalue(one, case[2], side) == pytest.approx(pvalue(other.pair, case[2], side), **near)


@pytest.mark.parametrize(("kind", "law", "margin", "groups", "correlation"), CASES)
def test_tests_of_groups_hold_their_level(kind, law, margin, groups, correlation):
    greater, less, *_ = rates(kind, law, margin, groups, correlation)
    wanted = 0.065 if groups >= 30 else 0.08
    noise = np.sqrt(wanted * (1 - wanted) / REPETITIONS)
    assert max(greater, less) < wanted + 2 * noise


@pytest.mark.parametrize(("kind", "law", "margin", "groups", "correlation"), CASES)
def test_and_those_of_single_rows_do_not(kind, law, margin, groups, correlation):
    *_, greater, less = rates(kind, law, margin, groups, correlation)
    assert max(greater, less) > 0.12


@pytest.mark.parametrize(("law", "least"), [("uniform", 35), ("concentrated normal", 45)])
def test_and_find_a_small_difference_where_rows_of_a_group_are_independent(law, least):
    # There the influences of groups are small, and a bias of their third cumulant would count for much.
    pair, rng, found = known_pair(law, 0.01), np.random.default_rng(1), 0
    for _ in range(60):
        data = in_groups(pair, rng, 30, "unequal", 0.0)
        estimate = nammd.distance(data.x, data.y, groups=data.groups, kernel=pair.kernel)
        found += pvalue(estimate.pair, 0.005) <= 0.05
    assert found > least
