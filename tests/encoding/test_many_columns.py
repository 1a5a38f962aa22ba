"""The time grows with the number of columns, not with its square."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import nammd
from nammd.data.frames import Frame
from nammd.data.series import plain_values, texts_together
from nammd.reading import column_types, delimited, read
from nammd.reading.sources import BLOCK_BYTES
from nammd.reading.text_formats import Reading


def _table(columns: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({f"column {k}": rng.normal(size=20) for k in range(columns)})


def _seconds(columns: int, kind: str, folder: Path) -> float:
    """Return the time of the processor, which does not depend on what else the machine does."""
    write = {"parquet": pa.parquet.write_table, "csv": pa.csv.write_csv}[kind]
    paths = [folder / f"{columns}-{name}.{kind}" for name in "xy"]
    for seed, path in enumerate(paths):
        write(_table(columns, seed), path)
    before = time.process_time()
    assert nammd.distance(*paths).value > -1
    return time.process_time() - before


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_four_times_the_columns_take_four_times_the_time(kind: str, tmp_path: Path) -> None:
    _seconds(50, kind, tmp_path)  # imports
    few, many = _seconds(1000, kind, tmp_path), _seconds(4000, kind, tmp_path)
    if many >= 7.8 * few:  # the machine may have been busy
        many = _seconds(4000, kind, tmp_path)
    # The square would be sixteen times; here what grows with it takes twice as long as the rest.
    assert many < 7.8 * few, (few, many)


def test_ten_thousand_columns_have_their_encoding() -> None:
    assert len(nammd.Space.fit(_table(10_000, 0)).encoding.columns) == 10_000


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that Arrow's reader of CSV is given, one after the other."""
    found: list[str] = []
    real = pa.csv.open_csv

    def opened(source: Any, **options: Any) -> Any:
        found.append(Path(source).name if isinstance(source, str) else "a block")
        return real(source, **options)

    monkeypatch.setattr(pa.csv, "open_csv", opened)
    return found


def _written(path: Path, table: pa.Table) -> Path:
    pa.csv.write_csv(table, path)
    return path


def test_a_wide_csv_file_is_opened_once(tmp_path: Path, openings: list[str]) -> None:
    path = _written(tmp_path / "x.csv", _table(2000, 0))
    again = pa.concat_tables([_table(2000, seed) for seed in range(3)])
    more = _written(tmp_path / "more.csv", again)
    assert more.stat().st_size > BLOCK_BYTES > path.stat().st_size
    for file, rows in ((path, 20), (more, 60)):
        assert read(file).data.num_rows == rows
    assert openings == ["x.csv", "more.csv"]


