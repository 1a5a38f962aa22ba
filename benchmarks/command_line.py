"""How long a check takes from the shell, start-up included."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.results import Measurement, at_most
from benchmarks.scale import Scale

_COLUMNS = 20


def measure(scale: Scale) -> Iterator[Measurement]:
    what = f"nammd check, two Parquet files of {scale.rows} rows and {_COLUMNS} columns, from the shell"
    if find_spec("pyarrow") is None or find_spec("typer") is None:
        yield Measurement(what, None, "s", at_most(2.0), skipped="nammd[app] is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = _files(Path(folder), scale.rows)
        _seconds(paths)  # writes the bytecode, and brings the files into memory
        seconds = [_seconds(paths) for _ in range(scale.slow_rounds)]
    yield Measurement(what, median(seconds), "s", at_most(2.0), {"rows": scale.rows, "seconds": seconds})


def _files(folder: Path, rows: int) -> list[str]:
    import pyarrow as pa
    from pyarrow import parquet

    paths = []
    for name, rng in (("reference", np.random.default_rng(0)), ("candidate", np.random.default_rng(1))):
        values = rng.normal(size=(_COLUMNS, rows))
        table = pa.table({f"column {k}": column for k, column in enumerate(values)})
        paths.append(str(folder / f"{name}.parquet"))
        parquet.write_table(table, paths[-1])
    return paths


def _seconds(paths: list[str]) -> float:
    command = [sys.executable, "-m", "nammd", "check", *paths, "--epsilon", "0.01"]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):  # equal distributions: close, or undecided
        raise RuntimeError(done.stderr)
    return time.perf_counter() - start
