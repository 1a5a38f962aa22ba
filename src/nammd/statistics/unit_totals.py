"""Moments of samples whose rows belong together, from totals over their units: `UnitTotals`, `TotalSide`.

Where the kernel is a product of features, a unit is known from the sum z of the features of its rows. What
is left of it is the vector ``v = (z, |z|², s, s², s |z|²)``, s being its size: the sums within and across,
and the pairs that they are over, are linear in v. So the sum of v over the units and that of its outer
products tell all that `nammd.statistics.units` takes from single units, but for two things: what a unit of
another size than the rest counts in the jackknife, which is taken as the average, by squared sizes; and third
moments. Of units of equal size the numbers are the same. Totals of parts of a sample add up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.moments import Components, Moments
from nammd.statistics.units import LEAST, Jackknife, unit_components

MORE = 4
"""How many numbers v has beside the features."""

SQUARE, SIZE, SIZE2, SIZED = -4, -3, -2, -1
"""Where they are: the squared length of z, the size, its square, and the size times the squared length."""

LARGEST = 1e60
"""A sample has less weight than this, so that fourth powers of it are numbers."""

LEAST_LEFT = 0.1
"""Of one unit at least so much is taken to be left of a sample without it."""


def unit_vectors(z: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return v for each of some units, from the sums of features of each and its size."""
    squares = np.einsum("ij,ij->i", z, z)
    return np.column_stack([z, squares, sizes, sizes * sizes, sizes * squares])


@dataclass(frozen=True, eq=False)
class UnitTotals:
    """What is kept of the units of a sample.

    Attributes
    ----------
    count : int
        The number of units.
    total : array of shape (features + 4,)
        The sum of v.
    products : array of shape (features + 4, features + 4)
        The sum of the outer products of v with itself.
    """

    count: int
    total: FloatArray = field(repr=False)
    products: FloatArray = field(repr=False)

    @classmethod
    def of(cls, z: FloatArray, sizes: FloatArray) -> UnitTotals:
        """Add up units, given by the sums of their features and their sizes."""
        v = unit_vectors(z, sizes)
        return cls(len(v), v.sum(axis=0), v.T @ v)

    @classmethod
    def of_rows(cls, rows: int, total: FloatArray, products: FloatArray, bound: float) -> UnitTotals:
        """Return the totals of units of one row each, from those of its features, all of one length."""
        more = np.array([bound, 1.0, 1.0, bound])
        side = np.outer(total, more)
        whole = np.block([[products, side], [side.T, rows * np.outer(more, more)]])
        return cls(rows, np.concatenate([total, rows * more]), whole)

    def require_sound(self, rows: int, bound: float) -> None:
        """Refuse totals, read from a file, that cannot be of so many rows under a kernel of that bound.

        Several of the numbers are there twice, and powers of sizes bound each other.
        """
        size, squares, fourths = float(self.total[SIZE]), self.squares, self.fourths
        twice = (
            (self.total[SQUARE], np.trace(self.gram)),
            (self.total[SIZE2], self.products[SIZE, SIZE]),
            (self.total[SIZED], self.products[SQUARE, SIZE]),
        )
        slack = 1 + 1e-4
        if not (
            0 < self.count <= rows < LARGEST
            and 0 < size < LARGEST
            and 0 < squares <= size * size * slack <= self.count * squares * slack**2
            and 0 < fourths <= squares * squares * slack <= self.count * fourths * slack**2
            and all(abs(one - other) <= 1e-4 * abs(other) for one, other in twice)
            and (np.diagonal(self.products) >= 0).all()
            and 0 <= self.total[SQUARE] <= bound * squares * slack
            and float(np.abs(self.features).max(initial=0.0)) <= bound**0.5 * size * slack
        ):
            raise ValueError("its sums do not belong to its groups")

    def __add__(self, other: UnitTotals) -> UnitTotals:
        return UnitTotals(self.count + other.count, self.total + other.total, self.products + other.products)

    @property
    def features(self) -> FloatArray:
        """The sum of the features of all rows."""
        return self.total[:-MORE]

    @property
    def gram(self) -> FloatArray:
        """The sum of the outer products of z."""
        return self.products[:-MORE, :-MORE]

    @property
    def sized(self) -> FloatArray:
        """The sum of z times the size."""
        return self.products[:-MORE, SIZE]

    @property
    def size(self) -> float:
        """The weight of all rows."""
        return float(self.total[SIZE])

    @property
    def squares(self) -> float:
        """The sum of squared sizes."""
        return float(self.total[SIZE2])

    @property
    def fourths(self) -> float:
        """The sum of the fourth powers of sizes."""
        return float(self.products[SIZE2, SIZE2])

    @property
    def pairs(self) -> float:
        """The weight of all pairs of rows of different units."""
        return self.size**2 - self.squares

    @property
    def mean(self) -> float:
        """The mean kernel value of two rows of different units."""
        return float(self.features @ self.features - self.total[SQUARE]) / self.pairs

    @property
    def effective(self) -> float:
        """The number of units of equal size that a sample acts like; see `nammd.statistics.units`."""
        return max(self.size**2 / self.squares, LEAST)

    @property
    def equal_groups(self) -> float:
        """How many units of equal size tell as much about a variance."""
        return self.squares**2 / self.fourths

    @property
    def singles(self) -> bool:
        """Whether every unit is of the same size, as single rows are."""
        return self.count * self.fourths <= self.squares**2 * (1 + 1e-12)


