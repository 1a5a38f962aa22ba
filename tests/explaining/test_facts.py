"""Facts: each with data that produce it and data that must not; and checks that fail on them."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import nammd
from nammd.explaining.facts import FACTS, known_facts
from nammd.testing import assert_close

ROWS = 600


def table(seed=0, rows=ROWS):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "amount": rng.lognormal(3, 0.5, rows),
            "count": rng.integers(1, 400, rows),
            "kind": rng.choice(["a", "b", "c"], rows, p=[0.5, 0.4, 0.1]),
            "version": "v1",
            "key": [f"{seed}-{k}" for k in range(rows)],
        }
    )


@cache
def made():
    return nammd.Tolerance.from_noise(table(), level=0.5, levels=(0.5,))


def facts_of(candidate, reference=None, tolerance=None):
    return (tolerance or made()).check(table() if reference is None else reference, candidate).facts


def codes(candidate, **how):
    return {fact.code for fact in facts_of(candidate, **how)}


def changed(column, values):
    return table(1).assign(**{column: values})


def test_data_like_the_reference_have_no_facts():
    for seed in range(1, 6):
        assert codes(table(seed)) == set()


def test_new_categories_are_told_with_their_share():
    kinds = table(1)["kind"].to_numpy().copy()
    kinds[:60] = "d"
    [fact] = facts_of(changed("kind", kinds))
    assert (fact.code, str(fact)) == ("new-categories", "kind: 'd' is new, 10 % of rows")


def test_missing_values_where_there_were_none_are_told():
    amounts = table(1)["amount"].to_numpy().copy()
    amounts[:6] = np.nan
    [fact] = facts_of(changed("amount", amounts))
    assert str(fact) == "amount: 1.0 % of the values are missing, none in the reference"
    holes = table()
    holes.loc[:5, "amount"] = np.nan
    tolerance = nammd.Tolerance.from_noise(holes, level=0.5, levels=(0.5,), anyway=True)
    assert "missing-values" not in codes(changed("amount", amounts), reference=holes, tolerance=tolerance)


def test_a_constant_that_changed_is_told():
    assert "constant-changed" in codes(changed("version", "v2"))
    [fact] = [a for a in facts_of(changed("version", "v2")) if a.code == "constant-changed"]
    assert str(fact) == "version: always 'v1' in the reference, now 'v2'"


def test_a_type_that_changed_is_told():
    fractions = table(1)["count"] + 0.5
    assert "type-changed" in codes(changed("count", fractions))
    assert "type-changed" not in codes(changed("count", table(1)["count"].astype(float)))
    assert "type-changed" in codes(changed("key", np.arange(ROWS)))


def test_a_factor_and_ranges_that_do_not_overlap_are_told():
    found = facts_of(changed("amount", 1000 * table(1)["amount"]))
    assert {fact.code for fact in found} == {"factor", "ranges-apart"}
    assert "about 1000 times as large" in str(found[0])
    assert codes(changed("amount", 3 * table(1)["amount"])) == set()


@pytest.mark.parametrize("rows", [6, 60])
@pytest.mark.parametrize("suspect", [-999, -9999.0, 9999999])
def test_numbers_that_stand_for_missing_values_are_told(suspect, rows):
    gone = table(1)["amount"].mask(np.arange(ROWS) < rows, suspect)
    [fact] = [fact for fact in facts_of(changed("amount", gone)) if fact.code == "placeholders"]
    share = {6: "1.0 %", 60: "10 %"}[rows]
    assert str(fact).startswith(f"amount: {suspect:.0f} in {share} of rows, far from everything in the")
    before = table()
    before["amount"] = before["amount"].mask(np.arange(ROWS) < 5, suspect)
    tolerance = nammd.Tolerance.from_noise(before, level=0.5, levels=(0.5,), anyway=True)
    assert "placeholders" not in codes(changed("amount", gone), reference=before, tolerance=tolerance)


def test_ordinary_numbers_stand_for_themselves():
    amounts = table(1)["amount"]
    assert "placeholders" not in codes(changed("amount", amounts.mask(np.arange(ROWS) < 6, 99)))
    assert "placeholders" not in codes(changed("amount", amounts.mask(np.arange(ROWS) < 6, -998)))


def test_repeated_rows_are_told_and_tables_of_few_rows_are_not():
    twice = pd.concat([table(1)[:500], table(1)[:100]], ignore_index=True)
    assert codes(twice) == {"repeated-rows"}
    few = pd.DataFrame({"kind": ["a", "b"] * 100})
    tolerance = nammd.Tolerance.at(0.1, nammd.Gaussian(1.0), x=few)
    assert codes(few.sample(frac=0.9, random_state=1), reference=few, tolerance=tolerance) == set()


def test_rows_of_the_reference_are_told_and_the_reference_itself():
    mixed = pd.concat([table(1)[:500], table()[:100]], ignore_index=True)
    assert codes(mixed) == {"rows-in-reference"}
    assert codes(table()) == {"same-data"}


def test_a_category_that_no_row_has_any_more_is_told():
    rows = table(1)
    [fact] = facts_of(rows[rows["kind"] != "c"])
    assert (fact.code, fact.column) == ("empty-group", "kind")
    assert fact.message.startswith("no row has 'c' any more, ")


def test_a_check_fails_on_chosen_facts_and_a_tolerance_remembers_them(tmp_path):
    kinds = table(1)["kind"].to_numpy().copy()
    kinds[:3] = "d"
    candidate = changed("kind", kinds)
    verdict = made().check(table(), candidate, fail_on=["new-categories"])
    assert verdict.is_close
    assert not verdict.passed
    assert "The check fails: kind: 'd' is new, 0.5 % of rows." in str(verdict)
    with pytest.raises(AssertionError, match="'d' is new"):
        assert_close(table(), candidate, made(), fail_on=["new-categories"])
    made().failing_on("new-categories", "factor").save(tmp_path / "t.json")
    again = nammd.Tolerance.load(tmp_path / "t.json")
    assert again.fail_on == ("new-categories", "factor")
    assert not again.check(table(), candidate).passed
    assert made().check(table(), candidate).passed
    assert again.check(table(), table(2)).passed


def test_a_fact_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"no fact 'new-category'.*'new-categories'"):
        known_facts(["new-category"])
    assert known_facts(FACTS) == tuple(FACTS)
