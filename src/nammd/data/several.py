"""Several datasets, and one dataset that is a dict: what a mapping or a list stands for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from nammd.data.arrays import is_foreign_array, library_of
from nammd.errors.advice import naming
from nammd.errors.checks import counted
from nammd.errors.naming import quoted


def by_name(data: Any, what: str) -> dict[str, Any]:
    """Return several datasets by their names: those of a mapping, or "0", "1", ... for a list.

    >>> by_name([[1.0, 2.0], [3.0, 4.0]], "candidates")
    {'0': [1.0, 2.0], '1': [3.0, 4.0]}
    """
    if isinstance(data, (list, tuple)):
        data = dict(enumerate(data))
    if not isinstance(data, Mapping) or not data:
        raise TypeError(
            f"{what} must be a mapping of names to datasets, or a list of datasets, with at least one entry"
        )
    return {str(name): value for name, value in data.items()}


def one_or_several(data: Any, name: str, of_tables: bool) -> dict[str, Any]:
    """Return what is either one dataset, which gets the name, or a mapping of names to datasets.

    A dict of columns is one dataset, where the others are tables too: `of_tables`.
    """
    if not isinstance(data, Mapping) or (of_tables and is_table(data)):
        return {name: data}
    return {str(key): value for key, value in data.items()}


def is_table(data: Any) -> bool:
    """Tell whether data are a dict of columns: arrays or lists in one dimension, by name."""
    return isinstance(data, Mapping) and bool(data) and all(map(_is_column, data.values()))


def may_be_table(data: Any) -> bool:
    """Tell whether data may have several columns with names: no array, and no column."""
    return not is_array(data) and not _is_column(data)


def is_array(data: Any) -> bool:
    """Tell whether data are an array, or a list that becomes one."""
    return isinstance(data, (np.ndarray, list, tuple)) or is_foreign_array(data)


def as_table(data: Mapping[Any, Any], name: str) -> Any:
    """Return a dict of columns as a table of a library that is installed."""
    for column, values in data.items():
        if not _is_column(values):
            raise TypeError(
                f"{name} is a dict, so every entry must be a column, a one-dimensional array or list; "
                f"{quoted(str(column))} is {type(values).__name__}"
            )
    lengths = {str(column): len(values) for column, values in data.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{quoted(column)} has {counted(rows, 'row')}" for column, rows in lengths.items())
        raise ValueError(f"the columns of {name} differ in length: {told}")
    if not lengths:
        raise ValueError(f"{name} is empty: it has no columns")
    import narwhals as nw

    backend: Any = next(each for each in ("pyarrow", "pandas", "polars", "modin") if find_spec(each))
    with naming(name):
        return nw.from_dict({str(key): values for key, values in data.items()}, backend=backend).to_native()


def _is_column(values: Any) -> bool:
    if isinstance(values, (list, tuple)):
        return not any(isinstance(each, (list, tuple, np.ndarray)) for each in values[:1])
    shape = getattr(values, "shape", None)
    if shape is None:  # Arrow's arrays have a type instead
        return library_of(values) == "pyarrow" and hasattr(values, "type")
    return len(shape) == 1
