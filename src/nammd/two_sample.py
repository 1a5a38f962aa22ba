"""The permutation test of equal distributions: `two_sample_test`.

With s the vector of signs, +1 for rows of x and -1 for rows of y, and K the pooled Gram matrix less its
diagonal, three numbers give every mean that the statistics need::

    s'Ks = Sxx + Syy - 2 Sxy        s'K1 = Sxx - Syy        1'K1 = Sxx + Syy + 2 Sxy

So all permutations together cost one streamed product of K with the matrix of their signs.

There is no margin here: permuting simulates equal distributions, under which a margin means nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from nammd._arrays import Array, FloatArray, is_constant, namespace
from nammd.engines import Engine, check_kernel, choose_engine
from nammd.inputs import as_samples, between, choice
from nammd.kernels import Gaussian, Kernel, as_kernel
from nammd.permutations import random_signs
from nammd.results import Result, number, p_value

Method = Literal["nammd", "mmd"]

_NAMES = {"nammd": "NAMMD", "mmd": "MMD²"}

# Signs are held for this many (row, permutation) pairs at a time: 4 bytes each.
_SIGNS_AT_ONCE = 1 << 23

# Statistics closer than this share of the null distribution's spread count as equal. Permutations
# that only exchange equal rows, or the two labels, give equal statistics up to rounding.
_TIE = {"float32": 2e-5, "float64": 1e-9}


@dataclass(frozen=True)
class TwoSampleResult(Result):
    """The outcome of a two-sample test.

    Attributes
    ----------
    statistic : float
        The estimated distance: NAMMD, or MMD² for ``method="mmd"``.
    pvalue : float
        ``(1 + number of permutations at least as far apart) / (1 + number of permutations)``.
    threshold : float
        The largest statistic that is not rejected at level `alpha`, from the same permutations.
    rejected : bool
        Whether equality of the distributions is rejected at level `alpha`.
    alpha : float
        The level of the test.
    method : {"nammd", "mmd"}
        The statistic used.
    permutations : int
        The number of permutations.
    m, n : int
        The numbers of rows.
    kernel : Kernel
        The kernel, with its bandwidth.
    engine : str
        Who computed it.
    null : array of shape (permutations,)
        The statistic of every permutation.
    """

    statistic: float
    pvalue: float
    threshold: float
    rejected: bool
    alpha: float
    method: Method
    permutations: int
    m: int
    n: int
    kernel: Kernel
    engine: str
    null: FloatArray = field(repr=False, compare=False)

    def headline(self) -> str:
        """Return the answer in one sentence."""
        p = p_value(self.pvalue)
        if self.rejected:
            return f"The two datasets come from different distributions ({p})."
        return f"No evidence that the two datasets come from different distributions ({p})."

    def facts(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        verdict = "rejected" if self.rejected else "not rejected"
        return [
            ("null hypothesis", f"P = Q: {verdict} at level {self.alpha:g}"),
            ("alternative", "P and Q differ"),
            (
                _NAMES[self.method],
                f"{number(self.statistic)}, threshold {number(self.threshold)}",
            ),
            ("permutations", str(self.permutations)),
            ("rows", f"{self.m} and {self.n}"),
            ("kernel", str(self.kernel)),
        ]


def two_sample_test(
    x: Any,
    y: Any,
    *,
    method: Method = "nammd",
    kernel: Any = None,
    permutations: int = 999,
    alpha: float = 0.05,
    rng: Any = None,
    engine: Engine | None = None,
) -> TwoSampleResult:
    """Test whether two datasets come from the same distribution, by permutation.

    The test is exact: whatever the sizes, it rejects equal distributions with probability at most
    alpha. With enough rows it will reject any difference, however small; to ask whether a difference
    *matters*, use `closeness_test`.

    Parameters
    ----------
    x, y : array or table
        The datasets; see `distance`. At least two rows each.
    method : {"nammd", "mmd"}
        The statistic. For samples of equal size and one kernel both give the same p-value.
    kernel : Kernel, optional
        By default ``Gaussian.median(x, y)``. It must not be chosen by looking at which rows are x's
        and which are y's; the default is not.
    permutations : int
        How many random relabellings to compare with. The p-value is a multiple of
        1 / (permutations + 1).
    alpha : float
        The level of the test.
    rng : int, numpy.random.Generator or None
        Generator for the permutations; give a number to get the same p-value again.
    engine : Engine, optional
        Who computes; by default `Tiles`.

    Returns
    -------
    TwoSampleResult

    See Also
    --------
    closeness_test : tests whether the datasets are farther apart than a margin, or closer.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(200, 3)), rng.normal(scale=1.3, size=(250, 3))
    >>> nammd.two_sample_test(x, y, rng=1).pvalue
    0.001
    >>> nammd.two_sample_test(x, x + 1e-9, rng=1).pvalue
    1.0
    """
    choice(method, "method", ("nammd", "mmd"))
    permutations = _count(permutations)
    alpha = between(alpha, "alpha")
    x, y = as_samples(min_rows=2, x=x, y=y)
    kernel = Gaussian.median(x, y) if kernel is None else as_kernel(kernel)
    check_kernel(kernel, x, y)
    engine = choose_engine(engine, x, y)
    observed, null = _statistics(x, y, method, kernel, engine, permutations, rng)
    tie = _TIE[_precision(x)] * float(np.std(null))
    if is_constant(x) and is_constant(y) and is_constant(_pooled(x[:1, :], y[:1, :])):
        tie = math.inf  # nothing to tell apart but rounding
    pvalue = (1 + int(np.count_nonzero(null >= observed - tie))) / (permutations + 1)
    return TwoSampleResult(
        statistic=observed,
        pvalue=pvalue,
        threshold=_threshold(null, observed, alpha),
        rejected=pvalue <= alpha,
        alpha=alpha,
        method=method,
        permutations=permutations,
        m=int(x.shape[0]),
        n=int(y.shape[0]),
        kernel=kernel,
        engine=repr(engine),
        null=null,
    )


def _statistics(
    x: Array, y: Array, method: Method, kernel: Kernel, engine: Engine, permutations: int, rng: Any
) -> tuple[float, FloatArray]:
    """Return the statistic of the labels as they are, and of every permutation of them."""
    m, n = int(x.shape[0]), int(y.shape[0])
    pooled = _pooled(x, y)
    [within] = engine.sums(kernel, (pooled,))
    rows = within.rows
    generator = np.random.default_rng(rng)
    total, at_once = float(rows.sum()), max(1, _SIGNS_AT_ONCE // (m + n))
    statistics = []
    for start in range(0, permutations + 1, at_once):
        signs = random_signs(m, n, min(at_once, permutations + 1 - start), generator)
        if start == 0:  # the first column is the data as it is, computed alongside the others
            signs[:m, 0], signs[m:, 0] = 1.0, -1.0
        forms = engine.quadratic_forms(kernel, pooled, signs)
        differences = rows @ signs
        both, cross = (forms + total) / 2, (total - forms) / 4
        xx = (both + differences) / 2 / (m * (m - 1))
        yy = (both - differences) / 2 / (n * (n - 1))
        mmd2 = xx + yy - 2 * cross / (m * n)
        # The denominator belongs to the labels too: it is made anew for every permutation.
        statistics.append(mmd2 / (4 * kernel.bound - xx - yy) if method == "nammd" else mmd2)
    every = np.concatenate(statistics)
    return float(every[0]), every[1:]


def _pooled(x: Array, y: Array) -> Array:
    return np.concatenate([x, y]) if isinstance(x, np.ndarray) else namespace(x, y).concat([x, y])


def _threshold(null: FloatArray, observed: float, alpha: float) -> float:
    """Return the (1 - alpha) quantile of the permutations and the data together."""
    every = np.sort(np.append(null, observed))
    return float(every[math.ceil((1 - alpha) * len(every)) - 1])


def _precision(x: Array) -> str:
    return "float32" if x.dtype == namespace(x).float32 else "float64"


def _count(permutations: Any) -> int:
    if isinstance(permutations, bool) or not isinstance(permutations, (int, np.integer)):
        raise TypeError(f"permutations must be a whole number, not {permutations!r}")
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, not {permutations}")
    return int(permutations)
