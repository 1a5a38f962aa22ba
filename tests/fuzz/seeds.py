"""Good files of every kind, small, to be spoiled."""

from __future__ import annotations

import bz2
import datetime
import gzip
import io
import lzma
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

ROWS = 40


def people(seed: int = 0) -> pa.Table:
    """Return a mixed table: numbers, whole numbers, text, truth values, dates, moments; missing ones too."""
    rng = np.random.default_rng(seed)
    gone = rng.random(ROWS) < 0.1
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(int(k)) for k in rng.integers(0, 900, ROWS)]
    return pa.table(
        {
            "age": pa.array(rng.integers(18, 90, ROWS), mask=gone),
            "income": pa.array(rng.lognormal(10, 1, ROWS).round(2)),
            "city": pa.array(rng.choice(["Ulm", "Köln", 'a,"b"'], ROWS), mask=gone[::-1]),
            "member": pa.array(rng.random(ROWS) < 0.5),
            "born": pa.array(days),
            "seen": pa.array([datetime.datetime(2024, 1, 1, int(h)) for h in rng.integers(0, 24, ROWS)]),
        }
    )


def _csv(delimiter: str = ",") -> bytes:
    held = io.BytesIO()
    pa.csv.write_csv(people(), held, pa.csv.WriteOptions(delimiter=delimiter))
    return held.getvalue()


def _written_by_people() -> str:
    """Return the table as a spreadsheet in Europe would write it."""
    lines = ["age;income;city;member;born;seen"]
    for row in people().to_pylist():
        income = f"{row['income']:,.2f} €".translate(str.maketrans(",.", ".,"))
        age = "n/a" if row["age"] is None else f"{row['age']} a"
        city = "" if row["city"] is None else row["city"].replace('"', "")
        days = f"{row['born']:%d.%m.%Y};{row['seen']:%d.%m.%Y %H:%M}"
        lines.append(f"{age};{income};{city};{str(row['member']).upper()};{days}")
    return "\n".join(lines) + "\n"


def _json() -> bytes:
    import json

    return "".join(json.dumps(row, default=str) + "\n" for row in people().to_pylist()).encode()


def _parquet(**options: object) -> bytes:
    held = io.BytesIO()
    pa.parquet.write_table(people(), held, row_group_size=17, **options)
    return held.getvalue()


def _arrow(compression: str | None = None, stream: bool = False) -> bytes:
    held = io.BytesIO()
    table = people().append_column("kind", pa.array(["u", "v"] * (ROWS // 2)).dictionary_encode())
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(held, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=15)
    return held.getvalue()


def points() -> np.ndarray:
    """Return some rows of an array."""
    return np.random.default_rng(0).normal(size=(ROWS, 3))


def _npy(array: np.ndarray) -> bytes:
    held = io.BytesIO()
    np.save(held, array)
    return held.getvalue()


def _npz(packed: bool) -> bytes:
    held = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(held, x=points())
    return held.getvalue()


def _image(kind: str) -> bytes:
    from PIL import Image

    held = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (6, 5, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(held, kind)
    return held.getvalue()


@lru_cache(maxsize=1)
def tables() -> dict[str, bytes]:
    """Return files that hold tables, by their names."""
    return {
        "x.csv": _csv(),
        "semicolons.csv": _csv(";"),
        "x.tsv": _csv("\t"),
        "x.csv.gz": gzip.compress(_csv(), mtime=0),
        "x.csv.bz2": bz2.compress(_csv()),
        "x.csv.xz": lzma.compress(_csv()),
        "people.csv": _written_by_people().encode(),
        "windows.csv": _written_by_people().encode("cp1252"),
        "wide.csv": _written_by_people().encode("utf-16"),
        "x.jsonl": _json(),
        "plain.parquet": _parquet(compression="none", use_dictionary=False, write_page_checksum=True),
        "packed.parquet": _parquet(write_page_checksum=True),
        "x.arrow": _arrow(),
        "x.feather": _arrow("lz4"),
        "stream.arrow": _arrow(stream=True),
    }


@lru_cache(maxsize=1)
def arrays() -> dict[str, bytes]:
    """Return files that hold arrays, by their names."""
    return {
        "x.npy": _npy(points()),
        "single.npy": _npy(points().astype(np.float32)),
        "turned.npy": _npy(np.asfortranarray(points())),
        "x.npz": _npz(False),
        "packed.npz": _npz(True),
    }


@lru_cache(maxsize=1)
def images() -> dict[str, bytes]:
    """Return images, by their names."""
    return {f"x.{kind.lower()}": _image(kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF")}
