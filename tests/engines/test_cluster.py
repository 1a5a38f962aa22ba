"""Laws of the cluster engine: the sums of the tile engine, whatever the blocks and whoever computes them."""

import pickle

import dask
import dask.array as da
import numpy as np
import pytest
from dask.delayed import Delayed

import nammd
from nammd.engines.cluster import block_pairs
from nammd.kernels.deep import Deep
from nammd.kernels.networks import mlp
from tests.engines.test_engines import FIELDS, GAUSSIAN, MIXTURE, fields_of, samples
from tests.kernels.cases import CASES

DEEP = Deep(mlp(3, rng=0), bandwidth=1.5, feature_bandwidth=0.7)


@pytest.fixture(autouse=True)
def here():
    """Compute in this thread: the laws do not depend on who computes, and threads take time to start."""
    with dask.config.set(scheduler="synchronous"):
        yield


def spread(*arrays, rows):
    return tuple(da.from_array(array, chunks=(rows, -1)) for array in arrays)


def assert_same(sums, expected, rtol=1e-10):
    for field in FIELDS:
        if getattr(expected, field) is None:
            assert getattr(sums, field) is None
        else:
            np.testing.assert_allclose(getattr(sums, field), getattr(expected, field), rtol, err_msg=field)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name.replace(" ", "-"))
def test_every_kernel_gives_the_sums_of_tiles(case):
    x, y = samples(61, 45)
    engine = nammd.Cluster(block_rows=13)
    sums = nammd.kernel_sums(*spread(x, y, rows=13), case.make(), engine)
    assert_same(sums, nammd.kernel_sums(x, y, case.make()))


def test_a_deep_kernel_gives_the_sums_of_tiles():
    x, y = samples(61, 45)
    sums = nammd.kernel_sums(*spread(x, y, rows=20), DEEP, nammd.Cluster(block_rows=20))
    assert_same(sums, nammd.kernel_sums(x, y, DEEP))


@pytest.mark.parametrize("kernel", [*(case.make() for case in CASES[:6]), DEEP, MIXTURE], ids=repr)
def test_kernels_travel_to_workers(kernel):
    x, y = samples(9, 7)
    there = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(np.asarray(there(x, y)), np.asarray(kernel(x, y)))


@pytest.mark.parametrize("block_rows", [5, 7, 30, 50, 64, None])
@pytest.mark.parametrize(("m", "n"), [(2, 2), (50, 50), (50, 51), (64, 3)])
def test_sums_hold_for_blocks_of_any_size(m, n, block_rows):
    x, y = samples(m, n)
    sums = nammd.kernel_sums(*spread(x, y, rows=17), MIXTURE, nammd.Cluster(block_rows=block_rows))
    assert_same(sums, nammd.kernel_sums(x, y, MIXTURE))


def test_ragged_chunks_of_two_samples_of_one_size_are_cut_alike():
    x, y = samples(60, 60)
    ragged = da.from_array(x, chunks=((3, 30, 1, 26), (2, 1))), da.from_array(y, chunks=((40, 20), (3,)))
    sums = nammd.kernel_sums(*ragged, GAUSSIAN, nammd.Cluster(block_rows=30))
    assert_same(sums, nammd.kernel_sums(x, y, GAUSSIAN))
    assert sums.xy_diagonal == pytest.approx(nammd.kernel_sums(x, y, GAUSSIAN).xy_diagonal, rel=1e-12)


def test_off_diagonal_cross_pairs_leave_out_the_rows_of_the_same_number():
    x, _ = samples(90, 90)
    y = x + 0.1
    spread_x, spread_y = da.from_array(x, chunks=(25, -1)), da.from_array(y, chunks=(40, -1))
    options = {"kernel": GAUSSIAN, "cross": "off-diagonal"}
    estimate = nammd.paper.distance(spread_x, spread_y, engine=nammd.Cluster(block_rows=20), **options)
    assert estimate.value == pytest.approx(nammd.paper.distance(x, y, **options).value, abs=1e-12)


