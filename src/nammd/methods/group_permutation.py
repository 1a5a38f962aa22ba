"""The permutation test where rows belong together: whole groups change sides.

A group that is in one dataset changes places with a group of about the same size: of the same number of rows
where both datasets have some, else of the next ones. A group that is in both datasets exchanges its rows of x
for its rows of y, or keeps them. Pairs of rows within a group are left out of the statistic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray, pooled_sample, take_rows, to_numpy
from nammd.data.row_units import numbered
from nammd.engines import Engine
from nammd.engines.units import Units
from nammd.evidence.rows import described, with_units
from nammd.kernels import Kernel
from nammd.questions.two_sample import TwoSampleResult
from nammd.spaces import Sample
from nammd.statistics.atoms import effective_groups
from nammd.statistics.permutations import (
    SignedMeans,
    permutation_pvalue,
    signs_at_once,
)

if TYPE_CHECKING:
    from nammd.methods.permutation import NAMMDPermutation

ENOUGH = 3
"""Groups of neighbouring sizes are exchanged together until there are so many of them on each side."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """The groups of two datasets together, and how they may change sides.

    Attributes
    ----------
    units : Units
        The groups of all rows, x first and then y, sorted by group.
    order : array
        Which row of the pooled sample stands where.
    first : array of bool
        Which of the sorted rows are of x.
    part : array of int
        The part of each sorted row: a group, or one side of a group that is in both datasets.
    """

    units: Units
    order: NDArray[np.intp]
    first: NDArray[np.bool_]
    part: NDArray[np.intp]

    @classmethod
    def of(cls, x: Sample, y: Sample) -> Labelled:
        """Put the groups of two samples together."""
        one, two = x.units, y.units
        assert one is not None
        assert two is not None
        numbers = numbered([one, two])
        labels = np.concatenate([numbers[0][one.codes], numbers[1][two.codes]])
        first = np.arange(len(labels)) < x.size
        order = np.lexsort((~first, labels))
        labels, first = np.unique(labels[order], return_inverse=True)[1].reshape(-1), first[order]
        weights = None
        if one.weights is not None or two.weights is not None:
            both = [np.ones(len(u.codes)) if u.weights is None else u.weights for u in (one, two)]
            weights = np.concatenate(both)[order]
        part = np.cumsum(np.r_[0, (np.diff(labels) > 0) | (first[1:] != first[:-1])])
        return cls(Units(labels, weights), order, first, part)

    @property
    def starts(self) -> NDArray[np.intp]:
        """The first row of each part."""
        return np.flatnonzero(np.r_[True, np.diff(self.part) > 0])

    def sizes(self) -> tuple[FloatArray, NDArray[np.intp]]:
        """Return the weight and the rows of each part."""
        weights: FloatArray = np.add.reduceat(self.units.row_weights, self.starts)
        return weights, np.bincount(self.part)

    @property
    def halves(self) -> NDArray[np.intp]:
        """The first of the two parts of each group that is in both datasets."""
        group = self.units.labels[self.starts]
        return np.flatnonzero(group[1:] == group[:-1])

    def sides(self, count: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return random sides of all parts, +1 or -1, one column for each relabelling."""
        side = np.where(self.first[self.starts], 1.0, -1.0).astype(np.float32)
        found = np.repeat(side[:, None], count, axis=1)
        halves = self.halves
        turned = rng.choice(np.array([-1.0, 1.0], np.float32), (len(halves), count))
        found[halves] *= turned
        found[halves + 1] *= turned
        alone = np.setdiff1d(np.arange(len(side)), np.r_[halves, halves + 1])
        rows = self.sizes()[1]
        for stratum in _strata(alone, rows, side):
            found[stratum] = rng.permuted(found[stratum], axis=0)
        return found


def _strata(
    parts: NDArray[np.intp], rows: NDArray[np.intp], side: NDArray[np.float32]
) -> list[NDArray[np.intp]]:
    """Return groups of about the same size that may change places."""
    found: list[NDArray[np.intp]] = []
    waiting: list[int] = []
    for size in np.unique(rows[parts]):
        waiting += parts[rows[parts] == size].tolist()
        if min(np.sum(side[waiting] > 0), np.sum(side[waiting] < 0)) >= ENOUGH:
            found.append(np.array(waiting))
            waiting = []
    if waiting:  # too few of the largest: they join those before them
        last = np.array(waiting)
        found[-1:] = [np.r_[found[-1], last]] if found else [last]
    return found


