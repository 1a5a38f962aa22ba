"""Columns that tell two datasets apart: by what their labels are, not by how they are coded or missing."""

import numpy as np
import pandas as pd
import pytest

import nammd
from nammd.data.opening import open_dataset
from nammd.tolerances import leaky_columns
from nammd.tolerances.leaky_columns import ordered_by, separating
from nammd.tolerances.perturbation import distinct_rows


def found(one, two):
    """The columns that separate two tables, in the space of the first."""
    space = nammd.Space.fit(one)
    assert "name" in [column.name for column in space.encoding.columns]
    samples = [space.sample(open_dataset(each, "data")).points for each in (one, two)]
    return [each.column for each in separating(space.encoding, *samples)]


def table(labels, rng):
    return pd.DataFrame({"name": labels, "value": rng.normal(size=len(labels))})


def drawn(rng, names, rows=3000, missing=0.0):
    labels = rng.choice(names, rows).astype(object)
    labels[rng.random(rows) < missing] = None
    return table(labels, rng)


MANY = np.array([f"name {k}" for k in range(900)])


def test_many_labels_of_which_a_third_changed_do_not_tell_datasets_apart():
    rng = np.random.default_rng(0)
    assert found(drawn(rng, MANY[:600]), drawn(rng, MANY[200:800])) == []


def test_rare_names_of_one_law_do_not_tell_datasets_apart():
    """Of so few rows for so many names, what two samples have in common is little by chance alone."""
    rng = np.random.default_rng(1)
    assert found(drawn(rng, MANY), drawn(rng, MANY, rows=60)) == []


@pytest.mark.parametrize("names", [MANY[:400], MANY[:6]], ids=["many", "few"])
def test_labels_that_are_all_new_do(names):
    rng = np.random.default_rng(2)
    assert found(drawn(rng, names), drawn(rng, np.char.add("new ", names))) == ["name"]


@pytest.mark.parametrize("names", [MANY[:300], MANY[:6]], ids=["many", "few"])
def test_gaps_are_no_labels(names):
    """Where most labels are missing in one, those that are there are compared."""
    rng = np.random.default_rng(3)
    assert found(drawn(rng, names), drawn(rng, names, missing=0.9)) == []
    assert found(drawn(rng, names), drawn(rng, names, missing=0.99)) == ["name"]


def how_often_above(x, y):
    x, y = x[~np.isnan(x)], y[~np.isnan(y)]
    if min(len(x), len(y)) < 5:
        return 0.5
    return float(((y[:, None] > x) + 0.5 * (y[:, None] == x)).mean())


def test_columns_at_once_are_above_each_other_as_one_by_one():
    rng = np.random.default_rng(4)
    for here, there in ((20, 30), (7, 5), (60, 4), (3, 40)):
        x = np.array([rng.normal(size=here).round(k % 3) for k in range(60)])
        y = np.array([rng.normal((k % 7) / 2, 1, size=there).round(k % 3) for k in range(60)])
        x[rng.random(x.shape) < 0.2] = np.nan
        y[10:20, :] = np.nan
        x[20:30] = 1.0
        expected = list(map(how_often_above, x, y))
        assert leaky_columns._above(x, y) == pytest.approx(expected, abs=1e-15)


def test_columns_at_once_separate_as_one_by_one(monkeypatch):
    rng = np.random.default_rng(5)
    rows, one, two = 40, {}, {}
    for k in range(40):
        kind, far = k % 4, k % 5 == 0
        for own, away in ((one, 0.0), (two, 8.0 * far)):
            numbers = rng.normal(away, 1, rows)
            if kind == 1:
                numbers[rng.random(rows) < (0.97 if away else 0.02)] = np.nan
            labels = rng.choice(["a", "b"] if not away else ["c", "d"], rows)
            times = pd.Timestamp("2026-01-01") + pd.to_timedelta(numbers, "D")
            own[f"{k}"] = labels if kind == 2 else times if kind == 3 else numbers
    one, two = pd.DataFrame(one), pd.DataFrame(two)
    space = nammd.Space.fit(one)
    points = [space.sample(open_dataset(each, "data")).points for each in (one, two)]
    every = separating(space.encoding, *points)
    assert {each.column for each in every} == {str(k) for k in range(0, 40, 5)}
    assert {each.arrives for each in every} == {"", "time"}
    monkeypatch.setattr(leaky_columns, "_AT_ONCE", 1)
    assert separating(space.encoding, *points) == every


def test_distinct_rows_are_those_of_numpy():
    rng = np.random.default_rng(6)
    for shape in ((1, 1), (0, 3), (20, 1), (50, 4), (300, 2)):
        rows = rng.integers(-2, 3, shape) / 2.0
        different, number = distinct_rows(rows)
        expected, where = np.unique(rows, axis=0, return_inverse=True)
        np.testing.assert_array_equal(different, expected)
        np.testing.assert_array_equal(number, where.reshape(-1))


@pytest.mark.parametrize(("rows", "columns", "times"), [(20, 30, 60), (40, 40, 20), (20, 3000, 1)])
def test_short_tables_in_no_order_are_not_taken_for_sorted(rows, columns, times):
    """Blocks of five rows explain half of the variance of one random column in a hundred."""
    rng = np.random.default_rng(rows)
    for _ in range(times):
        table = pd.DataFrame(rng.normal(size=(rows, columns))).add_prefix("c")
        encoding = nammd.Space.fit(table).encoding
        points = encoding.points(open_dataset(table, "x"))
        assert ordered_by(encoding, points) is None


@pytest.mark.parametrize(("rows", "columns"), [(20, 30), (20, 3000), (60, 30)])
def test_short_tables_that_are_sorted_are(rows, columns):
    table = pd.DataFrame(np.random.default_rng(1).normal(size=(rows, columns))).add_prefix("c")
    table = table.sort_values("c7")
    encoding = nammd.Space.fit(table).encoding
    assert ordered_by(encoding, encoding.points(open_dataset(table, "x"))).name == "c7"
