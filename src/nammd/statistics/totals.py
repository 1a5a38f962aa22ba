"""Totals over the units of a sample, as a side of a pair: `UnitTotals`, `TotalSide`.

Where the kernel is a product of features, a unit is known from the sum z of the features of its rows. What
is left of it is the vector ``v = (z, |z|², s, s², s |z|²)``, s being its size: the sums within and across,
and the pairs that they are over, are linear in v, and so are the influences of units. So the sum of v over
the units and that of its outer products tell all that `nammd.statistics.atoms` takes from single units, but
for two things: what a unit of another size than the rest counts in the jackknife, which is taken as the
average, by squared sizes; and third moments. Of units of equal size the numbers are the same. Totals of parts
of a sample add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.atoms import LEAST
from nammd.statistics.moments import Components, Jackknife, Moments, freedom
from nammd.statistics.side import KeptX, SharedX, top_eigenvalue

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

    def scaled(self, weight: float) -> UnitTotals:
        """Return the totals of the same units, all rows of which count so many times as much."""
        each = np.full(len(self.total), weight)
        each[[SQUARE, SIZE2]] **= 2
        each[SIZED] **= 3
        return UnitTotals(self.count, each * self.total, each[:, None] * self.products * each)

    def covariance(self, directions: FloatArray) -> FloatArray:
        """Return the covariance of the means of some features over all rows, given by their directions."""
        mean = directions.T @ self.features / self.size
        crossed = np.outer(directions.T @ self.sized, mean)
        found: FloatArray = directions.T @ self.gram @ directions - crossed - crossed.T
        return (found + self.squares * np.outer(mean, mean)) / self.pairs

    @property
    def nbytes(self) -> int:
        """How many bytes of memory they take."""
        return self.total.nbytes + self.products.nbytes

    @property
    def contacts(self) -> float:
        """How many pairs of units make up their mean kernel value, effectively."""
        squares = float(np.vdot(self.gram, self.gram) - self.products[SQUARE, SQUARE])
        return (self.mean * self.pairs) ** 2 / (2 * squares) if squares > 0 and self.mean > 0 else 0.0

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
        """The number of units of equal size that a sample acts like; see `nammd.statistics.atoms`."""
        return max(self.size**2 / self.squares, LEAST)

    @property
    def equal_groups(self) -> float:
        """How many units of equal size tell as much about a variance."""
        return self.squares**2 / self.fourths

    def in_unit(self, rows: int, bound: float) -> float:
        """Return the mean kernel value of two rows of one unit, none of which has a weight; NaN for none."""
        pairs = self.squares - rows
        return float(self.total[SQUARE] - rows * bound) / pairs if pairs > 0.5 else math.nan

    @property
    def singles(self) -> bool:
        """Whether every unit is of the same size, as single rows are."""
        return self.count * self.fourths <= self.squares**2 * (1 + 1e-12)


@dataclass(frozen=True, eq=False)
class TotalSide:
    """One of two samples by its totals; a `Side`.

    Attributes
    ----------
    own, other : UnitTotals
        The totals of this sample and of the other.
    rows : int
        The number of rows.
    in_unit : float
        The mean kernel value of two rows of one unit; NaN where that is not known.
    """

    own: UnitTotals
    other: UnitTotals
    rows: int
    in_unit: float = math.nan

    @property
    def size(self) -> float:
        """The effective number of units."""
        return self.own.effective

    @cached_property
    def cross_mean(self) -> float:
        """The mean kernel value of a row of this sample and one of the other."""
        return float(self.own.features @ self.other.features) / (self.own.size * self.other.size)

    @cached_property
    def directions(self) -> FloatArray:
        """What v is multiplied with for the p and q of a unit, as two columns."""
        own, other = self.own, self.other
        found = np.zeros((len(own.total), 2))
        found[:-MORE, 0], found[:-MORE, 1] = own.features, other.features
        found[SQUARE, 0] = -1.0
        found[SIZE] = -own.mean * own.size, -self.cross_mean * other.size
        found[SIZE2, 0] = own.mean
        scaled: FloatArray = found * (own.effective / np.array([own.pairs, own.size * other.size]))
        return scaled

    def second(self) -> FloatArray:
        """Return the means of the products of p and q."""
        return self._second

    def third(self, w: FloatArray) -> float:
        """Return NaN: it is not known."""
        return math.nan

    def form(self) -> FloatArray:
        """Return the means of ``g_i k(i, j) g_j`` over pairs of distinct units."""
        return self._own_form

    # An interval asks for many margins, and each costs no product of matrices.

    @cached_property
    def _second(self) -> FloatArray:
        return self._mean(self.directions, self.directions)

    @cached_property
    def _own_form(self) -> FloatArray:
        return self._form(self.directions)

    @cached_property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator of a unit of the effective size."""
        own = self.own
        mean = own.features / own.size
        moved = np.outer(own.sized, mean)
        centred = own.gram - moved - moved.T + own.squares * np.outer(mean, mean)
        return self.size * top_eigenvalue(centred, float(own.total[SQUARE])) / own.size**2

    def beside(self, first: KeptX, second: KeptX) -> SharedX:
        """Return how two distances depend on this sample."""
        g, count = np.column_stack([self.directions[:, 0], first.across, second.across]), self.own.count
        moments = self._mean(g, g)
        return SharedX(
            second=moments,
            form=self._form(g),
            covariance=moments * float(self.lifts[1]) ** 2 * (count - 1) / count,
            felt=self._mean(g, np.column_stack([first.felt, second.felt])),
            thirds=np.full((3, 3, 3), math.nan),
        )

    def _mean(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Return the mean products of influences, given by their directions."""
        found: FloatArray = one.T @ self.own.products @ other / self.size
        return found

    def _form(self, directions: FloatArray) -> FloatArray:
        own = self.own
        moved, count = own.products @ directions, own.count
        # What is due to sizes alone is taken off: the mean kernel value times how far two sizes are from
        # the average one. Influences add up to zero, so only what a unit has with itself tells that average.
        uneven = max(own.squares / count - (own.size / count) ** 2, 0.0)
        alone = float(own.products[SQUARE, SIZE2]) / own.squares - own.mean * uneven
        form = moved[:-MORE].T @ moved[:-MORE] - own.mean * np.outer(moved[SIZE], moved[SIZE])
        found: FloatArray = (form - alone * (directions.T @ moved)) / own.pairs
        return found

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
        each = self.lifts * np.array([2.0, 1.0])
        found = self.second() * np.outer(each, each) * ((self.own.count - 1) / self.own.count) / self.size
        return Jackknife(float(found[0, 0]), float(found[1, 1]), float(found[0, 1]))

    @cached_property
    def by_pairs(self) -> float:
        """The variance of the mean within that is due to pairs of units."""
        own, n, mean = self.own, self.own.effective, self.own.mean
        left = 1 - 1 / n
        # r as in `Atoms.by_pairs`, with what is left without a unit taken as the same for all.
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
        n, pairs, per_unit = self.size, (self.by_pairs, cross_by_pairs), self.rows / self.size
        return Components.of(
            n,
            self.own.mean,
            self.jackknife,
            pairs,
            per_unit=per_unit,
            freedom=freedom(self.own.equal_groups, per_unit),
            in_unit=self.in_unit,
        )


@dataclass(frozen=True, eq=False)
class TotalPair:
    """Two samples by their totals, and how they meet.

    Attributes
    ----------
    x, y : UnitTotals
        The totals, of the same features.
    rows : tuple of two int
        The rows of both.
    bound : float
        The bound of the kernel.
    weighted : bool
        Whether rows may have weights; else it is known how alike two rows of one unit are.
    """

    x: UnitTotals
    y: UnitTotals
    rows: tuple[int, int]
    bound: float
    weighted: bool = True

    @cached_property
    def sides(self) -> tuple[TotalSide, TotalSide]:
        """Both samples as the tests see them."""
        one, two = (
            math.nan if self.weighted else totals.in_unit(rows, self.bound)
            for totals, rows in zip((self.x, self.y), self.rows, strict=True)
        )
        return TotalSide(self.x, self.y, self.rows[0], one), TotalSide(self.y, self.x, self.rows[1], two)

    @cached_property
    def moments(self) -> Moments:
        """The first and second moments."""
        (x, y), pairs = self.sides, self._by_pairs
        own_x, own_y = (side.components(pairs) for side in (x, y))
        return Moments.of(own_x, own_y, x.cross_mean, pairs, self.bound)

    def form(self) -> FloatArray:
        """Return the means of ``g_x(i) k(i, j) g_y(j)``, as a matrix."""
        x = self.sides[0]
        return x._mean(x.directions, self._felt(self.sides[1].directions))

    def kept(self, slope: float, scale: float) -> KeptX:
        """Return what a distance of that slope and scale keeps of the units of x: directions."""
        along = self.sides[1].directions @ np.array([2 * slope / scale, -2 / scale])
        return KeptX(self.sides[0].directions[:, 1], self._felt(along[:, None])[:, 0])

    def apart(self) -> TotalPair:
        """Return the pair itself: totals do not tell which units are in both."""
        return self

    def _felt(self, directions: FloatArray) -> FloatArray:
        """Return the directions of what units of x feel of influences of y."""
        moved = self.y.products @ directions
        felt = np.zeros((len(self.x.total), directions.shape[1]))
        felt[:-MORE], felt[SIZE] = moved[:-MORE], -self.sides[0].cross_mean * moved[SIZE]
        scaled: FloatArray = felt * (self.x.effective / (self.x.size * self.y.size))
        return scaled

    @cached_property
    def _by_pairs(self) -> float:
        """The variance of twice the mean across that is due to pairs of units."""
        x, y = self.sides
        mean, (m, n) = x.cross_mean, (x.size, y.size)
        (s, t), (qx, qy) = (self.x.size, self.y.size), (self.x.squares, self.y.squares)
        # r and c as in `nammd.statistics.atoms`: the deviation of a unit's mean across.
        r, c = x.directions[:, 1] * (s / m), y.directions[:, 1] * (t / n)
        more = np.zeros(MORE)
        rs, ct = float(r @ self.x.products[:, SIZE]), float(c @ self.y.products[:, SIZE])
        squares = (
            float(np.vdot(self.x.gram, self.y.gram))
            - 2 * mean * float(self.x.sized @ self.y.sized)
            - 2 * float(r @ self.x.products @ np.concatenate([self.y.sized, more]))
            - 2 * float(c @ self.y.products @ np.concatenate([self.x.sized, more]))
            + mean**2 * qx * qy
            + 2 * mean * rs * qy
            + 2 * mean * qx * ct
            + float(r @ self.x.products @ r) * qy
            + qx * float(c @ self.y.products @ c)
            + 2 * rs * ct
        )
        return 4 * max(squares, 0.0) / (s * t) ** 2 * m * n / ((m - 1) * (n - 1))
