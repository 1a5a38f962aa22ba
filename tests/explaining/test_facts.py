"""Facts: each with data that produce it and data that must not; and what they do to a verdict."""

import tracemalloc
from functools import cache

import numpy as np
import pandas as pd
import pytest

import nammd
from nammd.data.opening import open_dataset
from nammd.errors.stored import Stored
from nammd.explaining.chance import Counted, Share, Together, above_chance, much_more, never_so_far
from nammd.explaining.facts import FACTS, Fact, FactRules, known_facts
from nammd.explaining.row_facts import (
    Neighbours,
    near_copies,
    repeated_rows,
    rows_in_reference,
    vanished_groups,
)
from nammd.testing import assert_close

ROWS = 1200
ALONE = Together()


def table(seed=0, rows=ROWS):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "amount": rng.lognormal(3, 0.5, rows),
            "price": rng.lognormal(3, 0.5, rows).round(2),
            "count": rng.integers(1, 400, rows),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 365, rows), "D"),
            "kind": rng.choice(["a", "b", "c"], rows, p=[0.5, 0.4, 0.1]),
            "version": "v1",
            "key": [f"{seed}-{k}" for k in range(rows)],
        }
    )


@cache
def made():
    # Facts are the same at every scale.
    return nammd.Tolerance.from_noise(table(), level=0.5, levels=(0.5,), scales="median")


@cache
def gate():
    return made().with_reference(table())


def facts_of(candidate):
    """Return the facts alone, which need no test."""
    return gate().facts(gate().candidate(open_dataset(candidate, "y")))


def codes(candidate):
    return {fact.code for fact in facts_of(candidate)}


def changed(column, values, seed=1):
    return table(seed).assign(**{column: values})


def some(column, share, value, seed=1):
    """Return a good table with another value in a share of the rows of a column."""
    values = table(seed)[column].astype(object)
    chosen = np.random.default_rng(5).choice(ROWS, round(share * ROWS), replace=False)
    values.iloc[chosen] = values.iloc[chosen].map(value) if callable(value) else value
    return changed(column, values.infer_objects(), seed)


def only(candidate, code):
    """Return the one fact of that name; no other fails."""
    found = facts_of(candidate)
    assert {fact.code for fact in found if FactRules().fails(fact)} <= {code}
    [fact] = [fact for fact in found if fact.code == code]
    return fact


def test_data_like_the_reference_have_no_facts():
    found = [facts_of(table(seed, rows=ROWS if seed % 2 else 300)) for seed in range(1, 8)]
    assert not any(fact.chance == "none" for facts in found for fact in facts)
    assert sum(fact.chance == "possible" for facts in found for fact in facts) <= 1


def test_new_categories_are_told_with_their_share():
    fact = only(some("kind", 0.05, "d"), "new-categories")
    assert (fact.column, fact.share) == ("kind", 0.05)
    assert str(fact) == "kind: 'd' is new, 5.0 % of rows"
    assert gate().check(some("kind", 0.05, "d")).is_far
    few = gate().check(some("kind", 0.005, "d"))
    assert few.is_close
    assert "noticed" in str(few)


def test_categories_that_come_and_go_are_no_news():
    """Where many categories are seen once, unknown ones are to be expected."""

    def words(seed):
        rng = np.random.default_rng(seed)
        return pd.DataFrame(
            {"name": rng.zipf(1.3, 800).clip(max=10**6).astype(str), "x": rng.normal(size=800)}
        )

    limit = nammd.Tolerance.at(0.1, nammd.Gaussian(1.0), x=words(0)).with_reference(words(0))
    for seed in (1, 2, 3):
        verdict = limit.check(words(seed))
        assert verdict.is_close
        assert all(fact.chance == "likely" for fact in verdict.facts)
        assert "noticed" not in str(verdict)


def test_a_category_that_no_row_has_any_more_is_told():
    rows = table(1)
    fact = only(rows[rows["kind"] != "c"], "vanished-categories")
    assert fact.column == "kind"
    assert fact.message.startswith("no row has 'c' any more, ")
    few = table(1, 100)
    assert "vanished-categories" not in codes(few[few["kind"] != "c"])


def test_missing_values_where_there_were_none_are_told():
    fact = only(some("amount", 0.03, np.nan), "missing-values")
    assert str(fact) == "amount: 3.0 % of the values are missing, none so far"
    holes = some("amount", 0.002, np.nan, seed=0)
    limit = nammd.Tolerance.at(0.1, nammd.Gaussian(1.0), x=holes)
    verdict = limit.check(holes, some("amount", 0.03, np.nan))
    assert "missing-values" not in {fact.code for fact in verdict.facts}


