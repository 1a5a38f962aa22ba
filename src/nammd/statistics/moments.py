"""Moments of a pair of samples: estimates of everything the tests need, free of any margin.

Notation, as in the paper and in ``docs/statistics.md``: K is the kernel's bound; ``xx``, ``yy`` and
``xy`` are mean kernel values over distinct pairs; ``MMD2 = xx + yy - 2 xy``; ``D = 4K - xx - yy``;
``NAMMD = MMD2 / D``. A test of the margin eps looks at ``U = MMD2 - eps D``, itself a U-statistic,
whose variance is a quadratic in ``a = 1 + eps``.

The components below are unbiased. They are differences of larger terms and may well be negative;
that is information, and it is never clipped here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from nammd.engines.sums import CrossSums, KernelSums, WithinSums

CrossPairs = Literal["full", "off-diagonal"]


@dataclass(frozen=True)
class Components:
    """Variance components that belong to one sample, here called x.

    Attributes
    ----------
    size : int or float
        The number of rows, m; of rows that belong together, the effective number of units.
    mean : float
        ``xx``, the mean kernel value of two rows of this sample.
    v1 : float
        Variance of ``E[k(x, X')]`` over x: how unevenly the sample's own mass is spread.
    v2 : float
        Variance of ``k(X, X')``.
    c : float
        Variance of ``E[k(x, Y)]`` over x: how unevenly the other sample is seen from this one.
    w : float
        Covariance of the two conditional means over x.
    """

    size: float
    mean: float
    v1: float
    v2: float
    c: float
    w: float

    @classmethod
    def from_totals(cls, sizes: tuple[int, int], within: Any, cross: Any, mixed: Any, xy2: Any) -> Components:
        """Estimate the components from totals (paper, appendix on the variance estimator).

        Parameters
        ----------
        sizes : tuple of int
            The rows of this sample and of the other.
        within, cross : tuple of three numbers
            Of the Gram matrix within this sample, less its diagonal, and of that across: the total, the
            squared norm of the row sums, and the sum of squares.
        mixed : number
            The dot product of the row sums of the two.
        xy2 : number
            The unbiased estimate of the squared mean cross kernel value.

        Numbers may be floats or tensors: learning a kernel differentiates through this.
        """
        (m, n), (total, row_norm, squares), (cross_total, cross_norm, cross_squares) = sizes, within, cross
        m3, m4 = m * (m - 1) * (m - 2), m * (m - 1) * (m - 2) * (m - 3)
        xx2 = (total**2 - 4 * row_norm + 2 * squares) / m4
        return cls(
            size=m,
            mean=total / (m * (m - 1)),
            v1=(row_norm - squares) / m3 - xx2,
            v2=squares / (m * (m - 1)) - xx2,
            c=(cross_norm - cross_squares) / (m * n * (n - 1)) - xy2,
            w=mixed / (m * (m - 1) * n) - (total * cross_total - 2 * mixed) / (n * m3),
        )

    def linear(self, a: float) -> float:
        """Return the variance of one row's influence on U, over 4."""
        return a * a * self.v1 + self.c - 2 * a * self.w

    def own(self) -> float:
        """Return the variance of the mean within-sample kernel value."""
        m = self.size
        return (4 * (m - 2) * self.v1 + 2 * self.v2) / (m * (m - 1))


@dataclass(frozen=True)
class Moments:
    """First and second moments of a pair of samples.

    Attributes
    ----------
    x, y : Components
        What belongs to each sample.
    xy : float
        The mean cross kernel value, over all pairs or the off-diagonal ones.
    dxy : float
        Variance of ``k(X, Y)``.
    bound : float
        The bound K of the kernel.
    cross : {"full", "off-diagonal"}
        Which cross pairs `xy` is over.
    freedom : tuple of two float, or None
        Of rows that belong together: the degrees of freedom of the variances of x and of y.
    between : tuple of three float, or None
        Where units are in both samples: what they add to the variance of U, the coefficients of 1, a and a².
    per_unit : tuple of two float
        How many rows there are for each unit of `x.size` and `y.size`; 1 where rows are the units.
    lifts : tuple of two float
        Of units that follow each other in time: how many times their neighbours multiply the variance, for x
        and for y. So many units tell as much as one that stands alone.
    in_units : tuple of two float, or None
        Of rows that belong together: the mean kernel values of two rows of one unit, for x and for y; NaN
        where none has two, and None where they are not known.
    """

    x: Components
    y: Components
    xy: float
    dxy: float
    bound: float
    cross: CrossPairs
    freedom: tuple[float, float] | None = None
    between: tuple[float, float, float] | None = None
    per_unit: tuple[float, float] = (1.0, 1.0)
    lifts: tuple[float, float] = (1.0, 1.0)
    in_units: tuple[float, float] | None = None

    @classmethod
    def of(cls, sums: KernelSums, cross: CrossPairs = "full") -> Moments:
        """Estimate the moments from sums; both samples need at least four rows."""
        pairs = sums.cross

        def within(own: WithinSums) -> tuple[float, float, float]:
            return own.total, float(own.rows @ own.rows), own.squares

        return cls.from_totals(
            (sums.m, sums.n),
            (within(sums.x), within(sums.y)),
            (pairs.total, float(pairs.rows @ pairs.rows), float(pairs.cols @ pairs.cols), pairs.squares),
            (float(sums.x.rows @ pairs.rows), float(sums.y.rows @ pairs.cols)),
            sums.bound,
            off_diagonal=None if cross == "full" else pairs.off_diagonal_mean,
        )

    @classmethod
    def from_totals(
        cls,
        sizes: tuple[int, int],
        within: tuple[tuple[float, float, float], tuple[float, float, float]],
        cross: tuple[float, float, float, float],
        mixed: tuple[float, float],
        bound: float,
        off_diagonal: float | None = None,
    ) -> Moments:
        """Estimate the moments from totals.

        Parameters
        ----------
        sizes : tuple of int
            The rows of x and of y.
        within, mixed : pairs
            For x and for y, as `Components.from_totals` has them.
        cross : tuple of four numbers
            Of the Gram matrix across: the total, the squared norms of row sums and of column sums, and the
            sum of squares.
        bound : float
            The bound of the kernel.
        off_diagonal : float, optional
            The mean over off-diagonal cross pairs, if that is the one to use.
        """
        (m, n), (total, row_norm, column_norm, squares) = sizes, cross
        xy2 = (total**2 - row_norm - column_norm + squares) / (m * (m - 1) * n * (n - 1))
        return cls(
            x=Components.from_totals((m, n), within[0], (total, row_norm, squares), mixed[0], xy2),
            y=Components.from_totals((n, m), within[1], (total, column_norm, squares), mixed[1], xy2),
            xy=total / (m * n) if off_diagonal is None else off_diagonal,
            dxy=squares / (m * n) - xy2,
            bound=bound,
            cross="full" if off_diagonal is None else "off-diagonal",
        )

    @property
    def mmd2(self) -> float:
        """The squared maximum mean discrepancy; unbiased, so it may be negative."""
        return self.x.mean + self.y.mean - 2 * self.xy

    @property
    def denominator(self) -> float:
        """``D = 4K - xx - yy``, between 2K and 4K."""
        return 4 * self.bound - self.x.mean - self.y.mean

    def variance(self, a: float) -> float:
        """Return the unbiased estimate V of the variance of U; it may be negative."""
        x, y, m, n = self.x, self.y, self.x.size, self.y.size
        if self.cross == "off-diagonal":
            zeta1 = x.linear(a) + y.linear(a)
            zeta2 = a * a * (x.v2 + y.v2) + 2 * self.dxy - 4 * a * (x.w + y.w)
            return (4 * (m - 2) * zeta1 + 2 * zeta2) / (m * (m - 1))
        return (
            a * a * (x.own() + y.own())
            + 4 * (self.dxy + (n - 1) * x.c + (m - 1) * y.c) / (m * n)
            - 8 * a * (x.w / m + y.w / n)
            + self.shared_variance(a)
        )

    def linear_variance(self, a: float) -> float:
        """Return the part of V due to single rows, of order 1/m; the rest is due to pairs."""
        alone = 4 * (self.x.linear(a) / self.x.size + self.y.linear(a) / self.y.size)
        return alone + self.shared_variance(a)

    def shared_variance(self, a: float) -> float:
        """Return what units that are in both samples add to the variance of U; mostly zero."""
        if self.between is None:
            return 0.0
        constant, linear, square = self.between
        return constant + a * linear + a * a * square

    def degrees(self, a: float) -> float:
        """Return how well the variance is known where it is that of groups of rows; else infinite."""
        if self.freedom is None:
            return math.inf
        pairs = 4 * (self.dxy - self.x.c - self.y.c) / (self.x.size * self.y.size)
        parts = []
        for side, degrees in zip((self.x, self.y), self.freedom, strict=True):
            n, own = side.size, side.v2 - 2 * side.v1
            # As the jackknife has it: what pairs of units add is in it twice.
            parts.append((4 * side.linear(a) / n + pairs + 4 * a * a * own / (n * (n - 2)), degrees))
        total = sum(part for part, _ in parts)
        squares = sum(part * part / degrees for part, degrees in parts)
        return max(total * total / squares, 1.0) if squares > 0 else math.inf

    def unmet(self, a: float) -> float:
        """Return the variance of U due to a kind of group that has not been met yet; zero for single rows.

        Groups are few, and what one in G of them is like is easily missed. Nothing brings two laws closer
        than rows of one that are like those of the other: one such group would move U by the differences
        below, over G. One is added to each sample, as by the rule of succession; it counts by as much as its
        rows go together.
        """
        if self.freedom is None:
            return 0.0
        one, two = self.x.mean - self.xy, self.y.mean - self.xy
        found = 0.0
        for side, moved in enumerate((a * one + two, a * two + one)):
            size = (self.x, self.y)[side].size / self.lifts[side]
            found += (2 * moved / size) ** 2 * self._together(side, min(1 / size, 0.5))
        return found

    def _together(self, side: int, share: float) -> float:
        """Return the variance of a group's mean over that of a row, where such a share is of the other law.

        It is one where the rows of a group are all alike, and one over their number where they are
        independent.
        """
        if self.in_units is None or math.isnan(self.in_units[side]):
            return 1.0
        near, far = self.in_units[side], self.in_units[1 - side]
        far = near if math.isnan(far) else far
        own, other = (self.y.mean, self.x.mean) if side else (self.x.mean, self.y.mean)
        rest = 1.0 - share
        mean = rest**2 * own + 2 * share * rest * self.xy + share**2 * other
        spread = self.bound - mean
        correlation = (rest * near + share * far - mean) / spread if spread > 0 else 1.0
        correlation = min(max(correlation, 0.0), 1.0)
        return correlation + (1.0 - correlation) / max(self.per_unit[side], 1.0)

    def variances_given_x(self, a: float) -> tuple[float, float]:
        """Return the variance of U over draws of y alone, and the part of it due to single rows.

        With x fixed, a row of y is seen by these rows of x and not by their population: the variance of its
        mean cross kernel value is then ``c`` and what single rows of x add to it, over m.
        """
        if self.cross != "full":
            raise ValueError("with x fixed, all pairs of rows count: use cross='full'")
        x, y, m, n = self.x, self.y, self.x.size, self.y.size
        seen = y.c + (self.dxy - x.c - y.c) / m
        total = a * a * y.own() + 4 * seen / n - 8 * a * y.w / n
        return total, 4 * (a * a * y.v1 + seen - 2 * a * y.w) / n

    def resized(self, m: float, n: float) -> Moments:
        """Return the same of samples of other sizes: these are moments of the populations."""
        cross = self.cross if m == n else "full"
        freedom = self.freedom
        if freedom is not None:
            ratios = m / self.x.size, n / self.y.size
            freedom = max(freedom[0] * ratios[0], 1.0), max(freedom[1] * ratios[1], 1.0)
        x, y = replace(self.x, size=m), replace(self.y, size=n)
        # What units in both samples add is not known of other sizes: there they count as different ones.
        return replace(self, x=x, y=y, cross=cross, freedom=freedom, between=None)

    def moved(self, mmd2: float, along: tuple[float, float]) -> Moments:
        """Return the moments of a pair that is so far apart, and else like this one.

        `along` is, for x and for y, the variance of a row's noise along the difference of the mean
        embeddings: how far the difference that a row sees varies, over its square. What pairs of rows add to
        the variance stays.
        """
        distance = max(mmd2, 0.0)
        x, y = (
            replace(side, c=side.v1 + noise * distance, w=side.v1)
            for side, noise in zip((self.x, self.y), along, strict=True)
        )
        dxy = self.dxy + (x.c - self.x.c) + (y.c - self.y.c)
        return replace(self, x=x, y=y, xy=(x.mean + y.mean - mmd2) / 2, dxy=dxy)


def combined(linear: float, total: float, extra: float = 0.0) -> tuple[float, float]:
    """Return a variance that is safe to divide by, and the share of it due to pairs of rows.

    `extra` is variance that is not due to rows at all. Each part is kept at zero or above by itself. Clipping
    their sum instead would call a sample without information certain (the type-I error of that is one half).
    """
    quadratic = max(total - linear, 0.0)
    safe = max(linear, 0.0) + quadratic + extra
    return safe, quadratic / safe if safe > 0 else float("nan")


def centred_row_means(sums: KernelSums) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Return, for x and for y, the centred within-sample and cross means of every row.

    With these p and q, row i moves U by ``2 (a p_i - q_i) / m``: they are the influence of each row.
    """

    def side(within: WithinSums, cross: CrossSums) -> tuple[np.ndarray, np.ndarray]:
        p = within.rows / (within.size - 1)
        q = cross.rows / len(cross.cols)
        return p - p.mean(), q - q.mean()

    return side(sums.x, sums.cross), side(sums.y, sums.cross.swapped)
