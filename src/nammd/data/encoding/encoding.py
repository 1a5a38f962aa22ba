"""The encoding of a mixed table: fitted on the reference, then frozen.

One Gaussian kernel on the encoded space is a joint kernel over all columns: the product of one factor
for each column. `nammd.data.encoding.columns` has the scale on which columns of different kinds meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray, to_numpy
from nammd.data.encoding.choosing import CONSTANT, fit_column
from nammd.data.encoding.columns import ArrayColumn, Column, LeftOut
from nammd.data.encoding.serial import encoding_from_dict, encoding_to_dict
from nammd.data.frames import Frame, Values, as_frame
from nammd.data.naming import checked_weights, chosen_columns, listed, require_unique, suggestion
from nammd.data.pieces import is_dask
from nammd.data.samples import as_sample, in_float64, require_rows
from nammd.data.spread import distinct_values, drawn, encoded, parts_of

_HOLDS = {"numeric": "numbers", "categorical": "text", "boolean": "true and false", "datetime": "times"}


@dataclass(frozen=True)
class Encoding:
    """How the rows of a table become points in space: fitted on a reference, then frozen.

    Use `Encoding.fit`; the constructor is for those who know the columns.

    Attributes
    ----------
    columns : tuple of Column
        The columns that take part, in the order of their slots.
    left_out : tuple of LeftOut
        The columns that do not, each with a reason.
    array_columns : int or None
        For an encoding of arrays the number of columns they have; None for one of tables.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nammd.tables import Encoding
    >>> reference = pa.table({"age": [20, 30, 40, 50, None], "city": ["Ulm", "Ulm", "Bonn", "Bonn", "Bonn"]})
    >>> encoding = Encoding.fit(reference)
    >>> encoding.slots("city"), encoding.column("city").labels
    (slice(2, 6, None), ('Bonn', 'Ulm', 'unseen', 'missing'))
    """

    columns: tuple[Column, ...]
    left_out: tuple[LeftOut, ...] = ()
    array_columns: int | None = None

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("an encoding needs at least one column")
        require_unique([column.name for column in self.columns], "the encoding")

    @classmethod
    def fit(
        cls,
        table: Any,
        *,
        weights: Mapping[str, float] | None = None,
        columns: Sequence[str] | None = None,
        name: str = "the reference",
    ) -> Encoding:
        """Fit an encoding on a reference table.

        Parameters
        ----------
        table : table or array
            A table of pandas, polars (also lazy), Arrow or any other library that narwhals knows. An
            array is taken as it is: its columns are named "0", "1", ..., nothing is scaled. Of a Dask
            dataframe at most 100 000 rows, drawn at random, are looked at.
        weights : mapping of str to float, optional
            What the slots of a column are multiplied by; 0 leaves a column out. A column with a weight
            is compared even if its whole numbers look like an identifier.
        columns : sequence of str, optional
            The columns to use, by default all.
        name : str, optional
            What to call the table in error messages.

        Returns
        -------
        Encoding
            The columns with their parameters, and those left out.
        """
        require_rows(table, name)
        parts = parts_of(table, name)
        frame = as_frame(table if parts is None else drawn(parts), name)
        array_columns = None if frame is not None else int(_as_array(table, name).shape[1])
        names = frame.names if frame is not None else tuple(map(str, range(array_columns or 0)))
        factors = checked_weights(weights or {}, names, name)
        chosen = set(names if columns is None else chosen_columns(columns, names, name))

        kept: list[Column] = []
        left_out: list[LeftOut] = []
        for column in names:
            weight = factors.get(column, 1.0)
            fitted: Column | LeftOut
            if column not in chosen:
                fitted = LeftOut(column, "not among the chosen columns")
            elif weight == 0:
                fitted = LeftOut(column, "weight 0")
            elif frame is None:
                fitted = ArrayColumn(column, "numeric", weight)
            else:
                fitted = fit_column(column, frame.values(column), weight, insist=column in factors)
            if isinstance(fitted, LeftOut):
                left_out.append(fitted)
            else:
                kept.append(fitted)
        if not kept:
            reasons = "; ".join(f"{entry.column!r}: {entry.reason}" for entry in left_out[:5])
            raise ValueError(f"no column of {name} can be compared ({reasons})")
        return cls(tuple(kept), tuple(left_out), array_columns)

    def transform(self, table: Any, name: str = "the data") -> FloatArray:
        """Encode a table with the columns of the reference, of whatever library.

        Parameters
        ----------
        table : table or array
            Columns that the reference does not have are ignored; see `extra_columns`.
        name : str, optional
            What to call the table in error messages.

        Returns
        -------
        array of float64, shape (rows, width)
            May share memory with an array given. A Dask array where a Dask array or dataframe is given;
            its partitions are encoded by the workers.
        """
        if self.array_columns is not None:
            return self._transform_array(table, name)
        parts = parts_of(table, name)
        if parts is not None:
            self._require_columns(parts.names, name)
            spread_rows: FloatArray = encoded(parts, self.transform, name, self.width)
            return spread_rows
        frame = as_frame(table, name)
        if frame is None:
            raise TypeError(
                f"{name} must be a table with the columns {listed(self._starts)}, like the reference, "
                f"not {type(table).__name__}"
            )
        self._require_columns(frame.names, name)
        rows = np.empty((frame.rows, self.width))
        for column in self.columns:
            values = frame.values(column.name)
            _require_kind(values, column, name)
            rows[:, self.slots(column.name)] = column.weight * column.encode(values)
        return rows

    def extra_columns(self, table: Any) -> tuple[str, ...]:
        """Return the columns of a table that the reference did not have; `transform` ignores them."""
        known = {*self._starts, *(entry.column for entry in self.left_out)}
        return tuple(name for name in names_of(table) if name not in known)

    def changed_constants(self, reference: Any, table: Any) -> tuple[str, ...]:
        """Return columns that are left out because the reference has one value, where a table has others."""
        constant = [entry.column for entry in self.left_out if entry.reason == CONSTANT]
        both = [name for name in constant if name in names_of(reference) and name in names_of(table)]
        if not both:
            return ()
        before, now = (_values_of(data, both) for data in (reference, table))
        return tuple(name for name, old, new in zip(both, before, now, strict=True) if new - old)

    def slots(self, name: str) -> slice:
        """Return where in the encoded rows a column is.

        Examples
        --------
        >>> import numpy as np
        >>> Encoding.fit(np.zeros((2, 3))).slots("2")
        slice(2, 3, None)
        """
        column = self.column(name)
        return slice(self._starts[name], self._starts[name] + column.width)

    def column(self, name: str) -> Column:
        """Return the column of that name."""
        try:
            return self._by_name[name]
        except KeyError:
            pass
        for entry in self.left_out:
            if entry.column == name:
                raise ValueError(str(entry))
        raise ValueError(f"the encoding has no column {name!r}; {suggestion(name, list(self._starts))}")

    @property
    def width(self) -> int:
        """The number of slots of an encoded row."""
        last = self.columns[-1]
        return self._starts[last.name] + last.width

    @property
    def is_identity(self) -> bool:
        """Whether rows stay as they are: all columns of arrays, none of them weighted."""
        return self.array_columns == len(self.columns) and all(c.weight == 1 for c in self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding as numbers, strings, lists and dictionaries, ready for JSON."""
        return encoding_to_dict(self.columns, self.left_out, self.array_columns)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Encoding:
        """Return the encoding that `to_dict` wrote; a ValueError names the field that is wrong."""
        return cls(*encoding_from_dict(data))

    def describe(self) -> str:
        """Return what becomes of every column, as a text of a few lines."""
        if self.array_columns is not None:
            text = (
                f"Encoding of an array: {len(self.columns)} of its {self.array_columns} columns as they are"
            )
            weighted = {c.name: c.weight for c in self.columns if c.weight != 1}
            return text + (f", weights {weighted}" if weighted else "")
        pad = max(map(len, [*self._starts, *(entry.column for entry in self.left_out)]))
        lines = [f"Encoding of {_count(len(self.columns), 'column')} in {_count(self.width, 'slot')}"]
        for column in self.columns:
            weight = "" if column.weight == 1 else f", weight {column.weight:g}"
            lines.append(f"  {column.name:<{pad}}  {column.kind:<11}  {column.summary()}{weight}")
        if self.left_out:
            lines.append("Left out")
            lines += [f"  {entry.column:<{pad}}  {entry.reason}" for entry in self.left_out]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        names = listed(self._starts)
        return f"Encoding(columns: {names}; width {self.width}; {len(self.left_out)} left out)"

    @cached_property
    def _starts(self) -> dict[str, int]:
        ends = np.cumsum([column.width for column in self.columns]).tolist()
        return {c.name: end - c.width for c, end in zip(self.columns, ends, strict=True)}

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def _transform_array(self, data: Any, name: str) -> FloatArray:
        if names_of(data):
            raise TypeError(f"{name} is a table, but the reference was an array; give an array")
        array = _as_array(data, name)
        if array.shape[1] != self.array_columns:
            raise ValueError(
                f"{name} has {array.shape[1]} columns but the reference has {self.array_columns}; both "
                "must be arrays of the same columns"
            )
        if len(self.columns) < array.shape[1]:
            array = array[:, [int(column.name) for column in self.columns]]
        weights = np.array([column.weight for column in self.columns])
        return array if (weights == 1).all() else array * weights

    def _require_columns(self, names: Sequence[str], owner: str) -> None:
        present = set(names)
        missing = [name for name in self._starts if name not in present]
        if len(missing) == 1:
            raise ValueError(
                f"{owner} has no column {missing[0]!r}, which the reference has; "
                + suggestion(missing[0], names)
            )
        if missing:
            raise ValueError(f"{owner} lacks columns that the reference has: {listed(missing)}")


