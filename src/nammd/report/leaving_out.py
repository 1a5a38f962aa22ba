"""The distance of two samples with a column left out, under a kernel that fits what is left.

With a column fewer, rows are nearer to each other. So the bandwidth is scaled by the ratio of the median
distances between rows, without the column and with it: a bandwidth that was twice the median stays so.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from nammd.data.arrays import FloatArray, like
from nammd.kernels import Kernel
from nammd.kernels.bandwidth import drawn_rows
from nammd.kernels.operations import for_columns
from nammd.questions.distance import Estimate, distance
from nammd.report.model import DistanceInterval

NOTHING = DistanceInterval(0.0, 0.0, 0.0)
"""The distance of columns that do not vary."""

# Rows that the median distance is taken from, once with every column left out.
_BANDWIDTH_ROWS = 500

Found: TypeAlias = Estimate | DistanceInterval
"""A distance whose interval, the costly part, may not have been worked out yet."""


def measured(found: Found) -> DistanceInterval:
    """Return a distance with its 95 % interval."""
    if isinstance(found, DistanceInterval):
        return found
    return DistanceInterval(found.value, *found.confidence_interval(0.95))


class WithoutColumns:
    """Measures the distance of two samples without some of their columns.

    Parameters
    ----------
    x, y : array
        The samples: rows of those that the estimate was made from.
    estimate : Estimate
        Where the kernel and the statistic come from.
    grouping : dict, optional
        Which rows belong together, and how much each counts, as `distance` takes it.
    """

    def __init__(
        self, x: FloatArray, y: FloatArray, estimate: Estimate, grouping: dict[str, Any] | None = None
    ) -> None:
        self.x, self.y, self.estimate, self.grouping = x, y, estimate, grouping or {}

    @cached_property
    def together(self) -> DistanceInterval:
        """The distance of all columns."""
        return measured(self._own_kernel(self.x, self.y))

    def without(self, slots: slice) -> Found | None:
        """Return the distance without the columns in `slots`; None where no others are left."""
        keep = np.delete(np.arange(self.x.shape[1]), slots)
        if not keep.size:
            return None
        try:
            kernel = for_columns(self.estimate.kernel, self._rows, keep)
        except ValueError:  # nothing varies in the other columns
            return NOTHING
        if kernel is not None:
            return self._distance(self.x[:, keep], self.y[:, keep], kernel)
        # A kernel of the user's own may insist on all its columns: hold these constant instead.
        x, y = self.x.copy(), self.y.copy()
        x[:, slots] = y[:, slots] = self._rows[:, slots].mean(axis=0)
        return self._own_kernel(x, y)

    @cached_property
    def _rows(self) -> FloatArray:
        return drawn_rows([self.x, self.y], [], _BANDWIDTH_ROWS)

    def _own_kernel(self, x: FloatArray, y: FloatArray) -> Estimate:
        # A kernel of the user's own may know one kind of array only: the kind it was given.
        home = self.estimate.data[0]
        return self._distance(like(x, home), like(y, home), self.estimate.kernel)

    def _distance(self, x: Any, y: Any, kernel: Kernel) -> Estimate:
        return distance(x, y, kernel=kernel, metric=self.estimate.metric, **self.grouping)
