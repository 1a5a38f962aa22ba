"""Batches taken together: what is proven, by how many of them, and how often falsely."""

import numpy as np
import pytest
from scipy.special import ndtr

import nammd
from nammd.datasets.laws.families import known_pair
from nammd.statistics.margin import margin
from nammd.statistics.stream import GivenReference
from nammd.statistics.window import Batches, lengths, proven
from tests.simulate import pairs_of, pvalue

WITHIN, BEYOND = -1, 1
LAWS = ["shifted normal", "scaled normal", "contaminated", "rare stray"]


def batches(scores, *, given=1.0, reference=0.0, apart=(), doubtful=(), rows=None):
    """Batches that are so many deviations below the tolerance, each with an honest p-value."""
    scores = np.asarray(scores, float)
    ones = np.ones(len(scores))
    deviation = np.hypot(given, reference)
    return Batches(
        u=-scores * deviation,
        given=given * ones,
        pvalue=ndtr(-scores),
        deviation=deviation * ones,
        shared=(reference * ones)[:, None],
        rows=100 * ones if rows is None else np.asarray(rows, float),
        apart=np.isin(np.arange(len(scores)), apart),
        doubtful=np.isin(np.arange(len(scores)), doubtful),
    )


def test_window_grows_until_it_decides_and_no_further():
    """A level of .05 over nine lengths takes 2.54 deviations: 1.4 * sqrt(4) has them, 1.4 * sqrt(3) not."""
    found = proven(batches([1.4] * 6), np.full(6, 0.05), 30)
    assert found.side.tolist() == [0, 0, 0, WITHIN, WITHIN, WITHIN]
    assert found.length.tolist() == [0, 0, 0, 4, 4, 4]
    found = proven(batches([-1.4] * 6), np.full(6, 0.05), 30)
    assert found.side.tolist() == [0, 0, 0, BEYOND, BEYOND, BEYOND]


def test_the_number_of_looks_is_paid_for_before_there_are_so_many_batches():
    """Two lengths take 1.96 deviations, nine 2.54: 1.5 * sqrt(2) is between."""
    level = np.full(3, 0.05)
    assert proven(batches([1.5] * 3), level, 3).length.tolist() == [0, 2, 2]
    assert proven(batches([1.5] * 3), level, 30).length.tolist() == [0, 0, 3]


def test_without_batches_or_lengths_nothing_is_proven():
    assert proven(batches([]), np.empty(0), 30).side.size == 0
    assert lengths(1) == ()
    assert proven(batches([9.0, 9.0]), np.full(2, 0.05), 1).side.tolist() == [0, 0]


def test_no_window_reaches_across_a_batch_that_speaks_against_it():
    found = proven(batches([1.4] * 9, apart=[4]), np.full(9, 0.05), 30)
    assert found.length.tolist() == [0, 0, 0, 4, 0, 0, 0, 0, 4]
    found = proven(batches([1.4] * 9, doubtful=[4]), np.full(9, 0.05), 30)
    assert found.length.tolist() == [0, 0, 0, 4, 0, 0, 0, 0, 4]
    beyond = proven(batches([-1.4] * 6, doubtful=[4]), np.full(6, 0.05), 30)
    assert beyond.length.tolist() == [0, 0, 0, 4, 4, 4]  # what is in doubt speaks not against that
    unknown = batches([1.4] * 9)
    unknown.pvalue[4] = np.nan
    assert proven(unknown, np.full(9, 0.05), 30).length.tolist() == [0, 0, 0, 4, 0, 0, 0, 0, 4]


def test_the_error_of_the_reference_does_not_average_out():
    """With an error of its own that is as large as that of a batch, no number of batches is enough."""
    level = np.full(30, 0.05)
    assert proven(batches([1.2] * 30, reference=1.0), level, 30).side.tolist() == [0] * 30
    assert proven(batches([1.2] * 30), level, 30).side[-1] == WITHIN


def test_rows_are_weights():
    level = np.full(2, 0.05)
    assert proven(batches([-2.0, 1.5], rows=[10_000, 100]), level, 2).side[-1] == BEYOND
    assert proven(batches([-2.0, 1.5], rows=[100, 100]), level, 2).side[-1] == 0
    assert proven(batches([-2.0, 2.5], rows=[100, 10_000]), level, 2).side[-1] == WITHIN


def test_a_batch_of_many_rows_costs_the_others_no_digits():
    rows = [1e15, *([100] * 5)]
    found = proven(batches([1.4] * 6, rows=rows, apart=[0]), np.full(6, 0.05), 30)
    assert found.length.tolist() == [0, 0, 0, 0, 4, 4]


def simulated(pair, m, n, rng, count):
    """Return the reference and the batches of a stream exactly at the tolerance, and their pairs."""
    x, batches = pair.p.sample(rng, m), [pair.q.sample(rng, n) for _ in range(count)]
    return x, batches, pairs_of(x, *batches, kernel=pair.kernel)


def told(pairs, eps):
    """Return what a monitor knows of batches by their pairs with the reference."""
    rows = []
    for pair in pairs:
        given, above = GivenReference.of(pair, eps), margin(pair, eps, "corrected", "greater")
        rows.append((given.u, given.deviation, pvalue(pair, eps, "less"), above.deviation, given.reference))
    u, given_, pvalues, deviation, reference = np.array(rows).T
    none, sizes = np.zeros(len(pairs), bool), np.array([float(pair.rows[1]) for pair in pairs])
    return Batches(u, given_, pvalues, deviation, reference[:, None], sizes, none, none)


@pytest.mark.parametrize("law", LAWS)
def test_the_pairs_are_those_of_a_gate(law):
    laws, rng = known_pair(law, 0.05), np.random.default_rng(27)
    x, batches, pairs = simulated(laws, 1000, 100, rng, 4)
    gate = nammd.Tolerance.at(laws.nammd, laws.kernel, n_columns=x.shape[1]).with_reference(x)
    one, other = told(pairs, laws.nammd), told([gate.distance(y).pair for y in batches], laws.nammd)
    for name in ("u", "given", "pvalue", "deviation", "shared", "rows"):
        # Of many rows some stand for all in the terms of higher order.
        near = 0.02 if name == "pvalue" else 1e-9
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=near, err_msg=name)


@pytest.mark.parametrize("law", LAWS)
def test_at_the_margin_the_last_batches_are_said_to_be_within_or_beyond_at_most_so_often(law):
    """At level .2, of all five lengths together: at the margin each of both is false."""
    rng, level, runs = np.random.default_rng(27), 0.2, 60
    pair, looks = known_pair(law, 0.05), np.full(8, level)
    streams = (told(simulated(pair, 500, 50, rng, 8)[-1], pair.nammd) for _ in range(runs))
    sides = np.array([proven(stream, looks, 8).side[-1] for stream in streams])
    noise = np.sqrt(level * (1 - level) / runs)
    assert np.mean(sides == WITHIN) <= level + 2 * noise
    assert np.mean(sides == BEYOND) <= level + 2 * noise
