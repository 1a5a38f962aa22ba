"""The time grows with the number of columns, not with its square."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import nammd


def _table(columns: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({f"column {k}": rng.normal(size=20) for k in range(columns)})


def _seconds(columns: int, kind: str, folder: Path) -> float:
    """Return the time of the processor, which does not depend on what else the machine does."""
    write = {"parquet": pa.parquet.write_table, "csv": pa.csv.write_csv}[kind]
    paths = [folder / f"{columns}-{name}.{kind}" for name in "xy"]
    for seed, path in enumerate(paths):
        write(_table(columns, seed), path)
    before = time.process_time()
    assert nammd.distance(*paths).value > -1
    return time.process_time() - before


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_four_times_the_columns_take_four_times_the_time(kind: str, tmp_path: Path) -> None:
    _seconds(50, kind, tmp_path)  # imports
    few, many = (min(_seconds(n, kind, tmp_path) for _ in range(2)) for n in (1500, 6000))
    assert many < 9 * few, (few, many)  # the square would be sixteen times


def test_ten_thousand_columns_have_their_encoding() -> None:
    x, y = _table(10_000, 0), _table(10_000, 1)
    assert len(nammd.Space.fit(x, y).encoding.columns) == 10_000
