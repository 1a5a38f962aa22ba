"""Numbers as people read them."""

from __future__ import annotations

import math

NAMES: dict[str, str] = {"nammd": "NAMMD", "mmd2": "MMD²"}
"""What the distances are called."""


def number(value: float) -> str:
    """Write a number for people: some significant digits, and no exponent unless it is tiny."""
    if math.isnan(value):
        return "not available"
    size = abs(value)
    if 1e-7 <= size < 1e-4:  # four digits would bring the exponent
        return f"{value:.{2 - math.floor(math.log10(size))}f}"
    return f"{value:.4g}"


def probability(value: float) -> str:
    """Write a p-value for people."""
    if math.isnan(value):
        return "not available"
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def p_value(value: float) -> str:
    """Write a p-value as an equation, for sentences."""
    return f"p {probability(value)}" if value < 1e-4 else f"p = {probability(value)}"


def interval(ends: tuple[float, float]) -> str:
    """Write an interval for people."""
    return f"[{number(ends[0])}, {number(ends[1])}]"


def with_error(value: float, error: float) -> str:
    """Write a number with its standard error, if it has one.

    >>> with_error(0.02, 0.0), with_error(0.02, 0.001)
    ('0.02', '0.02 ± 0.001')
    """
    return number(value) + (f" ± {number(error)}" if error else "")
