"""Distances that a tolerance can be read from: `Rung`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.row_units import RowUnits
from nammd.engines.protocol import Split
from nammd.errors.advice import Advice, refusal
from nammd.evidence import MIN_ROWS
from nammd.questions.distance import Estimate


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
        error = float(np.linalg.norm(paired_influences(estimate)))
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


def paired_influences(estimate: Estimate) -> FloatArray:
    """Return how far every row, with its copy, moves the distance between rows and copies of them.

    Pairs of a row and its copy are drawn, not rows; the squares of these numbers sum to the variance.
    """
    influences: FloatArray = estimate.unit_influences(0) + estimate.unit_influences(1)
    return influences


def block_edges(rows: int, blocks: int) -> list[int]:
    """Return where consecutive blocks of rows begin and end."""
    edges: list[int] = np.linspace(0, rows, blocks + 1).astype(int).tolist()
    return edges


def require_splits(blocks: int, splits: int) -> None:
    """Refuse to divide a reference into less than two parts."""
    if blocks < 2 or splits < 1:
        raise ValueError(f"at least 2 blocks and 1 split are needed, not {blocks} and {splits}")


def split_rungs(
    rows: int,
    distances: Callable[[Sequence[Split]], Iterable[Estimate]],
    blocks: int,
    splits: int,
    rng: Any,
    units: RowUnits | None = None,
) -> tuple[tuple[Rung, ...], dict[str, Estimate]]:
    """Return the distances between random halves, and of consecutive blocks from the rest.

    `distances` takes divisions of all rows, by the positions of the rows of each side. Rows that belong
    together stay together in the random halves. The estimates of the blocks come along, by label.
    """
    if rows < MIN_ROWS * max(blocks, 2):
        raise ValueError(
            f"the reference has {rows} rows, too few to split into {blocks} blocks of at least {MIN_ROWS}"
        )
    generator = np.random.default_rng(rng)
    every: dict[str, Split] = {}
    for k in range(splits):
        every[f"random halves {k + 1}"] = _halves(rows, units, generator)
    for k, (start, stop) in enumerate(pairwise(block_edges(rows, blocks))):
        rest = np.concatenate([np.arange(start), np.arange(stop, rows)])
        every[f"block {k + 1} of {blocks}"] = rest, np.arange(start, stop)
    rungs, estimates = list[Rung](), dict[str, Estimate]()
    for label, estimate in zip(every, distances(list(every.values())), strict=True):
        kind = "random" if len(rungs) < splits else "block"
        rungs.append(Rung.of(label, estimate, kind))
        if kind == "block":
            estimates[label] = estimate
    return tuple(rungs), estimates


def _halves(rows: int, units: RowUnits | None, generator: np.random.Generator) -> Split:
    """Return random halves of the rows, or of the groups that they belong to.

    Groups are drawn in the order in which they come, so that groups of one row are drawn as rows are.
    """
    if units is None:
        order = generator.permutation(rows)
        return order[: rows // 2], order[rows // 2 :]
    groups, met = np.unique(units.codes, return_index=True)
    first = generator.permutation(groups[np.argsort(met)])[: len(groups) // 2]
    chosen = np.isin(units.codes, first)
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)
