"""The few functions that formulas need for one pair of samples, and for many pairs at once.

Every number of a pair is a float, or, of many pairs, an array with an element for each; types say float, the
common case. Sums and products are written alike for both; what is here is the rest. Of floats it is as quick
as Python has it, and the same bits.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar, cast

import numpy as np

from nammd.data.arrays import FloatArray

T = TypeVar("T")


def number(value: Any) -> float:
    """Return a number of a pair: as a float, or as what it is where it is an array."""
    return cast("float", value) if isinstance(value, np.ndarray) else float(value)


def larger(one: float, other: float) -> float:
    """Return the larger one of two numbers."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return number(np.maximum(one, other))
    return max(one, other)


def smaller(one: float, other: float) -> float:
    """Return the smaller one of two numbers."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return number(np.minimum(one, other))
    return min(one, other)


def root(value: float) -> float:
    """Return the square root."""
    return number(np.sqrt(value)) if isinstance(value, np.ndarray) else math.sqrt(value)


def some(condition: bool) -> bool:
    """Tell whether something holds, of one pair at least."""
    return bool(condition.any()) if isinstance(condition, np.ndarray) else bool(condition)


def choose(condition: bool, one: T, other: T) -> T:
    """Return the first number where something holds, else the second."""
    if isinstance(condition, np.ndarray):
        chosen: Any = np.where(condition, one, other)
        return chosen
    return one if condition else other


def of_matrices(value: float) -> float:
    """Return a number of a pair as one for all elements of its matrix."""
    return number(value[:, None, None]) if isinstance(value, np.ndarray) else value


def direction(slope: float) -> FloatArray:
    """Return ``(a, -1)``, along which influences act on U."""
    if isinstance(slope, np.ndarray):
        return np.stack([slope, np.full_like(slope, -1.0)], axis=-1)
    return np.array([slope, -1.0])


def symmetric(first: float, both: float, second: float) -> FloatArray:
    """Return matrices of two rows and columns by their numbers."""
    found = np.array([[first, both], [both, second]])
    return found if found.ndim == 2 else np.moveaxis(found, 2, 0)
