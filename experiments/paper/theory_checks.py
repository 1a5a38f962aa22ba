"""One check for every statement of the paper, at a place where it could fail.

The pairs have two values each, so that probabilities are exact however small they are (`two_values`), or are
normal, so that distances have closed forms. A check finds the value that a statement's constant would have
to have there; the constant itself is an argument, and a check fails with one that is too good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy.stats import binom

from experiments.paper import theory
from experiments.paper.example_1 import REFERENCE, TESTED, asymptotic_variance, population_of
from experiments.paper.theory import Population
from experiments.paper.two_values import Outcomes, TwoValues, outcomes

ALPHA = RISK = 0.05
_Z = theory.quantile(ALPHA)


@dataclass(frozen=True)
class Check:
    """What a check found.

    Attributes
    ----------
    stated, found : float
        The constant of the statement, and what it would have to be where it was checked.
    holds : bool
        Whether the statement holds there.
    where : str
        Where, and what the two numbers are.
    """

    stated: float
    found: float
    holds: bool
    where: str


def some_pairs() -> Iterator[TwoValues]:
    """Yield pairs of many kinds: the same two values, or others; even and uneven; alike and unlike."""
    weights = (0.5, 0.7, 0.9, 0.98, 1.0)
    for p, q, own, apart in product(weights, weights, (0.0, 0.5), (False, True)):
        pair = TwoValues(p, q, own, apart)
        if pair.population.mmd2 > 1e-6 and pair.variance() > 1e-9:
            yield pair


FEW = (
    TwoValues(0.5, 1.0),
    TwoValues(0.7, 0.98),
    TwoValues(0.5, 0.9, 0.5),
    TwoValues(0.9, 0.7, 0.0, True),
    TwoValues(0.98, 0.7, 0.5, True),
)
"""Some of them, for what takes time."""


def definition(bound: float = 4.0) -> Check:
    """`Def:NAMMD`: between 0 and 1."""
    rng = np.random.default_rng(0)
    largest, least = 0.0, math.inf
    for k in range(300):
        size = int(rng.integers(2, 6))
        points = rng.normal(size=(size, 2)) * 10.0 ** rng.uniform(-1, 2)
        kernel = np.exp(-((points[:, None] - points[None]) ** 2).sum(2) / 2)
        p, q = rng.dirichlet(np.full(size, 0.1), 2) if k else np.eye(size)[:2]
        norms = p @ kernel @ p + q @ kernel @ q
        value = float((p - q) @ kernel @ (p - q) / (bound - norms))
        largest, least = max(largest, value), min(least, value)
    holds = least >= -1e-12 and largest <= 1 + 1e-12
    return Check(
        1.0, largest, holds, "largest NAMMD of 300 pairs of laws with few values, from one to far apart"
    )


def largest_delta(limit: float = 0.5) -> Check:
    """`thm:comp_dct`: Δ is below 1/2 wherever its condition holds."""
    # The largest is where the reference is spread over many values, and the pair nearly at two points.
    values = 1000
    spread, points = Population(2 / values, 4 - 2 / values), TwoValues(1 - 1e-9, 1 - 1e-9, 0.0, True)
    found = max(_delta_at(1e12, one, other) for one, other in [*_ordered(), (spread, points)])
    return Check(limit, found, found < limit, "largest Δ of two pairs that meet the condition, many rows")


def _ordered() -> Iterator[tuple[Population, TwoValues]]:
    """Yield reference pairs, and pairs that are farther in both distances and have larger norms."""
    known = [(pair, pair.population) for pair in some_pairs()]
    for (_, first), (pair, second) in product(known, known):
        farther = second.nammd > first.nammd and second.mmd2 > first.mmd2
        if farther and second.denominator < first.denominator:
            yield first, pair


def asymptotic_mmd(factor: float = 4.0) -> Check:
    """`lem:aysm_mmd_dct`: m times the variance of MMD² tends to 4 (E[H₁₂H₁₃] - E[H₁₂]²)."""
    pair, rows = FEW[1], 100
    found = outcomes(pair, rows)
    spread = found.expected(found.mmd2**2) - found.expected(found.mmd2) ** 2
    # The variance of a U-statistic is linear / m + rest / m², so two sizes give the limit.
    half = outcomes(pair, rows // 2)
    other = half.expected(half.mmd2**2) - half.expected(half.mmd2) ** 2
    limit = 2 * rows * spread - rows / 2 * other
    needed = limit / (pair.variance() / 4)
    return Check(
        factor, needed, abs(needed - factor) < 0.02 * factor, f"factor found with {rows} rows, exactly"
    )


def asymptotic_nammd(counted: float = 0.0, *, largest: float = 1.0) -> Check:
    """`lem:asym_dis`: the variance of NAMMD is that of MMD² over the squared denominator.

    `counted` says how much of the denominator's part is counted: all of it is the footnote's remedy.
    """
    found = max(_variance_ratios(counted, largest), key=lambda ratio: abs(math.log(ratio)))
    where = "true variance divided by the stated one, where they differ most"
    return Check(
        1.0, found, abs(found - 1) < 1e-9, where if largest == 1 else f"{where}; NAMMD ≤ {largest:g}"
    )


def _variance_ratios(counted: float, largest: float) -> Iterator[float]:
    for pair in some_pairs():
        nammd = pair.population.nammd
        if nammd <= largest:
            yield pair.variance(1 + nammd) / pair.variance(1 + counted * nammd)


def variance_estimate(rate: float = 0.5) -> Check:
    """`lem:var_est`: the bias of σ²_XY falls at least like m^(-1/2)."""
    slopes = []
    for pair in FEW:
        true = pair.variance() / pair.population.denominator**2
        seen = [outcomes(pair, m) for m in (25, 100)]
        small, large = (abs(each.expected(each.variance) - true) for each in seen)
        slopes.append(math.log(small / large) / math.log(4))
    found = min(slopes)
    return Check(
        rate, found, found >= rate, "slowest rate of the bias over five pairs, 25 to 100 rows, exactly"
    )


def unbiased(order: int = 4) -> Check:
    """`app:est`: ζ₁ and ζ₂ are estimated without bias; `order` is that of its falling factorials."""
    worst = 0.0
    for pair in FEW:
        rows = 6
        found = outcomes(pair, rows)
        change = math.perm(rows, 4) / math.perm(rows, order)  # what another order would do to ζ₁
        bias = change * found.expected(4 * found.zeta1) / pair.variance() - 1
        worst = max(worst, abs(bias))
    return Check(0.0, worst, worst < 1e-9, "largest relative bias of ζ₁ over five pairs of 6 rows, exactly")


def deviation(constant: float = 9.0) -> Check:
    """`lem:larg_devi`: where the bound is below one, as it must be to say something."""
    needed = max(_deviation_constants())
    where = (
        "smallest c with 4 exp(-m t²/c) a bound, where that is below 1; five pairs, 16 to 96 rows, exactly"
    )
    return Check(constant, needed, needed <= constant, where)


def _deviation_constants() -> Iterator[float]:
    for pair, m in product(FEW, (16, 48, 96)):
        found = outcomes(pair, m)
        off = np.abs(found.nammd - pair.population.nammd)
        for t in np.linspace(math.sqrt(9 * math.log(4) / m), 1.5, 40):
            chance = found.chance(off >= t)
            if chance > 0:
                yield float(m * t * t / math.log(4 / chance))


def u_statistics(constant: float = 2.0) -> Check:
    """`thm:larg_U`: Hoeffding's bound, for means and for U-statistics of two arguments."""
    needed = math.inf
    for p, m in product((0.5, 0.7, 0.95), (10, 40, 160, 640)):
        ones = np.arange(m + 1)
        chance = binom.pmf(ones, m, p)
        mean = ones / m
        alike = (ones * (ones - 1) + (m - ones) * (m - ones - 1)) / (m * (m - 1))
        for order, value, truth in ((1, mean, p), (2, alike, p * p + (1 - p) ** 2)):
            for t in np.linspace(0.01, 0.6, 60):
                seen = float(chance[np.abs(value - truth) >= t - 1e-12].sum())
                if 1e-250 < seen < 1:
                    needed = min(needed, math.log(2 / seen) / ((m // order) * t * t))
    where = "largest constant for which it is a bound, order 1 and 2, three laws, 10 to 640 rows, exactly"
    return Check(constant, needed, needed >= constant, where)


def type_one(counted: float = 0.0, *, largest: float = 1.0) -> Check:
    """`thm:typeI`: the level at the margin, with as many rows as one likes."""
    found = theory.limit_level(1 / max(_variance_ratios(counted, largest)), ALPHA)
    where = "largest level at the margin, with as many rows as one likes"
    holds = found <= ALPHA + 1e-9
    return Check(ALPHA, found, holds, where if largest == 1 else f"{where}; NAMMD ≤ {largest:g}")


def type_one_equal(constant: float = 9.0) -> Check:
    """`thm:typeI`, third case: for equal laws an error is at most 2 exp(-m ε²/9)."""
    needed, epsilon = 0.0, 0.1
    for p, m in product((0.5, 0.7, 0.9), (48, 96)):
        found = outcomes(TwoValues(p, p), m)
        error = found.chance(found.rejects(epsilon, _Z))
        needed = max(needed, m * epsilon**2 / math.log(2 / error))
    return Check(
        constant, needed, needed <= constant, "smallest c with 2 exp(-m ε²/c) a bound; three laws, exactly"
    )


def sample_size(spread: float = 2.0, constant: float = 9.0) -> Check:
    """`thm:samp_comp`: the rows that the hardest of our pairs needs, against those of the theorem."""
    asked = {
        gap: theory.sample_size(gap, alpha=ALPHA, risk=RISK, spread=spread, constant=constant)
        for gap in (0.3, 0.6)
    }
    needed = {gap: max(_rows_needed(p, p.population.nammd - gap) for p in _hard(gap)) for gap in asked}
    tight = min(asked, key=lambda gap: asked[gap] / needed[gap])
    where = (
        f"rows for a power of {1 - RISK:g}, {tight:g} beyond the margin; the hardest of our pairs, exactly"
    )
    return Check(asked[tight], needed[tight], needed[tight] <= asked[tight], where)


def _hard(gap: float) -> list[TwoValues]:
    """Return the three pairs with the largest variance among those that are farther apart than the gap."""
    far = [pair for pair in some_pairs() if pair.population.nammd > gap + 0.02]
    return sorted(far, key=lambda pair: pair.variance() / pair.population.denominator**2)[-3:]


def _rows_needed(pair: TwoValues, epsilon: float) -> int:
    sizes = range(4, 41, 2)
    powers = {m: _power(outcomes(pair, m), epsilon) for m in sizes}
    return sizes.step + max((m for m, power in powers.items() if power < 1 - RISK), default=0)


def _power(found: Outcomes, epsilon: float) -> float:
    return found.chance(found.rejects(epsilon, _Z))


def mmd_alone(constant: float = 4.0) -> Check:
    """`thm:comp_dct` (1): the chance that the norms are off by as much as its Δ(m) allows for.

    MMD cannot reject alone without that, so the chance of that is smaller still.
    """
    needed = 0.0
    for pair, m in product(FEW, (24, 48, 96)):
        second, found = pair.population, outcomes(pair, m)
        for first in (reference for reference, tested in _ordered() if tested == pair):
            shift = _delta_at(m, first, pair)
            allowed = shift / (1 - shift) * second.denominator
            off = found.denominator - second.denominator >= allowed
            wide = _Z * math.sqrt(pair.variance() / m)
            mmd = found.mmd2 > first.mmd2 + wide
            own = found.nammd > first.nammd + wide / second.denominator
            if np.any(mmd & ~own & ~off):
                return Check(constant, math.inf, False, "MMD rejects alone although the norms are near")
            chance = found.chance(off)
            if 0 < chance < 1 and theory.mmd_alone_bound(m, shift, second.denominator) < 0.9:
                needed = max(needed, m * allowed**2 / math.log(1 / chance))
    where = "smallest c in place of 4 in its bound, with Δ(m), where that is below 0.9; five pairs, exactly"
    return Check(constant, needed, needed <= constant, where)


def _delta_at(m: float, first: Population, pair: TwoValues) -> float:
    return theory.delta(m, first, pair.population, math.sqrt(pair.variance()), ALPHA)


def gain(stated: float = 1 / 65) -> Check:
    """`thm:comp_dct` (2): the gain in power between C₁ and C₂, at its least."""
    found = theory.least_gain()
    return Check(stated, found, found >= stated, "least gain of the proof, at A = 0.7 and B = 0.05")


def gain_between(stated: float = 1 / 65) -> Check:
    """`thm:comp_dct` (2): the gain in power of Example 1, over all rows between C₁ and C₂."""
    first, second = (population_of(variances) for variances in (REFERENCE, TESTED))
    sigma = math.sqrt(asymptotic_variance(TESTED))
    sizes = theory.gain_sizes(first, second, sigma, ALPHA)
    rows = range(math.ceil(sizes.smallest), math.floor(sizes.largest) + 1)
    gains = [own - mmd for mmd, own in (theory.powers(m, first, second, sigma, ALPHA) for m in rows)]
    return Check(
        stated, min(gains), min(gains) >= stated, f"least gain of Example 1, {rows[0]} to {rows[-1]} rows"
    )


def oracle_kernel(least: float = 0.0) -> Check:
    """`remark`: with its own best kernel NAMMD has the power of MMD with its own best kernel, or more.

    Normal pairs and all bandwidths of a grid, where the norms meet the condition under MMD's best kernel. The
    true variance of NAMMD is used, not the simplified one.
    """
    gains, bandwidths = [], np.geomspace(0.2, 4.0, 25)
    variances = list(combinations((0.1, 0.3, 0.6, 1.0, 1.6, 2.5), 2))
    for reference, tested, rows in product(variances, variances, (30, 100, 300, 1000)):
        # Kernels under which the pair is farther by both distances: for others there is no power to compare.
        found = [_true_powers(rows, reference, tested, float(h)) for h in bandwidths]
        known = [each for each in found if each is not None]
        if not known:
            continue
        mmd, _, condition = max(known, key=lambda each: each[0])
        if condition and 0.1 < mmd < 0.9:  # where power can be gained or lost
            gains.append(max(own for _, own, _ in known) - mmd)
    where = f"least power gained, best of 25 bandwidths for each; {len(gains)} normal pairs"
    return Check(least, min(gains), min(gains) >= least, where)


def _true_powers(
    m: int, reference: tuple[float, float], tested: tuple[float, float], bandwidth: float
) -> tuple[float, float, bool] | None:
    """Return the powers of MMD and of NAMMD, and whether the norms meet the condition; None at the null."""
    first, second = (population_of(variances, bandwidth) for variances in (reference, tested))
    if second.mmd2 <= first.mmd2 or second.nammd <= first.nammd:
        return None
    sigma = math.sqrt(asymptotic_variance(tested, bandwidth))
    true = math.sqrt(asymptotic_variance(tested, bandwidth, slope=1 + second.nammd))
    root = math.sqrt(m)
    mmd = (root * (second.mmd2 - first.mmd2) - sigma * _Z) / sigma
    own = (root * (second.nammd - first.nammd) * second.denominator - sigma * _Z) / true
    cdf = theory.NORMAL.cdf
    return cdf(mmd), cdf(own), second.denominator < first.denominator


def selection(counted: float = 0.0) -> Check:
    """`app:opt`: NAMMD and MMD have the same t-statistic."""
    worst = 0.0
    for pair in FEW:
        there = pair.population
        own = there.nammd / math.sqrt(pair.variance(1 + counted * there.nammd) / there.denominator**2)
        worst = max(worst, abs(own / (there.mmd2 / math.sqrt(pair.variance())) - 1))
    return Check(0.0, worst, worst < 1e-12, "largest relative difference of the two, five pairs")


def near_one(power: float = 1.0) -> Check:
    """`app:NAMMD1`: NAMMD tends to 1 for separated laws as their norms tend to K."""
    gaps = [1 - TwoValues(p, p, 0.0, True).population.nammd for p in (0.9, 0.99, 0.999, 0.9999)]
    rate = math.log10(gaps[-2] / gaps[-1])
    return Check(
        power, rate, abs(rate - power) < 0.01, "how 1 - NAMMD falls with 1 - p, two values with p near 1"
    )


CHECKS: Mapping[str, tuple[str, Callable[[], Check]]] = {
    "definition": ("Def:NAMMD", definition),
    "asymptotic nammd": ("lem:asym_dis", asymptotic_nammd),
    "asymptotic nammd, small": ("lem:asym_dis", lambda: asymptotic_nammd(largest=0.1)),
    "asymptotic nammd, remedy": ("lem:asym_dis, footnote", lambda: asymptotic_nammd(counted=1.0)),
    "asymptotic mmd": ("lem:aysm_mmd_dct", asymptotic_mmd),
    "variance estimate": ("lem:var_est", variance_estimate),
    "unbiased": ("app:est", unbiased),
    "deviation": ("lem:larg_devi", deviation),
    "u-statistics": ("thm:larg_U", u_statistics),
    "type one": ("thm:typeI", type_one),
    "type one, small": ("thm:typeI", lambda: type_one(largest=0.1)),
    "type one, equal laws": ("thm:typeI, P = Q", type_one_equal),
    "sample size": ("thm:samp_comp", sample_size),
    "largest delta": ("thm:comp_dct, Δ", largest_delta),
    "mmd alone": ("thm:comp_dct (1)", mmd_alone),
    "gain": ("thm:comp_dct (2)", gain),
    "gain between": ("thm:comp_dct (2)", gain_between),
    "oracle kernel": ("remark on own kernels", oracle_kernel),
    "selection": ("app:opt", selection),
    "near one": ("app:NAMMD1", near_one),
}
"""By a name: the statement's label in the paper, and its check. `app:une`, `app:Method_TST` and Example 1 are
checked in `text`, in the documentation of the statistics and in `example_1`."""
