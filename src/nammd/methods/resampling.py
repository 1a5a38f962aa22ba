"""Closeness tests over finitely many points, with thresholds by resampling: what they share.

The null hypothesis is a margin on a distance of P and Q, and its boundary holds many pairs of
distributions. As in the paper, one of them is chosen, and the statistic is drawn again and again
from samples of it. The level is therefore exact for that pair; for others it is not promised, which
is why it can be given, and why a caution says so where the data do not look like it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.opening import numeric_arrays
from nammd.datasets.discrete import DiscretePair, support_points
from nammd.errors.checks import between, whole
from nammd.results import Caution, Tested, number, p_value

Counts = NDArray[np.int64]

_DISTANCES = {"canonne": "total variation", "wasserstein": "Wasserstein distance"}
_TIE = 1e-10
"""Statistics that differ by less, relatively, are equal but for rounding."""

_UNLIKE = 1e-4
"""The p-value of a chi-squared test below which x does not look like a sample of the boundary's P."""


@dataclass(frozen=True)
class ResampledResult(Tested):
    """The outcome of a closeness test over a finite support.

    Attributes
    ----------
    method : {"canonne", "wasserstein"}
        Which test.
    statistic : float
        The test statistic: Canonne's, which is not a distance itself, or the Wasserstein distance of
        the two samples.
    pvalue : float
        The share of resampled statistics that are as large, the observed one counted among them.
    threshold : float
        The test rejects where the statistic is larger; infinite with too few resamples for the level.
    rejected : bool
        Whether the null hypothesis is rejected at level `alpha`.
    epsilon : float
        The margin tested: a total variation or a Wasserstein distance.
    alpha : float
        The level of the test.
    alternative : {"greater"}
        The alternative is that the distributions are farther apart than epsilon.
    m, n : int
        The numbers of rows.
    points : int
        The number of points of the support.
    resamples : int
        How many times the statistic was drawn.
    cautions : tuple of Caution
        What to know before relying on the result.
    null : array of shape (resamples,)
        The resampled statistics.
    boundary : DiscretePair
        The pair of distributions that they were drawn from.
    """

    method: Literal["canonne", "wasserstein"]
    statistic: float
    pvalue: float
    threshold: float
    rejected: bool
    epsilon: float
    alpha: float
    alternative: Literal["greater"]
    m: int
    n: int
    points: int
    resamples: int
    cautions: tuple[Caution, ...] = ()
    null: FloatArray = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    boundary: DiscretePair | None = field(default=None, repr=False, compare=False)

    def headline(self) -> str:
        """Return the answer in one sentence."""
        name, margin, p = _DISTANCES[self.method], number(self.epsilon), p_value(self.pvalue)
        if self.rejected:
            return f"The two distributions are farther apart than {name} = {margin} ({p})."
        return (
            f"No evidence that the two distributions are farther apart than {name} = {margin} ({p}); "
            "that alone does not prove them close."
        )

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        name, margin = _DISTANCES[self.method], number(self.epsilon)
        verdict = "rejected" if self.rejected else "not rejected"
        return [
            ("null hypothesis", f"{name} <= {margin}: {verdict} at level {self.alpha:g}"),
            ("alternative", f"{name} > {margin}"),
            ("statistic", f"{number(self.statistic)}, threshold {number(self.threshold)}"),
            ("resamples", str(self.resamples)),
            ("rows", f"{self.m} and {self.n}"),
            ("support", f"{self.points} points"),
        ]


@dataclass(frozen=True, eq=False)
class Located:
    """Two samples as positions in a support."""

    support: FloatArray
    x: NDArray[np.intp]
    y: NDArray[np.intp]


def locate(x: Any, y: Any, support: Any, min_rows: int) -> Located:
    """Find the rows of two samples in a support, which by default is all rows that occur."""
    if support is None:
        one, other = numeric_arrays(min_rows, x=x, y=y)
        points, position = np.unique(np.concatenate([one, other]), axis=0, return_inverse=True)
        if len(points) < 2:
            raise ValueError("all rows of x and y are the same: there is no support of two points or more")
        position = position.reshape(-1)
        return Located(points, position[: len(one)], position[len(one) :])
    points = support_points(support)
    one, other, points = numeric_arrays(min_rows, x=x, y=y, support=points)
    everything = np.concatenate([points, one, other])
    distinct, group = np.unique(everything, axis=0, return_inverse=True)
    group = group.reshape(-1)
    place = np.full(len(distinct), -1)
    place[group[: len(points)]] = np.arange(len(points))
    position = place[group[len(points) :]]
    for name, part in (("x", position[: len(one)]), ("y", position[len(one) :])):
        outside = int(np.count_nonzero(part < 0))
        if outside:
            raise ValueError(
                f"{outside} of the {len(part)} rows of {name} are not in the support; rows must be "
                "equal to one of its points to the last digit"
            )
    return Located(points, position[: len(one)], position[len(one) :])


