"""A pair of samples in a file: all of its fields, whatever they are, each of them checked when it is read.

Short arrays are plain lists. Numbers for every unit of the reference are kept as the bytes of 64-bit floats
in base 64, so that they are the same numbers when they are read.
"""

from __future__ import annotations

import base64
import math
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from nammd.errors.stored import Stored
from nammd.statistics.pair import KnownMeeting, Meeting, Pair
from nammd.statistics.side import KeptX, Known

LARGEST = 1e60
"""Everything in a tolerance is of the size of kernel values; cubes of larger numbers are no numbers."""

_MUCH = 100.0
"""Variances of kernel values are estimated, and noisy; but so many squares of the bound are none."""

_RANGES = {
    "size": (2.0, 2.0**53),
    "per_unit": (1e-12, LARGEST),
    "lift": (1e-12, LARGEST),
    "freedom": (1e-12, LARGEST),
    "bound": (1e-12, 1e12),
    "eigenvalue": (0.0, LARGEST),
}
"""What numbers can be that have any other limits than size."""

_UNBOUNDED = {"freedom": "inf", "in_unit": "nan"}
"""What need not be a finite number, and what it may be instead."""

_SHAPES = {"seconds": (2, 2), "forms": (2, 2), "thirds": (4,)}


def pair_to_dict(pair: Pair) -> dict[str, Any]:
    """Return a pair that is known by its averages as plain values."""
    stored: dict[str, Any] = _plain(pair)
    return stored


def read_pair(stored: Stored) -> Pair:
    """Return the pair that a file describes; a ValueError names the field that is wrong."""
    pair: Pair = _restored(Pair, stored)
    moments, place = pair.moments, stored["meeting"]["moments"]
    if not moments.denominator > 0:
        raise place["xy"].wrong("the mean of a kernel with that bound")
    for name, side in (("x", moments.x), ("y", moments.y)):
        _within(place[name]["mean"], side.mean, moments.bound)
        for part in ("v1", "v2", "c", "w"):
            _within(place[name][part], getattr(side, part), _MUCH * moments.bound**2)
    _within(place["xy"], moments.xy, moments.bound)
    return pair


def _within(stored: Stored, value: float, most: float) -> None:
    if not abs(value) <= most * (1 + 1e-6):
        raise stored.wrong(f"between {-most:g} and {most:g}")


def packed(values: ArrayLike) -> str:
    """Return numbers as text."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode("ascii")


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, np.ndarray):
        return packed(value) if value.ndim == 1 and len(value) > 4 else value.tolist()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _restored(kind: Any, stored: Stored) -> Any:
    """Return a value of some type from what a file holds."""
    name = stored.path.rpartition(".")[2].partition("[")[0]
    if get_origin(kind) is UnionType:  # something or None
        wanted = next(each for each in get_args(kind) if each is not type(None))
        return _restored(wanted, stored) if stored.there else None
    if kind is Meeting:
        kind = KnownMeeting
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        found = {each.name: _restored(hints[each.name], stored[each.name]) for each in fields(kind)}
        return _sound(kind(**found), stored)
    if get_origin(kind) is Literal:
        return stored.one_of(*get_args(kind))
    if get_origin(kind) is tuple:
        kinds, values = get_args(kind), stored.each()
        if len(kinds) != len(values):
            raise stored.wrong(f"a list of {len(kinds)}")
        return tuple(_restored(each, value) for each, value in zip(kinds, values, strict=True))
    if kind is bool:
        return stored.truth()
    if kind is float:
        if name in _UNBOUNDED and stored.value == _UNBOUNDED[name]:
            return float(stored.value)
        return stored.number(*_RANGES.get(name, (-LARGEST, LARGEST)))
    if isinstance(stored.value, str):
        return stored.unpacked(least=-LARGEST, most=LARGEST)
    return stored.numbers(*_SHAPES.get(name, ()), least=-LARGEST, most=LARGEST)


def _sound(value: Any, stored: Stored) -> Any:
    """Refuse averages that no sample has."""
    if isinstance(value, Known):
        for name in ("seconds", "forms"):
            matrix = getattr(value, name)
            if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-12 * np.abs(matrix).max()):
                raise stored[name].wrong("a symmetric matrix")
        if np.linalg.eigvalsh(value.seconds)[0] < -1e-6 * np.abs(value.seconds).max():
            raise stored["seconds"].wrong("a matrix without negative eigenvalues")
    if isinstance(value, KeptX) and not (len(value.across) and len(value.felt)):
        raise stored["across" if len(value.felt) else "felt"].wrong("a number for every unit")
    return value
