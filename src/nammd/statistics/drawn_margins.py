"""The test of `nammd.statistics.margin` on all samples that a forecast draws, at once: `pvalues`.

A forecast applies a test to about a hundred samples, and calibrating asks for a dozen forecasts. The samples
differ in a few numbers each, so here is the same rule for arrays of them; a test holds the two side by side.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.statistics.margin import BOLD_DEGREES, SWITCH, well_carried, within_reach
from nammd.statistics.moments import Moments
from nammd.statistics.moved_law import MovedLaw
from nammd.statistics.near_zero import chances_below, lower_tails
from nammd.statistics.pair import VISIBLE, Alternative

BoolArray = NDArray[np.bool_]


def pvalues(law: MovedLaw, eps: float, alternative: Alternative, blur: float = 0.0) -> FloatArray:
    """Return the p-value of a margin for every sample that could be drawn; see `margin` for all of it.

    NaN where the variance estimate leaves nothing to divide by.
    """
    with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
        return _DrawnMargins(law, eps, blur).pvalues(alternative)


@dataclass(frozen=True, eq=False)
class _DrawnMargins:
    law: MovedLaw
    eps: float
    blur: float

    def pvalues(self, alternative: Alternative) -> FloatArray:
        greater = alternative == "greater"
        u = self.moments.mmd2 - self.eps * self.scale
        blurred = self.blur * self.scale**2
        total = self.moments.variance(self.slope) + blurred
        linear = self.moments.linear_variance(self.slope) + blurred
        extra = self.law.pilot.approximation(self.eps)
        safe, share = _combined(linear, total, extra)
        usable = safe > 0
        cubic, quadratic = self._cubic_and_quadratic
        if greater:
            cubic, quadratic = (1.0 - share) * cubic, (1.0 - share) * quadratic
        bolder = (2 * cubic + 3 * quadratic > 0) == greater
        sure = np.maximum(1.0 - BOLD_DEGREES / self._group_degrees, 0.0)
        if greater:
            x, y = map(well_carried, (self.moments.x.size, self.moments.y.size), self._skewness)
            sure = np.minimum(sure, np.minimum(x, y))
        known = np.where(bolder, sure, 1.0)
        cubic, quadratic = known * cubic, known * quadratic
        cubic = cubic + self.law.pilot.approximation_cubic(self.eps)
        if greater:
            safe = safe + self._unmet
        deviation = np.sqrt(safe)
        unit = 6 * deviation**3
        usable &= unit > 0
        p1, q1 = (2 * cubic + 3 * quadratic) / unit, (cubic + 3 * quadratic) / unit
        t = np.clip(u / deviation, within_reach(-math.inf), within_reach(math.inf))
        z = t + p1 * t * t + p1 * p1 * t**3 / 3 + q1
        found = lower_tails(-z if greater else z, self._degrees(extra, safe, self._group_degrees))
        if not greater:
            near = usable & ((share > SWITCH) | ~np.logical_or(self._visible, blurred > 0))
            law = self._near_zero(total - linear, max(blurred, 0.0) + extra, near)
            found[near] = np.maximum(found[near], chances_below(u[near] + law[0], *law))
        return np.where(usable, found, math.nan)

    @cached_property
    def moments(self) -> Any:
        """The `Moments` of the samples; what is drawn is an array of them."""
        return self.law.moments_of(self.law.draws)

    @property
    def slope(self) -> float:
        return self.law.pilot.slope(self.eps)

    @property
    def scale(self) -> float:
        return self.law.moments.denominator if self.law.pilot.statistic == "nammd" else 1.0

    @property
    def _cubic_and_quadratic(self) -> tuple[FloatArray, FloatArray]:
        (m, n), a, draws = self.law.sizes, self.slope, self.law.draws
        x, y = draws.sides
        cubic = 8 * (x.third / m**2 + y.third / n**2)
        return cubic, 8 * (a * x.form / m**2 + a * y.form / n**2 + 2 * draws.crossed / (m * n))

    @cached_property
    def _visible(self) -> BoolArray:
        pilot, value = self.law.pilot, self.moments.mmd2 / self.scale
        slope, unit = pilot.slope(value), self.scale**2
        parts = self.moments.linear_variance(slope) / unit, self.moments.variance(slope) / unit
        due = 0.0 if pilot.spread is None else np.array([pilot.approximation(each) for each in value]) / unit
        visible: BoolArray = value > VISIBLE * np.sqrt(_combined(*parts, due)[0])
        return visible

    @cached_property
    def _skewness(self) -> list[FloatArray]:
        """The skewness of the influences of both samples."""
        found = []
        for one, side in zip((self.moments.x, self.moments.y), self.law.draws.sides, strict=True):
            second = max(one.v1, 0.0) * (self.slope - 1.0) ** 2 + side.second
            found.append(np.where(second > 0, side.third / second / np.sqrt(second), 0.0))
        return found

    def _near_zero(self, quadratic: FloatArray, added: float, some: BoolArray) -> tuple[Any, ...]:
        """Return the centre, the noise along, the rest and the degrees of the laws of some samples."""
        centre, a = max(self.eps * self.scale, sys.float_info.min), self.slope
        outward = math.sqrt(centre) - np.sqrt(np.maximum(self.moments.mmd2[some], 0.0))
        noise, visible = [], self._visible[some]
        for one, skewed, top in zip(
            (self.moments.x, self.moments.y), self._skewness, self.law.eigenvalues, strict=True
        ):
            own, skewness = max(one.v1, 0.0), skewed[some]
            variance = (math.sqrt(top) + (a - 1.0) * math.sqrt(own / centre)) ** 2
            unsigned = np.maximum(np.abs(skewness) - math.sqrt(6 / one.size), 0.0)
            noise.append((variance, one.size, np.where(visible, skewness, unsigned)))
        total = sum(variance / size for variance, size, _ in noise)
        along = np.full(len(outward), total)
        for variance, size, skewness in noise:
            moved = outward * variance / size / total if total > 0 else 0.0
            along += np.maximum(skewness * math.sqrt(variance) * moved, 0.0) / size
        rest = np.maximum(quadratic[some] - 2 * along**2, 0.0) + added
        degrees = np.broadcast_to(self._group_degrees, some.shape)[some]
        return centre, along, rest, self._degrees(self.law.pilot.approximation(self.eps), rest, degrees)

    @cached_property
    def _group_degrees(self) -> FloatArray | float:
        """How well the variance is known where it is that of groups of rows; else infinite."""
        rows = math.isinf(self.law.moments.x.freedom) and math.isinf(self.law.moments.y.freedom)
        return math.inf if rows else self._one_by_one(Moments.degrees)

    @property
    def _unmet(self) -> FloatArray | float:
        grouped = self.law.moments.x.grouped or self.law.moments.y.grouped
        return self._one_by_one(Moments.unmet) if grouped else 0.0

    def _one_by_one(self, number: Callable[[Moments, float], float]) -> FloatArray:
        return np.array([number(self.law.moments_of(one), self.slope) for one in self.law.draws.one_by_one()])

    def _degrees(self, due: float, total: Any, groups: Any) -> Any:
        spread = self.law.pilot.spread
        return groups if spread is None else np.minimum(spread.degrees_of_freedom(due, total), groups)


def _combined(linear: FloatArray, total: FloatArray, extra: Any) -> tuple[FloatArray, FloatArray]:
    """Return a variance that is safe to divide by, and the share of it due to pairs of rows."""
    quadratic = np.maximum(total - linear, 0.0)
    safe = np.maximum(linear, 0.0) + quadratic + extra
    return safe, quadratic / safe
