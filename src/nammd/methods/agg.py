"""MMDAgg: many kernels, each with its own quantile, at a common level that is itself resampled.

A test of level ``u * w_k`` for every kernel k, and u as large as the level of all of them together
allows. Two independent sets of resampled statistics are needed: one for the quantiles, one to estimate
how often at least one kernel exceeds its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nammd.data.arrays import Array, FloatArray, is_torch, pooled_sample, take_rows, to_numpy
from nammd.engines import Engine
from nammd.engines.protocol import FamilyForms, FormTask, PairedForms
from nammd.errors.checks import whole_settings
from nammd.kernels import Gaussian, Kernel, Laplace
from nammd.kernels.bandwidth import Metric
from nammd.kernels.base import Precision
from nammd.kernels.operations import scaled_distance
from nammd.methods.bandwidths import extent
from nammd.methods.drawing import DrawSigns
from nammd.questions.two_sample import TwoSampleResult
from nammd.statistics.permutations import TIE, signed_means

# Distances between this many rows of each sample set the bandwidths.
_BANDWIDTH_ROWS = 500

# A difference of means of a kernel is rounding below this share of them.
_ROUNDING = {"float32": 1e-6, "float64": 1e-14}


@dataclass(frozen=True)
class MMDAgg:
    """The aggregated MMD test of Schrab, Kim, Guedj and Gretton.

    It takes Laplace kernels ``exp(-|x - y|_1 / b)`` and Gaussian kernels ``exp(-|x - y|² / b²)``, rejects
    where the MMD² of any of them is beyond its quantile, and chooses the quantiles so that the whole test
    has level alpha. Samples of equal size are resampled by a wild bootstrap (row i of x and row i of y
    change sides together), others by permutations.

    Parameters
    ----------
    bandwidths : int
        How many bandwidths of each of the two kinds; at least 2. The weights are uniform.
    permutations : int
        Resampled statistics for the quantiles, B1 in the paper.
    level_permutations : int
        Further ones for the level, B2 in the paper.
    bisections : int
        Steps of the search for the level, B3 in the paper.

    Notes
    -----
    The `statistic`, `threshold` and `null` of the result belong to the kernel that is farthest beyond its
    threshold, in standard deviations of its null distribution; the test rejects where that is beyond at
    all. The `pvalue` is ``alpha * min_k(p_k / (u w_k))``, with ``p_k`` the p-value of one kernel and
    ``u w_k`` the level it is given; at least the smallest ``p_k`` and at most 1. It is at most alpha exactly
    where the test rejects; it depends on the alpha asked for, so it must not be held against another
    level.

    The bandwidths come from the distances between x and y, as published: they depend a little on which
    rows are x's, and they assume data of a scale well above 0.1. The rows are put into random order
    first, since the wild bootstrap pairs rows by their position: sorted data would break it.

    References
    ----------
    .. [1] A. Schrab, I. Kim, B. Guedj, A. Gretton, "Efficient Aggregated Kernel Tests using Incomplete
       U-statistics", NeurIPS 2022.
    .. [2] A. Schrab, I. Kim, M. Albert, B. Laurent, B. Guedj, A. Gretton, "MMD Aggregated Two-Sample Test",
       JMLR 24 (2023).

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.methods.agg import MMDAgg
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(100, 2)), rng.normal(scale=1.5, size=(100, 2))
    >>> result = nammd.two_sample_test(x, y, method=MMDAgg(), rng=1)
    >>> result.rejected, len(result.details["pvalues"])
    (True, 20)
    """

    bandwidths: int = 10
    permutations: int = 2000
    level_permutations: int = 2000
    bisections: int = 50
    name: ClassVar[str] = "mmd-agg"

    def __post_init__(self) -> None:
        whole_settings(self, bandwidths=2, permutations=1, level_permutations=1, bisections=1)

    def test(
        self, x: Array, y: Array, *, alpha: float, rng: np.random.Generator, engine: Engine
    ) -> TwoSampleResult:
        """Test two checked samples."""
        task = self.plan(x, y, DrawSigns(rng, np.empty(0)))
        [sums] = engine.many_forms([task])
        return self.conclude(task, sums, x, y, alpha, engine)

    def plan(self, x: Array, y: Array, draw: DrawSigns) -> FormTask:
        """Return what an engine must compute for two checked samples."""
        # Where the engine is: a random order for the wild bootstrap, whose pairs are rows of one number.
        x, y = (take_rows(sample, draw.rows(int(sample.shape[0]))) for sample in (x, y))
        m, n = int(x.shape[0]), int(y.shape[0])
        kernels = kernels_of(bandwidth_collection(x, y, self.bandwidths))
        count = 1 + self.permutations + self.level_permutations
        if m == n:
            return FormTask(kernels, (x, y), draw.coins(n, count))
        return FormTask(kernels, (pooled_sample(x, y),), draw.permutations(m, n, count))

    def plans_as(self) -> tuple[object, ...]:
        """Return what a plan depends on."""
        return "agg", self.bandwidths, self.permutations, self.level_permutations

    def conclude(
        self, task: FormTask, sums: Any, x: Array, y: Array, alpha: float, engine: Engine
    ) -> TwoSampleResult:
        """Return the result from what an engine computed for a plan."""
        m, n, precision = int(x.shape[0]), int(y.shape[0]), engine.precision_for(x, y)
        if m == n:
            every = wild_means(sums, n, precision)
        else:
            every = permuted_means(sums, task.vectors, (m, n), precision)
        split = 1 + self.permutations
        weights = np.full(len(every), 1 / len(every))
        aggregate = aggregate_tests(
            every[:, :split], every[:, split:], weights, alpha, self.bisections, TIE[precision]
        )
        return aggregate.result(
            every[aggregate.best, 1:split],
            method=self.name,
            m=m,
            n=n,
            engine=engine.described(x),
            resampling="wild bootstrap" if m == n else "permutations",
            kernels=tuple(published_bandwidth(kernel)[0] for kernel in task.kernels),
            bandwidths=tuple(published_bandwidth(kernel)[1] for kernel in task.kernels),
        )


def bandwidth_collection(x: Array, y: Array, count: int) -> dict[str, FloatArray]:
    """Return `count` bandwidths in geometric progression for each kind of kernel."""
    norms: dict[str, Metric] = {"laplace": "cityblock", "gaussian": "euclidean"}
    x, y = (sample[:_BANDWIDTH_ROWS, :] for sample in (x, y))
    if not is_torch(x):
        x, y = to_numpy(x), to_numpy(y)
    collection = {}
    for kind, norm in norms.items():
        low, some, high = extent(x, y, norm)
        if low < 0.1:  # rows that nearly coincide say nothing about the scale
            low = max(some, 0.1)
        collection[kind] = np.geomspace(low / 2, 2 * max(high, 0.3), count)
    return collection


def kernels_of(collection: dict[str, FloatArray]) -> list[Kernel]:
    """Return the kernels; the published Gaussian is ``exp(-|x - y|² / b²)``, ours has 2 b² there."""
    kinds: dict[str, Callable[[float], Kernel]] = {
        "laplace": Laplace,
        "gaussian": lambda bandwidth: Gaussian(bandwidth / math.sqrt(2)),
    }
    return [kinds[kind](float(b)) for kind, widths in collection.items() for b in widths]


def published_bandwidth(kernel: Kernel) -> tuple[str, float]:
    """Return the kind of a kernel, and b as the authors have it."""
    one = scaled_distance(kernel)
    if one.metric == "cityblock":
        return "laplace", -1 / one.factor
    return "gaussian", math.sqrt(-1 / one.factor)


def wild_means(sums: PairedForms, n: int, precision: Precision) -> FloatArray:
    """Return MMD² without the pairs (x_i, y_i), for every kernel and column r of signs, from the sums.

    That is the mean over i != j of ``r_i r_j [k(x_i, x_j) + k(y_i, y_j) - k(x_i, y_j) - k(y_i, x_j)]``.
    """
    return _rounded(sums.forms / (n * (n - 1)), np.maximum(sums.means, 0.0)[:, None], precision)


def permuted_means(sums: FamilyForms, signs: Any, sizes: tuple[int, int], precision: Precision) -> FloatArray:
    """Return the unbiased MMD² from the sums over the pooled sample."""
    total, size = sums.rows.sum(axis=1, keepdims=True), sum(sizes)
    differences = sums.rows @ (to_numpy(signs) if is_torch(signs) else signs)
    mmd2 = signed_means(sums.forms, total, differences, sizes).mmd2
    return _rounded(mmd2, total / (size * (size - 1)), precision)


def _rounded(mmd2: FloatArray, means: FloatArray, precision: Precision) -> FloatArray:
    """Return zero for what is nothing but rounding of the mean kernel values."""
    return np.where(np.abs(mmd2) < _ROUNDING[precision] * means, 0.0, mmd2)


@dataclass(frozen=True)
class Aggregate:
    """Tests of several kernels as one test; arrays have one entry per kernel.

    Attributes
    ----------
    alpha : float
        The level of the test.
    u : float
        The factor of the weights: kernel k is tested at level ``u w_k``.
    levels : array
        The levels ``u w_k``.
    statistics, thresholds, pvalues : array
        The statistic, the quantile that it must exceed, and the p-value of every kernel by itself.
    best : int
        The kernel farthest beyond its threshold, in standard deviations.
    """

    alpha: float
    u: float
    levels: FloatArray
    statistics: FloatArray
    thresholds: FloatArray
    pvalues: FloatArray
    best: int

    @property
    def rejected(self) -> bool:
        """Whether any kernel rejects at the level it is given."""
        return bool((self.pvalues <= self.levels).any())

    @property
    def pvalue(self) -> float:
        """``alpha * min_k(p_k / (u w_k))``, at least the smallest p_k and at most 1.

        It is at most alpha exactly where the test rejects.
        """
        if self.u == 0:  # no level is small enough: the test never rejects
            return 1.0
        value = self.alpha * float((self.pvalues / self.levels).min())
        # Where the statistics take few values the levels can be large, and mean nothing.
        value = min(max(value, float(self.pvalues.min())), 1.0)
        # Neither that nor rounding must carry it across alpha.
        return min(value, self.alpha) if self.rejected else max(value, math.nextafter(self.alpha, 2))

    def result(
        self, null: FloatArray, *, method: str, m: int, n: int, engine: str = "NumPy", **details: Any
    ) -> TwoSampleResult:
        """Return the result of the test, told through its best kernel; `null` is that kernel's."""
        return TwoSampleResult(
            statistic=float(self.statistics[self.best]),
            pvalue=self.pvalue,
            threshold=float(self.thresholds[self.best]),
            rejected=self.rejected,
            alpha=self.alpha,
            method=method,
            permutations=len(null),
            m=m,
            n=n,
            kernel=None,
            engine=engine,
            null=null,
            details={
                **details,
                "u": self.u,
                "best": self.best,
                "statistics": tuple(map(float, self.statistics)),
                "thresholds": tuple(map(float, self.thresholds)),
                "pvalues": tuple(map(float, self.pvalues)),
                "levels": tuple(map(float, self.levels)),
            },
        )


