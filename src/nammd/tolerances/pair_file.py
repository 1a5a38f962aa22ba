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

from nammd.data.arrays import FloatArray
from nammd.errors.checks import choice
from nammd.statistics.moments import Components, Moments
from nammd.statistics.pair import KnownMeeting, Meeting, Pair
from nammd.statistics.side import Known

LARGEST = 1e60
"""Everything in a tolerance is of the size of kernel values; cubes of larger numbers are no numbers."""

_UNBOUNDED = {"freedom": "inf", "in_unit": "nan"}
"""What need not be a finite number, and what it may be instead."""

_SHAPES = {"seconds": (2, 2), "forms": (2, 2), "thirds": (4,)}


def pair_to_dict(pair: Pair) -> dict[str, Any]:
    """Return a pair that is known by its averages as plain values."""
    stored: dict[str, Any] = _plain(pair)
    return stored


def pair_from_dict(stored: dict[str, Any]) -> Pair:
    """Return the pair that plain values describe; a ValueError says what is wrong with them."""
    pair: Pair = _restored(Pair, stored, "pair")
    if not (pair.moments.bound > 0 and pair.moments.denominator > 0):
        raise ValueError("its moments are not those of a kernel with that bound")
    return pair


def packed(values: FloatArray) -> str:
    """Return numbers as text."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode("ascii")


def unpacked(text: str) -> FloatArray:
    """Return the numbers that a text stands for."""
    values: FloatArray = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("a number for a row of the reference is not finite")
    return values


def finite(value: Any, name: str) -> float:
    """Return a number that was read from a file, if it can be one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name} is not a number")
    if abs(value) > LARGEST:
        raise ValueError(f"{name} is out of all proportion")
    return float(value)


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


def _restored(kind: Any, stored: Any, name: str) -> Any:
    """Return a value of some type from what a file holds."""
    if get_origin(kind) is UnionType:  # something or None
        wanted = next(each for each in get_args(kind) if each is not type(None))
        return None if stored is None else _restored(wanted, stored, name)
    if kind is Meeting:
        kind = KnownMeeting
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        found = {
            each.name: _restored(hints[each.name], stored[each.name], each.name) for each in fields(kind)
        }
        return _sound(kind(**found))
    if get_origin(kind) is Literal:
        return choice(stored, name, get_args(kind))
    if get_origin(kind) is tuple:
        return tuple(_restored(each, value, name) for each, value in zip(get_args(kind), stored, strict=True))
    if kind is bool:
        return bool(stored)
    if kind is float:
        return float(stored) if _UNBOUNDED.get(name) == stored else finite(stored, name)
    return _array(stored, name)


def _array(stored: Any, name: str) -> FloatArray:
    if isinstance(stored, str):
        return unpacked(stored)
    values = np.array([finite(each, name) for each in np.ravel(np.array(stored, dtype=object))])
    return values.reshape(_SHAPES.get(name, (-1,)))


def _sound(value: Any) -> Any:
    if isinstance(value, (Components, Known)) and value.size < 2:
        raise ValueError("size is less than two")
    if isinstance(value, Moments) and min(value.x.per_unit, value.y.per_unit) <= 0:
        raise ValueError("per_unit is not positive")
    return value
