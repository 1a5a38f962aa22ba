"""What samples of so many rows would look like if two laws were so far apart: `MovedLaw`.

A pilot tells how rows vary: the largest eigenvalue, the trace and the sum of squares of the covariance
operators of both laws, and how much of their noise lies along the difference of the mean embeddings. Here the
noise has that direction, one aside of it that makes up the largest eigenvalue, and several with a smaller
variance each, as many as fit the trace and the squares. So an estimate is a sum of a few chi-squares, and
what a test estimates beside it, its own variance above all, is another sum of the same ones: where an
estimate is small by chance, so is its variance. A test is then applied to samples like that, instead of to
what they would be on average.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.elementwise import symmetric
from nammd.statistics.moments import Components, Moments
from nammd.statistics.pair import KnownMeeting, Pair
from nammd.statistics.side import Known, along, standardised

DRAWS = 96
"""So many samples stand for all that could be drawn."""

SHOWN = 2.0
"""From so many deviations above zero on a pilot tells what its two laws are like along their difference."""

_CLOSE = 0.02
"""A variance that is closer than this to the largest eigenvalue is that one."""

_LEAST = 0.2
"""An estimated variance is not taken to be below this part of what it is on average."""


class Spectrum(NamedTuple):
    """How the units of one sample vary.

    Attributes
    ----------
    size : float
        The units.
    top : float
        The largest eigenvalue of the covariance operator.
    trace, squares : float
        The sum of all eigenvalues, and that of their squares.
    along : float
        The variance along the difference of the mean embeddings.
    formed : float
        The same of the squared operator: more than the square of `along`, unless that is an eigenvalue.
    skewness : float
        The skewness along it; above zero where the rare rows are those farther from the other sample.
    elsewhere : float
        How skewed they are in a direction that chance chooses.
    """

    size: float
    top: float
    trace: float
    squares: float
    along: float
    formed: float
    skewness: float
    elsewhere: float

    @classmethod
    def of(cls, pilot: Pair, side: int, size: float) -> Spectrum:
        """Take it from one sample of a pilot."""
        moments, known = pilot.moments, pilot.meeting.sides[side]
        one, top = (moments.x, moments.y)[side], known.eigenvalue
        # Of all directions that of the mean embedding is the one in which skewness is always known. One that
        # chance chooses has about half of it.
        own = standardised(float(known.second()[0, 0]), known.third(np.array([1.0, 0.0])))
        straight, formed, skewness = top, top**2, 0.0
        if shows(pilot):
            g = np.array([pilot.own_slope, -1.0])
            straight = min(max(one.linear(pilot.own_slope), 0.0) / moments.mmd2, top)
            formed = min(max(along(known.form(), g) / moments.mmd2, straight**2), straight * top)
            skewness = pilot.skewness(side, pilot.value)
        trace, squares = max(_trace(one, moments.bound), top), max(one.v2 - 2 * one.v1, top**2)
        return cls(size, top, trace, squares, straight, formed, skewness, abs(own) / 2)

    @property
    def aside(self) -> float:
        """The largest variance in a direction across the difference of the mean embeddings.

        With that along it and what goes between the two it has the largest eigenvalue.
        """
        left = self.top - self.along
        if left <= _CLOSE * self.top:
            return 0.0
        return max(self.top - (self.formed - self.along**2) / left, 0.0)

    def towards(self, other: Spectrum, part: float) -> Spectrum:
        """Return that of a law part of the way from this one to the other."""
        mixed = ((1 - part) * one + part * two for one, two in zip(self[1:], other[1:], strict=True))
        return Spectrum(other.size, *mixed)


def shows(pilot: Pair) -> bool:
    """Tell whether a pilot shows what its two laws are like along their difference."""
    return pilot.value > SHOWN * pilot.deviation


def _trace(one: Components, bound: float) -> float:
    """Return the trace of the covariance operator of a unit."""
    rows, together = max(one.per_unit, 1.0), one.in_unit - one.mean
    apart = (bound - one.mean) / rows
    return one.lift * (apart if math.isnan(together) else apart + (1 - 1 / rows) * max(together, 0.0))


class DrawnSide(NamedTuple):
    """What is drawn of one sample, an element for each draw.

    Attributes
    ----------
    linear : array
        What is added to the variance of q.
    second, form, third : array
        Along the difference: the means of ``h²``, of ``h_i k(i, j) h_j``, and of ``h³``, with ``h = p - q``.
    """

    linear: FloatArray
    second: FloatArray
    form: FloatArray
    third: FloatArray


class Draws(NamedTuple):
    """Samples that could be drawn, an element of every array for each of them.

    Attributes
    ----------
    mmd2 : array
        The estimates.
    along : array
        The differences of the means, in the direction of that of the laws.
    sides : tuple of two DrawnSide
        What is drawn of x and of y.
    crossed : array
        What the units of x and of y have in common along the difference.
    """

    mmd2: FloatArray
    along: FloatArray
    sides: tuple[DrawnSide, DrawnSide]
    crossed: FloatArray

    def one_by_one(self) -> Iterator[Any]:
        """Return them one by one: the same with numbers in place of arrays."""
        x, y = (zip(*(one.tolist() for one in side), strict=True) for side in self.sides)
        others = (each.tolist() for each in (self.mmd2, self.along, self.crossed))
        for first, second, mmd2, straight, crossed in zip(x, y, *others, strict=True):
            yield Draws(mmd2, straight, (DrawnSide(*first), DrawnSide(*second)), crossed)


class Drawn(NamedTuple):
    """Two samples that could be drawn.

    Attributes
    ----------
    pair : Pair
        What a test knows of them.
    along : float
        The difference of their means, in the direction of that of the laws.
    """

    pair: Pair
    along: float


@dataclass(frozen=True, eq=False)
class MovedLaw:
    """Two laws at a given distance that vary like those of a pilot, and sizes of samples of them.

    Below the pilot's distance the second law is part of the way from the first to the second one of the
    pilot; so at a distance of zero the two are equal. Beyond, the rows of both vary as the pilot's do.

    Attributes
    ----------
    pilot : Pair
        Where the variability is from.
    value : float
        The distance.
    sizes : tuple of two float
        The units of x and of y.
    frozen : bool
        Whether the distance is that to the rows of x, and not to their law: then only y is drawn.
    known : float
        Else, how much of the noise of x along the difference is known: of its variance, a share.
    """

    pilot: Pair
    value: float
    sizes: tuple[float, float]
    frozen: bool = False
    known: float = 0.0

    @cached_property
    def _part(self) -> float:
        """How far the second law is from the first, with that of the pilot as one."""
        x, y = self.pilot.moments.x, self.pilot.moments.y
        alike = abs(x.per_unit - y.per_unit) <= 0.01 * x.per_unit and x.lift == y.lift == 1.0
        if not (alike and shows(self.pilot) and self.value < self.pilot.value):
            return 1.0
        return math.sqrt(max(self.value, 0.0) / self.pilot.value)

    @cached_property
    def spectra(self) -> tuple[Spectrum, Spectrum]:
        """How the units of x and of y vary."""
        x, y = (Spectrum.of(self.pilot, side, size) for side, size in enumerate(self.sizes))
        return x, x.towards(y, self._part)

    @cached_property
    def crossed(self) -> float:
        """What the units of x and of y have in common along the difference."""
        x, y = self.spectra
        found = x.along * y.along
        if shows(self.pilot):
            g = np.array([self.pilot.own_slope, -1.0])
            seen = max(-along(self.pilot.meeting.form(), g) / self.pilot.moments.mmd2, 0.0)
            found = (1 - self._part) * x.formed + self._part * seen
        return min(found, math.sqrt(x.formed * y.formed))

    @cached_property
    def moments(self) -> Moments:
        """The moments of the two laws, but for what is along their difference."""
        found, part = self.pilot.moments.resized(*self.sizes), self._part
        x, y = found.x, found.y
        mean = (1 - part) ** 2 * x.mean + 2 * part * (1 - part) * found.xy + part**2 * y.mean
        v1, v2 = ((1 - part) * one + part * two for one, two in ((x.v1, y.v1), (x.v2, y.v2)))
        both = (1 - part) * (x.v2 - 2 * x.v1) + part * (found.dxy - x.c - y.c)
        x, y = replace(x, c=x.v1, w=x.v1), replace(y, mean=mean, v1=v1, v2=v2, c=v1, w=v1)
        return replace(found, x=x, y=y, dxy=x.c + y.c + both)

    @cached_property
    def distance(self) -> float:
        """The squared length of the difference of the mean embeddings."""
        scale = self.moments.denominator if self.pilot.statistic == "nammd" else 1.0
        return max(self.value, 0.0) * scale

    def _noise(self, parts: tuple[float, float], x: float = 1.0) -> float:
        """Return the variance of the difference of the sample means, by those of units; of x, a share."""
        m, n = self.sizes
        return x * parts[0] / m + parts[1] / n

    @property
    def _drawn(self) -> tuple[float, float]:
        """The shares of the variance of x that are drawn: along the difference, and else."""
        return (0.0, 0.0) if self.frozen else (1.0 - self.known, 1.0)

    @cached_property
    def _directions(self) -> Directions:
        """Return the variances along the difference, in one direction aside, and in others, all alike."""
        (x, y), moments, (m, n) = self.spectra, self.moments, self.sizes
        both = moments.dxy - moments.x.c - moments.y.c
        squares = x.squares / m**2 + y.squares / n**2 + 2 * both / (m * n)
        straight, aside = (x.along, y.along), (x.aside, y.aside)
        left = max(squares - self._noise(straight) ** 2, 0.0)
        if self._noise(aside) ** 2 > left:  # those of x and of y are not the same direction
            part = math.sqrt(left) / self._noise(aside)
            aside = aside[0] * part, aside[1] * part
        left = max(left - self._noise(aside) ** 2, 0.0)
        rest = max(x.trace - x.along - aside[0], 0.0), max(y.trace - y.along - aside[1], 0.0)
        trace = self._noise(rest)
        if not (left > 0 and trace > 0):
            return Directions(straight, aside, (0.0, 0.0), 1.0)
        # Of directions with unequal variances only so many count.
        count = max(trace**2 / left, 1.0)
        return Directions(straight, aside, (rest[0] / count, rest[1] / count), count)

    @cached_property
    def draws(self) -> Draws:
        """Samples that are evenly scattered over all that could be drawn; always the same ones."""
        from scipy.special import gammaincinv

        points, scores = _scatter()
        *directions, count = self._directions
        whole = [self._noise(each) for each in directions]
        straight_on, elsewhere = self._drawn
        shares = straight_on, elsewhere, elsewhere
        varies = [self._noise(each, share) for each, share in zip(directions, shares, strict=True)]
        z = scores[0] + self._skewness * (scores[0] ** 2 - 1) / 6
        straight = math.sqrt(self.distance) + math.sqrt(varies[0]) * z
        # What every direction adds to the estimate; rows of x that are fixed are in it on average.
        parts = (
            straight**2 - varies[0],
            varies[1] * (scores[1] ** 2 - 1),
            varies[2] * (2 * gammaincinv(count / 2, points[2]) - count),
        )
        raw = [
            np.maximum(part + noise, 0.0)
            for part, noise in zip(parts, (whole[0], whole[1], count * whole[2]), strict=True)
        ]
        mmd2 = sum(parts) + math.sqrt(self._added) * scores[4]
        outward = z / math.sqrt(varies[0]) if varies[0] > 0 else np.zeros_like(z)
        sides = []
        for number, one in enumerate(self.spectra):
            own = [each[number] for each in directions]
            # Where few rows carry the difference, samples that have more of them vary more too.
            moved = (1.0 if number else straight_on) * math.sqrt(one.along) / one.size
            grown = np.maximum(1 + one.skewness * moved * outward, _LEAST)
            linear = grown * own[0] * parts[0] + own[1] * parts[1] + own[2] * parts[2]
            seconds = own[0] * raw[0] + own[1] * raw[1] + own[2] * raw[2]
            forms = one.formed * raw[0] + own[1] ** 2 * raw[1] + own[2] ** 2 * raw[2]
            share = np.zeros_like(seconds)
            if shows(self.pilot):
                np.divide(own[0] * raw[0], seconds, out=share, where=seconds > 0)
            chance = np.sqrt(one.elsewhere**2 * (1 - share**3) + 6 / one.size)
            skewness = one.skewness * np.sign(straight) * share + (1 - 2 * number) * chance * scores[3]
            sides.append(DrawnSide(linear, seconds, forms, skewness * seconds**1.5))
        across = [each[0] * each[1] for each in directions[1:]]
        crossed = self.crossed * raw[0] + across[0] * raw[1] + across[1] * raw[2]
        return Draws(mmd2, straight, (sides[0], sides[1]), crossed)

    def pairs(self) -> Pair:
        """Return the samples as one pair with an element of every number for each."""
        return self._pair(self.draws)

    def drawn(self) -> Iterator[Drawn]:
        """Return the samples one by one, as pairs."""
        for one in self.draws.one_by_one():
            yield Drawn(self._pair(one), one.along)

    @cached_property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues that samples show: the fewer units there are, the larger they seem."""
        found = []
        for one, pilot in zip(self.spectra, (self.pilot.x, self.pilot.y), strict=True):
            rest = max(one.trace - one.top, 0.0)
            other = (one.squares - one.top**2) / rest if rest > 0 else 0.0
            pushed = rest * min(one.top / max(one.top - other, _CLOSE * one.top), 3.0) if one.top > 0 else 0.0
            found.append(max(one.top + pushed * (1 / one.size - 1 / pilot.size), one.top / 2))
        return found[0], found[1]

    @property
    def _skewness(self) -> float:
        """The skewness of the difference of the sample means, along the difference of the laws."""
        x, y = self.spectra
        share = self._drawn[0]
        total = self._noise((x.along, y.along), share)
        cubes = [one.skewness * one.along**1.5 / one.size**2 for one in (x, y)]
        return (share * cubes[0] + cubes[1]) / total**1.5 if total > 0 else 0.0

    @property
    def _added(self) -> float:
        """The variance of the estimate that is due to its denominator, and to random frequencies."""
        value, moments = max(self.value, 0.0), self.moments
        own = self._noise((max(moments.x.v1, 0.0), max(moments.y.v1, 0.0)), self._drawn[1])
        return 4 * (self.pilot.slope(value) - 1) ** 2 * own + self.pilot.approximation(value)

    def moments_of(self, draws: Any) -> Moments:
        """Return the moments of samples that were drawn; with arrays in them, unless it is one sample."""
        base = self.moments
        x, y = (
            replace(one, c=one.v1 + side.linear)
            for one, side in zip((base.x, base.y), draws.sides, strict=True)
        )
        dxy = base.dxy + (x.c - base.x.c) + (y.c - base.y.c)
        return replace(base, x=x, y=y, xy=(x.mean + y.mean - draws.mmd2) / 2, dxy=dxy)

    def _pair(self, draw: Any) -> Pair:
        moments, known = self.moments_of(draw), []
        for one, side, top in zip((moments.x, moments.y), draw.sides, self.eigenvalues, strict=True):
            own = max(one.v1, 0.0)
            none = np.zeros_like(side.second)
            second, form = (
                symmetric(own + none, own + none, own + side.second),
                symmetric(none, none, side.form),
            )
            known.append(Known(one.size, second, form, np.array([none, none, none, -side.third]).T, top))
        none = np.zeros_like(draw.crossed)
        meeting = KnownMeeting(moments, known[0], known[1], symmetric(none, none, -draw.crossed))
        return Pair(meeting, self.pilot.statistic, spread=self.pilot.spread)


class Directions(NamedTuple):
    """The variances of units of x and of y in every direction.

    Attributes
    ----------
    straight : tuple of two float
        Along the difference of the mean embeddings.
    aside : tuple of two float
        In another direction.
    others : tuple of two float
        In every other direction.
    number : float
        How many others there are.
    """

    straight: tuple[float, float]
    aside: tuple[float, float]
    others: tuple[float, float]
    number: float


@cache
def _scatter() -> tuple[FloatArray, FloatArray]:
    """Return evenly scattered points of a cube, and what has a normal law there; a row for each axis."""
    from scipy.special import ndtri

    axes, ratio = 5, 2.0
    for _ in range(60):  # the generalised golden ratio, the root of r^(axes + 1) = r + 1
        ratio = (1 + ratio) ** (1 / (axes + 1))
    steps = ratio ** -np.arange(1.0, axes + 1)
    points = (0.5 + steps[:, None] * np.arange(1, DRAWS + 1)) % 1.0
    return points, ndtri(points)
