"""How much each row counts, as somebody says it: numbers in a column, or for every row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray, is_foreign_array, to_numpy
from nammd.data.dataset import Dataset, TableDataset
from nammd.data.values import Values
from nammd.errors.checks import counted


def row_weights_of(dataset: Dataset, weights: Any, rows: int) -> FloatArray:
    """Return the weights of rows as they were given: positive numbers."""
    if isinstance(weights, str):
        assert isinstance(dataset, TableDataset)
        values = dataset.frame.values(weights)
        what = f"the column {weights!r} of {dataset.name}, which gives the weights of rows,"
        found: FloatArray | None = values.numbers if values.kind == "numeric" else numbers_in(values)
        if found is None:
            raise TypeError(f"{what} holds no numbers")
    else:
        what = f"sample_weight of {dataset.name}"
        raw = one_dimensional(weights, rows, what, "number")
        if raw.dtype.kind not in "fiub":
            raise TypeError(f"{what} must be numbers, not {raw.dtype}")
        found = raw.astype(np.float64)
    if np.isnan(found).any():
        raise ValueError(
            f"{what} is missing in {counted(int(np.isnan(found).sum()), 'row')}; fill it, or leave these "
            "rows out"
        )
    bad = ~(np.isfinite(found) & (found > 0))
    if bad.any():
        first = float(found[bad][0])
        raise ValueError(
            f"{what} must be positive, but is {first:g} in {counted(int(bad.sum()), 'row')}; leave out rows "
            "that are not to count"
        )
    return found


def numbers_in(values: Values) -> FloatArray | None:
    """Return the numbers that a column of text holds, as in a CSV file; None where it holds other things."""
    if values.codes is None or not values.categories:
        return None
    try:
        numbers = np.array([*map(float, values.categories), np.nan])
    except ValueError:
        return None
    return numbers[values.codes]


def one_dimensional(values: Any, rows: int, what: str, entry: str) -> NDArray[Any]:
    """Return what was given for every row as an array, if it is one entry for each."""
    if is_foreign_array(values):
        values = to_numpy(values)
    found = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    if found.ndim != 1:
        raise ValueError(f"{what} must have one {entry} for every row, but has {found.ndim} dimensions")
    if len(found) != rows:
        raise ValueError(f"{what} has {counted(len(found), entry)} for {rows} rows; give one for every row")
    return found
