"""From a column of any library to its values: the kind, the numbers or labels, and what is missing."""

from __future__ import annotations

import datetime
import decimal
import numbers
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.data import to_float64
from nammd.data.arrays import FloatArray
from nammd.data.values import Clock, Kind, Values

_UTC = datetime.UTC

Codes: TypeAlias = tuple[NDArray[np.intp], list[Any]]
"""Which value every row has, -1 where it is missing, and these values."""


def values_of(series: Any) -> Values:
    """Return the values of a column."""
    import narwhals as nw

    missing = _missing(series)
    dtype = series.dtype
    if missing.all():
        return Values(None, missing)
    if dtype.is_numeric():
        numbers = _floats(series)
        integers = str(dtype).startswith(("Int", "UInt")) or _beyond_integers(numbers)
        return _measured("numeric", numbers, whole=integers)
    if dtype == nw.Boolean:
        return _labelled("boolean", _codes_of(series, missing), missing)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        found = _labelled("categorical", _codes_of(series, missing), missing)
        return replace(found, text=dtype == nw.String)
    if dtype in (nw.Date, nw.Datetime):
        # Microseconds since 1970: in UTC where there is a zone, by the clock on the wall where there is none.
        clock: Clock = "zoned" if getattr(dtype, "time_zone", None) else "local"
        return _measured("datetime", _seconds(series, lambda s: s.dt.timestamp("us")), clock=clock)
    if dtype == nw.Duration:
        passed = _seconds(series, lambda s: s.dt.total_microseconds())
        return _measured("datetime", passed, clock="duration")
    if dtype in (nw.List, nw.Array):
        return _arrow_vectors(series, missing) or _vectors(series.to_list(), missing)
    if dtype == nw.Struct:
        return Values(None, missing, trouble="records")
    return _from_objects(series.to_list(), missing)


def plain_values(column: Any) -> Values | None:
    """Return the values of a column of Arrow's that holds integers, floats or text; None for any other.

    There may be thousands of them, so it takes no way round.
    """
    if is_number(column.type):
        numbers = to_float64.floats(column)
        whole = is_number(column.type, whole=True) or _beyond_integers(numbers)
        return _measured("numeric", numbers, whole=whole)
    if not is_text(column.type):
        return None
    missing = to_float64.nulls(column)
    if missing.all():
        return Values(None, missing)
    return replace(_labelled("categorical", _arrow_codes(column), missing), text=True)


def numbers_together(columns: Sequence[Any]) -> list[Values | None]:
    """Return the same of short columns of numbers, all of one type and length, and finite.

    None for columns that have to be looked at more closely.
    """
    numbers, whole = to_float64.stacked_floats(columns), is_number(columns[0].type, whole=True)
    missing = np.isnan(numbers)
    plain = ~np.array([missing.all(axis=1), (np.abs(numbers) >= 2.0**63).any(axis=1)]).any(axis=0)
    found: list[Values | None] = [None] * len(columns)
    for k in np.flatnonzero(plain).tolist():
        found[k] = Values("numeric", missing[k], numbers=numbers[k], whole=whole)
    return found


def texts_together(columns: Sequence[Any]) -> list[Values | None]:
    """Return the same of short columns of text, all of one type and length."""
    every, distinct = _arrow_codes(to_float64.stacked(columns))
    codes = every.reshape(len(columns), -1)
    # The first row with the value of each row: values that are alike follow one another in their order.
    order = np.argsort(codes, axis=1, kind="stable")
    ordered, place = np.take_along_axis(codes, order, axis=1), np.arange(codes.shape[1])
    starts = np.where(np.diff(ordered, axis=1, prepend=-2) != 0, place, 0)
    first = np.empty_like(order)
    begins = np.take_along_axis(order, np.maximum.accumulate(starts, axis=1), axis=1)
    np.put_along_axis(first, order, begins, axis=1)
    missing = codes < 0
    new = (first == place) & ~missing
    numbers = np.take_along_axis(np.cumsum(new, axis=1) - 1, first, axis=1)
    numbers[missing] = -1
    names = iter(codes[new].tolist())
    found = list[Values | None]()
    for gone, own, count in zip(missing, numbers, new.sum(axis=1).tolist(), strict=True):
        labels = tuple(distinct[code] for code in islice(names, count))
        if labels:
            found.append(Values("categorical", gone, codes=own, categories=labels, text=True))
        else:
            found.append(Values(None, gone))
    return found