@dataclass(frozen=True, eq=False)
class TotalSide:
    """One sample of a pair as the statistics see it.

    Attributes
    ----------
    own, other : UnitTotals
        The totals of this sample and of the other.
    """

    own: UnitTotals
    other: UnitTotals

    @cached_property
    def cross_mean(self) -> float:
        """The mean kernel value of a row of this sample and one of the other."""
        return float(self.own.features @ self.other.features) / (self.own.size * self.other.size)

    @cached_property
    def directions(self) -> FloatArray:
        """What v is multiplied with for the p and q of a unit, as two columns.

        As `UnitSide.influences`: a unit moves ``U`` by ``2 (a p - q)`` over the effective number.
        """
        own, other = self.own, self.other
        found = np.zeros((len(own.total), 2))
        found[:-MORE, 0], found[:-MORE, 1] = own.features, other.features
        found[SQUARE, 0] = -1.0
        found[SIZE] = -own.mean * own.size, -self.cross_mean * other.size
        found[SIZE2, 0] = own.mean
        scaled: FloatArray = found * (own.effective / np.array([own.pairs, own.size * other.size]))
        return scaled

    @cached_property
    def sums(self) -> FloatArray:
        """The sums over the units of the products of p and q, as a matrix."""
        matrix: FloatArray = self.directions.T @ self.own.products @ self.directions
        return matrix

    @cached_property
    def lifts(self) -> FloatArray:
        """By what the jackknife multiplies p and q of a unit: less is left of the sample without it."""
        own = self.own
        cubes = float(own.products[SIZE, SIZE2])
        within = 2 * (own.size * cubes - own.fourths) / (own.pairs * own.squares)
        across = cubes / (own.size * own.squares)
        lifts: FloatArray = 1 / np.maximum(1 - np.array([within, across]), LEAST_LEFT)
        return lifts

    @cached_property
    def jackknife(self) -> Jackknife:
        """The variances by leaving out one unit at a time."""
        each = self.lifts * np.array([2.0, 1.0]) / self.own.effective
        found = self.sums * np.outer(each, each) * ((self.own.count - 1) / self.own.count)
        return Jackknife(float(found[0, 0]), float(found[1, 1]), float(found[0, 1]))

    @cached_property
    def by_pairs(self) -> float:
        """The variance of the mean within that is due to pairs of units."""
        own, n, mean = self.own, self.own.effective, self.own.mean
        left = 1 - 1 / n
        # r as in `UnitSide.by_pairs`, with what is left without a unit taken as the same for all.
        r = self.directions[:, 0] * (own.pairs / n / (own.size * left)) * (n - 1) / (n - 2)
        sized = np.concatenate([own.sized, [0.0, 0.0, 0.0, -1.0]])
        with_size = float(r @ own.products[:, SIZE])
        squared = float(r @ own.products @ r)
        squares = (
            float(np.vdot(own.gram, own.gram) - own.products[SQUARE, SQUARE])
            - 2 * mean * float(own.sized @ own.sized - own.products[SQUARE, SIZE2])
            - 4 * float(r @ own.products @ sized)
            + mean**2 * (own.squares**2 - own.fourths)
            + 4 * mean * own.squares * left * with_size
            + 2 * own.squares * left * squared
            + 2 * (with_size**2 - own.squares / n * squared)
        )
        return 2 * max(squares, 0.0) / own.pairs**2 * (n - 1) / (n - 3)

    def components(self, cross_by_pairs: float) -> Components:
        """Return the variance components of one unit of the effective size."""
        return unit_components(
            self.own.effective, self.own.mean, self.jackknife, (self.by_pairs, cross_by_pairs)
        )

    @property
    def freedom(self) -> float:
        """The degrees of freedom of a sum of squares over the units."""
        return max(self.own.equal_groups - 1.0, 1.0)

    @cached_property
    def covariance(self) -> FloatArray:
        """The sum over the units of the outer products of ``z - s mean``, the mean being that of a row."""
        own = self.own
        mean = own.features / own.size
        moved = np.outer(own.sized, mean)
        centred: FloatArray = own.gram - moved - moved.T + own.squares * np.outer(mean, mean)
        return centred


