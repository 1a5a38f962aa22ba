"""Two samples by their units, and how they meet: `AtomPair`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.engines.sums import KernelSums
from nammd.engines.units import UnitSums
from nammd.statistics.atoms import Atoms, Places
from nammd.statistics.elementwise import larger, symmetric
from nammd.statistics.moments import CrossPairs, Moments
from nammd.statistics.side import KeptX, SharedX, cube


class SecondOrder(Protocol):
    """How influences meet through the kernel: by evaluating it, on all units or on some that stand for them.

    What follows from it are corrections of relative order ``1/sqrt(m)``, so their precision does not matter
    much, and it is evaluated when it is first asked for.
    """

    @property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators."""

    def form(self, side: int, g: FloatArray) -> FloatArray:
        """Return the means of ``g_i k(i, j) g_j`` over pairs of distinct units of a sample."""

    def felt(self, g: FloatArray) -> FloatArray:
        """Return, for the units that stand for x, the means of ``k(i, j) g_j`` over the units of y."""

    def mean(self, g: FloatArray, felt: FloatArray) -> FloatArray:
        """Return the means of the products of influences of x and what is felt there."""

    def apart(self) -> SecondOrder:
        """Return the same as if units that are in both samples did not vary together."""


@dataclass(frozen=True, eq=False)
class AtomPair:
    """Two samples by their units, and how they meet.

    Attributes
    ----------
    atoms : tuple of two Atoms
        The units of x and of y.
    squares : float or array
        The sum of the squared kernel sums of a unit of x and one of y.
    bound : float
        The bound of the kernel.
    second_order : SecondOrder or None
        How influences meet through the kernel; None where nothing beyond the moments will be asked for.
    common : tuple of two arrays of int
        The places, in x and in y, of the units that are in both.
    off_diagonal : float or None
        The mean over off-diagonal cross pairs, if that is the one to use.
    joint : bool
        Whether units that are in both were drawn once, and so vary together.
    """

    atoms: tuple[Atoms, Atoms]
    squares: float
    bound: float
    second_order: SecondOrder | None = field(default=None, repr=False)
    common: tuple[Places, Places] | None = None
    off_diagonal: float | None = None
    joint: bool = True

    def apart(self) -> AtomPair:
        """Return the pair as if all units had been drawn apart; no unit meets itself all the same."""
        order = None if self.second_order is None else self.second_order.apart()
        return replace(self, second_order=order, joint=False)

    @property
    def _in_both(self) -> tuple[Places, Places] | None:
        """The units that vary together."""
        return self.common if self.joint else None

    @cached_property
    def moments(self) -> Moments:
        """The first and second moments."""
        pairs = self._by_pairs
        own_x, own_y = (one.components(pairs) for one in self.atoms)
        found = Moments.of(own_x, own_y, self.atoms[0].cross_mean, pairs, self.bound, self._between)
        return (
            found if self.off_diagonal is None else replace(found, xy=self.off_diagonal, cross="off-diagonal")
        )

    @cached_property
    def _by_pairs(self) -> float:
        """The variance of twice the mean across that is due to pairs of units."""
        x, y = self.atoms
        s, t, mean, m, n = x.sizes, y.sizes, x.cross_mean, x.effective, y.effective
        # What a unit adds to each of its pairs across: its q in another unit.
        r, c = (
            (side.influences[..., 1], side.all_pairs[1] / side.effective / side.partners)
            for side in self.atoms
        )

        ss, rs, rr = ((each, x.sum(*each)) for each in ((s, s), (*r, s), (*r, *r)))
        tt, ct, cc = ((each, y.sum(*each)) for each in ((t, t), (*c, t), (*c, *c)))

        def total(with_x: tuple[Any, float], with_y: tuple[Any, float]) -> Any:
            """Return the sum of products over the pairs of units that were compared."""
            (one, sum_x), (two, sum_y) = with_x, with_y
            every = sum_x * sum_y
            if self.common is None:
                return every
            here, there = self.common
            return every - float(
                math.prod(one[1:], start=one[0])[here] @ math.prod(two[1:], start=two[0])[there]
            )

        squares = (
            self.squares
            - 2 * mean * x.sum(s, x.other_sized)
            - 2 * x.sum(*r, x.other_sized)
            - 2 * y.sum(*c, y.other_sized)
            + mean**2 * total(ss, tt)
            + 2 * mean * total(rs, tt)
            + 2 * mean * total(ss, ct)
            + total(rr, tt)
            + total(ss, cc)
            + 2 * total(rs, ct)
        )
        return 4 * larger(squares, 0.0) / x.all_pairs[1] ** 2 * m * n / ((m - 1) * (n - 1))

    @cached_property
    def _between(self) -> tuple[float, float, float] | None:
        """What units in both samples add to the variance of U, as coefficients of 1, a and a².

        Twice the covariance of the two sides. What pairs of units add to the jackknife is not taken off again
        here: how those of the two samples go together is not known, and so the variance errs on the safe
        side.
        """
        if self._in_both is None:
            return None
        (own_x, across_x), (own_y, across_y) = (
            side.deviations[:, places] for side, places in zip(self.atoms, self._in_both, strict=True)
        )
        share = float(np.sqrt(np.prod([(side.count - 1) / side.count for side in self.atoms])))
        constant = 8 * float(across_x @ across_y)
        linear = -4 * float(own_x @ across_y + across_x @ own_y)
        square = 2 * float(own_x @ own_y)
        corrected = sum(side.by_pairs * side.effective / (side.effective - 2) for side in self.atoms)
        return share * constant + self._by_pairs, share * linear, share * square + corrected

    @property
    def order(self) -> SecondOrder:
        """How influences meet through the kernel."""
        assert self.second_order is not None
        return self.second_order

    @cached_property
    def sides(self) -> tuple[AtomSide, AtomSide]:
        """Both samples as the tests see them."""
        x, y = (
            AtomSide(
                number, atoms, g, self.second_order, None if self._in_both is None else self._in_both[number]
            )
            for number, (atoms, g) in enumerate(zip(self.atoms, self.influences, strict=True))
        )
        return x, y

    @cached_property
    def influences(self) -> tuple[FloatArray, FloatArray]:
        """The p and q of every unit of x and of y; a unit that is in both has the sum of both, in each."""
        x, y = (side.influences for side in self.atoms)
        if self._in_both is None:
            return x, y
        (here, there), ratio = self._in_both, self.atoms[0].effective / self.atoms[1].effective
        joint_x, joint_y = x.copy(), y.copy()
        joint_x[here] += y[there] * ratio
        joint_y[there] += x[here] / ratio
        return joint_x, joint_y

    @cached_property
    def _felt(self) -> FloatArray:
        return self.order.felt(self.influences[1])

    def form(self) -> FloatArray:
        """Return the means of ``g_x(i) k(i, j) g_y(j)``, as a matrix."""
        return self.order.mean(self.influences[0], self._felt)

    def kept(self, slope: float, scale: float) -> KeptX:
        """Return what a distance of that slope and scale keeps of the units of x."""
        felt = self._felt @ np.array([2 * slope / scale, -2 / scale])
        p = self.atoms[0].influences[:, 0]
        # With the p of the sample alone, which any distance from it knows.
        across = self.atoms[0].influences[:, 1]
        if self._in_both is not None:
            across = slope * p - self.influences[0] @ np.array([slope, -1.0])
        return KeptX(across, felt, self._in_both is not None)