def test_many_blocks_are_added_up_in_several_levels(monkeypatch):
    monkeypatch.setattr(block_pairs, "FAN_IN", 2)
    x, y = samples(9, 6)
    sums = nammd.kernel_sums(*spread(x, y, rows=1), GAUSSIAN, nammd.Cluster(block_rows=1))
    assert_same(sums, nammd.kernel_sums(x, y, GAUSSIAN))


def test_float32_blocks_are_computed_in_float32():
    x, y = samples(150, 140, dtype="float32")
    sums = nammd.kernel_sums(*spread(x, y, rows=40), GAUSSIAN, nammd.Cluster(block_rows=40))
    exact = nammd.kernel_sums(x.astype("float64"), y.astype("float64"), GAUSSIAN)
    assert_same(sums, exact, rtol=1e-5)
    assert abs(sums.xx_rows / exact.xx_rows - 1).max() > 1e-10
    forced = nammd.Cluster(40, tiles=nammd.Tiles(threads=1, dtype="float64"))
    assert_same(nammd.kernel_sums(*spread(x, y, rows=40), GAUSSIAN, forced), exact)


def test_the_scheduler_does_not_change_a_bit():
    x, y = samples(120, 110)
    found = []
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            engine = nammd.Cluster(block_rows=9)
            found.append(nammd.kernel_sums(*spread(x, y, rows=9), MIXTURE, engine))
    for field, value in fields_of(found[0]).items():
        np.testing.assert_array_equal(getattr(found[1], field), value)


@pytest.mark.parametrize("block_rows", [4, 8, 11, 100])
def test_quadratic_forms_are_those_of_tiles(block_rows):
    z, _ = samples(45, 2)
    vectors = np.random.default_rng(1).normal(size=(45, 6))
    [blocks] = spread(z, rows=10)
    forms = nammd.Cluster(block_rows=block_rows).quadratic_forms(MIXTURE, blocks, vectors)
    np.testing.assert_allclose(forms, nammd.Tiles().quadratic_forms(MIXTURE, z, vectors), 1e-10)


@pytest.mark.parametrize("method", ["nammd", "mmd", "nammd-fuse"])
def test_a_permutation_test_has_the_same_p_value(method):
    x, y = samples(70, 60)
    options = {"method": method, "permutations": 29, "rng": 3}
    there = nammd.two_sample_test(*spread(x, y, rows=20), engine=nammd.Cluster(block_rows=20), **options)
    here = nammd.two_sample_test(x, y, **options)
    assert there.pvalue == here.pvalue
    np.testing.assert_allclose(there.null, here.null, atol=1e-10)


def test_other_methods_say_that_they_need_the_rows():
    x, y = spread(*samples(70, 60), rows=20)
    with pytest.raises(TypeError, match=r"'mmd-agg' needs the rows in memory.*use one of 'nammd', 'mmd'"):
        nammd.two_sample_test(x, y, method="mmd-agg")


def test_delayed_sums_are_computed_when_they_are_asked_for():
    x, y = samples(40, 30)
    read = []

    def block(info):
        read.append(info)
        return x[info * 10 : info * 10 + 10]

    parts = [da.from_delayed(dask.delayed(block)(k), (10, 3), "float64") for k in range(4)]
    engine = nammd.Cluster(block_rows=10)
    delayed = engine.delayed(
        GAUSSIAN, (da.concatenate(parts),), (da.concatenate(parts), spread(y, rows=10)[0])
    )
    assert all(isinstance(d, Delayed) for d in delayed)
    assert read == []
    within, cross = dask.compute(*delayed)
    assert sorted(read) == [0, 1, 2, 3]  # once, though every block meets seven others
    expected = nammd.kernel_sums(x, y, GAUSSIAN)
    np.testing.assert_allclose(within.rows, expected.xx_rows, 1e-12)
    np.testing.assert_allclose(cross.cols, expected.xy_cols, 1e-12)
    assert cross.diagonal is None


