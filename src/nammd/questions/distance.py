"""The distance between two samples, or two sketches, with its uncertainty: `distance` and `Estimate`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nammd.data.arrays import Array, FloatArray, is_constant
from nammd.data.samples import as_samples, between, choice, column_names
from nammd.engines import Engine, check_kernel, choose_engine, engine_words, pair_sums
from nammd.engines.sums import KernelSums
from nammd.kernels import Gaussian, Kernel, as_kernel
from nammd.results.base import Caution, Reportable, interval, number
from nammd.results.cautions import few_frequencies, few_rows, few_sketched_rows
from nammd.sketches import Sketch
from nammd.sketches.sketch import counted, means_exact_kernel, require_alike
from nammd.sketches.statistics import SketchPair, snapshot
from nammd.statistics import margin
from nammd.statistics.margin import Pair, Statistic
from nammd.statistics.moments import Cross, Moments, centred_row_means
from nammd.statistics.skewness import Skewness

MIN_ROWS = 4
"""The unbiased variance components are averages over four distinct rows."""

NAMES: dict[str, str] = {"nammd": "NAMMD", "mmd2": "MMD²"}


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that an estimate was made from, and their sums."""

    sums: KernelSums
    data: tuple[Array, Array]


@dataclass(frozen=True)
class Estimate(Reportable):
    """An estimated distance between two datasets.

    Attributes
    ----------
    value : float
        The estimate. It is unbiased in its parts, so it may be slightly below zero.
    standard_error : float
        Its standard error.
    statistic : {"nammd", "mmd2"}
        Which distance.
    m, n : int
        The numbers of rows.
    kernel : Kernel
        The kernel, with its bandwidth.
    engine : str
        Who computed it.
    cross : {"full", "off-diagonal"}
        Which cross pairs were used.
    warnings : tuple of Caution
        What to know before relying on it.
    made_from : Rows or SketchPair
        The samples and their sums, or the sketches.
    columns : tuple of str
        The names of their columns, where they were tables; else empty.
    """

    value: float
    standard_error: float
    statistic: Statistic
    m: int
    n: int
    kernel: Kernel
    engine: str
    cross: Cross
    warnings: tuple[Caution, ...]
    pair: Pair = field(repr=False, compare=False)
    made_from: Rows | SketchPair = field(repr=False, compare=False)
    columns: tuple[str, ...] = field(default=(), repr=False)

    @property
    def sums(self) -> KernelSums:
        """The sums it was made from."""
        return self._rows().sums

    @property
    def data(self) -> tuple[Array, Array]:
        """The samples it was made from, as numbers (not copied)."""
        return self._rows().data

    def _rows(self) -> Rows:
        if isinstance(self.made_from, Rows):
            return self.made_from
        raise ValueError(
            "this distance was made from sketches, which keep no rows: there are no values for single rows, "
            "no data and no report; compare the data themselves for those"
        )

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return a two-sided confidence interval for the distance.

        It inverts the two one-sided tests of `closeness_test`: the distances that are neither
        significantly too small nor significantly too large. It is therefore not symmetric about
        the estimate, and holds its level near zero, where adding and subtracting standard errors
        does not.

        Parameters
        ----------
        level : float
            The confidence level, strictly between 0 and 1.

        Returns
        -------
        tuple of float
            The lower and the upper end.

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
        return margin.confidence_interval(self.pair, between(level, "level"))

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
        return self._influence(0, self.m)

    @property
    def influence_y(self) -> FloatArray:
        """How far each row of y moves the estimate; their squares sum to its variance, nearly."""
        return self._influence(1, self.n)

    def _influence(self, side: int, size: int) -> FloatArray:
        p, q = centred_row_means(self.sums)[side]
        influence: FloatArray = 2 * (self.pair.slope(self.value) * p - q) / (size * self.pair.scale)
        return influence

    @property
    def second_order_rows(self) -> tuple[int, int]:
        """How many rows of each dataset the skewness correction is averaged over."""
        return self.pair.skewness.rows_used

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
        return f"The {NAMES[self.statistic]} distance between the two datasets is {number(self.value)}."

    def facts(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        return [
            ("95 % interval", interval(self.confidence_interval(0.95))),
            ("standard error", number(self.standard_error)),
            *describe_data(self),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the 95 % interval, ready for JSON."""
        low, high = self.confidence_interval(0.95)
        return super().to_dict() | {"confidence_interval": {"level": 0.95, "low": low, "high": high}}


def describe_data(estimate: Estimate) -> list[tuple[str, str]]:
    """Return the rows of a printed table that say what was computed from what."""
    pairs = "" if estimate.cross == "full" else ", off-diagonal cross pairs"
    return [
        ("rows", f"{estimate.m} and {estimate.n}{pairs}"),
        ("kernel", describe_kernel(estimate)),
    ]


def describe_kernel(estimate: Estimate) -> str:
    """Say which kernel a distance is meant under, and by what it was approximated."""
    if isinstance(estimate.made_from, Rows) or estimate.pair.spread is None:
        return str(estimate.kernel)
    features = estimate.made_from.x.features
    return f"{estimate.kernel}, by {features.n_features} random features (their error is included)"


def distance(
    x: Any,
    y: Any,
    *,
    kernel: Any = None,
    statistic: Statistic = "nammd",
    cross: Cross = "full",
    engine: Engine | None = None,
) -> Estimate:
    """Estimate how far apart two datasets are, with a standard error and intervals.

    Parameters
    ----------
    x, y : array, table or Sketch
        The datasets: one row per observation, the same columns, at least four rows each; or two
        sketches of the same features. NumPy arrays, arrays of any library that keeps the array API
        standard (computed where they are), and pandas, polars or Arrow tables of numeric columns.
        One-dimensional data is one column.
    kernel : Kernel, optional
        What "similar" means. By default ``Gaussian.median(x, y)``. Distances are comparable only
        under the same kernel: fix one to compare several. For sketches: the kernel that their features
        approximate, which is the default, or those features themselves. In the first case the distance
        is meant under the exact kernel, and standard error and intervals include the error of the
        approximation; in the second, the features are the kernel, and there is none.
    statistic : {"nammd", "mmd2"}
        The norm-adaptive MMD, between 0 and 1, or the plain squared MMD.
    cross : {"full", "off-diagonal"}
        Which pairs of a row of x and a row of y to average over. ``"off-diagonal"`` leaves out the
        pairs of the same row number: it is the paper's form, and the one to use when row i of y is
        derived from row i of x (a perturbed copy, say). The standard error still treats the two
        datasets as independent, which errs on the safe side for positively related rows.
    engine : Engine, optional
        Who computes; by default the one that suits where the data is.

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
    if isinstance(x, Sketch) or isinstance(y, Sketch):
        return estimate_of_sketches(x, y, kernel, statistic, cross, engine)
    one, other = as_samples(min_rows=MIN_ROWS, x=x, y=y)
    return estimate_of(one, other, kernel, statistic, cross, engine, column_names(x, y))


def estimate_of(
    x: Array,
    y: Array,
    kernel: Any,
    statistic: Statistic,
    cross: Cross,
    engine: Engine | None,
    columns: tuple[str, ...] = (),
) -> Estimate:
    """Estimate the distance of two checked samples; the options are checked here."""
    check_options(x, y, statistic, cross)
    kernel = Gaussian.median(x, y) if kernel is None else as_kernel(kernel)
    check_kernel(kernel, x, y)
    engine = choose_engine(engine, x, y)
    sums = pair_sums(x, y, kernel, engine)
    return estimate_from_sums(x, y, sums, kernel, statistic, cross, engine, columns)


def estimate_from_sums(
    x: Array,
    y: Array,
    sums: KernelSums,
    kernel: Kernel,
    statistic: Statistic,
    cross: Cross,
    engine: Engine,
    columns: tuple[str, ...] = (),
) -> Estimate:
    """Build an estimate from sums that are known already."""
    pair = Pair(
        Moments.of(sums, cross), Skewness.of(x, y, kernel, sums), statistic, is_constant(x) and is_constant(y)
    )
    return Estimate(
        value=pair.value,
        standard_error=pair.standard_error,
        statistic=statistic,
        m=sums.m,
        n=sums.n,
        kernel=kernel,
        engine=engine_words(engine, x, y, kernel=kernel),
        cross=cross,
        warnings=few_rows(sums.m, sums.n),
        pair=pair,
        made_from=Rows(sums, (x, y)),
        columns=columns,
    )


def estimate_of_sketches(
    x: Any,
    y: Any,
    kernel: Any,
    statistic: Statistic,
    cross: Cross,
    engine: Engine | None = None,
    names: tuple[str, str] = ("x", "y"),
) -> Estimate:
    """Estimate the distance of two sketches; everything is checked here."""
    for sketch, name in zip((x, y), names, strict=True):
        if not isinstance(sketch, Sketch):
            raise TypeError(
                f"{name} is not a sketch, but the other dataset is one; sketch it with the same features: "
                f"Sketch.of({name}, sketch.features)"
            )
        if sketch.n < MIN_ROWS:
            raise ValueError(f"{name} has {counted(sketch.n, 'row')}; at least {MIN_ROWS} are needed")
    require_alike(x, y)
    choice(statistic, "statistic", ("nammd", "mmd2"))
    if choice(cross, "cross", ("full", "off-diagonal")) != "full":
        raise ValueError("cross='off-diagonal' pairs rows, and sketches keep none; use cross='full'")
    refuse_engine(engine)
    exact = means_exact_kernel(kernel, x.features)
    made_from = SketchPair(snapshot(x), snapshot(y))
    pair = Pair(
        made_from.moments(),
        made_from.skewness(),
        statistic,
        made_from.constant,
        made_from.spread() if exact else None,
    )
    return Estimate(
        value=pair.value,
        standard_error=pair.standard_error,
        statistic=statistic,
        m=x.n,
        n=y.n,
        kernel=x.features.kernel if exact else x.features,
        engine=f"sketches of {x.features!r}",
        cross=cross,
        warnings=(few_rows(x.n, y.n) or few_sketched_rows(x.n, y.n)) + few_frequencies(pair, x.features),
        pair=pair,
        made_from=made_from,
    )


def refuse_engine(engine: Engine | None) -> None:
    """Refuse an engine where the data are sketches."""
    if engine is not None:
        raise ValueError("sketches are summed already, so no engine is needed; leave engine out")


def check_options(x: Array, y: Array, statistic: str, cross: str) -> None:
    """Refuse unknown options, and off-diagonal pairs where rows cannot be paired."""
    choice(statistic, "statistic", ("nammd", "mmd2"))
    choice(cross, "cross", ("full", "off-diagonal"))
    if cross == "off-diagonal" and x.shape[0] != y.shape[0]:
        raise ValueError(
            f"cross='off-diagonal' pairs row i of x with row i of y, but x has {x.shape[0]} rows "
            f"and y has {y.shape[0]}; use cross='full'"
        )
