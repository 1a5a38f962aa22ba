"""The level where rows belong together, in a small part of the study; a naive variance fails it."""

from functools import cache

import numpy as np
import pytest

import nammd
from nammd.datasets import known_pair
from nammd.questions.closeness import closeness_of

REPETITIONS = 300


def grouped_draw(law, rng, groups, correlation):
    """Rows of a law that are, in part, the draw which their group has in common."""
    common, own = law.sample(rng, int(groups.max()) + 1), law.sample(rng, len(groups))
    kept = (rng.random(len(groups)) < np.sqrt(correlation)).reshape(-1, *[1] * (np.ndim(own) - 1))
    return np.where(kept, common[groups], own)


@cache
def rates(law, margin, groups, correlation):
    """How often each test rejects at the boundary: with groups, and without."""
    pair, rng = known_pair(law, margin), np.random.default_rng([groups, round(1000 * margin)])
    found = []
    for _ in range(REPETITIONS):
        gx, gy = (np.repeat(np.arange(groups), rng.integers(1, 12, groups)) for _ in "xy")
        x, y = grouped_draw(pair.p, rng, gx, correlation), grouped_draw(pair.q, rng, gy, correlation)
        how = {"kernel": pair.kernel, "engine": nammd.Tiles(threads=1)}
        both = nammd.distance(x, y, groups=(gx, gy + groups), **how), nammd.distance(x, y, **how)
        found.append(
            [
                closeness_of(e, margin, a, 0.05, "corrected").rejected
                for e in both
                for a in ("greater", "less")
            ]
        )
    return np.mean(found, axis=0)


CASES = [("shifted normal", 0.05, 30), ("exponential", 0.05, 30), ("uniform", 0.3, 12)]


@pytest.mark.parametrize(("law", "margin", "groups"), CASES)
def test_tests_of_groups_hold_their_level(law, margin, groups):
    greater, less, *_ = rates(law, margin, groups, 0.5)
    wanted = 0.065 if groups >= 30 else 0.08
    noise = np.sqrt(wanted * (1 - wanted) / REPETITIONS)
    assert max(greater, less) < wanted + 2 * noise


@pytest.mark.parametrize(("law", "margin", "groups"), CASES)
def test_and_those_of_single_rows_do_not(law, margin, groups):
    *_, greater, less = rates(law, margin, groups, 0.5)
    assert max(greater, less) > 0.12
