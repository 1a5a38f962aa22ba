"""What is said of sketches: where rows are needed, what limits a verdict, and which sketches are one."""

from dataclasses import replace

import numpy as np
import pytest

import nammd
from nammd.tolerances.bars import Perturbed
from tests.sketches.samples import FEATURES, KERNEL, X, Y, Z

A, B, C = (nammd.Sketch.of(data, FEATURES) for data in (X, Y, Z))
LIMIT = nammd.Tolerance.at(0.05, KERNEL, n_columns=3)


def test_an_engine_is_refused_wherever_sketches_are():
    for ask in (
        lambda: LIMIT.check(A, B, engine=nammd.Tiles()),
        lambda: LIMIT.with_reference(A, engine=nammd.Tiles()),
        lambda: nammd.distance(A, B, engine=nammd.Tiles()),
        lambda: nammd.compare_pairs((A, B), (A, C), engine=nammd.Tiles()),
    ):
        with pytest.raises(ValueError, match="sketches are summed already, so no engine is needed"):
            ask()


NEED_ROWS = {
    "two_sample_test": lambda: nammd.two_sample_test(A, B),
    "the second": lambda: nammd.two_sample_test(X, B),
    "from_reference": lambda: nammd.Tolerance.from_reference(A, B),
    "an accepted one": lambda: nammd.Tolerance.from_reference(X, B),
    "from_noise": lambda: nammd.Tolerance.from_noise(A),
    "from_split": lambda: nammd.Tolerance.from_split(A),
    "at": lambda: nammd.Tolerance.at(0.1, KERNEL, x=A),
    "kernel_sums": lambda: nammd.kernel_sums(A, B, KERNEL),
}


@pytest.mark.parametrize("what", NEED_ROWS)
def test_what_needs_rows_says_so_and_names_what_does_not(what):
    with pytest.raises(TypeError, match=r" is a sketch, and this needs rows.*distance, closeness_test"):
        NEED_ROWS[what]()


def test_a_ranking_of_sketches_is_that_of_their_rows_under_the_same_features():
    named = {"b": B, "c": C}
    sketched = nammd.rank(A, named, kernel=FEATURES)
    whole = nammd.rank(X, {"b": Y, "c": Z}, kernel=FEATURES)
    assert [e.name for e in sketched.entries] == [e.name for e in whole.entries]
    for one, other in zip(sketched.entries, whole.entries, strict=True):
        assert one.estimate.value == pytest.approx(other.estimate.value, rel=1e-9)
    [one], [other] = sketched.contrasts, whole.contrasts
    # Sketches do not know the third moment of influences, and are the more cautious for it.
    assert other.pvalue < one.pvalue < 10 * other.pvalue
    assert "their error is included" in str(nammd.rank(A, named).entries[0].estimate)


def test_a_plan_takes_sketches_as_its_pilot():
    planned = nammd.plan(0.01, 0.05, pilot=(A, B))
    assert planned.m == nammd.plan(0.01, 0.05, pilot=nammd.distance(A, B)).m


def test_sketches_of_pairs_are_named_in_errors():
    with pytest.raises(TypeError, match=r"second\[1\] is not a sketch"):
        nammd.compare_pairs((A, B), (A, Z))
    with pytest.raises(ValueError, match=r"first\[1\] has 1 row; at least 4 are needed"):
        nammd.compare_pairs((A, nammd.Sketch.of(Y[:1], FEATURES)), (A, C))


def test_a_sketch_loaded_twice_is_one_dataset(tmp_path):
    path = A.save(tmp_path / "a.sketch")
    one, two = nammd.Sketch.load(path), nammd.Sketch.load(path)
    compared = nammd.compare_pairs((one, B), (C, two))
    assert compared.shared
    assert compared.pvalue == nammd.compare_pairs((A, B), (A, C)).pvalue
    assert not nammd.compare_pairs((one, B), (two, C), shared=False).shared
    assert not nammd.compare_pairs((A, B), (nammd.Sketch.of(X[::-1] + 0.01, FEATURES), C)).shared
    with pytest.raises(ValueError, match="consist of the same datasets"):
        nammd.compare_pairs((one, B), (B, two))


def near(value, *, error=0.0, n_features=64, rows=2000):
    """Return an undecided check of sketches whose tolerance is near the distance."""
    features = nammd.RandomFeatures(KERNEL, n_features, rng=4)
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(rows, 3)), rng.normal(0.4, 1.0, size=(rows, 3))
    one, two = nammd.Sketch.of(x, features), nammd.Sketch.of(y, features)
    eps = value * nammd.distance(one, two).value
    limit = nammd.Tolerance.at(eps, KERNEL, n_columns=3)
    if error:
        limit = replace(limit, bars=(Perturbed("noise", eps, error**2, None, limit.farthest.pilot),))
    verdict = limit.check(one, two)
    assert verdict.decision == "UNDECIDED"
    return verdict


def test_features_are_blamed_where_they_stand_in_the_way():
    verdict = near(1.1)
    assert (verdict.details.rows_needed, verdict.details.limited_by) == (None, "features")
    assert "sketch with more random features" in verdict.advice()
    assert verdict.to_dict()["limited_by"] == "features"


def test_the_tolerance_is_blamed_where_more_features_would_not_help():
    verdict = near(1.1, error=0.02)
    assert (verdict.details.rows_needed, verdict.details.limited_by) == (None, "tolerance")
    assert "the tolerance itself is too uncertain" in verdict.advice()


def test_a_distance_at_the_tolerance_is_what_it_is():
    verdict = near(1.0)
    assert (verdict.details.rows_needed, verdict.details.limited_by) == (None, "distance")
    assert "the difference is almost exactly the tolerance" in verdict.advice()


def test_nothing_is_blamed_where_rows_would_do():
    verdict = near(1.4, n_features=1024, rows=500)
    assert verdict.details.rows_needed is not None
    assert verdict.details.limited_by is None