@dataclass(frozen=True, eq=False)
class AtomSide:
    """One of two samples by its units; a `Side`.

    It does not hold its pair, which holds it: both would stay in memory, with all that they have of the
    units, until Python looks for cycles.

    Attributes
    ----------
    number : int
        Which of the two it is.
    atoms : Atoms
        The units.
    g : array of shape (units, 2)
        Their p and q.
    second_order : SecondOrder or None
        How influences meet through the kernel.
    in_both : array of int or None
        The places of the units that vary together with those of the other sample.
    """

    number: int
    atoms: Atoms
    g: FloatArray
    second_order: SecondOrder | None
    in_both: Places | None

    @property
    def order(self) -> SecondOrder:
        """How influences meet through the kernel."""
        assert self.second_order is not None
        return self.second_order

    @property
    def size(self) -> float:
        """The effective number of units."""
        return self.atoms.effective

    @property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator."""
        return self.order.eigenvalues[self.number]

    def second(self) -> FloatArray:
        """Return the means of the products of p and q."""
        return self._second

    def third(self, w: FloatArray) -> float:
        """Return the mean of ``(g w)³``."""
        return cube(self._thirds, w)

    def form(self) -> FloatArray:
        """Return the means of ``g_i k(i, j) g_j`` over pairs of distinct units."""
        return self._form

    # An interval asks for many margins, and each costs no pass over the units.

    @cached_property
    def _second(self) -> FloatArray:
        p, q = self.g[..., 0], self.g[..., 1]
        return symmetric(self._mean(p, p), self._mean(p, q), self._mean(q, q))

    @cached_property
    def _thirds(self) -> FloatArray:
        p, q = self.g[..., 0], self.g[..., 1]
        squares = p * p, q * q
        return np.array([self._mean(square, each) for square in squares for each in (p, q)]).T

    @cached_property
    def _form(self) -> FloatArray:
        return self.order.form(self.number, self.g)

    def beside(self, first: KeptX, second: KeptX) -> SharedX:
        """Return how two distances depend on this sample."""
        atoms, order = self.atoms, self.order
        g = np.column_stack([atoms.influences[:, 0], first.across, second.across])
        weighted = _weighted(g, atoms.counts)
        thirds = np.stack([(weighted * column[:, None]).T @ g for column in g.T])
        return SharedX(
            second=weighted.T @ g / atoms.effective,
            form=order.form(self.number, g),
            covariance=self._covariance(g),
            felt=order.mean(g, np.column_stack([first.felt, second.felt])),
            thirds=thirds / atoms.effective,
            joint=first.joint or second.joint,
        )

    def _covariance(self, g: FloatArray) -> FloatArray:
        """Return the covariances of influences, by leaving out one unit at a time."""
        atoms = self.atoms
        root = np.sqrt((atoms.count - 1) / atoms.count) / (1 - atoms.sizes / atoms.weight)
        lifted = np.reshape(root, (-1, 1)) * g
        found: FloatArray = _weighted(lifted, atoms.counts).T @ lifted
        if atoms.reach:
            lag = lifted[:-1].T @ lifted[1:]
            found = found + lag + lag.T
        return found / atoms.effective

    def _mean(self, one: FloatArray, other: FloatArray) -> float:
        """Return a mean product; units in both samples count half in each, so that all count once."""
        found = self.atoms.sum(one, other)
        if self.in_both is not None:
            found -= float(one[self.in_both] @ other[self.in_both]) / 2
        return found / self.size


def _weighted(values: FloatArray, counts: FloatArray | None) -> FloatArray:
    return values if counts is None else counts[:, None] * values


def atoms_of_rows(sums: KernelSums) -> tuple[Atoms, Atoms]:
    """Return the rows of two samples as units of one row each."""
    cross = sums.cross
    return (
        Atoms(1.0, sums.x.rows, cross.rows, sums.x.rows, cross.rows, sums.x.squares, float(sums.n), sums.m),
        Atoms(1.0, sums.y.rows, cross.cols, sums.y.rows, cross.cols, sums.y.squares, float(sums.m), sums.n),
    )


def pair_of_rows(
    sums: KernelSums, cross: CrossPairs = "full", second_order: SecondOrder | None = None
) -> AtomPair:
    """Return two samples of rows, from sums for every row."""
    off_diagonal = None if cross == "full" else sums.cross.off_diagonal_mean
    return AtomPair(
        atoms_of_rows(sums), sums.cross.squares, sums.bound, second_order, off_diagonal=off_diagonal
    )


def atoms_of_units(sums: UnitSums, rows: Sequence[int], in_unit: Sequence[float]) -> tuple[Atoms, Atoms]:
    """Return the units of two samples of so many rows, from sums over pairs of units."""
    (one, two), (x, y), cross = sums.units, sums.common, sums.cross
    for_x, for_y = np.full(len(one), two.sizes.sum()), np.full(len(two), one.sizes.sum())
    for_x[x] -= two.sizes[y]
    for_y[y] -= one.sizes[x]
    found = [
        Atoms(
            sizes=units.sizes,
            own=units.totals(within.rows),
            other=units.totals(across),
            own_sized=within.sized,
            other_sized=sized,
            squares=within.squares,
            partners=partners,
            rows=count,
            numbers=units.numbers,
            reach=units.reach,
            in_unit=inside,
        )
        for units, within, across, sized, partners, count, inside in (
            (one, sums.x, cross.rows, cross.sized_rows, for_x, rows[0], in_unit[0]),
            (two, sums.y, cross.cols, cross.sized_cols, for_y, rows[1], in_unit[1]),
        )
    ]
    return found[0], found[1]
