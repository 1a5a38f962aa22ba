"""A report of rows that belong together."""

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.report import build
from nammd.report.html import render


def table(seed, groups=40, odd=False):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), rng.integers(1, 9, groups))
    points = 0.8 * rng.normal(size=(groups, 3))[labels] + 0.6 * rng.normal(size=(len(labels), 3))
    if odd:
        points[labels < 10] += 3.0  # ten customers who have no like in the other dataset
    names = [f"{seed}<b>{k}" for k in labels]
    return pa.table({**{f"c{k}": points[:, k] for k in range(3)}, "customer": names})


@pytest.fixture(scope="module")
def model():
    return build(nammd.distance(table(0), table(1, odd=True), groups="customer"))


def test_it_tells_the_rows_of_the_groups_and_which_stand_out(model):
    first, second = model.groups
    assert (first.count, second.count) == (40, 40)
    assert first.by == "customer"
    assert 1 <= first.fewest <= first.median <= first.most <= 8
    assert {group.name for group in second.rows} <= {f"1<b>{k}" for k in range(10)}
    assert second.rows[0].witness > second.rows[-1].witness


def test_the_page_shows_them(model):
    page = render(model)
    assert "Which groups stand out?" in page
    assert f"1&lt;b&gt;{model.groups[1].rows[0].name[-1]}" in page
    assert "40 and 40 by customer" in page
    assert "groups=&#39;customer&#39;" in page


def test_without_groups_there_is_no_such_section():
    plain = [t.drop_columns(["customer"]) for t in (table(0), table(1))]
    model = build(nammd.distance(*plain))
    assert model.groups == ()
    assert "Which groups stand out?" not in render(model)


def test_columns_are_tested_by_groups():
    """Single rows would find differences between columns of equal laws nearly always."""
    found = [build(nammd.distance(table(s), table(s + 100), groups="customer")) for s in (2, 3, 4, 5)]
    naive = [
        build(nammd.distance(*(table(k).drop_columns(["customer"]) for k in (s, s + 100))))
        for s in (2, 3, 4, 5)
    ]
    grouped, plain = (sum(len(m.contributions.significant) for m in models) for models in (found, naive))
    assert grouped < plain
    assert grouped <= 1
