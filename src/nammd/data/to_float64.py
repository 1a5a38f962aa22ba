"""Columns of Arrow and of NumPy as float64, for every value that they can hold.

The libraries refuse to cast some of them (whole numbers beyond 2**53, dates outside the range of
nanoseconds), or wrap around where an integer overflows. Here every column becomes the nearest number, and
times by the same two steps whatever holds them: whole microseconds, then seconds. So a table has the same
encoding wherever it comes from.
"""

from __future__ import annotations

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


def floats(native: Any) -> FloatArray:
    """Return a column of Arrow's numbers, each rounded to the nearest float64; NaN where missing."""
    import pyarrow as pa

    if native.type != pa.float64():
        native = native.cast(pa.float64(), safe=False)
    values = native.to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)


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
    missing = np.asarray(native.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    if pa.types.is_date32(kind):
        days = _whole(native.cast(pa.int32()).cast(pa.int64()))
        return _in_seconds(days * _DAY, "s", missing)
    if pa.types.is_date64(kind):
        return _in_seconds(_whole(native.cast(pa.int64())), "ms", missing)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return _in_seconds(_whole(native.cast(pa.int64())), kind.unit, missing)
    return None


def _whole(counts: Any) -> NDArray[np.int64]:
    return np.asarray(counts.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)


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