@pytest.mark.parametrize(
    ("cells", "times"),
    [
        ([1.5, 2.5, 3.25], ["x.csv"]),
        (["Ulm", "Bonn", "Ulm"], ["x.csv"]),
        (["1.5", "Bonn", "Ulm"], ["x.csv", "x.csv"]),  # not as the first row says
        (["00123", "04500", "00007"], ["x.csv", "a block", "x.csv"]),  # codes look like numbers at first
        (["9999-12-31", "2020-01-01", "0001-01-01"], ["x.csv"]),
        (["9999-12-31 01:00:00.5", "2020-01-01 01:00:00.5"], ["x.csv", "x.csv"]),
        (["1", "NA", "3"], ["x.csv", "x.csv"]),  # to count the words for missing values
        (["1", "", "3"], ["x.csv", "x.csv"]),  # which words there are is known only then
    ],
)
def test_a_csv_file_is_opened_again_only_where_something_is_to_be_read_otherwise(
    cells: list[Any], times: list[str], tmp_path: Path, openings: list[str]
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    read(path)
    assert openings == times


def test_a_csv_file_is_not_opened_again_for_columns_that_are_text_anyway(
    tmp_path: Path, openings: list[str]
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,c\nUlm,1,2\nBonn,2,3\n")
    assert read(path, reading=Reading(text=("a",))).data.schema.types[0] == pa.string()
    assert openings == ["x.csv"]
    assert read(path, reading=Reading(text=("a", "b"))).data["b"].to_pylist() == ["1", "2"]
    assert openings == ["x.csv"] * 3


def test_columns_whose_first_value_has_a_decimal_point_are_tried_as_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[dict[str, Any]] = []
    real = column_types.opened
    monkeypatch.setattr(
        column_types, "opened", lambda style, types, *a: said.append(types) or real(style, types, *a)
    )
    path = tmp_path / "x.csv"
    path.write_bytes(b'\xef\xbb\xbf"a, b",c,d\n"1.5",2,-0.25\n7,3,\n')
    assert read(path).data.to_pydict() == {"a, b": [1.5, 7.0], "c": [2, 3], "d": [-0.25, None]}
    assert said[0] == {"a, b": pa.float64(), "d": pa.float64()}


def test_a_large_csv_file_is_read_twice_and_not_kept(
    tmp_path: Path, openings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 200)
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "".join(f"{k},{k / 2}\n" for k in range(2000)))
    assert read(path).data["a"].to_pylist() == list(range(2000))
    assert openings == ["x.csv", "x.csv"]


def test_plain_numbers_and_text_take_no_way_round(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = Frame.series
    monkeypatch.setattr(Frame, "series", lambda self, name: asked.append(name) or real(self, name))
    table = _table(50, 0).append_column("city", pa.array(["Ulm", "Bonn"] * 10))
    nammd.distance(table, table.slice(0, 10))
    assert not asked


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("rows", [1, 7, 20])
def test_text_is_looked_at_together_as_it_is_column_by_column(kind: pa.DataType, rows: int) -> None:
    rng = np.random.default_rng(rows)
    cells = np.array(["Ulm", "Bonn", "", "Ä", None, "7"], dtype=object)
    columns = [
        pa.chunked_array([pa.array(part, kind) for part in (each[:3], each[3:])], kind)
        for each in (cells[rng.integers(0, most, rows)] for most in (1, 2, 3, 5, 6, 6, 6))
    ]
    columns += [pa.chunked_array([pa.nulls(rows, kind)]), pa.chunked_array([pa.array(["x"] * rows, kind)])]
    for one, column in zip(texts_together(columns), columns, strict=True):
        alone = plain_values(column)
        assert one is not None
        assert alone is not None
        assert (one.kind, one.labels, one.categories) == (alone.kind, alone.labels, alone.categories)
        assert (one.text, one.missing.tolist()) == (alone.text, alone.missing.tolist())
        assert (one.codes is None) == (alone.codes is None)


def test_numbers_are_written_together_as_they_are_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    table = pa.table(
        {
            "plain": rng.normal(size=30),
            "gaps": [None, *rng.normal(size=29)],
            "weighted": [*rng.normal(size=29), None],
            "far": [1e300, -1e12, *rng.normal(size=28)],
            "huge": [1.7e308, -1.7e308, *rng.normal(0, 1e308, 28).clip(-1e308, 1e308)],
            "city": ["Ulm", "Bonn"] * 15,
            "whole": rng.integers(0, 9, 30),
        }
    )
    encoding = nammd.tables.Encoding.fit(table, column_weights={"weighted": 0.3})
    together = encoding.transform(table)
    monkeypatch.setattr("nammd.encoding.encoding.FEW_ROWS", 0)
    assert together.tobytes() == encoding.transform(table).tobytes()


def test_of_many_columns_codes_and_thousands_are_found_among_numbers_of_many_decimals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.csv"
    cells = {"measure": "1.23456", "code": "00123", "price": "1.250", "whole": "7", "mixed": "1.250"}
    rows = [",".join(cells), *[",".join(cells.values())] * 3, "2.5,1,800,8,0.12345"]
    path.write_text("\n".join(rows) + "\n")
    few = read(path).data
    monkeypatch.setattr(column_types, "_MOST_CELLS", 2)
    many = read(path).data
    assert many.equals(few)
    assert [str(kind) for kind in many.schema.types] == ["double", "string", "string", "int64", "double"]
