"""How columns go together, in the former layout of a file: an entry for each column, and for each pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.errors.stored import Stored
from nammd.views.classes import LEVELS, MOST, Classes
from nammd.views.measure import Measure
from nammd.views.serial import MAX


def former_classes(stored: Stored, measures: Mapping[str, Measure]) -> dict[str, Classes]:
    """Return the columns that a file describes."""
    classes = dict[str, Classes]()
    for each in stored.each():
        name = each["name"].text()
        if name not in measures or name in classes:
            raise each["name"].wrong("a column that has a limit, and each one once")
        classes[name] = _classes(each, measures[name])
    return classes


def former_pairs(stored: Stored, columns: int) -> Iterator[list[int]]:
    """Yield the pairs of columns, by their places."""
    for each in stored.each():
        yield [place.whole(0, columns - 1) for place in each.pair()]


def former_quantiles(stored: Stored, ranked: Sequence[str]) -> dict[str, FloatArray]:
    """Return the quantiles of columns whose classes are ranks."""
    quantiles = {name: _read_quantiles(each) for name, each in stored.fields().items()}
    if set(quantiles) != set(ranked):
        raise stored.wrong("those of the columns whose classes are ranks")
    return quantiles


def _classes(stored: Stored, measure: Measure) -> Classes:
    edges = stored["edges"].numbers(least=-MAX, most=MAX)
    if len(edges) > 1 and (np.diff(edges) < 0).any():
        raise stored["edges"].wrong("numbers in ascending order")
    made = Classes(measure, edges, stored["labels"].texts(), stored["ranked"].truth(), np.empty(0))
    if not 2 <= made.count <= MOST or (made.ranked and not made.ordered):
        raise stored["edges" if made.ordered else "labels"].wrong(f"those of 2 to {MOST} classes")
    shares = stored["shares"].numbers(made.count + 1, least=0.0, most=1.0)
    if abs(shares.sum() - 1) > 1e-6:
        raise stored["shares"].wrong("shares that add up to 1")
    return replace(made, shares=shares)


def _read_quantiles(stored: Stored) -> FloatArray:
    found = stored.numbers(*LEVELS.shape, least=-MAX, most=MAX)
    if (np.diff(found) < 0).any():
        raise stored.wrong("numbers in ascending order")
    return found
