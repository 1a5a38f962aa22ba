"""NPY and NPZ files, without ever unpickling anything.

The header is read first, so that everything that can be wrong with a file is known before its data is.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from nammd.errors.advice import Advice, refusal
from nammd.errors.limits import require_unpacked
from nammd.errors.naming import listed
from nammd.reading.formats import require_magic
from nammd.reading.sources import BATCH_ROWS, ArrayFile

_BATCH_BYTES = 1 << 23
_MOST_COLUMNS = 1_000_000

_MOST_PACKED = 1100
"""So many bytes at most come from one that is packed: deflate cannot do better."""


@dataclass(frozen=True)
class _Header:
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    offset: int

    @property
    def bytes(self) -> int:
        return self.offset + math.prod(self.shape) * self.dtype.itemsize

    @property
    def row_values(self) -> int:
        return math.prod(self.shape[1:])

    def batches(self, batch_rows: int) -> Iterator[tuple[int, int]]:
        """Yield where batches start and end; wide rows come in smaller batches."""
        row_bytes = self.row_values * self.dtype.itemsize
        step = min(batch_rows, max(1, _BATCH_BYTES // row_bytes))
        for start in range(0, self.shape[0], step):
            yield start, min(start + step, self.shape[0])


def open_npy(path: Path) -> ArrayFile:
    """Open an NPY file; rows are read from a memory map."""
    require_magic(path, "NPY")
    with path.open("rb") as file:
        header = _header(file, str(path))
    size = path.stat().st_size
    if size != header.bytes:
        what = "is truncated" if size < header.bytes else "is damaged, or more than one array"
        raise ValueError(f"{path} {what}: it has {size} bytes where its header promises {header.bytes}")

    def rows() -> NDArray[Any]:
        mapped = np.memmap(
            path,
            header.dtype,
            mode="r",
            offset=header.offset,
            shape=header.shape,
            order="F" if header.fortran else "C",
        )
        return np.asarray(mapped)

    def take(positions: NDArray[np.intp]) -> NDArray[Any]:
        return _flat(rows()[positions])

    def stream(batch_rows: int) -> Iterator[NDArray[Any]]:
        mapped = rows()
        for start, end in header.batches(batch_rows):
            yield _flat(np.array(mapped[start:end]))

    return ArrayFile(path, header.shape[0], _names(header, str(path)), take, stream, _notes(header))


def open_npz(path: Path, key: str | None) -> ArrayFile:
    """Open one array of an NPZ file; rows are unpacked as they are needed."""
    require_magic(path, "NPZ")
    with _archive(path) as archive:
        members = [name for name in archive.namelist() if name.endswith(".npy")]
        member = _member(path, [name.removesuffix(".npy") for name in members], key) + ".npy"
        owner = f"{path} [{member.removesuffix('.npy')!r}]"
        with archive.open(member) as file:
            header = _header(file, owner)
        _require_size(archive.getinfo(member), header, owner)

    def stream(batch_rows: int) -> Iterator[NDArray[Any]]:
        with _archive(path) as archive, archive.open(member) as file:
            _header(file, owner)
            if header.fortran:  # the columns lie one after the other, so there are no rows to stream
                values = np.frombuffer(_exactly(file, header.bytes - header.offset, owner), header.dtype)
                whole = values.reshape(header.shape, order="F")
                for start, end in header.batches(batch_rows):
                    yield _flat(np.array(whole[start:end]))
                return
            row_bytes = header.row_values * header.dtype.itemsize
            for start, end in header.batches(batch_rows):
                values = np.frombuffer(_exactly(file, (end - start) * row_bytes, owner), header.dtype)
                yield values.reshape(end - start, header.row_values)

    def take(positions: NDArray[np.intp]) -> NDArray[Any]:
        parts, start = [], 0
        for batch in stream(BATCH_ROWS):
            low, high = np.searchsorted(positions, [start, start + len(batch)])
            parts.append(batch[positions[low:high] - start])
            start += len(batch)
        return np.concatenate(parts)

    return ArrayFile(path, header.shape[0], _names(header, owner), take, stream, _notes(header))


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive; whatever a damaged one makes of itself is one sentence."""
    try:
        with zipfile.ZipFile(path) as archive:
            if any(entry.flag_bits & 1 for entry in archive.infolist()):
                raise ValueError(f"{path} is encrypted, or damaged; save its arrays without a password")
            yield archive
    # An unknown compression is a RuntimeError, and so is a password.
    except (zipfile.BadZipFile, RuntimeError, EOFError, OSError, zlib.error, struct.error, UnicodeError):
        raise ValueError(f"{path} cannot be read as NPZ: it is truncated or damaged") from None


