"""Tables of any library as columns of numbers and labels.

narwhals hides which library a table comes from. What is left to do here is to give every column one
of a few kinds, whatever its exact type, and to say in one way where values are missing.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.data import counts
from nammd.data.advice import Advice, naming, refusal
from nammd.data.arrays import FloatArray
from nammd.data.naming import require_unique

Kind: TypeAlias = Literal["numeric", "categorical", "boolean", "datetime", "vector"]

Clock: TypeAlias = Literal["", "local", "zoned", "duration", "time of day"]
"""What the seconds of a column of times count from: a moment without a time zone (also a date), a moment with
one, nothing (a duration), or midnight. Empty where there are no times. Columns of different clocks must not
meet: their seconds mean different things."""

_UTC = datetime.UTC

_KEPT_CELLS = 1 << 21
"""A table keeps the values of so many cells once they are found: of many columns, the look takes the time."""


@dataclass(frozen=True, eq=False)
class Values:
    """The values of one column.

    Attributes
    ----------
    kind : {"numeric", "categorical", "boolean", "datetime", "vector"} or None
        None where every value is missing, or where the values cannot be compared.
    missing : array of bool
        Where a value is missing: null, or NaN.
    numbers : array, optional
        The values of a numeric or datetime column, NaN where missing; times are in seconds. Of a column of
        vectors, a row of numbers for each.
    codes, categories : array of int and tuple of str, optional
        The values of a categorical or boolean column: which of the categories, -1 where missing.
    whole : bool
        Whether the column has an integer type.
    clock : str
        Of times: what their seconds count from.
    trouble : str
        What the column holds, where that cannot be compared.
    text : bool
        Whether the categories are text that may stand for something else, such as numbers: no categories
        that somebody declared to be that.
    """

    kind: Kind | None
    missing: NDArray[np.bool_]
    numbers: FloatArray | None = None
    codes: NDArray[np.intp] | None = None
    categories: tuple[str, ...] = ()
    whole: bool = False
    clock: Clock = ""
    trouble: str = ""
    text: bool = False

    @property
    def labels(self) -> list[str | None] | None:
        """The categories row by row, None where missing; None where the column has no categories."""
        if self.codes is None:
            return None
        return [self.categories[code] if code >= 0 else None for code in self.codes]

    @property
    def holds(self) -> str:
        """What the column holds, in words."""
        if self.trouble or self.kind is None:
            return self.trouble or "missing values only"
        return _WORDS.get(self.clock) or _WORDS[self.kind]

    @property
    def width(self) -> int:
        """The length of the vectors; 1 for other columns."""
        return 1 if self.numbers is None or self.numbers.ndim == 1 else int(self.numbers.shape[1])

    def take(self, positions: NDArray[np.intp]) -> Values:
        """Return the values of some rows."""
        return replace(
            self,
            missing=self.missing[positions],
            numbers=None if self.numbers is None else self.numbers[positions],
            codes=None if self.codes is None else self.codes[positions],
        )

    def meets(self, other: Values) -> bool:
        """Tell whether the values of both columns mean the same, so that they can be compared."""
        if self.trouble or other.trouble:
            return False
        if self.kind is None or other.kind is None:
            return True  # nothing but missing values fits everywhere
        return (self.kind, self.clock, self.width) == (other.kind, other.clock, other.width)


_WORDS = {
    "numeric": "numbers",
    "categorical": "text",
    "boolean": "true and false",
    "datetime": "times",
    "vector": "lists of numbers",
    "local": "times without a time zone",
    "zoned": "times with a time zone",
    "duration": "durations",
    "time of day": "times of day",
}


def pooled(parts: Sequence[Values]) -> Values:
    """Return the values of several columns as those of one; they must meet."""
    known = [part for part in parts if part.kind is not None]
    if len(parts) == 1 or not known:
        return parts[0]
    first, missing = known[0], np.concatenate([part.missing for part in parts])
    if first.numbers is not None:
        empty = np.nan if first.numbers.ndim == 1 else np.full(first.numbers.shape[1], np.nan)
        filled = [np.full((len(p.missing), first.width), empty).reshape(-1, *first.numbers.shape[1:])
                  if p.numbers is None else p.numbers for p in parts]  # fmt: skip
        return replace(
            first, missing=missing, numbers=np.concatenate(filled), whole=all(p.whole for p in known)
        )
    names = {name: code for code, name in enumerate(dict.fromkeys(n for p in known for n in p.categories))}
    codes = []
    for part in parts:
        if part.codes is None:
            codes.append(np.full(len(part.missing), -1, np.intp))
        else:
            places = np.array([*(names[name] for name in part.categories), -1], np.intp)
            codes.append(places[part.codes])
    return replace(first, missing=missing, codes=np.concatenate(codes), categories=tuple(names))


class Frame:
    """A table of any library that narwhals knows, with its column names as text."""

    def __init__(self, table: Any, owner: str, names: tuple[str, ...] | None = None) -> None:
        self._table = table
        self.owner = owner
        self.names = tuple(map(column_name, table.columns)) if names is None else names
        self.rows = len(table)
        self._seen: dict[str, Values] = {}
        self._places = {name: place for place, name in enumerate(self.names)}
        self.read: dict[str, tuple[object, Values]] = {}
        """Columns of text that have been read as something else, and by whom."""
        self.unread: dict[str, Any] = {}
        """What could not be read, by column."""
        # The integer 1 and the text '1' are different names in pandas, but not here.
        require_unique(self.names, owner)
        if not self.names:
            raise ValueError(f"{owner} is empty: it has no columns")
        if not self.rows:
            raise ValueError(f"{owner} is empty: it has no rows")

    def values(self, name: str) -> Values:
        """Return the values of a column, after checking that they are finite."""
        if name in self._seen:
            return self._seen[name]
        values = self._checked(name)
        if len(self._seen) * self.rows < _KEPT_CELLS:
            self._seen[name] = values
        return values

    def _checked(self, name: str) -> Values:
        with naming(f"the column {name!r} of {self.owner}"):
            values = _values(self.series(name))
        if values.numbers is not None and np.isinf(values.numbers).any():
            infinite = np.isinf(values.numbers).reshape(self.rows, -1).any(axis=1)
            raise refusal(
                ValueError,
                f"the column {name!r} of {self.owner} contains infinity in {int(infinite.sum())} of its "
                f"{self.rows} rows",
                Advice(
                    f"make those values missing, or leave the column out with exclude=[{name!r}]",
                    f"make those values missing, or leave the column out with --exclude {name}",
                ),
            )
        return values

    def series(self, name: str) -> Any:
        """Return a column as it is, as a narwhals series."""
        return self._columns[self._places[name]]

    @cached_property
    def _columns(self) -> list[Any]:
        # All at once: libraries look through the names of all columns to find one of them.
        return list(self._table.iter_columns())

    def to_arrow(self) -> Any:
        """Return the table as Arrow has it."""
        return self._table.to_arrow().rename_columns(list(self.names))

    def take(self, positions: NDArray[np.intp]) -> Frame:
        """Return some of the rows."""
        return Frame(self._table[positions.tolist()], self.owner, self.names)

    def without(self, names: Sequence[str]) -> Frame:
        """Return the table without some columns."""
        kept = [name for name in self.names if name not in names]
        if not kept:
            raise ValueError(f"{self.owner} has no other columns than {', '.join(names)}: nothing to compare")
        places = [self._places[name] for name in kept]
        found = Frame(self._table[:, places], self.owner, tuple(kept))
        found.unread = {name: cells for name, cells in self.unread.items() if name in kept}
        return found

    def renamed(self, name: str) -> Frame:
        """Return a table of one column under another name."""
        found = Frame(self._table, self.owner, (name,))
        found.unread, found.read = self.unread, self.read
        return found


def column_name(name: Any) -> str:
    """Return the name of a column as text; the levels of a pandas MultiIndex are joined."""
    return ".".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _values(series: Any) -> Values:
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
        return _labelled("boolean", series, missing)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return replace(_labelled("categorical", series, missing), text=dtype == nw.String)
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


def _missing(series: Any) -> NDArray[np.bool_]:
    native = series.to_native()
    if counts.is_arrow(native) and not native.null_count:
        return np.zeros(len(native), dtype=bool)
    return np.asarray(series.is_null().to_numpy(), dtype=bool)


def _floats(series: Any) -> FloatArray:
    import narwhals as nw

    held = counts.held(series)
    if counts.is_arrow(held):
        return counts.floats(held)
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _seconds(series: Any, microseconds: Callable[[Any], Any]) -> FloatArray:
    found = counts.seconds(counts.held(series))
    return _floats(microseconds(series)) / 1e6 if found is None else found


def _beyond_integers(numbers: FloatArray) -> bool:
    """Tell whether floats are what text makes of unsigned 64-bit integers, which elsewhere are whole."""
    present = numbers[~np.isnan(numbers)]
    return bool(present.size and 2.0**63 <= present.max() < 2.0**64 and (present % 1 == 0).all())


def _measured(kind: Kind, values: FloatArray, whole: bool = False, clock: Clock = "") -> Values:
    missing = np.isnan(values)
    if missing.all():
        return Values(None, missing)
    return Values(kind, missing, numbers=values, whole=whole, clock=clock)


def _labelled(kind: Kind, series: Any, missing: NDArray[np.bool_]) -> Values:
    """Return the values of a column of text or truth values as codes."""
    found = _arrow_codes(series)
    codes, distinct = _codes(series.to_list(), missing) if found is None else found
    names = list(map(label_of, distinct))
    if len(set(names)) < len(names):  # two values that are written alike are one category
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        codes = np.array([*(places[name] for name in names), -1], np.intp)[codes]
        names = list(places)
    return Values(kind, missing, codes=codes, categories=tuple(names))


def _arrow_codes(series: Any) -> tuple[NDArray[np.intp], list[Any]] | None:
    """Return the codes of a column of Arrow's, which finds them much faster; None for other libraries."""
    native = series.to_native()
    if not type(native).__module__.startswith("pyarrow"):
        return None
    whole = native.combine_chunks() if hasattr(native, "combine_chunks") else native
    coded = whole if hasattr(whole, "indices") else whole.dictionary_encode()
    codes = np.asarray(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.intp)
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
    return _rows_of_numbers(flat.to_numpy(zero_copy_only=False).reshape(-1, high), missing)


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