@pytest.mark.parametrize("share", [0.005, 0.05])
@pytest.mark.parametrize("suspect", [-999, -9999.0, 9999999])
def test_numbers_that_stand_for_missing_values_are_told(suspect, share):
    fact = only(some("amount", share, suspect), "placeholders")
    written = f"{suspect:,.0f}" if abs(suspect) >= 1000 else f"{suspect:.0f}"
    assert str(fact).startswith(
        f"amount: {written} in {100 * share:.1f} % of rows, far from everything so far"
    )
    assert gate().check(some("amount", share, suspect)).is_far == (share > 0.01)


def test_more_placeholders_than_before_are_told_and_as_many_are_not():
    before = some("amount", 0.01, -999, seed=0)
    limit = nammd.Tolerance.at(0.1, nammd.Gaussian(1.0), x=before).with_reference(before)
    assert limit.check(some("amount", 0.01, -999)).facts == ()
    [fact] = limit.check(some("amount", 0.08, -999)).facts
    assert str(fact) == "amount: -999 in 8.0 % of rows, 1.0 % before: a missing value?"
    words = some("kind", 0.01, "unknown", seed=0)
    limit = nammd.Tolerance.at(0.1, nammd.Gaussian(1.0), x=words).with_reference(words)
    [fact] = limit.check(some("kind", 0.08, "unknown")).facts
    assert str(fact) == "kind: 'unknown' in 8.0 % of rows, 1.0 % before"


@pytest.mark.parametrize("day", ["1900-01-01", "1970-01-01", "9999-12-31"])
def test_days_that_stand_for_missing_ones_are_told(day):
    [fact] = [fact for fact in facts_of(some("day", 0.05, pd.Timestamp(day))) if fact.code == "placeholders"]
    assert str(fact) == f"day: {day} in 5.0 % of rows, 0 % before: a missing value?"


def test_ordinary_numbers_stand_for_themselves():
    assert "placeholders" not in codes(some("amount", 0.005, 99))
    assert "placeholders" not in codes(some("amount", 0.005, -998))


def test_values_far_outside_the_range_are_told_with_the_worst():
    fact = only(some("amount", 0.02, lambda v: 1e6 * v), "outside-range")
    assert fact.share == 0.02
    assert fact.message.startswith("24 rows (2.0 %) above ")
    assert "the largest so far, up to " in fact.message
    stray = gate().check(some("amount", 0.003, lambda v: 1e6 * v))
    assert stray.is_close  # a note
    assert stray.facts[0].code == "outside-range"
    assert "outside-range" not in codes(changed("amount", 1.1 * table(1)["amount"]))


@pytest.mark.parametrize(("column", "value"), [("amount", lambda v: -v), ("count", -1), ("price", -0.01)])
def test_negative_values_where_there_were_none_are_told(column, value):
    fact = only(some(column, 0.02, value), "outside-range")
    assert fact.message.startswith("24 rows (2.0 %) below 0, never before, down to -")


def test_a_column_that_is_cut_off_and_a_default_are_told():
    cut = only(changed("amount", table(1)["amount"].clip(upper=40)), "pile-up")
    assert cut.message.startswith("40, the largest value, in 7")
    assert cut.message.endswith("none is beyond: cut off?")
    low = only(changed("count", table(1)["count"].clip(lower=40)), "pile-up")
    assert low.message.startswith("40, the smallest value, in ")
    default = only(some("amount", 0.05, 17.0), "pile-up")
    assert default.message.startswith("17 in 5")
    assert default.message.endswith("a default?")
    assert only(changed("amount", 20.0), "pile-up").message == "now always 20"


@pytest.mark.parametrize("widened", [lambda v: 20 + 2 * (v - 20), lambda v: v + 12])
def test_values_outside_the_range_are_no_fact_where_the_whole_column_moved_or_widened(widened):
    values = table(1)["amount"].map(widened)
    assert (values > table()["amount"].max()).mean() > 0.001
    assert "outside-range" not in codes(changed("amount", values))
    # What the movement does not explain is told all the same.
    assert "outside-range" in codes(changed("amount", values.mask(values.index % 50 == 0, 1e4)))


