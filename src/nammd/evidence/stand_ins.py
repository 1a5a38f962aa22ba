"""Kernel values between rows, or groups of rows, that stand for a sample: `SampleStandIns`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, take_rows, to_numpy
from nammd.data.sampling import REPRESENTATIVES, Positions, representatives
from nammd.engines.blas import single_threaded_blas
from nammd.engines.units import Units
from nammd.kernels import Kernel
from nammd.spaces import Sample
from nammd.statistics.grams import unit_eigenvalue

ROWS = REPRESENTATIVES
"""About so many rows stand for a sample, spread over its groups; two at least of a group that has them."""


SINGLE_VALUES = 1 << 19
"""With more kernel values than this they are float32: averages of them are corrections, and need no more."""


def kernel_values(kernel: Kernel, x: Array, y: Array) -> FloatArray:
    """Return the kernel values between rows that stand for samples."""
    rows, columns = int(x.shape[0]), int(y.shape[0])
    if rows * columns <= SINGLE_VALUES:
        return to_numpy(kernel(x, y))
    with single_threaded_blas:  # the same bits on any number of cores
        return to_numpy(kernel.bind(x, y, "float32").tile(slice(0, rows), slice(0, columns), None))


@dataclass(frozen=True, eq=False)
class SampleStandIns:
    """Units that stand for a sample, and sums of kernel values between them, evaluated when asked for.

    Of large groups some rows stand for all; their weights are raised to the weight of the group.

    Attributes
    ----------
    sample : Sample
        The sample.
    kernel : Kernel
        The kernel.
    units : Units or None
        Its groups; None where every row is a unit.
    """

    sample: Sample
    kernel: Kernel
    units: Units | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _ = self.rows  # now: what the caller does to the data later must not change an interval

    @cached_property
    def chosen(self) -> Positions:
        """Which units stand for the sample.

        By the order in which they are met in the data, so that rows which are groups of their own are those
        that would stand for the sample without groups.
        """
        if self.units is None:
            return self.sample.representatives[0]
        count = len(self.units)
        most = ROWS if len(self.units.labels) < 1.5 * count else ROWS // 2
        some = representatives(count, most)
        if self.sample.units is None:
            return some
        _, met = np.unique(self.sample.units.codes, return_index=True)
        return np.sort(np.argsort(met)[some])

    @cached_property
    def rows(self) -> tuple[Array, Any, NDArray[np.intp]]:
        """Some rows of these units, the matrix that sums by unit, and how many rows each has."""
        if self.units is None:
            return self.sample.representatives[1], None, np.ones(len(self.chosen), np.intp)
        from scipy.sparse import csr_array

        units, most = self.units, max(ROWS // len(self.chosen), 1)
        rng, places, weights, counts = np.random.default_rng(0), [], [], []
        for group in self.chosen:
            start, count = int(units.starts[group]), int(units.rows[group])
            few = np.arange(count) if count <= most else np.sort(rng.choice(count, most, replace=False))
            own = units.row_weights[start + few]
            places.append(start + few)
            weights.append(own * (units.sizes[group] / own.sum()))
            counts.append(len(few))
        every, total = np.concatenate(places), np.array(counts, dtype=np.intp)
        edges = np.r_[0, np.cumsum(total)]
        adder = csr_array(
            (np.concatenate(weights), np.arange(len(every)), edges), shape=(len(total), len(every))
        )
        order = None if self.sample.units is None else self.sample.units.order
        positions = every if order is None else order[every]
        return take_rows(self.sample.points, positions), adder, total

    @property
    def sizes(self) -> FloatArray:
        """The sizes of the units that stand for the sample."""
        return np.ones(len(self.chosen)) if self.units is None else self.units.sizes[self.chosen]

    @property
    def values(self) -> FloatArray:
        """The sums between the groups; on the diagonal those within a group, a row with itself included."""
        return self._sums[0]

    @cached_property
    def in_group(self) -> float:
        """The mean kernel value of two rows of one group; NaN where no group has two."""
        sums, itself = self._sums
        assert self.units is not None
        pairs = self.sizes**2 - self._squares
        several = (self.units.rows[self.chosen] > 1) & (self.rows[2] > 1)
        apart = np.diagonal(sums) - self._squares * itself
        return float(apart[several].sum() / pairs[several].sum()) if several.any() else math.nan

    @property
    def _squares(self) -> FloatArray:
        """The sum of the squared weights of the rows of each group."""
        assert self.units is not None
        squares: FloatArray = np.add.reduceat(self.units.row_weights**2, self.units.starts)[self.chosen]
        return squares

    @cached_property
    def _sums(self) -> tuple[FloatArray, FloatArray]:
        """The sums, and for each group the mean kernel value of a row with itself."""
        points, adder, counts = self.rows
        gram = kernel_values(self.kernel, points, points)
        if self.units is None:
            return gram, np.diagonal(gram)
        found: FloatArray = adder @ (adder @ gram.T).T
        # Of a group that only some rows stand for: how alike two of its rows are, and rows with themselves.
        first = np.r_[0, np.cumsum(counts)[:-1]]
        own = np.add.reduceat(gram, first, axis=1)[
            np.arange(len(gram)), np.repeat(np.arange(len(counts)), counts)
        ]
        own, alone = np.add.reduceat(own, first), np.add.reduceat(np.diagonal(gram), first)
        part = (counts > 1) & (counts < self.units.rows[self.chosen])
        alike = (own - alone)[part] / (counts * (counts - 1))[part]
        sizes, squares = self.sizes[part], self._squares[part]
        places = np.flatnonzero(part)
        found[places, places] = (sizes**2 - squares) * alike + squares * (alone / counts)[part]
        return found, alone / counts

    @cached_property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator of a unit of the effective size."""
        every = np.ones(self.sample.size) if self.units is None else self.units.sizes
        return unit_eigenvalue(self.values, self.sizes, every)

    def forget(self) -> None:
        """Let go of the sums between these; they are evaluated again where they are asked for."""
        vars(self).pop("_sums", None)

    def between(self, other: SampleStandIns) -> FloatArray:
        """Return the sums of kernel values with the units that stand for another sample."""
        (points, adder, _), (others, lower, _) = self.rows, other.rows
        gram = kernel_values(self.kernel, points, others)
        if self.units is None:
            return gram
        found: FloatArray = adder @ (lower @ gram.T).T
        return found
