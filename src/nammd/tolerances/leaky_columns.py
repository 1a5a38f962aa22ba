"""Columns that tell too much: those that alone tell two datasets apart, or by which rows are ordered.

Both make a tolerance meaningless. If the time of arrival takes part, every month is as far from every other
as can be, and whatever happens in the other columns is within the tolerance. If rows are sorted by a column,
blocks of consecutive rows differ by the sorting, and not by what changes in time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.encoding import Column, Encoding

APART = 0.98
"""A column tells two datasets apart if a value of the one is above one of the other so often, or never."""

SHARES_APART = 0.95
"""The same of categories and missing values: the largest difference of shares."""

ORDERED = 0.5
"""Rows are ordered by a column if blocks of them explain so much of its variance."""

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
    found = []
    for column in encoding.columns:
        slots = encoding.slots(column.name)
        if _apart(column, x[:, slots], y[:, slots]):
            found.append(Separating(column.name, _arrives(column, x[:, slots], y[:, slots])))
    return tuple(found)


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
    return most if explained[most] > ORDERED else None


def _some(points: FloatArray) -> FloatArray:
    """Return evenly spaced rows, in their order; more would not tell more."""
    step = -(-len(points) // _ROWS)
    return points[::step]


def _apart(column: Column, x: FloatArray, y: FloatArray) -> bool:
    flagged = column.labels[-1] == "missing"
    if flagged and abs(x[:, -1].mean() - y[:, -1].mean()) >= SHARES_APART * column.weight:
        return True
    if column.kind in ("categorical", "boolean"):
        here, there = (slots[slots[:, -1] == 0] if flagged else slots for slots in (x, y))
        return _labels_apart(here, there) >= SHARES_APART
    if column.kind not in ("numeric", "datetime"):
        return False  # of a vector no single number speaks
    return not 1 - APART < _above(_present(column, x), _present(column, y)) < APART


def _labels_apart(x: FloatArray, y: FloatArray) -> float:
    """Return the largest difference of the shares of labels, beyond what chance makes of very many labels.

    Rows are encoded alike if and only if they have the same label. Two samples of names that hardly ever
    come twice have few in common, whatever they were drawn from; so both are compared with themselves,
    shuffled.
    """
    if min(len(x), len(y)) < _LEAST:
        return 0.0
    _, labels = np.unique(np.concatenate([x, y]), axis=0, return_inverse=True)
    labels = labels.reshape(-1)
    seen, chance = (
        _total_variation(each, len(x)) for each in (labels, np.random.default_rng(0).permutation(labels))
    )
    return (seen - chance) / (1.0 - chance) if chance < 1.0 else 0.0


def _total_variation(labels: NDArray[np.intp], first: int) -> float:
    """Return the total variation between the first of some labels and the others."""
    one, two = (
        np.bincount(part, minlength=int(labels.max()) + 1) / len(part)
        for part in (labels[:first], labels[first:])
    )
    return float(np.abs(one - two).sum() / 2)


def _present(column: Column, slots: FloatArray) -> FloatArray:
    values = slots[:, 0]
    present: FloatArray = values[slots[:, -1] == 0] if column.labels[-1] == "missing" else values
    return present


def _above(x: FloatArray, y: FloatArray) -> float:
    """Return how often a value of y is above one of x, ties counting half; one half where there are few."""
    if min(len(x), len(y)) < _LEAST:
        return 0.5
    ordered = np.sort(x)
    below = np.searchsorted(ordered, y, "left") + np.searchsorted(ordered, y, "right")
    return float(below.mean() / (2 * len(x)))


def _arrives(column: Column, x: FloatArray, y: FloatArray) -> str:
    if column.kind == "datetime":
        return "time"
    values = [_present(column, slots) for slots in (x, y)]
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
