"""Copies of what is elsewhere: complete, and no larger than the disk can hold.

What an address tells about its size is compared with the limit and with the room on the disk before anything
is fetched, and what comes is counted. A copy that is not complete is refused: its rows would be missing.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from nammd.errors.addresses import driver_words, ending_of, shown, user_of
from nammd.errors.limits import require_download
from nammd.reading.formats import ENDINGS, optional

_AT_ONCE = 1 << 20
_PATIENCE = 60.0
"""Seconds without a byte after which a server on the web is given up."""


class _Refused(Exception):
    """Something that is said about a copy in nammd's own words."""


def fetched(address: str, folder: Path) -> Path:
    """Copy what is at an address into a folder."""
    # An ending that tells the format is all that the name of the copy has from the address.
    target = folder / f"data{ending_of(address, ENDINGS)}"
    name = shown(address)
    try:
        if address.startswith(("http://", "https://")):
            _download(address, target, name)
        else:
            _copy(address, target, name)
        return target
    except _Refused as error:
        refused: Exception = error.args[0]
    except Exception as error:
        refused = _about(error, address)
    raise refused  # here, where no error of the driver hangs on to it


def kept(source: Any, target: Path, name: str, size: int | None = None, before: int = 0) -> int:
    """Write what a source gives into a file, as much as may be fetched, and return how much it was.

    Parameters
    ----------
    source : file
        What is read from.
    target : Path
        The file, which is new.
    name : str
        What a refusal calls the source.
    size : int, optional
        How many bytes it should have, where that is known.
    before : int, optional
        Bytes that were fetched before of the same place.
    """
    found, told = 0, target.parent
    _require(before + (size or 0), told, name)
    with target.open("wb") as file:
        while piece := source.read(_AT_ONCE):
            found += len(piece)
            _require(before + found, told, name, len(piece))
            file.write(piece)
    if size is not None and found != size:
        raise _Refused(ValueError(f"{name} is not complete: {found} bytes came of {size}; try again"))
    return found


def _require(total: int, folder: Path, name: str, missing: int | None = None) -> None:
    """Refuse so many bytes in all, of which some are not on the disk yet."""
    try:
        require_download(total, name)
    except ValueError as error:
        raise _Refused(error) from None
    room = shutil.disk_usage(folder).free
    if (total if missing is None else missing) > room:
        raise _Refused(
            OSError(
                f"{name} does not fit into {folder.parent}, which has room for {room / 1e9:.3g} GB; let the "
                "variable TMPDIR name a folder with more"
            )
        )


def _download(address: str, target: Path, name: str) -> None:
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
    with build_opener(HTTPBasicAuthHandler(known)).open(address, timeout=_PATIENCE) as answer:
        length = answer.headers.get("content-length", "")
        kept(answer, target, name, int(length) if length.isdecimal() else None)


def _copy(address: str, target: Path, name: str) -> None:
    core = optional("fsspec.core", "remote", "reading from addresses")
    system, path = core.url_to_fs(address)
    if not system.isdir(path):
        with system.open(path, "rb") as source:
            kept(source, target, name, _size(system.info(path)))
        return
    found = system.find(path, detail=True)
    _require(sum(_size(info) or 0 for info in found.values()), target.parent, name)
    begin, total = str(path).strip("/"), 0
    for place, info in found.items():
        inner = str(place).strip("/").removeprefix(begin).lstrip("/")
        copy = Path(os.path.normpath(target / inner))
        if not copy.is_relative_to(target) or copy == target:
            raise _Refused(ValueError(f"{name} has a file whose name leads out of its folder; do not use it"))
        copy.parent.mkdir(parents=True, exist_ok=True)
        with system.open(place, "rb") as source:
            total += kept(source, copy, name, _size(info), total)


def _size(info: Any) -> int | None:
    size = info.get("size")
    return size if isinstance(size, int) and size >= 0 else None


def _about(error: Exception, address: str) -> Exception:
    """Return what to say about an address that cannot be read."""
    from urllib.error import HTTPError, URLError

    name, words = shown(address), driver_words(error, address)
    if isinstance(error, HTTPError):
        return FileNotFoundError(f"{name} cannot be read: {words.removeprefix('HTTP Error ')}")
    if isinstance(error, URLError | TimeoutError):
        return ConnectionError(f"{name} cannot be reached: {words}")
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(f"there is nothing at {name}")
    if isinstance(error, ImportError):
        return ImportError(f"{name} cannot be read: {words}")
    advice = "; give a path, or an address that fsspec knows" if isinstance(error, ValueError) else ""
    return ValueError(f"{name} cannot be read: {words}{advice}")
