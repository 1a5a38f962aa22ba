"""Rows that repeat are found where the rows are, and are the same ones everywhere."""

import gc

import numpy as np
import pytest

import nammd
from nammd.data import repeats
from nammd.data.arrays import at_home
from nammd.data.repeats import KeyCounts, in_common, row_keys
from nammd.data.row_grouping import RowGrouping
from nammd.evidence import prepare
from nammd.evidence.cautions import copied_rows
from nammd.explaining.chance import Together
from nammd.explaining.row_facts import row_facts

torch = pytest.importorskip("torch")


def with_ties(rng, rows, columns, kind):
    """Rows of few or many values, some of them minus zero, and some of them copies of others."""
    found = rng.normal(size=(rows, columns))
    if kind == "few values":
        found = np.round(found) * rng.choice([-1.0, 1.0], (rows, columns))
    again = rng.integers(0, rows, rows // 4)
    found[rng.integers(0, rows, rows // 4)] = found[again]
    return found


def counted(points):
    keys = row_keys(points)
    return KeyCounts.of(np.sort(keys) if isinstance(keys, np.ndarray) else keys.sort()[0])


@pytest.mark.parametrize("kind", ["few values", "many values"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rows", "columns"), [(2, 1), (60, 1), (500, 3), (90_000, 2)])
def test_torch_finds_what_numpy_finds(kind, dtype, rows, columns):
    rng = np.random.default_rng([rows, columns])
    x, y = (with_ties(rng, rows, columns, kind).astype(dtype) for _ in range(2))
    y[: rows // 3] = x[: rows // 3]
    here, there = (x, y), (torch.asarray(x), torch.asarray(y))
    for mine, theirs in zip(here, there, strict=True):
        np.testing.assert_array_equal(row_keys(mine), at_home(row_keys(theirs)))
        one, other = counted(mine), counted(theirs)
        assert isinstance(other.values, torch.Tensor)
        assert isinstance(other.counts, torch.Tensor)
        np.testing.assert_array_equal(one.values, at_home(other.values))
        np.testing.assert_array_equal(one.counts, at_home(other.counts))
        assert (one.rows, one.copies, one.may_be_chance) == (other.rows, other.copies, other.may_be_chance)
    x_here, y_here, x_there, y_there = map(counted, (*here, *there))
    np.testing.assert_array_equal(x_here.among(y_here), at_home(x_there.among(y_there)))
    assert in_common(x_here, y_here) == in_common(x_there, y_there) == in_common(x_here, y_there)


def test_keys_are_in_the_order_they_have_without_a_sign():
    """Which rows are looked at follows from it, so it must not change."""
    first = row_keys(np.array([[1.0, 2.0], [0.5, -3.0]]))
    assert [int(key) + (1 << 63) for key in first] == unsigned_keys([[1.0, 2.0], [0.5, -3.0]])


def unsigned_keys(points):
    """The definition, in whole numbers of Python."""
    factors = [2 * int(f) + 1 for f in np.random.default_rng(0).integers(0, 2**63, 2, dtype=np.uint64)]
    found = []
    for row in np.asarray(points).view(np.uint64).tolist():
        total = 0
        for bits, factor in zip(row, factors, strict=True):
            mixed = ((bits ^ (bits >> 29)) * 0x9E3779B97F4A7C15) % 2**64
            total += (mixed ^ (mixed >> 32)) * factor
        found.append(total % 2**64)
    return found


def test_zeros_have_no_sign_and_autograd_does_no_harm():
    zeros = torch.tensor([[0.0, -0.0], [-0.0, 0.0]], requires_grad=True)
    before = zeros.detach().clone()
    assert len(counted(zeros).values) == 1
    assert torch.equal(torch.signbit(zeros), torch.signbit(before))


@pytest.mark.parametrize("place", [np.asarray, torch.asarray])
def test_copies_within_a_group_are_not_counted(place):
    keys = place(np.array([5, 9, 5, 5, 9, 5], dtype=np.int64))
    found = KeyCounts.once_in_each(keys, np.array([0, 1, 1, 0, 1, 2]))
    assert at_home(found.values).tolist() == [5, 9]
    assert at_home(found.counts).tolist() == [3, 1]


def sample_of(points, name="x", **options):
    [sample] = prepare({name: points}, kernel=nammd.Gaussian(1.0), **options)
    return sample


@pytest.mark.parametrize("one", [np.asarray, torch.asarray])
@pytest.mark.parametrize("two", [np.asarray, torch.asarray])
def test_samples_are_compared_wherever_they_are(one, two):
    points = np.random.default_rng(0).normal(size=(50, 2))
    x, y, other = sample_of(one(points)), sample_of(two(points.copy())), sample_of(two(points[::-1].copy()))
    assert x.same_rows(y)
    assert not x.same_rows(other)
    assert in_common(x.key_counts, other.key_counts) == 50
    together = Together(1.0, 1.0)
    assert [fact.code for fact in row_facts(x, other, [], together)] == ["same-data"]
    shorter = sample_of(two(np.concatenate([points[:30], points[30:40] + 1])))
    accepted = [np.sort(row_keys(points))]
    assert {fact.code for fact in row_facts(x, shorter, accepted, together)} >= {"rows-in-reference"}


@pytest.mark.parametrize("place", [np.asarray, torch.asarray])
def test_what_is_said_of_rows_is_the_same_everywhere(place):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 60, 2))
    kernel = nammd.Gaussian(1.0)
    for left, right, code in (
        (x, x.copy(), "same-rows"),
        (x, np.concatenate([y[:40], x[:20]]), "rows-in-common"),
        (np.repeat(x, 2, axis=0), y, "copied-rows"),
    ):
        found = nammd.distance(place(left), place(right), kernel=kernel)
        assert code in [caution.code for caution in found.cautions]
    once = nammd.distance(place(x), place(y), kernel=kernel)
    assert not {"same-rows", "rows-in-common", "copied-rows"} & {each.code for each in once.cautions}
    bad = x.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="x contains NaN or infinity in 1 of its 60 rows"):
        nammd.distance(place(bad), place(y), kernel=kernel)


@pytest.mark.parametrize("place", [np.asarray, torch.asarray])
def test_groups_of_copies_are_told(place):
    rng = np.random.default_rng(2)
    x = np.repeat(rng.normal(size=(40, 2)), 2, axis=0)
    apart, inside = np.tile([0, 1], 40) + 2 * (np.arange(80) // 8), np.repeat(np.arange(40), 2)
    for labels, times in ((apart, True), (inside, False)):
        [sample] = prepare({"x": place(x)}, kernel=nammd.Gaussian(1.0), grouping=RowGrouping((labels,)))
        assert (copied_rows(sample) is not None) == times


def test_rows_in_common_are_looked_for_once(monkeypatch):
    looked = []
    inner = repeats._found_in_common
    monkeypatch.setattr(repeats, "_found_in_common", lambda *both: looked.append(1) or inner(*both))
    x, y = np.random.default_rng(3).normal(size=(2, 60, 2))
    nammd.distance(x, y, kernel=nammd.Gaussian(1.0))
    assert len(looked) == 1
    one, two = counted(x), counted(y)
    in_common(one, two)
    assert len(one.common) == 1
    del two
    gc.collect()
    assert len(one.common) == 0


def test_nothing_of_the_size_of_the_data_leaves_its_place_but_sums(monkeypatch):
    """Only sums of rows come to NumPy; the rows stay where they are."""
    from nammd.data import arrays
    from nammd.engines.tiles import jobs

    moved = []
    inner = arrays.at_home

    def watched(array):
        if not isinstance(array, np.ndarray):
            moved.append(tuple(array.shape))
        return inner(array)

    monkeypatch.setattr(arrays, "at_home", watched)
    monkeypatch.setattr(repeats, "at_home", watched)
    monkeypatch.setattr(jobs, "to_numpy", lambda array: np.asarray(array, dtype=np.float64))
    x, y = torch.asarray(np.random.default_rng(4).normal(size=(2, 2500, 2)))
    nammd.distance(x, y, kernel=nammd.Gaussian(2.0))
    assert max(shape[0] for shape in moved) <= 1024
