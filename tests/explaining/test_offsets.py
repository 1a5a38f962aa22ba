"""Whole numbers that look as if all of them had been moved by one, and days of another month."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import nammd

SHARES = np.array([1, 1, 1, 1, 1, 2, 4, 9, 12, 8, 6, 5, 7, 6, 5, 5, 8, 12, 10, 7, 5, 3, 2, 1.0])


def hours(seed, rows=1000, shares=SHARES, key=1):
    rng = np.random.default_rng([seed, key])
    hour = rng.choice(len(shares), rows, p=shares / shares.sum())
    return pd.DataFrame({"hour": hour, "size": rng.normal(size=rows).round(2)})


@cache
def gate():
    """A gate that knows three thousand rows; facts are the same at every scale, so there is one."""
    made = nammd.Tolerance.from_reference(hours(0, 3000), hours(1, 3000), rows=1000, scales="median")
    return made.with_reference(hours(0, 3000))


def offsets(table):
    """Return the facts that a check would tell, without its tests."""
    made = gate()
    return [fact for fact in made.facts(made.candidate(made._open(table))) if fact.code == "offset"]


@pytest.mark.parametrize(("step", "words"), [(1, "1 higher"), (-1, "1 lower")])
@pytest.mark.parametrize("rows", [1000, 2500])
def test_a_clock_that_is_an_hour_off_is_a_fact(step, words, rows):
    table = hours(2, rows)
    [fact] = offsets(table.assign(hour=(table["hour"] + step) % 24))
    assert str(fact) == f"hour: all values look as if they were {words} than before"
    [plain] = offsets(table.assign(hour=table["hour"] + step))
    assert plain == fact
    found = gate().check(table.assign(hour=table["hour"] + step))
    assert found.is_far
    assert plain in found.facts


def test_good_data_and_other_changes_are_none():
    for seed in range(10, 40):
        assert offsets(hours(seed)) == []
    flatter = hours(3, 2500, shares=SHARES + 3)
    later = hours(4, 2500, shares=np.roll(SHARES, 1) + SHARES)  # half of the rows moved: a drift
    assert offsets(flatter) == offsets(later) == []


def test_numbers_that_are_all_alike_cannot_tell():
    flat = nammd.Tolerance.from_reference(hours(0, shares=np.ones(24)), hours(1, shares=np.ones(24)))
    moved = hours(2, shares=np.ones(24)).assign(hour=lambda d: (d["hour"] + 1) % 24)
    assert [f for f in flat.check(hours(0, shares=np.ones(24)), moved).facts if f.code == "offset"] == []


def test_days_of_another_month_are_no_defaults_and_not_rounded():
    """They are later, and that is all."""
    days = [
        pd.DataFrame({"day": pd.date_range(start, periods=31).repeat(60)})
        for start in ("2026-01-01", "2026-02-01")
    ]
    for table, seed in zip(days, (1, 2), strict=True):
        table["size"] = np.random.default_rng(seed).normal(size=len(table))
    verdict = nammd.Tolerance.from_reference(days[0]).check(*days)
    assert [fact.code for fact in verdict.facts] == ["outside-range"]
    assert [column.name for column in verdict.details.beyond] == ["day"]
