"""Sums of kernels with features: those of all pairs, in time proportional to the rows."""

import pickle
import tracemalloc

import numpy as np
import pytest

import nammd
from nammd.engines.cluster.walks import ClusterWalks
from nammd.engines.features import Walks, by_features, feature_sums, split_sums, splits, walks
from nammd.engines.features import sums as module
from nammd.engines.features.waves import Waves
from nammd.engines.units import Units
from nammd.kernels.operations import at_scale

RNG = np.random.default_rng(5)
X, Y, Z = RNG.normal(size=(50, 3)), RNG.normal(0.3, 1, size=(70, 3)), RNG.normal(size=(70, 3))
GAUSSIAN = nammd.RandomFeatures(nammd.Gaussian(2.0), 60, orthogonal=True)
LAPLACE = nammd.RandomFeatures(nammd.Laplace(2.0), 60)
TRIPLED = nammd.RandomFeatures(3 * nammd.Laplace(2.0), 60)
SCALES = (1.0, 0.5, 0.125)


def kernels(first):
    return [first if scale == 1 else at_scale(first, scale) for scale in SCALES]


def by_walks(every, parts, precision="float64"):
    return feature_sums(every, parts, Walks, precision)


def assert_same(found, expected, rtol=1e-10):
    """Compare sums of parts, field by field."""
    for one, two in zip(found, expected, strict=True):
        assert type(one) is type(two)
        for name in ("rows", "cols", "sized", "sized_rows", "sized_cols", "squares"):
            if hasattr(two, name):
                a, b = np.asarray(getattr(one, name)), np.asarray(getattr(two, name))
                np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max(), err_msg=name)


PARTS = [(X,), (Y,), (X, Y), (X, Z), (Y, Z), (Z, X)]


@pytest.mark.parametrize("first", [GAUSSIAN, LAPLACE], ids=["gaussian", "laplace"])
def test_sums_are_those_over_all_pairs(first):
    every = kernels(first)
    expected = nammd.Tiles().many_sums(every, *PARTS)
    for found, sums in zip(by_walks(every, PARTS), expected, strict=True):
        assert_same(found, sums.parts)


def test_kernels_that_are_not_made_of_each_other():
    every = [GAUSSIAN, nammd.RandomFeatures(nammd.Gaussian(1.7), 60), TRIPLED]
    for found, kernel in zip(by_walks(every, PARTS), every, strict=True):
        assert_same(found, nammd.Tiles().sums(kernel, *PARTS).parts)


@pytest.mark.parametrize("at_once", [1, 9])
def test_divisions_of_a_sample_share_their_walks(at_once, monkeypatch):
    # Nine divisions at once are more than a few, and one at once is the usual way.
    monkeypatch.setattr(splits, "MOST_PRODUCTS", 2 * len(Y) * at_once)
    rng, parts = np.random.default_rng(3), []
    for size in range(10, 55, 5):
        order = rng.permutation(len(Y))
        parts.append((order[:size], order[size:]))
    found = split_sums(GAUSSIAN, Y, parts, Walks, "float64")
    for sums, (one, other) in zip(found, parts, strict=True):
        x, y = Y[one], Y[other]
        assert_same(sums, nammd.Tiles().sums(GAUSSIAN, (x,), (y,), (x, y)).parts)


def units(weighted, reach, apart):
    """Return units of X and Y: some in both, unless they are blocks of time."""
    rng = np.random.default_rng(6)
    labels = np.sort(rng.integers(0, 12, 50)), np.sort(rng.integers(5, 25, 70)) + apart
    weights = (rng.uniform(0.5, 2, 50), rng.uniform(0.5, 2, 70)) if weighted else (None, None)
    return [Units(label, weight, reach) for label, weight in zip(labels, weights, strict=True)]


CASES = {
    "groups": units(False, 0, 0),
    "groups that are never in both": units(False, 0, 100),
    "weighted groups": units(True, 0, 0),
    "blocks of time": units(False, 1, 100),
    "weighted blocks": units(True, 2, 100),
    "weighted rows": [Units(np.arange(50), np.linspace(1, 2, 50)), Units(np.arange(30, 100), np.ones(70))],
    "rows": [Units(np.arange(50)), Units(np.arange(50, 120))],
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("held", [1 << 27, 1 << 13])
def test_sums_over_units_are_those_over_all_pairs(case, held, monkeypatch):
    monkeypatch.setattr("nammd.engines.features.own_units.HELD_BYTES", held)
    x, y = zip((X, Y), CASES[case], strict=True)
    parts, every = [(x,), (y,), (x, y)], kernels(GAUSSIAN)
    expected = nammd.Tiles().many_unit_sums(every, *parts)
    for found, sums in zip(by_walks(every, parts), expected, strict=True):
        assert_same(found, sums.parts)


def test_on_other_arrays_and_in_float32():
    torch = pytest.importorskip("torch")
    x, y = torch.asarray(X), torch.asarray(Y)
    expected = [sums.parts for sums in nammd.Tiles().many_sums(kernels(GAUSSIAN), (X,), (X, Y))]
    for found, sums in zip(by_walks(kernels(GAUSSIAN), [(x,), (x, y)]), expected, strict=True):
        assert_same(found, sums)
    own = CASES["weighted groups"]
    parts = [((X, own[0]), (Y, own[1])), ((X, own[0]),)]
    there = [((x, own[0]), (y, own[1])), ((x, own[0]),)]
    for found, sums in zip(by_walks([GAUSSIAN], there), by_walks([GAUSSIAN], parts), strict=True):
        assert_same(found, sums)
    for found, sums in zip(by_walks(kernels(GAUSSIAN), [(X,), (X, Y)], "float32"), expected, strict=True):
        assert_same(found, sums, rtol=1e-5)


def test_on_a_cluster():
    da = pytest.importorskip("dask.array")
    every = kernels(GAUSSIAN)
    parts = [(da.from_array(X, chunks=(20, -1)),), (da.from_array(Y, chunks=(30, -1)),)]
    parts.append((parts[0][0], parts[1][0]))
    cluster = nammd.Cluster(block_rows=20)
    expected = by_walks(every, [(X,), (Y,), (X, Y)])
    for found, sums in zip(cluster._by_features(every, parts), expected, strict=True):
        assert_same(found.parts, sums)


def test_far_rows_and_offsets_cost_no_digits():
    """Phases are those of rows less a middle row; what is still long goes through float64."""
    x, y = X.copy(), Y + 0.2
    x[7] *= 300
    plain = nammd.Tiles().many_sums([GAUSSIAN], (x,), (x, y))[0]
    for shift in (0.0, 1e6):
        [found] = by_walks([GAUSSIAN], [(x + shift,), (x + shift, y + shift)], "float32")
        assert_same(found, plain.parts, rtol=2e-5)


def test_rows_too_far_away_are_refused():
    x = X.copy()
    x[3] = 1e300
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="so far from the origin"):
        by_walks([GAUSSIAN], [(x,)])