def group_test(
    method: NAMMDPermutation, x: Sample, y: Sample, *, alpha: float, rng: np.random.Generator, engine: Engine
) -> TwoSampleResult:
    """Test two samples whose rows belong together; `method` says which statistic, and how often."""
    from nammd.methods.permutation import tie_of

    kernel = x.space.kernel if method.kernel is None else method.kernel
    x, y = with_units(x), with_units(y)
    together = Labelled.of(x, y)
    pooled = take_rows(pooled_sample(x.points, y.points), together.order)
    observed, null = _statistics(method, together, pooled, kernel, engine, rng)
    pvalue = permutation_pvalue(null, observed, tie_of(x.points, y.points, null, engine))
    both = effective_groups(x.units.sizes), effective_groups(y.units.sizes)  # type: ignore[union-attr]
    facts = described((x, y), both, len(together.halves))
    computed = engine.described(x.points, y.points, kernel=kernel)
    more = {"details": dict(facts), "groups": tuple(facts)}
    return TwoSampleResult.by_permutations(
        method, observed, null, pvalue, alpha, (x.size, y.size), computed, kernel, **more
    )


def _statistics(
    method: NAMMDPermutation,
    together: Labelled,
    pooled: Any,
    kernel: Kernel,
    engine: Engine,
    rng: np.random.Generator,
) -> tuple[float, FloatArray]:
    """Return the statistic of the groups as they are, and of every relabelling."""
    units, weights = together.units, together.units.row_weights
    [within] = engine.unit_sums(kernel, ((pooled, units),))
    total = float(weights @ within.rows)
    sizes, halves = together.sizes()[0], together.halves
    shared = float(sizes[halves] @ sizes[halves + 1])
    inside, statistics = math.nan, []
    for position, count in enumerate(signs_at_once(len(weights), 0, method.permutations)):
        sides = together.sides(count, rng)
        if position == 0:
            sides[:, 0] = np.where(together.first[together.starts], 1.0, -1.0)
        signs = sides[together.part] * weights[:, None].astype(np.float32)
        if position == 0:
            signs = np.column_stack([signs, weights.astype(np.float32)])
        forms = engine.quadratic_forms(kernel, pooled, signs)
        if position == 0:
            # What pairs within a group add is the same whatever their side.
            inside = float(forms[-1]) - total - 4 * _between_halves(together, pooled, kernel)
            forms, signs = forms[:-1], signs[:, :-1]
        means = _means(forms - inside, total, within.rows @ signs, sides, sizes, shared)
        statistics.append(method.of_means(means, kernel.bound))
    every = np.concatenate(statistics)
    return float(every[0]), every[1:]


def _means(
    forms: FloatArray,
    total: float,
    differences: FloatArray,
    sides: NDArray[np.float32],
    sizes: FloatArray,
    shared: float,
) -> SignedMeans:
    """Return the means of every relabelling; each has weights of its own, where groups differ in size."""
    both, cross = (forms + total) / 2, (total - forms) / 4
    first, second = ((sides > 0).T.astype(np.float64), (sides < 0).T.astype(np.float64))
    m, n, squares = first @ sizes, second @ sizes, sizes * sizes
    return SignedMeans(
        (both + differences) / 2 / (m * m - first @ squares),
        (both - differences) / 2 / (n * n - second @ squares),
        cross / (m * n - shared),
    )


def _between_halves(together: Labelled, pooled: Any, kernel: Kernel) -> float:
    """Return the sum of kernel values between the rows of x and of y of the groups that are in both."""
    edges, weights, found = np.r_[together.starts, len(together.part)], together.units.row_weights, 0.0
    for half in together.halves:
        one, two = slice(edges[half], edges[half + 1]), slice(edges[half + 1], edges[half + 2])
        found += float(weights[one] @ to_numpy(kernel(pooled[one], pooled[two])) @ weights[two])
    return found
