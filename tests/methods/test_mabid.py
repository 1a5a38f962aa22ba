"""ME_MaBiD: reference values, its gradient, level, power, and what it promises about its split."""

import json
from pathlib import Path

import numpy as np
import pytest

import nammd
from nammd.methods import mabid as me_mabid
from nammd.methods.mabid import LocalFeatures, MEMaBiD, direction, learn_features, separation

GOLDEN = Path(__file__).parents[1] / "golden"
PAIRED = json.loads((GOLDEN / "me_test.json").read_text())["cases"]
POOLED = json.loads((GOLDEN / "me_mabid.json").read_text())["cases"]


def arrays(case, *names):
    return [np.array(case[name], dtype=float) for name in names]


def blob(rng, rows, turned=False):
    """Nine round clusters on a grid; `turned` ones are stretched along a diagonal each."""
    cells = rng.integers(9, size=rows)
    covariances = np.array(
        [-0.02 - 0.002 * i for i in range(4)] + [0.0] + [0.02 + 0.002 * i for i in range(4)]
    )
    correlation = covariances[cells] / 0.03 if turned else np.zeros(rows)
    first, second = rng.normal(size=(2, rows))
    second = correlation * first + np.sqrt(1 - correlation**2) * second
    return np.stack([cells // 3, cells % 3], axis=1) + np.sqrt(0.03) * np.stack([first, second], axis=1)


def paired_separation(fx, fy):
    """n z' C^-1 z, with z and C the mean and covariance of the differences of paired rows.

    That is the statistic of the mean-embedding test that ME_MaBiD extends (Jitkrittum, Szabó, Chwialkowski,
    Gretton, 2016, "Interpretable distribution features with maximum testing power").
    """
    differences = fx - fy
    mean = differences.mean(axis=0)
    covariance = np.atleast_2d(np.cov(differences, rowvar=False))
    return float(len(differences) * mean @ np.linalg.solve(covariance, mean))


def rejections(draw_x, draw_y, method, repetitions):
    results = [nammd.two_sample_test(draw_x(), draw_y(), method=method, rng=i) for i in range(repetitions)]
    return np.mean([result.rejected for result in results])


def highest_rate(repetitions, alpha=0.05):
    return alpha + 3 * np.sqrt(alpha * (1 - alpha) / repetitions)


@pytest.mark.parametrize("case", PAIRED.values(), ids=PAIRED)
def test_the_paired_statistic_matches_the_mean_embedding_test(case):
    x, y, locations = arrays(case, "X", "Y", "test_locs")
    features = LocalFeatures.gaussian(locations, case["gwidth2"])
    statistic = paired_separation(features(x), features(y))
    null = me_mabid.null_distribution("chi-squared", len(locations), 2 * len(x))
    np.testing.assert_allclose([statistic, null.sf(statistic)], [case["stat"], case["pvalue"]], rtol=1e-9)


@pytest.mark.parametrize("case", POOLED.values(), ids=POOLED)
def test_the_statistic_matches_its_definition(case):
    x, y, locations, widths, matrices = arrays(case, "X", "Y", "locations", "gwidths", "M")
    features = LocalFeatures(locations, widths, matrices)
    fx, fy = features(x), features(y)
    statistic = separation(fx, fy)
    null = me_mabid.null_distribution("chi-squared", len(locations), len(x) + len(y))
    np.testing.assert_allclose([statistic, null.sf(statistic)], [case["T"], case["pvalue"]], rtol=1e-9)
    np.testing.assert_allclose(direction(fx, fy), case["direction"], rtol=1e-9)


def test_the_gradient_is_that_of_the_statistic():
    rng = np.random.default_rng(0)
    rows, n1 = rng.normal(size=(30, 3)), 12
    factors = rng.normal(size=(4, 3, 3))
    point = [rng.normal(size=(4, 3)), rng.normal(size=4), factors @ np.swapaxes(factors, 1, 2) + np.eye(3)]
    step = [rng.normal(size=p.shape) for p in point]
    step[2] += np.swapaxes(step[2], 1, 2)

    def features(t):
        locations, log_widths, matrices = (p + t * s for p, s in zip(point, step, strict=True))
        return LocalFeatures(locations, np.exp(log_widths), matrices)

    def value(t):
        f = features(t)(rows)
        return separation(f[:n1], f[n1:])

    gradients = me_mabid._gradients(features(0), rows, n1)
    slope = sum(np.sum(g * s) for g, s in zip(gradients, step, strict=True))
    np.testing.assert_allclose(slope, (value(1e-6) - value(-1e-6)) / 2e-6, rtol=1e-6)


def test_learning_separates_the_training_rows_better_and_keeps_the_matrices_positive():
    rng = np.random.default_rng(1)
    x, y = blob(rng, 150), blob(rng, 150, turned=True)

    def learned(epochs):
        rng = np.random.default_rng(0)
        return learn_features(x, y, 4, epochs=epochs, learning_rate=0.01, rng=rng)

    start, end = learned(0), learned(203)  # not a multiple of the epochs between projections
    assert separation(end(x), end(y)) > 1.5 * separation(start(x), start(y))
    assert np.linalg.eigvalsh(end.matrices).min() > 0
    assert np.all(end.widths > 0)


def test_the_units_of_the_columns_do_not_matter():
    rng = np.random.default_rng(2)
    x, y = blob(rng, 80), blob(rng, 60, turned=True)
    units, origin = np.array([1000.0, 0.01]), np.array([5.0, -3.0])
    method = MEMaBiD(locations=3, epochs=30)
    plain = nammd.two_sample_test(x, y, method=method, rng=0)
    other = nammd.two_sample_test(x * units + origin, y * units + origin, method=method, rng=0)
    np.testing.assert_allclose(other.statistic, plain.statistic, rtol=1e-6)
    np.testing.assert_allclose(
        other.details["locations"], plain.details["locations"] * units + origin, rtol=1e-6
    )


@pytest.mark.parametrize(("m", "n", "beta"), [(200, 200, 1.0), (150, 260, 1.0), (200, 200, 1.6)])
def test_equal_distributions_are_rejected_no_more_often_than_alpha(m, n, beta):
    rng = np.random.default_rng([m, n])
    method = MEMaBiD(locations=5, epochs=10, beta=beta)
    assert rejections(lambda: blob(rng, m), lambda: blob(rng, n), method, 120) <= highest_rate(120)


def test_hotellings_reference_holds_the_level_with_few_rows_where_chi_squared_does_not():
    rng = np.random.default_rng(3)
    method = MEMaBiD(locations=13, epochs=0, reference="hotelling")
    runs = [nammd.two_sample_test(blob(rng, 50), blob(rng, 50), method=method, rng=rng) for _ in range(120)]
    limit = me_mabid.null_distribution("chi-squared", 13, 50).isf(0.05)
    assert np.mean([run.rejected for run in runs]) <= highest_rate(120)
    assert np.mean([run.statistic > limit for run in runs]) > highest_rate(120)


def test_blob_is_told_apart():
    rng = np.random.default_rng(4)
    method = MEMaBiD(locations=13, epochs=300)
    assert rejections(lambda: blob(rng, 500), lambda: blob(rng, 500, turned=True), method, 11) > 0.9


def test_the_same_rng_gives_the_same_result():
    rng = np.random.default_rng(5)
    x, y = blob(rng, 60), blob(rng, 70)
    method = MEMaBiD(locations=2, epochs=5)
    first, again, other = (nammd.two_sample_test(x, y, method=method, rng=seed) for seed in (1, 1, 2))
    assert first == again
    np.testing.assert_array_equal(first.details["locations"], again.details["locations"])
    assert first.statistic != other.statistic


def test_rows_that_are_learned_from_are_not_tested(monkeypatch):
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(21, 2)), rng.normal(size=(30, 2))
    features = LocalFeatures.gaussian(np.zeros((1, 2)), 1.0)
    seen = []

    def learn(train_x, train_y, *args, **kwargs):
        seen.extend([train_x, train_y])
        return features

    def others(rows, trained):
        return np.array([row for row in rows if row.tolist() not in trained.tolist()])

    monkeypatch.setattr(me_mabid, "learn_features", learn)
    result = nammd.two_sample_test(x, y, method=MEMaBiD(locations=1), rng=0)
    test_x, test_y = others(x, seen[0]), others(y, seen[1])
    assert (len(test_x), len(test_y)) == result.details["test_rows"] == (11, 15)
    assert (len(seen[0]), len(seen[1])) == result.details["train_rows"] == (10, 15)
    np.testing.assert_allclose(result.statistic, separation(features(test_x), features(test_y)))


def test_the_level_is_shared_between_the_directions():
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(80, 2)), rng.normal(size=(80, 2))
    for seed in range(6):
        plain, shared, all_in = (
            nammd.two_sample_test(x, y, method=MEMaBiD(locations=2, epochs=0, beta=beta), rng=seed)
            for beta in (1.0, 1.5, 2.0)
        )
        agrees = plain.details["agrees_with_training"]
        assert shared.pvalue == pytest.approx(min(1.0, plain.pvalue / (1.5 if agrees else 0.5)))
        assert agrees or (all_in.pvalue == 1.0 and all_in.threshold == np.inf and not all_in.rejected)


