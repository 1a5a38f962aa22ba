"""Totals over groups: the numbers of the groups themselves, and of rows where every row is a group."""

import numpy as np
import pytest

import nammd
from nammd.statistics.difference import Difference
from nammd.statistics.pair import Pair
from nammd.statistics.totals import TotalPair, UnitTotals

FEATURES = nammd.RandomFeatures(nammd.Gaussian(1.2), 48, rng=1)
NAMES = ("mean", "v1", "v2", "c", "w")


def drawn(seed, sizes, shift=0.0):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    points = 0.8 * rng.normal(size=(len(sizes), 2))[groups] + 0.6 * rng.normal(size=(len(groups), 2))
    return points + shift, groups


def totals(points, groups, weights=None):
    waves = points @ FEATURES.frequencies(2).T
    rows = np.hstack([np.cos(waves), np.sin(waves)]) * FEATURES.scale
    own = np.ones(len(rows)) if weights is None else weights
    z = np.zeros((groups.max() + 1, rows.shape[1]))
    np.add.at(z, groups, rows * own[:, None])
    return UnitTotals.of(z, np.bincount(groups, own))


def known(one, two, rows):
    return Pair(TotalPair(one, two, rows, FEATURES.bound))


def expected(x, gx, y, gy, weights=None):
    how = {} if weights is None else {"sample_weight": weights}
    return nammd.distance(x, y, kernel=FEATURES, groups=(gx, gy + len(x)), **how).pair


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_of_equal_size_have_the_moments_of_the_groups_themselves(weighted):
    (x, gx), (y, gy) = drawn(0, np.full(40, 5)), drawn(1, np.full(30, 4), 0.5)
    weights = [np.full(len(x), 3.0), np.full(len(y), 0.2)] if weighted else None
    each = weights or (None, None)
    found = known(totals(x, gx, each[0]), totals(y, gy, each[1]), (len(x), len(y)))
    pair = expected(x, gx, y, gy, weights)
    moments = found.moments
    for side in "xy":
        for name in NAMES:
            one, other = (getattr(getattr(m, side), name) for m in (moments, pair.moments))
            assert one == pytest.approx(other, rel=1e-9), (side, name)
    assert (moments.xy, moments.dxy) == pytest.approx((pair.moments.xy, pair.moments.dxy), rel=1e-9)
    assert moments.degrees(1.1) == pytest.approx(pair.moments.degrees(1.1), rel=1e-9)
    assert found.eigenvalues == pytest.approx(pair.eigenvalues, rel=1e-9)


def test_groups_of_different_sizes_have_nearly_the_same_variance():
    rng = np.random.default_rng(2)
    (x, gx), (y, gy) = drawn(3, rng.integers(1, 30, 60)), drawn(4, rng.integers(1, 30, 50), 0.5)
    moments = known(totals(x, gx), totals(y, gy), (len(x), len(y))).moments
    other = expected(x, gx, y, gy).moments
    assert moments.mmd2 == pytest.approx(other.mmd2, rel=1e-9)  # the distance itself is the same
    for a in (1.0, 1.3):
        assert moments.variance(a) == pytest.approx(other.variance(a), rel=0.03)


def test_what_is_of_higher_order_is_that_of_the_groups():
    rng = np.random.default_rng(5)
    (x, gx), (y, gy) = drawn(6, rng.integers(1, 9, 80)), drawn(7, rng.integers(1, 9, 70), 0.5)
    found = known(totals(x, gx), totals(y, gy), (len(x), len(y)))
    pair, w = expected(x, gx, y, gy), np.array([1.1, -1.0])
    for one, other in zip(found.meeting.sides, pair.meeting.sides, strict=True):
        assert one.size == pytest.approx(other.size)
        np.testing.assert_allclose(one.second(), other.second(), rtol=1e-7)
        assert w @ one.form() @ w == pytest.approx(w @ other.form() @ w, rel=0.3)
    assert w @ found.meeting.form() @ w == pytest.approx(w @ pair.meeting.form() @ w, rel=0.05)
    ours, theirs = (each.x.beside(each.kept_x, each.kept_x) for each in (found, pair))
    assert ours.covariance[1, 2] == pytest.approx(theirs.covariance[1, 2], rel=0.02)


def test_two_distances_from_one_sample_go_together_as_their_groups_do():
    (x, gx), (y, gy), (z, gz) = (drawn(8 + k, np.full(40, 4), 0.4 * k) for k in range(3))
    one, rows = totals(x, gx), (len(x), len(y))
    ours = [known(one, totals(other, g), rows) for other, g in ((y, gy), (z, gz))]
    theirs = [expected(x, gx, other, g) for other, g in ((y, gy), (z, gz))]
    found, wanted = (Difference.of(*both, True).shared for both in (ours, theirs))
    np.testing.assert_allclose(found.covariance[1:, 1:], wanted.covariance[1:, 1:], rtol=1e-9)
    np.testing.assert_allclose(found.second, wanted.second, rtol=1e-9)
    np.testing.assert_allclose(found.felt, wanted.felt, rtol=0.05, atol=1e-5)


def test_rows_that_are_groups_of_their_own_have_the_totals_of_rows():
    x, _ = drawn(11, np.full(50, 1))
    plain = nammd.Sketch.of(x, FEATURES)
    one = UnitTotals.of_rows(50, plain.total, plain.products, FEATURES.bound)
    other = totals(x, np.arange(50))
    np.testing.assert_allclose(one.products, other.products, atol=1e-9)
    np.testing.assert_allclose(one.total, other.total, atol=1e-10)
    assert one.singles
    assert not totals(x, np.arange(50) // 3).singles


def test_totals_of_parts_add_up():
    x, groups = drawn(12, np.full(30, 3))
    first = groups < 13
    parts = totals(x[first], groups[first]) + totals(x[~first], groups[~first] - 13)
    whole = totals(x, groups)
    assert parts.count == whole.count
    np.testing.assert_allclose(parts.products, whole.products, rtol=1e-10)
