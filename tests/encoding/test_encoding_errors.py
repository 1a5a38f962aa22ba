"""Every mistake with a table has a sentence that names the column."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nammd.tables import Encoding
from tests.encoding.samples import table

REFERENCE = table(
    age=[1.0, 2.0, 3.0, 4.0],
    city=["x", "x", "y", "y"],
    member=[True, False, True, False],
    when=pa.array([1, 2, 3, 4]).cast(pa.timestamp("s")),
)
ENCODING = Encoding.fit(REFERENCE)


def changed(**columns):
    return pa.table({**{name: REFERENCE[name] for name in REFERENCE.column_names}, **columns})


@pytest.mark.parametrize(
    ("candidate", "sentence"),
    [
        (
            REFERENCE.drop(["age"]).append_column("Age", REFERENCE["age"]),
            "today has no column 'age', which the reference of this space has; did you mean 'Age'?",
        ),
        (
            REFERENCE.drop(["age", "city"]),
            "today lacks columns that the reference of this space has: 'age', 'city'",
        ),
        (
            changed(age=["a", "b", "c", "d"]),
            "the column 'age' of today holds text, but numbers in the reference",
        ),
        (changed(city=[1, 2, 3, 4]), "the column 'city' of today holds numbers, but text in the reference"),
        (
            changed(when=[1, 2, 3, 4]),
            "the column 'when' of today holds numbers, but times without a time zone in",
        ),
        (changed(member=[1, 0, 1, 0]), "the column 'member' of today holds numbers, but true and false"),
        (changed(age=[[1], [2], [3], [4]]), "the column 'age' of today holds lists of numbers, but numbers"),
        (
            changed(age=[1.0, 1.0, np.inf, -np.inf]),
            "the column 'age' of today contains infinity in 2 of its 4 rows",
        ),
        (REFERENCE.slice(0, 0), "today is empty: it has no rows"),
        (pa.table({}), "today is empty: it has no columns"),
        (np.zeros((3, 4)), "today must be a table with the columns 'age', 'city', 'member', 'when'"),
    ],
)
def test_a_candidate_that_does_not_fit(candidate, sentence):
    with pytest.raises((ValueError, TypeError)) as caught:
        ENCODING.transform(candidate, "today")
    assert sentence in str(caught.value)


def test_a_candidate_column_of_missing_values_has_no_type_to_change():
    encoded = ENCODING.transform(changed(age=pa.nulls(4), city=pa.nulls(4)))
    np.testing.assert_array_equal(encoded[:, ENCODING.slots("age")], [[0, 1]] * 4)
    np.testing.assert_array_equal(encoded[:, ENCODING.slots("city")], [[0, 0, 0, 1]] * 4)


@pytest.mark.parametrize(
    "duplicated",
    [pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), pa.table([[1, 2], [3, 4]], names=["a", "a"])],
    ids=["pandas", "Arrow"],
)
def test_duplicate_columns_are_refused(duplicated):
    with pytest.raises(ValueError, match="the reference has more than one column named 'a'"):
        Encoding.fit(duplicated)


def test_names_that_are_the_same_as_text_are_duplicates():
    with pytest.raises(ValueError, match="more than one column named '1'"):
        Encoding.fit(pd.DataFrame([[1, 2], [3, 4]], columns=[1, "1"]))


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"column_weights": {"agee": 1}}, ValueError, "has no such column; did you mean 'age'?"),
        ({"column_weights": {"age": -1}}, ValueError, "'age' must be 0, or between 1e-100 and 1e100, not -1"),
        ({"column_weights": {"age": float("inf")}}, ValueError, "the weight of 'age' must be 0, or between"),
        (
            {"column_weights": {"age": "heavy"}},
            TypeError,
            "the weight of 'age' must be a number, not 'heavy'",
        ),
        ({"columns": ["zip"]}, ValueError, "the reference has no column 'zip'; its columns are 'age'"),
        ({"columns": []}, ValueError, "columns is empty"),
        ({"columns": "age"}, TypeError, "columns must be a list of names"),
        ({"columns": ["age", "age"]}, ValueError, "more than one column named 'age'"),
        ({"columns": [1]}, TypeError, "1 is not one; write '1'"),
    ],
)
def test_wrong_choices(options, error, sentence):
    with pytest.raises(error) as caught:
        Encoding.fit(REFERENCE, **options)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (np.array([[1.0, np.nan]]), "contains NaN or infinity in 1 of its 1 rows"),
        (np.zeros((2, 3, 4)), "has 3 dimensions"),
        (np.zeros((3, 5)), "the data has 5 columns but the reference has 2"),
        (pl.DataFrame({"a": [1.0]}), "the data is a table, but the reference was an array"),
        (np.zeros((0, 2)), "is empty"),
    ],
)
def test_arrays_that_do_not_fit(data, sentence):
    encoding = Encoding.fit(np.zeros((3, 2)))
    with pytest.raises((ValueError, TypeError)) as caught:
        encoding.transform(data)
    assert sentence in str(caught.value)


def test_a_missing_number_in_a_reference_array_is_refused():
    with pytest.raises(ValueError, match="the reference contains NaN"):
        Encoding.fit(np.array([[1.0], [np.nan]]))
