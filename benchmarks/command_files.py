"""The files that whole commands are measured on: mixed tables, the same ones every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PLACES = np.array(["Ulm", "Bonn", "Trier", "Jena", "Kiel"])
_OF_TEN = ("number", "number", "whole", "gaps", "place", "number", "amount", "whole", "number", "place")
"""What ten columns that stand together hold: mostly numbers, some of them missing in one column."""

NAMES = ("reference", "accepted", "candidate")


def write_files(folder: Path, rows: int, columns: int, ending: str) -> list[Path]:
    """Write a reference, data that differ a little and are accepted, and a candidate like the reference."""
    paths = [folder / f"{name}-{rows}-{columns}.{ending}" for name in NAMES]
    for seed, (path, shift) in enumerate(zip(paths, (0.0, 0.2, 0.0), strict=True)):
        if not path.exists():
            _write(table(rows, columns, seed, shift), path)
    return paths


def table(rows: int, columns: int, seed: int, shift: float = 0.0) -> Any:
    """Return a table of Arrow's; the shift is that of its first column, in standard deviations."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    drawn = {}
    for place in range(columns):
        kind = _OF_TEN[place % len(_OF_TEN)]
        values = _column(rng, kind, rows)
        missing = rng.random(rows) < 0.05 if kind == "gaps" else None
        drawn[f"{kind} {place}"] = pa.array(values + shift if place == 0 else values, mask=missing)
    return pa.table(drawn)


def _column(rng: np.random.Generator, kind: str, rows: int) -> NDArray[Any]:
    if kind == "whole":
        return rng.poisson(20.0, rows)
    if kind == "place":
        return _PLACES[rng.choice(len(_PLACES), rows, p=[0.4, 0.3, 0.15, 0.1, 0.05])]
    if kind == "amount":
        return rng.lognormal(3.0, 1.0, rows).round(2)
    return rng.normal(size=rows).round(5)


def _write(content: Any, path: Path) -> None:
    from pyarrow import csv, parquet

    if path.suffix == ".csv":
        csv.write_csv(content, path)
    else:
        parquet.write_table(content, path)
