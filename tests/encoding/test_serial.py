"""An encoding survives the way through JSON, and damage on the way is noticed."""

import copy
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nammd.encoding.columns import (
    ArrayColumn,
    CategoricalColumn,
    CodedColumn,
    NumericColumn,
    VectorColumn,
)
from nammd.tables import Encoding, LeftOut
from tests.encoding.samples import mixed_columns

POSITIVE = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
WEIGHTS = st.floats(min_value=1e-100, max_value=1e100)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(max_size=8)


@st.composite
def columns(draw, name):
    weight = draw(WEIGHTS)
    kind = draw(st.sampled_from(["numeric", "datetime", "categorical", "boolean", "vector"]))
    if kind == "numeric":
        return NumericColumn(name, kind, weight, draw(FINITE), draw(POSITIVE))
    if kind == "datetime":
        clock = draw(st.sampled_from(["local", "zoned", "duration", "time of day"]))
        return NumericColumn(name, kind, weight, draw(FINITE), draw(POSITIVE), clock)
    if kind == "vector":
        center = tuple(draw(st.lists(FINITE, min_size=1, max_size=4)))
        return VectorColumn(name, kind, weight, center, draw(POSITIVE))
    if kind == "boolean":
        return CategoricalColumn(name, kind, weight, ("False", "True"))
    if draw(st.booleans()):
        return CodedColumn(name, kind, weight)
    return CategoricalColumn(name, kind, weight, tuple(draw(st.lists(NAMES, unique=True, max_size=6))))


@st.composite
def encodings(draw):
    names = draw(st.lists(NAMES, unique=True, min_size=1, max_size=6))
    kept = draw(st.integers(1, len(names)))
    if draw(st.booleans()):
        return Encoding(
            tuple(ArrayColumn(str(i), "numeric", draw(WEIGHTS)) for i in range(kept)), (), len(names)
        )
    return Encoding(
        tuple(draw(columns(name)) for name in names[:kept]),
        tuple(LeftOut(name, draw(st.text(max_size=5))) for name in names[kept:]),
    )


@settings(deadline=None, max_examples=100)
@given(encodings())
def test_the_way_through_json_changes_nothing(encoding):
    again = Encoding.from_dict(json.loads(json.dumps(encoding.to_dict())))
    assert again == encoding
    assert again.to_dict() == encoding.to_dict()
    assert again.describe() == encoding.describe()


def test_what_comes_back_encodes_to_the_same_bits():
    data = pa.table(mixed_columns())
    encoding = Encoding.fit(data, column_weights={"age": 0.1})
    again = Encoding.from_dict(json.loads(json.dumps(encoding.to_dict())))
    np.testing.assert_array_equal(again.transform(data), encoding.transform(data))


GOOD = Encoding.fit(pa.table({**mixed_columns(), "same": [1] * 400})).to_dict()
AGE, CITY, MEMBER = 0, 2, 3


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("columns",), "age", "columns must be a list"),
        (("columns",), [], "columns must be a list of at least one column"),
        (("columns", AGE), 3, "columns[0] must be a dictionary, not 3"),
        (("columns", AGE, "name"), 3, "columns[0].name must be text"),
        (("columns", AGE, "kind"), "colour", "columns[0].kind must be 'numeric' or 'categorical'"),
        (("columns", AGE, "scale"), 0, "columns[0].scale must be a finite number above 0"),
        (("columns", AGE, "scale"), "wide", "columns[0].scale must be a finite number above 0, not 'wide'"),
        (("columns", AGE, "center"), float("nan"), "columns[0].center must be a finite number"),
        (("columns", AGE, "center"), True, "columns[0].center must be a finite number"),
        (("columns", AGE, "weight"), -1, "columns[0].weight must be a number from 1e-100 to 1e+100"),
        (
            ("columns", CITY, "categories"),
            ["Ulm", 3],
            "columns[2].categories[1] must be text, not 3",
        ),
        (("columns", CITY, "categories"), ["Ulm", "Ulm"], "columns[2].categories must be texts that differ"),
        (("columns", MEMBER, "categories"), ["no", "yes"], "columns[3].categories must be ['False', 'True']"),
        (("columns", MEMBER, "categories"), None, "columns[3].categories must be ['False', 'True']"),
        (("columns", AGE, "name"), "city", "name a column twice"),
        (("left_out", 0, "reason"), None, "left_out[0].reason must be text"),
        (("array_columns",), 0, "array_columns must be a whole number"),
        (("array_columns",), 2, "columns[0].name must be the number of a column below 2"),
    ],
)
def test_damage_is_named(path, value, sentence):
    damaged = copy.deepcopy(GOOD)
    place = damaged
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ValueError, match="the encoding is damaged") as caught:
        Encoding.from_dict(damaged)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("key", ["columns", "left_out", "array_columns"])
def test_a_missing_field_is_named(key):
    with pytest.raises(ValueError, match=f"the encoding is damaged: '{key}' is missing"):
        Encoding.from_dict({k: v for k, v in GOOD.items() if k != key})


@pytest.mark.parametrize("data", [None, [], "encoding"])
def test_something_else_is_refused(data):
    with pytest.raises(ValueError, match="it must be a dictionary"):
        Encoding.from_dict(data)
