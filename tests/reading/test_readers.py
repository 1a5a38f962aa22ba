"""Every format gives back what was written, whole, in part and in batches."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from nammd.tables import Encoding, batches, read
from tests.reading.writers import ROWS, WRITERS, people, write_csv, write_json, written

PEOPLE = people()


@pytest.mark.parametrize("name", WRITERS)
def test_a_table_comes_back(name, tmp_path):
    path = written(name, tmp_path)
    loaded = read(path)
    assert loaded.data.to_pydict() == PEOPLE.to_pydict()
    assert (loaded.rows, loaded.total_rows, loaded.sampled) == (ROWS, ROWS, False)
    assert loaded.path == path
    assert repr(loaded) == f"Loaded({str(path)!r}, 500 rows, 4 columns)"


@pytest.mark.parametrize("name", WRITERS)
def test_columns_can_be_chosen_in_any_order(name, tmp_path):
    loaded = read(written(name, tmp_path), columns=["member", "age"])
    assert loaded.data.column_names == ["member", "age"]
    assert loaded.data.to_pydict() == PEOPLE.select(["member", "age"]).to_pydict()


@pytest.mark.parametrize("name", WRITERS)
def test_the_same_rows_are_sampled_whatever_the_format(name, tmp_path):
    loaded = read(written(name, tmp_path), sample=60, rng=3)
    expected = read(written("people.parquet", tmp_path), sample=60, rng=3)
    assert (loaded.rows, loaded.total_rows, loaded.sampled) == (60, ROWS, True)
    assert loaded.data.to_pydict() == expected.data.to_pydict()
    assert "60 of 500 rows" in repr(loaded)


@pytest.mark.parametrize("name", WRITERS)
def test_batches_follow_one_another(name, tmp_path):
    parts = list(batches(written(name, tmp_path), columns=["city", "age"], batch_rows=64))
    assert max(part.num_rows for part in parts) <= 64
    assert pa.Table.from_batches(parts).to_pydict() == PEOPLE.select(["city", "age"]).to_pydict()


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_read_can_be_encoded(name, tmp_path):
    loaded = read(written(name, tmp_path))
    expected = Encoding.fit(PEOPLE)
    assert Encoding.fit(loaded.data) == expected
    np.testing.assert_array_equal(expected.transform(loaded.data), expected.transform(PEOPLE))


def test_a_sample_larger_than_the_file_is_the_file(tmp_path):
    loaded = read(written("people.csv", tmp_path), sample=10_000)
    assert not loaded.sampled
    assert loaded.data.to_pydict() == PEOPLE.to_pydict()


def test_hive_partitions_are_columns(tmp_path):
    pa.dataset.write_dataset(
        PEOPLE.filter(pa.compute.is_valid(PEOPLE["age"])),
        tmp_path / "folder",
        format="parquet",
        partitioning=pa.dataset.partitioning(pa.schema([("member", pa.bool_())]), flavor="hive"),
    )
    loaded = read(tmp_path / "folder")
    assert set(loaded.data.column_names) == {"age", "income", "city", "member"}
    assert loaded.rows == len(PEOPLE) - PEOPLE["age"].null_count


def test_parquet_files_of_a_folder_may_differ_in_width_of_type(tmp_path):
    pa.parquet.write_table(pa.table({"a": pa.array([1, 2], pa.int32())}), tmp_path / "1.parquet")
    pa.parquet.write_table(pa.table({"a": [2.5], "b": ["new"]}), tmp_path / "2.parquet")
    assert read(tmp_path).data.to_pydict() == {"a": [1, 2, 2.5], "b": [None, None, "new"]}


def test_a_column_with_a_dot_is_not_taken_for_another(tmp_path):
    table = pa.table({"a": [1, 2], "a.b": [3, 4]})
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet", columns=["a"]).data.column_names == ["a"]
    assert read(tmp_path / "x.parquet", columns=["a.b"]).data.to_pydict() == {"a.b": [3, 4]}


def test_dictionaries_that_differ_from_batch_to_batch_are_sampled(tmp_path):
    names = [f"c{i // 100}" for i in range(1000)]
    chunks = pa.chunked_array([pa.array(names[i : i + 100]).dictionary_encode() for i in range(0, 1000, 100)])
    with pa.ipc.new_stream(tmp_path / "x.arrow", pa.schema([("a", chunks.type)])) as writer:
        writer.write_table(pa.table({"a": chunks}))
    loaded = read(tmp_path / "x.arrow", sample=50)
    positions = read_positions(1000, 50)
    assert loaded.data["a"].to_pylist() == [names[i] for i in positions]


def read_positions(total, size, rng=0):
    from nammd.data.sampling import sample_positions

    return sample_positions(total, size, rng)


@pytest.mark.parametrize("name", ["<script>", "naïve 名前", "a,b", " spaced "])
@pytest.mark.parametrize("write", [write_csv, write_json])
def test_odd_names_of_columns_come_back(name, write, tmp_path):
    path = tmp_path / ("x.csv" if write is write_csv else "x.jsonl")
    write(pa.table({name: [1, 2], "other": [3, 4]}), path)
    assert read(path, columns=[name]).data.to_pydict() == {name: [1, 2]}


def test_nothing_of_an_arrow_file_is_kept_open(tmp_path):
    path = tmp_path / "x.arrow"
    pa.feather.write_feather(PEOPLE, path, compression="uncompressed")
    loaded = read(path)
    path.write_bytes(b"\x00" * path.stat().st_size)
    assert loaded.data.to_pydict() == PEOPLE.to_pydict()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("form", ["x.npy", "x.npz", "packed.npz"])
def test_an_array_comes_back(dtype, order, form, tmp_path):
    array = np.asarray(np.random.default_rng(0).integers(0, 100, (50, 3)), dtype=dtype, order=order)
    save = {"x.npy": np.save, "x.npz": np.savez, "packed.npz": np.savez_compressed}[form]
    save(tmp_path / form, array)
    loaded = read(tmp_path / form)
    assert loaded.data.dtype == array.dtype
    assert (loaded.rows, loaded.total_rows, loaded.notes) == (50, 50, ())
    np.testing.assert_array_equal(loaded.data, array)
    np.testing.assert_array_equal(read(tmp_path / form, columns=["2", "0"]).data, array[:, [2, 0]])
    sample = read(tmp_path / form, sample=7)
    assert (sample.rows, sample.total_rows, sample.sampled) == (7, 50, True)
    np.testing.assert_array_equal(sample.data, array[read_positions(50, 7)])
    parts = list(batches(tmp_path / form, batch_rows=20, columns=["1"]))
    assert [len(part) for part in parts] == [20, 20, 10]
    np.testing.assert_array_equal(np.concatenate(parts), array[:, [1]])


@pytest.mark.parametrize("form", ["x.npy", "x.npz"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_more_dimensions_are_flattened_with_a_note(form, order, tmp_path):
    array = np.asarray(np.arange(24.0).reshape(4, 2, 3), order=order)
    {"x.npy": np.save, "x.npz": np.savez}[form](tmp_path / form, array)
    loaded = read(tmp_path / form)
    np.testing.assert_array_equal(loaded.data, np.arange(24.0).reshape(4, 6))
    assert loaded.notes == ("rows of shape (2, 3) are taken as 6 numbers each",)
    np.savez(tmp_path / "one.npz", np.arange(5))
    np.testing.assert_array_equal(read(tmp_path / "one.npz").data, np.arange(5)[:, None])


def test_an_array_of_several_is_chosen_by_its_key(tmp_path):
    np.savez(tmp_path / "x.npz", train=np.zeros((2, 2)), test=np.ones((3, 2)))
    np.testing.assert_array_equal(read(tmp_path / "x.npz", key="test").data, np.ones((3, 2)))


def test_wide_arrays_come_in_smaller_batches(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((100, 50_000), np.float32))
    parts = list(batches(tmp_path / "x.npy"))
    assert [len(part) for part in parts] == [41, 41, 18]


def test_nothing_heavy_is_imported_with_the_package():
    import subprocess
    import sys

    heavy = "{'pandas', 'polars', 'pyarrow', 'torch', 'PIL', 'narwhals'}"
    code = f"import sys, nammd.tables; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
