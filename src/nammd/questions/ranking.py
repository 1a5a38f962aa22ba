"""Ordering several datasets by their distance to one: `rank`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from nammd.data.omitting import NanPolicy, without_nan
from nammd.data.row_grouping import RowGrouping
from nammd.data.several import by_name
from nammd.engines import Engine
from nammd.errors.checks import between
from nammd.evidence import gather, prepare
from nammd.questions.comparison import PairComparison, compare_estimates
from nammd.questions.distance import Estimate
from nammd.results import (
    NAMES,
    Caution,
    Cell,
    Page,
    Paged,
    Table,
    Track,
    estimated,
    interval,
    p_value,
    probability,
    text_cells,
)
from nammd.spaces import SpaceLike
from nammd.statistics.adjusting import holm


@dataclass(frozen=True)
class Ranked:
    """One candidate of a ranking."""

    name: str
    estimate: Estimate


@dataclass(frozen=True)
class Contrast:
    """The comparison of two candidates of a ranking.

    Attributes
    ----------
    nearer, farther : str
        The names, in the order of the estimated distances.
    pvalue : float
        Adjusted by Holm's method for the number of comparisons.
    significant : bool
        Whether the order of the two is significant at the level of the ranking.
    comparison : PairComparison
        The comparison before the adjustment.
    """

    nearer: str
    farther: str
    pvalue: float
    significant: bool
    comparison: PairComparison = field(repr=False)


@dataclass(frozen=True)
class Ranking(Paged):
    """Datasets in the order of their distance to a reference.

    Attributes
    ----------
    entries : tuple of Ranked
        The candidates, nearest first.
    contrasts : tuple of Contrast
        Every pair of candidates, with Holm-adjusted p-values.
    alpha : float
        The level at which orders are called significant, for all pairs together.
    cautions : tuple of Caution
        What to know before relying on it: the cautions of all distances, each once.
    """

    entries: tuple[Ranked, ...]
    contrasts: tuple[Contrast, ...]
    alpha: float
    cautions: tuple[Caution, ...] = ()

    @property
    def engine(self) -> str:
        """Which engine computed it."""
        return self.entries[0].estimate.engine

    def plot(self, ax: Any = None) -> Any:
        """Draw the distances with their intervals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from nammd.report import ranking_plot

        return ranking_plot(self, ax=ax)

    def headline(self) -> str:
        """Return the answer in one sentence."""
        clear = sum(c.significant for c in self.contrasts)
        first = self.entries[0]
        return (
            f"{first.name} is nearest ({NAMES[first.estimate.metric]} = "
            f"{estimated(first.estimate.value)}); {clear} of {len(self.contrasts)} orders are significant."
        )

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        rows = [
            (
                entry.name,
                f"{estimated(entry.estimate.value)}, 95 % interval "
                f"{interval(entry.estimate.confidence_interval(0.95))}",
            )
            for entry in self.entries
        ]
        clear = [c for c in self.contrasts if c.significant]
        return rows + [(f"{c.nearer} < {c.farther}", f"adjusted {p_value(c.pvalue)}") for c in clear]

    def page(self) -> Page:
        """Return what a page says about the ranking."""
        name = NAMES[self.entries[0].estimate.metric]
        order = Table(
            "The nearest first",
            ("candidate", name, "95 % interval", "", "rows"),
            tuple(_cells(entry) for entry in self.entries),
            "Dot: the distance. Bar: its 95 % interval.",
        )
        pairs = Table(
            "Which orders are more than chance",
            ("nearer", "farther", "adjusted p-value", ""),
            tuple(
                text_cells(
                    c.nearer,
                    c.farther,
                    probability(c.pvalue),
                    "significant" if c.significant else "not shown",
                )
                for c in self.contrasts
            ),
            f"Adjusted for {len(self.contrasts)} comparisons by Holm's method: with a probability of "
            f"at least {1 - self.alpha:g} no order called significant is wrong.",
        )
        estimate = self.entries[0].estimate
        return Page(
            title="Which is nearest to the reference?",
            sentence=self.headline(),
            tables=(order, pairs) if self.contrasts else (order,),
            settings=(
                ("reference rows", str(estimate.m)),
                ("kernel", estimate.describe_kernel()),
                ("level", f"{self.alpha:g}"),
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the ranking ready for JSON."""
        return {
            "alpha": self.alpha,
            "entries": [{"name": e.name, **e.estimate.to_dict()} for e in self.entries],
            "contrasts": [
                {
                    "nearer": c.nearer,
                    "farther": c.farther,
                    "pvalue": c.pvalue,
                    "significant": c.significant,
                }
                for c in self.contrasts
            ],
        }


def _cells(entry: Ranked) -> tuple[Cell, ...]:
    """Return a row of the page."""
    estimate = entry.estimate
    ends = estimate.confidence_interval(0.95)
    track = Cell(interval(ends), track=Track(estimate.value, *ends))
    return *text_cells(entry.name, estimated(estimate.value), interval(ends)), track, Cell(str(estimate.n))


def rank(
    x: Any,
    candidates: Mapping[str, Any] | Sequence[Any],
    *,
    kernel: Any = None,
    space: SpaceLike | None = None,
    alpha: float = 0.05,
    groups: Any = None,
    sample_weight: Any = None,
    nan_policy: NanPolicy = "raise",
    exact: bool = False,
    engine: Engine | None = None,
) -> Ranking:
    """Order datasets by their distance to a reference, and say which orders are significant.

    Parameters
    ----------
    x : dataset
        The reference, at least four rows; see `distance`. A sketch, if the candidates are sketches too.
    candidates : mapping of str to dataset, or list of datasets
        The datasets to order, at least one; those of a list are called "0", "1", ...
    kernel : Kernel, class or str, optional
        One kernel for all; by default the Gaussian with the median bandwidth of the reference.
    space : Space or dict, optional
        Where to measure; by default a space fitted on the reference.
    alpha : float
        The level for all comparisons together (Holm's method).
    groups, sample_weight : optional
        Which rows belong together, and how much each counts; see `distance`. Arrays: one for the
        reference, and one for each candidate.
    nan_policy : {"raise", "omit"}
        What to do with NaN in an array; see `distance`.
    exact : bool
        Whether to compute the values of the kernel for all pairs of rows, however long that takes; see
        `distance`.
    engine : Engine, optional
        Which engine computes; by default the one where the data is.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 2))
    >>> weeks = {f"week {k}": rng.normal(loc=0.3 * k, size=(300, 2)) for k in (2, 0, 1)}
    >>> ranking = nammd.rank(x, weeks)
    >>> [entry.name for entry in ranking.entries]
    ['week 0', 'week 1', 'week 2']
    >>> [(c.nearer, c.farther) for c in ranking.contrasts if c.significant]
    [('week 0', 'week 2'), ('week 1', 'week 2')]
    """
    alpha = between(alpha, "alpha")
    candidates = by_name(candidates, "candidates")
    named = {"x": x} | {f"candidate {name!r}": data for name, data in candidates.items()}
    named, grouping, omitted = without_nan(named, RowGrouping(groups, sample_weight), nan_policy)
    own, *others = prepare(
        named,
        space=space,
        kernel=kernel,
        reference=True,
        engine=engine,
        grouping=grouping,
        exact=exact,
    )
    found = gather([(own, other) for other in others], engine=engine)
    entries = [Ranked(name, Estimate.of(evidence)) for name, evidence in zip(candidates, found, strict=True)]
    entries.sort(key=lambda entry: entry.estimate.value)
    cautions = tuple(dict.fromkeys(each for entry in entries for each in entry.estimate.cautions))
    return Ranking(tuple(entries), _contrasts(entries, alpha), alpha, cautions + omitted)


def _contrasts(entries: list[Ranked], alpha: float) -> tuple[Contrast, ...]:
    pairs = [
        (
            near,
            far,
            compare_estimates(near.estimate, far.estimate, shared=True, alternative="two-sided", alpha=alpha),
        )
        for near, far in combinations(entries, 2)
    ]
    adjusted = holm([comparison.pvalue for *_, comparison in pairs])
    return tuple(
        Contrast(near.name, far.name, p, bool(p <= alpha), comparison)
        for (near, far, comparison), p in zip(pairs, adjusted, strict=True)
    )