@lru_cache(maxsize=64)
def is_number(kind: Any, whole: bool = False) -> bool:
    """Tell whether a type of Arrow's is that of integers, or of floats unless `whole` ones are asked for."""
    from pyarrow import types

    if types.is_integer(kind):
        return True
    return not whole and bool(types.is_float64(kind) or types.is_float32(kind))


@lru_cache(maxsize=64)
def is_text(kind: Any) -> bool:
    """Tell whether a type of Arrow's is that of text."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _missing(series: Any) -> NDArray[np.bool_]:
    native = series.to_native()
    if to_float64.is_arrow(native):
        return to_float64.nulls(native)
    return np.asarray(series.is_null().to_numpy(), dtype=bool)


def _floats(series: Any) -> FloatArray:
    import narwhals as nw

    held = to_float64.held(series)
    if to_float64.is_arrow(held):
        return to_float64.floats(held)
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _seconds(series: Any, microseconds: Callable[[Any], Any]) -> FloatArray:
    found = to_float64.seconds(to_float64.held(series))
    return _floats(microseconds(series)) / 1e6 if found is None else found


def _beyond_integers(numbers: FloatArray) -> bool:
    """Tell whether floats are what text makes of unsigned 64-bit integers, which elsewhere are whole."""
    if not (numbers >= 2.0**63).any():
        return False
    present = numbers[~np.isnan(numbers)]
    return bool(present.size and 2.0**63 <= present.max() < 2.0**64 and (present % 1 == 0).all())


def _measured(kind: Kind, values: FloatArray, whole: bool = False, clock: Clock = "") -> Values:
    missing = np.isnan(values)
    if missing.all():
        return Values(None, missing)
    return Values(kind, missing, numbers=values, whole=whole, clock=clock)


def _labelled(kind: Kind, found: Codes, missing: NDArray[np.bool_]) -> Values:
    """Return the values of a column of text or truth values as codes."""
    codes, distinct = found
    names = list(map(label_of, distinct))
    if len(set(names)) < len(names):  # two values that are written alike are one category
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        codes = np.array([*(places[name] for name in names), -1], np.intp)[codes]
        names = list(places)
    return Values(kind, missing, codes=codes, categories=tuple(names))


def _codes_of(series: Any, missing: NDArray[np.bool_]) -> Codes:
    native = series.to_native()
    return _arrow_codes(native) if to_float64.is_arrow(native) else _codes(series.to_list(), missing)


def _arrow_codes(native: Any) -> Codes:
    """Return the codes of a column of Arrow's, which finds them much faster."""
    whole = native.combine_chunks() if hasattr(native, "combine_chunks") else native
    coded = whole if hasattr(whole, "indices") else whole.dictionary_encode()
    codes = np.where(to_float64.nulls(coded.indices), -1, to_float64.as_numpy(coded.indices).astype(np.intp))
    return codes, coded.dictionary.to_pylist()


def _codes(values: Sequence[Any], missing: NDArray[np.bool_]) -> tuple[NDArray[np.intp], list[Any]]:
    places: dict[Any, int] = {}
    codes = np.fromiter(
        (-1 if gone else places.setdefault(v, len(places)) for v, gone in zip(values, missing, strict=True)),
        dtype=np.intp,
        count=len(missing),
    )
    return codes, list(places)


def label_of(value: Any) -> str:
    """Return what a value is called as a category."""
    # Whole numbers with missing values are floats in pandas: the category 1 of one table is 1.0 in another.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _vectors(values: Sequence[Any], missing: NDArray[np.bool_]) -> Values:
    """Return lists of numbers of one length as rows of numbers; a list with a gap counts as missing."""
    present = [v for v, gone in zip(values, missing, strict=True) if not gone]
    lengths = {len(v) for v in present}
    if len(lengths) > 1:
        return _ragged(missing, min(lengths), max(lengths))
    rows = np.array([[np.nan if v is None else v for v in row] for row in present])
    if rows.ndim != 2 or rows.dtype.kind not in "fiu" or not rows.shape[1]:
        return Values(None, missing, trouble=_OTHER_LISTS)
    return _rows_of_numbers(rows.astype(np.float64), missing)


