"""Files that are damaged, cut or boundless are refused by name, and none is read in part."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from nammd.reading import batches, read
from nammd.reading.delimited import require_closed_quotes
from tests.reading.writers import people

# --- quotes


def _rows(count: int = 2000, lost: int | None = None, last: str = "text") -> str:
    lines = [f'{k},{k % 7},"{last} {k}"' for k in range(count)]
    if lost is not None:
        lines[lost] = lines[lost][:-1]
    return "a,b,c\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("lost", [0, 300, 1998, 1999])
def test_a_quote_that_is_not_closed_is_refused_with_its_line(lost: int, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(_rows(lost=lost))
    with pytest.raises(ValueError, match=rf"{path}.* near line {lost + 2};"):
        read(path)


def test_a_last_quote_that_swallows_the_rest_of_a_long_file_is_refused(tmp_path: Path) -> None:
    plain = "a,b\n" + "".join(f"{k},x\n" for k in range(300_000))
    path = tmp_path / "x.csv"
    path.write_text(plain.replace("\n150000,x\n", '\n150000,"x\n'))
    with pytest.raises(ValueError, match=r"has a quote that is never closed, near line 150002;"):
        list(batches(path))


GOOD = [
    'a,b\n1,"x"\n',
    'a,b\n1,"x\ny"\n',
    'a,b\n1,"say ""no"""\n2,""\n3,""""\n',
    '"a","b"\n"1",x\n',
    'a,b\n1,5" pipe\n2,6" pipe\n3,7" pipe\n',
    'a,b\n1,5" pipe\n2,"x"\n',
    'a,b\n1,"x" \n2,"y"\t\n',
    'a,b\r\n1,"x"\r\n2,"y, z"\r\n',
    'a,b\n1,"x"',
    "a,b\n1,x\n",
    '\ufeff"a",b\n1,2\n',
]
BAD = [
    'a,b\n1,"x',
    'a,b\n1,"',
    'a,b\n1,"x""',
    'a,b\n1,"x\n2,"y"\n',
    'a,b\n1,"\n2,""\n3,""\n',
    'a,b\n1,5" pipe\n2,"x\n',
]


def _cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[k : k + size] for k in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize("text", GOOD)
def test_quotes_where_they_belong_are_taken(text: str, size: int) -> None:
    delimiter = "\t" if "\t" in text else ","
    if delimiter == "\t":
        text = text.replace(",", "\t")
    require_closed_quotes(Path("x"), _cut(text.encode(), size), delimiter)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize("text", BAD)
def test_quotes_that_are_lost_are_refused(text: str, size: int) -> None:
    with pytest.raises(ValueError, match="has a quote that"):
        require_closed_quotes(Path("x"), _cut(text.encode(), size), ",")


# --- Arrow and Parquet


@pytest.mark.parametrize("streamed", [False, True])
def test_no_cut_or_damage_of_an_arrow_file_ends_the_process(streamed: bool, tmp_path: Path) -> None:
    table = people(200).append_column("kind", pa.array(["u", "v"] * 100).dictionary_encode())
    whole = tmp_path / "whole.arrow"
    with (pa.ipc.new_stream if streamed else pa.ipc.new_file)(whole, table.schema) as writer:
        writer.write_table(table, max_chunksize=90)
    content, rng, refusals = whole.read_bytes(), np.random.default_rng(0), []
    for k in range(150):
        data = bytearray(content)
        if k % 3 == 0:
            data = data[: int(rng.integers(8, len(data)))]
        else:
            for place in rng.integers(8, len(data), 1 + k % 5):
                data[place] = rng.integers(0, 256)
        path = tmp_path / "damaged.arrow"
        path.write_bytes(bytes(data))
        try:
            read(path).to_dataset()
        except ValueError as error:
            refusals.append(str(error))
    assert refusals
    assert all("damaged.arrow" in words for words in refusals)


def test_offsets_outside_of_an_arrow_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.feather"
    pa.feather.write_feather(pa.table({"t": ["abc", "def"]}), path, compression="uncompressed")
    right, wrong = struct.pack("<3i", 0, 3, 6), struct.pack("<3i", 0, 2**30, 6)
    assert right in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(right, wrong))
    with pytest.raises(ValueError, match=f"{path} cannot be read as Arrow: it is truncated or damaged"):
        read(path)


@pytest.mark.parametrize("folder", [False, True])
def test_damaged_parquet_pages_with_checksums_are_refused(folder: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    numbers = pa.table({"a": np.arange(5000.0)})
    pa.parquet.write_table(numbers, path, compression="none", use_dictionary=False, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[20_000] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"cannot be read as .*damaged"):
        read(tmp_path if folder else path)


# --- NPY and NPZ


def _npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def _described(shape: str) -> str:
    return f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"


@pytest.mark.parametrize("extra", [1, 8, 800])
def test_an_npy_with_more_bytes_than_its_header_says_is_refused(extra: int, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((10, 2)))
    path.write_bytes(path.read_bytes() + b"\0" * extra)
    with pytest.raises(
        ValueError, match=f"{path} is damaged.* {288 + extra} bytes where its header promises 288"
    ):
        read(path)


@pytest.mark.parametrize("shape", ["(-1, 2)", "(2, -1)", "(-3, -4)", "(True, 2)", "(10, 100000000000)"])
@pytest.mark.parametrize("packed", [False, True])
def test_impossible_shapes_are_refused_before_memory_is_taken(
    shape: str, packed: bool, tmp_path: Path
) -> None:
    path = tmp_path / ("x.npz" if packed else "x.npy")
    content = _npy(_described(shape), bytes(80))
    if packed:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.npy", content)
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path}.*(damaged|truncated)"):
        read(path)


def test_an_archive_that_claims_its_array_is_huge_is_refused(tmp_path: Path) -> None:
    content = _npy(_described("(10, 100000000000)"), bytes(80))
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", content)
        archive.filelist[0].file_size = 128 + 8 * 10**12  # as the list of entries will say
    with pytest.raises(ValueError, match=f"{path}.*(damaged|truncated)"):
        read(path)


def test_an_encrypted_archive_is_refused_as_such(tmp_path: Path) -> None:
    held = io.BytesIO()
    np.savez(held, a=np.zeros((3, 2)))
    data = bytearray(held.getvalue())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path = tmp_path / "x.npz"
    path.write_bytes(bytes(data))
    with pytest.raises(
        ValueError, match=f"{path} is encrypted, or damaged; save its arrays without a password"
    ):
        read(path)


# --- JSON lines


def test_lines_that_share_no_keys_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps({f"key {k}": k}) + "\n" for k in range(20_000)))
    with pytest.raises(ValueError, match=f"{path} has .* different keys in .* lines"):
        read(path)


def test_many_keys_that_all_lines_share_are_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text((json.dumps({f"key {k}": k for k in range(2000)}) + "\n") * 3)
    assert read(path).data.shape == (3, 2000)


@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_deep_nesting_is_refused(brackets: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    inside = ("[" * 10_000 + "]" * 10_000) if brackets == "[]" else ('{"a":' * 10_000 + "1" + "}" * 10_000)
    path.write_text(f'{{"a": 1}}\n{{"a": {inside}}}\n')
    with pytest.raises(ValueError, match=f"{path} nests values more than 100 deep in line 2"):
        read(path)


def test_brackets_within_text_are_text(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text((json.dumps({"a": '[{"' * 400, "b": [[1] * 3] * 200}) + "\n") * 2)
    assert read(path).rows == 2


# --- images


def test_a_decompression_bomb_among_later_images_is_named(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    image.new("L", (4, 4)).save(tmp_path / "0.png")
    image.new("1", (20_000, 20_000)).save(tmp_path / "1.png")
    with pytest.raises(ValueError, match=r"1\.png cannot be read as an image: Image size"):
        read(tmp_path)
