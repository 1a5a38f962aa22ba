"""Large data: the kernel is one of features, or a part of the candidate is compared."""

from functools import partial

import numpy as np
import pytest

import nammd
from nammd.datasets.laws.features import nammd_of_normals
from nammd.kernels import large

RNG = np.random.default_rng(11)
REFERENCE = RNG.normal(size=(800, 3))
NEAR, FAR = RNG.normal(0.02, 1, size=(800, 3)), RNG.normal(0.5, 1, size=(800, 3))


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    """Let 1 000 rows be as many as can be compared in pairs, and 200 features enough for them."""
    monkeypatch.setattr(large, "MOST_ROWS", 1_000)
    monkeypatch.setattr(large, "FEATURES", 200)


def test_the_kernel_of_a_large_reference_is_frozen(tmp_path):
    tolerance = nammd.Tolerance.from_reference(REFERENCE, margin=0.01)
    assert tolerance.kernel == nammd.RandomFeatures(tolerance.kernel.kernel, 204, orthogonal=True)
    tolerance.save(tmp_path / "t.json")
    again = nammd.Tolerance.load(tmp_path / "t.json")
    assert again.kernel == tolerance.kernel
    for rows in (60, 800):  # whatever the size of the candidate
        verdict = again.check(REFERENCE, FAR[:rows] + 0.5)
        assert verdict.estimate.kernel == tolerance.kernel
        assert verdict.is_far
    assert again.check(REFERENCE, NEAR).is_close
    assert "204 orthogonal features" in str(tolerance)


@pytest.mark.parametrize("make", ["from_reference", "from_noise", "from_split"])
def test_exact_keeps_the_kernel(make):
    constructor = partial(getattr(nammd.Tolerance, make), negligible=False, scales="median")
    assert isinstance(constructor(REFERENCE, exact=True).kernel, nammd.Gaussian)
    assert isinstance(constructor(REFERENCE).kernel, nammd.RandomFeatures)
    assert isinstance(constructor(REFERENCE[:500]).kernel, nammd.Gaussian)


def test_margins_are_about_those_of_the_kernel():
    tolerances = [
        nammd.Tolerance.from_reference(REFERENCE, {"shifted": FAR}, exact=exact, how="ball", negligible=False)
        for exact in (False, True)
    ]
    assert tolerances[0].epsilon == pytest.approx(tolerances[1].epsilon, rel=0.05)
    assert tolerances[0].epsilon != tolerances[1].epsilon


def test_groups_weights_and_accepted_data(monkeypatch):
    monkeypatch.setattr(large, "MOST_ROWS", 500)
    x, accepted, again = REFERENCE[:260], FAR[:260], RNG.normal(0.5, 1, size=(260, 3))
    labels = np.arange(260) // 2
    tolerance = nammd.Tolerance.from_reference(x, {"shifted": accepted}, groups=(labels, labels + 1000))
    assert isinstance(tolerance.kernel, nammd.RandomFeatures)
    assert tolerance.check(x, again, groups=(labels, labels + 2000)).is_close
    assert tolerance.check(x, again + 2, groups=(labels, labels + 2000)).is_far


def test_a_large_candidate_of_a_small_reference_is_drawn_from():
    tolerance = nammd.Tolerance.from_reference(REFERENCE[:300], margin=0.01)
    assert isinstance(tolerance.kernel, nammd.Gaussian)
    many = RNG.normal(0.5, 1, size=(2000, 3))
    verdict = tolerance.check(REFERENCE[:300], many)
    assert (verdict.estimate.m, verdict.estimate.n) == (300, 700)
    assert ("rows", "300 reference, 700 of 2000 candidate") in verdict.lines()
    assert verdict.is_far
    every = tolerance.check(REFERENCE[:300], many, exact=True)
    assert every.estimate.n == 2000
    assert every.distance == pytest.approx(verdict.distance, rel=0.3)
    # Columns are those of all rows.
    assert every.column_checks == verdict.column_checks


