"""What is shown of an address: what is known to be safe, and nothing else.

An address may hold a password: before an @, in a query, inside another address. So nothing is taken out of
it. It is put together anew from the parts that are certain: the scheme, the host, and names of a path. Where
it cannot be taken apart with certainty, the scheme is all that is shown.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, unquote_plus

STDIN = "-"
HIDDEN = "***"

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]+"
_ADDRESS = re.compile(rf"{_SCHEME}(::[a-z0-9]+)*://", re.ASCII)
_COLLAPSED = re.compile(rf"{_SCHEME}(::[a-z0-9]+)*:/(?!/)", re.ASCII)  # a Path has no two slashes in a row
_IN_TEXT = re.compile(rf"{_SCHEME}:(?:/{{1,2}}|[^\s'\"]*://)[^\s'\"]*", re.ASCII)
_DELIMITERS = re.compile(r"::(?![^\[\]]*\])")  # between the links of a chain, not in [::1]
_HOST = re.compile(r"(?:\w[\w.-]*|\[[0-9A-Fa-f:.]+\])?(?::\d{1,5})?", re.ASCII)
_NAME = re.compile(r"[\w.~+,()* -]*|[A-Za-z]:|[\w.-]+=\d{1,4}(?:-\d\d?){0,2}")
"""A name in a path: plain words, a drive, or a part of a date such as year=2026."""

_ENDS_HOST = re.compile(r"[/?#\\]")
_LIKE_CREDENTIALS = re.compile(r"://|:.*@|;.*=|=.*;", re.DOTALL)
_WRAPPERS = ("simplecache", "filecache", "blockcache", "cached", "dir", "zip", "tar", "libarchive")
"""What stands before another address without one of its own."""

_SHORT = 6
"""Fewer letters in a row than this are in many words by chance."""


def is_address(place: Any) -> bool:
    """Tell whether something is the address of data, such as https://..., s3://... or sqlite:///...

    A file of that name goes first.
    """
    return isinstance(place, str) and _ADDRESS.match(place) is not None and not _exists(place)


def local_path(place: str | os.PathLike[str]) -> Path:
    """Return a path with ~ for the home of a user, unless there is a file of that very name."""
    path = place if isinstance(place, Path) else Path(place)
    if os.path.lexists(path) or not path.parts or not path.parts[0].startswith("~"):
        return path
    return Path(os.path.expanduser(path))  # a user that is not known stays as it is


def shown(place: str | os.PathLike[str]) -> str:
    """Return what messages, files and pages call a place: of an address, what is known to be safe.

    Parameters
    ----------
    place : str or path
        A file, ``"-"`` for standard input, or an address.

    Returns
    -------
    str
        Of an address: scheme, host, and those parts of the path that are plain names. No user, no password,
        no query. Where the parts are not certain, the scheme.

    Examples
    --------
    >>> from nammd.errors.addresses import shown
    >>> shown("postgresql://me:secret@db:5432/shop?sslkey=k")
    'postgresql://db:5432/shop'
    >>> shown("simplecache::https://me:secret@host/day/x.csv")
    'simplecache::https://host/day/x.csv'
    >>> shown("postgresql://me:s/ecret@db/shop")  # who knows where the password ends?
    'postgresql://***'
    """
    text = os.fspath(place)
    if text == STDIN and isinstance(place, str):
        return "standard input"
    if _COLLAPSED.match(text):
        text = re.sub(":/(?!/)", "://", text)
    if _ADDRESS.match(text) and not _exists(os.fspath(place)):
        return _parts(text).shown
    if _LIKE_CREDENTIALS.search(text) and not _exists(os.fspath(place)):
        return HIDDEN
    return str(Path(place))


def shown_host(address: str) -> str:
    """Return what is shown of an address whose path is a secret too, as that of a webhook often is.

    >>> shown_host("https://me:secret@hooks.example.org/services/T0/B0/x1y2")
    'https://hooks.example.org'
    >>> shown_host("https://me:s/ecret@hooks.example.org")
    'https://***'
    """
    return "/".join(_parts(address).shown.split("/")[:3])


def not_there(place: str | os.PathLike[str]) -> FileNotFoundError:
    """Return the error about a place where nothing is."""
    name = shown(place)
    if name == HIDDEN:
        return FileNotFoundError(
            "what was given is no file, and looks like an address with a password, which is not shown; "
            "addresses begin with what they are, such as postgresql:// or https://"
        )
    return FileNotFoundError(f"there is no file or folder {name!r}")


def driver_words(error: BaseException, address: str) -> str:
    """Return the first line of what a driver says, unless it repeats anything that is hidden of an address.

    >>> from nammd.errors.addresses import driver_words
    >>> driver_words(ValueError("no such table: orders"), "postgresql://me:secret@db/shop")
    'no such table: orders'
    >>> driver_words(ValueError("'secret' is no port"), "postgresql://me:secret@db/shop")
    'ValueError, whose words repeat a part of the address that is not shown'
    """
    words = str(error)
    if repeats(words, address):
        return f"{type(error).__name__}, whose words repeat a part of the address that is not shown"
    return (words.strip().splitlines() or [type(error).__name__])[0][:300]


def repeats(words: str, address: str) -> bool:
    """Tell whether a text has anything that is hidden of an address: all of it, a part, or another form."""
    parts = _parts(address)
    text = words.replace(parts.shown, " ").casefold()
    found = set(re.findall(r"\w+", text))
    plain = _letters(text)
    for form in _forms(parts.hidden):
        letters = _letters(form)
        if any(letters[k : k + _SHORT] in plain for k in range(len(letters) - _SHORT + 1)):
            return True
        if any(form[k : k + _SHORT] in text for k in range(len(form) - _SHORT + 1)):
            return True
        if any(1 < len(word) < _SHORT and word in found for word in re.findall(r"\w+", form)):
            return True
    return False


def without_addresses(text: str, given: tuple[str, ...] = ()) -> str:
    """Return a text in which every address is as it is shown; `given` are those that may stand in it.

    >>> without_addresses("cannot open postgresql://me:secret@db/shop")
    'cannot open postgresql://db/shop'
    """
    for address in sorted(given, key=len, reverse=True):
        for form in {address, str(Path(address)), repr(address)[1:-1], " ".join(address.split())}:
            text = text.replace(form, shown(address))
    return _IN_TEXT.sub(lambda found: _shown_in_text(found.group()), text)


def ending_of(address: str, known: Collection[str]) -> str:
    """Return by which of the known endings an address tells what is there; empty if by none.

    >>> ending_of("zip://day.csv.gz::https://me:secret@host/x.zip", {".csv", ".gz"})
    '.csv.gz'
    """
    link = next((link for link in _DELIMITERS.split(address) if "://" in link), address)
    for text in (link.rpartition("@")[2], link):  # an @ may also stand in the query
        name = Path(re.split("[?#;]", text)[0].rstrip("/"))
        endings = [ending.lower() for ending in name.suffixes[-2:]]
        if endings and endings[-1] in known:
            return "".join(ending for ending in endings if ending in known)
    return ""


def user_of(address: str) -> tuple[str, str, str] | None:
    """Return the user and the password of an address on the web, and the address without; None without."""
    scheme, _, rest = address.partition("://")
    user, at, host = rest.rpartition("@")
    if not at or _ENDS_HOST.search(user):
        return None
    name, _, password = user.partition(":")
    return unquote(name), unquote(password), f"{scheme}://{host}"


@dataclass(frozen=True)
class _Parts:
    """An address taken apart."""

    shown: str
    hidden: tuple[str, ...]


def _parts(address: str) -> _Parts:
    links = _DELIMITERS.split(address)
    found = [_link(link) for link in links]
    if any(each is None for each in found):
        first = links[0].partition("://")[0]
        if first in _WRAPPERS or ("://" in links[0] and re.fullmatch(_SCHEME, first, re.ASCII)):
            return _Parts(f"{first}://{HIDDEN}", (address[len(first) :],))
        return _Parts(HIDDEN, (address,))
    sure = [each for each in found if each is not None]
    return _Parts(
        "::".join(each.shown for each in sure),
        tuple(part for each in sure for part in each.hidden),
    )


def _link(link: str) -> _Parts | None:
    """Take one address of a chain apart; None where that is not certain."""
    scheme, separator, rest = link.partition("://")
    if not separator:
        return _Parts(link, ()) if link in _WRAPPERS else None
    if not re.fullmatch(_SCHEME, scheme, re.ASCII):
        return None
    user, _, rest = rest.rpartition("@")
    if _ENDS_HOST.search(user):  # an @ in the path or the query, or a password with such a letter
        return None
    end = min((rest.index(mark) for mark in "?#;" if mark in rest), default=len(rest))
    host, slash, path = rest[:end].partition("/")
    if not _HOST.fullmatch(host):
        return None
    names = [(name, _NAME.fullmatch(unquote(name)) is not None) for name in path.split("/")]
    safe = "/".join(name if known else HIDDEN for name, known in names)
    hidden = (user, rest[end:], *(name for name, known in names if not known))
    return _Parts(f"{scheme}://{host}{slash}{safe}", tuple(part for part in hidden if part))


def _forms(hidden: tuple[str, ...]) -> set[str]:
    """Return what a driver may make of something: decoded, encoded, or as the header of a request."""
    forms: set[str] = set()
    for part in hidden:
        plain = {part, unquote(part), unquote_plus(part), unquote(unquote(part))}
        coded = {quote(text, safe="") for text in plain} | {repr(text)[1:-1] for text in plain}
        headers = {base64.b64encode(text.encode(errors="replace")).decode().rstrip("=") for text in plain}
        forms |= plain | coded | headers
    return {form.casefold() for form in forms}


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _shown_in_text(found: str) -> str:
    words = found.rstrip(".,;:)")
    return shown(words) + found[len(words) :]


def _exists(place: str) -> bool:
    try:
        return os.path.lexists(os.path.expanduser(place))
    except ValueError:  # a name that no file can have
        return False
