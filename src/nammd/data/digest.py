"""Digests of numbers: the same for the same rows in the same order, wherever they are."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DIGEST_ROWS = 65_536
"""Of more rows it is a digest of the digests of so many at a time, which workers can make side by side."""


def digest_of_array(array: NDArray[np.float64]) -> str:
    """Return a digest of a NumPy array: its shape and its numbers."""
    whole, first = heads(array.shape)
    starts = range(0, array.shape[0], DIGEST_ROWS)
    return digest_of_digests(whole, [digest_of_rows(array[k : k + DIGEST_ROWS], first) for k in starts])


def heads(shape: Sequence[int]) -> tuple[bytes, bytes]:
    """Return what the digest of a whole array begins with, and that of its rows."""
    whole = repr(tuple(map(int, shape))).encode()
    return whole, whole if shape[0] <= DIGEST_ROWS else b""


def digest_of_rows(rows: NDArray[np.float64], first: bytes) -> bytes:
    """Return the digest of some rows."""
    content = hashlib.sha256(first)
    content.update(np.ascontiguousarray(rows, dtype="<f8").tobytes())
    return content.digest()


def digest_of_digests(whole: bytes, parts: Sequence[bytes]) -> str:
    """Return the digest of an array from those of its rows."""
    return (hashlib.sha256(whole + b"".join(parts)).digest() if len(parts) > 1 else parts[0]).hex()
