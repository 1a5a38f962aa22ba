"""The distance of two samples with a column left out, under a kernel that fits what is left.

With a column fewer, rows are nearer to each other. So the bandwidth is scaled by the ratio of the median
distances between rows, without the column and with it: a bandwidth that was twice the median stays so.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray, like
from nammd.kernels import Gaussian, Kernel, Laplace, Mahalanobis
from nammd.kernels.bandwidth import median_distance, pooled_rows
from nammd.kernels.base import Scaled, Sum
from nammd.questions.distance import Estimate, distance
from nammd.report.model import Measured

NOTHING = Measured(0.0, 0.0, 0.0)
"""The distance of columns that do not vary."""

# Rows that the median distance is taken from, once with every column left out.
_BANDWIDTH_ROWS = 500

Found: TypeAlias = Estimate | Measured
"""A distance whose interval, the costly part, may not have been worked out yet."""


def measured(found: Found) -> Measured:
    """Return a distance with its 95 % interval."""
    if isinstance(found, Measured):
        return found
    return Measured(found.value, *found.confidence_interval(0.95))


class LeftOut:
    """Measures the distance of two samples without some of their columns.

    Parameters
    ----------
    x, y : array
        The samples: rows of those that the estimate was made from.
    estimate : Estimate
        Where the kernel and the statistic come from.
    """

    def __init__(self, x: FloatArray, y: FloatArray, estimate: Estimate) -> None:
        self.x, self.y, self.estimate = x, y, estimate

    @cached_property
    def together(self) -> Measured:
        """The distance of all columns."""
        return measured(self._own_kernel(self.x, self.y))

    def without(self, slots: slice) -> Found | None:
        """Return the distance without the columns in `slots`; None where no others are left."""
        keep = np.delete(np.arange(self.x.shape[1]), slots)
        if not keep.size:
            return None
        try:
            kernel = shrunk(self.estimate.kernel, self._rows, keep)
        except ValueError:  # nothing varies in the other columns
            return NOTHING
        if kernel is not None:
            return distance(
                self.x[:, keep], self.y[:, keep], kernel=kernel, statistic=self.estimate.statistic
            )
        # A kernel of the user's own may insist on all its columns: hold these constant instead.
        x, y = self.x.copy(), self.y.copy()
        x[:, slots] = y[:, slots] = self._rows[:, slots].mean(axis=0)
        return self._own_kernel(x, y)

    @cached_property
    def _rows(self) -> FloatArray:
        return pooled_rows(self.x, self.y, max_rows=_BANDWIDTH_ROWS)

    def _own_kernel(self, x: FloatArray, y: FloatArray) -> Estimate:
        # A kernel of the user's own may know one kind of array only: the kind it was given.
        home = self.estimate.data[0]
        return distance(
            like(x, home),
            like(y, home),
            kernel=self.estimate.kernel,
            statistic=self.estimate.statistic,
        )


def shrunk(kernel: Kernel, rows: FloatArray, keep: NDArray[np.intp]) -> Kernel | None:
    """Return a kernel for the columns `keep`, its bandwidth scaled to the distances between rows there.

    None where the kernel has no bandwidth that could be scaled. Raises a ValueError where nothing
    varies in those columns.
    """
    match kernel:
        case Gaussian():
            return Gaussian(kernel.bandwidth * _ratio(rows[:, keep], rows, "euclidean"))
        case Laplace():
            return Laplace(kernel.bandwidth * _ratio(rows[:, keep], rows, "cityblock"))
        case Mahalanobis():
            part, whole = Mahalanobis(kernel.matrix[np.ix_(keep, keep)]), Mahalanobis(kernel.matrix)
            ratio = _ratio(part.embed(rows[:, keep]), whole.embed(rows), "euclidean")
            return Mahalanobis(part.matrix, kernel.bandwidth * ratio)
        case Scaled():
            inner = shrunk(kernel.kernel, rows, keep)
            return None if inner is None else Scaled(inner, kernel.factor)
        case Sum():
            terms = [shrunk(term, rows, keep) for term in kernel.terms]
            known = tuple(term for term in terms if term is not None)
            return Sum(known) if len(known) == len(terms) else None
    return None


def _ratio(part: Any, whole: Any, metric: Literal["euclidean", "cityblock"]) -> float:
    return median_distance(part, metric) / median_distance(whole, metric)
