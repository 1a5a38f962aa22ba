"""Columns of arrays on a device are counted there, all at once; the counts are those of NumPy's way."""

import numpy as np
import pytest

import nammd
from nammd.data.opening import open_dataset
from nammd.encoding import Encoding
from nammd.views import there
from nammd.views.counting import tally_columns
from nammd.views.measure import measures_of

torch = pytest.importorskip("torch")

ROWS = 3000


@pytest.fixture(autouse=True)
def the_cpu_is_a_device(monkeypatch):
    monkeypatch.setattr("nammd.engines.columns.ELSEWHERE", ())


def columns(seed=0, rows=ROWS):
    """Return columns of many kinds: smooth, far out, rounded, of few values, with heavy ones, and huge."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=rows)
    return np.column_stack(
        [
            normal,
            normal + 0.3 * rng.normal(size=rows),
            rng.standard_t(1, size=rows),
            rng.normal(1e6, 1e-2, size=rows),
            np.round(rng.exponential(size=rows), 2),
            rng.integers(0, 5, size=rows),
            np.where(rng.random(rows) < 0.4, 0.0, rng.normal(size=rows)),
            np.where(rng.random(rows) < 0.9, 7.0, rng.normal(size=rows)),
            rng.normal(size=rows) * 1e150,
        ]
    )


def tallies(array, other, pairs=True):
    """Return the tallies of a reference and of a candidate by its columns."""
    reference, candidate = open_dataset(array, "x"), open_dataset(other, "y")
    encoding = Encoding.identity(array.shape[1])
    measures = measures_of(encoding, reference)
    found = tally_columns(reference, measures, encoding, pairs=pairs)
    known = found.relations.columns if pairs else False
    return measures, found, tally_columns(candidate, measures, encoding, pairs=known)


def assert_the_same(one, two):
    assert list(one.columns) == list(two.columns)
    for name, column in one.columns.items():
        here, there_ = column.counts, two.columns[name].counts
        assert here.exact == there_.exact
        assert here.present == there_.present
        np.testing.assert_array_equal(here.places, there_.places)
        np.testing.assert_allclose(here.rows, there_.rows, rtol=0, atol=1e-8)
        assert (
            here.marks.low,
            here.marks.high,
            here.marks.below_zero,
            here.marks.grain,
            here.marks.units,
        ) == (
            there_.marks.low,
            there_.marks.high,
            there_.marks.below_zero,
            there_.marks.grain,
            there_.marks.units,
        )
    mine, theirs = one.relations, two.relations
    assert mine.columns.pairs == theirs.columns.pairs
    np.testing.assert_array_equal(mine.counts, theirs.counts)
    np.testing.assert_array_equal(mine.sizes, theirs.sizes)
    assert set(mine.quantiles) == set(theirs.quantiles)
    for name, quantiles in mine.quantiles.items():
        np.testing.assert_array_equal(quantiles, theirs.quantiles[name])
    for name, made in mine.columns.classes.items():
        other = theirs.columns.classes[name]
        assert made.ranked == other.ranked
        np.testing.assert_array_equal(made.edges, other.edges)
        np.testing.assert_array_equal(made.shares, other.shares)


@pytest.mark.parametrize("at_once", [there._AT_ONCE, 2 * ROWS])
def test_counts_are_those_of_numpy(monkeypatch, at_once):
    monkeypatch.setattr(there, "_AT_ONCE", at_once)
    x, y = columns(), columns(1, 2000)
    here, elsewhere = tallies(x, y), tallies(torch.asarray(x), torch.asarray(y))
    assert here[0] == elsewhere[0]
    for one, two in zip(here[1:], elsewhere[1:], strict=True):
        assert_the_same(one, two)


def test_numbers_of_32_bits_are_counted_the_same():
    x, y = (columns(seed)[:, :8].astype(np.float32) for seed in (0, 1))
    here, elsewhere = tallies(x, y), tallies(torch.asarray(x), torch.asarray(y))
    assert here[0] == elsewhere[0]
    for one, two in zip(here[1:], elsewhere[1:], strict=True):
        assert_the_same(one, two)


def test_of_many_pairs_the_same_are_looked_at():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 70)) + rng.normal(size=(600, 1))
    here, elsewhere = tallies(x, x[::-1].copy()), tallies(torch.asarray(x), torch.asarray(x[::-1].copy()))
    assert len(here[1].relations.columns.pairs) == 2000
    for one, two in zip(here[1:], elsewhere[1:], strict=True):
        assert_the_same(one, two)


def test_columns_come_home_only_where_they_have_few_values(monkeypatch):
    taken = []
    real = there.look_there

    def noting(array, measures, together, look):
        def noted(measure):
            taken.append(measure.name)
            return look(measure)

        return real(array, measures, together, noted)

    monkeypatch.setattr("nammd.views.counting.look_there", noting)
    tallies(torch.asarray(columns()), torch.asarray(columns(1)))
    assert taken == ["5", "5"]


def test_a_check_of_tensors_is_that_of_arrays():
    x, y = columns(rows=800)[:, :5], columns(1, rows=800)[:, :5]
    y[:, 1] = np.random.default_rng(2).permutation(y[:, 1])
    verdicts = []
    for one, two in ((x, y), (torch.asarray(x), torch.asarray(y))):
        verdicts.append(nammd.Tolerance.from_reference(one, scales="median").check(one, two))
    here, elsewhere = verdicts
    assert str(here.decision) == str(elsewhere.decision)
    for one, two in zip(here.column_checks, elsewhere.column_checks, strict=True):
        assert one.name == two.name
        assert one.pvalue == pytest.approx(two.pvalue, rel=1e-6)
    for one, two in zip(here.pair_checks, elsewhere.pair_checks, strict=True):
        assert one.names == two.names
        assert one.pvalue == pytest.approx(two.pvalue, rel=1e-9)
