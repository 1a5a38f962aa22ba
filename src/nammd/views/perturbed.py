"""The distance that a perturbation of all rows makes in one column, exactly, from counts.

The perturbations are those of `nammd.tolerances.perturbation`; in one column nothing has to be drawn at
random, since what becomes of the distribution is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.row_units import RowUnits
from nammd.views.comparing import group_pair
from nammd.views.counts import Counts, LabelCounts, NumberCounts
from nammd.views.features import ColumnRows
from nammd.views.grouped import column_units
from nammd.views.limits import LEAST_ROWS, aspects, part
from nammd.views.negligible import moved_by
from nammd.views.placed import PlacedSample, pair_of_placed, placed
from nammd.views.stacked import stacked_pairs
from nammd.views.support import APART

_NODES = 15


def perturbed_distances(reference: Counts, kind: str, level: float) -> dict[str, float]:
    """Return the distances to the perturbed column, by aspect; none where the perturbation does not apply."""
    if isinstance(reference, NumberCounts):
        if kind == "noise" and reference.present >= LEAST_ROWS:
            return {"values": _noise(reference, level)}
        if kind == "missing":
            return {"missing": _mixed(reference.presence(), level, np.array([0.0, 1.0]))}
        return {}
    if kind == "missing":
        return {"labels": _mixed(reference, level, _only_missing(reference))}
    if kind == "flips":
        labels = np.full(len(reference.rows) + 1, 1.0 / len(reference.rows))
        labels[-1] = 0.0
        return {"labels": _mixed(reference, level, labels)}
    return {}


def block_distances(parts: list[Counts]) -> dict[str, float]:
    """Return, by aspect, the largest distance of a block of rows from the rest."""
    found = {}
    for aspect in aspects(parts[0]):
        samples = placed([part(aspect, each) for each in parts])
        total = sum((sample.rows for sample in samples), np.zeros(samples[0].support.size))
        values = []
        for sample in samples:
            rest = PlacedSample(sample.support, total - sample.rows)
            if min(sample.size, rest.size) >= LEAST_ROWS:
                values.append(pair_of_placed(rest, sample).value)
        if values and max(values) > 0:
            found[aspect] = max(values)
    return found


def blocks_of_columns(parts: Iterable[tuple[Sequence[Counts], Sequence[Counts]]]) -> list[dict[str, float]]:
    """Return the same for very many columns: the counts of all of them in a block, and in the rest."""
    asked, pairs = list[tuple[int, str]](), list[tuple[Counts, Counts]]()
    for block, rest in parts:
        for k, both in enumerate(zip(rest, block, strict=True)):
            for aspect in aspects(both[0]):
                x, y = (part(aspect, each) for each in both)
                if min(x.size, y.size) >= LEAST_ROWS:
                    asked.append((k, aspect))
                    pairs.append((x, y))
    values = np.zeros(len(pairs))
    for which, pair in stacked_pairs(pairs):
        values[which] = pair.value
    found: list[dict[str, float]] = [{} for _ in rest]
    for (k, aspect), value in zip(asked, values.tolist(), strict=True):
        if value > found[k].get(aspect, 0.0):
            found[k][aspect] = value
    return found


def unit_block_distances(column: ColumnRows, units: RowUnits, edges: Sequence[int]) -> dict[str, float]:
    """Return the same of rows that belong together; a group may be in a block and in the rest."""
    far: dict[str, float] = {}
    for start, stop in pairwise(edges):
        block = np.arange(start, stop)
        rest = np.delete(np.arange(len(units.codes)), block)
        one, two = (column_units(column.taken(rows), units.take(rows)) for rows in (rest, block))
        for aspect in column.aspects:
            x, y = one[aspect], two[aspect]
            if min(x.totals.count, y.totals.count) < LEAST_ROWS:
                continue
            value = group_pair(x, y).value
            if value > 0:
                far[aspect] = max(value, far.get(aspect, 0.0))
    return far


def _noise(reference: NumberCounts, level: float) -> float:
    """Return the distance to the numbers with normal noise of so many units, by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    copies = [moved_by(reference, float(level * node)) for node in nodes]
    x, *moved = placed([reference.on_lattice(), *copies])
    m = x.size
    rows = sum((w * sample.rows for w, sample in zip(weights, moved, strict=True)), np.zeros(len(x.rows)))
    y = PlacedSample(x.support, rows)
    gaps = level * (nodes[:, None] - nodes)
    own = float(weights @ np.exp(-0.5 * gaps**2) @ weights)  # two noises on the same row
    pairs = float(weights @ np.exp(-0.5 * (level * nodes) ** 2))
    xx = (float(x.rows @ x.seen) - m) / (m * (m - 1))
    yy = (float(y.rows @ y.seen) - m * own) / (m * (m - 1))
    xy = (float(x.rows @ y.seen) - m * pairs) / (m * (m - 1))
    return (xx + yy - 2 * xy) / (4.0 - xx - yy)


def _only_missing(reference: LabelCounts) -> FloatArray:
    gone = np.zeros(len(reference.rows) + 1)
    gone[-1] = 1.0
    return gone


def _mixed(reference: LabelCounts, share: float, other: FloatArray) -> float:
    """Return the distance of P to (1 - s) P + s Q, Q given by its shares of the labels."""
    [x] = placed([reference])
    m = x.size
    own = (float(x.rows @ x.seen) - m) / (m * (m - 1))
    across = float(other @ x.seen) / m
    theirs = APART + (1.0 - APART) * float(other @ other)
    squared = share**2 * (own + theirs - 2 * across)
    mixed = (1 - share) ** 2 * own + 2 * share * (1 - share) * across + share**2 * theirs
    return squared / (4.0 - own - mixed)
