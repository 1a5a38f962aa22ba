"""Factors between two units that people confuse."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nammd.explaining.summaries import NumberSummary

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""These must all have grown alike."""

SPREAD = 1.25
"""The largest one at most so many times as much as the smallest one."""

LEAST = 1.5
"""No factor that people confuse is nearer to 1."""


@dataclass(frozen=True)
class Factor:
    """A factor, and what it may come from.

    Attributes
    ----------
    value : float
        How many times as large the values are.
    hint : str
        Which units may have been confused; empty where there is nothing to guess.
    """

    value: float
    hint: str

    def words(self) -> str:
        """Say it."""
        times, way = (self.value, "large") if self.value > 1 else (1 / self.value, "small")
        hint = f" ({self.hint}?)" if self.hint else ""
        return f"about {times:.4g} times as {way}{hint}"


_LARGER = {
    100.0: "cents",
    1000.0: "a thousandth of the unit",
    60.0: "seconds instead of minutes",
    3600.0: "seconds instead of hours",
    24.0: "hours instead of days",
    86400.0: "seconds instead of days",
    2.54: "centimetres instead of inches",
    3.28084: "feet instead of metres",
    1.609344: "kilometres instead of miles",
    2.204623: "pounds instead of kilograms",
    28.34952: "grams instead of ounces",
    3.785412: "litres instead of gallons",
}
_SMALLER = {
    100.0: "whole units instead of cents",
    1000.0: "thousands",
    1e6: "millions",
    60.0: "minutes instead of seconds",
    3600.0: "hours instead of seconds",
    24.0: "days instead of hours",
    86400.0: "days instead of seconds",
    2.54: "inches instead of centimetres",
    3.28084: "metres instead of feet",
    1.609344: "miles instead of kilometres",
    2.204623: "kilograms instead of pounds",
    28.34952: "ounces instead of grams",
    3.785412: "gallons instead of litres",
}
_TENS = tuple(10.0**k for k in range(1, 10))


def factor_between(before: NumberSummary, now: NumberSummary) -> Factor | None:
    """Return the factor between two columns, where it is near a power of ten or that of common units.

    The quantiles must all have grown alike: a few wild values, or a column that has grown in part, are no
    change of unit. A unit that is near 1 is only guessed where it fits closely.
    """
    if not before.present or not now.present or before.clock or now.clock:
        return None
    ratios = []
    for share in QUANTILES:
        old, new = before.quantile(share), now.quantile(share)
        if old == 0 and new == 0:
            continue
        if old == 0 or new == 0 or (old > 0) != (new > 0):
            return None
        ratios.append(new / old)
        if max(ratios) > SPREAD * min(ratios):
            return None
    if len(ratios) < 3:
        return None
    middle = sorted(ratios)[len(ratios) // 2]
    for known in sorted({*_TENS, *_LARGER, *_SMALLER}):
        for value, hints in ((known, _LARGER), (1 / known, _SMALLER)):
            reach = 0.15 if known >= 10 else 0.02
            spread = max(ratios) / min(ratios) - 1
            if abs(math.log(middle / value)) <= reach and spread <= (SPREAD - 1 if known >= 10 else 0.04):
                return Factor(value, hints.get(known, ""))
    return None
