"""The same table has the same encoding in every library and format, however large or far its values are."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from nammd.tables import Encoding

ROWS = 60
FORMS = ("pandas", "pandas of Arrow", "polars", "Parquet", "Feather", "CSV")


def _columns() -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    days = [datetime.date(9999, 12, 31), datetime.date(1, 1, 1), datetime.date(1600, 2, 29)]
    moments = [
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999),
        datetime.datetime(1, 1, 1),
        datetime.datetime(1600, 5, 6, 7, 8, 9, 10),
        None,
    ]
    return {
        "hash": [int(v) for v in rng.integers(-(2**62), 2**62, ROWS)],
        "big": [2**53 + k % 7 for k in range(ROWS)],
        "id": [int(v) + 2**63 for v in rng.permutation(ROWS)],
        "unsigned": [int(v) + 2**63 for v in rng.integers(0, 2**60, ROWS)],
        "day": [days[k] for k in rng.integers(0, 3, ROWS)],
        "moment": [moments[k] for k in rng.integers(0, 4, ROWS)],
    }


def _arrow() -> pa.Table:
    types = {"id": pa.uint64(), "unsigned": pa.uint64(), "moment": pa.timestamp("us")}
    return pa.table({name: pa.array(values, types.get(name)) for name, values in _columns().items()})


def _in(form: str, folder: Path) -> Any:
    table = _arrow()
    if form == "pandas":
        return pd.DataFrame(_columns())
    if form == "pandas of Arrow":
        return table.to_pandas(types_mapper=pd.ArrowDtype)
    if form == "polars":
        return pl.DataFrame(_columns(), schema_overrides={"id": pl.UInt64, "unsigned": pl.UInt64})
    path = folder / f"table.{form.lower()}"
    writers: dict[str, Any] = {
        "Parquet": pa.parquet.write_table,
        "Feather": pa.feather.write_feather,
        "CSV": pa.csv.write_csv,
    }
    writers[form](table, path)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_large_integers_and_distant_dates_are_encoded_alike_everywhere(form: str, tmp_path: Path) -> None:
    expected = Encoding.fit(_arrow())
    data = _in(form, tmp_path)
    found = Encoding.fit(data)
    assert found.to_dict() == expected.to_dict()
    np.testing.assert_array_equal(found.transform(data), expected.transform(_arrow()))
    assert [column.kind for column in found.columns] == ["numeric"] * 3 + ["datetime"] * 2
    assert [entry.column for entry in found.left_out] == ["id"]


@pytest.mark.parametrize("form", FORMS)
def test_a_column_in_one_form_fits_the_encoding_of_another(form: str, tmp_path: Path) -> None:
    encoding = Encoding.fit(_arrow())
    data = _in(form, tmp_path)
    np.testing.assert_array_equal(encoding.transform(data), encoding.transform(_arrow()))


def test_distant_moments_later_in_a_long_csv_are_moments(tmp_path: Path) -> None:
    near = ["2020-01-01 00:00:00.250000"] * 60_000
    path = tmp_path / "long.csv"
    path.write_text(
        "t,k\n" + "".join(f"{t},{i % 2}\n" for i, t in enumerate([*near, "9999-12-31 00:00:00.5"]))
    )
    column = Encoding.fit(path).column("t")
    assert column.kind == "datetime"


def test_moments_in_seconds_do_not_wrap_around() -> None:
    far = pa.table({"t": pa.array([0, 1, 10**16, -(10**16)], pa.timestamp("s"))})
    numbers = Encoding.fit(far).transform(far)[:, 0]
    assert numbers[3] < numbers[0] < numbers[1] < numbers[2]


def test_lists_of_large_integers_are_vectors() -> None:
    table = pa.table({"v": [[2**60 + k, k] for k in range(30)]})
    assert Encoding.fit(table).column("v").kind == "vector"
