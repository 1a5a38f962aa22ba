"""Moments of a pair of samples: estimates of everything the tests need, free of any margin.

Notation, as in the paper and in ``docs/statistics.md``: K is the kernel's bound; ``xx``, ``yy`` and
``xy`` are mean kernel values over distinct pairs; ``MMD2 = xx + yy - 2 xy``; ``D = 4K - xx - yy``;
``NAMMD = MMD2 / D``. A test of the margin eps looks at ``U = MMD2 - eps D``, itself a U-statistic,
whose variance is a quadratic in ``a = 1 + eps``.

The numbers are those of one pair, or arrays with an element for each of many; see `elementwise`.
The components below are unbiased. They are differences of larger terms and may well be negative;
that is information, and it is never clipped here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from nammd.statistics.elementwise import choose, larger, smaller, some

CrossPairs = Literal["full", "off-diagonal"]

FEW_UNITS = 20.0
"""Up to so many groups one of a kind that was not met counts in full."""

FEW_DEGREES = 3.0
"""Up to so many degrees of freedom a variance is known as badly as Student's law has it."""


def _grouped(per_unit: float) -> float:
    # Of single rows it is one up to rounding.
    return choose(per_unit > 1.0 + 1e-9, smaller(larger(per_unit - 1.0, 0.0), 1.0), 0.0)


def freedom(units: float, per_unit: float, neighbours: int = 0) -> float:
    """Return the degrees of freedom of a variance over so many groups of equal size.

    Where they are very few, or one has most of the rows, that is Student's law. The expansion of the tests
    knows what an estimated variance does to them, so that soon more of it would be too much: the degrees grow
    with the third power of their number. Single rows have infinitely many, and groups of less than two rows
    each are in between. Covariances with `neighbours` in time vary as much as variances do, and there are two
    for each.

    >>> [round(freedom(units, 5.0), 1) for units in (2.0, 4.0, 12.0, 30.0)]
    [1.0, 3.0, 147.9, 2709.9]
    >>> freedom(12.0, 1.0)
    inf
    """
    grouped = _grouped(per_unit)
    if not some(grouped > 0):
        return math.inf
    degrees = max((units - 1.0) / (1 + 2 * neighbours), 1.0)
    degrees *= max(degrees / FEW_DEGREES, 1.0) ** 2
    return degrees / grouped


class Jackknife(NamedTuple):
    """The jackknife's variance of the mean within a sample, that of the mean across, and their covariance.

    Each is estimated by leaving out one unit at a time. The numbers may be floats or tensors: learning a
    kernel differentiates through them.
    """

    own: Any
    across: Any
    both: Any

    def at(self, a: float) -> Any:
        """Return the variance of ``a xx - 2 xy``."""
        return a * a * self.own - 4 * a * self.both + 4 * self.across


