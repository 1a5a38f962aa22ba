"""Every column has its own tolerance: what it is, what the verdict makes of it, and what it says."""

import html
import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

import nammd
from nammd.testing import assert_close
from nammd.tolerances.decision import Decision
from nammd.views.limits import check_columns

ROWS = 1200


def table(seed, rows=ROWS, fault="", drift=0.0):
    """Return a made-up table; drift moves the ages, a fault spoils one of the other columns."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "age": rng.normal(40 + 10 * drift, 10, rows),
            "income": rng.lognormal(8, 0.4, rows),
            "purpose": rng.choice(["car", "house", "study"], rows, p=[0.5, 0.3, 0.2]),
        }
    )
    data.loc[rng.random(rows) < 0.05, "income"] = np.nan
    if fault == "missing":
        data.loc[rng.random(rows) < 0.25, "income"] = np.nan
    if fault == "new":
        data.loc[rng.random(rows) < 0.08, "purpose"] = "crypto"
    if fault == "raised":
        data["income"] *= 1.2
    return data


REFERENCE, ACCEPTED = table(0), table(1, drift=0.5)


@cache
def made(how="hull"):
    # At the main scale alone: what is found there leaves more to columns.
    return nammd.Tolerance.from_reference(REFERENCE, ACCEPTED, how=how, scales="median")


@cache
def gate(how="hull"):
    """What checks of the same reference have in common is summed once."""
    return made(how).with_reference(REFERENCE)


def checked(verdict):
    return {each.name: each for each in verdict.column_checks}


@pytest.mark.parametrize(
    ("fault", "column", "words"),
    [
        ("missing", "income", "income: missing 4.8 % -> 28 %"),
        ("new", "purpose", "purpose: 'crypto' is new, 8.8 % of rows"),
        ("raised", "income", "income: 20 % higher at the median, 2,934 -> 3,529"),
    ],
)
def test_a_fault_in_one_column_is_far_though_the_joint_distance_is_accepted(fault, column, words):
    verdict = gate("ball").check(table(2, fault=fault))
    assert not verdict.details.jointly_far
    assert verdict.decision is Decision.FAR
    told = words if fault == "new" else f"{column} is beyond its own tolerance"
    assert verdict.headline() == f"FAR: {told}."
    assert verdict.reasons == (words,)
    assert words in str(verdict)
    assert words in html.unescape(verdict._repr_html_())
    assert [each.name for each in verdict.details.beyond] == [column]
    with pytest.raises(AssertionError, match=words.split(":")[0]):
        assert_close(REFERENCE, table(2, fault=fault), made())


def test_data_like_the_reference_are_close_and_no_column_is_named():
    verdict = gate().check(table(3))
    assert verdict.is_close
    assert verdict.details.beyond == verdict.reasons == verdict.facts == ()
    assert "changed" not in str(verdict)


def test_a_column_may_be_anywhere_between_what_was_accepted_for_it():
    limits = {limit.name: limit for limit in made().column_tolerances.limits}
    assert limits["age"].tolerances() == limits["age"].negligible
    near = [checked(gate().check(table(4, drift=drift)))["age"] for drift in (0.0, 0.25, 0.5)]
    farther = checked(gate().check(table(4, drift=1.0)))["age"]
    other_way = checked(gate().check(table(4, drift=-0.5)))["age"]
    assert not any(each.beyond or each.doubtful(0.05) for each in near)
    assert max(each.ratio for each in near) < 1 < 2 < farther.ratio
    assert farther.beyond
    assert other_way.beyond


def test_joint_only_leaves_columns_out_of_the_verdict_and_not_out_of_the_explanation():
    verdict = gate().check(table(2, fault="new"), joint_only=True)
    assert not verdict.is_far
    assert not verdict.details.judged
    assert verdict.reasons == ("purpose: 'crypto' is new, 8.8 % of rows",)


def test_what_is_negligible_can_be_changed_for_all_columns_and_for_one():
    x, accepted, candidate = table(0, 800), table(1, 800, drift=0.5), table(2, 800, fault="raised")

    def beyond(negligible):
        tolerance = nammd.Tolerance.from_reference(x, accepted, negligible=negligible, scales="median")
        return [each.name for each in tolerance.check(x, candidate).details.beyond]

    for negligible in ({"shift": 2.0}, {"income": {"shift": 2.0}}):
        assert beyond(negligible) == []
    assert beyond({"age": {"shift": 2.0}}) == ["income"]
    with pytest.raises(ValueError, match=r"'incme'.*'income'"):
        beyond({"incme": {"shift": 2.0}})


def test_without_tolerances_of_columns_the_joint_test_has_all_of_the_level():
    x, accepted, candidate = table(0, 800), table(1, 800, drift=0.5), table(2, 800, fault="new")
    tolerance = nammd.Tolerance.from_reference(x, accepted, negligible=False, scales="median")
    assert tolerance.column_tolerances is None
    assert tolerance.check(x, candidate).is_far  # facts stay
    verdict = tolerance.check(x, candidate, allow=["new-categories"])
    assert not verdict.details.judged
    assert not verdict.is_far
    assert [each.name for each in verdict.details.beyond] == ["purpose"]  # explained, not judged
    assert verdict.details.setting.part == 1.0
    assert gate().check(table(3)).details.setting.part == 0.5


@pytest.mark.parametrize("make", ["split", "noise"])
def test_tolerances_from_the_reference_itself_have_columns_too(make):
    if make == "split":
        drifting = REFERENCE.assign(age=REFERENCE["age"] + np.linspace(0, 20, ROWS))
        tolerance = nammd.Tolerance.from_split(drifting, n_splits=3)
        reference = drifting
    else:
        tolerance = nammd.Tolerance.from_noise(REFERENCE, level=1.0, levels=(1.0,))
        reference = REFERENCE
    limits = {limit.name: limit for limit in tolerance.column_tolerances.limits}
    assert limits["age"].tolerances()["values"] > 3 * limits["age"].negligible["values"]
    assert limits["purpose"].tolerances()["labels"] < limits["age"].tolerances()["values"] / 3
    other = table(5).assign(age=reference["age"].sample(frac=1, random_state=0).to_numpy())
    other.loc[:180, "purpose"] = "crypto"
    assert [each.name for each in tolerance.check(reference, other).details.beyond] == ["purpose"]


def test_a_perturbation_makes_the_distance_that_drawing_it_does():
    x = np.random.default_rng(0).normal(size=(3000, 1))
    tolerance = nammd.Tolerance.from_noise(x, level=0.5, levels=(0.5,), kernel=nammd.Gaussian(1.0))
    [limit] = tolerance.column_tolerances.limits
    unit = limit.measure.scale
    drawn = x + 0.5 * unit * np.random.default_rng(1).normal(size=x.shape)
    known = nammd.paper.distance(x / unit, drawn / unit, kernel=nammd.Gaussian(1.0), cross="off-diagonal")
    assert limit.fixed["values"] == pytest.approx(known.value, abs=4 * known.standard_error)


def test_a_number_has_columns_only_if_asked():
    plain = nammd.Tolerance.at(0.05, nammd.Gaussian(1.5), x=REFERENCE)
    asked = nammd.Tolerance.at(0.05, nammd.Gaussian(1.5), x=REFERENCE, negligible=True)
    candidate, allow = table(2, fault="new"), ["new-categories"]
    assert plain.check(REFERENCE, candidate, allow=allow).is_close
    assert asked.check(REFERENCE, candidate, allow=allow).is_far
    assert plain.check(REFERENCE, candidate).is_far


def test_a_file_keeps_all_of_it_to_the_last_digit(tmp_path):
    made().save(tmp_path / "t.json")
    again = nammd.Tolerance.load(tmp_path / "t.json")
    candidate = table(2, fault="missing")
    first, second = (t.check(REFERENCE, candidate) for t in (made(), again))
    assert first.column_checks == second.column_checks
    assert len(first.pair_checks) > 1
    assert first.pair_checks == second.pair_checks
    stored = json.loads((tmp_path / "t.json").read_text())
    assert stored["negligible"] == {"shift": 0.1, "categories": 0.01, "missing": 0.01, "relation": 0.1}
    assert stored["column_tolerances"]["age"] == pytest.approx(
        {limit.name: limit for limit in again.column_tolerances.limits}["age"].tolerances()["values"]
    )


def test_another_reference_is_counted_anew():
    other = table(9)
    verdict = made().check(other, table(2, fault="new"))
    assert [each.name for each in verdict.details.beyond] == ["purpose"]
    mine = gate().check(table(2, fault="new"))
    assert checked(verdict)["age"].distance != checked(mine)["age"].distance


def test_json_has_every_column_and_the_words():
    told = gate().check(table(2, fault="new")).to_dict()
    json.dumps(told)
    assert told["columns"][0]["name"] == "purpose"
    assert {column["name"] for column in told["columns"]} == {"age", "income", "purpose"}
    assert told["columns"][0]["beyond"] is True
    assert told["reasons"] == ["purpose: 'crypto' is new, 8.8 % of rows"]
    assert told["facts"][0]["code"] == "new-categories"
    assert told["facts"][0]["fails"] is True


def test_columns_of_arrays_have_numbers_for_names_and_wide_arrays_have_none():
    rng = np.random.default_rng(0)
    x, accepted, y = rng.normal(size=(800, 3)), rng.normal(0.3, 1, (800, 3)), rng.normal(size=(800, 3))
    y[:, 1] += 1.5
    verdict = nammd.Tolerance.from_reference(x, accepted).check(x, y)
    assert verdict.details.beyond[0].name == "column 1"
    assert verdict.reasons[0].startswith("column 1: higher at the median")
    wide = rng.normal(size=(60, 101))
    assert nammd.Tolerance.from_noise(wide, level=1.0, levels=(1.0,)).column_tolerances.limits == ()


def test_a_column_that_is_empty_or_constant_in_the_candidate_is_beyond():
    gone = nammd.Tolerance.check(made(), REFERENCE, table(2).assign(income=np.nan))
    assert gone.reasons[0] == "income: missing 4.8 % -> 100 %"
    same = gate().check(table(2).assign(income=3000.0))
    assert same.reasons[0] == "income: now always 3,000"


def test_holm_counts_every_column():
    limits = made().column_tolerances.limits
    same = {limit.name: limit.made_from for limit in limits}
    found = check_columns(limits, same, same, 0.025)
    assert len(found) == 3
    assert all(each.pvalue <= each.adjusted <= 1 for each in found)


def test_null_checks_name_no_column():
    reference, accepted = table(100, 400), table(101, 400, drift=0.3)
    tolerance = nammd.Tolerance.from_reference(reference, accepted, scales="median")
    gate = tolerance.with_reference(reference)
    named = [bool(gate.check(table(200 + k, 300)).details.beyond) for k in range(20)]
    assert sum(named) <= 1


def test_columns_take_no_part_where_rows_belong_together():
    groups = np.arange(ROWS) // 4
    verdict = made().with_reference(REFERENCE).check(table(2, fault="new"), groups=groups)
    assert verdict.column_checks == ()
    assert not verdict.details.judged
    assert "columns-not-judged" in {caution.code for caution in verdict.cautions}
    assert verdict.facts[0].code == "new-categories"  # facts stay
