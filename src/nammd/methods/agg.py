"""MMDAgg: many kernels, each with its own quantile, at a common level that is itself resampled.

A test of level ``u * w_k`` for every kernel k, and u as large as the level of all of them together
allows. Two independent sets of resampled statistics are needed: one for the quantiles, one to estimate
how often at least one kernel exceeds its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, to_numpy
from nammd.engines import Engine
from nammd.questions.two_sample import TwoSampleResult
from nammd.statistics.permutations import random_signs

Signs = NDArray[np.int8]

# Distances between this many rows of each sample set the bandwidths.
_BANDWIDTH_ROWS = 500

# Rows of a tile of a Gram matrix.
_TILE = 512

# Statistics closer than this share of their spread count as equal: signs that only exchange equal
# rows, or all rows of x with all of y, give equal statistics up to rounding.
_TIE = 1e-9

# A difference of means of a kernel is rounding below this share of them.
_ROUNDING = 1e-14


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
        require_counts(self, bandwidths=2, permutations=1, level_permutations=1, bisections=1)

    def test(
        self, x: Array, y: Array, *, alpha: float, rng: np.random.Generator, engine: Engine
    ) -> TwoSampleResult:
        """Test two checked samples; it computes with NumPy whatever the engine."""
        x, y = (rng.permutation(to_numpy(sample)) for sample in (x, y))
        m, n = len(x), len(y)
        collection = bandwidth_collection(x, y, self.bandwidths)
        count = 1 + self.permutations + self.level_permutations
        if m == n:
            signs = rng.integers(0, 2, (n, count), dtype=np.int8) * np.int8(2) - np.int8(1)
            signs[:, 0] = 1  # the data as it is
            every = wild_bootstrap_statistics(x, y, collection, signs)
        else:
            signs = random_signs(m, n, count, rng).astype(np.int8)
            signs[:m, 0], signs[m:, 0] = 1, -1
            every = permutation_statistics(x, y, collection, signs)
        split = 1 + self.permutations
        aggregate = aggregate_tests(
            every[:, :split], every[:, split:], _weights(collection), alpha, self.bisections
        )
        return aggregate.result(
            every[aggregate.best, 1:split],
            method=self.name,
            m=m,
            n=n,
            resampling="wild bootstrap" if m == n else "permutations",
            kernels=tuple(kind for kind, widths in collection.items() for _ in widths),
            bandwidths=tuple(float(b) for widths in collection.values() for b in widths),
        )


# A kind of kernel is the distance it takes and the kernel as a function of distance and bandwidth.
_KINDS: dict[str, tuple[str, Callable[[FloatArray, float], FloatArray]]] = {
    "laplace": ("cityblock", lambda distance, bandwidth: np.exp(distance * (-1 / bandwidth))),
    "gaussian": ("sqeuclidean", lambda squared, bandwidth: np.exp(squared * (-1 / bandwidth**2))),
}


def bandwidth_collection(x: FloatArray, y: FloatArray, count: int) -> dict[str, FloatArray]:
    """Return `count` bandwidths in geometric progression for each kind of kernel."""
    from scipy.spatial.distance import cdist

    norms = {"laplace": "cityblock", "gaussian": "euclidean"}
    collection = {}
    for kind, norm in norms.items():
        distances = np.sort(cdist(x[:_BANDWIDTH_ROWS], y[:_BANDWIDTH_ROWS], norm), axis=None)
        low, high = float(distances[0]), float(distances[-1])
        if low < 0.1:  # rows that nearly coincide say nothing about the scale
            low = max(float(distances[math.floor(0.05 * len(distances))]), 0.1)
        collection[kind] = np.geomspace(low / 2, 2 * max(high, 0.3), count)
    return collection


def wild_bootstrap_statistics(
    x: FloatArray, y: FloatArray, collection: dict[str, FloatArray], signs: Signs
) -> FloatArray:
    """Return MMD² without the pairs (x_i, y_i), for every kernel and column r of signs.

    That is the mean over i != j of ``r_i r_j [k(x_i, x_j) + k(y_i, y_j) - k(x_i, y_j) - k(y_i, x_j)]``.
    """
    n = len(x)
    terms = [(x, x, 1), (y, y, 1), (x, y, -1), (y, x, -1)]
    return np.concatenate(
        [quadratic_forms(terms, kind, widths, signs)[0] for kind, widths in collection.items()]
    ) / (n * (n - 1))


def permutation_statistics(
    x: FloatArray, y: FloatArray, collection: dict[str, FloatArray], signs: Signs
) -> FloatArray:
    """Return the unbiased MMD² for every kernel and column of signs, +1 for rows that count as x's."""
    m, n, pooled = len(x), len(y), np.concatenate([x, y])
    parts = []
    for kind, widths in collection.items():
        forms, rows = quadratic_forms([(pooled, pooled, 1)], kind, widths, signs)
        # s'Ks = Sxx + Syy - 2 Sxy, s'K1 = Sxx - Syy and 1'K1 = Sxx + Syy + 2 Sxy; see two_sample.py.
        total, differences = rows.sum(axis=1, keepdims=True), rows @ signs
        both, cross = (forms + total) / 2, (total - forms) / 4
        xx, yy = (both + differences) / 2 / (m * (m - 1)), (both - differences) / 2 / (n * (n - 1))
        mmd2 = xx + yy - 2 * cross / (m * n)
        mean = total / ((m + n) * (m + n - 1))
        parts.append(np.where(np.abs(mmd2) < _ROUNDING * mean, 0.0, mmd2))
    return np.concatenate(parts)


