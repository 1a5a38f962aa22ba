"""Records within records become columns, in every format that has them; what cannot be said is refused."""

import json
import re

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from nammd import Space
from nammd.data.nested import DEEPEST, flat_columns
from nammd.reading import jsonlines
from nammd.tables import batches, read

RECORDS = [
    {"user": {"age": 31, "home": {"city": 'Ulm "\\'}}, "price": 1.5},
    {"user": {"age": None, "home": None}, "price": 2.5},
    {"price": 3.5},
    {"user": {"age": 47, "home": {"city": "[{,"}}, "price": 4.5},
]
FLAT = {
    "user.age": [31, None, None, 47],
    "user.home.city": ['Ulm "\\', None, None, "[{,"],
    "price": [1.5, 2.5, 3.5, 4.5],
}


def table(records=RECORDS):
    return pa.table({"user": [r.get("user") for r in records], "price": [r["price"] for r in records]})


WRITERS = {
    "x.jsonl": lambda path: path.write_text("\n".join(map(json.dumps, RECORDS))),
    "x.json": lambda path: path.write_text(json.dumps(RECORDS)),
    "indented.json": lambda path: path.write_text("\ufeff" + json.dumps(RECORDS, indent=2), encoding="utf-8"),
    "x.parquet": lambda path: pa.parquet.write_table(table(), path),
    "x.feather": lambda path: pa.feather.write_feather(table(), str(path)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_records_are_columns(name, tmp_path):
    WRITERS[name](tmp_path / name)
    assert read(tmp_path / name).data.to_pydict() == FLAT
    chosen = read(tmp_path / name, columns=["price", "user.age"])
    assert chosen.data.to_pydict() == {"price": FLAT["price"], "user.age": FLAT["user.age"]}
    parts = list(batches(tmp_path / name, batch_rows=3))
    assert pa.Table.from_batches(parts).to_pydict() == FLAT


def test_a_folder_of_parquet_files_has_flat_columns(tmp_path):
    for part in (0, 1):
        pa.parquet.write_table(table(), tmp_path / f"{part}.parquet")
    assert read(tmp_path).data.to_pydict() == {name: values * 2 for name, values in FLAT.items()}


@pytest.mark.parametrize("kind", [pa.table, pl.DataFrame])
def test_tables_in_memory_have_the_same_encoding(kind, tmp_path):
    many = table(RECORDS * 20)
    given = many if kind is pa.table else pl.from_arrow(many)
    pa.parquet.write_table(many, tmp_path / "x.parquet")
    assert Space.fit(given).encoding == Space.fit(tmp_path / "x.parquet").encoding


def test_blocks_need_not_have_the_same_records(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonlines, "BLOCK_BYTES", 40)
    lines = [{"user": {"age": 1}}, {"user": None}, {"user": {"age": 2.5, "name": "a"}}, {"user": {}}]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "x.json").write_text(json.dumps(lines))
    for name in ("x.jsonl", "x.json"):
        found = read(tmp_path / name).data.to_pydict()
        assert found == {"user.age": [1.0, None, 2.5, None], "user.name": [None, None, "a", None]}


def test_strings_that_blocks_cut_stay_whole(tmp_path, monkeypatch):
    records = [{"a": "\\" * k + '"' * (k % 3) + "},{"} for k in range(40)]
    (tmp_path / "x.json").write_text(json.dumps(records))
    for size in range(1, 12):
        monkeypatch.setattr(jsonlines, "BLOCK_BYTES", size)
        assert read(tmp_path / "x.json").data.to_pylist() == records


def test_lists_in_records_are_left_out_with_a_reason(tmp_path):
    lines = [{"a": k % 5, "user": {"tags": ["x"] * (k % 3), "pets": [{"age": k}]}} for k in range(20)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, lines)))
    left_out = {entry.column: entry.reason for entry in Space.fit(tmp_path / "x.jsonl").encoding.left_out}
    assert left_out.keys() == {"user.tags", "user.pets"}
    assert "lists" in left_out["user.tags"]
    assert "lists" in left_out["user.pets"]


def test_what_is_very_deep_is_refused(tmp_path):
    kind = pa.int64()
    for _ in range(DEEPEST + 1):
        kind = pa.struct([("a", kind)])
    with pytest.raises(ValueError, match="x nests values more than 100 deep in the column 'r'"):
        flat_columns(pa.schema([("r", kind)]), "x")


def test_columns_can_be_left_as_text(tmp_path):
    from nammd.tables import Reading

    (tmp_path / "x.jsonl").write_text('{"user": {"born": "1990-01-01"}}\n' * 2)
    read_as_text = read(tmp_path / "x.jsonl", reading=Reading(text=["user.born"]))
    assert read_as_text.data.to_pydict() == {"user.born": ["1990-01-01"] * 2}


NOT_A_LIST = "is not a JSON list of records, such as [{...}, {...}]: "


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"a": 1} {"a": 2}]', NOT_A_LIST + "after 1 record stands '{'"),
        ('[{"a": 1}, ]', NOT_A_LIST + "after 1 record stands ']'"),
        ('[{"a": 1}', NOT_A_LIST + "its list is not closed"),
        ("[1, 2]", NOT_A_LIST + "at its beginning stands '1'"),
        ('["a"]', NOT_A_LIST + "at its beginning stands '\"'"),
        ("[[1], [2]]", NOT_A_LIST + "at its beginning stands '['"),
        ('[{"a": 1}] x', NOT_A_LIST + "something stands after its list"),
        ("[]", "is empty"),
        ('[{"a": {"b": 1}}, {"a": {"b": "x"}}]', "mixes types in the column 'a.b'"),
        ('[{"a": 1}, {"a": {"b": 1}}]', "mixes types in the column 'a'"),
        ('[{"a": 1}, {"a" 2}]', "is not a JSON list of records: record 2 cannot be parsed"),
        (
            '{"user.age": 1, "user": {"age": 2}}',
            "has two columns that would be called 'user.age': the column 'user.age', and 'age' in the record "
            "'user'; rename one of them",
        ),
    ],
)
def test_what_is_wrong_is_said(content, message, tmp_path):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(ValueError, match=re.escape(f"{tmp_path / 'x.json'} {message}")):
        read(tmp_path / "x.json")
