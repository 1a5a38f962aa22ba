"""Several accepted datasets: all of them are kept, and one decides."""

import numpy as np
import pytest

import nammd

KERNEL = nammd.Gaussian(1.0)


def draw(shift, seed, rows=400):
    return np.random.default_rng(seed).normal(shift, 1.0, size=(rows, 1))


TRAIN = draw(0.0, 0)
ACCEPTED = {"spring": draw(0.4, 1), "autumn": draw(0.8, 2), "winter": draw(0.6, 3)}


@pytest.fixture(scope="module")
def tolerance():
    return nammd.Tolerance.from_reference(TRAIN, ACCEPTED, kernel=KERNEL, how="ball")


def test_each_is_kept_and_the_farthest_is_epsilon(tolerance):
    assert [bar.label for bar in tolerance.bars] == list(ACCEPTED)
    distances = [nammd.distance(TRAIN, data, kernel=KERNEL).value for data in ACCEPTED.values()]
    assert [bar.value for bar in tolerance.bars] == pytest.approx(distances, rel=1e-12)
    assert tolerance.epsilon == max(distances)
    assert tolerance.farthest.label == "autumn"


@pytest.mark.parametrize("shift", [0.1, 0.7, 1.3])
def test_beyond_is_beyond_each_and_within_is_nearer_than_one(tolerance, shift):
    candidate = draw(shift, 9)
    verdict = tolerance.check(TRAIN, candidate)
    pairs = [
        nammd.compare_pairs((TRAIN, data), (TRAIN, candidate), kernel=KERNEL) for data in ACCEPTED.values()
    ]
    main = verdict.scale_checks[0]
    assert main.pvalue == pytest.approx(max(p.rule.swapped.closer() for p in pairs), rel=1e-9)
    assert verdict.pvalue_close == pytest.approx(min(1.0, 3 * min(p.rule.closer() for p in pairs)), rel=1e-9)


@pytest.mark.parametrize(("shift", "decision", "label"), [(0.1, "CLOSE", "autumn"), (1.3, "FAR", "autumn")])
def test_the_one_that_decided_is_named(tolerance, shift, decision, label):
    verdict = tolerance.check(TRAIN, draw(shift, 9))
    assert (verdict.decision, verdict.details.decided_by) == (decision, label)
    lines = [line for line in str(verdict).splitlines() if "against " in line]
    assert [line.split("against ")[1].split()[0] for line in lines] == ["spring", "winter", "autumn"]
    assert [line.endswith("which decided") for line in lines] == [False, False, True]
    assert verdict.to_dict()["decided_by"] == label
    assert [mark.decided for mark in verdict.details.limit().marks] == [False, False, True]


def test_one_that_is_near_does_not_hide_one_that_is_far():
    """The largest estimate alone as the margin would forget that its neighbour may be the farthest."""
    lone = nammd.Tolerance.from_reference(TRAIN, ACCEPTED["autumn"], kernel=KERNEL, how="ball")
    several = nammd.Tolerance.from_reference(TRAIN, ACCEPTED, kernel=KERNEL, how="ball")
    candidate = draw(0.7, 11)
    assert several.check(TRAIN, candidate).pvalue_close >= lone.check(TRAIN, candidate).pvalue_close


def test_several_survive_their_file(tolerance, tmp_path):
    tolerance.save(tmp_path / "t.json")
    loaded = nammd.Tolerance.load(tmp_path / "t.json")
    candidate = draw(0.5, 12)
    assert loaded.check(TRAIN, candidate) == tolerance.check(TRAIN, candidate)
    assert str(loaded) == str(tolerance)
