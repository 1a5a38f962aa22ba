"""What a tolerance says of its own checks: against simulations, and the same everywhere."""

import numpy as np
import pytest

import nammd

KERNEL = nammd.Gaussian(1.0)


def draw(rng, shift, rows):
    return rng.normal(shift, 1.0, size=(rows, 1))


def simulated(shift, rows, repetitions=150, accepted=300):
    """How often each verdict comes, the tolerance being made anew each time."""
    rng, counts = np.random.default_rng(3), {"CLOSE": 0, "FAR": 0, "UNDECIDED": 0}
    for _ in range(repetitions):
        train = draw(rng, 0.0, accepted)
        tolerance = nammd.Tolerance.from_reference(train, draw(rng, 0.6, accepted), kernel=KERNEL)
        counts[tolerance.check(train, draw(rng, shift, rows)).decision.value] += 1
    return {name: count / repetitions for name, count in counts.items()}


@pytest.fixture(scope="module")
def tolerance():
    """A tolerance that is as far as the law is, as nearly as can be."""
    rng = np.random.default_rng(0)
    return nammd.Tolerance.from_reference(draw(rng, 0.0, 300), draw(rng, 0.6, 300), kernel=KERNEL)


@pytest.mark.parametrize(("shift", "rows"), [(0.0, 60), (0.0, 200), (0.3, 150), (1.0, 60), (0.95, 300)])
def test_power_is_what_happens(shift, rows):
    rng = np.random.default_rng(1)
    train = draw(rng, 0.0, 300)
    margin = nammd.distance(draw(rng, 0, 4000), draw(rng, 0.6, 4000), kernel=KERNEL).value
    true = nammd.distance(draw(rng, 0, 4000), draw(rng, shift, 4000), kernel=KERNEL).value if shift else 0.0
    # Of several tolerances that with the epsilon of the law: the forecast takes epsilon for what it is.
    made = [nammd.Tolerance.from_reference(train, draw(rng, 0.6, 300), kernel=KERNEL) for _ in range(40)]
    typical = min(made, key=lambda tolerance: abs(tolerance.epsilon - margin))
    told, seen = typical.power(rows, max(true, 0.0)), simulated(shift, rows)
    assert told.close == pytest.approx(seen["CLOSE"], abs=0.17)
    assert told.far == pytest.approx(seen["FAR"], abs=0.17)
    assert told.close + told.far + told.undecided == pytest.approx(1.0)


def test_more_rows_and_a_farther_candidate_have_more_power(tolerance):
    close = [tolerance.power(rows, 0.0).close for rows in (20, 60, 200, 1000)]
    far = [tolerance.power(200, factor * tolerance.epsilon).far for factor in (1.2, 1.5, 2.0, 3.0)]
    assert close == sorted(close)
    assert far == sorted(far)
    assert far[-1] > 0.9 > far[0]
    assert tolerance.power(200, tolerance.epsilon).far < 0.06


def test_calibrating_ends_with_what_to_expect(tolerance):
    close, far = tolerance.power(300, 0.0).close, tolerance.power(300, 2 * tolerance.epsilon).far
    assert dict(tolerance.facts())["to expect"] == (
        f"300 rows like the reference will be called CLOSE with probability {close:.2f}; twice as far as the "
        f"tolerance, FAR with probability {far:.2f}"
    )


@pytest.mark.parametrize("shift", [0.3, 0.5, 0.75])
def test_plan_and_check_give_the_same_advice(tolerance, shift):
    rng = np.random.default_rng(0)
    train = draw(rng, 0.0, 300)
    candidate = draw(np.random.default_rng(8), shift, 30)
    gate = tolerance.with_reference(train)
    verdict = gate.check(candidate)
    assert verdict.decision == "UNDECIDED"
    plan = gate.plan(candidate)
    if verdict.rows_needed is None:
        assert plan.n is None
        assert plan.obstacle == verdict.advice()
    else:
        assert (plan.m, plan.n) == verdict.rows_needed
        assert plan.power >= 0.8


def test_where_the_tolerance_is_in_the_way_so_many_accepted_rows_lift_it():
    rng = np.random.default_rng(5)
    train, accepted = draw(rng, 0.0, 3000), draw(rng, 0.6, 40)
    tolerance = nammd.Tolerance.from_reference(train, accepted, kernel=KERNEL, anyway=True)
    candidate = draw(rng, 0.45, 3000)
    verdict = tolerance.check(train, candidate)
    assert (verdict.decision, verdict.limited_by, verdict.rows_needed) == ("UNDECIDED", "tolerance", None)
    assert verdict.accepted_needed > 40
    assert f"{verdict.accepted_needed} accepted rows" in verdict.advice().replace(",", "")
    plan = tolerance.with_reference(train).plan(candidate)
    assert plan.n is None
    assert plan.obstacle == verdict.advice()


def test_a_given_number_knows_nothing_of_the_data():
    given = nammd.Tolerance.at(0.05, KERNEL, columns=1)
    with pytest.raises(ValueError, match="cannot tell how probable a verdict is"):
        given.power(100, 0.0)
    assert "to expect" not in dict(given.facts())


@pytest.mark.parametrize(("rows", "distance"), [(1, 0.0), (2.5, 0.0), (100, -0.1), (100, float("nan"))])
def test_impossible_questions_are_refused(tolerance, rows, distance):
    with pytest.raises((ValueError, TypeError)):
        tolerance.power(rows, distance)