@pytest.mark.parametrize("grouped", [False, True])
def test_some_rows_stand_for_pairs(grouped, monkeypatch):
    """Centred at the mean of all rows, a fifth of them tells the sum of squares to a percent."""
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(2000, 3)), rng.normal(0.3, 1, size=(1800, 3))
    kernel = nammd.RandomFeatures(nammd.Gaussian(2.0), 120, orthogonal=True)
    parts = [(x,), (x, y)]
    if grouped:
        one, two = (Units(np.arange(n) // 2 + n, np.linspace(1, 2, n)) for n in (2000, 1800))
        parts = [((x, one),), ((x, one), (y, two))]
    [exact] = by_walks([kernel], parts)
    monkeypatch.setattr(module, "SECOND_ORDER_ROWS", 400)
    [found] = by_walks([kernel], parts)
    for some, every in zip(found, exact, strict=True):
        np.testing.assert_array_equal(some.rows, every.rows)
        assert some.squares == pytest.approx(every.squares, rel=0.01)
        assert some.squares != every.squares


def test_engines_take_this_way_for_many_rows():
    few, many = np.zeros((100, 3)), np.zeros((200, 3))
    assert not by_features([GAUSSIAN], [(few,)])
    assert by_features([GAUSSIAN], [(few, many)])
    assert not by_features([GAUSSIAN, nammd.Gaussian(1.0)], [(few, many)])
    x, y = RNG.normal(size=(2, 300, 3))
    sums = nammd.kernel_sums(x, y, GAUSSIAN)
    assert sums.x.features is not None
    np.testing.assert_allclose(sums.x.features @ sums.x.features, sums.x.total + 300, rtol=1e-10)


@pytest.mark.parametrize("long", [walks._LONG, 0])
def test_threads_change_no_bit(long, monkeypatch):
    monkeypatch.setattr(walks, "BLOCK_BYTES", 1 << 18)  # twenty blocks of each sample
    monkeypatch.setattr(walks, "PRODUCT_ROWS", 1000)  # and as many products
    monkeypatch.setattr(walks, "STRIPE_ROWS", 24)
    monkeypatch.setattr(walks, "_LONG", long)
    x, y = RNG.normal(size=(2, 20_000, 4))
    kernel = nammd.RandomFeatures(nammd.Gaussian(2.0), 64, orthogonal=True)
    one, *others = (nammd.Tiles(threads=threads).sums(kernel, (x,), (x, y)) for threads in (1, 2, 5))
    for other in others:
        for a, b in zip(one, other, strict=True):
            assert a.squares == b.squares
            np.testing.assert_array_equal(a.rows, b.rows)


def test_one_thread_is_no_other(monkeypatch):
    monkeypatch.setattr(walks, "_LONG", 0)
    x = RNG.normal(size=(3000, 4))
    kernel = nammd.RandomFeatures(nammd.Gaussian(2.0), 64, orthogonal=True)
    expected = nammd.Tiles(threads=2).sums(kernel, (x,))[0]

    def refuse(*given, **options):
        raise AssertionError("a thread was started")

    monkeypatch.setattr(walks, "ThreadPoolExecutor", refuse)
    found = nammd.Tiles(threads=1).sums(kernel, (x,))[0]
    np.testing.assert_array_equal(found.rows, expected.rows)
    with pytest.raises(AssertionError, match="a thread was started"):
        nammd.Tiles(threads=2).sums(kernel, (x,))


def test_memory_is_that_of_a_few_blocks():
    x = RNG.normal(size=(20_000, 4))
    kernel = nammd.RandomFeatures(nammd.Gaussian(2.0), 512, orthogonal=True)
    engine = nammd.Tiles(threads=1)
    engine.sums(kernel, (x,))
    tracemalloc.start()
    engine.sums(kernel, (x,))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 0.8 * 20_000 * 512 * 4


def test_waves_travel():
    waves = Waves.of_kernels(kernels(GAUSSIAN), np.zeros(3), "float64")
    again = pickle.loads(pickle.dumps(waves))
    for one, two in zip(waves.of(X), again.of(X), strict=True):
        np.testing.assert_array_equal(one, two)
    assert ClusterWalks(waves, None).waves is waves
