"""Many batches against one reference: what they say together.

All of them share the error of the reference, which never averages out. So what is said of a stream is said
of *this* reference: with it fixed, batches are independent. Where rows stand for themselves the evidence is
that of bets on them (`nammd.statistics.betting`), which is exact. Else each batch adds a normal score
``z = U / s``, s the deviation of U over draws of the batch alone: ``exp(l z - l^2 / 2)`` has a mean of at
most one as long as the batch is within the tolerance, for every l > 0, and products of such factors are
evidence against "all of them are". Variances are estimated there, so that holds as batches grow.

The evidence of a change that begins at any batch is an e-detector (Shin, Ramdas and Rinaldo, E-detectors: a
nonparametric framework for sequential change detection, New England Journal of Statistics in Data Science 2,
2024); the interval of the running mean is a confidence sequence by Robbins' normal mixture (Howard, Ramdas,
McAuliffe and Sekhon, Time-uniform, nonparametric, nonasymptotic confidence sequences, Annals of Statistics
49, 2021), with estimated variances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.levels import Rate
from nammd.statistics.moments import combined
from nammd.statistics.pair import Pair

BETS = np.array([0.25, 0.5, 1.0, 2.0])
"""The sizes of change that are looked for, in deviations of a batch; the evidence is the mean over them."""

PAID = 1.959963984540054
"""How many standard errors of the reference, or of random features, are taken off where they are paid for."""


@dataclass(frozen=True)
class GivenReference:
    """What a batch says, with the reference fixed.

    Attributes
    ----------
    u : float
        ``MMD2 - eps D``: above zero where the estimate exceeds the tolerance.
    deviation : float
        Its standard deviation over draws of the batch; zero where there is nothing to test with.
    reference, features : float
        Its standard deviation over draws of the reference, and over draws of the random features that stand
        for the kernel; zero where the kernel is exact.
    error : float
        The standard error of the distance over draws of the batch.
    """

    u: float
    deviation: float
    reference: float
    features: float
    error: float

    @classmethod
    def of(cls, pair: Pair, eps: float) -> GivenReference:
        """Read it off a pair whose first sample is the reference."""
        moments, a = pair.moments, pair.slope(eps)
        u = moments.mmd2 - eps * pair.scale
        if pair.constant or pair.void:
            return cls(u, 0.0, 0.0, 0.0, math.nan)
        reference = math.sqrt(4 * max(moments.x.linear(a), 0.0) / moments.x.size)
        error = math.sqrt(_safe(pair, pair.slope(pair.value))) / pair.scale
        return cls(u, math.sqrt(_safe(pair, a)), reference, math.sqrt(pair.approximation(eps)), error)

    def score(self, *, below: bool = False, paid: bool = False) -> float:
        """Return the normal score of "beyond", or of "within" (`below`); NaN where there is none.

        `paid`: less what the error of the reference may add, for a claim about the population that it was
        drawn from. It is taken off every batch alike, since it is the same in all of them.
        """
        u = -self.u if below else self.u
        return score(u, self.deviation, self.features, self.reference if paid else 0.0)


def score(u: float, deviation: float, *frozen: float) -> float:
    """Return a normal score of u, less what errors that are the same in every batch may add; NaN for none.

    Where random features stand for an exact kernel their error is among them, whatever is claimed: it does
    not average out, and the tolerance was not made with them.

    >>> score(3.0, 1.5), round(score(3.0, 1.5, 0.3, 0.4), 3)
    (2.0, 1.347)
    """
    return (u - PAID * math.hypot(*frozen)) / deviation if deviation > 0 else math.nan


def _safe(pair: Pair, a: float) -> float:
    total, linear = pair.moments.variances_given_x(a)
    return combined(linear, total)[0]


def factors(scores: FloatArray) -> FloatArray:
    """Return the logarithm of what each score multiplies the evidence by, for every bet; NaN adds nothing.

    >>> factors(np.array([0.0, 2.0, np.nan]))[:, 2]
    array([-0.5,  1.5,  0. ])
    """
    missing = np.isnan(scores)[..., np.newaxis]
    known = np.where(missing, 0.0, scores[..., np.newaxis])
    found: FloatArray = np.where(missing, 0.0, BETS * known - BETS**2 / 2)
    return found


def strength(evidence: FloatArray) -> FloatArray:
    """Return the logarithm of the mean evidence over the bets."""
    found: FloatArray = np.logaddexp.reduce(evidence, axis=-1) - math.log(len(BETS))
    return found


def path(steps: FloatArray, rate: Rate) -> FloatArray:
    """Return the logarithm of the evidence after every batch, without regard to alarms.

    Parameters
    ----------
    steps : array of shape (..., batches, bets)
        The logarithm of what each batch multiplies the evidence by, of one stream, or of many; see `factors`.
    rate : Rate
        What may go wrong.

    Returns
    -------
    array of shape (..., batches)

    Examples
    --------
    >>> import numpy as np
    >>> from nammd.statistics.levels import Budget
    >>> from nammd.statistics.stream import factors, path
    >>> evidence = path(factors(np.array([-1.0, 1.5, 2.0, 2.5])), Budget(1 / 365))
    >>> [f"{value:.1f}" for value in np.exp(evidence)]
    ['0.4', '2.2', '9.8', '127.8']
    """
    evidence = np.full((*steps.shape[:-2], len(BETS)), -np.inf)
    found = np.empty(steps.shape[:-1])
    for test in range(steps.shape[-2]):
        evidence = rate.entry(evidence, test + 1) + steps[..., test, :]
        found[..., test] = strength(evidence)
    return found


@dataclass(frozen=True)
class Mean:
    """The mean of the distances up to every batch, with an interval that holds for all of them at once.

    Attributes
    ----------
    value, low, high : array of shape (batches,)
        The estimate and the ends of the interval; batches without a standard error are left out.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray


def running_mean(values: FloatArray, errors: FloatArray, eps: float, level: float = 0.95) -> Mean:
    """Return the running mean of the distances with a confidence sequence.

    The errors of the batches are independent, with the reference fixed. So with V the sum of their variances
    the sum is off by more than ``sqrt((V + rho) log((V + rho) / (rho alpha^2)))`` at any time with
    probability alpha at most, for any rho > 0: Robbins' mixture of normal laws.

    Parameters
    ----------
    values, errors : array of shape (batches,)
        The distances, and their standard errors with the reference fixed.
    eps : float
        The tolerance, which sets the scale: ``rho = (eps / 2)^2`` makes the interval narrowest when the
        standard deviation of the sum is about 1.4 times the tolerance.
    level : float
        The confidence level.

    Returns
    -------
    Mean
    """
    known = np.isfinite(errors) & np.isfinite(values)
    count = np.cumsum(known)
    total, variance = np.cumsum(np.where(known, values, 0.0)), np.cumsum(np.where(known, errors, 0.0) ** 2)
    rho = (eps / 2) ** 2
    half = np.sqrt((variance + rho) * (np.log1p(variance / rho) - 2 * math.log(1 - level)))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, half = total / count, half / count
    return Mean(mean, mean - half, mean + half)