def test_whole_numbers_that_move_a_little_do_not_pile_up_at_single_values():
    def counts(mean, seed):
        return pd.DataFrame({"count": np.random.default_rng(seed).poisson(mean, 4000)})

    tolerance = nammd.Tolerance.at(0.05, nammd.Gaussian(1.0), n_columns=1)
    known = tolerance.with_reference(counts(1.0, 0).to_numpy())
    for seed in range(1, 4):
        moved = counts(1.8, seed)
        assert (moved["count"] == 4).mean() > 3 * (counts(1.0, 0)["count"] == 4).mean()
        assert not known.check(moved.to_numpy()).failures
    pushed = counts(1.0, 5)["count"].mask(lambda each: each.index % 10 == 0, 5)
    [fact] = known.check(pushed.to_frame().to_numpy()).failures
    assert fact.message.startswith("5 in 10 % of rows")


def test_facts_of_degree_have_p_values_and_what_is_new_in_kind_has_none():
    rules = FactRules()
    far, gross = (only(some("amount", 0.02, value), "outside-range") for value in (lambda v: 300 + v, 1e6))
    assert gross.counted is None
    assert rules.pvalue(gross) == 0.0
    assert far.counted == Counted(Share(24, 1200), none_of=1200)
    assert 0.001 < rules.pvalue(far) < 0.02
    assert rules.changed(share={"amount": 0.001}).pvalue(far) < 1e-5
    assert rules.changed(fail_on=["outside-range"]).pvalue(far) == 0.0
    missing = only(some("amount", 0.03, np.nan), "missing-values")
    assert 0.0 < rules.pvalue(missing) < 1e-4
    assert rules.pvalue(only(some("kind", 0.05, "new"), "new-categories")) == 0.0


def test_the_p_value_of_a_fact_is_that_of_drawing_its_rows():
    rng = np.random.default_rng(0)
    n, m, allowed = 60, 240, 0.02
    # The rows beyond the largest of the reference, and those of a share that is allowed.
    draws = rng.random((40_000, n + m))
    beyond = (draws[:, :n] > draws[:, n:].max(axis=1, keepdims=True)).sum(axis=1)
    found = beyond + rng.poisson(n * allowed, len(beyond))
    for rows in (2, 4, 6):
        true = (found >= rows).mean()
        assert true <= Counted(Share(rows, n), none_of=m).pvalue(allowed) + 0.004
        assert true >= 0.75 * Counted(Share(rows, n), none_of=m).pvalue(allowed) - 0.004


def test_a_narrower_column_does_not_pile_up():
    narrow = 20 + 0.2 * (table(1)["amount"] - 20)
    assert "pile-up" not in codes(changed("amount", narrow))


def test_rounding_is_told_and_so_are_decimals_that_are_new():
    whole = only(changed("price", table(1)["price"].round()), "precision")
    assert whole.message == "whole numbers now, 98 % of rows were finer"
    tens = only(changed("count", table(1)["count"].round(-1)), "precision")
    assert tens.message == "multiples of 10 now, 90 % of rows were finer"
    finer = only(changed("price", table(1)["price"] * 1.01), "precision")
    assert finer.message.startswith("at most 2 decimals before, ")
    fractions = only(changed("count", table(1)["count"] + 0.5), "precision")
    assert fractions.message == "whole numbers before, 100 % of rows are finer now"
    coarse = only(changed("amount", (table(1)["amount"] / 7.3).round() * 7.3), "precision")
    assert coarse.message.endswith("rounded?")
    same = changed("count", table(1)["count"].astype(float)).assign(price=table(1)["price"].astype("float32"))
    assert codes(same) == set()
    assert codes(changed("price", table(1)["price"] * (1 + 1e-15))) == set()


def test_a_factor_is_told():
    fact = only(changed("amount", 1000 * table(1)["amount"]), "factor")
    assert "about 1000 times as large" in str(fact)
    assert "factor" not in codes(changed("amount", 3 * table(1)["amount"]))