def test_progress_is_told_up_to_the_end():
    x, y = spread(*samples(80, 60), rows=10)
    told = []
    engine = nammd.Cluster(block_rows=10, progress=lambda done, total: told.append((done, total)))
    nammd.kernel_sums(x, y, GAUSSIAN, engine)
    whole = (80 * 80 + 60 * 60) / 2 + 80 * 60
    assert told[0] == (0, whole)
    assert told[-1] == (whole, whole)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_work_is_counted_to_the_last_pair(monkeypatch, scheduler):
    monkeypatch.setattr("nammd.engines.progress._UPDATE_SECONDS", 0.0)
    x, y = spread(*samples(80, 60), rows=10)
    told = []
    engine = nammd.Cluster(block_rows=10, progress=lambda done, total: told.append(done / total))
    with dask.config.set(scheduler=scheduler):
        nammd.kernel_sums(x, y, GAUSSIAN, engine)
    assert len(told) > 15  # a step for every row of blocks, not only the ends
    assert told == sorted(told)


def test_blocks_are_what_the_option_says_or_near():
    x = da.zeros((100, 2), chunks=(20, 2))
    cut = {rows: nammd.Cluster(rows)._in_blocks([(x,)])[0][0].chunks[0] for rows in (20, 15, 50, 7)}
    assert cut == {20: (20,) * 5, 15: (20,) * 5, 50: (50, 50), 7: (7,) * 10 + (6,) * 5}


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [(40_000, 16, 16_384), (4_000_000, 16, 62_500), (10**9, 16, 131_072), (10**9, 100_000, 167)],
)
def test_default_blocks_grow_with_the_sample_but_not_beyond_bounds(rows, columns, expected):
    assert nammd.Cluster()._limit(rows, 8 * columns) == expected


def test_samples_in_memory_are_handed_to_the_workers():
    x, y = samples(50, 40)
    [within, cross] = nammd.Cluster(block_rows=15).sums(GAUSSIAN, (x,), (x, spread(y, rows=40)[0]))
    expected = nammd.kernel_sums(x, y, GAUSSIAN)
    np.testing.assert_allclose(within.rows, expected.xx_rows, 1e-12)
    np.testing.assert_allclose(cross.rows, expected.xy_rows, 1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Cluster()"),
        ({"block_rows": 500}, "Cluster(block_rows=500)"),
        ({"progress": print}, "Cluster()"),
        ({"tiles": nammd.Tiles(threads=2)}, "Cluster(tiles=Tiles(threads=2))"),
    ],
)
def test_an_engine_shows_what_was_set(options, words):
    assert repr(nammd.Cluster(**options)) == words


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"block_rows": 0}, ValueError, "block_rows must be a whole number of at least 1, not 0"),
        ({"block_rows": True}, TypeError, "block_rows must be a whole number"),
        ({"tiles": 3}, TypeError, r"tiles must be an engine such as nammd.Tiles\(threads=1\), not 3"),
        ({"progress": "yes"}, TypeError, "progress must be True, False, None or a function"),
    ],
)
def test_wrong_options_are_named(options, error, words):
    with pytest.raises(error, match=words):
        nammd.Cluster(**options)


def test_several_kernels_are_summed_in_one_graph():
    x, y = samples(61, 45)
    kernels = [nammd.Gaussian(2.0), nammd.Gaussian(1.0), nammd.Gaussian(0.25)]
    parts = (x,), (y,), (x, y), (x, x + 0.1)
    found = nammd.Cluster(block_rows=13).many_sums(kernels, *(spread(*part, rows=13) for part in parts))
    for here, there in zip(found, nammd.Tiles().many_sums(kernels, *parts), strict=True):
        for mine, theirs in zip(here, there, strict=True):
            np.testing.assert_allclose(mine.rows, theirs.rows, rtol=1e-10)
            assert mine.squares == pytest.approx(theirs.squares, rel=1e-10)
        assert here[3].diagonal == pytest.approx(there[3].diagonal, rel=1e-10)


def test_a_check_on_a_cluster_has_the_scales_of_one_in_memory():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 2)), rng.normal(size=(260, 2)).round(1)
    tolerance = nammd.Tolerance.from_reference(x, negligible=False)
    expected = tolerance.check(x, y, allow=["all"]).scale_checks
    found = tolerance.check(*spread(x, y, rows=90), allow=["all"]).scale_checks
    assert [each.scale for each in found] == [each.scale for each in expected]
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.distance == pytest.approx(theirs.distance, rel=1e-8, abs=1e-14)
        assert mine.pvalue == pytest.approx(theirs.pvalue, rel=1e-6)
