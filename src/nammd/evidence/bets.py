"""Bets on the rows of a batch, from sums that an engine computes: `bets_on_rows`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nammd.data.arrays import Array, FloatArray, take_rows
from nammd.engines import Engine, choose_engine
from nammd.evidence.accepted import AcceptedRows, Rows, of_all_pairs
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
        with_themselves = of_all_pairs(kernel, corners, inner)
    else:
        corners, inner, with_themselves = around.corners, around.hull.inner, around.with_themselves
    across = [cross, *evidence.beside[: len(corners) - 1]]
    sizes = np.array([corner.points.shape[0] for corner in corners])
    hull = FixedHull(inner, with_themselves, float(kernel.bound))
    seen = np.column_stack([sums.cols for sums in across]) / sizes
    return hull.evidence(*_halves(kernel, evidence.y.points, seen, engine), eps)


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
