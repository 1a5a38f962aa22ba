"""Numbers of any magnitude: what is too large to compute with, and arithmetic that holds for the rest.

Arrays hold numbers of up to `LARGEST`; the door refuses what is beyond, by its row and column. Of what is
left, differences are always numbers, but squares need not be: those of 1e200 are beyond all numbers, and
those of 1e-200 are zero. So whoever squares brings numbers to a moderate size before, by a power of two,
which changes no digit.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, is_spread, namespace, take_rows, to_numpy
from nammd.data.sampling import representatives

LARGEST = 1e300
"""Numbers beyond this are refused. There is room above for sums of a hundred million of them."""

_SQUARES_ARE_SAFE = 1e-100, 1e100


class OutOfReach(ValueError):
    """Some row is so far out, beside the bandwidth, that the arithmetic of a kernel cannot hold it."""


def within_limits(array: Array) -> bool:
    """Tell whether all numbers of an array are finite, and none is too large."""
    xp = namespace(array)
    return float(xp.max(array)) <= LARGEST and float(xp.min(array)) >= -LARGEST  # NaN is neither


def first_beyond(block: NDArray[Any]) -> tuple[int, int, float] | None:
    """Return the row, the column and the value of the first number that is too large; None without one."""
    if block.dtype == np.float32:
        return None
    with np.errstate(invalid="ignore"):
        rows, columns = np.nonzero((np.abs(block) > LARGEST) & np.isfinite(block))
    return (int(rows[0]), int(columns[0]), float(block[rows[0], columns[0]])) if len(rows) else None


def too_large(name: str, row: int, column: int, value: float) -> ValueError:
    """Return the error that names a number which is too large."""
    return ValueError(
        f"{name} has {value:.4g} in row {row}, column {column} (counted from 0), beyond {LARGEST:g}, where "
        "sums are no numbers any more; if it stands for a missing value drop the row, else divide the column "
        "by a number such as 1e100 in all datasets"
    )


def farthest(points: Array) -> tuple[float, int, int, float]:
    """Return how far out the farthest number is, beside the median of its column; its row, column and value.

    It is asked for when something is wrong, so it may take its time.
    """
    if not is_spread(points):
        every = to_numpy(points)
        return _farthest(every, np.median(every, axis=0))
    from nammd.data.pieces import Pieces, is_mapped

    middle = np.median(take_rows(points, representatives(int(points.shape[0]))), axis=0)
    pieces, sizes = (points, points.sizes) if is_mapped(points) else (Pieces.of(points), points.chunks[0])
    found = pieces.each(partial(_farthest, middle=middle))
    starts = np.cumsum([0, *sizes])
    moved = [(far, int(start) + row, *rest) for (far, row, *rest), start in zip(found, starts, strict=False)]
    return max(moved)


def _farthest(rows: NDArray[Any], middle: FloatArray) -> tuple[float, int, int, float]:
    apart = np.abs(rows - middle)
    row, column = divmod(int(apart.argmax()), rows.shape[1])
    return float(apart[row, column]), row, column, float(rows[row, column])


def unit_of(*values: FloatArray, axis: int | None = None) -> Any:
    """Return the power of two in which the largest of some values is between 1 and 2; 1 where all are 0."""
    largest = reduce(np.maximum, (np.abs(each).max(axis=axis, initial=0.0) for each in values))
    return np.where(largest > 0, np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)


def deviation(values: FloatArray, axis: int | None = None) -> Any:
    """Return the standard deviation of values of any magnitude.

    >>> import numpy as np
    >>> float(deviation(np.array([1e-200, 3e-200])) / 1e-200), float(deviation(np.array([-1e300, 1e300])))
    (1.0, 1e+300)
    """
    if not values.size:
        return values.std(axis=axis)
    low, high = _SQUARES_ARE_SAFE
    if low < np.abs(values).max() < high and axis is None:
        return values.std()
    unit = unit_of(values, axis=axis)
    return (values / unit).std(axis=axis) * unit
