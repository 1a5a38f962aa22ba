"""Pairs at a given NAMMD made from benchmark data, and how often closeness tests reject on them.

Shared by the tables that compare tests with NAMMD and with MMD, and by the figure of their levels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import nammd
from experiments.experiment import Context
from experiments.paper.benchmark_data import draw
from experiments.paper.finite import Counting, FinitePair
from experiments.single_torch import one_torch_thread
from nammd.datasets import NammdPair, pair_with_nammd
from nammd.questions.comparison import compare_estimates
from nammd.selecting.bandwidth import select_bandwidth
from nammd.selection import learn_kernel
from nammd.statistics.margin import quantile

ALPHA = 0.05
GAP = 0.01
"""How much farther apart the second pair is."""

_STEP = 0.1
"""The largest step of the optimiser, in bandwidths."""

_ATTEMPTS = 20
_EPOCHS = 100

PUBLISHED: Mapping[str, Any] = {"variance": "paper", "cross": "off-diagonal"}
OURS: Mapping[str, Any] = {"variance": "corrected", "cross": "full"}
METHODS: Mapping[str, Mapping[str, Any]] = {
    "paper mmd": {"metric": "mmd2", **PUBLISHED},
    "paper nammd": {"metric": "nammd", **PUBLISHED},
    "our mmd": {"metric": "mmd2", **OURS},
    "our nammd": {"metric": "nammd", **OURS},
}
"""The four tests with a known margin: either statistic, as in the paper and as in nammd."""

CONTROL = "lent mmd"
"""Where NAMMD and MMD have kernels of their own: the paper's test of MMD under the kernel of NAMMD."""

_OPTIONS = {**METHODS, CONTROL: METHODS["paper mmd"]}

EQUAL = "power at equal level"
"""The power of a test whose bar is moved until it rejects as often as it should at the margin."""

TESTS: Mapping[str, str] = {
    "paper mmd": "MMD, paper's",
    "paper nammd": "NAMMD, paper's",
    "our mmd": "MMD, ours",
    "our nammd": "NAMMD, ours",
    "guessed": "NAMMD, paper's, sampled-ε",
    "compared": "`compare_pairs`, sampled-ε",
}
"""All tests, in words. For the last two the margin is itself an estimate: the paper's test takes it for
known, and ours does not."""


@dataclass(frozen=True, eq=False)
class Setting:
    """A reference pair, and another that is farther apart under the same kernel.

    Attributes
    ----------
    first, second : NammdPair
        The two pairs, P₁ and Q₁, and P₂ and Q₂.
    attempts : int
        How many were made until the norms of the second pair were larger, and its MMD² too.
    """

    first: NammdPair
    second: NammdPair
    attempts: int


def chosen_kernels(data: str, rows: int, share: float, context: Context) -> tuple[Any, Any]:
    """Return two Gaussian kernels that tell P and Q of a data set apart.

    The first is the best of 25 bandwidths by the studentized statistic. The second is the one with the
    largest norms among those that keep this share of the best score.
    """
    x, y = draw(data, rows, context)
    found = select_bandwidth(x, y, engine=context.engine)
    kept = [
        bandwidth
        for bandwidth, score in zip(found.bandwidths, found.scores, strict=True)
        if bandwidth == found.bandwidth or score >= share * max(found.scores) > 0
    ]
    # The norms of all distributions rise with the bandwidth.
    return found.kernel, nammd.Gaussian(max(kept))


def penalised_kernel(data: str, rows: int, penalty: float, context: Context) -> Any:
    """Return the Gaussian kernel that is learned with a penalty on 4K less the squared norms."""
    x, y = draw(data, rows, context)
    with one_torch_thread():
        return learn_kernel(
            x, y, nammd.Gaussian, epochs=_EPOCHS, regularize_norm=penalty, rng=context.rng
        ).kernel


def redrawn_setting(
    data: str, points: int, epsilon: float, kernel: nammd.Gaussian, context: Context
) -> Setting:
    """Make two pairs from rows of their own, as the authors do, until the second meets the conditions."""
    for attempt in range(1, _ATTEMPTS + 1):
        first, second = (pair_at(data, points, at, kernel, context) for at in (epsilon, epsilon + GAP))
        if sum(first.norms) < sum(second.norms) and first.mmd2 < second.mmd2:
            return Setting(first, second, attempt)
    raise RuntimeError(f"no pair from {data} at {epsilon:g} met the conditions")


