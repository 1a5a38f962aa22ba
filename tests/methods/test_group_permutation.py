"""Relabelling whole groups."""

import numpy as np
import pytest

import nammd
from nammd.data.row_grouping import RowGrouping
from nammd.evidence import gather, prepare
from nammd.methods.group_permutation import Labelled, _strata
from nammd.questions.distance import Estimate


def drawn(rng, groups, correlation=0.7, shift=0.0):
    labels = np.repeat(np.arange(groups), rng.integers(1, 8, groups))
    points = np.sqrt(correlation) * rng.normal(size=(groups, 2))[labels]
    return points + np.sqrt(1 - correlation) * rng.normal(size=(len(labels), 2)) + shift, labels


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_statistic_is_the_distance(shared, weighted):
    rng = np.random.default_rng(0)
    (x, gx), (y, gy) = drawn(rng, 20), drawn(rng, 25, shift=0.5)
    gy = gy + (10 if shared else 100)
    weights = [rng.uniform(0.5, 2, len(g)) for g in (gx, gy)] if weighted else None
    how = {"groups": (gx, gy), "sample_weight": weights, "kernel": nammd.Gaussian(1.0)}
    found = nammd.two_sample_test(x, y, permutations=19, rng=0, **how)
    # Signs are float32, and so is what they are multiplied with.
    assert found.statistic == pytest.approx(nammd.distance(x, y, **how).value, rel=1e-5)


def test_every_relabelling_is_the_distance_of_relabelled_groups():
    rng = np.random.default_rng(1)
    (x, gx), (y, gy) = drawn(rng, 9), drawn(rng, 11, shift=0.5)
    gy = gy + 5  # some are in both
    samples = prepare({"x": x, "y": y}, kernel=nammd.Gaussian(1.0), grouping=RowGrouping((gx, gy)))
    together = Labelled.of(*samples)
    sides = together.sides(50, np.random.default_rng(0))
    pooled, labels = np.concatenate([x, y])[together.order], together.units.labels
    found = nammd.two_sample_test(
        x, y, groups=(gx, gy), kernel=nammd.Gaussian(1.0), permutations=49, rng=np.random.default_rng(0)
    )
    for column in range(1, 50):
        first = sides[together.part, column] > 0
        moved = nammd.distance(
            pooled[first], pooled[~first], groups=(labels[first], labels[~first]), kernel=nammd.Gaussian(1.0)
        )
        assert found.null[column - 1] == pytest.approx(moved.value, rel=1e-4, abs=1e-6)


def test_groups_change_places_with_groups_of_their_size():
    side = np.array([1, 1, 1, -1, -1, -1, 1, -1, 1, 1], np.float32)
    rows = np.array([2, 2, 2, 2, 2, 2, 5, 5, 9, 9])
    strata = _strata(np.arange(10), rows, side)
    assert [sorted(s.tolist()) for s in strata] == [list(range(10))]
    even = _strata(np.arange(6), rows[:6], side[:6])
    assert [sorted(s.tolist()) for s in even] == [[0, 1, 2, 3, 4, 5]]


def test_it_holds_its_level_where_single_rows_do_not():
    rng, found = np.random.default_rng(2), []
    for _ in range(120):
        (x, gx), (y, gy) = drawn(rng, 15), drawn(rng, 15)
        how = {
            "kernel": nammd.Gaussian(1.0),
            "permutations": 99,
            "rng": rng,
            "engine": nammd.Tiles(threads=1),
        }
        grouped = nammd.two_sample_test(x, y, groups=(gx, gy + 100), **how)
        found.append((grouped.rejected, nammd.two_sample_test(x, y, **how).rejected))
    grouped, naive = np.mean(found, axis=0)
    assert grouped < 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 120)
    assert naive > 0.3


def test_a_real_difference_is_found():
    rng = np.random.default_rng(3)
    (x, gx), (y, gy) = drawn(rng, 40), drawn(rng, 40, shift=1.0)
    assert nammd.two_sample_test(x, y, groups=(gx, gy + 100), rng=0).pvalue == 0.001


def test_rows_that_are_groups_of_their_own_are_relabelled_like_rows():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(50, 2))
    labels = np.arange(40), np.arange(50) + 100
    found = nammd.two_sample_test(x, y, groups=labels, permutations=999, rng=0)
    plain = nammd.two_sample_test(x, y, permutations=999, rng=1)
    assert found.statistic == pytest.approx(plain.statistic, rel=1e-5)
    assert found.pvalue == pytest.approx(plain.pvalue, abs=0.06)
    assert np.std(found.null) == pytest.approx(np.std(plain.null), rel=0.15)
    pair = prepare({"x": x, "y": y})
    assert Estimate.of(gather([tuple(pair)])[0]).value == pytest.approx(found.statistic, rel=1e-5)
