"""Laws of tables that stay where they are, for each kind of them: the results of the same rows in memory.

A module that imports all of it gives a fixture `lazily`, which makes such a table of an Arrow table.
"""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import nammd
from nammd.data import mapped, mapped_tables
from nammd.data.mapped_tables import MappedTable
from nammd.data.opening import open_dataset
from nammd.kernels import large
from nammd.spaces.space import sample_of
from tests.counting import count_method

CLOSE = {"rel": 1e-9, "abs": 1e-9}


def table(seed, rows=600, older=0.0):
    """Return a table with numbers, missing values, labels, texts that stand for numbers, and a constant."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.normal(40 + 10 * older, 10, rows),
            "income": pa.array(rng.lognormal(size=rows), mask=rng.random(rows) < 0.1),
            "city": rng.choice(["Ulm", "Bonn", "Kiel"], rows),
            "size": [f"{value:.2f}".replace(".", ",") for value in rng.normal(size=rows)],
            "land": ["c"] * rows,
        }
    )


REFERENCE, ACCEPTED, CANDIDATE = table(0), table(1, older=0.3), table(2, 550, older=1.0)


@cache
def in_memory(many):
    """Return the tolerance of the same rows in memory; what is computed depends on whether rows are many."""
    assert many == (large.MOST_ROWS == 500)
    return nammd.Tolerance.from_reference(REFERENCE, ACCEPTED)


@cache
def checked_in_memory(many):
    """Return its verdict on the candidate."""
    return in_memory(many).check(REFERENCE, CANDIDATE)


GROUPED = [each.append_column("user", pa.array(np.arange(len(each)) // 5)) for each in (REFERENCE, CANDIDATE)]


@cache
def answers_in_memory():
    """Return what a test by permutations and a distance of groups say of the same rows in memory."""
    tested = nammd.two_sample_test(REFERENCE, CANDIDATE, rng=0)
    return tested, nammd.distance(*GROUPED, groups="user")


@pytest.fixture
def many(monkeypatch):
    """Let 500 rows be as many as can be compared in pairs, and 350 as many as come home."""
    monkeypatch.setattr(large, "MOST_ROWS", 500)
    monkeypatch.setattr(large, "FEATURES", 120)
    monkeypatch.setattr(mapped_tables, "HOME_ROWS", 350)
    monkeypatch.setattr(mapped, "PIECE_ROWS", 125)


@pytest.fixture
def passes(lazily, monkeypatch):
    """Return a function that tells how many passes were made over a table, by what it is called."""
    kind = type(open_dataset(lazily(REFERENCE), "x", settled=False).in_pieces().mapper)
    made = [count_method(monkeypatch, kind, name) for name in ("each", "total")]
    return lambda owner: sum(given[0].owner == owner for calls in made for given in calls)


def assert_same(found, expected):
    """Compare two distances."""
    assert (found.m, found.n) == (expected.m, expected.n)
    assert found.value == pytest.approx(expected.value, **CLOSE)
    assert found.standard_error == pytest.approx(expected.standard_error, **CLOSE)
    assert found.confidence_interval() == pytest.approx(expected.confidence_interval(), **CLOSE)


def assert_same_verdict(found, expected):
    """Compare two verdicts: all that was tested, and all that is said but for how rows were drawn."""
    assert_same(found.estimate, expected.estimate)
    assert (found.pvalue_close, found.pvalue_far) == pytest.approx(
        (expected.pvalue_close, expected.pvalue_far), **CLOSE
    )
    for kind in ("column_checks", "pair_checks"):
        ours, theirs = getattr(found, kind), getattr(expected, kind)
        assert [each.name for each in ours] == [each.name for each in theirs]
        assert [each.pvalue for each in ours] == pytest.approx([each.pvalue for each in theirs], **CLOSE)
    assert len(found.pair_checks) == 6
    assert str(found) == str(expected)


def test_few_rows_come_home_in_one_pass(lazily, passes):
    x, y = lazily(REFERENCE), lazily(CANDIDATE)
    found = nammd.distance(x, y)
    assert passes("x") == passes("y") == 1
    assert_same(found, nammd.distance(REFERENCE, CANDIDATE))
    assert open_dataset(x, "x").in_memory


def test_few_rows_can_do_all_that_rows_in_memory_can(lazily):
    tolerance = in_memory(many=False)
    x, y = lazily(REFERENCE), lazily(CANDIDATE)
    tested, grouped = answers_in_memory()
    assert str(tolerance.check(x, y)) == str(checked_in_memory(many=False))
    assert str(nammd.Tolerance.from_reference(x, lazily(ACCEPTED))) == str(tolerance)
    assert nammd.two_sample_test(x, y, rng=0).pvalue == tested.pvalue
    assert_same(nammd.distance(*map(lazily, GROUPED), groups="user"), grouped)


def test_many_rows_are_summed_where_they_are(lazily, many, passes):
    space = nammd.Space.fit(REFERENCE)
    x, y = lazily(REFERENCE), lazily(CANDIDATE)
    assert isinstance(open_dataset(x, "x"), MappedTable)
    before = passes("x")
    found = nammd.distance(x, y, space=space)
    # The size, and rows drawn at random; rows that stand for all; sums of features; every row's own; and what
    # could not be read of texts that stand for numbers.
    assert passes("x") - before == passes("y") == 5
    assert found.engine == "Mapped()"
    assert isinstance(found.kernel, nammd.RandomFeatures)
    assert_same(found, nammd.distance(REFERENCE, CANDIDATE, space=space))
    assert_same(nammd.distance(REFERENCE, y, space=space), nammd.distance(REFERENCE, CANDIDATE, space=space))


def test_a_check_of_many_rows(lazily, many, passes):
    tolerance = nammd.Tolerance.from_reference(lazily(REFERENCE), lazily(ACCEPTED))
    assert tolerance.epsilon == pytest.approx(in_memory(many=True).epsilon, **CLOSE)
    gate = tolerance.with_reference(lazily(REFERENCE))
    before = passes("the reference")
    found = gate.check(lazily(CANDIDATE))
    # As for a distance, but all columns are counted together with what could not be read; at all scales.
    assert passes("the candidate") == 5
    # Two walks; texts that could not be read; and columns that had one value. Further checks only walk.
    assert passes("the reference") - before == 4
    gate.check(lazily(CANDIDATE))
    assert passes("the reference") - before == 6
    assert_same_verdict(found, checked_in_memory(many=True))


def test_a_random_part_of_many_rows_is_compared_in_pairs(lazily, many):
    reference = REFERENCE[:150]
    tolerance = nammd.Tolerance.from_reference(reference, ACCEPTED[:150])
    found = tolerance.check(reference, lazily(CANDIDATE))
    assert_same_verdict(found, tolerance.check(reference, CANDIDATE))
    assert "150 reference, 350 of 550 candidate" in str(found)
    assert found.estimate.engine == "Tiles()"


def test_pairs_of_columns_are_counted_in_rows_drawn_at_random(lazily, many, monkeypatch):
    tolerance = in_memory(many=True)
    monkeypatch.setattr("nammd.data.dask_tables.FIT_ROWS", 450)
    found = tolerance.check(REFERENCE, lazily(CANDIDATE))
    assert "6 pairs in 450 rows drawn at random" in str(found)
    again = tolerance.check(REFERENCE, lazily(CANDIDATE))
    assert [each.pvalue for each in again.pair_checks] == [each.pvalue for each in found.pair_checks]


def test_a_sketch_is_made_in_one_pass(lazily, passes):
    space = nammd.Space.fit(REFERENCE)
    found, expected = (nammd.Sketch.of(each, space=space) for each in (lazily(CANDIDATE), CANDIDATE))
    assert passes("x") == 1
    assert len(found) == len(expected)
    np.testing.assert_allclose(found.total, expected.total, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.products, expected.products, rtol=1e-9, atol=1e-9)
    reference = nammd.Sketch.of(REFERENCE, space=space)
    tolerance = nammd.Tolerance.at(0.02, space=space)
    assert str(tolerance.check(reference, found)) == str(tolerance.check(reference, expected))


def test_a_digest_tells_the_same_rows(lazily, many):
    space = nammd.Space.fit(REFERENCE)
    one, again, other = (
        sample_of(open_dataset(lazily(each), "x"), space, True).digest
        for each in (REFERENCE, REFERENCE, ACCEPTED)
    )
    assert one == again != other


def test_what_needs_all_rows_is_refused(lazily, many):
    x, y = lazily(REFERENCE), lazily(CANDIDATE)
    for ask in (
        lambda: nammd.distance(x, y, exact=True),
        lambda: nammd.two_sample_test(x, y),
        lambda: nammd.distance(x, y).report("a.html"),
    ):
        with pytest.raises(TypeError, match=r"x is .*needs all of its 600 rows in memory; give a sample"):
            ask()
    with pytest.raises(TypeError, match="rows of one group may lie apart"):
        nammd.distance(x, y, groups="city")
    with pytest.raises(TypeError, match=r"Tolerance.from_noise perturbs .* give a sample of its rows"):
        nammd.Tolerance.from_noise(x)
    with pytest.raises(TypeError, match="leave engine out"):
        nammd.distance(x, y, engine=nammd.Tiles())


def test_objections_are_those_to_rows_in_memory(lazily, many):
    tolerance = in_memory(many=True)
    infinite = np.array(CANDIDATE["age"].to_pylist())
    infinite[200] = np.inf
    bad = CANDIDATE.set_column(0, "age", pa.array(infinite))
    with pytest.raises(ValueError, match="the column 'age' of the candidate contains infinity in 1 of its"):
        tolerance.check(REFERENCE, lazily(bad))
    with pytest.raises(ValueError, match="city"):
        tolerance.check(REFERENCE, lazily(CANDIDATE.drop_columns(["city"])))
    with pytest.raises(ValueError, match="the candidate is empty: it has no rows"):
        tolerance.check(REFERENCE, lazily(CANDIDATE[:0]))


def test_records_are_columns(lazily, many):
    both = [each.select(["age", "city"]).to_struct_array() for each in (REFERENCE, CANDIDATE)]
    nested = [pa.table({"of": each}) for each in both]
    space = nammd.Space.fit(nested[0])
    assert_same(nammd.distance(*map(lazily, nested), space=space), nammd.distance(*nested, space=space))
