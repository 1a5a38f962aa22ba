"""The permutation test of equal distributions: `two_sample_test`.

With s the vector of signs, +1 for rows of x and -1 for rows of y, and K the pooled Gram matrix less its
diagonal, three numbers give every mean that the statistics need::

    s'Ks = Sxx + Syy - 2 Sxy        s'K1 = Sxx - Syy        1'K1 = Sxx + Syy + 2 Sxy

So all permutations together cost one streamed product of K with the matrix of their signs.

There is no margin here: permuting simulates equal distributions, under which a margin means nothing.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, Protocol

import numpy as np

from nammd.data.arrays import Array, FloatArray, is_constant, namespace
from nammd.data.pieces import is_dask
from nammd.data.samples import as_samples, between, choice
from nammd.engines import Engine, check_kernel, choose_engine, engine_words
from nammd.engines.progress import comparing, passes
from nammd.engines.tiles.pool import form_work
from nammd.kernels import Gaussian, Kernel, as_kernel
from nammd.kernels.base import precision_of
from nammd.results.base import Result, number, p_value
from nammd.statistics.permutations import random_signs

_TITLES = {"nammd": "NAMMD", "mmd": "MMD²"}

# Methods by name, and where they are; the module is loaded when the method is asked for.
METHODS = {
    "nammd": ("nammd.questions.two_sample", "NAMMDPermutation"),
    "mmd": ("nammd.questions.two_sample", "MMDPermutation"),
    "nammd-fuse": ("nammd.methods.fuse", "NAMMDFuse"),
    "mmd-fuse": ("nammd.methods.fuse", "MMDFuse"),
    "mmd-agg": ("nammd.methods.agg", "MMDAgg"),
    "mmd-deep": ("nammd.methods.deep", "MMDDeep"),
    "me-mabid": ("nammd.methods.mabid", "MEMaBiD"),
    "actt": ("nammd.methods.actt", "ACTT"),
    "auto-tst": ("nammd.methods.auto_tst", "AutoTST"),
}

_ON_A_CLUSTER = ("nammd", "mmd", "nammd-fuse", "mmd-fuse")
"""The methods that see rows through an engine only."""

# Signs are held for this many (row, permutation) pairs at a time: 4 bytes each.
SIGNS_AT_ONCE = 1 << 23

# Statistics closer than this share of the null distribution's spread count as equal. Permutations
# that only exchange equal rows, or the two labels, give equal statistics up to rounding.
_TIE = {"float32": 2e-5, "float64": 1e-9}


@dataclass(frozen=True)
class TwoSampleResult(Result):
    """The outcome of a two-sample test.

    Attributes
    ----------
    statistic : float
        The statistic of the method: NAMMD, MMD² for ``method="mmd"``, or what else it computes.
    pvalue : float
        For permutation tests
        ``(1 + number of permutations at least as far apart) / (1 + number of permutations)``.
    threshold : float
        The largest statistic that is not rejected at level `alpha`.
    rejected : bool
        Whether equality of the distributions is rejected at level `alpha`.
    alpha : float
        The level of the test.
    method : str
        The name of the method.
    permutations : int
        The number of permutations; 0 where the method needs none.
    m, n : int
        The numbers of rows.
    kernel : Kernel or None
        The kernel, with its bandwidth; None where the method uses several, or none.
    engine : str
        Who computed it.
    null : array of shape (permutations,)
        The statistic of every permutation.
    details : dict
        What else the method has to say, by name.
    """

    statistic: float
    pvalue: float
    threshold: float
    rejected: bool
    alpha: float
    method: str
    permutations: int
    m: int
    n: int
    kernel: Kernel | None
    engine: str
    null: FloatArray = field(repr=False, compare=False)
    details: dict[str, Any] = field(default_factory=dict, compare=False)

    def headline(self) -> str:
        """Return the answer in one sentence."""
        p = p_value(self.pvalue)
        if self.rejected:
            return f"The two datasets come from different distributions ({p})."
        return f"No evidence that the two datasets come from different distributions ({p})."

    def facts(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        verdict = "rejected" if self.rejected else "not rejected"
        rows = [
            ("null hypothesis", f"P = Q: {verdict} at level {self.alpha:g}"),
            ("alternative", "P and Q differ"),
            (
                _TITLES.get(self.method, "statistic"),
                f"{number(self.statistic)}, threshold {number(self.threshold)}",
            ),
        ]
        if self.method not in _TITLES:
            rows.append(("method", self.method))
        if self.permutations:
            rows.append(("permutations", str(self.permutations)))
        rows.append(("rows", f"{self.m} and {self.n}"))
        return [*rows, ("kernel", str(self.kernel))] if self.kernel is not None else rows


class TwoSampleMethod(Protocol):
    """A way to test equality of distributions: an object with its own settings."""

    @property
    def name(self) -> str:
        """The name of the method."""

    def test(
        self, x: Array, y: Array, *, alpha: float, rng: np.random.Generator, engine: Engine
    ) -> TwoSampleResult:
        """Test two checked samples."""


def two_sample_test(
    x: Any,
    y: Any,
    *,
    method: str | TwoSampleMethod = "nammd",
    kernel: Any = None,
    permutations: int | None = None,
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
    method : str or object
        ``"nammd"`` or ``"mmd"``: that statistic with one kernel; for samples of equal size both give the
        same p-value. ``"nammd-fuse"`` or ``"mmd-fuse"``: many kernels at once. Published methods to
        compare with: ``"mmd-agg"``, ``"mmd-deep"``, ``"me-mabid"``, ``"actt"``, ``"auto-tst"``. An object
        is a method with settings of its own, such as ``nammd.methods.fuse.NAMMDFuse(bandwidths=5)``.
    kernel : Kernel, optional
        For ``"nammd"`` and ``"mmd"``: by default ``Gaussian.median(x, y)``. It must not be chosen by
        looking at which rows are x's and which are y's; the default is not.
    permutations : int, optional
        How many random relabellings to compare with; 999 for ``"nammd"`` and ``"mmd"``. The p-value is a
        multiple of 1 / (permutations + 1).
    alpha : float
        The level of the test.
    rng : int, numpy.random.Generator or None
        Generator for the permutations; give a number to get the same p-value again.
    engine : Engine, optional
        Who computes; by default the one that suits where the data is.

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
    chosen = _method(method, kernel, permutations)
    alpha = between(alpha, "alpha")
    x, y = as_samples(min_rows=2, x=x, y=y)
    if is_dask(x) and chosen.name in set(METHODS) - set(_ON_A_CLUSTER):
        raise TypeError(
            f"the method {chosen.name!r} needs the rows in memory, and these are spread over a Dask cluster; "
            f"use one of {', '.join(map(repr, _ON_A_CLUSTER))}, or a sample of the rows"
        )
    return chosen.test(x, y, alpha=alpha, rng=np.random.default_rng(rng), engine=choose_engine(engine, x, y))


def _method(method: Any, kernel: Any, permutations: Any) -> TwoSampleMethod:
    """Return the method object that was asked for, with the settings that were."""
    if isinstance(method, str):
        choice(method, "method", tuple(METHODS))
        module, name = METHODS[method]
        chosen = getattr(import_module(module), name)()
    elif hasattr(method, "test") and hasattr(method, "name") and not isinstance(method, type):
        chosen = method
    else:
        raise TypeError(
            f"method must be one of {', '.join(map(repr, METHODS))}, or a method object, not {method!r}"
        )
    settings: dict[str, Any] = {}
    if permutations is not None:
        settings["permutations"] = _count(permutations)
    if kernel is not None:
        settings["kernel"] = as_kernel(kernel)
    known = {f.name for f in dataclasses.fields(chosen)} if dataclasses.is_dataclass(chosen) else set()
    for name in settings:
        if name not in known:
            raise TypeError(f"the method {chosen.name!r} takes no {name}")
    made: TwoSampleMethod = dataclasses.replace(chosen, **settings) if settings else chosen
    return made


@dataclass(frozen=True)
class NAMMDPermutation:
    """The permutation test of NAMMD with one kernel.

    Parameters
    ----------
    kernel : Kernel, optional
        By default the Gaussian kernel with the median bandwidth of both samples together.
    permutations : int
        The number of permutations.
    """

    kernel: Kernel | None = None
    permutations: int = 999
    name: ClassVar[str] = "nammd"

    def test(
        self, x: Array, y: Array, *, alpha: float, rng: np.random.Generator, engine: Engine
    ) -> TwoSampleResult:
        """Test two checked samples."""
        kernel = Gaussian.median(x, y) if self.kernel is None else self.kernel
        check_kernel(kernel, x, y)
        m, n = int(x.shape[0]), int(y.shape[0])
        weights = [form_work(count) for count in signs_at_once(m, n, self.permutations)]
        with passes(*[1.0] * (m != n), *weights, what=comparing(m, n)):
            observed, null = _statistics(x, y, self.name, kernel, engine, self.permutations, rng)
        pvalue = (1 + int(np.count_nonzero(null >= observed - tie_of(x, y, null, engine)))) / (
            self.permutations + 1
        )
        return TwoSampleResult(
            statistic=observed,
            pvalue=pvalue,
            threshold=permutation_threshold(null, observed, alpha),
            rejected=pvalue <= alpha,
            alpha=alpha,
            method=self.name,
            permutations=self.permutations,
            m=m,
            n=n,
            kernel=kernel,
            engine=engine_words(engine, x, y, kernel=kernel),
            null=null,
        )


@dataclass(frozen=True)
class MMDPermutation(NAMMDPermutation):
    """The permutation test of the squared MMD with one kernel; see `NAMMDPermutation`."""

    name: ClassVar[str] = "mmd"


def _statistics(
    x: Array,
    y: Array,
    method: str,
    kernel: Kernel,
    engine: Engine,
    permutations: int,
    generator: np.random.Generator,
) -> tuple[float, FloatArray]:
    """Return the statistic of the labels as they are, and of every permutation of them."""
    m, n = int(x.shape[0]), int(y.shape[0])
    pooled = pooled_sample(x, y)
    total, rows, statistics = math.nan, None, []
    if m != n:  # else s'K1 = Sxx - Syy cancels from all that follows
        [within] = engine.sums(kernel, (pooled,))
        rows = within.rows
    for position, count in enumerate(signs_at_once(m, n, permutations)):
        signs = random_signs(m, n, count, generator)
        if position == 0:
            # The first column is the data as it is, computed alongside the others, and one more, of
            # ones, gives the total.
            signs[:m, 0], signs[m:, 0] = 1.0, -1.0
            signs = np.column_stack([signs, np.ones(m + n, np.float32)])
        forms = engine.quadratic_forms(kernel, pooled, signs)
        if position == 0:
            total, forms, signs = float(forms[-1]), forms[:-1], signs[:, :-1]
        differences = 0.0 if rows is None else rows @ signs
        both, cross = (forms + total) / 2, (total - forms) / 4
        xx = (both + differences) / 2 / (m * (m - 1))
        yy = (both - differences) / 2 / (n * (n - 1))
        mmd2 = xx + yy - 2 * cross / (m * n)
        # The denominator belongs to the labels too: it is made anew for every permutation.
        statistics.append(mmd2 / (4 * kernel.bound - xx - yy) if method == "nammd" else mmd2)
    every = np.concatenate(statistics)
    return float(every[0]), every[1:]


def signs_at_once(m: int, n: int, permutations: int) -> list[int]:
    """Return how many columns of signs to make at a time: the data's own, and those of the permutations."""
    at_once = max(1, SIGNS_AT_ONCE // (m + n))
    every = permutations + 1
    return [min(at_once, every - start) for start in range(0, every, at_once)]


def tie_of(x: Array, y: Array, null: FloatArray, engine: Engine) -> float:
    """Return how far apart two statistics may be and still count as equal."""
    if is_constant(x) and is_constant(y) and is_constant(pooled_sample(x[:1, :], y[:1, :])):
        return math.inf  # nothing to tell apart but rounding
    precision = getattr(engine, "dtype", None) or precision_of(x, y)
    return _TIE[precision] * float(np.std(null))


def pooled_sample(x: Array, y: Array) -> Array:
    """Return the rows of both samples, those of x first."""
    return np.concatenate([x, y]) if isinstance(x, np.ndarray) else namespace(x, y).concat([x, y])


def permutation_threshold(null: FloatArray, observed: float, alpha: float) -> float:
    """Return the (1 - alpha) quantile of the permutations and the data together."""
    every = np.sort(np.append(null, observed))
    rejected = math.floor(alpha * len(every) + 1e-9)  # so many of them may be at least as large
    return float(every[len(every) - 1 - rejected])


def _count(permutations: Any) -> int:
    if isinstance(permutations, bool) or not isinstance(permutations, (int, np.integer)):
        raise TypeError(f"permutations must be a whole number, not {permutations!r}")
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, not {permutations}")
    return int(permutations)