def test_accepted_data_of_a_small_reference_are_drawn_from():
    many = RNG.normal(0.5, 1, size=(2000, 3))
    tolerance = nammd.Tolerance.from_reference(REFERENCE[:300], {"shifted": many})
    assert tolerance.check(REFERENCE[:300], RNG.normal(0.5, 1, size=(300, 3))).is_close


def test_a_number_is_meant_under_whatever_kernel_serves():
    tolerance = nammd.Tolerance.at(0.02, nammd.Gaussian(2.0), n_columns=3)
    assert isinstance(tolerance.check(REFERENCE, NEAR).estimate.kernel, nammd.RandomFeatures)
    assert isinstance(tolerance.check(REFERENCE, NEAR, exact=True).estimate.kernel, nammd.Gaussian)
    assert isinstance(tolerance.check(REFERENCE[:300], NEAR[:300]).estimate.kernel, nammd.Gaussian)


def test_another_reference_that_is_large_is_drawn_from():
    tolerance = nammd.Tolerance.from_reference(REFERENCE[:300], margin=0.02)
    verdict = tolerance.check(REFERENCE, NEAR)
    assert verdict.estimate.rows_compared == ("500 of 800", "500 of 800")
    assert verdict.decision == tolerance.check(REFERENCE, NEAR, exact=True).decision


def test_a_kernel_without_features_stays_exact_for_its_own_reference():
    class Odd(nammd.Kernel):
        bound = 1.0

        def __call__(self, x, y, /):
            return 1 / (1 + ((x[:, None] - y) ** 2).sum(axis=2))

    tolerance = nammd.Tolerance.from_reference(REFERENCE, kernel=Odd(), margin=0.01, negligible=False)
    assert tolerance.check(REFERENCE, NEAR).estimate.rows_compared == ("800", "800")


@pytest.mark.parametrize("question", ["distance", "closeness", "rank", "pairs"])
def test_questions_take_features_too(question):
    x, y = REFERENCE, FAR
    asked = {
        "distance": lambda **how: nammd.distance(x, y, **how),
        "closeness": lambda **how: (
            nammd.closeness_test(x, y, 0.01, alternative="greater", scales="all", **how).estimate
        ),
        "rank": lambda **how: nammd.rank(x, {"far": y, "near": NEAR}, **how).entries[1].estimate,
        "pairs": lambda **how: nammd.compare_pairs((x, NEAR), (x, y), **how).second,
    }[question]
    by_features, exact = asked(), asked(exact=True)
    assert isinstance(by_features.kernel, nammd.RandomFeatures)
    assert isinstance(exact.kernel, nammd.Gaussian)
    assert by_features.value == pytest.approx(exact.value, rel=0.05)
    small = nammd.distance(x[:100], y[:100])
    assert isinstance(small.kernel, nammd.Gaussian)
    assert small.frequency_error is None


def test_the_distance_under_the_kernel_itself_is_told_with_its_error():
    """Against the closed form of normal laws, over seeds of the frequencies."""
    shift, bandwidth = (0.4, 0.0, 0.0), 2.0
    true = nammd_of_normals(shift, nammd.Gaussian(bandwidth))
    rng, beyond = np.random.default_rng(1), 0
    x, y = rng.normal(size=(12_000, 3)), rng.normal(size=(12_000, 3)) + shift
    errors = []
    for seed in range(8):
        kernel = nammd.RandomFeatures(nammd.Gaussian(bandwidth), 120, rng=seed, orthogonal=True)
        estimate = nammd.distance(x, y, kernel=kernel)
        error = np.hypot(estimate.frequency_error, estimate.standard_error)
        beyond += abs(estimate.value - true) > 2 * error
        errors.append(estimate.frequency_error / true)
    assert beyond <= 2
    assert 0.0005 < np.median(errors) < 0.05
    lines = dict(estimate.lines())
    assert lines["without features"].endswith("under Gaussian, bandwidth 2")
    assert estimate.to_dict()["frequency_error"] == estimate.frequency_error
