"""The key of a seal: who does not have it can neither make nor change what is sealed with it.

A seal without a key finds accidents and careless edits; whoever wants to deceive can seal anew. With a key
only files that are sealed with it are taken, and every file that is written is sealed with it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from nammd.errors.advice import Advice, refusal

VARIABLE = "NAMMD_SEAL_KEY"
SHORTEST = 16
"""Letters that a key has at least."""

_GIVEN: ContextVar[bytes | None] = ContextVar("seal key")


@contextmanager
def seal_key(key: str | bytes | None) -> Iterator[None]:
    """Seal what is written inside with a key, and take only what is sealed with it.

    It is about tolerances, sketches, deep kernels and monitors. Without it the key is that of the variable
    ``NAMMD_SEAL_KEY``, where that is set.

    Parameters
    ----------
    key : str, bytes or None
        The key, of at least 16 letters; None is no key, whatever the variable says.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import nammd
    >>> file = pathlib.Path(tempfile.mkdtemp(), "tolerance.json")
    >>> with nammd.seal_key("a secret of this team"):
    ...     nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2).save(file)
    ...     nammd.Tolerance.load(file).epsilon
    0.02
    >>> try:
    ...     nammd.Tolerance.load(file)
    ... except ValueError as error:
    ...     print("sealed with a key" in str(error))
    True
    """
    before = _GIVEN.set(None if key is None else checked_key(key, "the key of seals"))
    try:
        yield
    finally:
        _GIVEN.reset(before)


def current_key() -> bytes | None:
    """Return the key that holds now; None where there is none.

    A variable that is set and empty is refused: a secret that did not arrive must not mean that any file
    will do.
    """
    found = _GIVEN.get(os.fsencode(os.environ[VARIABLE]) if VARIABLE in os.environ else None)
    return None if found is None else checked_key(found, f"the key of seals in the variable {VARIABLE}")


def key_in_file(path: Path) -> bytes:
    """Return the key that a file holds, without white space around it."""
    return checked_key(path.read_bytes(), f"the key of seals in the file {path}")


def checked_key(key: str | bytes, what: str) -> bytes:
    """Return a key, without white space around it; refuse one that can be guessed."""
    if not isinstance(key, (str, bytes)):
        raise TypeError(f"{what} must be text or bytes, not {type(key).__name__}")
    found = (key.encode() if isinstance(key, str) else key).strip()
    if len(found) < SHORTEST:
        raise ValueError(f"{what} has fewer than {SHORTEST} letters; 'openssl rand -hex 32' makes a good one")
    return found


def fingerprint(key: bytes | None, *parts: bytes) -> str:
    """Return the digest of some bytes: SHA-256, or with a key, which stays secret, their HMAC."""
    found = hashlib.sha256() if key is None else hmac.new(key, digestmod="sha256")
    for part in parts:
        found.update(part)
    return found.hexdigest()


def require_key(keyed: bool, key: bytes | None, what: str) -> None:
    """Refuse a file with a key where none is needed, and one without where one is."""
    if keyed and key is None:
        raise refusal(
            ValueError,
            f"{what} is sealed with a key, and none was given",
            Advice(
                f"give it with nammd.seal_key(key), or in the variable {VARIABLE}",
                f"give its file with --seal-key FILE, or the key in the variable {VARIABLE}",
            ),
        )
    if key is not None and not keyed:
        raise ValueError(
            f"{what} is not sealed with a key, and one was given: anybody may have made or changed it; make "
            "it again with the key, or if you trust it, read it without"
        )


def wrong_key(what: str) -> ValueError:
    """Return the error about a seal that the key does not fit."""
    return ValueError(
        f"{what} was not sealed with the key that was given, or was changed since; give the key that it was "
        "made with, or make it again"
    )
