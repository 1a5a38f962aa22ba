"""Units one by one, as a side of a pair: `Atoms`.

A unit is a row, a group of rows that belong together (a customer, a patient, a block of time), or a place
where several rows are. Rows of one unit depend on each other, so pairs of rows within a unit are left out of
every mean, and variances are those of *units*: the jackknife, which leaves out one unit at a time, less what
pairs of units add to it. Single rows are units of one row each; for them these are the unbiased estimates of
``docs/statistics.md``, and no formula is there twice.

A sample of units of different sizes acts like one of fewer units of equal size. Averages are given for that
effective number, ``(sum s)² / sum s²``, and so all that is made of them holds for units as for rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.statistics.moments import Components, Jackknife, freedom

Places = NDArray[np.intp]

LEAST = 4.0
"""The smallest effective number of units that the corrections for few units are made for."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """One sample of a pair by its units.

    Attributes
    ----------
    sizes : array
        The weight of the rows of each unit.
    own, other : array
        For every unit: the weighted sum of kernel values with the other units of its sample, and with those
        of the other sample.
    own_sized, other_sized : array
        The same, every unit there counting by its size once more.
    squares : float
        The sum of the squared kernel sums of two units of the sample.
    partners : array or float
        For every unit: the weight of the other sample's rows that it was compared with.
    rows : int
        The number of rows.
    counts : array or None
        How many units of each kind there are; None where every one is by itself.
    numbers, reach : array and int
        Of blocks of time: their numbers, and how far neighbours depend on each other.
    in_unit : float
        The mean kernel value of two rows of one unit; NaN where that is not known.
    """

    sizes: FloatArray = field(repr=False)
    own: FloatArray = field(repr=False)
    other: FloatArray = field(repr=False)
    own_sized: FloatArray = field(repr=False)
    other_sized: FloatArray = field(repr=False)
    squares: float
    partners: FloatArray | float = field(repr=False)
    rows: int
    counts: FloatArray | None = field(default=None, repr=False)
    numbers: Places | None = field(default=None, repr=False)
    reach: int = 0
    in_unit: float = float("nan")

    def sum(self, values: FloatArray) -> float:
        """Return the sum over all units."""
        return float(values.sum() if self.counts is None else self.counts @ values)

    def dot(self, one: FloatArray, other: FloatArray) -> float:
        """Return the sum of products over all units."""
        return float(one @ other if self.counts is None else (self.counts * one) @ other)

    def others(self, values: FloatArray) -> FloatArray:
        """Return, for every unit, the sum of the values of the units that it was compared with."""
        rest: FloatArray = self.sum(values) - values
        for step in range(1, self.reach + 1):
            assert self.numbers is not None
            # Numbers ascend; a neighbour may be missing, where a block of time has no rows.
            for shift in range(1, step + 1):
                near = self.numbers[shift:] - self.numbers[:-shift] == step
                rest[:-shift] -= np.where(near, values[shift:], 0.0)
                rest[shift:] -= np.where(near, values[:-shift], 0.0)
        return rest

    @cached_property
    def count(self) -> float:
        """The number of units."""
        return float(len(self.sizes) if self.counts is None else round(float(self.counts.sum())))

    @cached_property
    def weight(self) -> float:
        """The weight of all rows."""
        return self.sum(self.sizes)

    @cached_property
    def effective(self) -> float:
        """The effective number of units."""
        return max(self.weight**2 / self.dot(self.sizes, self.sizes), LEAST)

    @cached_property
    def plain(self) -> bool:
        """Whether every unit is one row, and all count alike."""
        return self.count == self.rows and bool((self.sizes == self.sizes[0]).all())

    @cached_property
    def own_pairs(self) -> FloatArray:
        """The weight of the pairs that each unit has part in, within."""
        return self.sizes * self.others(self.sizes)

    @cached_property
    def other_pairs(self) -> FloatArray:
        """The weight of the pairs that each unit has part in, across."""
        pairs: FloatArray = self.sizes * self.partners
        return pairs

    @cached_property
    def mean(self) -> float:
        """The mean kernel value of two rows of different units."""
        return self.sum(self.own) / self.sum(self.own_pairs)

    @cached_property
    def cross_mean(self) -> float:
        """The mean kernel value of a row of this sample and one of the other."""
        return self.sum(self.other) / self.sum(self.other_pairs)

    @cached_property
    def influences(self) -> FloatArray:
        """The p and q of every unit, as two columns."""
        p = (self.own - self.own_pairs * self.mean) / self.sum(self.own_pairs)
        q = (self.other - self.other_pairs * self.cross_mean) / self.sum(self.other_pairs)
        return self.effective * np.column_stack([p, q])

    @cached_property
    def deviations(self) -> FloatArray:
        """How far the means within and across move when a unit is left out, as two rows."""
        own, across = self.sum(self.own), self.sum(self.other)
        moved = np.stack(
            [
                (own - 2 * self.own) / (self.sum(self.own_pairs) - 2 * self.own_pairs),
                (across - self.other) / (self.sum(self.other_pairs) - self.other_pairs),
            ]
        )
        means = moved.mean(axis=1) if self.counts is None else moved @ self.counts / self.count
        centred: FloatArray = moved - means[:, None]
        return centred

    @cached_property
    def jackknife(self) -> Jackknife:
        """The variances by leaving out one unit at a time."""
        both = self.deviations
        share = (self.count - 1) / self.count
        matrix = share * (both if self.counts is None else both * self.counts) @ both.T
        if self.reach:  # neighbours in time go together; where they do so the other way, it is left out
            lag = share * both[:, :-1] @ both[:, 1:].T
            values, vectors = np.linalg.eigh(lag + lag.T)
            matrix = matrix + (vectors * np.maximum(values, 0.0)) @ vectors.T
        return Jackknife(float(matrix[0, 0]), float(matrix[1, 1]), float(matrix[0, 1]))

    @cached_property
    def lift(self) -> float:
        """How many times neighbours in time multiply the variance; one where there are none."""
        if not self.reach:
            return 1.0
        own, across = self.deviations
        plain = float(np.sum((own - 2 * across) ** 2)) * (self.count - 1) / self.count
        return max(self.jackknife.at(1.0) / plain, 1.0) if plain > 0 else 1.0

    @cached_property
    def by_pairs(self) -> float:
        """The variance of the mean within that is due to pairs of units: of ``K_gh`` less what each adds."""
        s, n, mean = self.sizes, self.effective, self.mean
        r = (self.own - self.own_pairs * mean) / self.others(s) * (n - 1) / (n - 2)
        near = self.others(s * s)
        squares = (
            self.squares
            - 2 * mean * self.dot(s, self.own_sized)
            - 4 * self.dot(r, self.own_sized)
            + mean**2 * self.dot(s * s, near)
            + 4 * mean * self.dot(r * s, near)
            + 2 * self.dot(r * r, near)
            + 2 * self.dot(r * s, self.others(r * s))
        )
        return 2 * max(squares, 0.0) / self.sum(self.own_pairs) ** 2 * (n - 1) / (n - 3)

    def components(self, cross_by_pairs: float) -> Components:
        """Return the variance components of one unit of the effective size."""
        n, per_unit = self.effective, self.rows / self.effective
        return Components.of(
            n,
            self.mean,
            self.jackknife,
            (self.by_pairs, cross_by_pairs),
            per_unit=per_unit,
            freedom=freedom(effective_groups(self.sizes, self.counts), per_unit, self.reach),
            lift=self.lift,
            in_unit=self.in_unit,
        )


def effective_groups(sizes: FloatArray, counts: FloatArray | None = None) -> float:
    """Return how many groups of equal size tell as much about a variance as groups of these sizes.

    >>> import numpy as np
    >>> effective_groups(np.array([5.0, 5.0, 5.0]))
    3.0
    """
    squares = (sizes / sizes.max()) ** 2
    if counts is None:
        return float(squares.sum() ** 2 / (squares @ squares))
    return float((counts @ squares) ** 2 / (counts @ (squares * squares)))
