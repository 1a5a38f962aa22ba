"""Data from elsewhere: standard input, packed files, folders of text, addresses, databases, Hugging Face."""

import bz2
import functools
import gzip
import http.server
import io
import lzma
import sqlite3
import sys
import threading

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import nammd
from nammd.tables import Reading, batches, read

RNG = np.random.default_rng(0)
TABLE = pa.table(
    {"x": RNG.normal(size=50), "city": RNG.choice(["Ulm", "Bonn"], 50), "n": RNG.integers(0, 9, 50)}
)
BYTES = {}


def csv_bytes(table=TABLE):
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink)
    return sink.getvalue().to_pybytes()


def json_bytes(table=TABLE):
    import json

    return "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()


PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize(("extension", "write"), [(".csv", csv_bytes), (".jsonl", json_bytes)])
def test_packed_text_is_read(tmp_path, extension, write, packing):
    path = tmp_path / f"x{extension}{packing}"
    path.write_bytes(PACKERS[packing](write()))
    assert read(path).data.equals(TABLE)
    assert sum(batch.num_rows for batch in batches(path, batch_rows=7)) == 50


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("write", [csv_bytes, json_bytes])
def test_standard_input_is_recognised(monkeypatch, write, packing):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PACKERS[packing](write()))))
    loaded = read("-")
    assert loaded.data.equals(TABLE)
    assert str(loaded.path) == "standard input"


@pytest.mark.parametrize("write", [parquet.write_table, feather.write_feather])
def test_standard_input_may_be_binary(monkeypatch, write):
    sink = io.BytesIO()
    write(TABLE, sink)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sink.getvalue())))
    assert read("-").data.equals(TABLE)


def test_standard_input_without_bytes_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(ValueError, match="standard input is empty"):
        read("-")


@pytest.mark.parametrize("extension", [".csv", ".csv.gz", ".jsonl", ".tsv"])
def test_folders_of_text_are_one_table(tmp_path, extension):
    write = json_bytes if "json" in extension else csv_bytes
    for k in range(5):
        data = write(TABLE.slice(10 * k, 10))
        data = data.replace(b",", b"\t") if extension == ".tsv" else data
        (tmp_path / f"part-{k}{extension}").write_bytes(gzip.compress(data) if "gz" in extension else data)
    (tmp_path / "_SUCCESS.csv").write_text("not,data\n")
    loaded = read(tmp_path)
    assert loaded.data.combine_chunks().equals(TABLE)
    assert read(tmp_path, sample=20).rows == 20
    assert nammd.distance(tmp_path, TABLE.slice(3)).columns == ("x", "city", "n")


