"""A pair of samples, whatever it is known from: `Pair`.

It is the one place for the value of a distance, its scale, its slope, its standard error, and whether it
shows a direction; every test, interval, comparison and forecast is a function of pairs. The two statistics
differ in one line: for NAMMD, ``U = MMD2 - eps D`` and ``a = 1 + eps``; for MMD2, ``U = MMD2 - eps`` and
``a = 1``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.elementwise import choose, direction, larger, root, smaller, some
from nammd.statistics.moments import Moments, combined
from nammd.statistics.side import KeptX, Known, Side, along, standardised
from nammd.statistics.spread import Spread

Statistic = Literal["nammd", "mmd2"]
Alternative = Literal["greater", "less"]

VISIBLE = 0.5
"""From so many deviations above zero on an estimate shows in which direction two laws differ."""


class Meeting(Protocol):
    """Two samples, and how they meet: what a pair is known from."""

    @property
    def moments(self) -> Moments:
        """The first and second moments."""

    @property
    def sides(self) -> tuple[Side, Side]:
        """The influences of the units of x and of y."""

    def form(self) -> FloatArray:
        """Return the means of ``g_x(i) k(i, j) g_y(j)``, as a matrix."""

    def kept(self, slope: float, scale: float) -> KeptX:
        """Return what a distance of that slope and scale keeps of the units of x."""

    def apart(self) -> Meeting:
        """Return the meeting as if units that are in both samples had been drawn apart."""


@dataclass(frozen=True, eq=False)
class KnownMeeting:
    """A meeting of which the averages are known, and nothing else: read from a file, or forecast.

    Attributes
    ----------
    moments : Moments
        The first and second moments.
    x, y : Known
        The two samples.
    forms : array of shape (2, 2)
        See `Meeting.form`.
    kept_x : KeptX or None
        What the distance kept of the units of x.
    """

    moments: Moments
    x: Known
    y: Known
    forms: FloatArray
    kept_x: KeptX | None = None

    @property
    def sides(self) -> tuple[Side, Side]:
        """The two samples."""
        return self.x, self.y

    def form(self) -> FloatArray:
        """Return the means of ``g_x(i) k(i, j) g_y(j)``."""
        return self.forms

    def kept(self, slope: float, scale: float) -> KeptX:
        """Return what was kept, for the slope and scale that it was kept for."""
        if self.kept_x is None:
            raise ValueError("nothing was kept of the units of x")
        return self.kept_x

    def apart(self) -> KnownMeeting:
        """Return the meeting itself: it is not known which units are in both."""
        return self


@dataclass(frozen=True, eq=False)
class Pair:
    """What is known of a pair of samples, read as one of the two statistics; or of many, an array of each.

    Attributes
    ----------
    meeting : Meeting
        What it is known from.
    statistic : {"nammd", "mmd2"}
        Which statistic.
    alike : tuple of two bool, or of arrays
        Whether all rows of x are equal, and all rows of y. If both, there is no variance, though rounding
        may leave a trace of one.
    spread : Spread or None
        Where the kernel is approximated by random frequencies and the exact one is meant: how the
        approximation varies.
    void : bool
        Whether there is nothing to test with, whatever the numbers: the same rows twice, say.
    """

    meeting: Meeting = field(repr=False)
    statistic: Statistic = "nammd"
    alike: tuple[bool, bool] = (False, False)
    spread: Spread | None = None
    void: bool = False

    @cached_property
    def moments(self) -> Moments:
        """The first and second moments."""
        return self.meeting.moments

    @property
    def x(self) -> Side:
        """The influences of the units of x."""
        return self.meeting.sides[0]

    @property
    def y(self) -> Side:
        """The influences of the units of y."""
        return self.meeting.sides[1]

    @property
    def constant(self) -> bool:
        """Whether each sample is one row repeated."""
        return self.alike[0] & self.alike[1]

    @cached_property
    def scale(self) -> float:
        """What the statistic is MMD2 divided by."""
        return self.moments.denominator if self.statistic == "nammd" else 1.0

    @property
    def largest(self) -> float:
        """The largest value that the statistic's population value can take."""
        return 1.0 if self.statistic == "nammd" else 2.0 * self.moments.bound

    @cached_property
    def value(self) -> float:
        """The estimate of the statistic; it may be slightly negative."""
        return self.moments.mmd2 / self.scale

    def slope(self, eps: float) -> float:
        """Return a: 1 + eps where the denominator is estimated too, 1 where there is none."""
        return 1.0 + eps if self.statistic == "nammd" else 1.0

    @cached_property
    def own_slope(self) -> float:
        """The slope at the estimate, at which its own variance is taken."""
        return self.slope(self.value)

    @cached_property
    def variance_parts(self) -> tuple[float, float]:
        """The variance of the estimate: the part due to single units, and all of it; unbiased."""
        slope, unit = self.own_slope, self.scale**2
        return self.moments.linear_variance(slope) / unit, self.moments.variance(slope) / unit

    @cached_property
    def standard_error(self) -> float:
        """The standard error of the estimate: the root of the unbiased variance, where that is positive."""
        total = self.variance_parts[1]
        found = choose(total > 0, root(larger(total, 0.0) + self.by_frequencies), self.deviation)
        return choose(self.constant, 0.0, found)  # what is left of a variance there is rounding

    @cached_property
    def deviation(self) -> float:
        """The same as tests need it: no part of the variance is taken to be negative; see `combined`."""
        return root(combined(*self.variance_parts, self.by_frequencies)[0])

    @cached_property
    def share(self) -> float:
        """The share of that variance due to pairs of units; one where there is no variance."""
        variance, share = combined(*self.variance_parts)
        return choose(variance > 0, share, 1.0)

    @cached_property
    def visible(self) -> bool:
        """Whether the estimate is so far above zero that its rows show in which direction the two differ."""
        return self.value > VISIBLE * self.deviation

    @property
    def degrees(self) -> float:
        """How well that variance is known where it is that of groups of rows; else infinite."""
        return self.moments.degrees(self.own_slope)

    @property
    def effective_rows(self) -> float:
        """The units of x and y as one number, by which estimates are weighted."""
        return 1 / (1 / self.x.size + 1 / self.y.size)

    @property
    def rows(self) -> tuple[int, int]:
        """The numbers of rows."""
        x, y = self.moments.x, self.moments.y
        return round(x.size * x.per_unit), round(y.size * y.per_unit)

    def noise_along(self, side: int) -> float:
        """Return the variance of a unit's noise along the difference of the mean embeddings, as seen here.

        It is the variance of the influence over MMD², which is far more stable than the variance, since that
        shrinks with the estimate. Both without bias, or both with it if that is more: of a small distance the
        unbiased variance may be next to nothing by chance. To be asked only where the distance is visible.
        """
        moments, slope = self.moments, self.own_slope
        unbiased = (moments.x, moments.y)[side].linear(slope) / moments.mmd2
        length = moments.mmd2 + sum((moments.bound - one.mean) / one.size for one in (moments.x, moments.y))
        second = along(self.meeting.sides[side].second(), direction(slope))
        return max(unbiased, second / length)

    # Random frequencies, where the kernel is approximated by some.

    def approximation(self, eps: float) -> float:
        """Return the variance of U that is due to random frequencies, not to rows; mostly zero."""
        return 0.0 if self.spread is None else self.spread.variance(self.slope(eps) - 1.0)

    def approximation_cubic(self, eps: float) -> float:
        """Return what random frequencies add to the third cumulant of U."""
        return 0.0 if self.spread is None else self.spread.third_cumulant(self.slope(eps) - 1.0)

    @cached_property
    def by_frequencies(self) -> float:
        """The variance of the estimate that is due to random frequencies."""
        return self.approximation(self.value) / self.scale**2

    def degrees_of_freedom(self, due: float, total: float, a: float = 1.0) -> float:
        """Return how well the variance is known: it may be due to random frequencies, or to few groups."""
        groups = self.moments.degrees(a)
        return groups if self.spread is None else smaller(self.spread.degrees_of_freedom(due, total), groups)

    # What is of higher order than the variance.

    @cached_property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators."""
        return self.x.eigenvalue, self.y.eigenvalue

    def cubic_and_quadratic(self, eps: float, alternative: Alternative) -> tuple[float, float]:
        """Return the two parts of the third cumulant of U that are due to units.

        One is the skewness of their influences, the other how influences of different units meet through the
        kernel. Totals know the latter only. Alone it may move the test in the wrong direction, since the two
        often have opposite signs; so it is used where it makes the test more cautious.
        """
        a, (x, y) = self.slope(eps), self.meeting.sides
        m, n, g = x.size, y.size, direction(a)
        cubic = 8 * (x.third(g) / m**2 + y.third(g) / n**2)
        quadratic = 8 * (
            a * along(x.form(), g) / m**2
            + a * along(y.form(), g) / n**2
            - 2 * along(self._crossed, g) / (m * n)
        )
        unknown = cubic != cubic
        if some(unknown):
            cautious = smaller(quadratic, 0.0) if alternative == "greater" else larger(quadratic, 0.0)
            return choose(unknown, 0.0, cubic), choose(unknown, cautious, quadratic)
        return cubic, quadratic

    def skewness(self, side: int, eps: float) -> float:
        """Return the skewness of the influences of one sample's units; zero where it is not known."""
        one, g = self.meeting.sides[side], direction(self.slope(eps))
        return standardised(along(one.second(), g), one.third(g))

    @cached_property
    def _crossed(self) -> FloatArray:
        return self.meeting.form()

    # What a comparison with another distance needs: influences on the distance itself.

    @cached_property
    def phi(self) -> FloatArray:
        """What the p and q of a unit are multiplied with for its influence on the distance."""
        return np.array([2 * self.own_slope / self.scale, -2 / self.scale])

    @cached_property
    def eta(self) -> FloatArray:
        """The same for its influence on the denominator; zero where there is none."""
        return np.array([2 / self.scale if self.statistic == "nammd" else 0.0, 0.0])

    @property
    def crossed(self) -> float:
        """The mean of ``phi_x(i) k(i, j) phi_y(j)``."""
        return along(self._crossed, self.phi)

    @cached_property
    def kept_x(self) -> KeptX:
        """What is kept of the units of x, for another distance from the same x."""
        return self.meeting.kept(self.own_slope, self.scale)

    def apart(self) -> Pair:
        """Return the pair as if units that are in both samples had been drawn apart."""
        return replace(self, meeting=self.meeting.apart())

    def kept(self, units: bool = True) -> Pair:
        """Return the pair by its averages, as a file keeps it; and its units of x, for others to share."""
        x, y = map(Known.of, self.meeting.sides)
        kept_x = self.kept_x if units else None
        return replace(self, meeting=KnownMeeting(self.moments, x, y, self._crossed, kept_x))
