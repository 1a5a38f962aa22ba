"""Tests of equal distributions: `two_sample_test`, by permutation or another method.

There is no margin here: permuting simulates equal distributions, under which a margin means nothing.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from nammd.data.arrays import Array, FloatArray, is_spread
from nammd.data.omitting import NanPolicy, without_nan
from nammd.data.opening import refuse_summaries
from nammd.data.pieces import is_mapped
from nammd.data.row_grouping import RowGrouping, with_grouping
from nammd.engines import Engine, choose_engine
from nammd.errors.advice import Caution
from nammd.errors.checks import between, choice, whole
from nammd.evidence.preparing import opened, prepared
from nammd.evidence.scales import one_column_dominates
from nammd.kernels import Gaussian, Kernel
from nammd.results import Tested, number, p_value
from nammd.spaces import SpaceLike
from nammd.spaces.space import settled
from nammd.statistics.permutations import permutation_threshold

_TITLES = {"nammd": "NAMMD", "mmd": "MMD²"}

# Methods by name, and where they are; the module is loaded when the method is asked for.
METHODS = {
    "nammd": ("nammd.methods.permutation", "NAMMDPermutation"),
    "mmd": ("nammd.methods.permutation", "MMDPermutation"),
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


_LEARN_SCALES = ("mmd-deep", "auto-tst")
"""The methods that weigh columns by themselves."""


@dataclass(frozen=True)
class TwoSampleResult(Tested):
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
        Which engine computed it.
    null : array of shape (permutations,)
        The statistic of every permutation.
    details : dict
        What else the method has to say, by name.
    groups : tuple of (str, str)
        Where rows belong together: how, as rows of the printed table.
    cautions : tuple of Caution
        What to know before relying on it.
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
    groups: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    cautions: tuple[Caution, ...] = field(default=(), compare=False)

    @classmethod
    def by_permutations(
        cls,
        method: Any,
        observed: float,
        null: FloatArray,
        pvalue: float,
        alpha: float,
        rows: tuple[int, int],
        engine: str,
        kernel: Kernel | None = None,
        **more: Any,
    ) -> TwoSampleResult:
        """Return what a method found that compares a statistic with those of permutations."""
        return cls(
            statistic=observed,
            pvalue=pvalue,
            threshold=permutation_threshold(null, observed, alpha),
            rejected=pvalue <= alpha,
            alpha=alpha,
            method=method.name,
            permutations=method.permutations,
            m=rows[0],
            n=rows[1],
            kernel=kernel,
            engine=engine,
            null=null,
            **more,
        )

    def headline(self) -> str:
        """Return the answer in one sentence."""
        p = p_value(self.pvalue)
        if self.rejected:
            return f"The two datasets come from different distributions ({p})."
        return f"No evidence that the two datasets come from different distributions ({p})."

    def lines(self) -> list[tuple[str, str]]:
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
        rows += [("rows", f"{self.m} and {self.n}"), *self.groups]
        return [*rows, ("kernel", str(self.kernel))] if self.kernel is not None else rows


class TwoSampleMethod(Protocol):
    """A way to test equality of distributions: an object with its own settings.

    One that takes a kernel is a dataclass with a field `kernel`.
    """

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
    space: SpaceLike | None = None,
    permutations: int | None = None,
    alpha: float = 0.05,
    rng: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
    engine: Engine | None = None,
) -> TwoSampleResult:
    """Test whether two datasets come from the same distribution, by permutation.

    The test is exact: whatever the sizes, it rejects equal distributions with probability at most
    alpha. With enough rows it will reject any difference, however small; to ask whether a difference
    *matters*, use `closeness_test`.

    Parameters
    ----------
    x, y : dataset
        The datasets; see `distance`. At least two rows each. Sketches keep no rows to permute, so they are
        refused.
    method : str or object
        ``"nammd"`` or ``"mmd"``: that statistic with one kernel; for samples of equal size both give the
        same p-value. ``"nammd-fuse"`` or ``"mmd-fuse"``: many kernels at once. Published methods to
        compare with: ``"mmd-agg"``, ``"mmd-deep"``, ``"me-mabid"``, ``"actt"``, ``"auto-tst"``. An object
        is a method with settings of its own, such as ``nammd.methods.fuse.NAMMDFuse(bandwidths=5)``.
    kernel : Kernel, class or str, optional
        For ``"nammd"`` and ``"mmd"``: by default the Gaussian with the median bandwidth of both datasets
        together. It must not be chosen by looking at which rows are x's and which are y's; the default is
        not.
    space : Space or dict, optional
        Where to measure, instead of a space fitted on both datasets together. Other methods take their
        points from it and choose kernels of their own.
    permutations : int, optional
        How many random relabellings to compare with; 999 for ``"nammd"`` and ``"mmd"``. The p-value is a
        multiple of 1 / (permutations + 1).
    alpha : float
        The level of the test.
    rng : int, numpy.random.Generator or None
        Generator for the permutations; give a number to get the same p-value again.
    groups, sample_weight : optional
        Which rows belong together, and how much each counts; see `distance`. Whole groups are
        relabelled then, and only ``"nammd"`` and ``"mmd"`` can do that.
    nan_policy : {"raise", "omit"}
        What to do with NaN in an array; see `distance`.
    engine : Engine, optional
        Which engine computes; by default the one where the data is.

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
    >>> statistic, pvalue = nammd.two_sample_test(x, y, rng=1)
    >>> pvalue
    0.001
    >>> nammd.two_sample_test(x, x + 1e-9, rng=1).pvalue
    1.0
    """
    fixed, options = settled(space, kernel)
    chosen, alpha = _method(method, options.get("kernel"), permutations), between(alpha, "alpha")
    named, grouping, omitted = without_nan({"x": x, "y": y}, RowGrouping(groups, sample_weight), nan_policy)
    datasets = opened(named, space=fixed or options, engine=engine, least=2)
    refuse_summaries(*datasets)
    one_kernel = "kernel" in _settings_of(chosen)
    if options.get("kernel") is None:
        # A method with kernels of its own uses nothing but the points of a space.
        options["kernel"] = getattr(chosen, "kernel", None) if one_kernel else Gaussian(1.0)
    datasets = with_grouping(datasets, grouping)
    samples = prepared(datasets, space=fixed or options, engine=engine, least=2)
    points = [sample.points for sample in samples]
    for each in filter(is_mapped, points):
        np.asarray(each)  # says that all pairs of rows are needed, and what to do
    if is_spread(points[0]) and chosen.name in set(METHODS) - set(_ON_A_CLUSTER):
        raise TypeError(
            f"the method {chosen.name!r} needs the rows in memory, and these are spread over a Dask cluster; "
            f"use one of {', '.join(map(repr, _ON_A_CLUSTER))}, or a sample of the rows"
        )
    if one_kernel and getattr(chosen, "kernel", None) is None:
        chosen = dataclasses.replace(chosen, kernel=samples[0].space.kernel)  # type: ignore[type-var]
    engine = choose_engine(engine, *points)
    if any(sample.units is not None for sample in samples):
        if not hasattr(chosen, "test_groups"):
            raise TypeError(
                f"the method {chosen.name!r} relabels single rows, and these belong together; use 'nammd' or "
                "'mmd'"
            )
        found: TwoSampleResult = chosen.test_groups(
            *samples, alpha=alpha, rng=np.random.default_rng(rng), engine=engine
        )
    else:
        found = chosen.test(*points, alpha=alpha, rng=np.random.default_rng(rng), engine=engine)
    found = dataclasses.replace(found, cautions=found.cautions + omitted)
    if chosen.name in _LEARN_SCALES:
        return found
    kernel = getattr(chosen, "kernel", None) or Gaussian(1.0)
    scaled = [dataclasses.replace(s, space=dataclasses.replace(s.space, kernel=kernel)) for s in samples]
    return dataclasses.replace(found, cautions=(*found.cautions, *one_column_dominates(*scaled)))


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
    known = _settings_of(chosen)
    for name, value in (("permutations", permutations), ("kernel", kernel)):
        if value is not None and name not in known:
            raise TypeError(f"the method {chosen.name!r} takes no {name}")
    if permutations is not None:
        chosen = dataclasses.replace(chosen, permutations=whole(permutations, "permutations"))
    made: TwoSampleMethod = chosen
    return made


def _settings_of(method: Any) -> set[str]:
    return {f.name for f in dataclasses.fields(method)} if dataclasses.is_dataclass(method) else set()
