"""A sketch is the same whichever way the rows come."""

import tracemalloc

import array_api_strict
import dask.array
import dask.bag
import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet

import nammd
from nammd.kernels.random_features import BLOCK_ROWS
from nammd.sketches.building import block_rows, feature_totals
from nammd.tables import Encoding, read
from tests.sketches.samples import FEATURES, KERNEL, X, Y, same

WHOLE = nammd.Sketch.of(X, FEATURES)
FRAME = pd.DataFrame(
    {
        "amount": X[:, 0],
        "kind": np.where(X[:, 1] > 0, "a", "b"),
        "age": np.where(X[:, 2] > 1, np.nan, X[:, 2]),
    }
)


def test_a_sketch_is_the_sums_of_the_features():
    phi = FEATURES.features(X)
    np.testing.assert_allclose(WHOLE.total, phi.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(WHOLE.products, phi.T @ phi, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(WHOLE.products, WHOLE.products.T)
    assert (len(WHOLE), WHOLE.n, WHOLE.n_columns, WHOLE.encoding) == (700, 700, 3, "")
    assert repr(WHOLE) == f"Sketch(700 rows, 3 columns, {FEATURES})"


WAYS = {
    "list": X.tolist(),
    "torch": torch.asarray(X),
    "array_api_strict": array_api_strict.asarray(X),
    "dask array": dask.array.from_array(X, chunks=(90, 2)),
}
TABLES = {
    "pandas": pd.DataFrame(X, columns=list("abc")),
    "polars": pl.DataFrame({name: X[:, k] for k, name in enumerate("abc")}),
    "arrow": pa.table({name: X[:, k] for k, name in enumerate("abc")}),
    "dask frame": dask.dataframe.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=5),
}
SPACE = nammd.Space.fit(TABLES["arrow"], kernel=KERNEL)
POINTS = SPACE.encoding.transform(TABLES["arrow"])


@pytest.mark.parametrize("way", WAYS)
def test_every_array_gives_the_same_sketch(way):
    same(nammd.Sketch.of(WAYS[way], FEATURES), WHOLE)


@pytest.mark.parametrize("table", TABLES)
def test_every_table_gives_the_sketch_of_its_points(table):
    sketch = nammd.Sketch.of(TABLES[table], FEATURES, space=SPACE)
    same(sketch, nammd.Sketch.of(POINTS, FEATURES))
    assert sketch.encoding == SPACE.encoding.digest
    by_default = nammd.Sketch.of(TABLES[table], space=SPACE)
    assert by_default.features == nammd.RandomFeatures(KERNEL)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_needs_a_space(table):
    with pytest.raises(TypeError, match=r"x is a table.*; give the space of the reference: Sketch.of\("):
        nammd.Sketch.of(TABLES[table], FEATURES)


@pytest.mark.parametrize("library", [np.asarray, torch.asarray], ids=["numpy", "torch"])
def test_float32_rows_are_summed_in_float32_and_stay_close(library):
    x = X.astype(np.float32)
    sketch = nammd.Sketch.of(library(x), FEATURES)
    assert sketch.total.dtype == sketch.products.dtype == np.float64
    exact = nammd.Sketch.of(x.astype(np.float64), FEATURES)
    same(sketch, exact, rtol=1e-6)
    assert np.abs(sketch.products - exact.products).max() > 0  # not made in float64


def test_blocks_and_threads_do_not_change_a_bit():
    x = np.random.default_rng(0).normal(size=(2 * BLOCK_ROWS + 17, 2))
    one, two = (feature_totals(x, FEATURES, threads) for threads in (1, 3))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])
    by_hand = FEATURES.features(x)
    np.testing.assert_allclose(one[1], by_hand.T @ by_hand, rtol=1e-9, atol=1e-9)


def test_batches_add_up_and_empty_ones_do_not_matter():
    batches = [X[:100], X[100:100], X[100:650], X[650:]]
    same(nammd.Sketch.of_batches(iter(batches), FEATURES), WHOLE)


def test_merging_is_adding_rows():
    parts = [nammd.Sketch.of(X[a:b], FEATURES) for a, b in ((0, 50), (50, 500), (500, 700))]
    same(parts[0] + parts[1] + parts[2], WHOLE)
    same(parts[2] + (parts[0] + parts[1]), WHOLE)
    assert len(parts[0]) == 50  # unchanged


