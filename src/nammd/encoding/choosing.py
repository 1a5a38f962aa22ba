"""Which columns of the reference take part, and with which parameters.

A column is left out where comparing it would say nothing (constant, all missing), where it tells rows
apart rather than describing them (identifiers, free text unless its words are hashed), or where it cannot
be compared at all.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.frames import FEW_ROWS
from nammd.data.magnitudes import deviation
from nammd.data.values import Values
from nammd.encoding.columns import (
    CategoricalColumn,
    CodedColumn,
    Column,
    LeftOut,
    NumericColumn,
    VectorColumn,
)
from nammd.encoding.hashed_text import HashedTextColumn, is_prose
from nammd.errors.advice import Advice

CONSTANT = "every row has the same value"

FREE_TEXT = "it is free text, which has no categories to compare"

_BY_WORDS = Advice(
    "to compare its words, give space={'text': 'hashed'}", "to compare its words, give --text hashed"
)

MIN_IDENTIFIER_ROWS = 20
"""With fewer rows, values that all differ are no sign of an identifier."""

MAX_CATEGORIES = 50
"""A column with more categories is coded; see `CodedColumn`."""

TEXT_LENGTH = 50
"""Mostly different texts that are longer than this on average are free text."""

# The interquartile range of a normal distribution, in standard deviations.
_NORMAL_IQR = 1.349

_LARGEST = float(np.finfo(np.float64).max)

_UUID = re.compile(r"\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?", re.IGNORECASE)
_IDENTIFIER_NAME = re.compile(r"(?i:(.*[_\s.-])?(id|index|key|nr|no|number))|.*[a-z]I[dD]")


def fit_column(
    name: str,
    values: Values,
    parts: Sequence[Values],
    weight: float,
    insist: bool = False,
    hash_text: bool = False,
) -> Column | LeftOut:
    """Return the column with its parameters, or why it is left out.

    Parameters
    ----------
    name : str
        The name of the column.
    values : Values
        The column in all datasets that the encoding is fitted on, as one.
    parts : sequence of Values
        The column in each of them. Nothing here depends on which of them comes first, nor, as far as rows
        are drawn at random, on which rows are whose.
    weight : float
        What its slots are multiplied by.
    insist : bool
        Whether a running number counts as a measurement, not as an identifier.
    hash_text : bool
        Whether free text is compared by its words.
    """
    trouble = next((part.trouble for part in parts if part.trouble), "")
    if trouble:
        return LeftOut(name, f"it holds {trouble}, which cannot be compared")
    if values.kind is None:
        return LeftOut(name, "all its values are missing")
    if values.kind == "vector":
        return _fit_vectors(name, values, weight)
    if values.numbers is not None:
        return _fit_numbers(name, values, parts, weight, insist)
    return _fit_labels(name, values, len(parts), weight, insist, hash_text)


def _fit_numbers(
    name: str, values: Values, parts: Sequence[Values], weight: float, insist: bool
) -> Column | LeftOut:
    assert values.kind is not None
    assert values.numbers is not None
    present = values.numbers[~values.missing]
    constant = bool((present == present[0]).all())
    if constant and not values.missing.any():
        return LeftOut(name, CONSTANT)
    if values.whole and not insist and not values.missing.any() and _numbers_rows(name, parts):
        nevertheless = "to compare it nevertheless, give it a weight: "
        return LeftOut(
            name,
            "it numbers the rows, like an identifier",
            Advice(f"{nevertheless}column_weights={{{name!r}: 1}}", f"{nevertheless}--weights {name}=1"),
        )
    # One value, and missing ones: any unit will do, and 1 is that of the column itself.
    quartiles = _quartiles(present)
    scale = 1.0 if constant else _scale(present, quartiles)
    if scale == 0:
        return LeftOut(name, "its values differ by less than a number can be scaled by")
    return NumericColumn(name, values.kind, weight, quartiles[1], scale, values.clock)


def _fit_vectors(name: str, values: Values, weight: float) -> Column | LeftOut:
    """Take one unit for all components, in which their variances add up to 1."""
    assert values.numbers is not None
    present = values.numbers[~values.missing]
    constant = bool((present == present[0]).all())
    if constant and not values.missing.any():
        return LeftOut(name, CONSTANT)
    scales = np.array([robust_scale(column) for column in present.T])
    largest = float(scales.max())
    scale = largest * float(np.sqrt(np.sum((scales / largest) ** 2))) if largest > 0 else 0.0
    if constant:
        scale = 1.0
    if not 0 < scale < np.inf:
        return LeftOut(name, "its values differ by less than a number can be scaled by")
    return VectorColumn(name, "vector", weight, tuple(_quartiles(column)[1] for column in present.T), scale)


def robust_scale(present: FloatArray) -> float:
    """Return the standard deviation of the middle of the values, or of all where that is zero."""
    return _scale(present, _quartiles(present))


def _scale(present: FloatArray, quartiles: tuple[float, float, float]) -> float:
    low, _, high = quartiles
    return scale_between(low, high) or min(float(deviation(present)), _LARGEST)


def scale_between(low: float, high: float) -> float:
    """Return the standard deviation of normal values with these quartiles."""
    spread = (
        (high / _NORMAL_IQR - low / _NORMAL_IQR) if math.isinf(high - low) else (high - low) / _NORMAL_IQR
    )
    return min(spread, _LARGEST)


def quartile_ranks(rows: int) -> list[int]:
    """Return the ranks, from 0 on, of the values that quartiles and the median are between."""
    last = rows - 1
    places = [int(last * share) for share in (0.25, 0.5, 0.75)]
    return sorted({near for place in places for near in (place, min(place + 1, last))})


def quartiles_of(ordered: Mapping[int, float] | FloatArray, rows: int) -> tuple[float, float, float]:
    """Return the quartiles and the median, given the values at their ranks."""
    last = rows - 1

    def between(share: float) -> float:
        place, left = last * share, int(last * share)
        low, high = float(ordered[left]), float(ordered[min(left + 1, last)])
        part, apart = place - left, high - low
        if math.isinf(apart):
            return low * (1 - part) + high * part
        # From the nearer end, so that the result is never beyond the other.
        return low + apart * part if part < 0.5 else high - apart * (1 - part)

    left, right = float(ordered[last // 2]), float(ordered[(last + 1) // 2])
    middle = (left + right) / 2
    if math.isinf(middle):  # beyond the largest number
        middle = left / 2 + right / 2
    return between(0.25), middle, between(0.75)


def _quartiles(values: FloatArray) -> tuple[float, float, float]:
    """Return the quartiles and the median, as `numpy.quantile` and `numpy.median` do.

    These look at their arguments for ten times as long as a column of a few rows takes.
    """
    rows = len(values)
    few = rows <= FEW_ROWS  # which are in order sooner than it is said which of them have to be
    return quartiles_of(np.sort(values) if few else np.partition(values, quartile_ranks(rows)), rows)


def _numbers_rows(name: str, parts: Sequence[Values]) -> bool:
    """Tell whether whole numbers count the rows of every dataset, each by itself or on from one another."""
    each = [part.numbers for part in parts if part.numbers is not None]
    if sum(map(len, each)) < MIN_IDENTIFIER_ROWS:
        return False
    if all(_only_moves_on(numbers) for numbers in each):
        return True
    distinct, times = np.unique(np.concatenate(each), return_counts=True)
    if times.max() > len(each):
        return False
    runs = 1 + int(np.count_nonzero(np.diff(distinct) != 1))
    return runs <= len(each) or _IDENTIFIER_NAME.fullmatch(name) is not None


def _only_moves_on(numbers: FloatArray) -> bool:
    steps = np.diff(numbers)
    return bool((steps > 0).all() or (steps < 0).all())


def _fit_labels(
    name: str, values: Values, datasets: int, weight: float, insist: bool, hash_text: bool
) -> Column | LeftOut:
    assert values.kind is not None
    assert values.codes is not None
    found = np.bincount(values.codes[values.codes >= 0], minlength=len(values.categories))
    counts = Counter(
        {name: int(count) for name, count in zip(values.categories, found, strict=True) if count}
    )
    if len(counts) == 1 and not values.missing.any():
        return LeftOut(name, CONSTANT)
    if values.kind == "boolean":
        return CategoricalColumn(name, "boolean", weight, ("False", "True"))
    reason = _no_category(counts, datasets)
    text = bool(reason or len(counts) > MAX_CATEGORIES) and (reason == FREE_TEXT or is_prose(counts))
    if hash_text and (text or (insist and reason)):
        return HashedTextColumn(name, "text", weight)
    if reason:
        return LeftOut(name, reason, _BY_WORDS if text else None)
    if len(counts) > MAX_CATEGORIES or not _new_ones_are_news(counts):
        return CodedColumn(name, "categorical", weight)
    commonest_first = sorted(counts, key=lambda label: (-counts[label], label))
    return CategoricalColumn(name, "categorical", weight, tuple(commonest_first))


def _no_category(counts: Counter[str], datasets: int) -> str:
    """Return why text does not name categories, or nothing where it may."""
    rows, distinct = counts.total(), len(counts)
    length = sum(len(text) * count for text, count in counts.items()) / rows
    if length > TEXT_LENGTH and 2 * distinct > rows:
        return FREE_TEXT
    if rows < MIN_IDENTIFIER_ROWS:
        return ""
    if distinct * datasets >= rows and max(counts.values()) <= datasets:
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
