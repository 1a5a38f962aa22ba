"""Moments of a pair of samples whose rows belong together: units instead of rows.

Rows of one unit (a customer, a patient, a block of time) depend on each other, so pairs of rows within a unit
are left out of every mean, and variances are those of *units*: the jackknife, which leaves out one unit at a
time, less what pairs of units add to it. The formulas are those of ``docs/statistics.md``, "Rows that belong
together". They are arranged so that units of one row each, all of one weight, give the numbers of
`nammd.statistics.moments`.

A sample of units of different sizes acts like one of fewer units of equal size. The moments are given for
that effective number, ``(sum s)² / sum s²``, and so all that is made of them holds for units as for rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.engines.units import Labels, UnitCross, Units, UnitSums, UnitWithin
from nammd.statistics.moments import Components, Moments

LEAST = 4.0
"""The smallest effective number of units that the corrections for few units are made for."""


class Jackknife(NamedTuple):
    """The jackknife's variance of the mean within, that of the mean across, and their covariance."""

    own: float
    across: float
    both: float

    def at(self, a: float) -> float:
        """Return the variance of ``a xx - 2 xy``."""
        return a * a * self.own - 4 * a * self.both + 4 * self.across


@dataclass(frozen=True, eq=False)
class UnitSide:
    """One sample as the statistics see it: sums over its units, within and across.

    Attributes
    ----------
    units : Units
        Its units.
    within : UnitWithin
        Sums within the sample.
    across, sized : array
        For every row, the sum of kernel values with the other sample; for every unit, the same weighted by
        the sizes of the other's units.
    partners : array of shape (units,)
        For every unit, the weight of the other sample's rows that it was compared with.
    """

    units: Units
    within: UnitWithin
    across: FloatArray = field(repr=False)
    sized: FloatArray = field(repr=False)
    partners: FloatArray = field(repr=False)

    def others(self, values: FloatArray) -> FloatArray:
        """Return, for every unit, the sum of the values of the units that it was compared with."""
        return _others(values, self.units.reach, self.units.numbers)

    @cached_property
    def effective(self) -> float:
        """The effective number of units."""
        sizes = self.units.sizes
        return max(float(sizes.sum() ** 2 / (sizes @ sizes)), LEAST)

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of a sum of squares over the units."""
        # Covariances of neighbours vary as much as variances do, and there are two for each.
        return max((effective_groups(self.units.sizes) - 1.0) / (1 + 2 * self.units.reach), 1.0)

    @cached_property
    def own(self) -> FloatArray:
        """The sums within, for every unit."""
        return self.units.totals(self.within.rows)

    @cached_property
    def other(self) -> FloatArray:
        """The sums across, for every unit."""
        return self.units.totals(self.across)

    @cached_property
    def own_pairs(self) -> FloatArray:
        """The weight of the pairs that each unit has part in, within."""
        return self.units.sizes * self.others(self.units.sizes)

    @cached_property
    def other_pairs(self) -> FloatArray:
        """The weight of the pairs that each unit has part in, across."""
        return self.units.sizes * self.partners

    @property
    def mean(self) -> float:
        """The mean kernel value of two rows of different units."""
        return float(self.own.sum() / self.own_pairs.sum())

    @property
    def cross_mean(self) -> float:
        """The mean kernel value of a row of this sample and one of the other."""
        return float(self.other.sum() / self.other_pairs.sum())

    @cached_property
    def influences(self) -> tuple[FloatArray, FloatArray]:
        """The p and q of every unit: it moves ``U`` by ``2 (a p - q)`` over the effective number."""
        p = self.effective * (self.own - self.own_pairs * self.mean) / self.own_pairs.sum()
        q = self.effective * (self.other - self.other_pairs * self.cross_mean) / self.other_pairs.sum()
        return p, q

    @cached_property
    def deviations(self) -> tuple[FloatArray, FloatArray]:
        """How far the means within and across move when a unit is left out."""
        own = (self.own.sum() - 2 * self.own) / (self.own_pairs.sum() - 2 * self.own_pairs)
        across = (self.other.sum() - self.other) / (self.other_pairs.sum() - self.other_pairs)
        return own - own.mean(), across - across.mean()

    @cached_property
    def jackknife(self) -> Jackknife:
        """The variances by leaving out one unit at a time."""
        both = np.stack(self.deviations)
        share = (both.shape[1] - 1) / both.shape[1]
        matrix = share * both @ both.T
        if self.units.reach:  # neighbours in time go together; where they do so the other way, it is left out
            lag = share * both[:, :-1] @ both[:, 1:].T
            values, vectors = np.linalg.eigh(lag + lag.T)
            matrix = matrix + (vectors * np.maximum(values, 0.0)) @ vectors.T
        return Jackknife(float(matrix[0, 0]), float(matrix[1, 1]), float(matrix[0, 1]))

    @cached_property
    def lifted(self) -> float:
        """How many times neighbours in time multiply the variance; one where there are none."""
        if not self.units.reach:
            return 1.0
        own, across = self.deviations
        plain = float(np.sum((own - 2 * across) ** 2)) * (len(own) - 1) / len(own)
        return max(self.jackknife.at(1.0) / plain, 1.0) if plain > 0 else 1.0

    @cached_property
    def by_pairs(self) -> float:
        """The variance of the mean within that is due to pairs of units."""
        s, n, mean = self.units.sizes, self.effective, self.mean
        partners = self.others(s)
        r = (self.own - self.own_pairs * mean) / partners * (n - 1) / (n - 2)
        near = self.others(s * s)
        squares = (
            self.within.squares
            - 2 * mean * float(s @ self.within.sized)
            - 4 * float(r @ self.within.sized)
            + mean**2 * float((s * s) @ near)
            + 4 * mean * float((r * s) @ near)
            + 2 * float((r * r) @ near)
            + 2 * float((r * s) @ self.others(r * s))
        )
        return 2 * max(squares, 0.0) / float(self.own_pairs.sum()) ** 2 * (n - 1) / (n - 3)

    def components(self, cross_by_pairs: float) -> Components:
        """Return the variance components of one unit of the effective size."""
        return unit_components(self.effective, self.mean, self.jackknife, (self.by_pairs, cross_by_pairs))


def unit_components(n: float, mean: float, found: Jackknife, by_pairs: tuple[float, float]) -> Components:
    """Return the variance components of one unit, of n; `by_pairs` is what pairs add, within and across."""
    pairs, across = by_pairs
    v1 = n * (found.own - pairs * (2 * n - 2) / (n - 2)) / 4
    return Components(
        size=n,
        mean=mean,
        v1=v1,
        v2=2 * v1 + pairs * n * (n - 1) / 2,
        c=n * (found.across - across / 4),
        w=n * found.both / 2,
    )


def sides(sums: UnitSums) -> tuple[UnitSide, UnitSide]:
    """Return both samples as the statistics see them."""
    (one, two), (x, y), cross = sums.units, sums.common, sums.cross
    for_x, for_y = np.full(len(one), two.sizes.sum()), np.full(len(two), one.sizes.sum())
    for_x[x] -= two.sizes[y]
    for_y[y] -= one.sizes[x]
    return (
        UnitSide(one, sums.x, cross.rows, cross.sized_rows, for_x),
        UnitSide(two, sums.y, cross.cols, cross.sized_cols, for_y),
    )


def unit_moments(
    sums: UnitSums, rows: tuple[int, int], in_units: tuple[float, float] | None = None
) -> Moments:
    """Estimate the moments of a pair of samples of so many rows from sums over their units.

    `in_units` are the mean kernel values of two rows of one unit, where they are known; see `Moments`.
    """
    x, y = sides(sums)
    pairs = _cross_by_pairs(x, y, sums.cross, sums.common)
    own_x, own_y = x.components(pairs), y.components(pairs)
    dxy = own_x.c + own_y.c + pairs * own_x.size * own_y.size / 4
    together = _together(x, y, sums.common, pairs) if len(sums.common[0]) else None
    return Moments(
        own_x,
        own_y,
        x.cross_mean,
        dxy,
        sums.bound,
        "full",
        freedom=None if sums.plain else (x.freedom, y.freedom),
        between=together,
        per_unit=(rows[0] / own_x.size, rows[1] / own_y.size),
        lifts=(x.lifted, y.lifted),
        in_units=in_units,
    )


def effective_groups(sizes: FloatArray) -> float:
    """Return how many groups of equal size tell as much about a variance as groups of these sizes.

    >>> import numpy as np
    >>> effective_groups(np.array([5.0, 5.0, 5.0]))
    3.0
    """
    squares = sizes / sizes.max()
    squares = squares * squares
    return float(squares.sum() ** 2 / (squares @ squares))


def _cross_by_pairs(x: UnitSide, y: UnitSide, cross: UnitCross, common: tuple[Labels, Labels]) -> float:
    """Return the variance of twice the mean across that is due to pairs of units."""
    s, t, mean, m, n = x.units.sizes, y.units.sizes, x.cross_mean, x.effective, y.effective
    r = (x.other - x.other_pairs * mean) / x.partners
    c = (y.other - y.other_pairs * mean) / y.partners

    def total(one: FloatArray, two: FloatArray) -> float:
        """Return the sum of products over the pairs of units that were compared."""
        return float(one.sum() * two.sum() - one[common[0]] @ two[common[1]])

    squares = (
        cross.squares
        - 2 * mean * float(s @ x.sized)
        - 2 * float(r @ x.sized)
        - 2 * float(c @ y.sized)
        + mean**2 * total(s * s, t * t)
        + 2 * mean * total(r * s, t * t)
        + 2 * mean * total(s * s, c * t)
        + total(r * r, t * t)
        + total(s * s, c * c)
        + 2 * total(r * s, c * t)
    )
    return 4 * max(squares, 0.0) / float(x.other_pairs.sum()) ** 2 * m * n / ((m - 1) * (n - 1))


def _together(
    x: UnitSide, y: UnitSide, common: tuple[Labels, Labels], pairs: float
) -> tuple[float, float, float]:
    """Return what units in both samples add to the variance of U, as coefficients of 1, a and a².

    Twice the covariance of the two sides. What pairs of units add to the jackknife is not taken off again
    here: how those of the two samples go together is not known, and so the variance errs on the safe side.
    """
    (own_x, across_x), (own_y, across_y) = (
        [values[places] for values in side.deviations] for side, places in zip((x, y), common, strict=True)
    )
    share = np.sqrt(np.prod([(len(side.units) - 1) / len(side.units) for side in (x, y)]))
    constant = 8 * float(across_x @ across_y)
    linear = -4 * float(own_x @ across_y + across_x @ own_y)
    square = 2 * float(own_x @ own_y)
    corrected = sum(side.by_pairs * side.effective / (side.effective - 2) for side in (x, y))
    return share * constant + pairs, share * linear, share * square + corrected


def _others(values: FloatArray, reach: int, numbers: Labels) -> FloatArray:
    """Return the sum over all units but a unit itself and those within reach of it in number."""
    rest: FloatArray = values.sum() - values
    for step in range(1, reach + 1):
        # Numbers ascend; a neighbour may be missing, where a block of time has no rows.
        for shift in range(1, step + 1):
            near = numbers[shift:] - numbers[:-shift] == step
            rest[:-shift] -= np.where(near, values[shift:], 0.0)
            rest[shift:] -= np.where(near, values[:-shift], 0.0)
    return rest
