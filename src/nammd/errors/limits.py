"""How much a file may unpack to, and how much is fetched: memory and disks must not be filled by others.

What unpacks to 64 times its size is usual. What unpacks to more may take half a gigabyte, and a copy of what
is elsewhere 16, unless somebody says that it may be more.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any

from nammd.errors.advice import Advice, refusal

USUAL = 64
"""So many times its size a file may always unpack to."""

TEXT = 8
"""A letter may become a number, which takes so many times its memory."""

_GB = 1 << 30


class _Limit:
    """A number of gigabytes: as it was given, else by a variable, else the usual one."""

    def __init__(self, name: str, usual: float) -> None:
        self.name, self.usual = name, usual
        self.given: ContextVar[float | None] = ContextVar(name, default=None)

    def set(self, gigabytes: float | None, name: str) -> Token[float | None]:
        return self.given.set(None if gigabytes is None else _checked(gigabytes, name))

    def bytes(self) -> int:
        given, variable = self.given.get(), f"NAMMD_{self.name.upper()}"
        if given is None and os.environ.get(variable):
            given = _checked(os.environ[variable], variable)
        return int((self.usual if given is None else given) * _GB)


_UNPACK, _DOWNLOAD = _Limit("unpack_limit", 0.5), _Limit("download_limit", 16.0)


@contextmanager
def unpack_limit(gigabytes: float) -> Iterator[None]:
    """Let small files unpack to more than half a gigabyte.

    Parameters
    ----------
    gigabytes : float
        How much a file, or a folder of images, may unpack to where that is more than 64 times its size. An
        eighth of it for text, which takes more memory as numbers. For each gigabyte an image may have 2**25
        pixels.

    Examples
    --------
    >>> import nammd
    >>> from nammd.tables import unpack_limit
    >>> with unpack_limit(4):
    ...     pass  # nammd.distance("scans-may/", "scans-june/")
    """
    token = _UNPACK.set(gigabytes, "unpack_limit")
    try:
        yield
    finally:
        _UNPACK.given.reset(token)


@contextmanager
def download_limit(gigabytes: float) -> Iterator[None]:
    """Let more than 16 gigabytes be fetched from an address, or read from standard input, or less.

    Parameters
    ----------
    gigabytes : float
        How much may be copied from one place into a temporary folder. A folder counts as one.

    Examples
    --------
    >>> import nammd
    >>> from nammd.tables import download_limit
    >>> with download_limit(100):
    ...     pass  # nammd.distance("s3://shop/2025/", "s3://shop/2026/")
    """
    token = _DOWNLOAD.set(gigabytes, "download_limit")
    try:
        yield
    finally:
        _DOWNLOAD.given.reset(token)


def set_unpack_limit(gigabytes: float | None) -> float | None:
    """Set the limit from here on, as an option of the command line does; None for the usual one."""
    _UNPACK.set(gigabytes, "--unpack-limit")
    return gigabytes


def set_download_limit(gigabytes: float | None) -> float | None:
    """Set the limit from here on, as an option of the command line does; None for the usual one."""
    _DOWNLOAD.set(gigabytes, "--download-limit")
    return gigabytes


def require_download(size: int, name: str) -> None:
    """Refuse to fetch so many bytes from a place."""
    most = _DOWNLOAD.bytes()
    if size > most:
        raise refusal(
            ValueError,
            f"{name} has {_size(size)} or more, and {_size(most)} are fetched of one place",
            Advice(
                "if that is meant, read it within nammd.tables.download_limit(GIGABYTES)",
                "if that is meant, give --download-limit GIGABYTES",
            ),
        )


def allowed(packed: int, text: bool = False) -> int:
    """Return how many bytes a file may unpack to, by how many it has.

    >>> allowed(1000), allowed(1000, text=True), allowed(10**8)
    (536870912, 67108864, 6400000000)
    """
    return max(_UNPACK.bytes() // (TEXT if text else 1), USUAL * packed)


def most_pixels() -> int:
    """Return how many pixels an image may have: each takes up to 32 bytes while it is worked on."""
    return _UNPACK.bytes() // 32


def require_unpacked(claimed: int, packed: int, name: str, text: bool = False) -> None:
    """Refuse what would unpack to far more than it is, before it does."""
    if claimed > allowed(packed, text):
        raise too_large(f"{name} has {_size(packed)} and would unpack to {_size(claimed)} or more")


def too_large(problem: str) -> Exception:
    """Return the error about something that would take too much memory."""
    return refusal(
        ValueError,
        f"{problem}, which could take all memory",
        Advice(
            "if that is meant, read it within nammd.tables.unpack_limit(GIGABYTES)",
            "if that is meant, give --unpack-limit GIGABYTES",
        ),
    )


class Bounded:
    """A packed file that ends in an error where it unpacks to more than it may."""

    def __init__(self, file: Any, packed: int, name: str) -> None:
        self._file, self._packed, self._name = file, packed, name
        self._most, self._read = allowed(packed, text=True), 0

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, fewer only at the end."""
        if size < 0:
            size = self._most - self._read + 1
        found: bytes = self._file.read(size)
        self._read += len(found)
        if self._read > self._most:
            require_unpacked(self._read, self._packed, self._name, text=True)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> Bounded:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def _checked(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (0 < number < 1e6):
        raise ValueError(f"{name} must be a number of gigabytes, such as 4, not {value!r}")
    return number


def _size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
