"""What a tolerance says of its own checks: against simulations, and the same everywhere."""

import numpy as np
import pytest

import nammd
from nammd.datasets.laws import mixtures as laws
from tests.simulate import KERNEL, by_accepted, only_decisions, pairs_of


def draw(rng, shift, rows):
    return rng.normal(shift, 1.0, size=(rows, 1))


def simulated(shift, rows, repetitions=80, accepted=300):
    """The p-values of "within" and of "beyond", the tolerance being made anew each time."""
    rng, found = np.random.default_rng(3), []
    for _ in range(repetitions):
        train, others = draw(rng, 0.0, accepted), (draw(rng, 0.6, accepted), draw(rng, shift, rows))
        found.append(by_accepted(*pairs_of(train, *others)))
    return np.array(found).T


@pytest.fixture(scope="module")
def tolerance():
    """A tolerance that is as far as the law is, as nearly as can be."""
    rng = np.random.default_rng(0)
    return nammd.Tolerance.from_reference(draw(rng, 0.0, 300), draw(rng, 0.6, 300), kernel=KERNEL, how="ball")


def population(shift):
    """The distance of the laws."""
    return laws.nammd_of(laws.normal(0, 1), laws.normal(shift, 1))


@pytest.fixture(scope="module")
def typical():
    """Of several accepted datasets that at the distance of the law.

    A forecast takes epsilon for what it is.
    """
    rng = np.random.default_rng(1)
    train = draw(rng, 0.0, 300)
    accepted = [draw(rng, 0.6, 300) for _ in range(40)]
    off = [abs(pair.value - population(0.6)) for pair in pairs_of(train, *accepted)]
    nearest = accepted[np.argmin(off)]
    return nammd.Tolerance.from_reference(train, nearest, kernel=KERNEL, how="ball", scales="median")


@pytest.mark.parametrize(("shift", "rows"), [(0.0, 60), (0.3, 150), (1.0, 60), (0.95, 300)])
def test_power_is_what_happens(typical, shift, rows):
    tolerance, true = typical, population(shift)
    told, (within, beyond) = tolerance.power(rows, max(true, 0.0)), simulated(shift, rows)
    assert told.close == pytest.approx(np.mean(within <= 0.05), abs=0.17)
    # The rest of the level is for single columns.
    assert tolerance.joint_part == 0.5
    assert told.far == pytest.approx(np.mean(beyond <= 0.025), abs=0.17)
    assert told.close + told.far + told.undecided == pytest.approx(1.0)


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.0])
def test_simulated_decisions_are_those_of_tolerances_that_tell_everything(shift):
    rng = np.random.default_rng(4)
    train, accepted, candidate = draw(rng, 0.0, 100), draw(rng, 0.6, 100), draw(rng, shift, 100)

    def verdict():
        tolerance = nammd.Tolerance.from_reference(train, accepted, kernel=KERNEL, how="ball")
        return tolerance.check(train, candidate)

    whole = verdict()
    with only_decisions():
        fast = verdict()
    told = ("decision", "distance", "epsilon", "epsilon_error", "pvalue_close", "pvalue_far")
    assert [getattr(fast.details, name) for name in told] == [getattr(whole.details, name) for name in told]
    simulated = by_accepted(*pairs_of(train, accepted, candidate))
    assert (whole.pvalue_close, whole.details.held[0].pvalue_far) == pytest.approx(simulated, rel=1e-9)


def test_more_rows_and_a_farther_candidate_have_more_power(tolerance):
    close = [tolerance.power(rows, 0.0).close for rows in (20, 200, 1000)]
    far = [tolerance.power(200, factor * tolerance.epsilon).far for factor in (1.2, 2.0, 3.0)]
    assert close == sorted(close)
    assert far == sorted(far)
    assert far[-1] > 0.9 > far[0]
    assert tolerance.power(200, tolerance.epsilon).far < 0.06


def test_calibrating_ends_with_what_to_expect(tolerance):
    close, far = tolerance.power(300, 0.0).close, tolerance.power(300, 2 * tolerance.epsilon).far
    assert dict(tolerance.lines())["to expect"] == (
        f"300 rows like the reference will be called CLOSE with probability {close:.2f}; twice as far as the "
        f"tolerance, FAR with probability {far:.2f}"
    )


@pytest.mark.parametrize("shift", [0.5, 0.75])
def test_plan_and_check_give_the_same_advice(tolerance, shift):
    rng = np.random.default_rng(0)
    train = draw(rng, 0.0, 300)
    candidate = draw(np.random.default_rng(8), shift, 30)
    gate = tolerance.with_reference(train)
    verdict = gate.check(candidate)
    assert verdict.decision == "UNDECIDED"
    plan = gate.plan(candidate)
    if verdict.details.rows_needed is None:
        assert plan.n is None
        assert plan.obstacle == verdict.advice()
    else:
        assert (plan.m, plan.n) == verdict.details.rows_needed
        assert plan.power >= 0.8


def test_where_the_tolerance_is_in_the_way_so_many_accepted_rows_lift_it():
    rng = np.random.default_rng(5)
    train, accepted = draw(rng, 0.0, 700), draw(rng, 0.6, 40)
    tolerance = nammd.Tolerance.from_reference(train, accepted, kernel=KERNEL, anyway=True, how="ball")
    candidate = draw(rng, 0.45, 700)
    verdict = tolerance.check(train, candidate)
    assert (verdict.decision, verdict.details.limited_by, verdict.details.rows_needed) == (
        "UNDECIDED",
        "tolerance",
        None,
    )
    assert verdict.details.accepted_needed > 40
    assert f"{verdict.details.accepted_needed} accepted rows" in verdict.advice().replace(",", "")
    plan = tolerance.with_reference(train).plan(candidate)
    assert plan.n is None
    assert plan.obstacle == verdict.advice()


def test_a_given_number_knows_nothing_of_the_data():
    given = nammd.Tolerance.at(0.05, KERNEL, n_columns=1)
    with pytest.raises(ValueError, match="cannot tell how probable a verdict is"):
        given.power(100, 0.0)
    assert "to expect" not in dict(given.lines())


@pytest.mark.parametrize(("rows", "distance"), [(1, 0.0), (2.5, 0.0), (100, -0.1), (100, float("nan"))])
def test_impossible_questions_are_refused(tolerance, rows, distance):
    with pytest.raises((ValueError, TypeError)):
        tolerance.power(rows, distance)
