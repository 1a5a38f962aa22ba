"""Digests of numbers: the same for the same rows in the same order, wherever they are."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.threads import each_in_threads

DIGEST_ROWS = 65_536
"""Of more rows it is a digest of the digests of so many at a time, which workers can make side by side."""

_HASHED_ROWS = 4_096


def digest_of_array(array: NDArray[Any]) -> str:
    """Return a digest of a NumPy array: its shape and its numbers, of whatever type they are."""
    whole, first = heads(array.shape)
    parts = [array[k : k + DIGEST_ROWS] for k in range(0, array.shape[0], DIGEST_ROWS)]
    # Hashing takes as long as it takes to look at ten times the values.
    found = each_in_threads(digest_of_rows, parts, repeat(first, len(parts)), values=10 * array.size)
    return digest_of_digests(whole, found)


def heads(shape: Sequence[int]) -> tuple[bytes, bytes]:
    """Return what the digest of a whole array begins with, and that of its rows."""
    whole = repr(tuple(map(int, shape))).encode()
    return whole, whole if shape[0] <= DIGEST_ROWS else b""


def digest_of_rows(rows: NDArray[Any], first: bytes) -> bytes:
    """Return the digest of some rows."""
    content = hashlib.sha256(first)
    for start in range(0, len(rows), _HASHED_ROWS):  # rows of another type, or not in one piece, are copied
        content.update(np.ascontiguousarray(rows[start : start + _HASHED_ROWS], dtype="<f8").data)
    return content.digest()


def digest_of_digests(whole: bytes, parts: Sequence[bytes]) -> str:
    """Return the digest of an array from those of its rows."""
    return (hashlib.sha256(whole + b"".join(parts)).digest() if len(parts) > 1 else parts[0]).hex()
