"""Forecasts against simulated tests: the power that is told is the one that samples have."""

import numpy as np
import pytest

import nammd
from nammd.datasets import known_pair
from nammd.statistics.difference import Difference
from nammd.statistics.forecast import estimated_rules, known_rules
from nammd.statistics.margin import margin
from nammd.statistics.moved_law import MovedLaw
from nammd.statistics.power import power_at
from tests.simulate import noise, pair_of, pairs_of, pvalue

SIZES = ((150, 60), (60, 200))
LAWS = {
    "shifted normal": SIZES,
    "scaled normal": SIZES[:1],
    "five columns": SIZES[1:],
    "four clusters": SIZES[1:],
    "correlated": SIZES[1:],
    "exponential": SIZES,
    "Student": SIZES[:1],
    "Poisson": SIZES[1:],
}
"""Laws, and the numbers of rows of the two samples."""
ASKED = {0.0: (0.01, 0.02), 0.02: (0.005, 0.01, 0.04, 0.06)}
"""Margins that are asked for, by the distance."""
SAMPLES, ROWS, ALPHA = 160, 1000, 0.05


def told_and_seen(law, m, n):
    """The power that is forecast from one pilot, and how often the test rejects, for everything asked."""
    rng = np.random.default_rng([m, n])
    known = {distance: known_pair(law, distance) for distance in ASKED}
    pilot = pair_of(*known[0.02].sample(rng, ROWS, ROWS), known[0.02].kernel)
    told, seen = [], []
    for distance, margins in ASKED.items():
        laws, ways = known[distance], {eps: "greater" if distance > eps else "less" for eps in margins}
        pairs = (pair_of(*laws.sample(rng, m, n), laws.kernel) for _ in range(SAMPLES))
        found = [[pvalue(pair, eps, way) for eps, way in ways.items()] for pair in pairs]
        told += [power_at(pilot, eps, distance, m, n, ALPHA) for eps in margins]
        seen += np.mean(np.array(found) <= ALPHA, axis=0).tolist()
    return np.array(told), np.array(seen)


@pytest.mark.parametrize("law", LAWS)
def test_the_power_that_is_forecast_is_the_one_that_samples_have(law):
    told, seen = np.concatenate([told_and_seen(law, m, n) for m, n in LAWS[law]], axis=1)
    assert np.abs(told - seen).mean() < 0.05
    assert told == pytest.approx(seen, abs=0.05 + 3 * noise(0.5, SAMPLES))
    assert (told - seen).mean() == pytest.approx(0.0, abs=0.04)


@pytest.mark.parametrize(("law", "rows"), [("shifted normal", 60), ("exponential", 60), ("two points", 150)])
def test_so_is_that_of_a_margin_which_is_estimated(law, rows):
    rng, eps, m = np.random.default_rng(6), 0.04, 200
    apart = {distance: known_pair(law, distance) for distance in (0.0, eps, 2 * eps)}
    seen, told = np.zeros((2, 15)), []
    for number in range(15):
        x = apart[eps].p.sample(rng, m)
        accepted = [apart[eps].q.sample(rng, m) for _ in range(8)]
        candidates = [apart[distance].q.sample(rng, rows) for _ in range(15) for distance in (0.0, 2 * eps)]
        pairs = pairs_of(x, *accepted, *candidates)
        first = min(pairs[:8], key=lambda pair: abs(pair.value - eps))  # a forecast takes it for what it is
        if number % 3 == 0:  # it hardly depends on which of them it is made from
            rules = estimated_rules(first, m, m, rows, shared=True)
            told.append([rules.close(0.0, ALPHA), rules.far(2 * eps, ALPHA)])
        differences = [Difference.of(first, pair, shared=True) for pair in pairs[8:]]
        for near, far in zip(differences[::2], differences[1::2], strict=True):
            seen[:, number] += np.array([near.closer(), far.swapped.closer()]) <= ALPHA
    error = 3 * noise(0.5, seen.size // 2 * 15)
    assert np.mean(told, axis=0) == pytest.approx(seen.mean(axis=1) / 15, abs=0.05 + error)


def test_at_a_distance_of_zero_the_candidate_is_like_the_reference():
    rng = np.random.default_rng(2)
    pilot = pair_of(rng.normal(0.0, 0.1, size=(500, 1)), rng.normal(0.5, 1.0, size=(500, 1)))
    law = MovedLaw(pilot, 0.0, (200.0, 100.0))
    x, y = law.spectra
    assert x[1:] == pytest.approx(y[1:])
    assert law.moments.x.mean == pytest.approx(law.moments.y.mean)
    alike = pair_of(rng.normal(0.0, 0.1, size=(500, 1)), rng.normal(0.0, 0.1, size=(500, 1)))
    told, known = (known_rules(one, 0.01, 200, 100).close(0.0, ALPHA) for one in (pilot, alike))
    assert told == pytest.approx(known, abs=0.05)


def pilots():
    """Pairs of rows, of groups and of sketches, with a distance that shows and with one that does not."""
    rng = np.random.default_rng(4)
    kernel, groups = nammd.Gaussian(1.0), np.repeat(np.arange(40), 4)
    for shift in (0.05, 0.8):
        x, y = rng.normal(size=(160, 1)), rng.exponential(size=(160, 1)) - 1 + shift
        yield pair_of(x, y, statistic="mmd2")
        yield nammd.distance(x, y, kernel=kernel).pair
        yield nammd.distance(x, y, kernel=kernel, groups=(groups, groups)).pair
        features = nammd.RandomFeatures(kernel, 64, rng=0)
        sketches = [nammd.Sketch.of(each, features) for each in (x, y)]
        yield nammd.distance(*sketches).pair


@pytest.mark.parametrize("way", ["less", "greater"])
def test_all_samples_at_once_have_the_p_values_of_each(way):
    seen = []
    for pilot in pilots():
        for distance, sizes, frozen in (
            (0.0, (4.0, 7.0), False),
            (0.03, (90.0, 200.0), True),
            (0.2, (5e4, 1e4), False),
        ):
            law = MovedLaw(pilot, distance, sizes, frozen)
            pairs = [one.pair for one in law.drawn()][::4]
            for eps, blur in ((0.0, 0.0), (1e-4, 1e-5), (0.02, 0.0), (0.1, 1e-4)):
                each = [margin(pair, eps, "corrected", way, blur).pvalue(way) for pair in pairs]
                every = margin(law.pairs(), eps, "corrected", way, blur).pvalue(way)
                np.testing.assert_allclose(every[::4], each, rtol=1e-10, atol=1e-14)
                seen.append(each)
    assert 0.02 < np.mean(np.array(seen) < 0.05) < 0.98


@pytest.mark.parametrize("frozen", [False, True])
def test_samples_that_could_be_drawn_have_the_mean_and_the_variance_of_the_estimate(frozen):
    rng = np.random.default_rng(3)
    pilot = pair_of(rng.normal(size=(600, 1)), rng.normal(0.5, 1.0, size=(600, 1)))
    law = MovedLaw(pilot, pilot.value, (80.0, 120.0), frozen)
    values = np.array([drawn.pair.value for drawn in law.drawn()])
    moments, slope = pilot.moments.resized(80.0, 120.0), pilot.own_slope
    variance = moments.variances_given_x(slope)[0] if frozen else moments.variance(slope)
    assert values.mean() == pytest.approx(pilot.value, abs=0.1 * pilot.value)
    # Given x, a row of y is seen by these rows of x, which are in it on average.
    assert values.std() * pilot.scale == pytest.approx(np.sqrt(variance), rel=0.12)