def pair_at(data: str, points: int, epsilon: float, kernel: nammd.Gaussian, context: Context) -> NammdPair:
    """Make a pair of uniform distributions at a NAMMD from points of both samples of a data set.

    Under a narrow kernel all rows of real data are strangers to each other, and no NAMMD far from zero can
    be reached. So both samples are first drawn together, half of the way from the least norms at which the
    distance is possible to the largest.
    """
    x, y = draw(data, points, context)
    least = 4 * epsilon / (1 + epsilon)
    x, y = _drawn_together(x, y, kernel, (least + 2) / 2)
    return _moved(x, y, epsilon, kernel)


def setting_at(
    data: str, points: int, epsilon: float, kernel: nammd.Gaussian, other: nammd.Gaussian, context: Context
) -> Setting:
    """Make two pairs, at epsilon and a little beyond, that meet the conditions of the paper.

    The second has the larger norms, and the larger MMD² too, under its kernel and under the other one.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        first = pair_at(data, points, epsilon, kernel, context)
        second = _moved(first.x, first.y, epsilon + GAP, kernel)
        norms, mmd2 = (sum(p.norms) for p in (first, second)), (first.mmd2, second.mmd2)
        seen = (FinitePair.of(p.x, p.y, other).mmd2 for p in (first, second))
        if all(before < after for before, after in (norms, mmd2, seen)):
            return Setting(first, second, attempt)
    raise RuntimeError(f"no pair from {data} at {epsilon:g} met the conditions")


def _moved(x: np.ndarray, y: np.ndarray, epsilon: float, kernel: nammd.Gaussian) -> NammdPair:
    spread = math.sqrt(float(x.var(axis=0).mean()))
    step = _STEP * kernel.bandwidth / math.sqrt(x.shape[1]) / spread
    with one_torch_thread():
        return pair_with_nammd(x, epsilon, kernel, start=y, move="both", learning_rate=step)


def _drawn_together(
    x: np.ndarray, y: np.ndarray, kernel: nammd.Gaussian, wanted: float
) -> tuple[np.ndarray, np.ndarray]:
    """Shrink both samples towards their means by one factor until their squared norms have a sum."""

    def norms(factor: float) -> float:
        # Shrinking the points is widening the kernel, and the distances are of the same points.
        wider = nammd.Gaussian(kernel.bandwidth / factor)
        return sum(float(np.mean(wider(z, z))) for z in (x, y))

    factor = 1.0
    if norms(1.0) < wanted:
        low, high = 1e-4, 1.0
        for _ in range(30):
            factor = math.sqrt(low * high)
            low, high = (low, factor) if norms(factor) < wanted else (factor, high)
    centres = x.mean(axis=0), y.mean(axis=0)
    return centres[0] + factor * (x - centres[0]), centres[1] + factor * (y - centres[1])


@dataclass(frozen=True, eq=False)
class Known:
    """The pairs of a setting under the kernel of one test, with their exact distances."""

    first: FinitePair
    second: FinitePair

    @classmethod
    def of(cls, setting: Setting, kernel: nammd.Kernel) -> Known:
        """Evaluate a kernel on the points of both pairs."""
        return cls(*(FinitePair.of(p.x, p.y, kernel) for p in (setting.first, setting.second)))

    def epsilon(self, statistic: str) -> float:
        """Return the margin: the exact distance of the first pair."""
        return self.first.nammd if statistic == "nammd" else self.first.mmd2


def rejections(
    known: Mapping[str, Known], rows: int, count: int, rng: np.random.Generator
) -> dict[str, dict[str, np.ndarray]]:
    """Return which tests rejected in samples of the first pair (level) and of the second (power).

    Tests with different levels cannot be compared by their powers, so these are given at equal level too.

    Parameters
    ----------
    known : mapping
        The pairs as each of `METHODS` sees them, and `CONTROL` if wanted; all have the same points.
    rows, count : int
        The size of the samples, and how many to draw.
    rng : numpy.random.Generator
        Generator.

    Returns
    -------
    dict
        For every test ``"level"``, ``"power"`` and `EQUAL`. Where the margin is estimated, it is from a
        sample of the first pair of the same size.
    """
    names = (*known, *(name for name in TESTS if name not in known))
    seen = {name: {"level": np.ones(count), "power": np.ones(count)} for name in names}
    own = known["our nammd"]
    margins = {name: pairs.epsilon(str(_OPTIONS[name]["metric"])) for name, pairs in known.items()}
    for k in range(count):
        engine = Counting()
        # All tests see the same rows, so that their powers can be compared closely.
        draws = {"level": own.first.sample(rows, rng), "power": own.second.sample(rows, rng)}
        reference = nammd.distance(*own.first.sample(rows, rng), kernel=own.first.kernel, engine=engine)
        for outcome, sample in draws.items():
            sampled = {name: p.first if outcome == "level" else p.second for name, p in known.items()}
            for name, pvalue in pvalues(sample, sampled, margins, reference, engine).items():
                seen[name][outcome][k] = pvalue
    return {
        name: {what: each <= ALPHA for what, each in both.items()}
        | {EQUAL: at_equal_level(both["level"], both["power"])}
        for name, both in seen.items()
    }


def at_equal_level(level: np.ndarray, power: np.ndarray, alpha: float = ALPHA) -> np.ndarray:
    """Return which p-values reject if the test is first made to reject a share alpha at the margin.

    The k-th smallest of n p-values at the margin is the bar, with k = alpha (n + 1): another p-value from
    there is below it with probability k / (n + 1).

    >>> at_equal_level(np.arange(1, 20) / 20, np.array([0.01, 0.2]), alpha=0.1)
    array([ True, False])
    """
    place = int(alpha * (len(level) + 1))
    if place == 0:
        return np.zeros(len(power), bool)
    rejected: np.ndarray = power < np.sort(level)[place - 1]
    return rejected


def outcomes(
    sample: tuple[np.ndarray, np.ndarray],
    pairs: Mapping[str, FinitePair],
    margins: Mapping[str, float],
    reference: nammd.Estimate,
    engine: Counting,
    *,
    shared: bool = False,
) -> dict[str, bool]:
    """Return which of the tests of `pvalues` reject on one sample."""
    found = pvalues(sample, pairs, margins, reference, engine, shared=shared)
    return {name: pvalue <= ALPHA for name, pvalue in found.items()}


def pvalues(
    sample: tuple[np.ndarray, np.ndarray],
    pairs: Mapping[str, FinitePair],
    margins: Mapping[str, float],
    reference: nammd.Estimate,
    engine: Counting,
    *,
    shared: bool = False,
) -> dict[str, float]:
    """Return the p-values of the tests on one sample; 1 where a test has none.

    Parameters
    ----------
    sample : tuple of two arrays
        The sample, from `FinitePair.sample`.
    pairs, margins : mapping
        The pair that was sampled and the margin, as each of `METHODS` sees them, and `CONTROL` if wanted.
    reference : Estimate
        An estimate of the margin of NAMMD.
    engine : Counting
        Who sums.
    shared : bool
        Whether the estimate is from the same first sample.
    """
    x, y = sample

    def tested(margin: float, kernel: nammd.Kernel, options: Mapping[str, Any]) -> float:
        common: dict[str, Any] = {"engine": engine, "alpha": ALPHA, "alternative": "greater"}
        return nammd.paper.closeness_test(x, y, margin, kernel=kernel, **common, **options).pvalue

    found = {name: tested(margins[name], pair.kernel, _OPTIONS[name]) for name, pair in pairs.items()}
    kernel = pairs["our nammd"].kernel
    # A margin that is not between 0 and 1 cannot be tested.
    found["guessed"] = tested(reference.value, kernel, PUBLISHED) if 0 < reference.value < 1 else 1.0
    seen = nammd.distance(x, y, kernel=kernel, engine=engine)
    compared = compare_estimates(reference, seen, shared=shared, alternative="greater", alpha=ALPHA)
    found["compared"] = compared.pvalue
    return {name: 1.0 if math.isnan(pvalue) else pvalue for name, pvalue in found.items()}


def rows_for(known: Known, power: float, pilot: int, rng: np.random.Generator) -> int:
    """Return how many rows give the test of the second pair's NAMMD about this power, from a large sample."""
    x, y = known.second.sample(pilot, rng)
    error = nammd.distance(x, y, kernel=known.second.kernel, engine=Counting()).standard_error
    reach = quantile(1 - ALPHA) + quantile(power)
    return math.ceil(pilot * (reach * error / (known.second.nammd - known.first.nammd)) ** 2)