@pytest.mark.parametrize(("before", "now"), [("", " $"), (" €", " $"), (" €", ""), ("", "€"), (" kg", "")])
def test_a_unit_that_changed_appeared_or_went_is_told(before, now):
    def written(seed, unit):
        rng = np.random.default_rng(seed)
        numbers = rng.lognormal(3, 0.5, 300).round(2)
        cost = [f"{v:.2f}{unit}" for v in numbers] if unit else numbers
        return pd.DataFrame({"x": rng.normal(size=300), "cost": cost})

    reference = written(0, before)
    limit = nammd.Tolerance.at(0.1, nammd.Gaussian(1.0), x=reference)
    assert limit.check(reference, written(1, before)).facts == ()
    if before.strip() and now.strip():
        with pytest.raises(ValueError, match="cost"):
            limit.check(reference, written(1, now))
        return
    verdict = limit.check(reference, written(1, now))
    told = [unit.strip() or "plain numbers" for unit in (before, now)]
    assert [str(fact) for fact in verdict.failures] == [f"cost: {told[0]} before, {told[1]} now"]
    assert verdict.is_far


def test_percent_signs_are_no_unit():
    shares = np.random.default_rng(0).random(300).round(4)
    reference = pd.DataFrame({"share": shares})
    limit = nammd.Tolerance.at(0.1, nammd.Gaussian(1.0), x=reference)
    now = pd.DataFrame({"share": [f"{100 * v:.2f} %" for v in np.random.default_rng(1).random(300)]})
    assert limit.check(reference, now).facts == ()


def test_a_constant_that_changed_is_told():
    fact = only(changed("version", "v2"), "constant-changed")
    assert str(fact) == "version: was always 'v1' and is now 'v2'"
    assert only(some("version", 0.02, "v2"), "constant-changed").share == 0.02
    assert gate().check(some("version", 0.002, "v2")).is_close
    assert only(changed("version", None), "constant-changed").message.endswith("is now missing")


def test_a_type_that_changed_is_told():
    fact = only(changed("key", np.arange(ROWS) * 3), "type-changed")
    assert str(fact) == "key: text in the reference, numbers now"


def test_what_occurred_in_accepted_data_is_allowed(tmp_path):
    accepted = table(2).assign(version="v2", amount=1.0 + table(2)["amount"])
    accepted.loc[::4, "kind"] = "d"
    accepted.loc[::50, "amount"] = -999.0
    accepted = accepted[accepted["kind"] != "c"]
    accepted = accepted.assign(price=accepted["price"] + 0.001)
    limit = nammd.Tolerance.from_reference(table(), accepted, anyway=True, scales="median")
    limit.save(tmp_path / "t.json")
    for each in (limit, nammd.Tolerance.load(tmp_path / "t.json")):
        fresh = table(3).assign(version="v2", price=table(3)["price"] + 0.001)
        fresh.loc[::4, "kind"] = "d"
        fresh.loc[::50, "amount"] = -999.0
        fresh = fresh[fresh["kind"] != "c"]
        known = each.with_reference(table())
        assert known.check(fresh).facts == ()
        assert [fact.code for fact in known.check(fresh.assign(version="v3")).facts] == ["constant-changed"]


def test_repeated_rows_are_told_and_tables_of_few_rows_are_not():
    twice = pd.concat([table(1)[:1000], table(1)[:200]], ignore_index=True)
    fact = only(twice, "repeated-rows")
    assert fact.message == "17 % of rows repeat an earlier row, 0 % before"
    few = pd.DataFrame({"kind": ["a", "b"] * 100})
    tolerance = nammd.Tolerance.at(0.1, nammd.Gaussian(1.0), x=few)
    assert tolerance.check(few, few.sample(frac=0.9, random_state=1)).facts == ()


def test_rows_that_have_twins_by_chance_are_not_told():
    def keys(seed, rows):
        return np.sort(np.random.default_rng(seed).integers(0, 2000, rows).astype(np.uint64))

    for seed in range(20):
        x, y = keys(seed, 3000), keys(100 + seed, 1000 if seed % 2 else 5000)
        assert repeated_rows([x], y, ALONE) == rows_in_reference(x, y, ALONE) == []
    alone, page = np.arange(3000, dtype=np.uint64), np.repeat(np.arange(5000, 5050, dtype=np.uint64), 3)
    assert repeated_rows([alone], np.sort(np.concatenate([alone[:2500], page])), ALONE)


def test_rows_of_the_reference_prove_nothing():
    mixed = gate().check(pd.concat([table(1)[:1000], table()[:200]], ignore_index=True))
    assert [fact.code for fact in mixed.failures] == ["rows-in-reference"]
    assert mixed.decision == "UNDECIDED"
    assert mixed.details.rows_needed is None
    assert "allow rows-in-reference" in mixed.advice()
    same = gate().check(table())
    assert [fact.code for fact in same.facts] == ["same-data"]
    assert same.decision == "UNDECIDED"
    assert same.headline().endswith("So the candidate proves nothing.")
    turned = gate().check(table().iloc[::-1].reset_index(drop=True))
    assert [fact.code for fact in turned.facts] == ["same-data"]


