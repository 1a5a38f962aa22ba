"""Distances that a tolerance can be read from, and how uncertain an epsilon taken from one is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from nammd.data.advice import Advice, refusal
from nammd.data.arrays import FloatArray
from nammd.evidence import MIN_ROWS
from nammd.questions.distance import Estimate
from nammd.statistics.difference import Shared, variance_parts
from nammd.statistics.moments import combined


@dataclass(frozen=True)
class Rung:
    """One distance on the ladder that epsilon is chosen from.

    Attributes
    ----------
    label : str
        What was measured.
    value, standard_error, low, high : float
        The distance, its standard error and its 95 % interval.
    kind : str
        ``"accepted"``, ``"noise"``, ``"flips"``, ``"missing"``, ``"random"`` or ``"block"``.
    level : float or None
        The level of a perturbation.
    """

    label: str
    value: float
    standard_error: float
    low: float
    high: float
    kind: str = "accepted"
    level: float | None = None

    @classmethod
    def of(cls, label: str, estimate: Estimate, kind: str = "accepted", level: float | None = None) -> Rung:
        """Read a rung off an estimate."""
        low, high = estimate.confidence_interval(0.95)
        return cls(label, estimate.value, estimate.standard_error, low, high, kind, level)

    @classmethod
    def paired(cls, label: str, estimate: Estimate, kind: str, level: float) -> Rung:
        """Read a rung off the distance between rows and perturbed copies of them."""
        error = math.sqrt(_paired_variance(estimate))
        low, high = (estimate.value + z * error for z in (-1.96, 1.96))
        return cls(label, estimate.value, error, max(low, 0.0), max(high, 0.0), kind, level)

    def epsilon(self, advice: str) -> float:
        """Return the distance as a tolerance, which has to be positive."""
        if not self.value > 0:
            raise refusal(
                ValueError,
                f"the perturbation {self.label!r} cannot be told apart from none at this sample size "
                f"(estimated distance {self.value:.3g}), so it sets no tolerance",
                Advice(f"{advice}, or use Tolerance.from_split", f"{advice}, or use --split"),
            )
        return self.value


def _paired_variance(estimate: Estimate) -> float:
    """Return the variance of a distance between rows and copies of them: pairs, not rows, are drawn."""
    return float(np.sum((estimate.influence_x + estimate.influence_y) ** 2))


def largest_rung(rungs: tuple[Rung, ...]) -> Rung:
    """Return the rung with the largest distance."""
    return max(rungs, key=lambda rung: rung.value)


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How uncertain an epsilon is that was estimated from a pair of datasets.

    Attributes
    ----------
    linear, total : float
        Its variance: the part due to single rows, and all of it.
    shared : Shared or None
        What is needed to know how it varies together with another distance from the same reference.
    digest : str or None
        The digest of that reference.
    """

    linear: float
    total: float
    shared: Shared | None = field(repr=False)
    digest: str | None

    @classmethod
    def of(cls, estimate: Estimate, digest: str | None) -> Uncertainty:
        """Take it from an estimate; without a digest no reference is shared."""
        linear, total = variance_parts(estimate.pair).tolist()
        shared = Shared.of(estimate.pair, estimate.evidence.cross_means) if digest else None
        return cls(linear, total, shared, digest)

    @classmethod
    def paired(cls, estimate: Estimate) -> Uncertainty:
        """Take it from a distance between rows and perturbed copies of them."""
        variance = _paired_variance(estimate)
        return cls(variance, variance, None, None)

    @property
    def standard_error(self) -> float:
        """The standard error of epsilon."""
        return math.sqrt(combined(self.linear, self.total)[0])


def split_rungs(
    x: FloatArray,
    distance: Callable[[FloatArray, FloatArray], Estimate],
    blocks: int,
    splits: int,
    rng: Any,
) -> tuple[Rung, ...]:
    """Return the distances between random halves, and of consecutive blocks from the rest."""
    if blocks < 2 or splits < 1:
        raise ValueError(f"at least 2 blocks and 1 split are needed, not {blocks} and {splits}")
    if len(x) < MIN_ROWS * max(blocks, 2):
        raise ValueError(
            f"the reference has {len(x)} rows, too few to split into {blocks} blocks of at least {MIN_ROWS}"
        )
    generator = np.random.default_rng(rng)
    rungs = []
    for k in range(splits):
        order = generator.permutation(len(x))
        half = len(x) // 2
        estimate = distance(x[order[:half]], x[order[half:]])
        rungs.append(Rung.of(f"random halves {k + 1}", estimate, "random"))
    edges = np.linspace(0, len(x), blocks + 1).astype(int)
    for k, (start, stop) in enumerate(pairwise(edges)):
        rest = np.concatenate([x[:start], x[stop:]])
        estimate = distance(x[start:stop], rest)
        rungs.append(Rung.of(f"block {k + 1} of {blocks}", estimate, "block"))
    return tuple(rungs)
