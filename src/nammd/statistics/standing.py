"""One estimated distance, as far as comparing it with another one needs it: `Standing`.

A row of x moves the distance by ``phi / m`` with ``phi = 2 (a p - q) / D``, p and q being its centred mean
kernel values within x and across to y, and the denominator D by ``eta / m`` with ``eta = 2 p / D``; likewise
for y. What follows are averages over these influences. Everything is a number, but for a sample that two
distances share: of its rows the influences themselves are kept, since it matters how they go together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.engines.sums import KernelSums
from nammd.statistics.moments import Moments, centred_row_means, combined
from nammd.statistics.near_zero import VISIBLE, standardised
from nammd.statistics.skewness import Grams
from nammd.statistics.spread import Spread

Rows: TypeAlias = NDArray[np.intp]
"""Positions of rows that stand for a sample."""


@dataclass(frozen=True)
class SampleTerms:
    """How the rows of one sample take part in an estimated distance.

    Attributes
    ----------
    size : int or float
        The number of rows; of rows that belong together, the effective number of units.
    second, third : float
        The means of ``phi²`` and ``phi³``; the latter is NaN where it is not known.
    bias : float
        The mean of ``phi eta``.
    form : float
        The mean of ``phi_i k(i, j) phi_j`` over pairs of distinct rows.
    """

    size: float
    second: float
    third: float
    bias: float
    form: float

    @property
    def skewness(self) -> float:
        """The skewness of ``phi``; zero where it is not known."""
        return standardised(self.second, self.third)


@dataclass(frozen=True)
class Together:
    """How two distances depend on the sample that they share, by the influences ``X = phi_2 - phi_1``.

    Attributes
    ----------
    covariance : float
        The covariance, over the rows, of their mean kernel values with the two other samples.
    third : float
        The mean of ``X³``.
    form : float
        The mean of ``X_i k(i, j) X_j`` over pairs of distinct rows.
    with_phi, with_eta, with_other : tuple of two float
        For each distance: the means of ``X phi`` and ``X eta``, and of ``X_i k(i, j) phi_y(j)`` over the
        rows of x and of its own y.
    whole : float or None
        The covariance of the two influences of a unit, all of it, where units of x are in a y too.
    """

    covariance: float
    third: float
    form: float
    with_phi: tuple[float, float]
    with_eta: tuple[float, float]
    with_other: tuple[float, float]
    whole: float | None = None


class Operators(Protocol):
    """The covariance operators of two samples; their eigenvalues are computed when they are asked for."""

    @property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalue of each."""


class SeenFromX(Protocol):
    """What a distance keeps of its x, in case that another one has the same x."""

    def together(self, other: Any) -> Together:
        """Return how the two depend on it; `other` is the second one, measured now."""


