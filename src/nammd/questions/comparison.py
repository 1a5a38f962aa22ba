"""Comparing distances: is one pair of datasets farther apart than another? `compare_pairs`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from nammd.data.arrays import Array, namespace
from nammd.data.samples import as_samples, between, choice
from nammd.engines import Engine, check_kernel, choose_engine
from nammd.engines.sums import KernelSums
from nammd.kernels import Gaussian, Kernel, as_kernel
from nammd.kernels.bandwidth import MEDIAN_ROWS, pooled_rows
from nammd.questions.distance import (
    MIN_ROWS,
    NAMES,
    Estimate,
    check_options,
    describe_data,
    estimate_from_sums,
    estimate_of_sketches,
)
from nammd.results.base import Caution, Result, interval, number, p_value
from nammd.sketches import Sketch
from nammd.sketches.sketch import require_alike
from nammd.sketches.statistics import same_rows
from nammd.statistics.difference import (
    Shared,
    covariance_parts,
    degrees_of_freedom,
    difference_by_frequencies,
    variance_parts,
)
from nammd.statistics.margin import Statistic, quantile, upper_tail
from nammd.statistics.moments import Cross, combined

Direction = Literal["greater", "less", "two-sided"]


@dataclass(frozen=True)
class PairComparison(Result):
    """The outcome of comparing the distances of two pairs of datasets.

    Attributes
    ----------
    difference : float
        The distance of the second pair less that of the first.
    standard_error : float
        The standard error of the difference.
    statistic : float
        Their ratio, standard normal where the distances are equal.
    pvalue : float
        The p-value; NaN where there is no variance to divide by.
    rejected : bool
        Whether equality (or the one-sided null hypothesis) is rejected at level `alpha`.
    alpha : float
        The level of the test.
    alternative : {"greater", "less", "two-sided"}
        What is to be shown of the second pair's distance against the first's.
    shared : bool
        Whether the pairs have a dataset in common, whose sampling error then largely cancels.
    first, second : Estimate
        The two distances.
    warnings : tuple of Caution
        What to know before relying on the result.
    """

    difference: float
    standard_error: float
    statistic: float
    pvalue: float
    rejected: bool
    alpha: float
    alternative: Direction
    shared: bool
    first: Estimate
    second: Estimate
    warnings: tuple[Caution, ...] = field(default=())

    @property
    def engine(self) -> str:
        """Who computed it."""
        return self.first.engine

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return a two-sided confidence interval for the difference of the distances.

        Parameters
        ----------
        level : float
            The confidence level, strictly between 0 and 1.

        Returns
        -------
        tuple of float
            The lower and the upper end.
        """
        if not self.standard_error > 0:
            return math.nan, math.nan
        probability = (1 + between(level, "level")) / 2
        degrees = degrees_of_freedom(self.first, self.second, self.standard_error**2)
        reach = quantile(probability, degrees) * self.standard_error
        return self.difference - reach, self.difference + reach

    def headline(self) -> str:
        """Return the answer in one sentence."""
        p = p_value(self.pvalue)
        if math.isnan(self.pvalue):
            return "No comparison is possible with these data."
        farther = self.difference > 0
        if self.rejected:
            return f"The second pair is {'farther apart' if farther else 'closer'} than the first ({p})."
        if self.alternative == "two-sided":
            return f"No evidence that the two pairs are differently far apart ({p})."
        word = "farther apart" if self.alternative == "greater" else "closer"
        return f"No evidence that the second pair is {word} than the first ({p})."

    def facts(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        name = NAMES[self.first.statistic]
        relation = {"greater": "<=", "less": ">=", "two-sided": "="}[self.alternative]
        verdict = "rejected" if self.rejected else "not rejected"
        return [
            (
                "null hypothesis",
                f"second {name} {relation} first {name}: {verdict} at level {self.alpha:g}",
            ),
            ("first pair", f"{number(self.first.value)}, rows {self.first.m} and {self.first.n}"),
            (
                "second pair",
                f"{number(self.second.value)}, rows {self.second.m} and {self.second.n}",
            ),
            ("difference", f"{number(self.difference)} ± {number(self.standard_error)}"),
            ("95 % interval", interval(self.confidence_interval(0.95))),
            ("shared dataset", "yes, its covariance is used" if self.shared else "no"),
            describe_data(self.first)[-1],
        ]


def compare_pairs(
    first: tuple[Any, Any],
    second: tuple[Any, Any],
    *,
    kernel: Any = None,
    statistic: Statistic = "nammd",
    alternative: Direction = "greater",
    alpha: float = 0.05,
    shared: bool | None = None,
    cross: Cross = "full",
    engine: Engine | None = None,
) -> PairComparison:
    """Test whether the second pair of datasets is farther apart than the first.

    This is the test to use where the margin is itself an estimate, from a reference pair that is not
    much larger than the data: the uncertainty of both distances counts.

    Parameters
    ----------
    first, second : tuple of two datasets
        ``(x1, y1)`` and ``(x2, y2)``; see `distance`. All have the same columns, and at least four
        rows each. Either all are sketches, of the same features, or none is.
    kernel : Kernel, optional
        One kernel for both distances; by default the Gaussian with the median bandwidth of all rows. For
        sketches as in `distance`.
    statistic : {"nammd", "mmd2"}
        The norm-adaptive MMD, or the plain squared MMD.
    alternative : {"greater", "less", "two-sided"}
        What is to be shown of the second distance: that it is greater than the first (the default),
        less, or different.
    alpha : float
        The level of the test.
    shared : bool, optional
        Whether ``x1`` and ``x2`` are the same observations. By default a dataset is recognised as
        shared if the same object stands in both pairs, in whatever place; a sketch also if its sums are
        the same, as when a file is loaded twice.
    cross : {"full", "off-diagonal"}
        Which cross pairs to average over; see `distance`.
    engine : Engine, optional
        Who computes; by default the one that suits where the data is.

    Returns
    -------
    PairComparison

    Examples
    --------
    Is this week farther from the training data than the week that was accepted?

    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> train = rng.normal(size=(1000, 2))
    >>> accepted, today = rng.normal(loc=0.3, size=(500, 2)), rng.normal(loc=0.6, size=(500, 2))
    >>> result = nammd.compare_pairs((train, accepted), (train, today))
    >>> result.shared, result.rejected
    (True, True)
    """
    choice(alternative, "alternative", ("greater", "less", "two-sided"))
    alpha = between(alpha, "alpha")
    (x1, y1), (x2, y2), shared = _line_up(_two(first, "first"), _two(second, "second"), shared)
    if any(isinstance(z, Sketch) for z in (x1, y1, x2, y2)):
        estimates = _sketch_estimates((x1, y1), (x2, y2), kernel, statistic, cross, engine, shared)
        return compare_estimates(*estimates, shared=shared, alternative=alternative, alpha=alpha)
    samples = as_samples(
        min_rows=MIN_ROWS, **{"first[0]": x1, "first[1]": y1}, **{"second[0]": x2, "second[1]": y2}
    )
    x1, y1, x2, y2 = samples
    if shared:
        if x1.shape != x2.shape:
            raise ValueError(
                "shared=True says that both pairs have the same first dataset, but they have "
                f"{x1.shape[0]} and {x2.shape[0]} rows"
            )
        if x1 is not x2 and not bool(namespace(x1, x2).all(x1 == x2)):
            raise ValueError(
                "shared=True says that both pairs have the same first dataset, but their rows differ"
            )
        x2 = x1
    check_options(x1, y1, statistic, cross)
    check_options(x2, y2, statistic, cross)
    kernel = _common_kernel(x1, y1, x2, y2, shared) if kernel is None else as_kernel(kernel)
    check_kernel(kernel, x1, y1)
    estimates = _estimates(x1, y1, x2, y2, kernel, statistic, cross, choose_engine(engine, *samples))
    return compare_estimates(*estimates, shared=shared, alternative=alternative, alpha=alpha)


def compare_estimates(
    first: Estimate, second: Estimate, *, shared: bool, alternative: Direction, alpha: float
) -> PairComparison:
    """Compare two distances that are estimated already, under one kernel.

    Where `shared`, the x of both must be the same observations in the same order.
    """
    difference = second.value - first.value
    parts = variance_parts(first) + variance_parts(second)
    if shared:
        parts -= 2 * covariance_parts(Shared.of(first), second)
    linear, total = parts.tolist()
    variance, _ = combined(linear, total, difference_by_frequencies(first, second))
    deviation = 0.0 if first.pair.constant and second.pair.constant else math.sqrt(variance)
    z = difference / deviation if deviation > 0 else math.nan
    degrees = degrees_of_freedom(first, second, variance)
    pvalue = {
        "greater": upper_tail(z, degrees),
        "less": upper_tail(-z, degrees),
        "two-sided": 2 * upper_tail(abs(z), degrees),
    }[alternative]
    warnings = first.warnings + tuple(w for w in second.warnings if w not in first.warnings)
    if not deviation > 0:
        warnings += (
            Caution(
                "no-variance",
                "the estimated variance of the difference is not positive, so there is nothing to "
                "test with: the data may be constant, or too few",
            ),
        )
    return PairComparison(
        difference=difference,
        standard_error=deviation,
        statistic=z,
        pvalue=pvalue,
        rejected=bool(pvalue <= alpha),
        alpha=alpha,
        alternative=alternative,
        shared=shared,
        first=first,
        second=second,
        warnings=warnings,
    )


def _sketch_estimates(
    first: tuple[Any, Any],
    second: tuple[Any, Any],
    kernel: Any,
    statistic: Statistic,
    cross: Cross,
    engine: Engine | None,
    shared: bool,
) -> tuple[Estimate, Estimate]:
    """Estimate both distances from sketches, which must all belong together."""
    one, two = (
        estimate_of_sketches(*pair, kernel, statistic, cross, engine, (f"{name}[0]", f"{name}[1]"))
        for pair, name in ((first, "first"), (second, "second"))
    )
    require_alike(first[0], second[0])
    if shared and first[0] is not second[0] and not same_rows(first[0], second[0]):
        raise ValueError(
            "shared=True says that both pairs have the same first dataset, but their sketches differ"
        )
    return one, two


def _two(pair: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"the {name} pair must be a tuple of two datasets, such as (x, y)")
    return pair[0], pair[1]


def _line_up(
    first: tuple[Any, Any], second: tuple[Any, Any], shared: bool | None
) -> tuple[tuple[Any, Any], tuple[Any, Any], bool]:
    """Turn the pairs so that a dataset they share stands first in both; distances are symmetric."""
    same = [(i, j) for i in range(2) for j in range(2) if _is_same(first[i], second[j])]
    if len(same) > 1:
        raise ValueError("the two pairs consist of the same datasets; there is nothing to compare")
    if same and shared is not False:
        i, j = same[0]
        return (first[i], first[1 - i]), (second[j], second[1 - j]), True
    return first, second, bool(shared)


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two datasets are one; sketches by their sums, since both may come from one file."""
    if isinstance(one, Sketch) and isinstance(other, Sketch):
        return one is other or same_rows(one, other)
    return one is other


def _common_kernel(x1: Array, y1: Array, x2: Array, y2: Array, shared: bool) -> Kernel:
    each = [x1, y1, y2] if shared else [x1, y1, x2, y2]
    share = max(2, MEDIAN_ROWS // len(each))
    return Gaussian.median(np.concatenate([pooled_rows(z, max_rows=share) for z in each]))


def _estimates(
    x1: Array,
    y1: Array,
    x2: Array,
    y2: Array,
    kernel: Kernel,
    statistic: Statistic,
    cross: Cross,
    engine: Engine,
) -> tuple[Estimate, Estimate]:
    """Estimate both distances, and what belongs to a shared dataset only once."""
    parts = [(x1,), (y1,), (x1, y1), (y2,), (x2, y2)]
    if x2 is not x1:
        parts.append((x2,))
    own, y1_sums, cross1, y2_sums, cross2, *other = engine.sums(kernel, *parts)
    bound = float(kernel.bound)
    one = KernelSums(own, y1_sums, cross1, bound)
    two = KernelSums(other[0] if other else own, y2_sums, cross2, bound)
    return (
        estimate_from_sums(x1, y1, one, kernel, statistic, cross, engine),
        estimate_from_sums(x2, y2, two, kernel, statistic, cross, engine),
    )
