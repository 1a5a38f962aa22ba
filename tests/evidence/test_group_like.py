"""Columns that say which rows belong together are told of; those that only look so are not."""

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.datasets import applications
from nammd.evidence.group_like import _starts_of_pairs


def months(customers, rows=1200):
    found = (pa.table(applications(month, rows, customers=customers)) for month in (0, 1))
    return [table.drop_columns(["submitted", "application"]) for table in found]


def codes(x, y):
    return [caution.code for caution in nammd.distance(x, y).cautions]


@pytest.mark.parametrize("customers", [60, 300, 600])
def test_customers_who_are_others_in_another_month_are_told_of(customers):
    x, y = months(customers)
    [caution] = nammd.distance(x, y).cautions
    assert caution.code == "looks-like-groups"
    assert f"customer has {customers} different values in 1200 rows, and rows of one" in str(caution)
    assert "groups='customer' (--group customer)" in str(caution)


def clustered(seed, kind, rows=600, groups=120):
    """Return rows of which those of one label are alike, by labels of one dataset or of both."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, groups, rows)
    habit = np.random.default_rng(99 if kind == "same" else seed).normal(size=(groups, 2))[label]
    if kind == "independent":
        habit = rng.normal(size=(rows, 2))
    values = habit + 0.5 * rng.normal(size=(rows, 2))
    who = [f"{'' if kind == 'same' else seed}-{k}" for k in label]
    return pa.table({"a": values[:, 0], "b": values[:, 1], "customer": who})


@pytest.mark.parametrize(
    ("kind", "told"),
    [("others", True), ("same", False), ("independent", False)],
    ids=["alike, other labels", "alike, the same labels", "not alike"],
)
def test_what_is_told_of(kind, told):
    assert ("looks-like-groups" in codes(clustered(1, kind), clustered(2, kind))) == told


def test_false_ones_are_rare():
    found = [codes(clustered(2 * k, "independent", 200, 40), clustered(2 * k + 1, "independent", 200, 40))
             for k in range(60)]  # fmt: skip
    assert sum("looks-like-groups" in each for each in found) <= 2


def test_a_column_of_numbers_needs_a_name(tmp_path):
    tables = [clustered(seed, "others") for seed in (1, 2)]
    numbers = [pa.array([int(v.replace("-", "00")) for v in t["customer"].to_pylist()]) for t in tables]
    for name, told in (("customer_id", True), ("amount", False)):
        renamed = [t.set_column(2, name, n) for t, n in zip(tables, numbers, strict=True)]
        assert ("looks-like-groups" in codes(*renamed)) == told


def test_large_tables_are_looked_at_in_part(monkeypatch):
    from nammd.evidence import group_like

    monkeypatch.setattr(group_like, "_ROWS", 300)
    assert "looks-like-groups" in codes(clustered(1, "others"), clustered(2, "others"))


def test_every_row_is_in_one_pair():
    assert _starts_of_pairs(np.array([3, 4, 5, 6, 9])).tolist() == [True, False, True, False, True]
