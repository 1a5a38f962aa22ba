"""Comparing distances: is one pair of datasets farther apart than another? `compare_pairs`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from nammd.data.arrays import namespace
from nammd.data.group_labels import Groups
from nammd.data.omitting import NanPolicy, without_nan
from nammd.data.row_grouping import RowGrouping
from nammd.engines import Engine
from nammd.errors.checks import between, choice
from nammd.evidence import gather
from nammd.evidence.cautions import groups_of_both_pairs, same_on_both_sides
from nammd.evidence.preparing import opened, prepared
from nammd.questions.distance import Estimate
from nammd.results import (
    NAMES,
    Caution,
    Cell,
    ConfidenceInterval,
    Page,
    Paged,
    Table,
    Tested,
    Track,
    estimated,
    interval,
    p_value,
    text_cells,
    with_error,
)
from nammd.spaces import SpaceLike
from nammd.spaces.space import fit_space, settled
from nammd.statistics.difference import Difference
from nammd.statistics.pair import Statistic

Direction = Literal["greater", "less", "two-sided"]


@dataclass(frozen=True)
class PairComparison(Tested, Paged):
    """The outcome of comparing the distances of two pairs of datasets.

    Attributes
    ----------
    difference : float
        The distance of the second pair less that of the first.
    standard_error : float
        The standard error of the difference.
    statistic : float
        Their ratio. The p-value is not read off it alone: skewness, bias and the law near zero count too.
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
    cautions : tuple of Caution
        What to know before relying on the result.
    rule : Difference
        What the p-value and the interval are computed from.
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
    cautions: tuple[Caution, ...]
    rule: Difference = field(repr=False, compare=False)

    @property
    def engine(self) -> str:
        """Which engine computed it."""
        return self.first.engine

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Return a two-sided confidence interval for the difference of the distances.

        It holds the differences that neither of the two one-sided tests rejects.

        Parameters
        ----------
        confidence_level : float
            The confidence level, strictly between 0 and 1.

        Returns
        -------
        ConfidenceInterval
            Its ends, `low` and `high`.
        """
        level = between(confidence_level, "confidence_level")
        return ConfidenceInterval(*self.rule.confidence_interval(level))

    def headline(self) -> str:
        """Return the answer in one sentence; files are called by their names."""
        p = p_value(self.pvalue)
        if math.isnan(self.pvalue):
            return "No comparison is possible with these data."
        named = self._files()
        if self.rejected:
            farther = self.difference > 0
            if named:
                shown = "farther from" if farther else "nearer to"
                return f"{named[2]} is {shown} {named[0]} than {named[1]} ({p})."
            return f"The second pair is {'farther apart' if farther else 'closer'} than the first ({p})."
        if named:
            sought = {
                "greater": "farther from",
                "less": "nearer to",
                "two-sided": "farther from or nearer to",
            }
            return (
                f"No evidence that {named[2]} is {sought[self.alternative]} {named[0]} than {named[1]} ({p})."
            )
        if self.alternative == "two-sided":
            return f"No evidence that the two pairs are differently far apart ({p})."
        word = "farther apart" if self.alternative == "greater" else "closer"
        return f"No evidence that the second pair is {word} than the first ({p})."

    def _files(self) -> tuple[str, str, str] | None:
        """Return the names of the reference and of what is compared with it, where all are files."""
        one, two = self.first.evidence, self.second.evidence
        if not self.shared or any(sample.dataset.source is None for sample in (one.x, one.y, two.y)):
            return None
        return one.x.name, one.y.name, two.y.name

    def page(self) -> Page:
        """Return what a page says about the comparison."""
        named = self._files() or ("", "first pair", "second pair")
        distances = tuple(
            (
                *text_cells(label, estimated(estimate.value), interval(ends)),
                Cell(interval(ends), track=Track(estimate.value, *ends)),
            )
            for label, estimate in zip(named[1:], (self.first, self.second), strict=True)
            for ends in (estimate.confidence_interval(0.95),)
        )
        return Page(
            title=f"Which is nearer to {named[0]}?" if named[0] else "Which pair is nearer?",
            sentence=self.headline(),
            tables=(
                Table(
                    "How far apart",
                    ("", NAMES[self.first.metric], "95 % interval", ""),
                    distances,
                    "Dot: the distance. Bar: its 95 % interval.",
                ),
            ),
            cautions=tuple(caution.message for caution in self.cautions),
            settings=tuple(self.lines()),
        )

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        name = NAMES[self.first.metric]
        relation = {"greater": "<=", "less": ">=", "two-sided": "="}[self.alternative]
        verdict = "rejected" if self.rejected else "not rejected"
        return [
            (
                "null hypothesis",
                f"second {name} {relation} first {name}: {verdict} at level {self.alpha:g}",
            ),
            ("first pair", f"{estimated(self.first.value)}, rows {self.first.m} and {self.first.n}"),
            (
                "second pair",
                f"{estimated(self.second.value)}, rows {self.second.m} and {self.second.n}",
            ),
            ("difference", with_error(self.difference, self.standard_error)),
            ("95 % interval", interval(self.confidence_interval(0.95))),
            ("shared dataset", "yes, its covariance is used" if self.shared else "no"),
            self.first.describe_data()[-1],
        ]


def compare_pairs(
    first: tuple[Any, Any],
    second: tuple[Any, Any],
    *,
    kernel: Any = None,
    space: SpaceLike | None = None,
    metric: Statistic = "nammd",
    alternative: Direction = "greater",
    alpha: float = 0.05,
    shared: bool | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
    exact: bool = False,
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
    kernel : Kernel, class or str, optional
        One kernel for both distances; by default the Gaussian with the median bandwidth of all rows. For
        sketches as in `distance`.
    space : Space or dict, optional
        Where to measure; by default a space fitted on all datasets together.
    metric : {"nammd", "mmd2"}
        The norm-adaptive MMD, or the plain squared MMD.
    alternative : {"greater", "less", "two-sided"}
        What is to be shown of the second distance: that it is greater than the first (the default),
        less, or different.
    alpha : float
        The level of the test.
    shared : bool, optional
        Whether ``x1`` and ``x2`` are the same observations. By default a dataset is recognised as
        shared if the same object, or the same path, stands in both pairs, in whatever place; a sketch also
        if its sums are the same, as when a file is loaded twice.
    groups, sample_weight : optional
        Which rows belong together, and how much each counts; see `distance`. Arrays: one for each
        of the four datasets, in their order.
    nan_policy : {"raise", "omit"}
        What to do with NaN in an array; see `distance`.
    exact : bool
        Whether to compute the values of the kernel for all pairs of rows, however long that takes; see
        `distance`.
    engine : Engine, optional
        Which engine computes; by default the one where the data is.

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
    choice(metric, "metric", ("nammd", "mmd2"))
    (x1, y1), (x2, y2) = _two(first, "first"), _two(second, "second")
    named = {"first[0]": x1, "first[1]": y1, "second[0]": x2, "second[1]": y2}
    grouping = RowGrouping(_flat(groups), _flat(sample_weight))
    named, grouping, omitted = without_nan(named, grouping, nan_policy)
    x1, x2 = named["first[0]"], named["second[0]"]
    data = opened(named, space=space, kernel=kernel, engine=engine, grouping=grouping)
    fixed, options = settled(space, kernel)
    if shared and x1 is not x2 and fixed is None and all(each.keeps_rows for each in data):
        # One dataset, though in two copies: it counts once in the scale of the space.
        space, kernel = fit_space([data[0], data[1], data[3]], **options), None
    samples = prepared(data, space=space, kernel=kernel, engine=engine, exact=exact)
    one, two, shared = _line_up((samples[0], samples[1]), (samples[2], samples[3]), shared)
    if shared and one[0] is not two[0]:
        _require_same(one[0], two[0])
        two = one[0], two[1]
    evidence = gather([one, two], engine=engine)
    before, after = (Estimate.of(each, metric) for each in evidence)
    found = compare_estimates(before, after, shared=shared, alternative=alternative, alpha=alpha)
    return replace(found, cautions=found.cautions + omitted)


def _flat(grouping: Any) -> Any:
    """Return what was said of two pairs as four entries."""
    if isinstance(grouping, Groups):
        return replace(grouping, by=_flat(grouping.by))
    if not isinstance(grouping, (list, tuple)) or len(grouping) != 2:
        return grouping
    return [entry for pair in grouping for entry in (pair if isinstance(pair, (list, tuple)) else (pair,))]


def compare_estimates(
    first: Estimate, second: Estimate, *, shared: bool, alternative: Direction, alpha: float
) -> PairComparison:
    """Compare two distances that are estimated already, under one kernel.

    Where `shared`, the x of both must be the same observations in the same order.
    """
    rule = Difference.of(first.pair, second.pair, shared)
    closer, farther = rule.closer(), rule.swapped.closer()
    either = min(2 * min(closer, farther), 1.0)
    pvalue = {"greater": farther, "less": closer, "two-sided": either}[alternative]
    cautions = first.cautions + tuple(w for w in second.cautions if w not in first.cautions)
    cautions += groups_of_both_pairs(first.evidence, second.evidence)
    if not shared:
        cautions += same_on_both_sides(first.evidence, second.evidence)
    if not rule.usable and not (first.pair.void or second.pair.void):
        cautions += (
            Caution(
                "no-variance",
                "the estimated variance of the difference is not positive, so there is nothing to "
                "test with: the data may be constant, or too few",
            ),
        )
    return PairComparison(
        difference=rule.value,
        standard_error=rule.standard_error if rule.usable else 0.0,
        statistic=rule.value / rule.standard_error if rule.usable else math.nan,
        pvalue=pvalue if rule.usable else math.nan,
        rejected=bool(pvalue <= alpha),
        alpha=alpha,
        alternative=alternative,
        shared=shared,
        first=first,
        second=second,
        cautions=cautions,
        rule=rule,
    )


def _two(pair: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"the {name} pair must be a tuple of two datasets, such as (x, y)")
    return pair[0], pair[1]


def _line_up(
    first: tuple[Any, Any], second: tuple[Any, Any], shared: bool | None
) -> tuple[tuple[Any, Any], tuple[Any, Any], bool]:
    """Turn the pairs so that a sample they share stands first in both; distances are symmetric."""
    same = [(i, j) for i in range(2) for j in range(2) if _is_same(first[i], second[j])]
    if len(same) > 1:
        raise ValueError("the two pairs consist of the same datasets; there is nothing to compare")
    if same and shared is not False:
        i, j = same[0]
        return (first[i], first[1 - i]), (second[j], second[1 - j]), True
    return first, second, bool(shared)


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two samples are one; summaries by their sums, since both may come from one file."""
    return one is other or (not one.keeps_rows and one.same_rows(other))


def _require_same(one: Any, other: Any) -> None:
    """Refuse what is said to be shared and is not."""
    claim = "shared=True says that both pairs have the same first dataset, but"
    if not one.keeps_rows:
        if not one.same_rows(other):
            raise ValueError(f"{claim} their sketches differ")
    elif one.size != other.size:
        raise ValueError(f"{claim} they have {one.size} and {other.size} rows")
    elif not bool(namespace(one.points, other.points).all(one.points == other.points)):
        raise ValueError(f"{claim} their rows differ")
