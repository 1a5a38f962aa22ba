"""Monte Carlo runs that several test modules share; each setting is drawn once, and kept as p-values.

A simulation asks for p-values of many thousand small pairs, and for nothing else. So a pair is made here
straight from its Gram matrix, without opening, checking and describing data, which is most of the work for
small samples. This module is the only one that knows how; tests/statistics/test_coverage.py shows that the
public functions give the same p-values and intervals.

Of a tolerance and its checks a simulation wants the decisions, and `only_decisions` leaves out what is told
beside them; tests/tolerances/test_forecast.py shows that they stay the same, and that `by_accepted` has the
p-values of a tolerance that accepted data made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import nammd
from nammd.datasets.laws import mixtures as laws
from nammd.engines.sums import CrossSums, KernelSums, WithinSums
from nammd.statistics.atom_pair import AtomPair, pair_of_rows
from nammd.statistics.atoms import Atoms
from nammd.statistics.difference import Difference
from nammd.statistics.grams import Grams as SecondOrder
from nammd.statistics.grams import unit_eigenvalue
from nammd.statistics.margin import margin
from nammd.statistics.pair import Pair
from nammd.tolerances.bars import Fixed
from nammd.tolerances.forecasting import Setting
from nammd.tolerances.gate import Gate
from nammd.tolerances.gate_columns import GateColumns
from nammd.tolerances.reference import Reference

KERNEL = nammd.Gaussian(1.0)
REPETITIONS = 1000


def noise(probability: float, repetitions: int = REPETITIONS) -> float:
    """The standard error of a rejection rate."""
    return float(np.sqrt(probability * (1 - probability) / repetitions))


@contextmanager
def without_forecasts() -> Iterator[None]:
    """Leave out the intervals, forecasts and comparisons that tolerances and verdicts come with."""
    with (
        patch.object(nammd.Estimate, "confidence_interval", lambda *_: (0.0, 1.0)),
        patch.object(Fixed, "interval", lambda *_: None),
        patch.object(Setting, "close", lambda *_: 1.0),
        patch.object(Reference, "equivalents", lambda *_: ()),
    ):
        yield


@contextmanager
def only_decisions() -> Iterator[None]:
    """And what is told of single columns, and of facts, so that the decision is that of the joint test."""
    with (
        without_forecasts(),
        patch.object(GateColumns, "comparable", lambda *_: False),
        patch.object(Gate, "facts", lambda *_: ()),
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
    greater, less, *_ = by_all_variances(family, eps, m, n)
    return greater, less


def by_all_variances(family: str, eps: float, m: int, n: int) -> Any:
    """The same, and the p-values of "farther than eps" by the paper's variance and by the delta method."""
    others = (Asked(eps, variance=variance) for variance in ("paper", "delta"))
    return pvalues(family, eps, m, n, Asked(eps), Asked(eps, "less"), *others)


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


def by_accepted(accepted: Pair, candidate: Pair, shared: bool = True) -> tuple[float, float]:
    """The p-values that a candidate is nearer than accepted data, and that it is farther."""
    rule = Difference.of(accepted, candidate, shared)
    return rule.closer(), rule.swapped.closer()


def pair_of(x: Any, y: Any, kernel: Any = KERNEL, statistic: Any = "nammd") -> Pair:
    """The pair of two samples of some hundred rows; nothing is looked for that would make it void."""
    return Grams.of(x, y, kernel).pair(x, y, statistic)


def pairs_of(x: Any, *ys: Any, kernel: Any = KERNEL) -> list[Pair]:
    """The pairs of one sample with each of the others; what is known of it alone is computed once."""
    tiles = _tiles(kernel, x, *ys)
    own = Rows(tiles(0, 0))
    within, pairs = _within(own.values), []
    for number, y in enumerate(ys, 1):
        grams = Grams(own.values, tiles(number, number), tiles(0, number), kernel.bound)
        pairs.append(_pair(x, y, grams, grams.sums_with(within), own))
    return pairs