def total_moments(x: TotalSide, y: TotalSide, bound: float, rows: tuple[int, int]) -> Moments:
    """Estimate the moments of a pair of samples of so many rows from totals over their units."""
    pairs = _cross_by_pairs(x, y)
    own_x, own_y = x.components(pairs), y.components(pairs)
    plain = all(side.own.singles and side.own.count == n for side, n in zip((x, y), rows, strict=True))
    return Moments(
        own_x,
        own_y,
        x.cross_mean,
        own_x.c + own_y.c + pairs * own_x.size * own_y.size / 4,
        bound,
        "full",
        freedom=None if plain else (x.freedom, y.freedom),
        per_unit=(rows[0] / own_x.size, rows[1] / own_y.size),
    )


def _cross_by_pairs(x: TotalSide, y: TotalSide) -> float:
    """Return the variance of twice the mean across that is due to pairs of units."""
    mean, (m, n) = x.cross_mean, (x.own.effective, y.own.effective)
    (s, t), (qx, qy) = (x.own.size, y.own.size), (x.own.squares, y.own.squares)
    # r and c as in `nammd.statistics.units`: the deviation of a unit's mean across.
    r, c = x.directions[:, 1] * (s / m), y.directions[:, 1] * (t / n)
    more = np.zeros(MORE)
    rs, ct = float(r @ x.own.products[:, SIZE]), float(c @ y.own.products[:, SIZE])
    squares = (
        float(np.vdot(x.own.gram, y.own.gram))
        - 2 * mean * float(x.own.sized @ y.own.sized)
        - 2 * float(r @ x.own.products @ np.concatenate([y.own.sized, more]))
        - 2 * float(c @ y.own.products @ np.concatenate([x.own.sized, more]))
        + mean**2 * qx * qy
        + 2 * mean * rs * qy
        + 2 * mean * qx * ct
        + float(r @ x.own.products @ r) * qy
        + qx * float(c @ y.own.products @ c)
        + 2 * rs * ct
    )
    return 4 * max(squares, 0.0) / (s * t) ** 2 * m * n / ((m - 1) * (n - 1))