def _as_array(data: Any, name: str) -> FloatArray:
    dimensions = getattr(data, "ndim", 2)
    if dimensions > 2:
        raise ValueError(
            f"{name} has {dimensions} dimensions; give one row of numbers per observation, for example "
            "with .reshape(len(array), -1)"
        )
    sample = as_sample(data, name)
    return in_float64(sample) if is_dask(sample) else to_numpy(sample)


def names_of(data: Any) -> tuple[str, ...]:
    """Return the names of the columns of a table; none where it is an array."""
    parts = parts_of(data, "the data")
    frame = as_frame(data, "the data") if parts is None else None
    return parts.names if parts is not None else () if frame is None else frame.names


def _values_of(data: Any, names: Sequence[str]) -> list[set[Any]]:
    parts = parts_of(data, "the data")
    if parts is not None:
        return distinct_values(parts, names, _distinct)
    frame = as_frame(data, "the data")
    assert frame is not None
    return [_distinct(frame, name) for name in names]


def _distinct(frame: Frame, name: str) -> set[Any]:
    """Return the different values of a column; None stands for missing ones."""
    values = frame.values(name)
    found = values.labels if values.labels is not None else values.numbers
    present = (
        set() if found is None else {v for v, gone in zip(found, values.missing, strict=True) if not gone}
    )
    return present | ({None} if values.missing.any() else set())


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _require_kind(values: Values, column: Column, owner: str) -> None:
    if values.kind == column.kind or (values.kind is None and not values.trouble):
        return  # a column of missing values has no kind of its own
    now = values.trouble or _HOLDS[str(values.kind)]
    raise ValueError(
        f"the column {column.name!r} of {owner} holds {now}, but {_HOLDS[column.kind]} in the reference; "
        "convert it, or leave it out"
    )
