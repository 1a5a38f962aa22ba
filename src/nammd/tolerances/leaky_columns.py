"""Columns that tell too much: those that alone tell two datasets apart, or by which rows are ordered.

Both make a tolerance meaningless. If the time of arrival takes part, every month is as far from every other
as can be, and whatever happens in the other columns is within the tolerance. If rows are sorted by a column,
blocks of consecutive rows differ by the sorting, and not by what changes in time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.encoding import Column, Encoding
from nammd.tolerances.perturbation import distinct_rows

APART = 0.98
"""A column tells two datasets apart if a value of the one is above one of the other so often, or never."""

SHARES_APART = 0.95
"""The same of categories and missing values: the largest difference of shares."""

ORDERED = 0.5
"""Rows are ordered by a column if blocks of them explain so much of its variance."""

_CHANCE = 1e-4
"""That is, unless some column of rows in no order does so with at least this probability."""

_AT_ONCE = 1 << 20
"""So many values of both datasets are put into order together."""

_BLOCKS, _LEAST, _ROWS = 20, 5, 20_000
_STEADY = 0.99


@dataclass(frozen=True)
class Separating:
    """A column that alone tells two datasets apart.

    Attributes
    ----------
    column : str
        Its name.
    arrives : str
        What it is if it only moves forward, as rows arrive: ``"time"``, ``"counter"``, or empty.
    """

    column: str
    arrives: str

    def sentence(self) -> str:
        """Say what it looks like."""
        return {
            "time": f"{self.column!r} is a time that only moves forward, as that of arrival does",
            "counter": f"{self.column!r} is a number that only moves forward, as a counter does",
            "": f"the values of {self.column!r} hardly overlap",
        }[self.arrives]


def separating(encoding: Encoding, x: FloatArray, y: FloatArray) -> tuple[Separating, ...]:
    """Return the columns that alone tell two encoded datasets apart, or nearly."""
    x, y = _some(x), _some(y)
    found = {column.name for column in _missing_apart(encoding, x, y)}
    found |= {column.name for column in _numbers_apart(encoding, x, y)}
    for column in encoding.columns:  # of a vector no single number speaks
        if column.kind in ("categorical", "boolean") and column.name not in found:
            slots = encoding.slots(column.name)
            here, there = (_with_value(column, points[:, slots]) for points in (x, y))
            if _labels_apart(here, there) >= SHARES_APART:
                found.add(column.name)
    return tuple(
        Separating(
            column.name, _arrives(column, *(points[:, encoding.slots(column.name)] for points in (x, y)))
        )
        for column in encoding.columns
        if column.name in found
    )


def ordered_by(encoding: Encoding, x: FloatArray) -> Column | None:
    """Return the column by which encoded rows are ordered, the most so; None if there is none."""
    blocks = min(_BLOCKS, len(x) // _LEAST)
    if blocks < 2:
        return None
    explained = {
        column: max(
            _explained(values, blocks) for values in _rankings(column, x[:, encoding.slots(column.name)])
        )
        for column in encoding.columns
    }
    most = max(explained, key=lambda column: explained[column])
    return most if explained[most] > max(ORDERED, _by_chance(len(x), blocks, len(explained))) else None


def _by_chance(rows: int, blocks: int, columns: int) -> float:
    """Return how much of a variance blocks explain in any of some columns by chance, hardly ever more."""
    from scipy.special import betainccinv

    # The share that is between groups of normal numbers has a beta distribution.
    return float(betainccinv((blocks - 1) / 2, (rows - blocks) / 2, _CHANCE / columns))


def _some(points: FloatArray) -> FloatArray:
    """Return evenly spaced rows, in their order; more would not tell more."""
    step = -(-len(points) // _ROWS)
    return points[::step]


def _missing_apart(encoding: Encoding, x: FloatArray, y: FloatArray) -> Iterator[Column]:
    """Yield the columns of which values are missing in one dataset and not in the other."""
    columns = [column for column in encoding.columns if column.labels[-1] == "missing"]
    flags = [encoding.slots(column.name).stop - 1 for column in columns]
    here, there = (np.ascontiguousarray(points[:, flags].T).mean(axis=1) for points in (x, y))
    weights = np.array([column.weight for column in columns])
    yield from compress(columns, np.abs(here - there) >= SHARES_APART * weights)


def _numbers_apart(encoding: Encoding, x: FloatArray, y: FloatArray) -> Iterator[Column]:
    """Yield the columns of numbers or times whose values are nearly always larger in one dataset."""
    columns = [column for column in encoding.columns if column.kind in ("numeric", "datetime")]
    step = max(_AT_ONCE // (len(x) + len(y)), 1)
    for start in range(0, len(columns), step):
        some = columns[start : start + step]
        above = _above(*(_present(encoding, some, points) for points in (x, y)))
        yield from compress(some, (above <= 1 - APART) | (above >= APART))


def _with_value(column: Column, slots: FloatArray) -> FloatArray:
    """Return the rows of a column that have a value."""
    return slots[slots[:, -1] == 0] if column.labels[-1] == "missing" else slots


def _labels_apart(x: FloatArray, y: FloatArray) -> float:
    """Return the largest difference of the shares of labels, beyond what chance makes of very many labels.

    Where the difference itself is below `SHARES_APART` it is returned as it is.

    Rows are encoded alike if and only if they have the same label. Two samples of names that hardly ever
    come twice have few in common, whatever they were drawn from; so both are compared with themselves,
    shuffled.
    """
    if min(len(x), len(y)) < _LEAST:
        return 0.0
    _, labels = distinct_rows(np.concatenate([x, y]))
    seen = _total_variation(labels, len(x))
    if seen < SHARES_APART:  # nor is what is beyond chance as large
        return seen
    chance = _total_variation(np.random.default_rng(0).permutation(labels), len(x))
    return (seen - chance) / (1.0 - chance) if chance < 1.0 else 0.0


def _total_variation(labels: NDArray[np.intp], first: int) -> float:
    """Return the total variation between the first of some labels and the others."""
    one, two = (
        np.bincount(part, minlength=int(labels.max()) + 1) / len(part)
        for part in (labels[:first], labels[first:])
    )
    return float(np.abs(one - two).sum() / 2)


def _present(encoding: Encoding, columns: Sequence[Column], points: FloatArray) -> FloatArray:
    """Return the encoded values of columns of numbers, one in each row; NaN where they are missing."""
    slots = [encoding.slots(column.name) for column in columns]
    found: FloatArray = np.ascontiguousarray(points[:, [own.start for own in slots]].T)
    flagged = [k for k, column in enumerate(columns) if column.labels[-1] == "missing"]
    missing = points[:, [slots[k].stop - 1 for k in flagged]].T != 0
    found[flagged] = np.where(missing, np.nan, found[flagged])
    return found


def _above(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return how often values of y are above those of x, column by column; one half where there are few.

    Columns are the rows of both; ties count half, and NaN not at all.
    """
    both = np.concatenate([x, y], axis=1)
    order = np.argsort(both, axis=1)
    ordered = np.take_along_axis(both, order, axis=1)
    here = (order < x.shape[1]) & ~np.isnan(ordered)
    there = (order >= x.shape[1]) & ~np.isnan(ordered)
    reached = np.cumsum(here, axis=1)
    new = np.diff(ordered, axis=1, prepend=-np.inf) != 0
    last = np.append(new[:, 1:], np.ones((len(new), 1), dtype=bool), axis=1)
    below = np.maximum.accumulate(np.where(new, reached - here, 0), axis=1)
    upto = np.minimum.accumulate(np.where(last, reached, both.shape[1])[:, ::-1], axis=1)[:, ::-1]
    ours, theirs = here.sum(axis=1), there.sum(axis=1)
    means = ((below + upto) * there).sum(axis=1) / np.maximum(theirs, 1)
    return np.where(np.minimum(ours, theirs) < _LEAST, 0.5, means / np.maximum(2 * ours, 1))


def _arrives(column: Column, x: FloatArray, y: FloatArray) -> str:
    if column.kind == "datetime":
        return "time"
    values = [_with_value(column, slots)[:, 0] for slots in (x, y)]
    if column.kind != "numeric" or any(len(v) < _LEAST for v in values):
        return ""
    steps = [np.diff(v) for v in values]
    return "counter" if all(np.mean(step > 0) >= _STEADY for step in steps) else ""


def _rankings(column: Column, slots: FloatArray) -> list[FloatArray]:
    """Return numbers by which rows could be ordered: the ranks of values, and flags."""
    found = [slots[:, k] for k in range(slots.shape[1])]
    if column.kind in ("numeric", "datetime"):
        found[0] = np.searchsorted(np.sort(found[0]), found[0]).astype(np.float64)
    return found


def _explained(values: FloatArray, blocks: int) -> float:
    """Return the share of the variance of some values that is between consecutive blocks of them."""
    total = float(values.var())
    if not total > 0:
        return 0.0
    parts = np.array_split(values, blocks)
    between = sum(len(part) * (part.mean() - values.mean()) ** 2 for part in parts) / len(values)
    return float(between / total)
