"""Which columns are left out, and what is said about it."""

import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from nammd.tables import Encoding
from tests.encoding.samples import table

ROWS = 200
RNG = np.random.default_rng(0)
UUIDS = [str(uuid.UUID(int=int(n))) for n in RNG.integers(0, 2**62, 120)]
KEPT = RNG.normal(size=ROWS)


def left_out(values, **options):
    encoding = Encoding.fit(table(kept=KEPT[: len(values)], column=values), **options)
    return {entry.column: entry.reason for entry in encoding.left_out}.get("column")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.ones(ROWS), "every row has the same value"),
        (["x"] * ROWS, "every row has the same value"),
        ([True] * ROWS, "every row has the same value"),
        (pa.array([None] * ROWS, pa.float64()), "all its values are missing"),
        (pa.nulls(ROWS), "all its values are missing"),
        (np.full(ROWS, np.nan), "all its values are missing"),
        (np.arange(ROWS), "it numbers the rows, like an identifier"),
        (np.arange(ROWS)[::-1] * 7, "it numbers the rows, like an identifier"),
        (RNG.permutation(ROWS), "it numbers the rows, like an identifier"),
        ([f"row {i}" for i in range(ROWS)], "every value is different, like an identifier"),
        (UUIDS + UUIDS[: ROWS - 120], "its values are unique identifiers (UUIDs)"),
        ([f"{'word ' * 12}{i % 150}" for i in range(ROWS)], "it is free text"),
        ([f"n{i % 120}" for i in range(ROWS)], "more than half of its values are different"),
        ([[1, 2]] * ROWS, "every row has the same value"),
        ([[1], [2, 3]] * (ROWS // 2), "it holds lists of different lengths (1 to 2)"),
        ([["a"], ["b"]] * (ROWS // 2), "it holds lists of something else than numbers"),
        ([[], []] * (ROWS // 2), "it holds lists of something else than numbers"),
        ([{}] * ROWS, "it holds records"),
        ([b"\x00"] * ROWS, "it holds binary values"),
    ],
)
def test_left_out_with_a_reason(values, reason):
    assert left_out(values).startswith(reason)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(ROWS, dtype=float),  # floats are measurements
        np.arange(ROWS) // 2,  # repeated
        RNG.integers(0, 10**9, ROWS),  # distinct but in no order
        RNG.choice(["x" * 60, "y" * 60], ROWS).tolist(),  # long names of categories
        [*["x"] * (ROWS - 1), None],  # constant but for a missing value
        [*[1.0] * (ROWS - 1), None],
        [f"n{i % 90}" for i in range(ROWS)],  # rows share them
        [*["x"] * 20, *(f"n{i}" for i in range(ROWS - 20))],  # one of them is common
        [UUIDS[i % 3] for i in range(ROWS)],  # three machines
        pa.array(np.arange(ROWS) * 10**9).cast(pa.timestamp("ns")),  # a log, in order
        list(range(15)),  # too few rows to tell
        [f"row {i}" for i in range(15)],
    ],
)
def test_not_left_out(values):
    assert left_out(values) is None


def test_distinct_integers_called_an_identifier_are_one():
    numbers = RNG.choice(10**9, ROWS, replace=False)
    for name in ("id", "customer_id", "Order ID", "customerId"):
        assert Encoding.fit(table(kept=KEPT, **{name: numbers})).left_out[0].column == name
    assert not Encoding.fit(table(kept=KEPT, paid=numbers)).left_out


def test_a_running_number_with_a_weight_is_compared():
    assert left_out(np.arange(ROWS), column_weights={"column": 1}) is None
    [left] = Encoding.fit(table(kept=KEPT, column=np.arange(ROWS))).left_out
    assert str(left).endswith("(to compare it nevertheless, give it a weight: column_weights={'column': 1})")
    assert left.in_shell().endswith("give it a weight: --weights column=1)")


def test_weight_zero_leaves_a_column_out_whatever_it_holds():
    assert left_out([np.inf] * ROWS, column_weights={"column": 0}) == "weight 0"


def test_mixed_python_objects_are_left_out():
    frame = pd.DataFrame({"kept": KEPT[:3], "column": pd.Series([1, "a", None], dtype=object)})
    [entry] = Encoding.fit(frame).left_out
    assert str(entry) == (
        "'column' is left out: it holds values of different types (int, str), which cannot be compared"
    )


def test_columns_left_out_may_be_missing_from_the_candidate():
    encoding = Encoding.fit(table(kept=KEPT, column=np.arange(ROWS)))
    assert encoding.transform(table(kept=KEPT)).shape == (ROWS, 2)


def test_nothing_left_is_an_error_with_reasons():
    with pytest.raises(ValueError, match=r"no column of the reference can be compared \('a': every row"):
        Encoding.fit(table(a=[1, 1, 1], b=["x", "x", "x"]))


def test_the_position_of_a_left_out_column_is_refused_with_its_reason():
    encoding = Encoding.fit(table(kept=KEPT, column=np.ones(ROWS)))
    with pytest.raises(ValueError, match="'column' is left out: every row has the same value"):
        encoding.slots("column")
    with pytest.raises(ValueError, match="no column 'kep'; did you mean 'kept'"):
        encoding.slots("kep")
