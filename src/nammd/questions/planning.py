"""Power and sample size: how many rows does it take to decide? `plan`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nammd.errors.checks import between
from nammd.questions.distance import Estimate, distance
from nammd.results import NAMES, Reportable, Result, number
from nammd.spaces import SpaceLike
from nammd.statistics.pair import Alternative
from nammd.statistics.power import distribution_free, power_at, rows_for


def rounded_up(rows: int) -> int:
    """Return a number of rows with three digits that tell, not below it.

    >>> rounded_up(764_337_087), rounded_up(764)
    (765000000, 764)
    """
    unit: int = 10 ** max(len(str(rows)) - 3, 0)
    return -(-rows // unit) * unit


@dataclass(frozen=True)
class Plan(Result):
    """How much power so many rows have, or how many rows it takes.

    Attributes
    ----------
    m, n : int or None
        The rows of each dataset; None where no number of rows is enough.
    power : float
        The probability that the test decides, if the true distance is `distance`.
    epsilon, distance : float
        The margin, and the true distance that is planned for.
    alpha : float
        The level of the test.
    alternative : {"greater", "less"}
        What the test would show: that the distance exceeds the margin, or is below it.
    bound : int
        The rows on each side that the paper's sample-complexity theorem asks for, whatever the
        distributions. It is a guarantee, not a forecast, and usually larger by orders of magnitude.
    metric : str
        The distance planned for.
    obstacle : str
        Where no number of rows is enough: what stands in the way, in a sentence; else empty.
    groups : tuple of two int, or None
        Where rows belong together: in how many groups so many rows are, if these are as large as the pilot's.
    """

    m: int | None
    n: int | None
    power: float
    epsilon: float
    distance: float
    alpha: float
    alternative: Alternative
    bound: int
    metric: str
    obstacle: str = ""
    groups: tuple[int, int] | None = None
    cautions = ()

    def headline(self) -> str:
        """Return the answer in one sentence."""
        what = "farther apart than" if self.alternative == "greater" else "closer than"
        if self.m is None and self.obstacle:
            return self.obstacle
        if self.m is None:
            return (
                f"More data will not help: no realistic number of rows shows that they are {what} the margin."
            )
        return (
            f"{self.m} and {self.n} rows show with probability {self.power:.2f} that the datasets "
            f"are {what} {number(self.epsilon)}."
        )

    def lines(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        rows = [
            ("margin", number(self.epsilon)),
            ("distance planned for", f"{NAMES[self.metric]} = {number(self.distance)}"),
            ("level", f"{self.alpha:g}"),
            ("rows (forecast)", "out of reach" if self.m is None else f"{self.m} and {self.n}"),
        ]
        if self.groups is None:
            return [*rows, ("rows (distribution-free bound, very loose)", f"{rounded_up(self.bound)} each")]
        return [
            *rows,
            ("groups, as large as the pilot's", f"{self.groups[0]} and {self.groups[1]}"),
            ("groups (distribution-free bound, very loose)", f"{rounded_up(self.bound)} each"),
        ]


def plan(
    epsilon: float,
    distance: float | None = None,
    *,
    pilot: Any,
    power: float = 0.8,
    rows: int | tuple[int, int] | None = None,
    alpha: float = 0.05,
    space: SpaceLike | None = None,
    groups: Any = None,
    sample_weight: Any = None,
) -> Plan:
    """Tell how many rows a closeness test needs, or how much power it has with so many.

    Parameters
    ----------
    epsilon : float
        The margin to be tested.
    distance : float, optional
        The true distance to plan for; by default the one that the pilot found. Above epsilon the
        plan is for showing that the datasets are too far apart, below it for showing that they are
        close.
    pilot : Estimate, ClosenessResult, Verdict or tuple of two datasets
        Where the variability of the data is taken from: a result, or the data themselves; see `distance`.
    power : float
        The wanted probability of deciding, where `rows` is not given.
    rows : int or tuple of two int, optional
        The sizes to compute the power for. Without them, sizes are sought in the proportion that
        the pilot's have.
    alpha : float
        The level of the test.
    space : Space or dict, optional
        Where to measure the distance of a pilot that is two datasets.
    groups, sample_weight : optional
        Of a pilot that is two datasets: which rows belong together, and how much each counts; see `distance`.
        The plan is then for data with as many rows in a group as the pilot has.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> pilot = nammd.distance(rng.normal(size=(200, 2)), rng.normal(loc=0.4, size=(200, 2)))
    >>> planned = nammd.plan(epsilon=0.01, distance=0.02, pilot=pilot)
    >>> print(planned.headline())
    397 and 397 rows show with probability 0.80 that the datasets are farther apart than 0.01.
    >>> round(nammd.plan(epsilon=0.01, distance=0.02, pilot=pilot, rows=500).power, 2)
    0.88
    """
    estimate = _pilot(pilot, space, groups, sample_weight)
    pair = estimate.pair
    epsilon = between(epsilon, "epsilon", pair.largest)
    alpha, power = between(alpha, "alpha"), between(power, "power")
    true = distance_to_plan_for(estimate, distance, epsilon)
    alternative: Alternative = "greater" if true > epsilon else "less"
    if rows is not None:
        m, n = _sizes(rows)
        power = power_at(pair, epsilon, true, m, n, alpha)
        found: tuple[int | None, int | None] = (m, n)
    else:
        found = rows_for(pair, epsilon, true, power, alpha) or (None, None)
        if found[0] is not None and found[1] is not None:
            power = power_at(pair, epsilon, true, found[0], found[1], alpha)
    return Plan(
        m=found[0],
        n=found[1],
        power=power,
        epsilon=epsilon,
        distance=true,
        alpha=alpha,
        alternative=alternative,
        bound=distribution_free(abs(true - epsilon) / pair.largest, power, alpha),
        metric=pair.statistic,
        groups=_groups(estimate, found),
    )


def _groups(pilot: Estimate, rows: tuple[int | None, int | None]) -> tuple[int, int] | None:
    """Return in how many groups so many rows are, if these are as large as the pilot's."""
    samples = pilot.evidence.x, pilot.evidence.y
    # Rows know their groups themselves, of a sketch its sums do.
    both = [getattr(sample, "units", None) or getattr(sample, "sketched_units", None) for sample in samples]
    sizes = [sample.size for sample in samples]
    groups = [size if units is None else units.count for size, units in zip(sizes, both, strict=True)]
    if groups == sizes:
        return None
    found = []
    for size, known, count in zip(sizes, groups, rows, strict=True):
        if count is None:
            return None
        found.append(math.ceil(count * known / size))
    return found[0], found[1]