def test_files_of_a_folder_may_disagree_about_types(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c\n1,2026-01-31,\n2,2026-02-01,\n")
    (tmp_path / "b.csv").write_text("c,a,b\n5,1.5,2026-02-01 10:00:00\n6,x,2026-02-03\n")
    assert read(tmp_path, columns=["a", "c"]).data.to_pydict() == {
        "a": ["1", "2", "1.5", "x"],
        "c": [None, None, 5, 6],
    }


def test_files_of_a_folder_must_have_the_same_columns(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.csv").write_text("a,c\n1,2\n")
    with pytest.raises(ValueError, match=r"differ in their columns: .*b\.csv lacks 'b', unlike .*a\.csv"):
        read(tmp_path)
    (tmp_path / "c.jsonl").write_text("{}\n")
    with pytest.raises(ValueError, match="files of several formats"):
        read(tmp_path)


@pytest.fixture
def server(tmp_path):
    """Serve a folder over HTTP."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_addresses_on_the_web(server, tmp_path):
    parquet.write_table(TABLE, tmp_path / "x.parquet")
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(csv_bytes()))
    assert read(f"{server}/x.parquet?signature=secret").data.equals(TABLE)
    assert nammd.distance(f"{server}/x.csv.gz", TABLE).value == nammd.distance(TABLE, TABLE).value
    with pytest.raises(FileNotFoundError, match=r"/none\.csv cannot be read: 404"):
        read(f"{server}/none.csv")


def test_buckets_through_fsspec():
    memory = fsspec.filesystem("memory")
    with memory.open("/bucket/day/x.csv", "wb") as file:
        file.write(csv_bytes())
    for k in range(2):
        with memory.open(f"/bucket/parts/part-{k}.parquet", "wb") as file:
            parquet.write_table(TABLE.slice(25 * k, 25), file)
    try:
        assert read("memory://bucket/day/x.csv").data.equals(TABLE)
        assert read("memory://bucket/parts").data.combine_chunks().equals(TABLE)
        with pytest.raises(FileNotFoundError, match="there is nothing at memory://bucket/none"):
            read("memory://bucket/none.csv")
    finally:
        memory.rm("/bucket", recursive=True)
    with pytest.raises(ValueError, match="nosuch://bucket/x cannot be read"):
        read("nosuch://bucket/x")


@pytest.fixture
def databases(tmp_path):
    """The same table in files of SQLite and DuckDB."""
    import duckdb

    with sqlite3.connect(tmp_path / "shop.db") as lite:
        lite.execute("create table orders (x real, city text, n integer)")
        lite.executemany(
            "insert into orders values (?, ?, ?)", [tuple(r.values()) for r in TABLE.to_pylist()]
        )
    lite.close()
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as duck:
        duck.register("given", TABLE)
        duck.execute("create table orders as select * from given")
    return tmp_path


@pytest.mark.parametrize("address", ["sqlite:///{}/shop.db", "duckdb:///{}/shop.duckdb"])
def test_databases_answer_queries(databases, address):
    address = address.format(databases)
    loaded = read(address, query="select x, city, n from orders")
    assert loaded.data.to_pydict() == TABLE.to_pydict()
    few = read(address, query="select * from orders where city = 'Ulm'")
    assert set(few.data["city"].to_pylist()) == {"Ulm"}
    assert str(few.path) == address
    with pytest.raises(ValueError, match="is a database; say what to read with query="):
        read(address)
    with pytest.raises(ValueError, match=r"the query failed: .*none"):
        read(address, query="select * from none")
    with pytest.raises(ValueError, match="the query failed"):
        read(address, query="drop table orders")
    assert read(address, query="select * from orders").rows == 50
    with pytest.raises(ValueError, match="the answer to the query has no rows"):
        read(address, query="select * from orders where n > 100")
    missing = address.replace("shop", "none")
    with pytest.raises(FileNotFoundError, match="there is no database file"):
        read(missing, query="select 1")


@pytest.mark.parametrize("name", ["sqlite:///{}/shop.db", "duckdb:///{}/shop.duckdb"])
def test_database_files_are_only_read(databases, name):
    address = name.format(databases)
    path = databases / address.rpartition("/")[2]
    before, there = path.read_bytes(), set(databases.iterdir())
    for query in (
        "drop table orders",
        "insert into orders values (1, 'x', 2)",
        "create table t (x real)",
        f"attach '{databases}/other.db' as other",
        f"vacuum into '{databases}/copy.db'",
        f"copy orders to '{databases}/orders.csv'",
        f"export database '{databases}/all'",
        "install httpfs",
        "load httpfs",
        "pragma table_info(orders)",
        "update sqlite_master set sql = ''",
        "set threads = 1",
        "begin",
        "select load_extension('x')",
        "select * from orders; drop table orders",
        "select 1 as x; select 2 as x",
        "",
        ";",
    ):
        with pytest.raises(ValueError, match=r"the query failed|say what to read"):
            read(address, query=query)
    assert path.read_bytes() == before
    assert read(address, query="select * from orders;").rows == 50
    assert read(address, query="with a as (select x from orders) select * from a -- all of it").rows == 50
    assert set(databases.iterdir()) == there


def test_other_files_are_out_of_reach_of_duckdb_unless_the_database_is_made_of_them(databases):
    import duckdb

    csv.write_csv(TABLE, databases / "orders.csv")
    with duckdb.connect(str(databases / "views.duckdb")) as duck:
        duck.execute(f"create view orders as select * from '{databases}/orders.csv'")
    address = f"duckdb:///{databases}/views.duckdb"
    for query in ("select * from orders", f"select * from read_csv('{databases}/orders.csv')"):
        with pytest.raises(ValueError, match=r"it reads other files .* add \?external=true to its address"):
            read(address, query=query)
    assert read(f"{address}?external=true", query="select * from orders").rows == 50
    for query in ("attach 'x.db' as x", f"copy orders to '{databases}/copy.csv'", "install httpfs"):
        with pytest.raises(ValueError, match="it may only read this file"):
            read(f"{address}?external=true", query=query)
    assert not (databases / "copy.csv").exists()


def test_a_view_of_sqlite_cannot_do_what_a_query_cannot(tmp_path):
    with sqlite3.connect(tmp_path / "x.db") as lite:
        lite.execute("create table t (x real)")
        lite.execute("insert into t values (1)")
        lite.execute("create view harm as select load_extension('harm') as x")
        lite.execute("create virtual table words using fts5(word)")
        lite.execute("insert into words values ('apple'), ('pear')")
    lite.close()
    with pytest.raises(ValueError, match="the query failed: unsafe use of load_extension"):
        read(f"sqlite:///{tmp_path}/x.db", query="select * from harm")
    found = read(f"sqlite:///{tmp_path}/x.db", query="select word from words where words match 'pear'")
    assert found.data.to_pydict() == {"word": ["pear"]}


@pytest.mark.parametrize(
    "name", ["sqlite:///{}/none.db", "sqlite+pysqlite:///{}/none.db", "duckdb:///{}/none.db"]
)
def test_a_database_file_that_is_not_there_is_not_made(tmp_path, monkeypatch, name):
    from nammd.reading import databases as reader

    address, missing = name.format(tmp_path), tmp_path / "none.db"
    with pytest.raises(FileNotFoundError, match=r"there is no database file '.*none\.db'"):
        read(address, query="select 1 as x")
    monkeypatch.setattr(reader, "_file", lambda address: missing)  # removed at the last moment
    with pytest.raises(ValueError, match="the query failed"):
        read(address, query="select 1 as x")
    assert not list(tmp_path.iterdir())


def test_a_query_is_for_databases(tmp_path):
    (tmp_path / "x.csv").write_bytes(csv_bytes())
    with pytest.raises(ValueError, match="a query is for databases"):
        read(tmp_path / "x.csv", query="select 1")


def test_datasets_of_hugging_face():
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"x": datasets.Value("float64"), "label": datasets.ClassLabel(names=["good", "bad"])}
    )
    columns = {"x": TABLE["x"].to_pylist(), "label": [int(k % 3 == 0) for k in range(50)]}
    given = datasets.Dataset.from_dict(columns, features=features)
    names = [["good", "bad"][k] for k in columns["label"]]
    plain = pa.table({"x": columns["x"], "label": names})
    space = nammd.Space.fit(plain)
    np.testing.assert_array_equal(space.encoding.transform(given), space.encoding.transform(plain))
    some = given.select(range(5, 25)).shuffle(seed=0)
    assert space.encoding.transform(some).shape[0] == 20
    streamed = given.to_iterable_dataset()
    np.testing.assert_array_equal(space.encoding.transform(streamed), space.encoding.transform(plain))
    with pytest.raises(
        TypeError, match="give one split of the Hugging Face dataset, not all: it has 'train'"
    ):
        nammd.Space.fit(datasets.DatasetDict(train=given))


def test_an_encoding_of_packed_text(tmp_path):
    text = "city;n\nKöln;1,5\nUlm;2,5\n"
    for packing, pack in PACKERS.items():
        path = tmp_path / f"x.csv{packing}"
        path.write_bytes(pack(text.encode("utf-16")))
        assert read(path).data["city"].to_pylist() == ["Köln", "Ulm"]
        path.write_bytes(pack(text.encode("latin-1")))
        assert read(path, reading=Reading(encoding="latin-1")).data["city"].to_pylist() == ["Köln", "Ulm"]
