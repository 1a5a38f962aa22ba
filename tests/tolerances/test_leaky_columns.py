"""Columns that tell two datasets apart: by what their labels are, not by how they are coded or missing."""

import numpy as np
import pandas as pd
import pytest

import nammd
from nammd.data.opening import open_dataset
from nammd.tolerances.leaky_columns import separating


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
