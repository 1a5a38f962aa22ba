"""Tables of any library as columns of numbers and labels.

narwhals hides which library a table comes from. What is left to do here is to give every column one
of a few kinds, whatever its exact type, and to say in one way where values are missing.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.naming import require_unique

Kind = Literal["numeric", "categorical", "boolean", "datetime"]

_UTC = datetime.UTC


@dataclass(frozen=True, eq=False)
class Values:
    """The values of one column.

    Attributes
    ----------
    kind : {"numeric", "categorical", "boolean", "datetime"} or None
        None where every value is missing, or where the values cannot be compared.
    missing : array of bool
        Where a value is missing: null, or NaN.
    numbers : array, optional
        The values of a numeric or datetime column, NaN where missing. Times are in seconds.
    labels : list of str or None, optional
        The values of a categorical or boolean column, None where missing.
    whole : bool
        Whether the column has an integer type.
    trouble : str
        What the column holds, where that cannot be compared.
    """

    kind: Kind | None
    missing: NDArray[np.bool_]
    numbers: FloatArray | None = None
    labels: list[str | None] | None = None
    whole: bool = False
    trouble: str = ""


class Frame:
    """A table of any library that narwhals knows, with its column names as text."""

    def __init__(self, table: Any, owner: str) -> None:
        self._table = table
        self.owner = owner
        self.names = tuple(_column_name(name) for name in table.columns)
        self.rows = len(table)
        # The integer 1 and the text '1' are different names in pandas, but not here.
        require_unique(self.names, owner)
        if not self.names:
            raise ValueError(f"{owner} is empty: it has no columns")
        if not self.rows:
            raise ValueError(f"{owner} is empty: it has no rows")

    def values(self, name: str) -> Values:
        """Return the values of a column, after checking that they are finite."""
        position = self.names.index(name)
        values = _values(self._table[:, position])
        if values.numbers is not None and np.isinf(values.numbers).any():
            count = int(np.isinf(values.numbers).sum())
            raise ValueError(
                f"the column {name!r} of {self.owner} contains infinity in {count} of its {self.rows} "
                f"rows; make those values missing, or leave the column out with weights={{{name!r}: 0}}"
            )
        return values


def as_frame(data: Any, owner: str) -> Frame | None:
    """Return a table as a `Frame`, or None where `data` is no table."""
    if isinstance(data, (np.ndarray, list, tuple)):
        return None
    import narwhals as nw

    if type(data).__module__.startswith("pyarrow") and type(data).__name__ == "RecordBatch":
        import pyarrow as pa

        data = pa.Table.from_batches([data])
    try:
        table = nw.from_native(data, pass_through=True, allow_series=True)
    except Exception:  # narwhals refuses duplicate names, with an error that depends on its version
        names = data.column_names if hasattr(data, "column_names") else data.columns
        require_unique([_column_name(name) for name in names], owner)
        raise
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    if isinstance(table, nw.Series):
        table = table.to_frame()
    return Frame(table, owner) if isinstance(table, nw.DataFrame) else None


def _column_name(name: Any) -> str:
    if isinstance(name, tuple):  # the levels of a pandas MultiIndex
        return ".".join(map(str, name))
    return str(name)


def _values(series: Any) -> Values:
    import narwhals as nw

    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    dtype = series.dtype
    if missing.all():
        return Values(None, missing)
    if dtype.is_numeric():
        return _measured("numeric", _floats(series), whole=str(dtype).startswith(("Int", "UInt")))
    if dtype == nw.Boolean:
        return _labelled("boolean", series.to_list(), missing)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return _labelled("categorical", series.to_list(), missing)
    if dtype in (nw.Date, nw.Datetime):
        # Microseconds since 1970 in UTC; a time without a zone counts as UTC.
        return _measured("datetime", _floats(series.dt.timestamp("us")) / 1e6)
    if dtype == nw.Duration:
        return _measured("datetime", _floats(series.dt.total_microseconds()) / 1e6)
    if dtype in (nw.List, nw.Struct, nw.Array):
        return Values(None, missing, trouble="lists or records")
    return _from_objects(series.to_list(), missing)


def _floats(series: Any) -> FloatArray:
    import narwhals as nw

    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _measured(kind: Kind, values: FloatArray, whole: bool = False) -> Values:
    missing = np.isnan(values)
    if missing.all():
        return Values(None, missing)
    return Values(kind, missing, numbers=values, whole=whole)


def _labelled(kind: Kind, values: Sequence[Any], missing: NDArray[np.bool_]) -> Values:
    labels = [None if gone else _label(v) for v, gone in zip(values, missing, strict=True)]
    return Values(kind, missing, labels=labels)


def _label(value: Any) -> str:
    # Whole numbers with missing values are floats in pandas: the category 1 of one table is 1.0 in another.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _from_objects(values: Sequence[Any], missing: NDArray[np.bool_]) -> Values:
    """Find out what a column of Python objects holds; pandas keeps many things that way."""
    present = [v for v, gone in zip(values, missing, strict=True) if not gone]
    types = set(map(type, present))

    def all_of(*kinds: type) -> bool:
        return all(issubclass(kind, kinds) for kind in types)

    if all_of(bool, np.bool_):
        return _labelled("boolean", values, missing)
    if all_of(str) or all_of(uuid.UUID):
        return _labelled("categorical", values, missing)
    if all_of(numbers.Real, decimal.Decimal) and not types & {bool, np.bool_}:
        return _measured("numeric", _spread(present, missing), whole=all_of(numbers.Integral))
    for family in ((datetime.date,), (datetime.timedelta,), (datetime.time,)):
        if all_of(*family):
            return _measured("datetime", _spread(map(_seconds, present), missing))
    if all_of(bytes, bytearray, memoryview):
        return Values(None, missing, trouble="binary values")
    if all_of(list, tuple, dict, set, np.ndarray):
        return Values(None, missing, trouble="lists or records")
    names = sorted(kind.__name__ for kind in types)
    if len(names) > 1:
        return Values(None, missing, trouble=f"values of different types ({', '.join(names[:4])})")
    return Values(None, missing, trouble=f"values of type {names[0]}")


def _spread(present: Any, missing: NDArray[np.bool_]) -> FloatArray:
    result = np.full(len(missing), np.nan)
    result[~missing] = [float(v) for v in present]
    return result


def _seconds(value: Any) -> float:
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.time):
        return value.hour * 3600.0 + value.minute * 60.0 + value.second + value.microsecond / 1e6
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    if value.tzinfo is None:
        value = value.replace(tzinfo=_UTC)
    return float((value - datetime.datetime(1970, 1, 1, tzinfo=_UTC)).total_seconds())