@pytest.mark.parametrize(("share", "noise"), [(0.3, 1e-4), (1.0, 1e-9)])
def test_a_memorised_copy_proves_nothing(share, noise):
    rng, copied = np.random.default_rng(0), round(share * ROWS)
    x = rng.normal(size=(ROWS, 6))
    y = np.concatenate(
        [x[:copied] + noise * rng.normal(size=(copied, 6)), rng.normal(size=(ROWS - copied, 6))]
    )
    limit = nammd.Tolerance.at(0.05, nammd.Gaussian(3.0), n_columns=6)
    known = limit.with_reference(x)
    verdict = known.check(y)
    [fact] = verdict.failures
    assert fact.code == "near-copies"
    assert fact.share == pytest.approx(share, abs=0.1)
    assert verdict.decision == "UNDECIDED"
    assert known.check(rng.normal(size=(ROWS, 6))).is_close
    assert known.check(y, allow=["near-copies"]).is_close
    with pytest.raises(AssertionError, match="almost rows of the reference"):
        assert_close(x, y, limit, undecided="pass")


@pytest.mark.parametrize("columns", [1, 2, 8])
@pytest.mark.parametrize("digits", [1, 3, 15])
def test_data_like_the_reference_are_no_copies(columns, digits):
    rng = np.random.default_rng(columns)
    for rows in (100, 1000, 5000):
        x, y = (rng.normal(size=(size, columns)).round(digits) for size in (3000, rows))
        assert near_copies(Neighbours.of(x), y) == []


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_large_reference_is_not_copied_for_every_row_that_is_looked_at(order):
    rng = np.random.default_rng(0)
    known = Neighbours.of(np.asarray(rng.normal(size=(50_000, 20)), order=order))
    tracemalloc.start()
    try:
        found = known.nearest(known.known[:50] + 1e-9)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found < 1e-7).all()
    assert peak < known.known.nbytes / 4


def test_a_group_that_vanished_is_told_where_the_others_stay():
    from nammd.data.row_units import RowUnits

    shops = tuple(f"shop {k}" for k in range(20))
    before = RowUnits(np.repeat(np.arange(20), 50), shops, by="shop")
    now = RowUnits(np.repeat(np.arange(19), 50), shops[1:], by="shop")
    [fact] = vanished_groups(before, now)
    assert str(fact) == "shop: no row of 'shop 0' any more, 5.0 % of rows before"
    assert vanished_groups(before, before) == []
    others = RowUnits(np.repeat(np.arange(20), 50), tuple(f"other {k}" for k in range(20)), by="shop")
    assert vanished_groups(before, others) == []


def test_rules_choose_by_name_by_column_and_by_share():
    one, other = (Fact("pile-up", name, "", share=0.03) for name in ("a", "b"))
    assert FactRules().fails(one)
    rules = FactRules().changed(allow=["pile-up:a"])
    assert (rules.fails(one), rules.fails(other)) == (False, True)
    rules = FactRules().changed(fail_on=["pile-up:a"], allow=["pile-up"])
    assert (rules.fails(one), rules.fails(other)) == (True, False)
    assert not FactRules().changed(share=0.05).fails(one)
    assert not FactRules().changed(share={"a": 0.05}).fails(one)
    assert FactRules().changed(allow=["all"]).changed(fail_on=["pile-up"]).fails(one)
    assert not FactRules().fails(Fact("pile-up", "a", "", share=0.5, chance="possible"))
    assert FactRules.read(Stored(rules.to_dict())) == rules
    for wrong in (
        {"share": 0.0},
        {"share": 2.0},
        {"allow": ["x"]},
        {"allow": ["factor"], "fail_on": ["factor"]},
    ):
        with pytest.raises(ValueError, match="fact"):
            FactRules().changed(**wrong)