def _tiles(kernel: Any, *samples: Any) -> Callable[[int, int], Any]:
    """Return a function for the kernel values between any two samples; the kernel is bound to all at once."""
    rows, ends = np.concatenate(samples), np.cumsum([0, *map(len, samples)]).tolist()
    places, tile = [slice(*both) for both in pairwise(ends)], kernel.bind(rows, rows).tile
    return lambda one, other: tile(places[one], places[other], None)


def _pair(x: Any, y: Any, grams: Grams, sums: KernelSums, own: Rows, statistic: Any = "nammd") -> Pair:
    meeting = pair_of_rows(sums)
    order = SecondOrder((Across(own, grams.cross), Rows(grams.y)), meeting.atoms)
    return Pair(replace(meeting, second_order=order), statistic, (_alike(x), _alike(y)))


def _alike(rows: Any) -> bool:
    return bool((rows == rows[0]).all())


def pair_of_groups(x: Any, y: Any, grams: Grams, groups: tuple[Any, Any]) -> Pair:
    """The pair of two samples by groups of their rows, which are in the order of the groups."""
    starts = [np.flatnonzero(np.r_[True, np.diff(labels) > 0]) for labels in groups]
    numbers = [labels[first] for labels, first in zip(groups, starts, strict=True)]
    sizes = [
        np.diff(np.r_[first, len(labels)]).astype(float) for labels, first in zip(groups, starts, strict=True)
    ]
    _, *common = np.intersect1d(*numbers, assume_unique=True, return_indices=True)
    across = _by_groups(grams.cross, *starts)
    apart = across.copy()
    apart[tuple(common)] = 0.0
    atoms, stand_ins = [], []
    for side, (gram, other) in enumerate(((grams.x, apart), (grams.y, apart.T))):
        mine, theirs = sizes[side], sizes[1 - side]
        values = _by_groups(gram, starts[side], starts[side])
        inside = np.diagonal(values)
        others = values - np.diag(inside)
        partners = np.full(len(mine), theirs.sum())
        partners[common[side]] -= theirs[common[1 - side]]
        pairs = mine * (mine - 1)
        atoms.append(
            Atoms(
                sizes=mine,
                own=others.sum(axis=1),
                other=other.sum(axis=1),
                own_sized=others @ mine,
                other_sized=other @ theirs,
                squares=_squares(others),
                partners=partners,
                rows=len(groups[side]),
                numbers=numbers[side],
                in_unit=float((inside - grams.bound * mine)[mine > 1].sum() / pairs.sum()),
            )
        )
        stand_ins.append(Rows(values, mine))
    both = tuple(common) if len(common[0]) else None
    order = SecondOrder((Across(stand_ins[0], across), stand_ins[1]), tuple(atoms), both)
    meeting = AtomPair(tuple(atoms), _squares(apart), grams.bound, order, both)
    return Pair(meeting, alike=(_alike(x), _alike(y)))


def _by_groups(gram: Any, rows: Any, columns: Any) -> Any:
    return np.add.reduceat(np.add.reduceat(gram, rows, axis=0), columns, axis=1)


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows of a sample, or all groups of some sizes, which stand for themselves."""

    values: Any
    sizes: Any = None

    @property
    def chosen(self) -> Any:
        return np.arange(len(self.values))

    @cached_property
    def eigenvalue(self) -> float:
        sizes = np.ones(len(self.values)) if self.sizes is None else self.sizes
        return unit_eigenvalue(self.values, sizes, sizes)


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
        tiles = _tiles(kernel, x, y)
        return cls(tiles(0, 0), tiles(1, 1), tiles(0, 1), kernel.bound)

    def pair(self, x: Any, y: Any, statistic: Any = "nammd") -> Pair:
        """The pair by single rows."""
        return _pair(x, y, self, self.sums, Rows(self.x), statistic)

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