def quadratic_forms(
    terms: list[tuple[FloatArray, FloatArray, int]], kind: str, bandwidths: FloatArray, signs: Signs
) -> tuple[FloatArray, FloatArray]:
    """Return ``v'Hv`` by bandwidth and column v of signs, and the row sums of H by bandwidth.

    ``H_ij`` is the sum over the terms (u, v, sign) of ``sign * k(u_i, v_j)``, with a diagonal of zeros; it
    must be symmetric. The distances of a tile are computed once for all bandwidths, and no more of H
    than a tile is ever there.
    """
    from scipy.spatial.distance import cdist

    metric, kernel = _KINDS[kind]
    size = len(signs)
    forms = np.zeros((len(bandwidths), signs.shape[1]))
    row_sums = np.zeros((len(bandwidths), size))
    for rows, columns in _upper_tiles(size):
        distances = [cdist(u[rows], v[columns], metric) for u, v, _ in terms]
        left, right = (signs[part].astype(np.float64) for part in (rows, columns))
        for k, bandwidth in enumerate(bandwidths):
            tile = np.zeros(distances[0].shape)
            for distance, (_, _, sign) in zip(distances, terms, strict=True):
                tile += sign * kernel(distance, float(bandwidth))
            if rows == columns:
                np.fill_diagonal(tile, 0.0)
            else:  # the mirror image below the diagonal
                row_sums[k, columns] += tile.sum(axis=0)
            row_sums[k, rows] += tile.sum(axis=1)
            times = 1 if rows == columns else 2
            forms[k] += times * np.einsum("ib,ib->b", left, tile @ right)
    return forms, row_sums


def _upper_tiles(size: int) -> Iterator[tuple[slice, slice]]:
    """Yield the tiles of a square matrix that are on or above its diagonal."""
    slices = [slice(start, min(start + _TILE, size)) for start in range(0, size, _TILE)]
    for i, rows in enumerate(slices):
        yield from ((rows, columns) for columns in slices[i:])


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

    def result(self, null: FloatArray, *, method: str, m: int, n: int, **details: Any) -> TwoSampleResult:
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
            engine="NumPy",
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
    tie: float = _TIE,
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


def require_counts(method: Any, **least: int) -> None:
    """Refuse a method whose settings are not whole numbers of at least the given sizes."""
    for name, smallest in least.items():
        value = getattr(method, name)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{name} must be a whole number, not {value!r}")
        if value < smallest:
            raise ValueError(f"{name} must be at least {smallest}, not {value}")


def _weights(collection: dict[str, FloatArray]) -> FloatArray:
    count = sum(len(widths) for widths in collection.values())
    return np.full(count, 1 / count)
