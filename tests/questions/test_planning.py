"""Planned power against simulated power, and the sizes that go with it."""

import math

import numpy as np
import pytest

import nammd
from nammd.statistics.power import power_at
from tests.simulate import KERNEL, Asked, noise, pvalues, samples


@pytest.fixture(scope="module")
def pilot():
    [(x, y)] = samples("concentrated normal", 0.2, 400, 400, repetitions=1)
    return nammd.distance(x, y, kernel=KERNEL)


PLANNED = (Asked(0.14), Asked(0.16), Asked(0.26, "less"))


@pytest.mark.parametrize("asked", PLANNED)
def test_planned_power_is_the_power_of_simulated_tests(pilot, asked):
    planned = nammd.plan(asked.margin, 0.2, pilot=pilot, rows=100)
    found = pvalues("concentrated normal", 0.2, 100, 100, *PLANNED)[PLANNED.index(asked)]
    assert planned.alternative == asked.alternative
    assert planned.power == pytest.approx(np.mean(found <= 0.05), abs=3 * noise(0.5) + 0.06)


def test_unequal_sizes_are_planned_too(pilot):
    planned = nammd.plan(0.15, 0.2, pilot=pilot, rows=(60, 240))
    [found] = pvalues("concentrated normal", 0.2, 60, 240, Asked(0.15))
    assert planned.power == pytest.approx(np.mean(found <= 0.05), abs=3 * noise(0.5) + 0.06)


@pytest.mark.parametrize("distance", [0.1, 0.3])
def test_planned_rows_just_reach_the_power(pilot, distance):
    planned = nammd.plan(0.2, distance, pilot=pilot, power=0.9)
    assert planned.m == planned.n
    assert planned.power >= 0.9
    assert nammd.plan(0.2, distance, pilot=pilot, rows=planned.m - 1).power < 0.9


def test_sizes_keep_the_proportion_of_the_pilot():
    rng = np.random.default_rng(0)
    pilot = nammd.distance(rng.normal(size=(300, 2)), rng.normal(0.5, size=(100, 2)))
    planned = nammd.plan(0.01, 0.03, pilot=pilot)
    assert planned.m / planned.n == pytest.approx(3, rel=0.02)


def test_the_distribution_free_bound_is_the_papers_and_larger(pilot):
    planned = nammd.plan(0.1, 0.2, pilot=pilot, power=0.8)
    z = 1.6448536269514722
    v = 1 - planned.power
    assert planned.bound == math.ceil((2 * z + math.sqrt(9 * math.log(2 / v))) ** 2 / 0.1**2)
    assert planned.bound > 10 * planned.m


def test_any_margin_is_decided_in_the_end(pilot):
    assert power_at(pilot.pair, 0.15, 0.2, 10**9, 10**9, 0.05) == pytest.approx(1)


def test_every_kind_of_pilot_is_taken(pilot):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(100, 2)), rng.normal(0.4, size=(100, 2))
    result = nammd.closeness_test(x, y, 0.01, alternative="greater")
    plans = [nammd.plan(0.01, 0.05, pilot=p) for p in (result, result.estimate, (x, y))]
    assert len({p.m for p in plans}) == 1
    default = nammd.plan(0.005, pilot=result)
    assert default.distance == result.statistic


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0.2, "distance": 0.2}, "differ from epsilon"),
        ({"epsilon": 0.2, "distance": 1.5}, "between 0 and 1"),
        ({"epsilon": 1.2, "distance": 0.5}, "epsilon must be"),
        ({"epsilon": 0.2, "distance": 0.3, "power": 1.0}, "power must be"),
        ({"epsilon": 0.2, "distance": 0.3, "rows": 3}, "at least 4 rows"),
    ],
)
def test_impossible_plans_are_refused(pilot, arguments, message):
    with pytest.raises(ValueError, match=message):
        nammd.plan(**arguments, pilot=pilot)


def test_a_wrong_pilot_is_refused():
    with pytest.raises(TypeError, match="pilot must be"):
        nammd.plan(0.1, 0.2, pilot=3.0)


def test_the_plan_reads_as_a_sentence(pilot):
    text = str(nammd.plan(0.1, 0.2, pilot=pilot))
    assert "farther apart than 0.1" in text
    assert "distribution-free bound, very loose" in text


def test_power_does_not_jump_with_the_number_of_rows():
    rng = np.random.default_rng(0)
    pilot = nammd.distance(rng.normal(size=(400, 3)), rng.normal(0.3, 1, size=(400, 3)))
    powers = [nammd.plan(0.02, pilot.value, pilot=pilot, rows=n).power for n in range(100, 400, 4)]
    assert np.all(np.diff(powers) > -1e-9)
    assert np.max(np.diff(powers)) < 0.05
