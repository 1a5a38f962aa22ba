"""Checks of options: a value that is right, or a sentence that says what it must be."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from nammd.errors.advice import Advice, refusal


def positive(value: Any, name: str) -> float:
    """Return a positive finite number."""
    number = _number(value, name)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be positive and finite, not {number}")
    if number < sys.float_info.min:
        least = f"{sys.float_info.min:.3g}"
        raise ValueError(
            f"{name} must be at least {least}, below which numbers lose their digits, not {number}"
        )
    return number


def whole(value: Any, name: str, least: int = 1) -> int:
    """Return a whole number that is not too small.

    >>> whole(3, "rows")
    3
    """
    kind = not isinstance(value, (bool, np.bool_)) and isinstance(value, (int, np.integer))
    if not kind or value < least:
        error = ValueError if kind else TypeError
        raise error(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def between(value: Any, name: str, upper: float = 1.0, hint: str = "") -> float:
    """Return a number strictly between 0 and `upper`."""
    number = _number(value, name)
    if not 0 < number < upper:
        raise ValueError(f"{name} must be strictly between 0 and {upper:g}, not {number:g}{hint}")
    return number


def choice(value: Any, name: str, options: tuple[str, ...]) -> Any:
    """Return `value` if it is one of the options."""
    if value not in options:
        listed = ", ".join(map(repr, options))
        raise ValueError(f"{name} must be one of {listed}, not {value!r}")
    return value


def counted(number: int, what: str) -> str:
    """Say how many there are of something.

    >>> counted(1, "row"), counted(3, "row")
    ('1 row', '3 rows')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def not_finite(name: str, bad: int, rows: int) -> ValueError:
    """Return the error that says how many rows hold NaN or infinity."""
    drop = "fill the missing values or drop those rows first"
    return refusal(
        ValueError,
        f"{name} contains NaN or infinity in {bad} of its {rows} rows",
        Advice(f"{drop}; nan_policy='omit' of the questions leaves rows with NaN out", drop),
    )


def _number(value: Any, name: str) -> float:
    if not isinstance(value, (str, bytes, bool)):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{name} must be a number, not {value!r}")


def whole_settings(settings: Any, **least: int) -> None:
    """Check that attributes of an object are whole numbers, each of at least the given size."""
    for name, smallest in least.items():
        whole(getattr(settings, name), name, smallest)
