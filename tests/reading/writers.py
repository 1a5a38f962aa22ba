"""One dataset written in every format."""

import gzip
import json

import numpy as np
import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet

ROWS = 500


def people(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": pa.array(rng.integers(18, 90, rows), mask=rng.random(rows) < 0.1),
            "income": pa.array(rng.normal(size=rows).round(6), mask=rng.random(rows) < 0.1),
            "city": pa.array(rng.choice(["Ulm", "Köln", 'a,"b"\n'], rows), mask=rng.random(rows) < 0.1),
            "member": rng.random(rows) < 0.5,
        }
    )


def write_csv(table, path, delimiter=","):
    pa.csv.write_csv(table, path, pa.csv.WriteOptions(delimiter=delimiter))


def write_gzip(table, path):
    plain = path.with_suffix("")
    write_csv(table, plain)
    path.write_bytes(gzip.compress(plain.read_bytes()))


def write_json(table, path):
    pl.from_arrow(table).write_ndjson(path)


def write_folder(table, path):
    third = table.num_rows // 3
    for i, start in enumerate((0, third, 2 * third)):
        path.mkdir(exist_ok=True)
        rows = table.slice(start, third if i < 2 else None)
        pa.parquet.write_table(rows, path / f"part-{i}.parquet", row_group_size=50)
    (path / "_SUCCESS").write_text("")
    (path / "readme.txt").write_text("not data")


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)


def write_workbook(table, path):
    workbook = openpyxl.Workbook(write_only=True)
    sheet = workbook.create_sheet("people")
    for row in [table.column_names, *zip(*table.to_pydict().values(), strict=True)]:
        sheet.append(row)
    workbook.save(path)


WRITERS = {
    "people.csv": write_csv,
    "people.tsv": lambda table, path: write_csv(table, path, "\t"),
    "semicolons.csv": lambda table, path: write_csv(table, path, ";"),
    "people.csv.gz": write_gzip,
    "people.parquet": lambda table, path: pa.parquet.write_table(table, path, row_group_size=70),
    "folder": write_folder,
    "people.feather": pa.feather.write_feather,
    "people.arrow": lambda table, path: pl.from_arrow(table).write_ipc(path),
    "stream.arrow": write_stream,
    "people.jsonl": write_json,
    "people.json": write_json,
    "list.json": lambda table, path: path.write_text(json.dumps(table.to_pylist(), indent=1)),
    "people.xlsx": write_workbook,
    "PEOPLE.PARQUET": pa.parquet.write_table,
}
if int(pa.__version__.partition(".")[0]) < 18:
    del WRITERS["people.arrow"]  # polars writes string views, which older versions cannot read


def written(name, folder, table=None):
    path = folder / name
    WRITERS[name](people() if table is None else table, path)
    return path
