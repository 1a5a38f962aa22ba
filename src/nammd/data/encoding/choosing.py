"""Which columns of the reference take part, and with which parameters.

A column is left out where comparing it would say nothing (constant, all missing), where it tells rows
apart rather than describing them (identifiers, free text), or where it cannot be compared at all.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.encoding.columns import CategoricalColumn, CodedColumn, Column, LeftOut, NumericColumn
from nammd.data.frames import Values

CONSTANT = "every row has the same value"

MIN_IDENTIFIER_ROWS = 20
"""With fewer rows, values that all differ are no sign of an identifier."""

MAX_CATEGORIES = 50
"""A column with more categories is coded; see `CodedColumn`."""

TEXT_LENGTH = 50
"""Mostly different texts that are longer than this on average are free text."""

# The interquartile range of a normal distribution, in standard deviations.
_NORMAL_IQR = 1.349

_UUID = re.compile(r"\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?", re.IGNORECASE)
_IDENTIFIER_NAME = re.compile(r"(?i:(.*[_\s.-])?(id|index|key|nr|no|number))|.*[a-z]I[dD]")


def fit_column(name: str, values: Values, weight: float, insist: bool = False) -> Column | LeftOut:
    """Return the column with its parameters, or why it is left out.

    With `insist`, a running number counts as a measurement, not as an identifier.
    """
    if values.trouble:
        return LeftOut(name, f"it holds {values.trouble}, which cannot be compared")
    if values.kind is None:
        return LeftOut(name, "all its values are missing")
    if values.numbers is not None:
        return _fit_numbers(name, values, weight, insist)
    return _fit_labels(name, values, weight)


def _fit_numbers(name: str, values: Values, weight: float, insist: bool) -> Column | LeftOut:
    assert values.kind is not None
    assert values.numbers is not None
    present = values.numbers[~values.missing]
    constant = bool((present == present[0]).all())
    if constant and not values.missing.any():
        return LeftOut(name, CONSTANT)
    if values.whole and not insist and _numbers_rows(name, present, len(values.missing)):
        return LeftOut(
            name,
            "it numbers the rows, like an identifier (to compare it nevertheless, give it a weight: "
            f"weights={{{name!r}: 1}})",
        )
    # One value, and missing ones: any unit will do, and 1 is that of the column itself.
    scale = 1.0 if constant else _robust_scale(present)
    if scale == 0:
        return LeftOut(name, "its values differ by less than a number can be scaled by")
    return NumericColumn(name, values.kind, weight, float(np.median(present)), scale)


def _robust_scale(present: FloatArray) -> float:
    """Return the standard deviation of the middle of the values, or of all where that is zero."""
    largest = float(np.abs(present).max())
    unit = largest if largest > 1e100 else 1.0  # squares and sums of such numbers overflow
    values = present / unit
    low, high = np.quantile(values, [0.25, 0.75])
    spread = float((high - low) / _NORMAL_IQR) or float(values.std())
    return min(spread * unit, float(np.finfo(np.float64).max))


def _numbers_rows(name: str, present: FloatArray, rows: int) -> bool:
    if rows < MIN_IDENTIFIER_ROWS or len(present) < rows:
        return False
    steps = np.diff(present)
    if (steps > 0).all() or (steps < 0).all():
        return True
    ordered = np.sort(present)
    if not (np.diff(ordered) > 0).all():
        return False
    gapless = ordered[-1] - ordered[0] == rows - 1
    return bool(gapless) or _IDENTIFIER_NAME.fullmatch(name) is not None


def _fit_labels(name: str, values: Values, weight: float) -> Column | LeftOut:
    assert values.kind is not None
    assert values.labels is not None
    counts = Counter(label for label in values.labels if label is not None)
    if len(counts) == 1 and not values.missing.any():
        return LeftOut(name, CONSTANT)
    if values.kind == "boolean":
        return CategoricalColumn(name, "boolean", weight, ("False", "True"))
    reason = _no_category(counts)
    if reason:
        return LeftOut(name, reason)
    if len(counts) > MAX_CATEGORIES or not _new_ones_are_news(counts):
        return CodedColumn(name, "categorical", weight)
    commonest_first = sorted(counts, key=lambda label: (-counts[label], label))
    return CategoricalColumn(name, "categorical", weight, tuple(commonest_first))


def _no_category(counts: Counter[str]) -> str:
    """Return why text does not name categories, or nothing where it may."""
    rows, distinct = counts.total(), len(counts)
    length = sum(len(text) * count for text, count in counts.items()) / rows
    if length > TEXT_LENGTH and 2 * distinct > rows:
        return "it is free text, which has no categories to compare"
    if rows < MIN_IDENTIFIER_ROWS:
        return ""
    if distinct == rows:
        return "every value is different, like an identifier"
    if distinct > min(MAX_CATEGORIES, rows / 2) and all(map(_UUID.fullmatch, counts)):
        return "its values are unique identifiers (UUIDs)"
    if 2 * distinct > rows and max(counts.values()) < 0.05 * rows:
        return "more than half of its values are different, so rows hardly ever share one"
    return ""


def _new_ones_are_news(counts: Counter[str]) -> bool:
    """Tell whether a category that the reference lacks would be a surprise.

    The reference never uses the slot "unseen", by construction. Fresh data from the same distribution
    does, with probability about s/n where s of the n rows have a category of their own (Good and
    Turing's estimate). That is a false shift of size s/n; it is well below the sampling error, of order
    1/sqrt(n), only while s is well below sqrt(n).
    """
    single = sum(count == 1 for count in counts.values())
    return 16 * single * single <= counts.total()
