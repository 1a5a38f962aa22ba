"""Small files that claim, or unpack to, far more than they are; and a program that reads them and measures.

``python -m tests.reading.bombs FOLDER write`` writes them; ``read`` reads each, and prints what became of it
and the most memory that the process had taken by then, in GB.
"""

from __future__ import annotations

import gzip
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tests.reading import parquet_lies
from tests.reading.parquet_lies import Page

MANY = 40
"""So many times a block of 8 MiB is packed: 320 MiB."""

_BLOCK = 1 << 23
_PAGE = 3 << 28


def png(path: Path, width: int, height: int, pixels: int | None = None) -> None:
    """Write a gray image of one colour, whose pixels take next to nothing; or fewer of them than told."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    packer, rest, rows = zlib.compressobj(1), (width + 1) * height if pixels is None else pixels, b""
    while rest:
        rows += packer.compress(bytes(min(rest, _BLOCK)))
        rest -= min(rest, _BLOCK)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", rows + packer.flush()) + chunk(b"IEND", b"")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def tiff(path: Path, width: int, height: int) -> None:
    """Write the header of an image without its pixels."""
    tags = {256: width, 257: height, 258: 8, 259: 8, 262: 1, 273: 8, 277: 1, 278: height, 279: 64}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(
        b"II*\0" + struct.pack("<I", 72) + zlib.compress(bytes(4096)).ljust(64, b"\0")
        + struct.pack("<H", len(tags)) + entries + bytes(4)
    )  # fmt: skip


def gif(path: Path, frames: int) -> None:
    """Write a film of large frames."""
    from PIL import Image

    path.parent.mkdir(exist_ok=True)
    first = Image.new("P", (2000, 2000))
    first.save(path, save_all=True, append_images=[first] * (frames - 1), duration=list(range(frames)))


def npy(path: Path, rows: int) -> None:
    """Write a file whose header promises rows, and which is one hole."""
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": (rows, 10)}
        )
        file.truncate(file.tell() + rows * 80)


def npy_cut(path: Path) -> None:
    """Write a header alone."""
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 10)}
        )


def wide_npy(path: Path) -> None:
    """Write four rows of eight million columns."""
    np.save(path, np.zeros((4, 1 << 23), np.int8))


def npz(path: Path) -> None:
    """Write an archive with an array of zeros."""
    header = {"descr": "<f8", "fortran_order": False, "shape": (1 << 23, 9)}
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("x.npy", "w", force_zip64=True) as file,
    ):
        np.lib.format.write_array_header_1_0(file, header)
        for _ in range(9 * 8):
            file.write(bytes(_BLOCK))


def packed_text(path: Path, line: bytes, head: bytes = b"") -> None:
    """Write text that repeats one line, packed member by member."""
    whole = gzip.compress(line * (_BLOCK // len(line)))
    path.write_bytes(gzip.compress(head) + whole * MANY)


def workbook(path: Path) -> None:
    """Write a sheet of a few million cells."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    rows = b'<row><c t="n"><v>1</v></c><c t="n"><v>2</v></c></row>' * (3 << 19)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in content.items():
            end = b"</sheetData>"
            archive.writestr(name, data.replace(end, rows + end) if "sheet1" in name else data)


def row_groups(path: Path) -> None:
    """Write a file of many rows that are all the same."""
    table = pa.table({"a": np.ones(1 << 23, np.int8), "b": np.ones(1 << 23)})
    with parquet.ParquetWriter(path, table.schema) as writer:
        for _ in range(6):
            writer.write_table(table, row_group_size=1 << 23)


def nulls(path: Path) -> None:
    """Write a file of many missing values."""
    parquet.write_table(pa.table({"a": pa.nulls(9 << 24)}), path, row_group_size=9 << 24)


def long_words(path: Path) -> None:
    """Write a file in which one long word stands in every row."""
    word = pa.array(["x" * (1 << 18)])
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1 << 15, np.int32)), word)
    parquet.write_table(pa.table({"a": column}), path, compression="zstd", store_schema=False)


