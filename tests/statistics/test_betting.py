"""Bets on rows: no law within the tolerance makes money of them, and one beyond does."""

import numpy as np
import pytest
from scipy.optimize import brentq

from nammd.statistics.betting import FixedHull, Half

KERNEL = 1.0


def gram(x, y):
    return np.exp(-((x[:, None] - y[None, :]) ** 2) / 2)


def fixed(samples):
    full = np.array([[gram(a, b).mean() for b in samples] for a in samples])
    inner = full.copy()
    for v, sample in enumerate(samples):
        inner[v, v] = (gram(sample, sample).sum() - len(sample)) / (len(sample) * (len(sample) - 1))
    return FixedHull(inner, full, KERNEL)


def half(samples, rows, others):
    seen = np.column_stack([gram(rows, sample).mean(axis=1) for sample in samples])
    return Half(gram(rows, rows).mean(axis=1), gram(rows, others).mean(axis=1), seen)


def distance(samples, hull, weights, support, chances):
    """The distance of a law on a few values to a mixture of fixed samples, in full."""
    own, other = weights @ hull.inner @ weights, chances @ gram(support, support) @ chances
    across = sum(w * chances @ gram(support, s).mean(axis=1) for w, s in zip(weights, samples, strict=True))
    return (own + other - 2 * across) / (4 * KERNEL - own - other)


def mean_factors(hull, samples, chosen, support, chances, eps):
    """What a bet on one row makes of one, on average over the law."""
    rows = [half(samples, support[k : k + 1], chosen) for k in range(len(support))]
    choosing = half(samples, chosen, support[:1])
    return sum(p * np.exp(hull.bets(choosing, row, eps)) for p, row in zip(chances, rows, strict=True))


SUPPORT = np.array([-2.0, -0.5, 0.3, 1.0, 2.5, 6.0])


@pytest.mark.parametrize("corners", [1, 2, 3])
@pytest.mark.parametrize("eps", [0.002, 0.02, 0.1])
def test_no_law_at_the_tolerance_makes_money_whatever_chooses_the_direction(corners, eps):
    rng, tried = np.random.default_rng(corners), 0
    for _ in range(20):
        samples = [rng.normal(rng.normal(), 1.0, size=int(rng.integers(5, 40))) for _ in range(corners)]
        hull = fixed(samples)
        weights, stray = rng.dirichlet(np.ones(corners)), rng.dirichlet(np.full(len(SUPPORT), 0.3))
        values = np.concatenate([*samples, SUPPORT])
        shares = [np.full(len(s), w / len(s)) for w, s in zip(weights, samples, strict=True)]
        near = np.concatenate([*shares, np.zeros(len(SUPPORT))])
        far = np.concatenate([*map(np.zeros_like, samples), stray])

        def excess(part, near=near, far=far, weights=weights, hull=hull, samples=samples, values=values):
            return distance(samples, hull, weights, values, (1 - part) * near + part * far) - eps

        if excess(1.0) < 0:
            continue
        part, tried = brentq(excess, 0.0, 1.0), tried + 1
        law = (1 - part) * near + part * far
        for choosing in (law, far):  # rows of the law itself, and of one that is far away
            chosen = rng.choice(values, size=int(rng.integers(2, 40)), p=choosing)
            assert np.all(mean_factors(hull, samples, chosen, values, law, eps) <= 1 + 1e-12)
    assert tried >= 10


def test_the_bound_is_that_of_the_ball_and_not_more():
    # The reference alone, and the direction to the law itself: at the tolerance the bet is just fair.
    rng = np.random.default_rng(5)
    x = rng.normal(size=200)
    hull = fixed([x])
    near, far = np.array([0.05, 0.3, 0.4, 0.2, 0.05, 0.0]), np.array([0.0, 0.0, 0.0, 0.2, 0.8, 0.0])
    one = np.ones(1)
    part = brentq(lambda t: distance([x], hull, one, SUPPORT, (1 - t) * near + t * far) - 0.1, 0.0, 1.0)
    law = (1 - part) * near + part * far
    # So many of each value that these are the law, up to rounding.
    chosen = np.repeat(SUPPORT, np.round(law * 2000).astype(int))
    assert mean_factors(hull, [x], chosen, SUPPORT, law, 0.1) == pytest.approx(np.ones(4), abs=1e-4)
    beyond = distance([x], hull, one, SUPPORT, law) - 0.02
    assert np.all(mean_factors(hull, [x], chosen, SUPPORT, law, beyond) > 1.005)


def test_evidence_is_the_mean_of_both_ways_and_grows_with_what_is_beyond():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=300), rng.normal(loc=1.0, size=200)
    hull = fixed([x])
    one, two = half([x], y[:100], y[100:]), half([x], y[100:], y[:100])
    both = np.exp(hull.bets(one, two, 0.02)), np.exp(hull.bets(two, one, 0.02))
    assert np.exp(hull.evidence(one, two, 0.02)) == pytest.approx(np.mean(both, axis=0))
    assert hull.evidence(one, two, 0.02).max() > 5
    assert np.all(hull.evidence(one, two, 0.5) < 0)


def test_equal_rows_bet_nothing_foolish():
    hull = fixed([np.zeros(10)])
    same = half([np.zeros(10)], np.zeros(4), np.zeros(4))
    assert np.all(np.isfinite(hull.evidence(same, same, 0.01)))
    assert np.all(hull.evidence(same, same, 0.01) <= 0)
