"""Bets on the rows of a batch are those of the formula, whatever was accepted and whichever engine sums."""

import numpy as np
import pytest

import nammd
from nammd.data.row_grouping import RowGrouping
from nammd.statistics.betting import FixedHull, Half

KERNEL = nammd.Gaussian(1.3)


def by_hand(corners, inner, batch, eps, bound=1.0, kernel=KERNEL):
    """The same from full matrices; `inner` leaves out pairs of one unit, which nobody sees from outside."""
    full = np.array([[kernel(a, b).mean() for b in corners] for a in corners])
    order = np.random.default_rng(0).permutation(len(batch))
    one, two = batch[order[: len(batch) // 2]], batch[order[len(batch) // 2 :]]
    halves = []
    for rows, others in ((one, two), (two, one)):
        seen = np.column_stack([kernel(rows, corner).mean(axis=1) for corner in corners])
        halves.append(Half(kernel(rows, rows).mean(axis=1), kernel(rows, others).mean(axis=1), seen))
    return FixedHull(inner, full, bound).evidence(*halves, eps)


def bets_of(gate, batch):
    candidate = gate.candidate(gate._open(batch))
    verdict = gate.verdict(candidate, 0.05)
    return gate.bets(candidate, verdict)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    return rng.normal(size=(120, 2)), rng.normal(0.6, 1.0, size=(80, 2)), rng.normal(0.9, 1.0, size=(61, 2))


def test_the_reference_alone(data):
    x, _, y = data
    gate = nammd.Tolerance.at(0.03, KERNEL, n_columns=2).with_reference(x)
    gram = KERNEL(x, x)
    inner = np.array([[(gram.sum() - len(x)) / (len(x) * (len(x) - 1))]])
    assert bets_of(gate, y) == pytest.approx(by_hand([x], inner, y, 0.03), rel=1e-9)


def test_beside_accepted_data_and_what_lies_between(data):
    x, accepted, y = data
    tolerance = nammd.Tolerance.from_reference(x, accepted, kernel=KERNEL, margin=0.01)
    gate = tolerance.with_reference(x)
    found = bets_of(gate, y)
    around = gate._comparing._around.at((1.0,))[0]
    corners = [np.asarray(corner.points) for corner in around.corners]
    assert len(corners) > 2  # rows of the reference that moved are among them
    expected = by_hand(corners, around.hull.inner, y, tolerance.epsilon)
    assert found == pytest.approx(expected, rel=1e-6)


def test_a_batch_far_away_is_evidence_and_one_like_the_reference_is_none(data):
    x, accepted, _ = data
    rng = np.random.default_rng(4)
    tolerance = nammd.Tolerance.from_reference(x, accepted, kernel=KERNEL, margin=0.01)
    gate = tolerance.with_reference(x)
    assert bets_of(gate, rng.normal(3.0, 1.0, size=(60, 2))).max() > 10
    assert bets_of(gate, rng.normal(0.3, 1.0, size=(200, 2))).max() < 1


def test_rows_that_belong_together_have_none(data):
    x, _, y = data
    tolerance = nammd.Tolerance.at(0.03, KERNEL, n_columns=2)
    gate = tolerance.with_reference(x, groups=np.arange(len(x)) // 4)
    candidate = gate.candidate(gate._open(y), RowGrouping(np.arange(len(y)) // 4, None))
    assert gate.bets(candidate, gate.verdict(candidate, 0.05)) is None
