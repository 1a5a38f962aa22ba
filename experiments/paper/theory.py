"""The numbers that the paper's lemmas and theorems state, as plain functions.

Every constant that a statement has is an argument with the paper's value, so that a check can be tried with
another one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

NORMAL = NormalDist()


@dataclass(frozen=True)
class Population:
    """What the theorem that compares NAMMD and MMD needs to know of a pair.

    Attributes
    ----------
    mmd2 : float
        The squared MMD.
    denominator : float
        4K less both squared norms: the paper's NORM.
    """

    mmd2: float
    denominator: float

    @property
    def nammd(self) -> float:
        """The NAMMD of the pair."""
        return self.mmd2 / self.denominator


def quantile(alpha: float) -> float:
    """Return the (1 - alpha)-quantile of the standard normal law."""
    return NORMAL.inv_cdf(1 - alpha)


def deviation_bound(m: float, t: float, *, constant: float = 9.0, factor: float = 4.0) -> float:
    """Return the bound of `lem:larg_devi` on the probability that NAMMD is off by t or more.

    >>> round(deviation_bound(400, 0.3), 4)
    0.0733
    """
    return factor * math.exp(-m * t * t / constant)


def hoeffding_bound(m: int, t: float, *, order: int, width: float = 1.0, constant: float = 2.0) -> float:
    """Return the bound of `thm:larg_U` for a U-statistic of some order with values in a range of a width.

    >>> round(hoeffding_bound(50, 0.2, order=1), 4)
    0.0366
    """
    return 2 * math.exp(-constant * (m // order) * t * t / width**2)


def sample_size(
    gap: float, *, alpha: float = 0.05, risk: float = 0.05, spread: float = 2.0, constant: float = 9.0
) -> float:
    """Return the rows that `thm:samp_comp` asks for, with log(2/υ) for what it prints as log 2/υ.

    >>> round(sample_size(0.3))
    910
    """
    reach = spread * quantile(alpha) + math.sqrt(constant * math.log(2 / risk))
    return reach**2 / gap**2


def delta(m: float, first: Population, second: Population, deviation: float, alpha: float = 0.05) -> float:
    """Return the Δ of `thm:comp_dct`, which depends on the rows; `deviation` is σ_M of the second pair."""
    root = math.sqrt(m)
    closer = first.denominator - second.denominator
    return root * first.nammd * closer / (root * first.mmd2 + deviation * quantile(alpha))


def mmd_alone_bound(m: float, shift: float, denominator: float, *, constant: float = 4.0) -> float:
    """Return the bound of `thm:comp_dct` on "MMD rejects and NAMMD does not", for a Δ; K is 1."""
    return math.exp(-m * (shift / (1 - shift) * denominator) ** 2 / constant)


@dataclass(frozen=True)
class Sizes:
    """The rows between which `thm:comp_dct` promises a gain: C₁, the larger of two, and C₂."""

    for_mmd: float
    for_gain: float
    largest: float

    @property
    def smallest(self) -> float:
        """C₁."""
        return max(self.for_mmd, self.for_gain)


def gain_sizes(
    first: Population,
    second: Population,
    deviation: float,
    alpha: float = 0.05,
    *,
    reach: float = 0.7,
    least: float = 0.05,
) -> Sizes:
    """Return m_A, m_B and C₂ of the proof; `reach` bounds A and `least` bounds B."""
    away, z = second.mmd2 - first.mmd2, quantile(alpha)
    rest = (1 - second.denominator / first.denominator) * first.mmd2 / deviation
    return Sizes((z * deviation / away) ** 2, (rest / least) ** -2, ((z + reach) * deviation / away) ** 2)


def powers(
    m: float, first: Population, second: Population, deviation: float, alpha: float = 0.05
) -> tuple[float, float]:
    """Return the asymptotic powers of MMD and of NAMMD in the proof of `thm:comp_dct`: Φ(A) and Φ(A + B)."""
    root = math.sqrt(m) / deviation
    start = root * (second.mmd2 - first.mmd2) - quantile(alpha)
    more = root * (1 - second.denominator / first.denominator) * first.mmd2
    return NORMAL.cdf(start), NORMAL.cdf(start + more)


def least_gain(reach: float = 0.7, least: float = 0.05) -> float:
    """Return the smallest gain in power for 0 ≤ A ≤ reach and B ≥ least: the theorem says 1/65.

    >>> 1 / 66 < least_gain() < 1 / 65
    True
    """
    return NORMAL.cdf(reach + least) - NORMAL.cdf(reach)


def limit_level(ratio: float, alpha: float = 0.05) -> float:
    """Return the level with as many rows as one likes of a test whose variance is a ratio of the true one.

    >>> limit_level(1.0)
    0.05
    >>> round(limit_level(0.5), 3)
    0.122
    """
    return alpha if ratio == 1 else 1 - NORMAL.cdf(quantile(alpha) * math.sqrt(ratio))
