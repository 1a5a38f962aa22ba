"""Columns of Arrow and of NumPy as float64, for every value that they can hold.

The libraries refuse to cast some of them (whole numbers beyond 2**53, dates outside the range of
nanoseconds), or wrap around where an integer overflows. Here every column becomes the nearest number, and
times by the same two steps whatever holds them: whole microseconds, then seconds. So a table has the same
encoding wherever it comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400
_MICRO = 10**6


def held(series: Any) -> Any:
    """Return what a narwhals series holds: a column of Arrow's also where pandas keeps one."""
    native = series.to_native()
    return series.to_arrow() if type(getattr(native, "dtype", None)).__name__ == "ArrowDtype" else native


def is_arrow(native: Any) -> bool:
    """Tell whether a column is one of Arrow's."""
    return type(native).__module__.startswith("pyarrow")


def as_numpy(column: Any, missing: float = 0) -> NDArray[Any]:
    """Return a column of Arrow's numbers, with some number in place of those that are missing.

    Arrow's own way to NumPy imports pandas where that is installed, which takes longer than a small check.
    """
    import pyarrow as pa

    # From the memory of the system, which it gets back from any thread.
    pool = pa.system_memory_pool()
    whole = column.combine_chunks(memory_pool=pool) if hasattr(column, "combine_chunks") else column
    if not len(whole):
        return np.empty(0, whole.type.to_pandas_dtype())
    buffers = [None, whole.buffers()[1]]
    values = np.from_dlpack(pa.Array.from_buffers(whole.type, len(whole), buffers, 0, whole.offset))
    return np.where(nulls(whole), np.asarray(missing, values.dtype), values) if whole.null_count else values


def nulls(column: Any) -> NDArray[np.bool_]:
    """Tell which values of a column of Arrow's are missing."""
    import pyarrow as pa

    if not column.null_count:
        return np.zeros(len(column), dtype=bool)
    return as_numpy(column.is_null().cast(pa.uint8())) > 0


def floats(native: Any) -> FloatArray:
    """Return a column of Arrow's numbers, each rounded to the nearest float64; NaN where missing."""
    import pyarrow as pa

    if native.type != pa.float64():
        native = native.cast(pa.float64(), safe=False)
    return as_numpy(native, np.nan)


def stacked(columns: Sequence[Any]) -> Any:
    """Return columns of Arrow's, all of one type, one after the other."""
    import pyarrow as pa

    return pa.chunked_array(
        [chunk for column in columns for chunk in getattr(column, "chunks", [column])], columns[0].type
    )


def stacked_floats(columns: Sequence[Any]) -> FloatArray:
    """Return columns of Arrow's numbers, all of one type and length, a row each; NaN where missing."""
    return floats(stacked(columns)).reshape(len(columns), -1)


def seconds(native: Any) -> FloatArray | None:
    """Return dates and moments in seconds since 1970, and durations in seconds; NaN where missing.

    None where the library of the column has to tell.
    """
    if is_arrow(native):
        return _arrow_seconds(native)
    dtype = getattr(native, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        values = native.to_numpy()
        unit, step = np.datetime_data(values.dtype)
        if unit in _PER_SECOND and step == 1:
            return _in_seconds(values.view(np.int64), unit, np.isnat(values))
    return None


def _arrow_seconds(native: Any) -> FloatArray | None:
    import pyarrow as pa

    kind = native.type
    missing = nulls(native)
    if pa.types.is_date32(kind):
        days = _whole(native.cast(pa.int32()).cast(pa.int64()))
        return _in_seconds(days * _DAY, "s", missing)
    if pa.types.is_date64(kind):
        return _in_seconds(_whole(native.cast(pa.int64())), "ms", missing)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return _in_seconds(_whole(native.cast(pa.int64())), kind.unit, missing)
    return None


def _whole(counts: Any) -> NDArray[np.int64]:
    return as_numpy(counts)


def _in_seconds(counts: NDArray[np.int64], unit: str, missing: NDArray[np.bool_]) -> FloatArray:
    """Return seconds, by way of whole microseconds where these have a number."""
    per_second = _PER_SECOND[unit]
    if per_second > _MICRO:
        result = (counts // (per_second // _MICRO)) / 1e6
    else:
        factor = _MICRO // per_second
        within = np.abs(counts.astype(np.float64)) < np.iinfo(np.int64).max / factor / 2
        result = np.where(within, np.where(within, counts, 0) * factor / 1e6, counts / per_second)
    return np.where(missing, np.nan, result)
