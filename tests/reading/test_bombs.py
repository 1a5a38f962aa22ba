"""Small files that unpack to a lot: refused before they take memory, unless that is meant."""

import gzip
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from nammd.tables import batches, read, unpack_limit
from tests.reading import parquet_lies
from tests.reading.bombs import BOMBS, png
from tests.reading.parquet_lies import Page
from tests.waiting import GUARD

ROOT = Path(__file__).parents[2]
HARMLESS = ("gif/x.gif",)  # of a film the first picture is taken


@pytest.mark.skipif(sys.platform == "win32", reason="needs a measure of memory")
def test_no_small_file_takes_a_gigabyte(tmp_path):
    def run(what):
        command = [sys.executable, "-m", "tests.reading.bombs", str(tmp_path), what]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=GUARD, check=True)

    run("write")
    told = [line.split("\t") for line in run("read").stdout.splitlines()]
    assert [name for name, *_ in told] == list(BOMBS)
    for name, taken, said in told:
        assert float(taken) < 1, (name, taken)
        assert said.startswith("ValueError: ") or name in HARMLESS, (name, said)
        assert name.partition("/")[0] in said or name in HARMLESS


def write_npz(path):
    np.savez_compressed(path, x=np.zeros((1 << 16, 4)))


def write_words(path):
    parquet.write_table(pa.table({"a": ["x" * 1000] * 4000}), path)


def write_delta(path):
    words = pa.table({"a": ["x" * 1000] * 4000})
    parquet.write_table(words, path, use_dictionary=False, column_encoding={"a": "DELTA_BYTE_ARRAY"})


def write_records(path):
    words = [{"b": ["x" * 1000]}] * 4000
    parquet.write_table(pa.table({"a": words, "c": range(4000)}), path)


def write_views(path):
    words = pa.array(["x" * 10_000]).cast(pa.string_view())
    views = np.tile(np.frombuffer(words.buffers()[1], np.int32), 4000)
    column = pa.Array.from_buffers(pa.string_view(), 4000, [None, pa.py_buffer(views), *words.buffers()[2:]])
    feather.write_feather(pa.table({"a": column}), path, compression="uncompressed")


FILES = {
    "x.npz": write_npz,
    "x.csv.gz": lambda path: path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 200_000)),
    "x.jsonl.gz": lambda path: path.write_bytes(gzip.compress(b'{"a":1}\n' * 100_000)),
    "rows.parquet": lambda path: parquet.write_table(pa.table({"a": np.zeros(1 << 19)}), path),
    "words.parquet": write_words,
    "delta.parquet": write_delta,
    "records.parquet": write_records,
    "x.feather": lambda path: feather.write_feather(
        pa.table({"a": np.zeros(1 << 19)}), path, compression="zstd"
    ),
    "views.feather": write_views,
    "images": lambda path: [png(path / f"{k}.png", 120, 120) for k in range(40)],
}


@pytest.mark.parametrize("name", FILES)
def test_the_limit_can_be_raised(tmp_path, name):
    path = tmp_path / name
    FILES[name](path)
    with unpack_limit(1e-3), pytest.raises(ValueError, match=r"would unpack to .*unpack_limit") as caught:
        list(batches(path))
    assert name in str(caught.value)
    rows = sum(len(batch) for batch in batches(path))
    assert read(path).rows == rows >= 40


GOOD = Page("data", 8, parquet_lies.whole(bytes(8)))
LIES = {
    "more bytes": ([GOOD, Page("data", 1 << 24, parquet_lies.zeros(1 << 24))], 2, "would unpack to 16.8 MB"),
    "more values": ([GOOD, GOOD], 1, None),
    "more values at once": (
        [replace(GOOD, values=2)],
        1,
        "pages claim more values than the footer, which has 1",
    ),
    "fewer than none": ([replace(GOOD, claims=-1)], 1, "a page has a negative size"),
    "more words": ([Page("dictionary", 8, GOOD.packed, values=9), GOOD], 1, "of 8 bytes claims 9 words"),
    "lengths": (
        [replace(GOOD, encoding=6, packed=parquet_lies.lengths(2), claims=1024)],
        1,
        "claims 2 lengths",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_pages_of_parquet_claim_no_more_than_their_footer(tmp_path, lie):
    pages, values, why = LIES[lie]
    kind = parquet_lies.BYTE_ARRAY if lie == "lengths" else parquet_lies.INT64
    parquet_lies.write(tmp_path / "x.parquet", pages, kind, values)
    with unpack_limit(1e-2):
        if why is None:  # what is not read is not looked at
            assert read(tmp_path / "x.parquet").data.to_pydict() == {"a": [0]}
            return
        for place in (tmp_path / "x.parquet", tmp_path):
            with pytest.raises(ValueError, match=rf"x\.parquet.*{why}"):
                read(place)


@pytest.mark.parametrize("encoding", [None, "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("packing", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
def test_pages_of_honest_files_are_read(tmp_path, packing, version, encoding):
    rows = range(3000)
    table = pa.table(
        {
            "n": pa.array([None if k % 7 == 0 else k for k in rows]),
            "s": [None if k % 5 == 0 else f"word{k % 50}" * (k % 4) for k in rows],
            "r": [{"a": k, "b": str(k) if k % 3 else None} for k in rows],
        }
    )
    chosen = {} if encoding is None else {"column_encoding": dict.fromkeys(("s", "r.b"), encoding)}
    path = tmp_path / "x.parquet"
    parquet.write_table(
        table, path, row_group_size=1100, data_page_size=500, compression=packing,
        data_page_version=version, use_dictionary=encoding is None, **chosen,
    )  # fmt: skip
    assert read(path, columns=["n", "s"]).data.equals(table.select(["n", "s"]))


def test_pixels_are_counted_before_they_are_unpacked(tmp_path, monkeypatch):
    png(tmp_path / "x.png", 300, 300)
    assert read(tmp_path).rows == 1
    with (
        unpack_limit(1e-3),
        pytest.raises(ValueError, match=r"x.png has 300 x 300 pixels, and at most 33554"),
    ):
        read(tmp_path)
    monkeypatch.setenv("NAMMD_UNPACK_LIMIT", "0.001")
    with pytest.raises(ValueError, match=r"x.png has 300 x 300 pixels"):
        read(tmp_path)
    with unpack_limit(1):
        assert read(tmp_path).rows == 1
    monkeypatch.setenv("NAMMD_UNPACK_LIMIT", "much")
    with pytest.raises(ValueError, match="NAMMD_UNPACK_LIMIT must be a number of gigabytes, such as 4, not"):
        read(tmp_path)


def test_an_image_is_of_a_kind_that_its_name_promises(tmp_path):
    (tmp_path / "x.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    with pytest.raises(ValueError, match=r"x\.png cannot be read as an image"):
        read(tmp_path)


@pytest.mark.skipif(not hasattr(os.stat_result, "st_blocks"), reason="needs to know what a file takes")
def test_a_large_file_that_is_written_is_read(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(1 << 15, 8)))
    with unpack_limit(1e-3):
        assert read(tmp_path / "x.npy").rows == 1 << 15


def test_archives_that_lie_about_their_size_are_damaged(tmp_path):
    path = tmp_path / "x.npz"
    write_npz(path)
    with zipfile.ZipFile(path) as archive:
        size = archive.infolist()[0].file_size
    path.write_bytes(path.read_bytes().replace(size.to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    with pytest.raises(ValueError, match="damaged"):
        read(path)
