"""Counts of many columns as plain values for files: an array for each field, with a number for each column.

A table may have ten thousand columns. With an object for each field of each of them, to write and to read a
file would take longer than to compare what it describes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.errors.stored import MOST, Stored
from nammd.views.counts import Counts, LabelCounts, NumberCounts
from nammd.views.lattice import FARTHEST, STEP
from nammd.views.marks import GRAINS, Marks
from nammd.views.serial import MAX, packed

T = TypeVar("T")

_MOST_PLACES = int(2 * FARTHEST / STEP) + 1
"""A column has at most so many, which are points of the lattice: what a file unfolds to stays bounded."""


def columns_to_dict(columns: Sequence[Counts]) -> dict[str, Any]:
    """Return the counts of columns as plain values."""
    numbers = [each for each in columns if isinstance(each, NumberCounts)]
    return {
        "missing": packed([each.missing for each in columns], "<f8"),
        "labels": [dict(each.rows) for each in columns if isinstance(each, LabelCounts)],
        "numbers": _numbers_to_dict(numbers),
    }


def read_columns(stored: Stored, of_numbers: Sequence[bool]) -> list[Counts]:
    """Return the counts that a file describes; `of_numbers` tells which columns are of numbers."""
    missing = stored["missing"].unpacked(len(of_numbers), folded=True, least=0, most=MOST).tolist()
    numbers = _read_numbers(stored["numbers"], sum(of_numbers))
    labels = [
        {label: rows.number(0, MOST) for label, rows in each.fields().items()}
        for each in stored["labels"].each()
    ]
    if len(labels) != len(of_numbers) - sum(of_numbers):
        raise stored["labels"].wrong("one entry for each column of labels")
    each_labels = iter(labels)
    found: list[Counts] = []
    for has_numbers, gaps in zip(of_numbers, missing, strict=True):
        if has_numbers:
            places, rows, exact, marks = next(numbers)
            found.append(NumberCounts(places, rows, gaps, exact, marks))
        else:
            found.append(LabelCounts(next(each_labels), gaps))
    return found


def coded(values: Iterable[Hashable]) -> dict[str, Any]:
    """Return values of which there are few different ones: these, and which of them each is."""
    numbers: dict[Hashable, int] = {}
    which = [numbers.setdefault(value, len(numbers)) for value in values]
    return {"of": list(numbers), "which": packed(which, "<u4")}


def read_coded(stored: Stored, count: int, read: Callable[[Stored], T]) -> list[T]:
    """Return so many values of which a file has the different ones; `read` reads one of these."""
    different = [read(each) for each in stored["of"].each()]
    which = stored["which"].unpacked(count, "<u4", folded=True, most=len(different) - 1)
    return [different[k] for k in which.astype(np.intp).tolist()]


def _numbers_to_dict(columns: Sequence[NumberCounts]) -> dict[str, Any]:
    marks = [each.marks for each in columns]
    points = np.rint(joined(each.places for each in columns if not each.exact) / STEP)
    return {
        "exact": packed([each.exact for each in columns], "<u1"),
        "sizes": packed([len(each.places) for each in columns], "<u4"),
        "places": packed(joined(each.places for each in columns if each.exact), "<f8"),
        "steps": packed(np.diff(points, prepend=0.0), "<i4"),
        "rows": packed(joined(each.rows for each in columns), "<f4"),
        "present": packed([each.present for each in columns], "<i8"),
        "low": packed(_finite([each.low for each in marks]), "<f8"),
        "high": packed(_finite([each.high for each in marks]), "<f8"),
        "below_zero": packed([each.below_zero for each in marks], "<f8"),
        "grains": packed([len(each.grain) for each in marks], "<u1"),
        "grain": packed(joined(each.grain for each in marks), "<f8"),
        "units": coded(each.units for each in marks),
    }


def _read_numbers(stored: Stored, count: int) -> Iterator[tuple[FloatArray, FloatArray, bool, Marks]]:
    """Yield the places of columns, the rows there, whether they are exact, and what else is noted."""

    def column(name: str, kind: str = "<f8", size: int = count, most: float = MOST) -> FloatArray:
        return stored[name].unpacked(size, kind, folded=True, least=0, most=most)

    exact, sizes = (
        column("exact", "<u1", most=1) == 1,
        column("sizes", "<u4", most=_MOST_PLACES).astype(np.intp),
    )
    rows = column("rows", "<f4", int(sizes.sum()))
    as_they_are = np.repeat(exact, sizes)
    places = np.empty(len(rows))
    there = int(np.count_nonzero(as_they_are))
    places[as_they_are] = stored["places"].unpacked(there, folded=True, least=-FARTHEST, most=FARTHEST)
    places[~as_they_are] = np.cumsum(stored["steps"].unpacked(len(rows) - there, "<i4", folded=True)) * STEP
    if not (np.abs(places) <= FARTHEST).all():
        raise stored["steps"].wrong(f"places between {-FARTHEST:g} and {FARTHEST:g}")
    if not (steps_within(places, sizes) > 0).all():
        raise stored["places"].wrong("places in ascending order")
    total, present = sums_within(rows, sizes), column("present", "<i8")
    if ((total > 0) != (present > 0)).any():
        raise stored["present"].wrong("the number of rows at its places")
    rows = rows * np.repeat(np.divide(present, total, out=np.ones(count), where=total > 0), sizes)
    for part, each_exact, marks in zip(parts(sizes), exact.tolist(), _read_marks(stored, count), strict=True):
        yield places[part], rows[part], each_exact, marks


def _read_marks(stored: Stored, count: int) -> Iterator[Marks]:
    low, high = (
        stored[name].unpacked(count, folded=True, gaps=True, least=-MAX, most=MAX) for name in ("low", "high")
    )
    if (low > high).any():
        raise stored["low"].wrong(f"at most {stored['high'].path}")
    below = stored["below_zero"].unpacked(count, folded=True, least=0)
    sizes = stored["grains"].unpacked(count, "<u1", folded=True).astype(np.intp)
    if not np.isin(sizes, GRAINS).all():
        raise stored["grains"].wrong(f"{' or '.join(map(str, GRAINS))} for each column")
    grain = stored["grain"].unpacked(int(sizes.sum()), folded=True, least=0).tolist()
    units = read_coded(stored["units"], count, Stored.texts)
    for low_, high_, below_, part, units_ in zip(
        low.tolist(), high.tolist(), below.tolist(), parts(sizes), units, strict=True
    ):
        yield Marks(low_, high_, below_, tuple(grain[part]), units_)


def _finite(values: Sequence[float]) -> FloatArray:
    """Return numbers; NaN for those that are none."""
    found = np.array(values)
    return np.where(np.isfinite(found), found, np.nan)


def joined(arrays: Iterable[Any]) -> FloatArray:
    """Return the numbers of arrays one after the other."""
    return np.concatenate([np.empty(0), *arrays])


def parts(sizes: Any) -> list[slice]:
    """Return where parts of some sizes are that follow one another."""
    ends = np.cumsum(sizes)
    return [slice(*each) for each in zip((ends - sizes).tolist(), ends.tolist(), strict=True)]


def steps_within(values: FloatArray, sizes: Any) -> FloatArray:
    """Return the steps from one value to the next in parts of some sizes."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    found: FloatArray = np.diff(values)[owner[1:] == owner[:-1]]
    return found


def sums_within(values: FloatArray, sizes: Any) -> FloatArray:
    """Return the sums of parts of some sizes, each as NumPy sums it by itself: the order of terms matters."""
    starts, found = np.cumsum(sizes) - sizes, np.zeros(len(sizes))
    for size in np.unique(sizes).tolist():
        some = np.flatnonzero(sizes == size)
        found[some] = values[starts[some][:, None] + np.arange(size)].sum(axis=1)
    return found