def _require_size(entry: zipfile.ZipInfo, header: _Header, owner: str) -> None:
    """Refuse an array that promises more, or less, than there is, before any memory is taken for it."""
    if entry.file_size != header.bytes or entry.file_size > _MOST_PACKED * (entry.compress_size + 1024):
        raise ValueError(
            f"{owner} is truncated or damaged: its header promises {header.bytes} bytes, and the archive has "
            f"{entry.file_size} packed into {entry.compress_size}"
        )
    require_unpacked(entry.file_size, entry.compress_size, owner)


def _member(path: Path, keys: list[str], key: str | None) -> str:
    if not keys:
        raise ValueError(f"{path} is empty: it has no arrays")
    if key is None:
        if len(keys) > 1:
            raise refusal(
                ValueError,
                f"{path} has several arrays: {listed(keys, 10)}",
                Advice(
                    f"choose one, for example key={keys[0]!r}", f"choose one, for example --key {keys[0]}"
                ),
            )
        return keys[0]
    if key not in keys:
        raise ValueError(f"{path} has no array {key!r}; it has {listed(keys, 10)}")
    return key


def _header(file: BinaryIO | Any, owner: str) -> _Header:
    try:
        version = npy_format.read_magic(file)
        read = {
            (1, 0): npy_format.read_array_header_1_0,
            (2, 0): npy_format.read_array_header_2_0,
        }[version]
        shape, fortran, dtype = read(file)
    except Exception:  # the header is a Python literal, so damage shows as anything
        raise ValueError(f"{owner} has a damaged header, or is not an array of plain numbers") from None
    if dtype.hasobject:
        raise ValueError(
            f"{owner} holds pickled Python objects, which are never loaded; save it as an array of numbers"
        )
    if dtype.kind not in "fiub":
        raise ValueError(f"{owner} holds values of type {dtype}, not numbers; save it as an array of numbers")
    if not shape:
        raise ValueError(f"{owner} is a single number; give an array with one row per observation")
    if any(not isinstance(size, int) or isinstance(size, bool) or size < 0 for size in shape):
        raise ValueError(f"{owner} has a damaged header: its shape is {tuple(shape)}")
    if 0 in shape:
        raise ValueError(f"{owner} is empty: it has shape {tuple(shape)}")
    return _Header(tuple(shape), bool(fortran), dtype, file.tell())


def _exactly(file: Any, count: int, owner: str) -> bytes:
    try:
        data = file.read(count)
    except (zipfile.BadZipFile, zlib.error, EOFError):
        data = b""
    if len(data) < count:
        raise ValueError(f"{owner} is truncated or damaged: it ends before its last row")
    return data  # type: ignore[no-any-return]


def _flat(rows: NDArray[Any]) -> NDArray[Any]:
    return rows.reshape(len(rows), -1)


def _names(header: _Header, owner: str) -> tuple[str, ...]:
    if header.row_values > _MOST_COLUMNS:
        raise ValueError(
            f"{owner} has {header.row_values} columns; at most {_MOST_COLUMNS} are taken: give one row for "
            "each observation"
        )
    return tuple(map(str, range(header.row_values)))


def _notes(header: _Header) -> tuple[str, ...]:
    if len(header.shape) <= 2:
        return ()
    return (f"rows of shape {header.shape[1:]} are taken as {header.row_values} numbers each",)
