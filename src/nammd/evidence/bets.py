"""Bets on the rows of a batch, from sums that an engine computes: `bets_on_rows`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nammd.data.arrays import Array, FloatArray, take_rows
from nammd.engines import Engine, choose_engine
from nammd.evidence.accepted import AcceptedRows, Rows, same_units
from nammd.evidence.rows import RowEvidence
from nammd.kernels import Kernel
from nammd.kernels.operations import row_by_row
from nammd.statistics.betting import FixedHull, Half


def bets_on_rows(
    evidence: RowEvidence, around: AcceptedRows | None, eps: float, engine: Engine | None
) -> FloatArray:
    """Return the logarithm of the evidence of a batch against "within eps", for every bet.

    Parameters
    ----------
    evidence : RowEvidence
        The reference and the batch, gathered beside all that was accepted.
    around : AcceptedRows or None
        What was accepted; None where that is the reference alone.
    eps : float
        The tolerance.
    engine : Engine or None
        Which engine computes.
    """
    kernel, cross = evidence.kernel, evidence.kernel_sums.cross
    if around is None:
        corners: Sequence[Rows] = (Rows(evidence.x.points, 0),)
        inner = np.array([[evidence.meeting.moments.x.mean]])
    else:
        corners, inner = around.corners, around.hull.inner
    across = [cross, *evidence.beside[: len(corners) - 1]]
    sizes = np.array([corner.points.shape[0] for corner in corners])
    hull = FixedHull(inner, _of_all_pairs(kernel, corners, inner, sizes), float(kernel.bound))
    seen = np.column_stack([sums.cols for sums in across]) / sizes
    return hull.evidence(*_halves(kernel, evidence.y.points, seen, engine), eps)


def _of_all_pairs(
    kernel: Kernel, corners: Sequence[Rows], inner: FloatArray, sizes: FloatArray
) -> FloatArray:
    """Return the mean kernel values between all rows of corners, also of a unit with itself."""
    found = inner.copy()
    for a, one in enumerate(corners):
        for b, two in enumerate(corners):
            if one.sample == two.sample:
                here, there = same_units(one, two)
                values = row_by_row(kernel, take_rows(one.points, here), take_rows(two.points, there))
                pairs = float(sizes[a] * sizes[b])
                found[a, b] = (inner[a, b] * (pairs - len(here)) + float(np.sum(values))) / pairs
    return found


def _halves(kernel: Kernel, points: Array, seen: FloatArray, engine: Engine | None) -> tuple[Half, Half]:
    """Return two halves of a batch, by chance and always the same ones: its rows may be sorted."""
    count = int(points.shape[0])
    order = np.random.default_rng(0).permutation(count)
    places = order[: count // 2], order[count // 2 :]
    one, two = (take_rows(points, some) for some in places)
    within, other, between = choose_engine(engine, points).sums(kernel, (one,), (two,), (one, two))
    halves = []
    for some, rows, own, met in (
        (places[0], one, within, between.rows),
        (places[1], two, other, between.cols),
    ):
        alone = row_by_row(kernel, rows, rows)
        halves.append(Half((own.rows + alone) / len(some), met / (count - len(some)), seen[some]))
    return halves[0], halves[1]