def check_boundary(boundary: Any, support: FloatArray) -> DiscretePair:
    """Return the given boundary pair if it is over the support of the test."""
    if not isinstance(boundary, DiscretePair):
        raise TypeError(f"boundary must be a DiscretePair, not {type(boundary).__name__}")
    if boundary.support.shape != support.shape or not (boundary.support == support).all():
        raise ValueError("the support of the boundary is not that of the test; pass support=boundary.support")
    return boundary


def require_one_margin(epsilon: Any, boundary: Any) -> None:
    """Refuse a margin that is given twice, or not at all."""
    if (epsilon is None) == (boundary is None):
        raise TypeError(
            "give either epsilon, the margin, or boundary, a pair of distributions whose distance is "
            "the margin"
        )


def counts(rows: NDArray[np.intp], points: int) -> Counts:
    """Return how often each point occurs, as one row of a table of counts."""
    return np.bincount(rows, minlength=points)[None, :]


def resampled_test(
    method: Literal["canonne", "wasserstein"],
    located: Located,
    boundary: DiscretePair,
    epsilon: float,
    statistics: Callable[..., FloatArray],
    parts: tuple[tuple[Counts, ...], tuple[Counts, ...]],
    *,
    alpha: float,
    resamples: int,
    rng: np.random.Generator,
    cautions: tuple[Caution, ...] = (),
) -> ResampledResult:
    """Compare a statistic of counts with its distribution at the boundary of the null hypothesis.

    `parts` holds the counts of the parts of x and of y; `statistics` takes them, followed by each
    other, with any number of rows each, and returns a value per row.
    """
    of_x, of_y = parts
    observed = float(statistics(*of_x, *of_y)[0])
    drawn = [
        rng.multinomial(int(part.sum()), weights, size=resamples)
        for side, weights in ((of_x, boundary.p), (of_y, boundary.q))
        for part in side
    ]
    null = statistics(*drawn)
    pvalue = upper_pvalue(null, observed)
    return ResampledResult(
        method=method,
        statistic=observed,
        pvalue=pvalue,
        threshold=upper_threshold(null, alpha),
        rejected=pvalue <= alpha,
        epsilon=epsilon,
        alpha=alpha,
        alternative="greater",
        m=len(located.x),
        n=len(located.y),
        points=len(located.support),
        resamples=resamples,
        cautions=cautions + _unlike_boundary(located, boundary),
        null=null,
        boundary=boundary,
    )


def upper_pvalue(null: FloatArray, observed: float) -> float:
    """Return the share of statistics at least as large as the observed one, itself included."""
    tie = _TIE * max(1.0, abs(observed))
    return (1 + int(np.count_nonzero(null >= observed - tie))) / (len(null) + 1)


def upper_threshold(null: FloatArray, alpha: float) -> float:
    """Return the value above which `upper_pvalue` is at most alpha."""
    beyond = math.floor(alpha * (len(null) + 1) * (1 + 1e-12))  # how many may be as large, observed included
    return math.inf if beyond < 1 else float(np.sort(null)[len(null) - beyond])


def check_settings(alpha: Any, resamples: Any) -> tuple[float, int]:
    """Return the level and the number of resamples."""
    return between(alpha, "alpha"), whole(resamples, "resamples")


def support_from_data(support: Any) -> tuple[Caution, ...]:
    """Return a caution where the support was not given."""
    if support is not None:
        return ()
    return (
        Caution(
            "support-from-data",
            "the support was taken from the data; points that did not occur in them are missing",
        ),
    )


def _unlike_boundary(located: Located, boundary: DiscretePair) -> tuple[Caution, ...]:
    """Return a caution where x is clearly no sample of the P that the threshold is for.

    Pearson's statistic over the points, standardised by its exact variance under P, which also holds
    where few rows are expected at a point.
    """
    from scipy.special import ndtr

    m = len(located.x)
    observed = np.bincount(located.x, minlength=len(located.support))
    possible = boundary.p > 0
    p, k = boundary.p[possible], int(possible.sum())
    pearson = float(((observed[possible] - m * p) ** 2 / (m * p)).sum())
    variance = 2 * (k - 1) + (float((1 / p).sum()) - k**2 - 2 * k + 2) / m
    far = (pearson - (k - 1)) / math.sqrt(variance) if variance > 0 else 0.0
    if not observed[~possible].any() and ndtr(-far) >= _UNLIKE:
        return ()
    return (
        Caution(
            "unlike-boundary",
            "x does not look like a sample of the P that the threshold was computed for (uniform, unless "
            "you gave another), so the level is not certain; give a boundary that is closer to your data",
        ),
    )
