"""Samples are uniform, the same for the same seed, and small."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import stats

from nammd.tables import read
from nammd.tables.sampling import Reservoir, sample_positions
from tests.tables.writers import write_csv, write_json


def reservoir_sample(total, size, rng, batch):
    reservoir = Reservoir(size, rng, lambda rows, positions: rows[positions], np.concatenate)
    for start in range(0, total, batch):
        rows = np.arange(start, min(total, start + batch))
        reservoir.add(rows, len(rows))
    assert reservoir.seen == total
    return reservoir.sample()


@pytest.mark.parametrize("batch", [1, 7, 40])
def test_every_row_is_as_likely_as_any_other(batch):
    rng = np.random.default_rng(0)
    total, size, times = 40, 8, 2000
    counts = np.zeros(total)
    pairs = np.zeros((total, total))
    for _ in range(times):
        rows = reservoir_sample(total, size, rng, batch)
        assert len(rows) == size
        assert (np.diff(rows) > 0).all()  # in order, without repetition
        counts[rows] += 1
        pairs[np.ix_(rows, rows)] += 1
    # The counts of rows drawn without replacement vary less than Poisson's, by 1 - size/total.
    spread = np.sum((counts - times * size / total) ** 2) / (times * size / total * (1 - size / total))
    assert 0.001 < stats.chi2(total - 1).sf(spread) < 0.999
    together = pairs[np.triu_indices(total, 1)] / times
    expected = size * (size - 1) / (total * (total - 1))
    assert abs(together - expected).max() < 5 * np.sqrt(expected / times)


@pytest.mark.parametrize("batch", [1, 3, 100, 1000])
def test_the_size_of_the_batches_does_not_matter(batch):
    np.testing.assert_array_equal(reservoir_sample(1000, 50, 5, batch), sample_positions(1000, 50, 5))


def test_the_seed_decides():
    same, other = sample_positions(1000, 50, 5), sample_positions(1000, 50, 6)
    np.testing.assert_array_equal(same, sample_positions(1000, 50, np.random.default_rng(5)))
    assert not np.array_equal(same, other)


def test_the_global_random_state_is_left_alone():
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    sample_positions(100, 5, None)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.fixture
def memory():
    """Arrow's memory since the test began, and its peak."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    yield pool
    pa.set_memory_pool(before)


def larger_table(rows):
    rng = np.random.default_rng(0)
    return pa.table({f"c{i}": rng.normal(size=rows) for i in range(8)})


@pytest.mark.parametrize("form", ["x.parquet", "folder", "x.csv", "x.arrow"])
def test_a_sampled_file_is_never_in_memory_as_a_whole(form, tmp_path, memory):
    rows = 400_000  # 26 MB of numbers
    table, path = larger_table(rows), tmp_path / form
    if form == "folder":
        path.mkdir()
        for i in range(4):
            part = table.slice(i * rows // 4, rows // 4)
            pa.parquet.write_table(part, path / f"{i}.parquet", row_group_size=20_000)
    elif form == "x.parquet":
        pa.parquet.write_table(table, path, row_group_size=20_000)
    elif form == "x.csv":
        write_csv(table.slice(0, rows // 4), path)  # 15 MB of text
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)  # one batch
    size = table.nbytes if form != "x.csv" else path.stat().st_size * 2
    del table
    fresh = pa.proxy_memory_pool(memory)
    pa.set_memory_pool(fresh)
    loaded = read(path, sample=1000)
    assert loaded.rows == 1000
    assert fresh.max_memory() < 0.75 * size if form == "x.csv" else 0.5 * size


def test_a_sampled_json_file_is_never_in_memory_as_a_whole(tmp_path, memory):
    table = larger_table(60_000)
    write_json(table, tmp_path / "x.jsonl")  # 12 MB of text
    fresh = pa.proxy_memory_pool(memory)
    pa.set_memory_pool(fresh)
    assert read(tmp_path / "x.jsonl", sample=100).rows == 100
    assert fresh.max_memory() < (tmp_path / "x.jsonl").stat().st_size


@pytest.mark.parametrize("form", ["x.npy", "x.npz"])
def test_a_sampled_array_is_never_in_memory_as_a_whole(form, tmp_path):
    import tracemalloc

    array = np.zeros((500_000, 8))
    {"x.npy": np.save, "x.npz": np.savez_compressed}[form](tmp_path / form, array)
    tracemalloc.start()
    try:
        assert read(tmp_path / form, sample=100).data.shape == (100, 8)
        assert tracemalloc.get_traced_memory()[1] < array.nbytes / 2
    finally:
        tracemalloc.stop()