def test_a_tolerance_remembers_what_fails_and_what_is_allowed(tmp_path):
    candidate = some("kind", 0.005, "d")
    strict = gate().check(candidate, fail_on=["new-categories"])
    assert strict.headline() == "FAR: kind: 'd' is new, 0.5 % of rows."
    with pytest.raises(AssertionError, match="'d' is new"):
        assert_close(table(), candidate, made(), fail_on=["new-categories"])
    made().with_facts(fail_on=["new-categories", "factor"]).save(tmp_path / "t.json")
    again = nammd.Tolerance.load(tmp_path / "t.json")
    assert again.fact_rules.fail_on == ("new-categories", "factor")
    known = again.with_reference(table())
    assert known.check(candidate).is_far
    assert known.check(candidate, allow=["new-categories"]).is_close
    assert known.check(table(2)).is_close
    loose = made().with_facts(allow=["outside-range:amount"], share={"kind": 0.2}).with_reference(table())
    assert loose.check(some("amount", 0.02, lambda v: -v)).is_close
    assert {fact.code for fact in loose.check(some("kind", 0.1, "d")).failures} == set()


def test_names_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match=r"no fact 'new-category'.*'new-categories'"):
        known_facts(["new-category"])
    assert known_facts(FACTS) == tuple(FACTS)
    with pytest.raises(ValueError, match=r"no column 'knid'.*'kind'"):
        gate().check(table(1), allow=["new-categories:knid"])
    with pytest.raises(ValueError, match="no column 'knid'"):
        gate().check(table(1), fact_share={"knid": 0.1})


def test_what_is_negligible_in_a_column_is_no_fact_against_it():
    limit = nammd.Tolerance.from_noise(
        table(),
        level=0.5,
        levels=(0.5,),
        scales="median",
        negligible={"kind": {"categories": 0.2}, "missing": 0.2},
    ).with_reference(table())
    verdict = limit.check(some("kind", 0.05, "d"))
    assert [fact.code for fact in verdict.facts] == ["new-categories"]
    assert verdict.is_close
    assert limit.check(some("amount", 0.05, np.nan)).failures == ()
    assert limit.check(some("kind", 0.4, "d")).is_far


def test_chance():
    assert not above_chance(Share(0, 10), 0.0)
    assert not much_more(Share(5, 1000), Share(0, 1000))
    assert much_more(Share(50, 1000), Share(2, 1000))
    assert not much_more(Share(250, 1000), Share(100, 1000))
    assert never_so_far(Share(40, 4000), 4000) == "none"
    assert never_so_far(Share(40, 4000), 100) == "likely"


def test_groups_of_rows_count_as_one():
    """A value that all rows of a few customers have is no pile-up; a shop that closed is told."""

    def visits(seed, shops=range(12), each=50):
        rng = np.random.default_rng(seed)
        shop = np.repeat([f"shop {k}" for k in shops], each)
        customer = np.repeat(np.arange(len(shop) // 10), 10) + 10_000 * seed
        born = np.repeat(rng.integers(0, 20_000, len(shop) // 10), 10)
        return pd.DataFrame(
            {"born": born, "spent": rng.normal(size=len(shop)), "shop": shop, "customer": customer}
        )

    x, y = visits(0), visits(1)
    limit = nammd.Tolerance.at(0.2, nammd.Gaussian(1.0), x=x.drop(columns=["shop", "customer"]))
    for by in ("customer", "shop"):
        kept = [table[["born", "spent"]] for table in (x, y)]
        assert limit.check(*kept, groups=[x[by].to_numpy(), y[by].to_numpy()]).failures == ()
    fewer = visits(2, shops=range(1, 12))
    kept = [table[["born", "spent"]] for table in (x, fewer)]
    verdict = limit.check(*kept, groups=[x["shop"].to_numpy(), fewer["shop"].to_numpy()])
    assert [fact.code for fact in verdict.failures] == ["vanished-groups"]
    assert "'shop 0'" in verdict.headline()


def test_the_page_has_all_facts():
    from pathlib import Path

    page = Path(__file__).parents[2] / "docs" / "guide" / "what-is-checked.md"
    listed = [
        line.split("`")[1] for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    assert listed == list(FACTS)


def test_so_few_groups_are_chance():
    """20 of 600 rows are missing: no chance, unless they are the rows of one customer."""
    values = some("amount", 0.03, np.nan)["amount"].sort_values(na_position="first")
    candidate = table(1).assign(amount=values.to_numpy())
    groups = [np.arange(ROWS) // size for size in (1, 12)]
    limit = nammd.Tolerance.at(0.2, nammd.Gaussian(1.0), x=table())
    alone, together = (limit.check(table(), candidate, groups=[each, each + ROWS]) for each in groups)
    assert [fact.code for fact in alone.failures] == ["missing-values"]
    assert together.failures == ()
