"""Tests on sketches hold their level: with epsilon from the same frequencies, and from the exact kernel.

The margin under the features is exact too: the mean features of a mixture of normals are known.
"""

from functools import cache

import numpy as np
import pytest

import nammd
from nammd.datasets.laws import mixtures as laws
from nammd.datasets.laws.features import nammd_under
from tests.simulate import KERNEL, close_calls, noise, pvalue

ROWS, REPETITIONS = 500, 180
HIGHEST = 0.05 + 3 * noise(0.05, REPETITIONS) + 0.006
PAIRS = [("concentrated normal", 0.7), ("shifted normal", 0.2), ("five columns", 0.2), ("contaminated", 0.02)]
boundary = pytest.mark.parametrize(("family", "eps"), PAIRS)


def sketches(family, eps, seed):
    """Draw sketches of two laws; by the frequencies of a seed, or by new ones each time."""
    p, q = laws.pair_at(family, eps)
    rng = np.random.default_rng(round(eps * 1000))
    for k in range(REPETITIONS):
        features = nammd.RandomFeatures(KERNEL, 64, rng=k if seed is None else seed)
        yield features, *(nammd.Sketch.of(law.sample(rng, ROWS), features) for law in (p, q))


@cache
def estimates(family, eps):
    """Distances of sketches, under the exact kernel and their own."""
    found = [
        (nammd.distance(x, y), nammd.distance(x, y, kernel=features))
        for features, x, y in sketches(family, eps, None)
    ]
    return tuple(zip(*found, strict=True))


def pairs(family, eps):
    """The pairs of these."""
    return tuple([each.pair for each in found] for found in estimates(family, eps))


@cache
def pairs_of_one_seed(family, eps):
    """Pairs of sketches by the same frequencies, under the kernel of these."""
    return [nammd.distance(x, y, kernel=features).pair for features, x, y in sketches(family, eps, 1)]


def rate(found, eps, alternative="greater"):
    return np.mean([pvalue(pair, eps, alternative) <= 0.05 for pair in found])


@boundary
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_an_epsilon_from_the_same_frequencies_holds_its_level(family, eps, alternative):
    own = pairs_of_one_seed(family, eps)
    margin = nammd_under(nammd.RandomFeatures(KERNEL, 64, rng=1), *laws.pair_at(family, eps))
    assert 0.012 <= rate(own, margin, alternative) <= HIGHEST


@boundary
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_an_epsilon_from_the_exact_kernel_holds_its_level_by_the_added_variance(family, eps, alternative):
    exact, own = pairs(family, eps)
    assert 0.005 <= rate(exact, eps, alternative) <= HIGHEST + 0.01
    assert rate(own, eps, alternative) > HIGHEST + 0.02  # without it there is no level


@pytest.mark.parametrize(("family", "eps"), PAIRS[:3])
def test_intervals_for_the_exact_kernel_cover_it(family, eps):
    """A margin is in the interval where neither test rejects it; a few are inverted to show that it is so."""
    exact, _ = pairs(family, eps)
    greater, less = (np.array([pvalue(pair, eps, side) for pair in exact]) for side in ("greater", "less"))
    above, below = greater <= 0.025, less <= 0.025
    assert np.mean(~above & ~below) >= 0.95 - 3 * noise(0.95, REPETITIONS) - 0.01
    chosen = close_calls(np.minimum(greater, less), 0.025, 8)
    for k in chosen:
        low, high = estimates(family, eps)[0][k].confidence_interval()
        assert (low > eps, high < eps) == (above[k], below[k])


def test_sketches_have_power():
    exact, _ = pairs("concentrated normal", 0.7)
    assert rate(exact, 0.3) > 0.9
    assert rate(exact, 0.97, "less") > 0.7


@cache
def triples():
    """Sketches of three laws, of which the second and the third are equally far from the first."""
    p, q = laws.pair_at("shifted normal", 0.2)
    mirrored = laws.Mixture(q.weights, tuple(tuple(-v for v in m) for m in q.means), q.covariances)
    rng = np.random.default_rng(3)
    made = []
    for k in range(REPETITIONS):
        features = nammd.RandomFeatures(KERNEL, 32, rng=k)
        made.append([nammd.Sketch.of(law.sample(rng, 300), features) for law in (p, q, mirrored)])
    return made


@pytest.mark.parametrize("meant", ["own", "exact"])
def test_comparing_pairs_of_sketches_holds_its_level(meant):
    """The two pairs share a sample."""
    rejected = [
        nammd.compare_pairs((x, y), (x, z), kernel=x.features if meant == "own" else None).rejected
        for x, y, z in triples()
    ]
    assert 0.012 <= np.mean(rejected) <= HIGHEST
