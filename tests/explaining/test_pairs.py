"""Pairs of columns that no longer go together, though neither changed alone."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, poisson

import nammd
from nammd.data.opening import open_dataset
from nammd.data.row_grouping import RowGrouping, with_grouping
from nammd.explaining.pairs import changed_pairs
from nammd.views.measure import measures_of


def people(seed, rows=3000):
    rng = np.random.default_rng(seed)
    height = rng.normal(170, 10, rows)
    city = rng.choice(["Ulm", "Bonn", "Graz"], rows, p=[0.5, 0.3, 0.2])
    country = np.where(city == "Graz", "AT", "DE")
    weight = 0.9 * (height - 100) + rng.normal(0, 6, rows)
    age = rng.integers(18, 80, rows)
    data = pd.DataFrame({"height": height, "weight": weight, "city": city, "country": country, "age": age})
    data.loc[rng.random(rows) < 0.05, "weight"] = np.nan
    return data


def pairs(reference, candidate, level=0.025, groups=None):
    x, y = with_grouping([open_dataset(reference, "x"), open_dataset(candidate, "y")], RowGrouping(groups))
    space = nammd.Space.fit(x)
    return changed_pairs(measures_of(space.encoding, x), x, y, space.encoding, level)


def test_a_broken_join_is_named_as_a_pair():
    candidate = people(1)
    candidate["weight"] = candidate["weight"].sample(frac=1, random_state=0).to_numpy()
    [pair] = pairs(people(0), candidate)
    assert pair.names == ("height", "weight")
    told = "height and weight no longer go together as before: rank correlation 0.80 -> "
    assert pair.words().startswith(told)
    assert pair.now == pytest.approx(0, abs=0.1)
    assert pair.distance > pair.tolerance


def test_labels_that_no_longer_go_together_are_named():
    candidate = people(1)
    candidate["country"] = candidate["country"].sample(frac=1, random_state=0).to_numpy()
    [pair] = pairs(people(0), candidate)
    assert pair.names == ("city", "country")
    assert "association 1.00 -> 0.0" in pair.words()


def test_columns_that_change_alone_are_no_pair():
    candidate = people(1).assign(height=lambda d: d["height"] + 20, age=lambda d: d["age"] // 2)
    assert pairs(people(0), candidate) == ()


def test_data_like_the_reference_have_no_pairs():
    for seed in range(1, 9):
        assert pairs(people(0), people(seed, 1000)) == ()


def test_a_verdict_says_that_pairs_explain_it_and_only_where_no_column_does():
    reference, accepted = people(0), people(1).assign(age=lambda d: d["age"] + 4)
    tolerance = nammd.Tolerance.from_reference(reference, accepted)
    broken = people(2)
    broken["weight"] = broken["weight"].sample(frac=1, random_state=0).to_numpy()
    verdict = tolerance.check(reference, broken)
    assert verdict.jointly_far
    assert verdict.beyond == ()
    assert [pair.names for pair in verdict.pairs] == [("height", "weight")]
    assert "no single column explains it; these pairs do" in str(verdict)
    alone = tolerance.check(reference, people(2).assign(height=lambda d: d["height"] * 1.2))
    assert alone.beyond
    assert "no single column" not in str(alone)
    assert tolerance.check(reference, people(3)).pairs == ()


def visits(seed, persons=300):
    """Several rows of each person, all alike but for the age."""
    data = people(seed, persons)
    rng = np.random.default_rng(seed + 500)
    chosen = np.repeat(np.arange(persons), rng.integers(1, 20, persons))
    rows = data.iloc[chosen].assign(person=[f"{seed}-{k}" for k in chosen])
    return rows.assign(age=rng.integers(18, 80, len(rows))).reset_index(drop=True)


def test_pairs_are_looked_for_by_groups():
    found = {"by groups": 0, "by rows": 0}
    for seed in range(1, 9):
        data = visits(0), visits(seed)
        found["by groups"] += bool(pairs(*data, groups="person"))
        found["by rows"] += bool(pairs(*(each.drop(columns="person") for each in data)))
    assert found["by groups"] == 0
    assert found["by rows"] >= 6
    broken = visits(1)
    broken["weight"] = broken["weight"].sample(frac=1, random_state=0).to_numpy()
    assert ("height", "weight") in {pair.names for pair in pairs(visits(0), broken, groups="person")}
    assert pairs(visits(0).drop(columns="person"), broken, groups=nammd.Blocks(length=10)) == ()


def counted_things(seed, persons=100, visits=3, more=0.0, correlation=0.6):
    """Few whole numbers, two of which go together, and several rows of each person."""
    rng = np.random.default_rng([77, seed])
    a = np.repeat(0.8 * rng.normal(size=persons), visits) + 0.6 * rng.normal(size=persons * visits)
    b = correlation * a + np.sqrt(1 - correlation**2) * rng.normal(size=len(a))
    numbers = {name: poisson.ppf(norm.cdf(each + more), 1.2) for name, each in (("a", a), ("b", b))}
    return pd.DataFrame(
        {
            **numbers,
            "c": rng.normal(size=len(a)).round(1),
            "person": [f"{seed}-{k // visits}" for k in range(len(a))],
        }
    )


@pytest.mark.parametrize("more", [0.0, 0.5])
def test_whole_numbers_that_go_together_as_before_are_no_pair(more):
    """A number that occurs often makes classes of unequal size, which are to be the same in both datasets."""
    found = {"groups": 0, "rows": 0}
    for seed in range(20):
        data = counted_things(2 * seed), counted_things(2 * seed + 1, more=more)
        found["groups"] += bool(pairs(*data, groups="person"))
        alone = (counted_things(40 + 2 * seed, 300, 1), counted_things(41 + 2 * seed, 300, 1, more))
        found["rows"] += bool(pairs(*(each.drop(columns="person") for each in alone)))
    assert max(found.values()) <= 2


def test_whole_numbers_that_no_longer_go_together_are_a_pair():
    one, other = counted_things(1, 300), counted_things(2, 300, correlation=0.0)
    for groups in ("person", None):
        data = (one, other) if groups else (each.drop(columns="person") for each in (one, other))
        assert [pair.names for pair in pairs(*data, groups=groups)] == [("a", "b")]


def test_rows_in_classes_that_the_other_dataset_has_none_of_are_left_out():
    """Cities that are gone, or new, are a change of the column alone, and missing values too."""
    one, other = people(0), people(1)
    some = other[other["city"] != "Graz"].dropna().reset_index(drop=True)
    assert pairs(one, some) == pairs(some, one) == ()
    assert pairs(one, other.assign(city="Ulm")) == ()
    assert pairs(one.assign(age=np.nan), other) == ()