@dataclass(frozen=True, eq=False)
class Standing:
    """An estimated distance with all that a comparison needs.

    Attributes
    ----------
    moments : Moments
        The first and second moments of the pair.
    normed : bool
        Whether the distance is NAMMD, whose denominator is estimated too, or MMD² itself.
    x, y : SampleTerms
        How each sample takes part.
    crossed : float
        The mean of ``phi_x(i) k(i, j) phi_y(j)``.
    operators : Operators
        The covariance operators of x and y, as far as their largest eigenvalues go.
    seen : SeenFromX or None
        What is kept of the rows of x.
    alike : tuple of two bool
        Whether all rows of x are equal, and all rows of y. If both, there is no variance but rounding.
    void : bool
        Whether there is nothing to compare, whatever the numbers.
    spread : Spread or None
        How the estimate varies over random frequencies.
    """

    moments: Moments
    normed: bool
    x: SampleTerms
    y: SampleTerms
    crossed: float
    operators: Operators = field(repr=False)
    seen: SeenFromX | None = field(default=None, repr=False)
    alike: tuple[bool, bool] = (False, False)
    void: bool = False
    spread: Spread | None = None

    @property
    def constant(self) -> bool:
        """Whether each sample is one row repeated."""
        return all(self.alike)

    @cached_property
    def scale(self) -> float:
        """What MMD² is divided by."""
        return self.moments.denominator if self.normed else 1.0

    @cached_property
    def value(self) -> float:
        """The estimate."""
        return self.moments.mmd2 / self.scale

    @property
    def slope(self) -> float:
        """One plus the estimate, or one for MMD² itself: a, at which the variance is taken."""
        return 1.0 + self.value if self.normed else 1.0

    @cached_property
    def variance_parts(self) -> tuple[float, float]:
        """The variance of the estimate: the part due to single rows, and all of it; unbiased."""
        slope, unit = self.slope, self.scale**2
        return self.moments.linear_variance(slope) / unit, self.moments.variance(slope) / unit

    @property
    def share(self) -> float:
        """The share of that variance due to pairs of rows; one where there is no variance."""
        variance, share = combined(*self.variance_parts)
        return share if variance > 0 else 1.0

    @property
    def degrees(self) -> float:
        """How well that variance is known where it is that of groups of rows; else infinite."""
        return self.moments.degrees(self.slope)

    @property
    def effective_rows(self) -> float:
        """The rows of x and y as one number, by which estimates are weighted."""
        return 1 / (1 / self.x.size + 1 / self.y.size)

    @property
    def by_frequencies(self) -> float:
        """The variance of the estimate that is due to random frequencies."""
        if self.spread is None:
            return 0.0
        return self.spread.variance(self.slope - 1.0) / self.scale**2

    @property
    def standard_error(self) -> float:
        """The standard error of the estimate."""
        return float(np.sqrt(combined(*self.variance_parts, self.by_frequencies)[0]))

    @cached_property
    def visible(self) -> bool:
        """Whether the estimate is so far above zero that its rows show in which direction the two differ."""
        return self.value > VISIBLE * self.standard_error

    def along(self, side: int) -> float:
        """Return the variance of a row's noise along the difference of the mean embeddings, as seen here.

        It is the variance of the influence over MMD², which is far more stable than the variance, since that
        shrinks with the estimate. Both without bias, or both with it if that is more: of a small distance the
        unbiased variance may be next to nothing by chance. To be asked only where the distance is visible.
        """
        moments, terms = self.moments, self.y if side else self.x
        unbiased = (moments.y if side else moments.x).linear(self.slope) / moments.mmd2
        length = moments.mmd2 + sum((moments.bound - one.mean) / one.size for one in (moments.x, moments.y))
        return max(unbiased, terms.second * self.scale**2 / 4 / length)


@dataclass(frozen=True, eq=False)
class UnitScale:
    """How averages over the rows of x are taken where rows belong together: over units.

    Attributes
    ----------
    size : float
        The effective number of units.
    lift : array of shape (units,)
        What the product of two influences of a unit counts in a covariance by the jackknife.
    reach : int
        1 where neighbouring units go together, as blocks of time do.
    """

    size: float
    lift: FloatArray = field(repr=False)
    reach: int = 0

    def mean(self, values: FloatArray) -> float:
        """Return the mean over the units."""
        return float(values.sum()) / self.size

    def covariance(self, one: FloatArray, other: FloatArray) -> float:
        """Return the covariance of two influences, by leaving out one unit at a time."""
        total = float((self.lift * one) @ other)
        if self.reach:
            root = np.sqrt(self.lift)
            first, second = root * one, root * other
            total += float(first[:-1] @ second[1:] + first[1:] @ second[:-1])
        return total / self.size