def test_an_update_changes_the_sketch_and_no_earlier_result():
    sketch, other = nammd.Sketch.of(X[:300], FEATURES), nammd.Sketch.of(Y, FEATURES)
    estimate = nammd.distance(sketch, other)
    before = nammd.distance(sketch, other).confidence_interval()
    assert sketch.update(X[300:]) is sketch
    same(sketch, WHOLE)
    assert estimate.confidence_interval() == before  # of the 300 rows, though asked for afterwards
    assert nammd.distance(sketch, other).value != estimate.value


def test_one_dimensional_data_are_one_column():
    features = nammd.RandomFeatures(KERNEL, 16)
    same(nammd.Sketch.of(X[:, 0], features), nammd.Sketch.of(X[:, :1], features))
    same(
        nammd.Sketch.of(dask.array.from_array(X[:, 0], chunks=100), features),
        nammd.Sketch.of(X[:, 0], features),
    )


def test_without_features_the_bandwidth_is_the_median_distance():
    assert nammd.Sketch.of(X).features == nammd.RandomFeatures(nammd.Gaussian.median(X), 1024, rng=0)
    assert nammd.Sketch.of(WAYS["dask array"]).features == nammd.Sketch.of(X).features


def test_mixed_tables_go_through_their_encoding(tmp_path):
    encoding = Encoding.fit(FRAME)
    whole = nammd.Sketch.of(encoding.transform(FRAME), FEATURES)
    sketch = nammd.Sketch.of(FRAME, FEATURES, space=nammd.Space(encoding, FEATURES))
    same(sketch, whole)
    assert sketch.encoding
    assert whole.encoding == ""
    parquet.write_table(pa.Table.from_pandas(FRAME), tmp_path / "x.parquet")
    FRAME.to_csv(tmp_path / "x.csv", index=False)
    for name in ("x.parquet", "x.csv"):
        made = nammd.Sketch.of_file(
            tmp_path / name, FEATURES, space=nammd.Space(encoding, FEATURES), batch_rows=150
        )
        same(made, sketch)
        assert made.encoding == sketch.encoding
    frame = dask.dataframe.from_pandas(FRAME, npartitions=3)
    same(nammd.Sketch.of(frame, FEATURES, space=nammd.Space(encoding, FEATURES)), sketch)
    same(
        nammd.Sketch.of(FRAME[:100], FEATURES, space=nammd.Space(encoding, FEATURES)).update(
            FRAME[100:], space=nammd.Space(encoding, FEATURES)
        ),
        sketch,
    )


def test_an_empty_partition_does_not_matter():
    frame = dask.dataframe.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=4)
    same(nammd.Sketch.of(frame[frame.a > 0], FEATURES, space=SPACE), sketch_of_points(X[X[:, 0] > 0]))
    sorted_frame = dask.dataframe.from_pandas(
        pd.DataFrame(np.sort(X, axis=0), columns=list("abc")), npartitions=4
    )
    some = sorted_frame[sorted_frame.a > 1]
    kept = np.sort(X, axis=0)[np.sort(X[:, 0]) > 1]
    same(nammd.Sketch.of(some, FEATURES, space=SPACE), sketch_of_points(kept))
    with pytest.raises(ValueError, match="every partition is empty"):
        nammd.Sketch.of(sorted_frame[sorted_frame.a > 100], FEATURES, space=SPACE)


def sketch_of_points(values):
    return nammd.Sketch.of(pd.DataFrame(values, columns=list("abc")), FEATURES, space=SPACE)


