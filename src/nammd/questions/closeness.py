"""Tests with a margin: `closeness_test`.

There is no permutation here, and there must not be: permuting rows between the datasets simulates
equal distributions, under which every margin is the same. `two_sample_test` permutes and has no
margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from nammd.data.omitting import NanPolicy
from nammd.engines import Engine
from nammd.errors.checks import between, choice
from nammd.kernels import Kernel
from nammd.questions.distance import Estimate, distance
from nammd.questions.scales import margins_at, scale_checks
from nammd.results import (
    NAMES,
    Caution,
    ConfidenceInterval,
    Limit,
    Reportable,
    ScaleCheck,
    Tested,
    Tone,
    estimated,
    interval,
    number,
    p_value,
)
from nammd.spaces import SpaceLike
from nammd.statistics import margin
from nammd.statistics.margin import NEAR_DEGENERATE, Margin, Variance
from nammd.statistics.pair import Alternative, Statistic
from nammd.statistics.scales import Scales


@dataclass(frozen=True)
class ClosenessResult(Tested, Reportable):
    """The outcome of a closeness test.

    Attributes
    ----------
    statistic : float
        The estimated distance.
    pvalue : float
        The p-value; NaN where the data leave no variance to test with (see `cautions`).
    threshold : float
        The distance at which the test would start to reject, all else as observed.
    rejected : bool
        Whether the null hypothesis is rejected at level `alpha`.
    epsilon : float
        The margin tested.
    alpha : float
        The level of the test.
    alternative : {"greater", "less"}
        ``"greater"``: the alternative is that the datasets are farther apart than epsilon;
        ``"less"``: that they are closer.
    standard_error : float
        The standard error that the test used, under the null hypothesis.
    variance : {"corrected", "delta", "paper"}
        How it was estimated. From sketches, ``"corrected"`` is without the third moment of the rows, which
        they do not keep.
    estimate : Estimate
        The distance, with its own standard error, intervals and witness values.
    cautions : tuple of Caution
        What to know before relying on the result.
    scales : tuple of ScaleCheck
        The test at every scale, the main one first, where several were asked for; `pvalue` is then that of
        all of them together.
    """

    statistic: float
    pvalue: float
    threshold: float
    rejected: bool
    epsilon: float
    alpha: float
    alternative: Alternative
    standard_error: float
    variance: Variance
    estimate: Estimate
    cautions: tuple[Caution, ...] = field(default=())
    scales: tuple[ScaleCheck, ...] = ()

    def scale_checks(self) -> tuple[ScaleCheck, ...]:
        """Return the test at every scale."""
        return self.scales

    @property
    def m(self) -> int:
        """The number of rows of x."""
        return self.estimate.m

    @property
    def n(self) -> int:
        """The number of rows of y."""
        return self.estimate.n

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.estimate.kernel

    @property
    def engine(self) -> str:
        """Which engine computed it."""
        return self.estimate.engine

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Return a two-sided confidence interval for the distance; see `Estimate`."""
        return self.estimate.confidence_interval(confidence_level)

    def plot(self, ax: Any = None) -> Any:
        """Draw the distance with its interval against the margin.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from nammd.report import interval_plot

        return interval_plot(self, ax=ax)

    def headline(self) -> str:
        """Return the answer in one sentence."""
        name, margin_ = NAMES[self.estimate.metric], number(self.epsilon)
        p = p_value(self.pvalue)
        if math.isnan(self.pvalue):
            return f"No test of the margin {margin_} is possible with these data."
        if self.alternative == "greater":
            finer = [each for each in self.scales if each.beyond]
            if finer and finer[0].scale < 1:
                told = min(finer, key=lambda each: each.adjusted)
                return (
                    f"The two datasets differ in fine structure: at {told.name} between rows, {told.found}."
                )
            if self.rejected:
                return f"The two datasets are farther apart than {name} = {margin_} ({p})."
            return (
                f"No evidence that the two datasets are farther apart than {name} = {margin_} "
                f"({p}); that alone does not prove them close."
            )
        if self.rejected:
            return f"The two datasets are closer than {name} = {margin_} ({p})."
        return f"Not proven that the two datasets are closer than {name} = {margin_} ({p})."

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        name, eps = NAMES[self.estimate.metric], number(self.epsilon)
        null, other = ("<=", ">") if self.alternative == "greater" else (">=", "<")
        verdict = "rejected" if self.rejected else "not rejected"
        return [
            ("null hypothesis", f"{name} {null} {eps}: {verdict} at level {self.alpha:g}"),
            ("alternative", f"{name} {other} {eps}"),
            ("distance", f"{estimated(self.statistic)}, {self._limit}"),
            ("95 % interval", interval(self.confidence_interval(0.95))),
            ("standard error", f"{number(self.standard_error)} ({self.variance})"),
            *[(f"at {each.name}", each.found) for each in self.scales[1:]],
            *self.estimate.describe_data(),
        ]

    @property
    def _limit(self) -> str:
        if math.isinf(self.threshold):
            return "and no estimate from rows that are all equal would be enough"
        return f"threshold {number(self.threshold)}"

    def question(self) -> str:
        """Return the question that the result answers."""
        word = "farther apart" if self.alternative == "greater" else "closer"
        return f"Are the two datasets {word} than the margin?"

    @property
    def word(self) -> str:
        """FAR, CLOSE, or NOT PROVEN: one test that does not reject says nothing about the other side."""
        if not self.rejected:
            return "NOT PROVEN"
        return "FAR" if self.alternative == "greater" else "CLOSE"

    @property
    def tone(self) -> Tone:
        """How the answer is coloured."""
        tones: dict[str, Tone] = {"FAR": "far", "CLOSE": "close", "NOT PROVEN": "undecided"}
        return tones[self.word]

    def advice(self) -> str:
        """Return what to do next, in one sentence."""
        if self.rejected:
            return "Look at where they differ." if self.alternative == "greater" else ""
        other = "less" if self.alternative == "greater" else "greater"
        return f'More rows may tell; alternative="{other}" asks the opposite question.'

    def limit(self) -> Limit:
        """Return the margin."""
        side = "beyond" if self.alternative == "greater" else "within"
        return Limit("margin", self.epsilon, 0.0, ((f"{side} margin", self.pvalue),), self.alpha)

    def settings(self) -> list[tuple[str, str]]:
        """Return how the null distribution was approximated."""
        return [("null distribution", f"{self.variance} variance")]

    def reproduction(self) -> str:
        """Return the Python code that gives the result again."""
        last = []
        if self.alpha != 0.05:
            last.append(f"alpha={self.alpha:g}")
        published = self.variance != "corrected" or self.estimate.cross != "full"
        if published:
            last += [f'variance="{self.variance}"', f'cross="{self.estimate.cross}"']
        first = f"epsilon={self.epsilon!r}", f'alternative="{self.alternative}"'
        function = "paper.closeness_test" if published else "closeness_test"
        return self.estimate.reproduced_by(function, *first, last=tuple(last))


def closeness_test(
    x: Any,
    y: Any,
    epsilon: float,
    *,
    alternative: Alternative,
    kernel: Any = None,
    space: SpaceLike | None = None,
    metric: Statistic = "nammd",
    alpha: float = 0.05,
    groups: Any = None,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
    scales: Scales = "median",
    exact: bool = False,
    engine: Engine | None = None,
) -> ClosenessResult:
    """Test whether two datasets are farther apart than a margin, or closer.

    Parameters
    ----------
    x, y : dataset
        The datasets; see `distance`. At least four rows each.
    epsilon : float
        The margin: how far apart is still acceptable. Strictly between 0 and 1 for NAMMD, between
        0 and twice the kernel's bound for MMD². It means something only together with the kernel.
    alternative : {"greater", "less"}
        ``"greater"`` tests H0: distance <= epsilon, so rejecting proves that the datasets are too
        far apart. ``"less"`` tests H0: distance >= epsilon, so rejecting proves that they are close. There is
        no default: a small p-value means the opposite in the other case.
    kernel : Kernel, class or str, optional
        As for `distance`. Where epsilon comes from a reference pair of datasets, give the kernel, or the
        space, that was used there. For sketches: ``kernel=x.features`` says that epsilon was
        taken from the same random features. Without it epsilon is meant under the kernel that they
        approximate, and the variance over frequencies is added: otherwise the test would not hold its
        level. Other features or another kernel are an error.
    space : Space or dict, optional
        Where to measure; see `distance`.
    metric : {"nammd", "mmd2"}
        The norm-adaptive MMD, or the plain squared MMD.
    alpha : float
        The level: the largest acceptable probability of rejecting a true null hypothesis.
    groups, sample_weight : optional
        Which rows belong together, and how much each counts; see `distance`.
    nan_policy : {"raise", "omit"}
        What to do with NaN in an array; see `distance`.
    scales : {"median", "all"}
        With ``"all"`` the test is also made at a half, a quarter, an eighth and a sixteenth of the bandwidth.
        The margin there is what as many rows make which moved elsewhere as make epsilon at the main scale.
        ``"greater"`` then proves that the datasets are farther apart than that at some scale, and ``"less"``
        that they are closer at each one. Scales at which hardly any two rows of x are near each other are
        left out.
    exact : bool
        Whether to compute the values of the kernel for all pairs of rows, however long that takes; see
        `distance`.
    engine : Engine, optional
        Which engine computes; by default the one where the data is.

    Returns
    -------
    ClosenessResult

    See Also
    --------
    two_sample_test : tests whether the distributions are the same, without a margin.
    compare_pairs : where epsilon was estimated from a pair of datasets of similar size.
    nammd.paper.closeness_test : the test as published, which does not hold its level.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(800, 3)), rng.normal(loc=0.1, size=(800, 3))
    >>> nammd.two_sample_test(x, y, rng=0).rejected        # are they the same? no ...
    True
    >>> result = nammd.closeness_test(x, y, epsilon=0.01, alternative="less")
    >>> result.rejected                                    # ... but they are close enough
    True
    >>> statistic, pvalue = result
    >>> print(result)
    The two datasets are closer than NAMMD = 0.01 (p = 0.0004).
      null hypothesis  NAMMD >= 0.01: rejected at level 0.05
      alternative      NAMMD < 0.01
      distance         0.002324, threshold 0.006989
      95 % interval    [0.0008399, 0.004782]
      standard error   0.0009183 (corrected)
      rows             800 and 800
      kernel           Gaussian, bandwidth 2.187
    """
    alpha = require_margin(epsilon, alternative, metric, alpha, several=scales == "all")
    estimate = distance(
        x,
        y,
        kernel=kernel,
        space=space,
        metric=metric,
        groups=groups,
        sample_weight=sample_weight,
        nan_policy=nan_policy,
        scales=scales,
        exact=exact,
        engine=engine,
    )
    result = closeness_of(estimate, epsilon, alternative, alpha, "corrected")
    if not estimate.scales or math.isnan(result.pvalue):
        return result
    tests = margins_at(estimate.pair, [each.pair for each in estimate.scales], epsilon, alternative)
    checks, _ = scale_checks(tests, alternative, alpha)
    pvalue = (min if alternative == "greater" else max)(each.adjusted for each in checks)
    return replace(result, pvalue=pvalue, rejected=pvalue <= alpha, scales=checks)


def require_margin(
    epsilon: float, alternative: Alternative, metric: Statistic, alpha: float, *, several: bool = False
) -> float:
    """Check the options of a test with a margin, before any computation, and return its level."""
    choice(alternative, "alternative", ("greater", "less"))
    alpha = between(alpha, "alpha")
    if metric == "nammd":  # for MMD² the range depends on the kernel
        _check_epsilon(epsilon, 1.0)
    elif several:
        choice(metric, "metric", ("nammd", "mmd2"))
        raise ValueError("several scales are tested by metric='nammd' alone")
    return alpha


def closeness_of(
    estimate: Estimate, epsilon: float, alternative: Alternative, alpha: float, variance: Variance
) -> ClosenessResult:
    """Test a margin on a distance that is estimated already; costs no pass over the data."""
    epsilon = _check_epsilon(epsilon, estimate.pair.largest)
    test = margin.margin(estimate.pair, epsilon, variance, alternative)
    pvalue = test.pvalue(alternative)
    rejected = bool(pvalue <= alpha)
    return ClosenessResult(
        statistic=estimate.value,
        pvalue=pvalue,
        threshold=test.threshold(epsilon, alpha, alternative),
        rejected=rejected,
        epsilon=epsilon,
        alpha=alpha,
        alternative=alternative,
        standard_error=test.deviation / test.scale,
        variance=variance,
        estimate=estimate,
        cautions=estimate.cautions + (() if estimate.pair.void else _cautions(test, rejected)),
    )


def _check_epsilon(epsilon: Any, largest: float) -> float:
    hint = ""
    if isinstance(epsilon, (int, float)) and epsilon == 0:
        hint = "; to test whether the distributions are the same, use two_sample_test"
    return between(epsilon, "epsilon", largest, hint)


def _cautions(test: Margin, rejected: bool) -> tuple[Caution, ...]:
    if not test.usable:
        return (
            Caution(
                "no-variance",
                "the estimated variance is not positive, so no valid test is possible: the "
                "data may be constant, all rows equally far apart, or too few",
            ),
        )
    if test.share > NEAR_DEGENERATE and not rejected:
        return (
            Caution(
                "near-degenerate",
                "near-degenerate: epsilon is below what this sample can resolve; the test is "
                "conservative, and more rows would sharpen it",
            ),
        )
    return ()
