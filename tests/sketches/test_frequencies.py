"""With few frequencies a test is careful, and says so: the sketches here are of whole populations."""

import numpy as np
import pytest
from scipy.stats import t as student

import nammd
from nammd.datasets.laws.features import nammd_of_normals, sketch_of_normal
from nammd.questions.closeness import closeness_of
from nammd.statistics.margin import margin, quantile, upper_tail
from nammd.statistics.spread import effective_number
from tests.simulate import noise, pvalue
from tests.sketches.samples import FEATURES, KERNEL, X, Y, Z

REPETITIONS = 200


def cautioned(result):
    return any(caution.code == "few-frequencies" for caution in result.cautions)


def estimates(kernel, columns, n_features, shift=1.5, repetitions=REPETITIONS):
    """Return distances of two laws by ever other frequencies, and the exact one."""
    moved = np.zeros(columns)
    moved[0] = shift
    found = []
    for seed in range(repetitions):
        features = nammd.RandomFeatures(kernel, n_features, rng=seed)
        found.append(
            nammd.distance(sketch_of_normal(np.zeros(columns), features), sketch_of_normal(moved, features))
        )
    return found, nammd_of_normals(moved, kernel)


def test_effective_numbers():
    assert effective_number(np.ones(7)) == 7
    assert effective_number(np.array([5.0, 0.0, 0.0])) == 1
    assert 1 < effective_number(np.array([5.0, 1.0, 1.0])) < 3
    assert effective_number(np.zeros(4)) == 4


HARD = [
    (nammd.Laplace(22.0), 20, 16),
    (nammd.Laplace(22.0), 20, 64),
    (nammd.Laplace(113.0), 100, 64),
    (nammd.Gaussian(3.0), 5, 16),
    (nammd.Gaussian(1.5), 1, 4),
]


@pytest.mark.parametrize(("kernel", "columns", "n_features"), HARD)
def test_a_small_distance_by_few_frequencies_is_not_claimed_without_a_caution(kernel, columns, n_features):
    found, eps = estimates(kernel, columns, n_features)
    claimed = [closeness_of(e, eps, "less", 0.05, "corrected") for e in found]
    assert np.mean([c.rejected and not cautioned(c) for c in claimed]) <= 0.07
    assert np.mean([cautioned(c) for c in claimed]) > 0.9
    far = [pvalue(e.pair, eps) <= 0.05 for e in found]
    assert np.mean(far) <= 0.05 + 3 * noise(0.05, REPETITIONS)


@pytest.mark.parametrize(
    ("kernel", "columns", "n_features"),
    [(nammd.Gaussian(1.5), 1, 64), (nammd.Gaussian(6.0), 20, 256), (nammd.Laplace(5.6), 5, 256)],
)
def test_enough_frequencies_need_no_caution_and_hold_the_level(kernel, columns, n_features):
    found, eps = estimates(kernel, columns, n_features)
    assert np.mean([cautioned(e) for e in found]) < 0.05
    for alternative in ("greater", "less"):
        rejected = [pvalue(e.pair, eps, alternative) <= 0.05 for e in found]
        assert 0.01 <= np.mean(rejected) <= 0.05 + 3 * noise(0.05, REPETITIONS)


def test_students_law_makes_up_for_a_variance_from_few_frequencies():
    """With eight frequencies of a Gaussian kernel the normal law would claim too much."""
    found, eps = estimates(nammd.Gaussian(3.0), 5, 16, repetitions=400)
    tests = [margin(e.pair, eps, "corrected", "less") for e in found]
    by_normal = np.mean([upper_tail(-test.z) <= 0.05 for test in tests])
    by_student = np.mean([test.pvalue("less") <= 0.05 for test in tests])
    assert by_student <= 0.07
    assert by_normal > by_student + 0.02


def test_quantiles_and_tails_are_those_of_student():
    assert quantile(0.9, 4.5) == pytest.approx(student.ppf(0.9, 4.5))
    assert upper_tail(1.3, 4.5) == pytest.approx(student.sf(1.3, 4.5))
    assert upper_tail(1.3, 1e9) == pytest.approx(upper_tail(1.3), rel=1e-6)


def test_thresholds_intervals_and_pvalues_agree():
    x, y = nammd.Sketch.of(X, FEATURES), nammd.Sketch.of(Y, FEATURES)
    for alternative in ("greater", "less"):
        result = nammd.closeness_test(x, y, 0.03, alternative=alternative)
        test = margin(result.estimate.pair, 0.03, "corrected", alternative)
        assert 1 < test.degrees < 1e4
        at = quantile(0.95, test.degrees) * (1 if alternative == "greater" else -1)
        assert result.threshold == pytest.approx(0.03 + test._inverse(at) * test.deviation / test.scale)
    low, high = result.confidence_interval(0.9)
    assert nammd.closeness_test(x, y, low, alternative="greater").pvalue == pytest.approx(0.05, rel=1e-6)
    assert nammd.closeness_test(x, y, high, alternative="less").pvalue == pytest.approx(0.05, rel=1e-6)


def test_degrees_count_the_frequencies_in_proportion_to_their_part():
    x, y = nammd.Sketch.of(X, FEATURES), nammd.Sketch.of(Y, FEATURES)
    pair = nammd.distance(x, y).pair
    assert pair.degrees_of_freedom(1.0, 1.0) == pair.spread.carriers - 1
    assert pair.degrees_of_freedom(0.5, 1.0) == 4 * (pair.spread.carriers - 1)
    assert pair.degrees_of_freedom(0.0, 1.0) == np.inf
    assert nammd.distance(x, y, kernel=FEATURES).pair.degrees_of_freedom(0.5, 1.0) == np.inf


def test_comparisons_of_pairs_use_student_too():
    x, y, z = (nammd.Sketch.of(data, FEATURES) for data in (X, Y, Z))
    exact = nammd.compare_pairs((x, y), (x, z), alternative="two-sided")
    assert exact.pvalue > 2 * upper_tail(abs(exact.statistic))
    low, high = exact.confidence_interval(1 - exact.pvalue)
    assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-9)
    own = nammd.compare_pairs((x, y), (x, z), alternative="two-sided", kernel=FEATURES)
    assert own.pvalue == 2 * upper_tail(abs(own.statistic))


def test_the_caution_says_how_many_and_what_to_do():
    few = nammd.RandomFeatures(KERNEL, 16, rng=4)
    x, y = nammd.Sketch.of(X, few), nammd.Sketch.of(Y, few)
    [caution] = [c for c in nammd.distance(x, y).cautions if c.code == "few-frequencies"]
    assert "of the 8 random frequencies carry this distance" in str(caution)
    assert "take more features, or an epsilon from the same features" in str(caution)
    limit = nammd.Tolerance.at(0.2, KERNEL, n_columns=3)
    assert cautioned(limit.check(x, y))
    assert not cautioned(nammd.distance(x, y, kernel=few))  # then they are the kernel, all of it


def test_equal_data_are_not_called_carried_by_few():
    features = nammd.RandomFeatures(KERNEL, 256, rng=4)
    rng = np.random.default_rng(8)
    x, y = (nammd.Sketch.of(rng.normal(size=(2000, 3)), features) for _ in range(2))
    assert nammd.distance(x, y).pair.spread.carriers > 40
    assert not cautioned(nammd.distance(x, y))
