"""Samples are uniform, the same for the same seed, and small."""

import subprocess
import sys
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import stats

from nammd.data.sampling import Reservoir, sample_positions
from nammd.tables import read
from tests.reading.writers import write_csv, write_json


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
    total, size, times = 40, 8, 1000
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


PEAK = """
import sys, pyarrow
pyarrow.set_cpu_count(4)  # on any machine: with more threads it reads further ahead
from nammd.tables import read
assert read(sys.argv[1], sample=1000).rows == 1000
print(pyarrow.default_memory_pool().max_memory())
"""


def peak_memory(path):
    """The most memory that Arrow had at a time while a sample was read, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", PEAK, path], capture_output=True, text=True, check=True)
    return int(done.stdout)


@cache
def numbers(rows):
    rng = np.random.default_rng(0)
    return pa.table({f"c{i}": rng.normal(size=rows) for i in range(8)})


def write_one_batch(table, path):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def write_parts(table, path):
    path.mkdir()
    for i in range(4):
        part = table.slice(i * len(table) // 4, len(table) // 4)
        pa.parquet.write_table(part, path / f"{i}.parquet", row_group_size=20_000)


@pytest.mark.parametrize(
    ("form", "write", "rows", "share"),
    [
        ("x.parquet", lambda t, path: pa.parquet.write_table(t, path, row_group_size=20_000), 400_000, 0.5),
        ("folder", write_parts, 400_000, 0.75),
        ("x.arrow", write_one_batch, 400_000, 0.5),
        ("x.csv", write_csv, 400_000, 0.75),
        ("x.jsonl", write_json, 40_000, 0.5),
    ],
)
def test_a_sampled_file_is_never_in_memory_as_a_whole(form, write, rows, share, tmp_path):
    table = numbers(rows)
    write(table, tmp_path / form)
    size = max(table.nbytes, (tmp_path / form).stat().st_size)
    assert peak_memory(tmp_path / form) < share * size


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
