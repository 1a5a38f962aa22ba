"""Rows in units: what an engine is told about groups of rows, and the sums that it returns.

Rows of one unit belong together, so pairs of rows within a unit are left out, and what is left is summed
over pairs of units as well as for every row. With ``K_gh`` the sum of ``w_i w_j k(i, j)`` over the rows i of
unit g and j of unit h, all that a test needs of the matrix K are its row sums, the same weighted by the sizes
of the units, and its sum of squares: numbers in proportion to the rows, never the matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray

Labels = NDArray[np.intp]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Units:
    """Which rows of a sample belong together; the rows are in the order of their units.

    Attributes
    ----------
    labels : array of int of shape (rows,)
        The number of each row's unit, ascending. Two samples with a number in common share that unit.
    weights : array of shape (rows,), or None
        How much each row counts; None where all count alike.
    reach : int
        Pairs of units whose numbers differ by at most this are left out: 0 leaves out the pairs within a
        unit, 1 those of neighbours in time as well.
    """

    labels: Labels = field(repr=False)
    weights: FloatArray | None = field(default=None, repr=False)
    reach: int = 0
    _looks: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def starts(self) -> Labels:
        """The position of the first row of each unit."""
        return np.flatnonzero(np.r_[True, np.diff(self.labels) > 0]) if len(self.labels) else self.labels

    @cached_property
    def numbers(self) -> Labels:
        """The numbers of the units, ascending."""
        return self.labels[self.starts]

    @cached_property
    def rows(self) -> Labels:
        """How many rows each unit has."""
        rows: Labels = np.diff(np.r_[self.starts, len(self.labels)])
        return rows

    @cached_property
    def row_weights(self) -> FloatArray:
        """How much each row counts; ones where all count alike."""
        return np.ones(len(self.labels)) if self.weights is None else self.weights

    @cached_property
    def sizes(self) -> FloatArray:
        """The sum of the weights of each unit's rows."""
        return self.totals(np.ones(len(self.labels)))

    @cached_property
    def plain(self) -> bool:
        """Whether every row is a unit of its own, and all count alike."""
        return self.weights is None and len(self) == len(self.labels)

    def totals(self, values: FloatArray) -> FloatArray:
        """Return the weighted sum of the values of each unit's rows."""
        sums: FloatArray = np.add.reduceat(self.row_weights * values, self.starts)
        return sums

    def looked_at(self, look: Callable[[Units], T]) -> T:
        """Return what a look at the units tells, which is taken the first time that somebody asks for it."""
        if look not in self._looks:
            self._looks[look] = look(self)
        found: T = self._looks[look]
        return found

    def has_been_looked_at(self, look: Callable[[Units], Any]) -> bool:
        """Tell whether that has been asked for."""
        return look in self._looks

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, eq=False)
class UnitWithin:
    """Sums over the pairs of units of one sample.

    Attributes
    ----------
    rows : array of shape (rows,)
        For every row: the sum of ``w_j k(i, j)`` over the rows of other units.
    sized : array of shape (units,)
        For every unit g: the sum of ``K_gh s_h`` over the other units, s being their sizes.
    squares : float
        The sum of ``K_gh²``.
    features : array or None
        The weighted sum of the features of all rows, where the kernel has some.
    """

    rows: FloatArray
    sized: FloatArray
    squares: float
    features: FloatArray | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class UnitCross:
    """Sums over the pairs of a unit of x and a unit of y, less units that are in both.

    Attributes
    ----------
    rows, cols : array
        For every row of x, and of y: the weighted sum of kernel values with the rows of the other sample.
    sized_rows, sized_cols : array
        For every unit of x: the sum of ``K_gh t_h``; for every unit of y: that of ``s_g K_gh``.
    squares : float
        The sum of ``K_gh²``.
    """

    rows: FloatArray
    cols: FloatArray
    sized_rows: FloatArray
    sized_cols: FloatArray
    squares: float


@dataclass(frozen=True, eq=False)
class UnitSums:
    """All that is kept of the Gram matrices of two samples whose rows are in units.

    Attributes
    ----------
    x, y : UnitWithin
        Sums over the pairs of units within each sample.
    cross : UnitCross
        Sums over the pairs of a unit of x and a unit of y.
    units : tuple of two Units
        The units of x and of y.
    bound : float
        The bound of the kernel.
    """

    x: UnitWithin
    y: UnitWithin
    cross: UnitCross
    units: tuple[Units, Units]
    bound: float

    @property
    def plain(self) -> bool:
        """Whether every row of both samples is a unit of its own, so that units are nothing but rows."""
        return all(units.plain for units in self.units) and not len(self.common[0])

    @cached_property
    def common(self) -> tuple[Labels, Labels]:
        """The places, in x and in y, of the units that are in both; blocks in time are never."""
        one, two = self.units
        if one.reach or two.reach:
            nothing = np.empty(0, np.intp)
            return nothing, nothing
        _, x, y = np.intersect1d(one.numbers, two.numbers, assume_unique=True, return_indices=True)
        return x, y