def _arrow_vectors(series: Any, missing: NDArray[np.bool_]) -> Values | None:
    """Return the same by Arrow, which needs no Python object for each number; None where it is not there."""
    try:
        import pyarrow as pa
        import pyarrow.compute as pc
    except ImportError:
        return None
    lists = series.to_arrow()
    lists = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    lengths = pc.min_max(pc.list_value_length(lists))
    low, high = lengths["min"].as_py(), lengths["max"].as_py()
    if low != high:
        return _ragged(missing, low, high)
    inside = lists.type.value_type
    if not high or not (pa.types.is_integer(inside) or pa.types.is_floating(inside)):
        return Values(None, missing, trouble=_OTHER_LISTS)
    flat = pc.list_flatten(lists.drop_null()).cast(pa.float64(), safe=False)
    return _rows_of_numbers(to_float64.floats(flat).reshape(-1, high), missing)


_OTHER_LISTS = "lists of something else than numbers"


def _ragged(missing: NDArray[np.bool_], low: int, high: int) -> Values:
    return Values(None, missing, trouble=f"lists of different lengths ({low} to {high})")


def _rows_of_numbers(present: FloatArray, missing: NDArray[np.bool_]) -> Values:
    numbers = np.full((len(missing), present.shape[1]), np.nan)
    numbers[~missing] = present
    missing = np.isnan(numbers).any(axis=1)
    if missing.all():
        return Values(None, missing)
    numbers[missing] = np.nan
    return Values("vector", missing, numbers=numbers)


def _from_objects(values: Sequence[Any], missing: NDArray[np.bool_]) -> Values:
    """Find out what a column of Python objects holds; pandas keeps many things that way."""
    present = [v for v, gone in zip(values, missing, strict=True) if not gone]
    types = set(map(type, present))

    def all_of(*kinds: type) -> bool:
        return all(issubclass(kind, kinds) for kind in types)

    if all_of(bool, np.bool_):
        return _object_labels("boolean", values, missing)
    if all_of(str) or all_of(uuid.UUID):
        return replace(_object_labels("categorical", values, missing), text=all_of(str))
    if all_of(numbers.Real, decimal.Decimal) and not types & {bool, np.bool_}:
        return _measured("numeric", _spread(present, missing), whole=all_of(numbers.Integral))
    for family, seconds in _TIMES.items():
        if all_of(family):
            clocks = {_clock(value) for value in present}
            if len(clocks) > 1:
                return Values(None, missing, trouble="times with and without a time zone")
            return _measured("datetime", _spread(map(seconds, present), missing), clock=clocks.pop())
    if all_of(bytes, bytearray, memoryview):
        return Values(None, missing, trouble="binary values")
    if all_of(list, tuple, np.ndarray):
        return _vectors(values, missing)
    if all_of(dict, set):
        return Values(None, missing, trouble="records")
    names = sorted(kind.__name__ for kind in types)
    if len(names) > 1:
        return Values(None, missing, trouble=f"values of different types ({', '.join(names[:4])})")
    return Values(None, missing, trouble=f"values of type {names[0]}")


def _object_labels(kind: Kind, values: Sequence[Any], missing: NDArray[np.bool_]) -> Values:
    codes, distinct = _codes(values, missing)
    return Values(kind, missing, codes=codes, categories=tuple(map(label_of, distinct)))


def _spread(present: Any, missing: NDArray[np.bool_]) -> FloatArray:
    result = np.full(len(missing), np.nan)
    result[~missing] = [float(v) for v in present]
    return result


def _moment_seconds(value: Any) -> float:
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    if value.tzinfo is None:
        value = value.replace(tzinfo=_UTC)
    return _passed_seconds(value - datetime.datetime(1970, 1, 1, tzinfo=_UTC))


def _passed_seconds(value: datetime.timedelta) -> float:
    return (value // datetime.timedelta(microseconds=1)) / 1e6  # by the steps of `counts`, to the last digit


def _clock_seconds(value: datetime.time) -> float:
    return value.hour * 3600.0 + value.minute * 60.0 + value.second + value.microsecond / 1e6


_TIMES: dict[type, Callable[[Any], float]] = {
    datetime.date: _moment_seconds,  # a datetime is a date too
    datetime.timedelta: _passed_seconds,
    datetime.time: _clock_seconds,
}


def _clock(value: Any) -> Clock:
    if isinstance(value, datetime.timedelta):
        return "duration"
    if isinstance(value, datetime.time):
        return "time of day"
    return "zoned" if getattr(value, "tzinfo", None) is not None else "local"
