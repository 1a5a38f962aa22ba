"""The distance of two cross-covariances: by brute force, by its own noise, and at its margin."""

import numpy as np
import pytest
from scipy.stats import gamma, norm

from nammd.statistics.relation import (
    Cells,
    _tail,
    aligned,
    beyond,
    difference,
    relation_of,
    relation_of_groups,
)


def features(seed, classes, count):
    return np.random.default_rng(seed).normal(size=(classes, count))


ONE, TWO = features(1, 4, 2), features(2, 3, 3)
SHARES = np.array([[0.2, 0.05, 0.05], [0.05, 0.1, 0.05], [0.1, 0.1, 0.1], [0.05, 0.05, 0.1]])


def drawn(seed, rows, shares=SHARES):
    return np.random.default_rng(seed).choice(shares.size, rows, p=shares.ravel())


def cells(codes, **more):
    table = np.bincount(codes, minlength=12).reshape(1, 4, 3) / len(codes)
    return Cells(table, np.array([float(len(codes))]), ONE[None], TWO[None], **more)


def test_the_covariance_is_that_of_the_rows():
    codes = drawn(0, 50)
    one, two = ONE[codes // 3], TWO[codes % 3]
    expected = (one - one.mean(axis=0)).T @ (two - two.mean(axis=0)) / 49
    assert relation_of([cells(codes)]).value[0] == pytest.approx(expected.ravel(), rel=1e-12)


def test_groups_of_one_row_are_rows():
    codes = drawn(0, 50)
    alone = relation_of_groups(cells(codes), codes, np.arange(50))
    rows = relation_of([cells(codes)])
    assert alone.value == pytest.approx(rows.value)
    assert alone.covariance == pytest.approx(rows.covariance, rel=1e-12)
    assert alone.third(rows.value) == pytest.approx(rows.third(rows.value))


def test_rows_that_are_there_twice_make_no_difference_by_groups():
    codes, groups = drawn(0, 50), np.repeat(np.arange(50), 2)
    once = relation_of_groups(cells(codes), codes, np.arange(50))
    twice = relation_of_groups(cells(np.repeat(codes, 2)), np.repeat(codes, 2), groups)
    assert twice.covariance == pytest.approx(once.covariance, rel=1e-9)


def test_of_few_rows_what_one_sample_has_beside_the_other_leaves_no_warning():
    """Fitting the margins empties rows of a table that were not empty before."""
    for seed in range(300):
        x, y = (cells(drawn(2 * seed + side, 4)) for side in range(2))
        with np.errstate(divide="raise", invalid="raise"):
            _, now = aligned([x], y)
        assert np.isfinite(now.table).all()


def test_estimates_vary_as_they_say_and_distances_have_no_bias():
    found = [relation_of([cells(drawn(seed, 80))]) for seed in range(1500)]
    values = np.array([each.value[0] for each in found])
    expected = np.mean([each.covariance[0] for each in found], axis=0)
    assert np.cov(values.T) == pytest.approx(expected, abs=0.12 * np.abs(expected).max())
    apart = [difference(x, y)[0] for x, y in zip(found[::2], found[1::2], strict=True)]
    assert np.mean(apart) == pytest.approx(0, abs=4 * np.std(apart) / np.sqrt(len(apart)))


def test_a_category_that_became_more_common_is_no_change_of_the_relation():
    """Odds are the same: rows of the last class of one column count half as much."""
    other = SHARES * np.array([1.0, 1.0, 0.5])
    x, y = (Cells(s[None] / s.sum(), np.array([1e12]), ONE[None], TWO[None]) for s in (SHARES, other))
    plain = difference(relation_of([x]), relation_of([y]))[0]
    [before], now = aligned([x], y)
    assert now.table.sum(axis=1) == pytest.approx(before.table.sum(axis=1), abs=1e-9)
    assert now.table.sum(axis=2) == pytest.approx(before.table.sum(axis=2), abs=1e-6)
    assert abs(difference(relation_of([before]), relation_of([now]))[0]) < 1e-6 * plain


def test_ranks_need_no_alignment():
    x, y = (cells(drawn(seed, 50), ranks=(4, 3)) for seed in (0, 1))
    assert aligned([x], y) == ([x], y)


def test_the_level_holds_at_the_margin():
    """The candidate is at the margin exactly; the direction is one of many."""
    other = SHARES.copy()
    other[0, 0] -= 0.1
    other[0, 1] += 0.1
    truth = [
        relation_of([Cells(s[None], np.array([1e9]), ONE[None], TWO[None])]).value for s in (SHARES, other)
    ]
    margin = ((truth[0] - truth[1]) ** 2).sum(axis=1)
    found = np.array(
        [
            beyond(
                relation_of([cells(drawn(2 * s, 200))]),
                relation_of([cells(drawn(2 * s + 1, 200, other))]),
                margin,
            )[0]
            for s in range(1000)
        ]
    )
    assert 0.03 < np.mean(found <= 0.05) < 0.075
    assert 0.4 < np.mean(found <= 0.5) < 0.6


@pytest.mark.parametrize("skewness", [0.0, 0.5, 2.0, -0.7])
def test_tails_are_those_of_a_gamma_law(skewness):
    places = np.linspace(-1.2, 4, 14)
    if skewness:
        shape = 4 / skewness**2
        law = gamma(shape, -np.sqrt(shape), 1 / np.sqrt(shape))
        expected = law.sf(places) if skewness > 0 else law.cdf(-places)
    else:
        expected = norm.sf(places)
    assert _tail(places, np.full(14, skewness)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ranks", [(0, 0), (3, 2), (0, 2)])
@pytest.mark.parametrize("samples", [1, 2])
def test_the_noise_is_the_trace_of_the_covariance(ranks, samples):
    parts = [cells(drawn(seed, 60), ranks=ranks, share=1 / samples) for seed in range(samples)]
    before, now = aligned(parts, cells(drawn(7, 90), ranks=ranks))
    for found in (relation_of(before), relation_of([now])):
        assert found.noise == pytest.approx(np.trace(found.covariance, axis1=1, axis2=2), rel=1e-10)


def test_pairs_that_are_looked_at_together_have_the_p_values_of_each_alone():
    x, y = ([cells(drawn(seed, 200)) for seed in seeds] for seeds in ((1, 2, 3), (4, 5, 6)))
    margin = np.array([1e-4, 1.0, 1e-3])

    def stacked(samples):
        table, size, one, two = (
            np.concatenate([getattr(s, n) for s in samples]) for n in ("table", "size", "one", "two")
        )
        return relation_of([Cells(table, size, one, two)])

    together = beyond(stacked(x), stacked(y), margin)
    alone = [
        beyond(relation_of([a]), relation_of([b]), margin[k : k + 1])[0]
        for k, (a, b) in enumerate(zip(x, y, strict=True))
    ]
    assert together.tolist() == pytest.approx(alone, rel=1e-12)
    assert together[1] == 1.0
    assert together[0] < 1.0
