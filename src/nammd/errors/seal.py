"""The digest that every file of nammd's own carries, so that no changed byte goes unnoticed.

A file has room for a digest: a mark and 64 digits. It is the SHA-256 of all other bytes, those of the mark
included, with zeros in place of the digits. So whatever the format is, and whatever part of it is damaged or
edited, the digits do not match any more. With a key (`seal_key`) the mark is another one, and the digest is
an HMAC.
"""

from __future__ import annotations

import hmac
from typing import Any

from nammd.errors.seal_key import fingerprint, require_key, wrong_key

MARK = "nammd-sha256:"
ROOM = MARK + "0" * 64
"""What a writer puts where the digest shall stand; once, and after any text that it does not write itself."""

_MARK, _KEYED, _DIGITS = MARK.encode(), b"nammd-hmac-1:", 64
"""Both marks are as long: formats count the bytes of what they hold."""


def sealed(content: bytes, key: bytes | None = None) -> bytes:
    """Return the content of a file with its digest; with a key, one that nobody else can make.

    Examples
    --------
    >>> from nammd.errors.seal import ROOM, require_seal, sealed
    >>> content = sealed(f"epsilon 0.02, {ROOM}".encode())
    >>> content[:36]
    b'epsilon 0.02, nammd-sha256:44368a241'
    >>> require_seal(content, "the file t.txt")
    >>> try:
    ...     require_seal(content.replace(b"0.02", b"0.20"), "t.txt", "write it again")
    ... except ValueError as error:
    ...     print(error)
    t.txt was changed or damaged after nammd wrote it: its checksum does not match; write it again
    """
    place = content.rindex(ROOM.encode())
    if key is not None:
        content = content[:place] + _KEYED + content[place + len(_KEYED) :]
    place += len(_MARK)
    return content[:place] + _digest(content, place, key) + content[place + _DIGITS :]


def require_seal(
    content: bytes, what: str, advice: str = "restore or make it again", key: bytes | None = None
) -> None:
    """Refuse the content of a file that is not, byte for byte, what was sealed.

    Parameters
    ----------
    content : bytes
        All of the file.
    what : str
        The file, for the message.
    advice : str
        What to do about it.
    key : bytes, optional
        The key that it must be sealed with; without one it must be sealed without.
    """
    plain, keyed = content.rfind(_MARK), content.rfind(_KEYED)
    place = max(plain, keyed) + len(_MARK)
    if place < len(_MARK):
        raise ValueError(
            f"{what} has no checksum: it is damaged, or was made by an earlier version of nammd; {advice}"
        )
    require_key(keyed > plain, key, what)
    if not hmac.compare_digest(content[place : place + _DIGITS], _digest(content, place, key)):
        if key is not None:
            raise wrong_key(what)
        raise ValueError(
            f"{what} was changed or damaged after nammd wrote it: its checksum does not match; {advice}"
        )


def require_version(version: Any, known: int, what: str, again: str, oldest: int = 1) -> None:
    """Refuse a version of a format that does not exist, does not exist yet, or is not read any more."""
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ValueError(f"{what} is damaged: its version is {repr(version)[:30]}")
    if version > known:
        raise ValueError(
            f"{what} was written by a newer nammd (file version {version}, this one reads {known}); upgrade "
            "nammd to use it"
        )
    if version < oldest:
        raise ValueError(f"{what} was made by an earlier version: {again}")


def _digest(content: bytes, place: int, key: bytes | None) -> bytes:
    return fingerprint(key, content[:place], b"0" * _DIGITS, content[place + _DIGITS :]).encode()
