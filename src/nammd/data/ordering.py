"""Many numbers in order: by parts of their range, side by side in threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, namespace
from nammd.data.threads import cpu_count, each_in_threads

_LOOKED_AT = 1024
"""By so many numbers all are divided into parts."""

_ONE_PART, _MOST_PARTS = 1 << 17, 16
"""Fewer numbers are put in order at once; and each part takes a look at all of them."""


def ascending(values: Array) -> Array:
    """Return values in ascending order, where they are.

    >>> import numpy as np
    >>> ascending(np.array([3, 1, 2]))
    array([1, 2, 3])
    """
    if not isinstance(values, np.ndarray):
        return namespace(values).sort(values)
    return _by_parts(values, lambda inside: np.sort(values[inside]))


def stable_order(values: Array) -> Array:
    """Return the positions of values in ascending order; those of equal ones in their own order."""
    if not isinstance(values, np.ndarray):
        return namespace(values).argsort(values, stable=True)

    def order(inside: Any) -> NDArray[np.intp]:
        places: NDArray[np.intp] = np.arange(len(values))[inside]
        found: NDArray[np.intp] = places[np.argsort(values[inside], kind="stable")]
        return found

    return _by_parts(values, order)


def _by_parts(values: NDArray[Any], order: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    """Return what is made of the smallest values, then of larger ones, ..., end to end."""
    parts = min(cpu_count(), _MOST_PARTS)
    if len(values) < _ONE_PART or parts == 1:
        return order(slice(None))
    some = np.sort(values[:: len(values) // _LOOKED_AT][:_LOOKED_AT])
    edges = some[_LOOKED_AT // parts * np.arange(1, parts)]
    edges = edges[~np.isnan(edges)]

    def part(number: int) -> NDArray[Any]:
        below = np.ones(len(values), dtype=bool)
        if number < len(edges):
            below = values < edges[number]
        if number:
            below &= ~(values < edges[number - 1])  # and NaN, which comes last
        return order(below)

    return np.concatenate(each_in_threads(part, range(len(edges) + 1), values=parts * len(values)))