def page(path: Path) -> None:
    """Write a page that unpacks to far more than its footer says."""
    parquet_lies.write(path, [Page("data", _PAGE, parquet_lies.zeros(_PAGE))])


def dictionary(path: Path) -> None:
    """Write a dictionary of one word, and zeros behind it."""
    codes = Page("data", 3, parquet_lies.whole(b"\1\2\0"), parquet_lies.DICTIONARY_CODES)
    parquet_lies.write(path, [Page("dictionary", _PAGE, parquet_lies.zeros(_PAGE)), codes])


def words(path: Path, encoding: int) -> None:
    """Write a page of one word that claims as many lengths as a number can tell."""
    told = Page("data", 1024, parquet_lies.lengths(1 << 30), encoding)
    parquet_lies.write(path, [told], parquet_lies.BYTE_ARRAY)


def arrow(path: Path) -> None:
    """Write packed batches of zeros."""
    batch = pa.record_batch({"a": pa.array(np.zeros(1 << 22, np.float64))})
    with pa.OSFile(str(path), "wb") as file:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(file, batch.schema, options=options) as writer:
            for _ in range(20):
                writer.write_batch(batch)


def many(folder: Path) -> None:
    """Write a folder of images that are each within what one may have."""
    png(folder / "0.png", 3500, 3500)
    for k in range(1, 40):
        (folder / f"{k}.png").write_bytes((folder / "0.png").read_bytes())


BOMBS: dict[str, Callable[[Path], Any]] = {
    "png/x.png": lambda path: png(path, 6000, 6000),
    "png-claim/x.png": lambda path: png(path, 13000, 13000, 1000),
    "tiff/x.tiff": lambda path: tiff(path, 13000, 13000),
    "tiff-claim/x.tiff": lambda path: tiff(path, 2**31 - 1, 2**31 - 1),
    "gif/x.gif": lambda path: gif(path, 5),
    "many/": many,
    "claim.npy": npy_cut,
    "hole.npy": lambda path: npy(path, 1 << 27),
    "wide.npy": wide_npy,
    "x.npz": npz,
    "numbers.csv.gz": lambda path: packed_text(path, b"1,2\n", b"a,b\n"),
    "line.csv.gz": lambda path: packed_text(path, b"1", b"a,b\n"),
    "quote.csv.gz": lambda path: packed_text(path, b"aaa,", b'a,b\n"'),
    "x.jsonl.gz": lambda path: packed_text(path, b'{"a":1}\n'),
    "list.json.gz": lambda path: packed_text(path, b'{"a":1},', b"["),
    "x.xlsx": workbook,
    "rows.parquet": row_groups,
    "nulls.parquet": nulls,
    "words.parquet": long_words,
    "page.parquet": page,
    "dictionary.parquet": dictionary,
    "lengths.parquet": lambda path: words(path, parquet_lies.DELTA_LENGTH),
    "differences.parquet": lambda path: words(path, parquet_lies.DELTA_STRINGS),
    "columns.parquet": lambda path: parquet_lies.write_columns(path, 4, 900_000),
    "x.arrow": arrow,
}


def peak() -> float:
    """Return the most memory that this process has taken, in GB."""
    import resource

    status = Path("/proc/self/status")
    if status.exists():  # other counts begin with the memory of the process that started this one
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main(folder: Path, what: str) -> None:
    """Write them, or read them."""
    if what == "write":
        for name, write in BOMBS.items():
            path = folder / name
            (path if name.endswith("/") else path.parent).mkdir(exist_ok=True)
            write(path)
        return
    from nammd.tables import read

    for name in BOMBS:
        try:
            said = f"{read(folder / name.partition('/')[0]).rows} rows"
        except (ValueError, MemoryError) as error:
            said = f"{type(error).__name__}: {error}"
        print(f"{name}\t{peak():.2f}\t{said}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