def distance_to_plan_for(pilot: Estimate, distance: float | None, epsilon: float) -> float:
    """Return the true distance that is planned for: the one that is given, or that of the pilot."""
    largest = pilot.pair.largest
    true = max(pilot.value, 0.0) if distance is None else float(distance)
    if not 0 <= true <= largest or true == epsilon:
        raise ValueError(
            f"distance must be between 0 and {largest:g} and differ from epsilon; it is "
            f"{true:g}. A distance equal to the margin cannot be decided by any number of rows"
        )
    return true


def _pilot(pilot: Any, space: SpaceLike | None, groups: Any, sample_weight: Any) -> Estimate:
    pilot = getattr(pilot, "details", pilot)  # of a verdict
    if isinstance(pilot, Reportable):
        if groups is not None or sample_weight is not None:
            raise TypeError("a result knows its groups and weights already; give them with two datasets only")
        found: Estimate = pilot.estimate
        return found
    if isinstance(pilot, tuple) and len(pilot) == 2:
        return distance(*pilot, space=space, groups=groups, sample_weight=sample_weight)
    raise TypeError(
        "pilot must be a result of distance, closeness_test or a check, or a tuple of two datasets, "
        f"not {type(pilot).__name__}"
    )


def _sizes(rows: int | tuple[int, int]) -> tuple[int, int]:
    m, n = rows if isinstance(rows, tuple) else (rows, rows)
    if min(m, n) < 4:
        raise ValueError(f"at least 4 rows are needed on each side, not {min(m, n)}")
    return int(m), int(n)