@pytest.mark.parametrize("beta", [1.0, 1.5])
def test_the_threshold_says_what_the_p_value_says(beta):
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(100, 1)), rng.normal(0.3, size=(120, 1))
    for seed in range(10):
        method = MEMaBiD(locations=2, epochs=5, beta=beta)
        result = nammd.two_sample_test(x, y, method=method, alpha=0.2, rng=seed)
        assert result.rejected == (result.statistic >= result.threshold) == (result.pvalue <= 0.2)


def test_constant_data_is_not_told_apart():
    result = nammd.two_sample_test(np.ones((30, 2)), np.ones((40, 2)), method=MEMaBiD(2, epochs=5), rng=0)
    assert result.pvalue == 1.0
    assert result.details["widths"].shape == (2,)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"locations": 0}, ValueError, "locations must be a whole number of at least 1"),
        ({"locations": 2.5}, TypeError, "locations must be a whole number"),
        ({"epochs": -1}, ValueError, "epochs must be a whole number of at least 0"),
        ({"learning_rate": 0}, ValueError, "learning_rate must be positive"),
        ({"beta": 3}, ValueError, "beta must be between 0 and 2"),
        ({"reference": "normal"}, ValueError, "reference must be one of"),
    ],
)
def test_wrong_settings_are_explained(settings, error, message):
    with pytest.raises(error, match=message):
        MEMaBiD(**settings)


@pytest.mark.parametrize(
    ("m", "n", "message"), [(3, 50, "at least 4 rows"), (12, 11, "only 12 rows to test 13 locations")]
)
def test_too_few_rows_are_explained(m, n, message):
    with pytest.raises(ValueError, match=message):
        nammd.two_sample_test(np.ones((m, 2)), np.ones((n, 2)), method=MEMaBiD(locations=13))