@dataclass(frozen=True)
class Components:
    """Variance components that belong to one sample, here called x.

    Attributes
    ----------
    size : int or float
        The effective number of units; of single rows, their number m.
    mean : float
        ``xx``, the mean kernel value of two rows of different units.
    v1 : float
        Variance of ``E[k(x, X')]`` over x: how unevenly the sample's own mass is spread.
    v2 : float
        Variance of ``k(X, X')``.
    c : float
        Variance of ``E[k(x, Y)]`` over x: how unevenly the other sample is seen from this one.
    w : float
        Covariance of the two conditional means over x.
    per_unit : float
        How many rows there are for each unit of `size`.
    freedom : float
        The degrees of freedom of a variance over the units; infinite where rows are the units. See `freedom`.
    lift : float
        Of units that follow each other in time: how many times their neighbours multiply the variance. So
        many units tell as much as one that stands alone.
    in_unit : float
        The mean kernel value of two rows of one unit; NaN where no unit has two, or it is not known.
    """

    size: float
    mean: float
    v1: float
    v2: float
    c: float
    w: float
    per_unit: float = 1.0
    freedom: float = math.inf
    lift: float = 1.0
    in_unit: float = math.nan

    @classmethod
    def of(
        cls, n: float, mean: Any, found: Jackknife, by_pairs: tuple[Any, Any], **units: float
    ) -> Components:
        """Return the components of one unit of n from the jackknife, less what pairs of units add to it.

        `by_pairs` is the variance of the mean within that is due to pairs of units, and that of twice the
        mean across; `units` are the further attributes, where units are not single rows.
        """
        pairs, across = by_pairs
        v1 = n * (found.own - pairs * (2 * n - 2) / (n - 2)) / 4
        return cls(
            size=n,
            mean=mean,
            v1=v1,
            v2=2 * v1 + pairs * n * (n - 1) / 2,
            c=n * (found.across - across / 4),
            w=n * found.both / 2,
            **units,
        )

    @property
    def grouped(self) -> float:
        """How far rows belong together: zero where every unit is one row, one from two rows a unit on."""
        return _grouped(self.per_unit)

    def linear(self, a: float) -> float:
        """Return the variance of one unit's influence on U, over 4."""
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
    between : tuple of three float, or None
        Where units are in both samples: what they add to the variance of U, the coefficients of 1, a and a².
    """

    x: Components
    y: Components
    xy: float
    dxy: float
    bound: float
    cross: CrossPairs = "full"
    between: tuple[float, float, float] | None = None

    @classmethod
    def of(
        cls,
        x: Components,
        y: Components,
        xy: Any,
        by_pairs: Any,
        bound: float,
        between: tuple[float, float, float] | None = None,
    ) -> Moments:
        """Put two samples together; `by_pairs` is the variance of ``2 xy`` due to pairs of units."""
        return cls(x, y, xy, x.c + y.c + by_pairs * x.size * y.size / 4, bound, between=between)

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
        if math.isinf(self.x.freedom) and math.isinf(self.y.freedom):
            return math.inf
        pairs = 4 * (self.dxy - self.x.c - self.y.c) / (self.x.size * self.y.size)
        parts = []
        for side in (self.x, self.y):
            n, own = side.size, side.v2 - 2 * side.v1
            # As the jackknife has it: what pairs of units add is in it twice.
            parts.append((4 * side.linear(a) / n + pairs + 4 * a * a * own / (n * (n - 2)), side.freedom))
        total = sum(part for part, _ in parts)
        squares = sum(part * part / degrees for part, degrees in parts)
        if not some(squares > 0):
            return math.inf
        return choose(squares > 0, larger(total * total / squares, 1.0), math.inf)

    def unmet(self, a: float) -> float:
        """Return the variance of U due to a kind of group that has not been met yet; zero for single rows.

        Groups are few, and what one in G of them is like is easily missed. Nothing brings two laws closer
        than rows of one that are like those of the other: one such group would move U by the differences
        below, over G. One is added to each sample, as by the rule of succession; it counts by as much as its
        rows go together, and less and less from `FEW_UNITS` groups on: many show what there is.
        """
        one, two = self.x.mean - self.xy, self.y.mean - self.xy
        found = 0.0
        for side, other, moved in ((self.x, self.y, a * one + two), (self.y, self.x, a * two + one)):
            if some(side.grouped > 0):
                size = side.size / side.lift
                known = side.grouped * min(FEW_UNITS / size, 1.0)
                found += known * (2 * moved / size) ** 2 * self._together(side, other, min(1 / size, 0.5))
        return found

    def _together(self, side: Components, other: Components, share: float) -> float:
        """Return the variance of a group's mean over that of a row, where such a share is of the other law.

        It is one where the rows of a group are all alike, and one over their number where they are
        independent.
        """
        near, far = side.in_unit, other.in_unit
        if math.isnan(near):
            return 1.0
        far = near if math.isnan(far) else far
        rest = 1.0 - share
        mean = rest**2 * side.mean + 2 * share * rest * self.xy + share**2 * other.mean
        spread = self.bound - mean
        correlation = 1.0
        if some(spread > 0):
            correlation = choose(spread > 0, (rest * near + share * far - mean) / spread, 1.0)
        correlation = smaller(larger(correlation, 0.0), 1.0)
        return correlation + (1.0 - correlation) / max(side.per_unit, 1.0)

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
        x, y = (
            replace(side, size=size, freedom=max(side.freedom * size / side.size, 1.0))
            for side, size in ((self.x, m), (self.y, n))
        )
        # What units in both samples add is not known of other sizes: there they count as different ones.
        return replace(self, x=x, y=y, cross=self.cross if m == n else "full", between=None)


def combined(linear: float, total: float, extra: float = 0.0) -> tuple[float, float]:
    """Return a variance that is safe to divide by, and the share of it due to pairs of rows.

    `extra` is variance that is not due to rows at all. Each part is kept at zero or above by itself. Clipping
    their sum instead would call a sample without information certain (the type-I error of that is one half).
    """
    quadratic = larger(total - linear, 0.0)
    safe = larger(linear, 0.0) + quadratic + extra
    there = safe > 0
    return safe, choose(there, quadratic / choose(there, safe, 1.0), math.nan)
