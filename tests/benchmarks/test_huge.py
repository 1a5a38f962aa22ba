"""The file of the benchmark of a hundred million rows."""

import pytest

from benchmarks import huge


def test_a_file_is_written_by_groups_of_rows_and_a_longer_one_begins_alike(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(huge, "GROUP_ROWS", 100)
    for rows in (200, 250):
        huge.write(tmp_path / f"{rows}.parquet", rows)
    short, long = (parquet.ParquetFile(tmp_path / f"{rows}.parquet") for rows in (200, 250))
    assert [long.metadata.row_group(k).num_rows for k in range(long.num_row_groups)] == [100, 100, 50]
    assert long.read_row_groups([0, 1]).equals(short.read())
    assert not list(tmp_path.glob("*.part"))
