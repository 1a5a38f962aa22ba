"""Ways to spoil a file: what a bad disk, a cut connection, an editor or an enemy does to bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Random = np.random.Generator

SPECIAL = (
    b"",
    b"\x00",
    b"\xff",
    b'"',
    b"\n",
    b",",
    b"\r\n",
    b"NaN",
    b"-1",
    b"1e999",
    b"9" * 400,
    b"null",
    b"true",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"PK\x03\x04",
    b"PAR1",
    b"ARROW1",
    b"{" * 300,
    b"[" * 300,
    "é€😀".encode(),
    b"\x80\x81",
    b"0001-01-01",
    b"9999-12-31",
    b"9223372036854775808",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
)


def _place(rng: Random, data: bytes) -> int:
    return int(rng.integers(0, max(1, len(data))))


def flip_bit(rng: Random, data: bytes) -> bytes:
    """Turn one bit round."""
    place = _place(rng, data)
    return data[:place] + bytes([data[place] ^ (1 << int(rng.integers(0, 8)))]) + data[place + 1 :]


def set_bytes(rng: Random, data: bytes) -> bytes:
    """Write something else over a few bytes."""
    place, new = _place(rng, data), rng.bytes(int(rng.integers(1, 9)))
    return data[:place] + new + data[place + len(new) :]


def cut(rng: Random, data: bytes) -> bytes:
    """Lose the end."""
    return data[: _place(rng, data)]


def remove(rng: Random, data: bytes) -> bytes:
    """Lose a part."""
    place = _place(rng, data)
    return data[:place] + data[place + int(rng.integers(1, 200)) :]


def repeat(rng: Random, data: bytes) -> bytes:
    """Have a part twice, or often."""
    place, size = _place(rng, data), int(rng.integers(1, 200))
    return data[:place] + data[place : place + size] * int(rng.integers(1, 20)) + data[place:]


def insert(rng: Random, data: bytes) -> bytes:
    """Put in something that means something, somewhere."""
    place = _place(rng, data)
    return data[:place] + SPECIAL[int(rng.integers(len(SPECIAL)))] + data[place:]


def overwrite(rng: Random, data: bytes) -> bytes:
    """Write something that means something over something else."""
    place, new = _place(rng, data), SPECIAL[int(rng.integers(len(SPECIAL)))]
    return data[:place] + new + data[place + len(new) :]


def swap(rng: Random, data: bytes) -> bytes:
    """Exchange two parts."""
    first, second = sorted((_place(rng, data), _place(rng, data)))
    size = int(rng.integers(1, 64))
    if second < first + size:
        return data[::-1]
    return (
        data[:first]
        + data[second : second + size]
        + data[first + size : second]
        + data[first : first + size]
        + data[second + size :]
    )


def zero(rng: Random, data: bytes) -> bytes:
    """Have a hole of zeros, as file systems leave them."""
    place, size = _place(rng, data), int(rng.integers(1, 512))
    return data[:place] + bytes(min(size, len(data) - place)) + data[place + size :]


def extend(rng: Random, data: bytes) -> bytes:
    """Go on after the end."""
    return data + (rng.bytes(int(rng.integers(1, 100))) if rng.random() < 0.5 else data)


WAYS: tuple[Callable[[Random, bytes], bytes], ...] = (
    flip_bit,
    flip_bit,
    set_bytes,
    cut,
    remove,
    repeat,
    insert,
    overwrite,
    swap,
    zero,
    extend,
)


def mutated(rng: Random, data: bytes) -> bytes:
    """Return some bytes after one to four accidents."""
    for _ in range(int(rng.choice([1, 1, 1, 2, 3, 4]))):
        if data:
            data = WAYS[int(rng.integers(len(WAYS)))](rng, data)
    return data