def aggregate_tests(
    statistics: FloatArray,
    level_statistics: FloatArray,
    weights: FloatArray,
    alpha: float,
    bisections: int,
    tie: float = TIE["float64"],
) -> Aggregate:
    """Find the largest levels ``u w_k`` that together keep the level alpha, and test every kernel.

    Parameters
    ----------
    statistics : array of shape (kernels, 1 + permutations)
        The statistics of the data as it is, then the resampled ones.
    level_statistics : array of shape (kernels, level_permutations)
        Statistics resampled independently of those.
    weights : array of shape (kernels,)
        Positive numbers of sum at most 1.
    alpha : float
        The level of the whole test.
    bisections : int
        Steps of the search for u.
    tie : float
        Statistics closer than this share of their standard deviation count as equal.

    Returns
    -------
    Aggregate
    """
    ordered, size, observed = np.sort(statistics, axis=1), statistics.shape[1], statistics[:, 0]
    spread = statistics.std(axis=1)
    slack = tie * spread

    def quantiles(u: float) -> FloatArray:
        index = np.maximum(np.ceil(size * (1 - u * weights)).astype(int) - 1, 0)
        return np.take_along_axis(ordered, index[:, None], axis=1)[:, 0]

    u, too_large = 0.0, float((1 / weights).min())
    for _ in range(bisections):
        middle = (u + too_large) / 2
        beyond = level_statistics > (quantiles(middle) + slack)[:, None]
        if beyond.any(axis=0).mean() <= alpha:
            u = middle
        else:
            too_large = middle
    thresholds = quantiles(u)
    margins = np.full(len(weights), -np.inf)  # a kernel that tells no rows apart is nobody's best
    np.divide(observed - thresholds, spread, out=margins, where=spread > 0)
    return Aggregate(
        alpha=alpha,
        u=u,
        levels=u * weights,
        statistics=observed,
        thresholds=thresholds,
        pvalues=(statistics >= (observed - slack)[:, None]).mean(axis=1),
        best=int(np.argmax(margins)),
    )
