"""Whole numbers as arguments: of rows, of points, of repetitions."""

from __future__ import annotations

import operator
from typing import Any


def whole(value: Any, name: str, least: int = 1) -> int:
    """Return a whole number of at least `least`, or say what is wrong with it."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    return number
