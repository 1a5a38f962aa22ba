"""Several scales together: what is negligible at each, and the law of the smallest p-value."""

import numpy as np
import pytest
from scipy import stats

import nammd
from nammd.statistics.scales import (
    MAIN,
    SCALES,
    JointScales,
    contacts,
    influences,
    moved_margin,
    share_moved,
)


def test_the_margin_is_what_moved_rows_make():
    """A share moved far away, to a law as smooth, in closed form: means within and across are known."""
    share, bandwidth = 0.3, 1.1
    mean = bandwidth / np.sqrt(bandwidth**2 + 2)  # of two standard normal values
    within = (share**2 + (1 - share) ** 2) * mean
    distance = (mean + within - 2 * (1 - share) * mean) / (4 - mean - within)
    # But for the norm of the mixture, which is smaller than that of the reference.
    assert moved_margin(mean, share) * (4 - 2 * mean) == pytest.approx(distance * (4 - mean - within))
    assert share_moved(moved_margin(mean, share), mean) == pytest.approx(share)
    assert share_moved(0.9, mean) == 1.0
    assert moved_margin(2 * mean, share, bound=2.0) == pytest.approx(moved_margin(mean, share))


def test_contacts_are_pairs_of_equal_weight():
    x = np.concatenate([np.zeros(3), 100.0 + 50.0 * np.arange(20)])[:, None]
    found = nammd.distance(x, x + 1000.0, kernel=nammd.Gaussian(1.0))
    assert contacts(found.pair) == pytest.approx(3)  # three pairs of equal rows, and no others


def scores(correlation, count=4):
    matrix = np.full((count, count), correlation) + (1 - correlation) * np.eye(count)
    rows = np.linalg.cholesky(matrix + 1e-12 * np.eye(count))
    return list(rows)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 0.999])
def test_the_smallest_of_correlated_p_values_holds_its_level(correlation):
    rng = np.random.default_rng(1)
    law = JointScales.of(SCALES[:4], scores(correlation))
    z = rng.standard_normal((20_000, 4)) @ np.array(scores(correlation)).T
    p = stats.norm.sf(z)
    least = np.array([law.adjusted(each).min() for each in p[:4000]])
    for level in (0.01, 0.05, 0.2):
        error = np.sqrt(level * (1 - level) / 4000)
        assert (least <= level).mean() == pytest.approx(level, abs=4 * error + 0.004)


def test_adjusted_p_values_are_between_the_p_value_and_bonferroni():
    law = JointScales.of(SCALES, scores(0.7, 5))
    assert law.weights.sum() == pytest.approx(1)
    assert law.weights[0] == MAIN
    for p in (1e-9, 1e-4, 0.01, 0.3, 1.0):
        found = law.adjusted([p] * 5)
        assert (found >= p).all()
        assert (found <= np.minimum(p / law.weights, 1.0)).all()
    unknown = JointScales.of(SCALES, [None] * 5)
    assert unknown.adjusted([0.01] * 5) == pytest.approx([0.02] + [0.08] * 4)
    alone = JointScales.of([1.0], [None])
    assert alone.adjusted([0.03]) == pytest.approx([0.03])
    assert alone.level(0, 0.05) == pytest.approx(0.05)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.parametrize("alpha", [1e-5, 0.0027, 0.025, 0.05])
def test_the_level_of_one_scale_is_where_its_adjusted_p_value_crosses(correlation, alpha):
    for law in (JointScales.of(SCALES, scores(correlation, 5)), JointScales.of(SCALES, [None] * 5)):
        level = law.level(0, alpha)
        assert alpha / 2 <= level <= alpha
        assert law.adjusted([level, 1, 1, 1, 1])[0] <= alpha
        assert law.adjusted([level * 1.001, 1, 1, 1, 1])[0] > alpha


def test_influences_have_their_places_among_all_units():
    rng = np.random.default_rng(2)
    pair = nammd.distance(rng.normal(size=(20, 2)), rng.normal(1.5, size=(15, 2))).pair
    plain = influences(pair, 0.01)
    placed = influences(pair, 0.01, (np.arange(30, 50), 60))
    assert len(plain) == 35
    assert len(placed) == 75
    assert placed[30:50] == pytest.approx(plain[:20])
    assert placed[60:] == pytest.approx(plain[20:])
    assert not placed[:30].any()
    # Their squares are nearly the variance of a distance that is plain.
    variance = np.sum(influences(pair, pair.value) ** 2) / pair.scale**2
    assert variance == pytest.approx(pair.standard_error**2, rel=0.2)
