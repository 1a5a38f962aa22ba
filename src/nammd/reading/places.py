"""Where data may be besides local files: standard input, addresses on the web, buckets.

What is there is copied into a temporary folder, which is removed once it has been read; the readers only ever
see files. Messages name the place, without the password that an address may have.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from nammd.errors.addresses import STDIN, is_address, local_path
from nammd.reading.fetching import fetched, kept
from nammd.reading.formats import COMPRESSIONS, open_text, suffix_of

_SHEET = re.compile(r"(.+\.(?:xlsx|xlsm))#(.+)", re.IGNORECASE | re.DOTALL)
_DATABASES = (
    "sqlite", "duckdb", "postgresql", "postgres", "mysql", "mariadb", "mssql", "oracle", "snowflake",
    "redshift", "clickhouse", "trino", "bigquery", "databricks", "cockroachdb", "flightsql", "grpc",
)  # fmt: skip


def is_database(place: Any) -> bool:
    """Tell whether an address is that of a database."""
    return is_address(place) and place.partition(":")[0].partition("+")[0].lower() in _DATABASES


def is_elsewhere(place: Any) -> bool:
    """Tell whether data are not in a local file or folder."""
    return place == STDIN or is_address(place)


def split_sheet(place: str | os.PathLike[str]) -> tuple[str | os.PathLike[str], str | None]:
    """Return the place of a workbook, and which of its sheets is meant, if that is said behind a #.

    >>> split_sheet("shop.xlsx#May 2026")
    ('shop.xlsx', 'May 2026')
    >>> split_sheet("shop.csv")
    ('shop.csv', None)
    """
    found = _SHEET.fullmatch(os.fspath(place))
    elsewhere = is_elsewhere(place)
    if found is None or (not elsewhere and local_path(place).exists()):
        return place, None
    file = found[1] if isinstance(place, str) else Path(found[1])
    return file, unquote(found[2]) if elsewhere else found[2]


@contextmanager
def local(place: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a local file or folder with what is at a place, as long as it is needed."""
    if not is_elsewhere(place):
        yield local_path(place)
        return
    with tempfile.TemporaryDirectory(prefix="nammd-") as folder:
        yield _from_stdin(Path(folder)) if place == STDIN else fetched(str(place), Path(folder))


def _from_stdin(folder: Path) -> Path:
    path = folder / "standard input"
    kept(sys.stdin.buffer, path, "standard input")
    if not path.stat().st_size:
        raise ValueError("standard input is empty: it has no bytes at all")
    with path.open("rb") as file:
        suffix = suffix_of(file.read(16))
    if suffix == ".npz" and _is_workbook(path):
        suffix = ".xlsx"
    if suffix in COMPRESSIONS or not suffix:
        packed = path.with_name(f"x{suffix}")
        path.rename(packed)
        with open_text(packed) as file:
            head = file.read(1 << 12)
        path, suffix = packed, (suffix_of(head) or _text_suffix(head)) + suffix
    return path.rename(folder / f"standard-input{suffix}")


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


def _text_suffix(head: bytes) -> str:
    return ".jsonl" if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")) else ".csv"
