"""The discrete construction has the total variation that was asked for, and samples follow it."""

import numpy as np
import pytest

import nammd
from nammd.datasets import DiscretePair, discrete_pair


@pytest.mark.parametrize("points", [2, 3, 7, 10, 50])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.35, 0.5, 0.7, 0.9, 1.0])
def test_the_total_variation_is_the_one_given(points, share):
    asked = share * (1 - 1 / points)
    pair = discrete_pair(points, asked, rng=0)
    assert pair.total_variation == pytest.approx(asked, abs=1e-12)
    np.testing.assert_allclose(pair.p, 1 / points)
    assert pair.q.min() >= 0
    assert pair.q.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("moved", [0.1, 0.3, 0.9])
def test_the_papers_construction_has_half_the_total_variation_it_is_named_by(moved):
    papers = np.r_[np.full(25, 1 + moved), np.full(25, 1 - moved)] / 50
    pair = discrete_pair(50, moved / 2, rng=0)
    np.testing.assert_allclose(np.sort(pair.q)[::-1], papers)


def test_the_split_is_random_and_reproducible():
    first, again, other = (discrete_pair(20, 0.2, rng=seed).q for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_samples_have_the_stated_frequencies():
    points = np.random.default_rng(0).normal(size=(6, 3))
    pair = discrete_pair(points, 0.3, rng=0)
    x, y = pair.sample(40_000, 20_000, rng=1)
    assert (x.shape, y.shape) == ((40_000, 3), (20_000, 3))
    for sample, expected in ((x, pair.p), (y, pair.q)):
        seen = [(sample == point).all(axis=1).mean() for point in points]
        np.testing.assert_allclose(seen, expected, atol=0.015)
        assert sum(seen) == pytest.approx(1.0)


def test_nammd_of_a_pair_matches_the_formula_term_by_term():
    points = np.random.default_rng(1).normal(size=(5, 2))
    pair, kernel = discrete_pair(points, 0.4, rng=0), 2 * nammd.Laplace(1.5)
    gram = kernel(points, points)
    top = bottom = 0.0
    for i in range(5):
        for j in range(5):
            own = (pair.p[i] * pair.p[j] + pair.q[i] * pair.q[j]) * gram[i, j]
            top, bottom = top + own - 2 * pair.p[i] * pair.q[j] * gram[i, j], bottom + own
    assert pair.nammd(kernel) == pytest.approx(top / (4 * 2 - bottom), rel=1e-12)


def test_nammd_of_a_pair_is_what_its_samples_estimate():
    points = np.random.default_rng(0).normal(size=(20, 2))
    pair, kernel = discrete_pair(points, 0.4, rng=0), nammd.Gaussian(0.5)
    estimate = nammd.distance(*pair.sample(3000, rng=2), kernel=kernel)
    assert abs(estimate.value - pair.nammd(kernel)) < 4 * estimate.standard_error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, 0.8), "between 0 and 0.75"),
        ((4, -0.1), "between 0 and 0.75"),
        ((1, 0.1), "at least 2"),
        (([[1.0], [1.0], [2.0]], 0.1), "equal points"),
        (([[1.0]], 0.1), "one point"),
    ],
)
def test_impossible_constructions_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        discrete_pair(*arguments)


@pytest.mark.parametrize("q", [[0.5, 0.6], [1.5, -0.5], [1.0], [np.nan, 1.0]])
def test_weights_that_are_no_probabilities_are_refused(q):
    with pytest.raises(ValueError, match=r"^q "):
        DiscretePair([[0.0], [1.0]], [0.5, 0.5], q)
