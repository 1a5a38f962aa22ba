"""Tests on sketches hold their level: with epsilon from the same frequencies, and from the exact kernel.

The margin under the features is exact too: the mean features of a mixture of normals are known.
"""

from functools import cache

import numpy as np
import pytest

import nammd
from nammd.datasets.laws import mixtures as laws
from nammd.datasets.laws.features import nammd_under
from nammd.questions.closeness import closeness_of
from tests.simulate import KERNEL, noise, rejection_rate

ROWS, REPETITIONS = 500, 500
HIGHEST = 0.05 + 3 * noise(0.05, REPETITIONS) + 0.006
PAIRS = [("concentrated normal", 0.7), ("shifted normal", 0.2), ("five columns", 0.2), ("contaminated", 0.02)]
boundary = pytest.mark.parametrize(("family", "eps"), PAIRS)


@cache
def estimates(family, eps, seed):
    """Distances of sketches, under the exact kernel and their own; a seed, or new frequencies each time."""
    p, q = laws.pair_at(family, eps)
    rng = np.random.default_rng(round(eps * 1000))
    exact, own = [], []
    for k in range(REPETITIONS):
        features = nammd.RandomFeatures(KERNEL, 64, rng=k if seed is None else seed)
        x, y = (nammd.Sketch.of(law.sample(rng, ROWS), features) for law in (p, q))
        exact.append(nammd.distance(x, y))
        own.append(nammd.distance(x, y, kernel=features))
    return exact, own


@boundary
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_an_epsilon_from_the_same_frequencies_holds_its_level(family, eps, alternative):
    _, own = estimates(family, eps, 1)
    margin = nammd_under(nammd.RandomFeatures(KERNEL, 64, rng=1), *laws.pair_at(family, eps))
    assert 0.012 <= rejection_rate(own, margin, alternative) <= HIGHEST


@boundary
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_an_epsilon_from_the_exact_kernel_holds_its_level_by_the_added_variance(family, eps, alternative):
    exact, own = estimates(family, eps, None)
    assert 0.005 <= rejection_rate(exact, eps, alternative) <= HIGHEST + 0.01
    assert rejection_rate(own, eps, alternative) > HIGHEST + 0.02  # without it there is no level


def test_intervals_for_the_exact_kernel_cover_it():
    for family, eps in PAIRS[:3]:
        exact, _ = estimates(family, eps, None)
        covered = np.mean(
            [low <= eps <= high for low, high in (e.confidence_interval() for e in exact[:250])]
        )
        assert covered >= 0.95 - 3 * noise(0.95, 250) - 0.01


def test_sketches_have_power():
    exact, _ = estimates("concentrated normal", 0.7, None)
    assert rejection_rate(exact, 0.3) > 0.9
    assert np.mean([closeness_of(e, 0.97, "less", 0.05, "corrected").rejected for e in exact]) > 0.7


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
