"""The distance between two datasets, with its uncertainty: `distance` and `Estimate`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from nammd.data.arrays import Array, FloatArray
from nammd.data.omitting import NanPolicy, without_nan
from nammd.data.row_grouping import NO_GROUPING, RowGrouping
from nammd.engines import Engine
from nammd.engines.sums import KernelSums
from nammd.errors.checks import between, choice
from nammd.evidence import prepare
from nammd.evidence.evidence import Evidence
from nammd.evidence.gathering import gather_at
from nammd.kernels import Kernel
from nammd.kernels.operations import as_code, features_of
from nammd.questions.scales import scales_wanted
from nammd.results import (
    NAMES,
    Caution,
    ConfidenceInterval,
    Reportable,
    estimated,
    interval,
    number,
    scale_in_words,
    with_error,
)
from nammd.spaces import Space, SpaceLike
from nammd.statistics import margin
from nammd.statistics.moments import CrossPairs
from nammd.statistics.pair import Alternative, Pair, Statistic
from nammd.statistics.scales import SCALES, Scales
from nammd.statistics.spread import frequency_error


@dataclass(frozen=True)
class Estimate(Reportable):
    """An estimated distance between two datasets.

    Attributes
    ----------
    value : float
        The estimate. It is unbiased in its parts, so it may be slightly below zero.
    standard_error : float
        Its standard error.
    metric : {"nammd", "mmd2"}
        Which distance.
    m, n : int
        The numbers of rows.
    kernel : Kernel
        The kernel, with its bandwidth.
    engine : str
        Which engine computed it.
    cross : {"full", "off-diagonal"}
        Which cross pairs were used.
    cautions : tuple of Caution
        What to know before relying on it.
    evidence : Evidence
        What it was made from: sums over the rows of two samples, or two sketches.
    scales : tuple of Estimate
        The same distance at a half, a quarter, an eighth and a sixteenth of the bandwidth, where that was
        asked for.
    """

    value: float
    standard_error: float
    metric: Statistic
    m: int
    n: int
    kernel: Kernel
    engine: str
    cross: CrossPairs
    cautions: tuple[Caution, ...]
    pair: Pair = field(repr=False, compare=False)
    evidence: Evidence = field(repr=False, compare=False)
    scales: tuple[Estimate, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def at_scales(cls, evidence: Sequence[Evidence], metric: Statistic = "nammd") -> Estimate:
        """Read a distance off evidence at several scales, the main one first."""
        first, *finer = (cls.of(each, metric) for each in evidence)
        cautions = {caution.code: caution for caution in first.cautions}
        for scale, estimate in zip(SCALES[1:], finer, strict=False):
            for each in estimate.cautions:
                cautions.setdefault(each.code, Caution(each.code, f"at {scale_in_words(scale)}, {each}"))
        return replace(first, scales=tuple(finer), cautions=tuple(cautions.values()))

    @classmethod
    def of(cls, evidence: Evidence, metric: Statistic = "nammd") -> Estimate:
        """Read a distance off evidence."""
        pair = evidence.pair(metric)
        return cls(
            value=pair.value,
            standard_error=pair.standard_error,
            metric=metric,
            m=evidence.x.size,
            n=evidence.y.size,
            kernel=evidence.kernel,
            engine=evidence.computed_by,
            cross=pair.moments.cross,
            cautions=evidence.cautions,
            pair=pair,
            evidence=evidence,
        )

    @property
    def estimate(self) -> Estimate:
        """The distance itself."""
        return self

    @property
    def space(self) -> Space:
        """The space that it was measured in."""
        space: Space = self.evidence.x.space
        return space

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns compared, where the datasets were tables; else empty."""
        encoding = self.space.encoding
        return tuple(c.name for c in encoding.columns) if encoding.array_columns is None else ()

    @property
    def sums(self) -> KernelSums:
        """The sums it was made from."""
        return self.evidence.sums

    @property
    def data(self) -> tuple[Array, Array]:
        """The samples it was made from, as points (not copied)."""
        _ = self.evidence.sums  # there are no points where there are no rows
        return self.evidence.x.points, self.evidence.y.points

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Return a two-sided confidence interval for the distance.

        It inverts the two one-sided tests of `closeness_test`: the distances that are neither
        significantly too small nor significantly too large. It is therefore not symmetric about
        the estimate, and holds its level near zero, where adding and subtracting standard errors
        does not.

        Parameters
        ----------
        confidence_level : float
            The confidence level, strictly between 0 and 1.

        Returns
        -------
        ConfidenceInterval
            Its ends, `low` and `high`.

        Examples
        --------
        >>> import numpy as np
        >>> import nammd
        >>> rng = np.random.default_rng(0)
        >>> x, y = rng.normal(size=(300, 2)), rng.normal(loc=0.5, size=(300, 2))
        >>> low, high = nammd.distance(x, y).confidence_interval(0.95)
        >>> bool(0 < low < nammd.distance(x, y).value < high < 1)
        True
        """
        level = between(confidence_level, "confidence_level")
        if level not in self._intervals:
            self._intervals[level] = ConfidenceInterval(*margin.confidence_interval(self.pair, level))
        return self._intervals[level]

    def margin_test(self, eps: float, alternative: Alternative, blur: float = 0.0) -> margin.Margin:
        """Return the corrected test of a margin; see `nammd.statistics.margin.margin`."""
        asked = eps, alternative, blur
        if asked not in self._margins:
            self._margins[asked] = margin.margin(self.pair, eps, "corrected", alternative, blur)
        return self._margins[asked]

    @cached_property
    def _intervals(self) -> dict[float, ConfidenceInterval]:
        """The intervals that were asked for, by their levels; each tries some twenty margins."""
        return {}

    @cached_property
    def _margins(self) -> dict[tuple[float, Alternative, float], margin.Margin]:
        """The tests of margins that were asked for: what decides of a check is also told and kept of it."""
        return {}

    @property
    def witness_x(self) -> FloatArray:
        """For every row of x: how much more of x than of y surrounds it, as a mean kernel value."""
        return self.sums.xx_rows / (self.m - 1) - self.sums.xy_rows / self.n

    @property
    def witness_y(self) -> FloatArray:
        """For every row of y: how much more of y than of x surrounds it, as a mean kernel value."""
        return self.sums.yy_rows / (self.n - 1) - self.sums.xy_cols / self.m

    @property
    def influence_x(self) -> FloatArray:
        """How far each row of x moves the estimate; their squares sum to its variance, nearly."""
        return self.evidence.row_influences(0, self.pair.own_slope, self.pair.scale)

    @property
    def influence_y(self) -> FloatArray:
        """How far each row of y moves the estimate; their squares sum to its variance, nearly."""
        return self.evidence.row_influences(1, self.pair.own_slope, self.pair.scale)

    def unit_influences(self, side: int) -> FloatArray:
        """Return how far each group of x (0) or y (1) moves the estimate; each row where there are none."""
        return self.evidence.unit_influences(side, self.pair.own_slope, self.pair.scale)

    @property
    def second_order_rows(self) -> tuple[int, int]:
        """How many rows of each dataset the skewness correction is averaged over."""
        return self.evidence.units_used

    @cached_property
    def frequency_error(self) -> float | None:
        """How far the distance may be from that of the kernel whose features stand for it, a standard error.

        None where the kernel is not one of features, or where rows are few. It says nothing against a
        tolerance: there the features are the kernel.
        """
        means, features = self.evidence.mean_features, features_of(self.kernel)
        if means is None or features is None:
            return None
        one, two = (mean.reshape(2, -1).T for mean in means)  # cosines come first
        together = int(self.evidence.x.points.shape[1]) if features.orthogonal else 1
        return frequency_error(one, two, max(self.value, 0.0), self.pair.scale, together)

    def plot(self, ax: Any = None) -> Any:
        """Draw the distribution of the witness values of both datasets.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from nammd.report import witness_plot

        return witness_plot(self, ax=ax)

    def headline(self) -> str:
        """Return the estimate in one sentence."""
        return f"The {NAMES[self.metric]} distance between the two datasets is {estimated(self.value)}."

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        return [
            ("95 % interval", interval(self.confidence_interval(0.95))),
            ("standard error", number(self.standard_error)),
            *self._without_features(),
            *self._at_finer_scales(),
            *self.describe_data(),
        ]

    def _without_features(self) -> list[tuple[str, str]]:
        error, features = self.frequency_error, features_of(self.kernel)
        if error is None or features is None or math.isnan(error):
            return []
        return [
            ("without features", f"about {with_error(max(self.value, 0.0), error)} under {features.kernel}")
        ]

    def _at_finer_scales(self) -> list[tuple[str, str]]:
        scales = zip(SCALES[1:], self.scales, strict=False)
        return [
            (f"at {scale_in_words(scale)}", with_error(max(each.value, 0.0), each.standard_error))
            for scale, each in scales
        ]

    def describe_data(self) -> list[tuple[str, str]]:
        """Return the rows of a printed table that say what was computed from what."""
        pairs = "" if self.cross == "full" else ", off-diagonal cross pairs"
        one, two = self.rows_compared
        rows = [("rows", f"{one} and {two}{pairs}"), *self.describe_groups()]
        return [*rows, ("kernel", self.describe_kernel())]

    @property
    def rows_compared(self) -> tuple[str, str]:
        """How many rows of each dataset were compared, in words: all, or some of all."""
        one, two = (
            str(size) if sample.drawn_from is None else f"{size} of {sample.drawn_from}"
            for size, sample in ((self.m, self.evidence.x), (self.n, self.evidence.y))
        )
        return one, two

    def describe_groups(self) -> list[tuple[str, str]]:
        """Return the rows of a printed table that say which rows belong together; none where none do."""
        return self.evidence.described()

    def describe_kernel(self) -> str:
        """Say which kernel the distance is meant under, and by what it was approximated."""
        approximation = self.evidence.approximation
        return f"{self.kernel}, by {approximation}" if approximation else str(self.kernel)

    def question(self) -> str:
        """Return the question that the result answers."""
        return "How far apart are the two datasets?"

    def reproduction(self) -> str:
        """Return the Python code that gives the result again."""
        return self.reproduced_by("distance" if self.cross == "full" else "paper.distance")

    def reproduced_by(self, function: str, *first: str, last: tuple[str, ...] = ()) -> str:
        """Return the Python code of a function that gives a result of this distance again."""
        options = [*first, f"kernel={as_code(self.kernel) or 'kernel'}"]
        if self.metric != "nammd":
            options.append(f'metric="{self.metric}"')
        options += self.evidence.options_as_code()
        body = "".join(f"    {option},\n" for option in ["x", "y", *options, *last])
        return f'import nammd\n\nresult = nammd.{function}(\n{body})\nresult.report("report.html")'

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the 95 % interval, ready for JSON."""
        low, high = self.confidence_interval(0.95)
        found = super().to_dict() | {"confidence_interval": {"level": 0.95, "low": low, "high": high}}
        found["scales"] = [
            {"scale": scale, "value": each.value, "standard_error": each.standard_error}
            for scale, each in zip(SCALES[1:], self.scales, strict=False)
        ]
        found["frequency_error"] = self.frequency_error
        groups = self.evidence.summary()
        return found if groups is None else found | {"groups": groups}


def distance(
    x: Any,
    y: Any,
    *,
    kernel: Any = None,
    space: SpaceLike | None = None,
    metric: Statistic = "nammd",
    groups: Any = None,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
    scales: Scales = "median",
    exact: bool = False,
    engine: Engine | None = None,
) -> Estimate:
    """Estimate how far apart two datasets are, with a standard error and intervals.

    Parameters
    ----------
    x, y : dataset
        Two datasets of the same columns, one row per observation, at least four rows each. A dataset may be

        - a path: CSV, Parquet, Arrow, JSON lines, NPY and others; see `nammd.tables.read`;
        - a table of pandas, polars (also lazy) or Arrow, or a dict of columns, with numbers, categories,
          dates and missing values;
          anything that hands out Arrow batches, such as a DuckDB result;
        - an array of NumPy, or of any library that keeps the array API standard, such as torch, CuPy or JAX
          (computed where it is); one-dimensional data is one column;
        - a Dask array or data frame, or a Spark DataFrame, computed on its cluster;
        - a `Sketch`; then both are sketches, of the same features.

        Arrays are taken as they are. The columns of tables are matched by name and brought to one scale,
        by both datasets together; `Space` says how, and can leave columns out.
    kernel : Kernel, class or str, optional
        How similar two rows are. By default the Gaussian kernel with the median bandwidth of both datasets;
        a class such as ``nammd.Laplace``, or its name, ``"gaussian"``, ``"rbf"``, ``"laplace"`` or
        ``"laplacian"``, stands for the kernel with the median bandwidth. Distances are
        comparable only in the same space: fix one to compare several. For sketches: the kernel that their
        features approximate, which is the default, or those features themselves. In the first case the
        distance is meant under the exact kernel, and standard error and intervals include the error of the
        approximation; in the second, the features are the kernel, and there is none.
    space : Space or dict, optional
        Where to measure: a space, which has a kernel already; or options of `Space.fit` to fit one on both
        datasets, such as ``{"exclude": ["id"]}``.
    metric : {"nammd", "mmd2"}
        The norm-adaptive MMD, between 0 and 1, or the plain squared MMD.
    groups : str, Groups, TimeBlocks or pair of arrays, optional
        Which rows belong together: those of one user, patient or sensor, say. The name of a column, which is
        then left out of the comparison; an array of labels for each dataset; `Groups`, which also say what
        to do with rows that have no label; or `TimeBlocks` of time. Rows of
        one group are taken as one observation of several parts, and groups in both datasets as the same.
    sample_weight : str or pair of arrays, optional
        How much each row counts, such as sampling weights: a column, or an array for each dataset.
    nan_policy : {"raise", "omit"}
        What to do with NaN in an array: refuse it, or leave these rows out. In a table a missing value is a
        value: it is imputed and marked, so that a change in what is missing is a change, and nothing is left
        out.
    scales : {"median", "all"}
        With ``"all"`` the distance also at a half, a quarter, an eighth and a sixteenth of the bandwidth,
        where fine structure shows; see `Estimate.scales`. They cost about as much again as one.
    exact : bool
        Whether to compute the values of the kernel for all pairs of rows, however long that takes. By default
        the kernel of more than 89 442 rows in all is one of features, and time grows with the rows and not
        with their square; `Estimate.frequency_error` says how far the distance may be from that of the kernel
        that the features stand for.
    engine : Engine, optional
        Which engine computes; by default the one where the data is.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(1)
    >>> x, y = rng.normal(size=(500, 3)), rng.normal(loc=0.3, size=(600, 3))
    >>> estimate = nammd.distance(x, y)
    >>> print(f"{estimate.value:.3f} +- {estimate.standard_error:.3f}")
    0.013 +- 0.002
    """
    named, grouping, omitted = without_nan({"x": x, "y": y}, RowGrouping(groups, sample_weight), nan_policy)
    found = estimate_distance(
        named,
        metric=metric,
        grouping=grouping,
        scales=scales,
        kernel=kernel,
        space=space,
        exact=exact,
        engine=engine,
    )
    return replace(found, cautions=found.cautions + omitted)


def estimate_distance(
    named: Mapping[str, Any],
    *,
    metric: Statistic,
    cross: CrossPairs = "full",
    grouping: RowGrouping = NO_GROUPING,
    scales: Scales = "median",
    kernel: Any = None,
    space: SpaceLike | None = None,
    exact: bool = False,
    engine: Engine | None = None,
) -> Estimate:
    """Estimate the distance of two datasets, by the names that messages give them; see `distance`."""
    choice(metric, "metric", ("nammd", "mmd2"))
    choice(cross, "cross", ("full", "off-diagonal"))
    pair = prepare(named, space=space, kernel=kernel, engine=engine, grouping=grouping, exact=exact)
    wanted = scales_wanted(scales, *pair)
    found = gather_at(wanted, [(pair[0], pair[1])], cross=cross, engine=engine)
    return Estimate.at_scales([evidence for [evidence] in found], metric)