@dataclass(frozen=True, eq=False)
class RowsOfX:
    """The rows of x as they enter a distance.

    Attributes
    ----------
    slope, scale : float
        Of the distance.
    normed : bool
        Whether the denominator varies too.
    across : array of shape (m,)
        The mean kernel value of every row with the rows of y, centred.
    felt : array of shape (r,)
        For the rows that stand for x: the mean of ``k(i, j) phi_y(j)`` over j.
    within : array of shape (m,), or None
        The mean kernel value of every row with the others, centred; None where it is not known any more: it
        belongs to x alone, and a later distance from the same x knows it.
    chosen, gram : array, or None
        Which rows stand for x, and their Gram matrix; None likewise.
    scale_of_units : UnitScale or None
        Where rows belong together, and all of this is about units; None likewise, or where they do not.
    joint : bool
        Whether units of x are in y too; `across` then has what they do there.
    """

    slope: float
    scale: float
    normed: bool
    across: FloatArray = field(repr=False)
    felt: FloatArray = field(repr=False)
    within: FloatArray | None = field(default=None, repr=False)
    chosen: Rows | None = field(default=None, repr=False)
    gram: FloatArray | None = field(default=None, repr=False)
    scale_of_units: UnitScale | None = None
    joint: bool = False

    def together(self, other: RowsOfX) -> Together:
        """Return how two distances depend on their common x; `other` is the second, and knows all of x."""
        assert other.within is not None
        assert other.gram is not None
        p, chosen = other.within, other.chosen
        phi = [2 * (one.slope * p - one.across) / one.scale for one in (self, other)]
        eta = [2 * p / one.scale if one.normed else np.zeros(len(p)) for one in (self, other)]
        x = phi[1] - phi[0]
        some, units = x[chosen], other.scale_of_units

        def mean(values: FloatArray) -> float:
            return float(np.mean(values)) if units is None else units.mean(values)

        if units is None:
            covariance = float(np.cov(self.across, other.across)[0, 1])
        else:
            covariance = units.covariance(self.across, other.across)
        return Together(
            covariance=covariance,
            third=mean(x**3),
            form=form_of(other.gram, some),
            with_phi=(mean(x * phi[0]), mean(x * phi[1])),
            with_eta=(mean(x * eta[0]), mean(x * eta[1])),
            with_other=(float(np.mean(some * self.felt)), float(np.mean(some * other.felt))),
            whole=units.covariance(*phi) if units is not None and (self.joint or other.joint) else None,
        )


def form_of(gram: FloatArray, weights: FloatArray) -> float:
    """Return the mean of ``w_i k(i, j) w_j`` over pairs of distinct rows."""
    count = len(weights)
    own = float((weights * weights) @ np.diagonal(gram))
    return (float(weights @ gram @ weights) - own) / (count * (count - 1))


def row_terms(
    sums: KernelSums,
    chosen: tuple[Rows, Rows],
    grams: Grams,
    scaling: tuple[float, float, bool],
) -> tuple[SampleTerms, SampleTerms, float, RowsOfX]:
    """Return the terms of both samples, how they meet, and the rows of x, from the sums over rows.

    `scaling` is the slope and the scale of the distance, and whether its denominator varies.
    """
    slope, scale, normed = scaling
    both = centred_row_means(sums)
    phi = [2 * (slope * p - q) / scale for p, q in both]
    eta = [2 * p / scale if normed else np.zeros(len(p)) for p, _ in both]
    some = [influence[rows] for influence, rows in zip(phi, chosen, strict=True)]
    felt: FloatArray = grams.cross @ some[1] / len(some[1])
    terms = [
        SampleTerms(
            size=len(influence),
            second=float(np.mean(influence * influence)),
            third=float(np.mean(influence**3)),
            bias=float(np.mean(influence * norm)),
            form=form_of(gram, few),
        )
        for influence, norm, gram, few in zip(phi, eta, (grams.x, grams.y), some, strict=True)
    ]
    crossed = float(np.mean(some[0] * felt))
    (within, across), _ = both
    rows = RowsOfX(slope, scale, normed, across, felt, within, chosen[0], grams.x)
    return terms[0], terms[1], crossed, rows
