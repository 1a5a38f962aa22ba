"""Monte Carlo runs that several test modules share; each setting is drawn once, and kept as p-values.

A simulation asks for p-values of many thousand small pairs, and for nothing else. So a pair is made here
straight from its Gram matrix, without opening, checking and describing data, which is most of the work for
small samples. This module is the only one that knows how; tests/statistics/test_coverage.py shows that the
public functions give the same p-values and intervals.

Of a tolerance and its checks a simulation wants the decisions, and `only_decisions` leaves out what is told
beside them; tests/tolerances/test_forecast.py shows that they stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import nammd
from nammd.datasets.laws import mixtures as laws
from nammd.engines.sums import CrossSums, KernelSums, WithinSums
from nammd.statistics.atom_pair import pair_of_rows
from nammd.statistics.grams import Grams as SecondOrder
from nammd.statistics.grams import unit_eigenvalue
from nammd.statistics.margin import margin
from nammd.statistics.pair import Pair
from nammd.tolerances.reference import Reference

KERNEL = nammd.Gaussian(1.0)
REPETITIONS = 1500


def noise(probability: float, repetitions: int = REPETITIONS) -> float:
    """The standard error of a rejection rate."""
    return float(np.sqrt(probability * (1 - probability) / repetitions))


@contextmanager
def only_decisions() -> Iterator[None]:
    """Leave out the intervals, forecasts and comparisons that tolerances and verdicts come with."""
    with (
        patch.object(nammd.Estimate, "confidence_interval", lambda *_: (0.0, 1.0)),
        patch.object(nammd.Tolerance, "power", lambda *_: SimpleNamespace(close=1.0)),
        patch.object(Reference, "equivalents", lambda *_: ()),
    ):
        yield


class Asked(NamedTuple):
    """What a pair of samples is asked, as `closeness_test` has it."""

    margin: float
    alternative: Any = "greater"
    variance: Any = "corrected"
    statistic: Any = "nammd"


@cache
def pvalues(family: str, eps: float, m: int, n: int, *asked: Asked) -> Any:
    """The p-values of samples from a pair of laws at NAMMD = eps, a row for each thing asked."""
    found = []
    for x, y in samples(family, eps, m, n):
        pairs = {statistic: pair_of(x, y, statistic=statistic) for statistic in {a.statistic for a in asked}}
        found.append([pvalue(pairs[a.statistic], *a[:3]) for a in asked])
    return np.array(found).T


def close_calls(pvalues: Any, alpha: float, count: int = 20) -> set[int]:
    """Which p-values are nearest to a level: there it shows whether others are at the same level."""
    ratios = np.maximum(pvalues, 1e-300) / alpha
    return set(np.argsort(np.abs(np.log(ratios)))[:count].tolist())


def at_the_boundary(family: str, eps: float, m: int, n: int) -> tuple[Any, Any]:
    """The p-values of "farther than eps" and of "closer" where neither is true."""
    greater, less = pvalues(family, eps, m, n, Asked(eps), Asked(eps, "less"))
    return greater, less


def samples(
    family: str, eps: float, m: int, n: int, repetitions: int = REPETITIONS
) -> Iterator[tuple[Any, Any]]:
    """Draw from a pair of laws at NAMMD = eps."""
    p, q = laws.pair_at(family, eps)
    rng = np.random.default_rng([m, n, round(eps * 1000)])
    return ((p.sample(rng, m), q.sample(rng, n)) for _ in range(repetitions))


def pvalue(pair: Pair, eps: float, alternative: Any = "greater", variance: Any = "corrected") -> float:
    """The p-value of a pair: that of `closeness_test`, without its threshold."""
    return margin(pair, eps, variance, alternative).pvalue(alternative)


def pair_of(x: Any, y: Any, kernel: Any = KERNEL, statistic: Any = "nammd") -> Pair:
    """The pair of two samples of some hundred rows; nothing is looked for that would make it void."""
    grams = Grams.of(x, y, kernel)
    return _pair(x, y, grams, grams.sums, Rows(grams.x), statistic)


def pairs_of(x: Any, *ys: Any, kernel: Any = KERNEL) -> list[Pair]:
    """The pairs of one sample with each of the others; what is known of it alone is computed once."""
    own = Rows(kernel(x, x))
    within, pairs = _within(own.values), []
    for y in ys:
        grams = Grams(own.values, kernel(y, y), kernel(x, y), kernel.bound)
        pairs.append(_pair(x, y, grams, grams.sums_with(within), own))
    return pairs


def _pair(x: Any, y: Any, grams: Grams, sums: KernelSums, own: Rows, statistic: Any = "nammd") -> Pair:
    meeting = pair_of_rows(sums)
    order = SecondOrder((Across(own, grams.cross), Rows(grams.y)), meeting.atoms)
    alike = bool((x == x[0]).all()), bool((y == y[0]).all())
    return Pair(replace(meeting, second_order=order), statistic, alike)


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows of a sample, which stand for themselves."""

    values: Any

    @property
    def chosen(self) -> Any:
        return np.arange(len(self.values))

    @cached_property
    def eigenvalue(self) -> float:
        ones = np.ones(len(self.values))
        return unit_eigenvalue(self.values, ones, ones)


@dataclass(frozen=True, eq=False)
class Across:
    """The same of the first sample of a pair, which has values with the second one too."""

    own: Rows
    across: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def between(self, other: Any) -> Any:
        return self.across


@dataclass(frozen=True, eq=False)
class Grams:
    """The kernel values within two samples and across, and what else is asked of them."""

    x: Any
    y: Any
    cross: Any
    bound: float

    @classmethod
    def of(cls, x: Any, y: Any, kernel: Any = KERNEL) -> Grams:
        both = np.concatenate([x, y])
        gram = kernel(both, both)
        return cls(gram[: len(x), : len(x)], gram[len(x) :, len(x) :], gram[: len(x), len(x) :], kernel.bound)

    @property
    def sums(self) -> KernelSums:
        return self.sums_with(_within(self.x))

    def sums_with(self, within: WithinSums) -> KernelSums:
        across = self.cross
        diagonal = float(np.trace(across)) if across.shape[0] == across.shape[1] else None
        sums = CrossSums(across.sum(axis=1), across.sum(axis=0), _squares(across), diagonal)
        return KernelSums(within, _within(self.y), sums, self.bound)


def _within(gram: Any) -> WithinSums:
    diagonal = np.diagonal(gram)
    return WithinSums(gram.sum(axis=1) - diagonal, _squares(gram) - float(diagonal @ diagonal))


def _squares(gram: Any) -> float:
    return float(np.einsum("ij,ij->", gram, gram))
