"""The distance to the nearest mixture: against brute force, closed forms, and what it must be equal to."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.calibration.hull_laws import SETS, at_margin, base, distance, draw

import nammd
from nammd.evidence import gather, prepare
from nammd.evidence.accepted import AcceptedRows, Rows, SumsBetween
from nammd.statistics import hull
from nammd.statistics.hull import Corner, Hull
from nammd.statistics.nearest import fitted_bias, nearest_totals, nearest_weights
from nammd.statistics.pair import Pair
from nammd.statistics.totals import TotalPair, UnitTotals
from nammd.views.counts import LabelCounts, NumberCounts
from nammd.views.nearest import nearest_counts
from nammd.views.placed import pair_of_counts
from tests.simulate import pvalue

KERNEL = nammd.Gaussian(1.2)


def samples(rng, *sizes):
    locations = (0.0, 0.6, -0.4)
    return [rng.normal(loc=loc, size=(size, 2)) for loc, size in zip(locations, sizes, strict=False)]


def accepted_rows(kernel, corners):
    sizes = {corner.sample: len(corner.points) for corner in reversed(corners)}
    [sums] = SumsBetween([corner.points for corner in corners]).at([kernel], None)
    return AcceptedRows.of(kernel, corners, [sizes[k] for k in sorted(sizes)], sums)


def nearest_of(accepted, candidate):
    pair = tuple(prepare({"x": accepted.corners[0].points, "y": candidate}, kernel=accepted.kernel))
    [evidence] = gather([pair], beside=accepted.others)
    return accepted.nearest(evidence)


def nearest(corners, candidate, kernel=KERNEL):
    return nearest_of(accepted_rows(kernel, [Rows(each, k) for k, each in enumerate(corners)]), candidate)


@pytest.mark.parametrize("seed", range(20))
def test_weights_are_the_best_on_the_simplex(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(6, 3)) + 1
    gram, across = features.T @ features, features.T @ rng.normal(loc=1, size=6)
    found = nearest_weights(gram, across)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    grid = np.array([(a, b, 100 - a - b) for a in range(101) for b in range(101 - a)]) / 100
    values = np.einsum("ij,jk,ik->i", grid, gram, grid) - 2 * grid @ across
    assert found @ gram @ found - 2 * across @ found <= values.min() + 1e-9


def test_a_slightly_indefinite_estimate_has_weights_too():
    gram = np.array([[0.5, 0.501], [0.501, 0.5]])
    found = nearest_weights(gram, np.array([0.5, 0.5]))
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)


def test_a_mixture_is_the_rows_of_all_corners_with_weights():
    rng = np.random.default_rng(1)
    corners = samples(rng, 300, 120, 80)
    candidate = np.vstack(samples(rng, 90, 60))
    found = nearest(corners, candidate)
    assert np.count_nonzero(found.weights) > 1
    used = np.flatnonzero(found.weights)
    each = np.concatenate([np.full(len(corners[v]), found.weights[v] / len(corners[v])) for v in used])
    pooled = nammd.distance(
        np.vstack([corners[v] for v in used]),
        candidate,
        kernel=KERNEL,
        sample_weight=(each, np.ones(len(candidate))),
    )
    assert found.value == pytest.approx(pooled.value, rel=1e-9)
    assert found.pair.standard_error == pytest.approx(pooled.standard_error, rel=1e-9)
    for name in ("size", "mean", "v1", "v2", "c", "w"):
        for side in ("x", "y"):
            mine, theirs = (getattr(getattr(pair.moments, side), name) for pair in (found.pair, pooled.pair))
            assert mine == pytest.approx(theirs, rel=1e-9)
    assert found.pair.eigenvalues == pytest.approx(pooled.pair.eigenvalues, rel=1e-4)
    assert found.pair.cubic_and_quadratic(0.01, "less") == pytest.approx(
        pooled.pair.cubic_and_quadratic(0.01, "less"), rel=1e-9
    )


def test_one_corner_is_the_distance_itself():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(150, 2)), rng.normal(loc=0.3, size=(90, 2))
    found, plain = nearest([x], y), nammd.distance(x, y, kernel=KERNEL)
    assert (found.value, found.pair.standard_error, found.bias) == (plain.value, plain.standard_error, 0.0)
    assert found.interval(0.025, 0.025) == pytest.approx(plain.confidence_interval(0.95), rel=1e-12)


def test_the_distance_is_never_above_that_to_a_corner():
    rng = np.random.default_rng(3)
    corners = samples(rng, 120, 90, 90)
    for shift in (0.0, 0.3, 1.0):
        candidate = rng.normal(loc=shift, size=(100, 2))
        plain = [nammd.distance(x, candidate, kernel=KERNEL).pair.moments.mmd2 for x in corners]
        # The mean of the mixture leaves out pairs of a row with itself in all corners at once.
        assert nearest(corners, candidate).pair.moments.mmd2 <= min(plain) + 2e-4


def test_totals_of_features_are_the_rows_of_their_kernel():
    rng = np.random.default_rng(4)
    features = nammd.RandomFeatures(KERNEL, 64)
    corners = samples(rng, 300, 120, 80)
    candidate = np.vstack(samples(rng, 90, 60))

    def totals(x):
        z = features.features(x)
        return UnitTotals.of_rows(len(x), z.sum(axis=0), z.T @ z, features.bound)

    weights, mixture, bias = nearest_totals([totals(x) for x in corners], totals(candidate))
    meeting = TotalPair(mixture, totals(candidate), (mixture.effective, len(candidate)), features.bound)
    pair, rows = Pair(meeting), nearest(corners, candidate, features)
    assert weights == pytest.approx(rows.weights, abs=1e-9)
    assert pair.value == pytest.approx(rows.value, rel=1e-9)
    assert pair.standard_error == pytest.approx(rows.pair.standard_error, rel=0.01)
    assert bias / pair.scale == pytest.approx(rows.bias, rel=0.03)


@pytest.mark.parametrize("places", [None, 0.5], ids=["anywhere", "few values"])
def test_counts_of_a_column_are_its_rows(places):
    rng = np.random.default_rng(5)
    x, a, y = rng.normal(size=900), rng.normal(loc=0.3, size=300), rng.normal(loc=0.2, scale=1.1, size=400)
    if places:
        x, a, y = (np.round(each / places) * places for each in (x, a, y))
    counts = [NumberCounts.of(each, 0) for each in (x, a, y)]
    found = nearest_counts(counts[0], counts[1:2], counts[2])
    rows = nearest([x[:, None], a[:, None]], y[:, None], nammd.Gaussian(1.0))
    assert found.weights == pytest.approx(rows.weights, abs=1e-4)
    assert found.value == pytest.approx(rows.value, abs=1e-7)
    assert found.pair.standard_error == pytest.approx(rows.pair.standard_error, rel=1e-3)
    assert found.bias == pytest.approx(rows.bias, rel=1e-3)
    assert found.pvalue(0.001, "greater") == pytest.approx(rows.pvalue(0.001, "greater"), abs=1e-3)


def test_counts_of_labels_mix():
    one, two = LabelCounts({"a": 100.0, "b": 50.0}, 3.0), LabelCounts({"a": 60.0, "c": 30.0}, 0.0)
    candidate = LabelCounts({"a": 160.0, "b": 50.0, "c": 30.0}, 3.0)
    alone, mixed = nearest_counts(one, [], candidate), nearest_counts(one, [two], candidate)
    assert alone.value == pytest.approx(pair_of_counts(one, candidate).value, rel=1e-12)
    assert mixed.value < 0 < alone.value
    assert mixed.weights == pytest.approx([153 / 243, 90 / 243], abs=0.05)


def test_between_the_reference_and_far_numbers_is_not_far():
    rng = np.random.default_rng(6)
    x, a, y = (NumberCounts.of(rng.normal(loc=loc, size=600), 0) for loc in (0.0, 3.0, 1.5))
    found = nearest_counts(x, [a], y)
    assert found.value < 0.002
    assert (
        nammd.distance(
            np.vstack([rng.normal(size=(300, 1)), rng.normal(loc=3, size=(300, 1))]),
            rng.normal(loc=1.5, size=(600, 1)),
            kernel=nammd.Gaussian(1.0),
        ).value
        > 0.03
    )  # no mixture of the two is like that


def test_units_that_were_moved_vary_together():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(200, 2))
    candidate = np.vstack([rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + 2.0])
    same = accepted_rows(KERNEL, [Rows(x, 0), Rows(x + 2.0, 0)])
    apart = accepted_rows(KERNEL, [Rows(x, 0), Rows(rng.normal(size=(200, 2)) + 2.0, 1)])
    together, alone = nearest_of(same, candidate), nearest_of(apart, candidate)
    assert together.weights.min() > 0.3
    # Rows that are in both parts are half as many units as there are rows.
    assert together.pair.x.size == pytest.approx(200, rel=0.05)
    assert alone.pair.x.size == pytest.approx(400, rel=0.05)


def test_the_fitted_minimum_is_too_small_by_the_bias():
    rng, accepted = np.random.default_rng(8), SETS["shifted"]
    law, kernel, values, told = base(accepted, "between"), nammd.Gaussian(1.0), [], []
    for _ in range(60):
        corners = [draw(rng, each, 150, 1) for each in accepted.laws]
        found = nearest(corners, draw(rng, law, 150, 1), kernel)
        values.append(found.value)
        told.append(found.bias)
    error = np.std(values) / np.sqrt(len(values))
    assert np.mean(values) < -3 * error
    assert -np.mean(values) == pytest.approx(np.mean(told), abs=3.5 * error)


def test_the_bias_is_worked_out_at_the_main_scale_alone(monkeypatch):
    rng = np.random.default_rng(8)
    reference, summer, other = samples(rng, 150, 120, 100)
    gate = nammd.Tolerance.from_reference(reference, {"summer": summer}).with_reference(reference)
    asked = []
    monkeypatch.setattr(hull, "fitted_bias", lambda *given: asked.append(1) or fitted_bias(*given))
    for rows in (other, np.vstack([reference[:60], summer[:60]])):
        gate.check(rows)
    assert len(asked) == 2


def test_closeness_has_to_be_proven_beyond_the_bias():
    rng, accepted = np.random.default_rng(11), SETS["shifted"]
    corners = [draw(rng, each, 150, 1) for each in accepted.laws]
    found = nearest(corners, draw(rng, base(accepted, "between"), 150, 1), nammd.Gaussian(1.0))
    assert found.bias > 0
    assert found.pvalue(0.01, "less") == pvalue(found.pair, 0.01 - found.bias, "less")
    assert found.pvalue(0.01, "less") > pvalue(found.pair, 0.01, "less")
    assert found.pvalue(0.01, "greater") == pvalue(found.pair, 0.01, "greater")


@pytest.mark.parametrize("name", ["shifted", "three sets", "two values"])
@pytest.mark.parametrize("place", ["reference", "between", "accepted"])
def test_level_at_the_margin(name, place):
    rng, accepted, margin = np.random.default_rng(9), SETS[name], 0.01
    law, kernel, tries = at_margin(name, place, margin), nammd.Gaussian(1.0), 50
    assert distance(accepted, law) == pytest.approx(margin, rel=1e-6)
    wrong = np.zeros(2)
    for _ in range(tries):
        corners = [draw(rng, each, 100, 1) for each in accepted.laws]
        found = nearest(corners, draw(rng, law, 100, 1), kernel)
        wrong += [found.pvalue(margin, "less") <= 0.05, found.pvalue(margin, "greater") <= 0.05]
    assert wrong.max() <= 0.05 * tries + 3 * np.sqrt(0.05 * 0.95 * tries)


def test_curvature_that_is_next_to_nothing_makes_no_large_bias():
    weights, noise = np.array([0.5, 0.5]), np.array([[1e-6, 0.0], [0.0, 1e-6]])
    for curve in (1e-12, 0.0, -1e-9):
        gram = np.array([[0.5 + curve, 0.5], [0.5, 0.5 + curve]])
        assert fitted_bias(weights, gram, noise) <= np.sqrt(1e-6)
    assert fitted_bias(np.array([1.0, 0.0]), gram, noise) == 0.0


def test_a_hull_knows_inner_products_without_pairs_of_a_unit_with_itself():
    rng = np.random.default_rng(10)
    x = rng.normal(size=(40, 1))
    known = accepted_rows(KERNEL, [Rows(x, 0), Rows(x + 0.5, 0), Rows(x[:10] + 1.0, 0, np.arange(10))])
    gram = KERNEL(x, x + 0.5)
    off = ~np.eye(40, dtype=bool)
    assert known.hull.inner[0, 1] == pytest.approx(gram[off].mean())
    some = KERNEL(x, x[:10] + 1.0)
    assert known.hull.inner[0, 2] == pytest.approx(some[~np.eye(40, 10, dtype=bool)].mean())
    assert isinstance(known.hull, Hull)
    assert all(isinstance(corner, Corner) for corner in known.hull.corners)
    assert replace(known.hull).inner == pytest.approx(known.hull.inner)