def test_a_file_larger_than_its_batches_is_never_in_memory(tmp_path):
    """The file has 16 MB; sketching it must not take more than a few batches of half a MB."""
    rows, columns = 125_000, 16
    path = tmp_path / "large.parquet"
    schema = pa.schema([(f"c{k}", pa.float64()) for k in range(columns)])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, 5_000):
            block = np.random.default_rng(start).normal(size=(columns, 5_000))
            writer.write_table(pa.Table.from_arrays(list(block), schema=schema))
    size = rows * columns * 8
    assert path.stat().st_size > 0.9 * size
    features = nammd.RandomFeatures(nammd.Gaussian(4.0), 8)
    space = nammd.Space.fit(read(path, sample=100).data, kernel=nammd.Gaussian(4.0))
    arrow_before = pa.total_allocated_bytes()
    largest_arrow = []
    tracemalloc.start()
    sketch = nammd.Sketch.of_file(
        path,
        features,
        space=space,
        batch_rows=4096,
        threads=1,
        progress=lambda done, total: largest_arrow.append(pa.total_allocated_bytes() - arrow_before),
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sketch.n == rows
    counts = 2 * 16 * 2500 * columns  # of values near points of a lattice; they do not grow with the file
    assert peak < size / 8 + counts
    assert max(largest_arrow) < size / 4


def test_what_cannot_be_sketched_is_refused(tmp_path):
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN or infinity in 1 of its 700 rows"):
        nammd.Sketch.of(broken, FEATURES)
    with pytest.raises(ValueError, match="empty"):
        nammd.Sketch.of(X[:0], FEATURES)
    with pytest.raises(ValueError, match="no rows to sketch"):
        nammd.Sketch.of_batches([], FEATURES)
    with pytest.raises(ValueError, match="one has 3 columns, a later one 2"):
        nammd.Sketch.of_batches([X, X[:, :2]], FEATURES)
    with pytest.raises(TypeError, match="features must be random features"):
        nammd.Sketch.of(X, KERNEL)
    with pytest.raises(ValueError, match="a partition of x contains NaN or infinity in 1 of its 90 rows"):
        nammd.Sketch.of(dask.array.from_array(broken, chunks=(90, 3)), FEATURES)
    for other in (dask.delayed(X), dask.bag.from_sequence([1, 2])):
        with pytest.raises(TypeError, match=f"must be a Dask array or dataframe, not {type(other).__name__}"):
            nammd.Sketch.of(other, FEATURES)
    for threads in (0, "a", True):
        with pytest.raises((ValueError, TypeError), match="threads must be a whole number of at least 1"):
            nammd.Sketch.of(X, FEATURES, threads=threads)
    with pytest.raises(ValueError, match="threads must be a whole number"):
        nammd.Sketch.of_batches([X], FEATURES, threads=0)
    with pytest.raises(TypeError, match="x is a sketch, and this needs rows"):
        nammd.Sketch.of(WHOLE, FEATURES)
    with pytest.raises(ValueError, match="3 dimensions"):
        nammd.Sketch.of(dask.array.zeros((4, 4, 4)), FEATURES)
    np.save(tmp_path / "x.npy", broken)
    with pytest.raises(ValueError, match=r"cannot sketch .*x.npy: x contains NaN"):
        nammd.Sketch.of_file(tmp_path / "x.npy", FEATURES)
    parquet.write_table(TABLES["arrow"], tmp_path / "x.parquet")
    with pytest.raises(TypeError, match=r"cannot sketch .*x.parquet: x is a table.*; give the space of"):
        nammd.Sketch.of_file(tmp_path / "x.parquet", FEATURES)


ONE_DATASET = {
    "array": X,
    "column": X[:, 0],
    "tensor": torch.asarray(X),
    "pandas": pd.DataFrame(X),
    "polars": TABLES["polars"],
    "arrow": TABLES["arrow"],
    "dask": WAYS["dask array"],
    "dask frame": TABLES["dask frame"],
    "sketch": WHOLE,
    "text": "rows.csv",
}


@pytest.mark.parametrize("what", ONE_DATASET)
def test_one_dataset_is_not_a_stream_of_batches(what):
    with pytest.raises(
        TypeError, match=r"iterable of arrays or tables, not one .*use Sketch.of\(x, features\)"
    ):
        nammd.Sketch.of_batches(ONE_DATASET[what], FEATURES)


def test_a_cube_is_a_stream_of_batches():
    same(nammd.Sketch.of_batches(X.reshape(7, 100, 3), FEATURES), WHOLE)


def told(make):
    """Return what a function is told of the progress."""
    calls = []
    make(lambda done, total: calls.append((done, total)))
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    return calls


def test_progress_is_told_in_rows(tmp_path):
    np.save(tmp_path / "x.npy", X)
    pd.DataFrame(X).to_csv(tmp_path / "x.csv", index=False)
    parquet.write_table(TABLES["arrow"], tmp_path / "x.parquet")
    space = nammd.Space.fit(pd.DataFrame(X, columns=["0", "1", "2"]), kernel=KERNEL)
    whole = [(0, 700), (700, 700)]
    assert told(lambda p: nammd.Sketch.of(X, FEATURES, progress=p)) == whole
    assert told(lambda p: nammd.Sketch.of(torch.asarray(X), FEATURES, progress=p)) == whole
    dask_calls = told(lambda p: nammd.Sketch.of(WAYS["dask array"], FEATURES, progress=p))
    assert (dask_calls[0], dask_calls[-1]) == ((0, 700), (700, 700))
    uncounted = told(lambda p: nammd.Sketch.of(TABLES["dask frame"], FEATURES, space=SPACE, progress=p))
    assert (uncounted[0], uncounted[-1]) == ((0, 5), (5, 5))
    for name, options in (("x.npy", {}), ("x.parquet", {"space": SPACE})):
        options |= {"batch_rows": 300}
        path = tmp_path / name
        calls = told(lambda p, path=path, o=options: nammd.Sketch.of_file(path, FEATURES, progress=p, **o))
        assert (calls[0], calls[-1]) == ((0, 700), (700, 700))
    unknown = [(300, None), (600, None), (700, None)]
    csv = {"space": space, "batch_rows": 300}
    calls = told(lambda p: nammd.Sketch.of_file(tmp_path / "x.csv", FEATURES, progress=p, **csv))
    assert calls == unknown
    stream = [X[:300], X[300:600], X[600:]]
    assert told(lambda p: nammd.Sketch.of_batches(stream, FEATURES, progress=p)) == unknown


def test_progress_within_a_batch_counts_among_all_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("nammd.engines.progress._UPDATE_SECONDS", 0.0)
    np.save(tmp_path / "x.npy", np.tile(X, (30, 1)))
    calls = told(
        lambda p: nammd.Sketch.of_file(tmp_path / "x.npy", FEATURES, batch_rows=10_000, threads=1, progress=p)
    )
    assert [done for done, _ in calls] == [0, 4096, 8192, 10_000, 14_096, 18_192, 20_000, 21_000]
    assert {total for _, total in calls} == {21_000}


def test_many_features_are_summed_in_smaller_blocks(monkeypatch):
    assert [block_rows(size) for size in (4, 2048, 4096, 10**6)] == [4096, 4096, 2048, 1024]
    # A tenth is many, for once: the products of so many features take seconds.
    monkeypatch.setattr("nammd.sketches.building.FULL_FEATURES", 205)
    features = nammd.RandomFeatures(KERNEL, 410)
    assert block_rows(410) == 2048
    x = np.tile(X, (4, 1))
    phi = features.features(x)
    np.testing.assert_allclose(nammd.Sketch.of(x, features).products, phi.T @ phi, rtol=1e-9, atol=1e-9)


def test_sketches_can_be_summed():
    parts = [nammd.Sketch.of(X[a:b], FEATURES) for a, b in ((0, 50), (50, 500), (500, 700))]
    same(sum(parts), WHOLE)
    for other in (1, 0.5, "a"):
        with pytest.raises(TypeError):
            other + WHOLE


def test_one_row_and_one_column_are_said_in_the_singular():
    assert repr(nammd.Sketch.of(X[:1, :1], FEATURES)) == f"Sketch(1 row, 1 column, {FEATURES})"


OTHERS = {
    "seed": (nammd.Sketch.of(X, nammd.RandomFeatures(KERNEL, 64, rng=5)), r"different seeds \(4 and 5\)"),
    "number": (nammd.Sketch.of(X, nammd.RandomFeatures(KERNEL, 32, rng=4)), "64 and 32 features"),
    "kernel": (nammd.Sketch.of(X, nammd.RandomFeatures(nammd.Gaussian(2.0), 64, rng=4)), "kernels differ"),
    "columns": (nammd.Sketch.of(X[:, :2], FEATURES), "3 and 2 columns"),
    "encoding": (
        nammd.Sketch.of(X, FEATURES, space=nammd.Space(Encoding.fit(X, column_weights={"0": 2.0}), FEATURES)),
        "different encodings",
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_sketches_that_do_not_belong_together_are_refused(what):
    other, words = OTHERS[what]
    with pytest.raises(ValueError, match=f"cannot be added: .*{words}"):
        WHOLE + other
    with pytest.raises(ValueError, match=f"cannot be compared: .*{words}"):
        nammd.distance(WHOLE, other)
    with pytest.raises(ValueError, match=words):
        nammd.compare_pairs((WHOLE, nammd.Sketch.of(Y, FEATURES)), (other, other + other))


def test_a_sketch_adds_to_sketches_only():
    with pytest.raises(TypeError):
        WHOLE + X
