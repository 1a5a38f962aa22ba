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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.statistics.elementwise import larger, number
from nammd.statistics.moments import Components, Jackknife, freedom

Places = NDArray[np.intp]

LEAST = 4.0
"""The smallest effective number of units that the corrections for few units are made for."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """One sample of a pair by its units; or those of many pairs, an array of each number and a row for each.

    Many at once are single rows: units of one size, each there so often.

    Attributes
    ----------
    sizes : array or float
        The weight of the rows of each unit; one number where it is the same for all.
    own, other : array
        For every unit: the weighted sum of kernel values with the other units of its sample, and with those
        of the other sample.
    own_sized, other_sized : array
        The same, every unit there counting by its size once more.
    squares : float
        The sum of the squared kernel sums of two units of the sample.
    partners : array or float
        For every unit: the weight of the other sample's rows that it was compared with.
    rows : float
        The number of rows.
    counts : array or None
        How many units of each kind there are; None where every one is by itself.
    numbers, reach : array and int
        Of blocks of time: their numbers, and how far neighbours depend on each other.
    in_unit : float
        The mean kernel value of two rows of one unit; NaN where that is not known.
    """

    sizes: FloatArray | float = field(repr=False)
    own: FloatArray = field(repr=False)
    other: FloatArray = field(repr=False)
    own_sized: FloatArray = field(repr=False)
    other_sized: FloatArray = field(repr=False)
    squares: float
    partners: FloatArray | float = field(repr=False)
    rows: float
    counts: FloatArray | None = field(default=None, repr=False)
    numbers: Places | None = field(default=None, repr=False)
    reach: int = 0
    in_unit: float = float("nan")

    def sum(self, *factors: FloatArray | float) -> float:
        """Return the sum over all units of a product; a number is the same for all of them."""
        # This is asked for fifty times a pair, and there may be thousands of pairs: no lists, no wrappers.
        axes = self.own.ndim
        same: Any = 1.0
        product: Any = None
        last: Any = self.counts
        for factor in factors:
            if not isinstance(factor, np.ndarray) or factor.ndim < axes:
                same = same * factor
            elif last is None:
                last = factor
            else:
                product, last = last if product is None else product * last, factor
        if last is self.counts and product is None:  # nothing varies
            return number(same * self.count)
        if axes > 1:
            return number(same * (last.sum(-1) if product is None else np.einsum("...i,...i", product, last)))
        return number(same * float(np.add.reduce(last) if product is None else product @ last))

    def others(self, values: FloatArray | float) -> Any:
        """Return, for every unit, the sum of the values of the units that it was compared with."""
        rest: Any = self.sum(values) - values
        if not self.reach or not isinstance(values, np.ndarray):
            return rest
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
        if self.own.ndim > 1:
            assert self.counts is not None
            return number(np.rint(self.counts.sum(-1)))
        return float(len(self.own) if self.counts is None else round(float(self.counts.sum())))

    @cached_property
    def weight(self) -> float:
        """The weight of all rows."""
        return self.sum(self.sizes)

    @cached_property
    def effective(self) -> float:
        """The effective number of units."""
        return larger(self.weight**2 / self.sum(self.sizes, self.sizes), LEAST)

    @cached_property
    def plain(self) -> bool:
        """Whether every unit is one row, and all count alike."""
        return self.count == self.rows and bool(np.all(self.sizes == np.ravel(self.sizes)[0]))

    @cached_property
    def own_pairs(self) -> Any:
        """The weight of the pairs that each unit has part in, within."""
        return self.sizes * self.others(self.sizes)

    @cached_property
    def other_pairs(self) -> Any:
        """The weight of the pairs that each unit has part in, across."""
        return self.sizes * self.partners

    @cached_property
    def all_pairs(self) -> tuple[float, float]:
        """The weight of all pairs, within and across."""
        return self.sum(self.own_pairs), self.sum(self.other_pairs)

    @cached_property
    def mean(self) -> float:
        """The mean kernel value of two rows of different units."""
        return self.sum(self.own) / self.all_pairs[0]

    @cached_property
    def cross_mean(self) -> float:
        """The mean kernel value of a row of this sample and one of the other."""
        return self.sum(self.other) / self.all_pairs[1]

    @cached_property
    def influences(self) -> FloatArray:
        """The p and q of every unit, as two columns."""
        g = np.empty((2, *self.own.shape))  # by columns: so it is read
        means, sums = (self.mean, self.cross_mean), (self.own, self.other)
        for row, own, pairs, mean, weight in zip(
            g, sums, (self.own_pairs, self.other_pairs), means, self.all_pairs, strict=True
        ):
            np.subtract(own, self._of_units(pairs * mean), out=row)
            row *= self._of_units(self.effective / weight)
        return np.moveaxis(g, 0, -1)

    def _of_units(self, values: Any) -> Any:
        """Return numbers of pairs as those of all their units."""
        own = isinstance(values, np.ndarray) and values.ndim < self.own.ndim
        return values[..., None] if own else values

    @cached_property
    def deviations(self) -> FloatArray:
        """How far the means within and across move when a unit is left out, as two rows."""
        (p, q), n = self.influences.T, self.effective
        within, across = self.own_pairs / self.all_pairs[0], self.other_pairs / self.all_pairs[1]
        moved = np.stack([-2 * p / (n * (1 - 2 * within)), -q / (n * (1 - across))])
        means = moved.mean(axis=1) if self.counts is None else moved @ self.counts / self.count
        centred: FloatArray = moved - means[:, None]
        return centred

    @cached_property
    def jackknife(self) -> Jackknife:
        """The variances by leaving out one unit at a time."""
        share = (self.count - 1) / self.count
        if not isinstance(self.sizes, np.ndarray):  # all units move the means alike
            p, q = self.influences[..., 0], self.influences[..., 1]
            left = self.effective * (1 - 2 / self.count), self.effective * (1 - 1 / self.count)
            return Jackknife(
                share * 4 * self.sum(p, p) / left[0] ** 2,
                share * self.sum(q, q) / left[1] ** 2,
                share * 2 * self.sum(p, q) / (left[0] * left[1]),
            )
        moved = self.deviations
        matrix = share * (moved if self.counts is None else moved * self.counts) @ moved.T
        if self.reach:  # neighbours in time go together; where they do so the other way, it is left out
            lag = share * moved[:, :-1] @ moved[:, 1:].T
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
        near = self.others(s * s)
        # What a unit adds to each of its pairs is r, its p in another unit.
        p, unit = self.influences[..., 0], self.all_pairs[0] / n * ((n - 1) / (n - 2)) / self.others(s)
        r = (p, unit)
        if self.reach:
            moved = p * unit * s
            crossed = self.sum(moved, self.others(moved))
        else:
            crossed = self.sum(*r, s) ** 2 - self.sum(*r, s, *r, s)
        squares = (
            self.squares
            - 2 * mean * self.sum(s, self.own_sized)
            - 4 * self.sum(*r, self.own_sized)
            + mean**2 * self.sum(s, s, near)
            + 4 * mean * self.sum(*r, s, near)
            + 2 * self.sum(*r, *r, near)
            + 2 * crossed
        )
        return 2 * larger(squares, 0.0) / self.all_pairs[0] ** 2 * (n - 1) / (n - 3)

    @property
    def _equal_groups(self) -> float:
        if isinstance(self.sizes, np.ndarray):
            return effective_groups(self.sizes)
        return self.count

    def components(self, cross_by_pairs: float) -> Components:
        """Return the variance components of one unit of the effective size."""
        n, per_unit = self.effective, self.rows / self.effective
        return Components.of(
            n,
            self.mean,
            self.jackknife,
            (self.by_pairs, cross_by_pairs),
            per_unit=per_unit,
            freedom=freedom(self._equal_groups, per_unit, self.reach),
            lift=self.lift,
            in_unit=self.in_unit,
        )


def effective_groups(sizes: FloatArray) -> float:
    """Return how many groups of equal size tell as much about a variance as groups of these sizes.

    >>> import numpy as np
    >>> effective_groups(np.array([5.0, 5.0, 5.0]))
    3.0
    """
    squares = (sizes / sizes.max()) ** 2
    return float(squares.sum() ** 2 / (squares @ squares))
