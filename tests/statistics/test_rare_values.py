"""Far out in the tail, with values that are rare: the level in full, over all samples that there can be."""

import numpy as np
import pytest
from scipy.stats import binom

import nammd
from nammd.statistics.margin import well_carried
from tests.simulate import pair_of, pvalue

ROWS = 100
LEVEL = 1 / 365


@pytest.mark.parametrize(("rare", "often"), [(0.05, 0.1), (0.1, 0.05)])
def test_a_level_of_one_day_in_a_year_is_held_with_two_values_each(rare, often):
    # "rare stray" of the studies: a sample without its strays is farther from the other one, and varies less.
    kernel, moved = nammd.Gaussian(1.0), 0.25158452
    x_values, y_values = np.array([0.0, 2.0]), np.array([moved, moved - 2])
    p, q = np.array([1 - rare, rare, 0, 0]), np.array([0, 0, 1 - often, often])
    places = np.concatenate([x_values, y_values])[:, None]
    gram = kernel(places, places)
    eps = (p - q) @ gram @ (p - q) / (4 - p @ gram @ p - q @ gram @ q)
    wrong = known = 0.0
    chances = np.outer(*(binom.pmf(np.arange(ROWS), ROWS, share) for share in (rare, often)))
    for i, j in np.argwhere(chances >= 1e-6):
        known += chances[i, j]
        x, y = (np.repeat(v, [ROWS - k, k])[:, None] for v, k in ((x_values, i), (y_values, j)))
        wrong += chances[i, j] * (pvalue(pair_of(x, y, kernel), eps) <= LEVEL)
    assert known > 0.999
    assert wrong <= 1.2 * LEVEL  # without regard to how many rows carry the skewness it is 4.7 times that


def test_what_many_rows_carry_counts_in_full():
    x = np.random.default_rng(0).exponential(size=(400, 1))
    y = np.random.default_rng(1).exponential(1.5, size=(400, 1))
    pair = nammd.distance(x, y, kernel=nammd.Gaussian(1.0)).pair
    assert all(well_carried(400.0, pair.skewness(side, 0.01)) == 1.0 for side in (0, 1))
