"""Numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence

NAMES: dict[str, str] = {"nammd": "NAMMD", "mmd2": "MMD²"}
"""What the distances are called."""

SMALL = 1e-4
"""Numbers below have so many zeros that people would have to count them."""

MANY_TIMES = 10.0
"""From here on a share is a multiple: 12 times the tolerance, not 1200 % of it."""


def number(value: float) -> str:
    """Write a number for people: some significant digits, and an exponent instead of many zeros.

    >>> number(0.0005942), number(0.00000372), number(-2.384e-9)
    ('0.0005942', '3.72e-6', '-2.38e-9')
    """
    if math.isnan(value):
        return "not available"
    if 0 < abs(value) < SMALL:
        digits, exponent = f"{value:.2e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{value:.4g}"


def estimated(value: float) -> str:
    """Write an estimated distance: one below zero, as chance makes them, is told as none.

    >>> estimated(0.0005942), estimated(-2.384e-9)
    ('0.0005942', '0')
    """
    return number(max(value, 0.0) if value == value else value)


def share(value: float, limit: float) -> str:
    """Write a distance as a share of what it is held against; an estimate below zero is nothing of it.

    >>> share(0.00000372, 0.0005942), share(0.001117, 0.0005942), share(0.3, 0.001), share(-1e-6, 0.1)
    ('0.63 %', '188 %', '300 ×', '0 %')
    """
    if not limit > 0 or math.isnan(value):
        return "not available"
    part = max(value, 0.0) / limit
    if part >= MANY_TIMES:
        return f"{part:.0f} ×" if part < 1e4 else "over 10000 ×"
    if 0 < part < 1e-4:
        return "under 0.01 %"
    return f"{100 * part:.0f} %" if part >= 0.1 else f"{100 * part:.2g} %"


def share_of(value: float, limit: float, name: str) -> str:
    """Write a distance as a share of a limit, for sentences.

    >>> share_of(0.00000372, 0.0005942, "tolerance"), share_of(0.3, 0.001, "tolerance")
    ('0.63 % of the tolerance', '300 times the tolerance')
    """
    told = share(value, limit)
    if told.endswith("×"):
        return told.replace("×", f"times the {name}")
    return f"{told} of the {name}" if told.endswith("%") else f"share of the {name} {told}"


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
    """Write a number with its standard error, if it has one; two digits of it, where both have room.

    >>> with_error(0.02, 0.0), with_error(0.02, 0.001), with_error(0.001822, 0.0000983)
    ('0.02', '0.02 ± 0.001', '0.001822 ± 0.000098')
    """
    beside = abs(value) >= SMALL > error >= SMALL / 10  # an exponent would hide that it is a tenth or so
    return number(value) + (f" ± {f'{error:.6f}' if beside else number(error)}" if error else "")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines in which the cells stand below each other; the last is as long as it is.

    >>> aligned([("a", "b", "c"), ("long name", "x", "")])
    ['a          b  c', 'long name  x']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    return [
        "  ".join([*(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    ]
