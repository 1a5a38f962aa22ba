"""Where data may be besides local files: standard input, addresses on the web, buckets.

What is there is copied into a temporary folder, which is removed once it has been read; the readers only ever
see files. Messages name the place, without the password that an address may have.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from nammd.errors.addresses import STDIN, driver_words, ending_of, is_address, local_path, shown, user_of
from nammd.reading.formats import COMPRESSIONS, ENDINGS, open_text, optional, suffix_of

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
        yield _from_stdin(Path(folder)) if place == STDIN else _fetched(str(place), Path(folder))


def _from_stdin(folder: Path) -> Path:
    path = folder / "standard input"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
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


def _fetched(address: str, folder: Path) -> Path:
    """Copy what is at an address into a folder."""
    # An ending that tells the format is all that the name of the copy has from the address.
    target = folder / f"data{ending_of(address, ENDINGS)}"
    try:
        if address.startswith(("http://", "https://")):
            _download(address, target)
        else:
            _copy(address, target)
        return target
    except Exception as error:
        refused = _refused(error, address)
    raise refused  # here, where no error of the driver hangs on to it


def _download(address: str, target: Path) -> None:
    from urllib.request import (  # takes as long to import as all of this room
        HTTPBasicAuthHandler,
        HTTPPasswordMgrWithDefaultRealm,
        build_opener,
    )

    known = HTTPPasswordMgrWithDefaultRealm()
    account = user_of(address)
    if account is not None:
        # Sent to the host that asks for it, and not to where that host leads.
        user, password, address = account
        known.add_password(None, address, user, password)
    with build_opener(HTTPBasicAuthHandler(known)).open(address) as answer, target.open("wb") as file:
        shutil.copyfileobj(answer, file)


def _copy(address: str, target: Path) -> None:
    core = optional("fsspec.core", "remote", "reading from addresses")
    system, path = core.url_to_fs(address)
    if system.isdir(path):
        system.get(path.rstrip("/") + "/", str(target) + "/", recursive=True)
    else:
        system.get_file(path, str(target))


def _refused(error: Exception, address: str) -> Exception:
    """Return what to say about an address that cannot be read."""
    from urllib.error import HTTPError, URLError

    name, words = shown(address), driver_words(error, address)
    if isinstance(error, HTTPError):
        return FileNotFoundError(f"{name} cannot be read: {words.removeprefix('HTTP Error ')}")
    if isinstance(error, URLError):
        return ConnectionError(f"{name} cannot be reached: {words}")
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(f"there is nothing at {name}")
    if isinstance(error, ImportError):
        return ImportError(f"{name} cannot be read: {words}")
    advice = "; give a path, or an address that fsspec knows" if isinstance(error, ValueError) else ""
    return ValueError(f"{name} cannot be read: {words}{advice}")
