"""The encoding of a mixed table: fitted on data, then frozen.

One Gaussian kernel on the encoded space is a joint kernel over all columns: the product of one factor
for each column. `nammd.encoding.columns` has the scale on which columns of different kinds meet. Arrays
are taken as they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np

from nammd.data.arrays import Array, FloatArray, in_float64, is_spread, like, namespace
from nammd.data.dataset import Dataset
from nammd.data.frames import FEW_ROWS, Frame
from nammd.data.opening import open_dataset, refuse_summaries
from nammd.data.threads import each_in_threads
from nammd.data.values import Values
from nammd.encoding.columns import ArrayColumn, Column, LeftOut, NumericColumn, write_together
from nammd.encoding.fitting import fitted_columns
from nammd.encoding.matching import (
    require_kind,
    require_known,
    require_same_columns,
    require_same_kinds,
)
from nammd.encoding.serial import encoding_from_dict, encoding_to_dict
from nammd.errors.checks import choice, counted
from nammd.errors.naming import listed, require_unique, suggestion
from nammd.reading.text_formats.options import Reading
from nammd.reading.text_formats.understanding import Remark, in_form, without_words

Look: TypeAlias = Callable[[str, Values], None]
"""What is shown a column, by its name, and its values."""

_TOLD = 12
"""So many columns that are left out are named with their reasons."""

_MANY_ROWS = 65_536
"""From more rows on, points are kept by columns."""


@dataclass(frozen=True)
class Encoding:
    """How the rows of a table become points in space: fitted on data, then frozen.

    Use `Encoding.fit`; the constructor is for those who know the columns.

    Attributes
    ----------
    columns : tuple of Column
        The columns that take part, in the order of their slots.
    left_out : tuple of LeftOut
        The columns that do not, each with a reason.
    array_columns : int or None
        For an encoding of arrays the number of columns they have; None for one of tables.
    reading : Reading
        What was said about how the data are written.
    remarks : tuple of Remark
        What there was to say about the data when it was fitted; not kept in files.

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
    reading: Reading = field(default_factory=Reading)
    remarks: tuple[Remark, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("an encoding needs at least one column")
        require_unique([column.name for column in self.columns], "the encoding")

    @classmethod
    def fit(
        cls,
        *tables: Any,
        column_weights: Mapping[str, float] | None = None,
        columns: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        reading: Reading | None = None,
        scale: str | None = None,
        text: str | None = None,
        name: str = "the reference",
    ) -> Encoding:
        """Fit an encoding on a reference, or on several datasets together.

        Parameters
        ----------
        *tables : table, array or other dataset
            A table of pandas, polars (also lazy), Arrow or any other library that narwhals knows, or a file.
            An array is taken as it is, unless `scale` is given: its columns are named "0", "1", ... Of a
            table on a cluster at most 100 000 rows, drawn at random, are looked at. Several datasets are
            looked at as if they were one, so that none of them sets the scale for the others; they must have
            the same columns.
        column_weights : mapping of str to float, optional
            What the slots of a column are multiplied by; 0 leaves a column out. A column with a weight
            is compared even if its whole numbers look like an identifier.
        columns : sequence of str, optional
            The columns to use, by default all.
        exclude : sequence of str, optional
            Columns to leave out.
        reading : Reading, optional
            How numbers, dates and missing values are written, where that should not be inferred.
        scale : {"robust"}, optional
            Whether columns of arrays are scaled; see `nammd.Space.fit`.
        text : {"hashed"}, optional
            Whether columns of free text are compared; see `nammd.Space.fit`.
        name : str, optional
            What to call a single table in error messages.

        Returns
        -------
        Encoding
            The columns with their parameters, and those left out.
        """
        labels = [name] if len(tables) == 1 else [f"dataset {k + 1}" for k in range(len(tables))]
        said = Reading.of(reading)
        datasets = [
            open_dataset(data, label, reading=said) for data, label in zip(tables, labels, strict=True)
        ]
        return fit_datasets(
            datasets,
            column_weights=column_weights,
            columns=columns,
            exclude=exclude,
            reading=said,
            scale=scale,
            text=text,
        )

    @classmethod
    def identity(cls, n_columns: int) -> Encoding:
        """Return the encoding that takes arrays of so many columns as they are."""
        return _identity(n_columns)

    def transform(self, table: Any, name: str = "the data") -> Array:
        """Encode a dataset with the columns of the reference, of whatever library.

        Parameters
        ----------
        table : table or array
            Columns that the reference does not have are ignored; see `extra_columns`.
        name : str, optional
            What to call the table in error messages.

        Returns
        -------
        array of shape (rows, width)
            In float64 for tables; arrays keep their type and library, and may share memory with what was
            given. A Dask array where a Dask array or dataframe is given; its partitions are encoded by the
            workers.
        """
        return self.points(open_dataset(table, name, reading=self.for_files))

    def points(self, dataset: Dataset, look: Look | None = None) -> Array:
        """Return the rows of a dataset as points; they are made once.

        Where they are made of a table in memory now, `look` is shown every column and its values on the way,
        of many rows in several threads.
        """
        refuse_summaries(dataset)
        return dataset.points(self, lambda: self._points(dataset, look))

    def _points(self, dataset: Dataset, look: Look | None) -> Array:
        if self.array_columns is not None:
            return self._array_points(dataset)
        if not dataset.is_table:
            raise TypeError(
                f"{dataset.name} must be a table with the columns {listed(self._slots)}, like the "
                f"reference, not {type(dataset.given).__name__}"
            )
        if dataset.one_column and len(self._slots) == 1 and not self.left_out:
            dataset = dataset.renamed(self.columns[0].name)
        require_known(self.columns, dataset, (entry.column for entry in self.left_out))
        # The workers of a cluster have one thread each, and who looks at groups of rows multiplies matrices.
        threads = dataset.in_memory and dataset.units is None
        encode = partial(self.encode, look=look, in_threads=threads)
        points = dataset.encoded(encode, self.width)
        if dataset.frame is not None:
            dataset.frame.let_go(list(self._slots))
        return points

    def encode(self, frame: Frame, look: Look | None = None, *, in_threads: bool = False) -> FloatArray:
        """Return the rows of a table that has all columns as points; see `points`."""
        # Of many rows, one column after the other in memory: so they are written, and what nothing is written
        # to, as flags where no value is missing, takes no memory.
        rows = np.zeros((frame.rows, self.width), order="F" if frame.rows > _MANY_ROWS else "C")
        few = frame.rows <= FEW_ROWS

        def write(column: Column) -> tuple[NumericColumn, int, Values] | None:
            values, place = self.values(frame, column.name), self.slots(column.name)
            require_kind(values, column, frame.owner)
            if look is not None:
                look(column.name, values)
            if few and isinstance(column, NumericColumn) and values.numbers is not None:
                return column, place.start, values
            slots = rows[:, place]
            column.write(values, slots)
            if column.weight != 1:
                slots *= column.weight
            return None

        each = each_in_threads(write, self.columns, values=rows.size if in_threads else 0)
        for name in self._slots:  # in this order, whichever was read first
            if name in frame.unread:
                frame.unread[name] = frame.unread.pop(name)
        together = [one for one in each if one is not None]
        if together:
            write_together(rows, together)
        return rows

    def values(self, frame: Frame, name: str) -> Values:
        """Return a column of a table as it is meant: read in its form, without words for missing values."""
        kept = frame.read.get(name)
        if kept is not None and kept[0] is self:
            return kept[1]
        values, _ = without_words(frame.values(name), name, self.reading)
        column = self._by_name.get(name)
        if column is None or not values.text or column.kind in ("categorical", "vector", "text"):
            return values
        form = getattr(column, "form", None)
        values, unread = in_form(values, form, frame.owner, name, self.reading)
        if unread is not None:
            frame.unread[name] = unread
        frame.read[name] = self, values
        return values

    @property
    def for_files(self) -> Reading:
        """How files are to be read for this encoding: columns that it knows as text stay text until then."""
        as_text = [
            column.name
            for column in self.columns
            if column.kind in ("categorical", "text") or getattr(column, "form", None) is not None
        ]
        return self.reading.with_text(as_text)

    def extra_columns(self, table: Any) -> tuple[str, ...]:
        """Return the columns of a table that the reference did not have; `transform` ignores them."""
        return self.unknown_columns(open_dataset(table, "the data"))

    def unknown_columns(self, dataset: Dataset) -> tuple[str, ...]:
        """Return the same of a dataset that is open; a summary has noticed them when it was made."""
        if dataset.summary is not None:
            return tuple(dataset.summary.noticed.extra)
        known = {*self._slots, *(entry.column for entry in self.left_out)}
        return tuple(name for name in dataset.names if name not in known)

    def slots(self, name: str) -> slice:
        """Return where in the encoded rows a column is.

        Examples
        --------
        >>> import numpy as np
        >>> Encoding.fit(np.zeros((2, 3))).slots("2")
        slice(2, 3, None)
        """
        if name not in self._slots:
            self.column(name)  # which says why
        return self._slots[name]

    def column(self, name: str) -> Column:
        """Return the column of that name."""
        try:
            return self._by_name[name]
        except KeyError:
            pass
        for entry in self.left_out:
            if entry.column == name:
                raise ValueError(str(entry))
        raise ValueError(f"the encoding has no column {name!r}; {suggestion(name, list(self._slots))}")

    @property
    def width(self) -> int:
        """The number of slots of an encoded row."""
        return int(self._slots[self.columns[-1].name].stop)

    @property
    def is_identity(self) -> bool:
        """Whether rows stay as they are: all columns of arrays, none of them weighted."""
        return self.array_columns == len(self.columns) and all(factor == 1 for factor in self._factors)

    @property
    def digest(self) -> str:
        """A digest of how columns become numbers; empty where they stay as they are."""
        if self.is_identity:
            return ""
        stored = self.to_dict()
        used = {"array_columns": stored["array_columns"], "columns": stored["columns"]}
        if stored["reading"]:
            used["reading"] = stored["reading"]
        return hashlib.sha256(json.dumps(used, sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding as numbers, strings, lists and dictionaries, ready for JSON."""
        return encoding_to_dict(self.columns, self.left_out, self.array_columns, self.reading)

    @classmethod
    def from_dict(cls, data: Any) -> Encoding:
        """Return the encoding that `to_dict` wrote; a ValueError names the field that is wrong."""
        return cls(*encoding_from_dict(data))

    def describe(self, title: str = "Encoding") -> str:
        """Return what becomes of every column, as a text of a few lines under a title."""
        if self.array_columns is not None:
            units = [f"{_unit(column):.4g}" for column in self.columns]
            how = "as they are" if set(units) == {"1"} else f"scaled, by {_some(units)}"
            text = f"{title} of an array: {len(self.columns)} of its {self.array_columns} columns {how}"
            weighted = {c.name: c.weight for c in self.columns if c.weight != 1}
            return text + (f", weights {weighted}" if weighted else "")
        pad = max(map(len, [*self._slots, *(entry.column for entry in self.left_out)]))
        lines = [f"{title} of {counted(len(self.columns), 'column')} in {counted(self.width, 'slot')}"]
        for column in self.columns:
            weight = "" if column.weight == 1 else f", weight {column.weight:g}"
            lines.append(f"  {column.name:<{pad}}  {column.kind:<11}  {column.summary()}{weight}")
        read = self.read_as()
        if read:
            lines.append("Read as")
            lines += [f"  {name:<{pad}}  {words}" for name, words in read.items()]
        if self.left_out:
            lines.append("Left out")
            lines += [f"  {entry.column:<{pad}}  {entry.reason}" for entry in self.left_out]
        return "\n".join(lines)

    def compared(self) -> str:
        """Say in one line how many columns are compared, and which are not and why.

        Examples
        --------
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [20, 30, 40], "land": ["DE", "DE", "DE"], "note": ["x", "y", "y"]})
        >>> Encoding.fit(table, exclude=["note"]).compared()
        "1 compared; 2 left out: 'land' (every row has the same value), 'note' (excluded)"
        """
        told = f"{len(self.columns)} compared"
        if not self.left_out:
            return told
        some = [f"{entry.column!r} ({entry.reason})" for entry in self.left_out[:_TOLD]]
        more = len(self.left_out) - len(some)
        return f"{told}; {len(self.left_out)} left out: {', '.join(some)}" + (
            f", {more} more" if more else ""
        )

    def read_as(self) -> dict[str, str]:
        """Return, for each column that the reference holds as text, what it is read as."""
        forms = ((column.name, getattr(column, "form", None)) for column in self.columns)
        return {name: form.words() for name, form in forms if form is not None}

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        names = listed(self._slots)
        return f"Encoding(columns: {names}; width {self.width}; {len(self.left_out)} left out)"

    @cached_property
    def _slots(self) -> dict[str, slice]:
        """Where each column is in the encoded rows."""
        edges = [0, *accumulate(column.width for column in self.columns)]
        return {c.name: slice(*ends) for c, ends in zip(self.columns, pairwise(edges), strict=True)}

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def _factors(self) -> FloatArray:
        """What the columns of an array are multiplied by."""
        return np.array([column.weight / _unit(column) for column in self.columns])

    def _array_points(self, dataset: Dataset) -> Array:
        if dataset.array is None:
            raise TypeError(f"{dataset.name} is a table, but the reference was an array; give an array")
        array = dataset.array
        if array.shape[1] != self.array_columns:
            raise ValueError(
                f"{dataset.name} has {counted(array.shape[1], 'column')} but the reference has "
                f"{self.array_columns}; both must be arrays of the same columns"
            )
        if self.is_identity:
            return array
        weights = self._factors
        places = np.array([int(column.name) for column in self.columns])
        if dataset.on_cluster or isinstance(array, np.ndarray):
            chosen = array if len(places) == array.shape[1] else array[:, places]
            return chosen if (weights == 1).all() else _times(chosen, weights)
        chosen = namespace(array).take(array, like(places, array, namespace(array).int64), axis=1)
        return chosen if (weights == 1).all() else _times(chosen, weights)


def _times(rows: Array, factors: FloatArray) -> Array:
    """Return rows times a factor for each column; in float64 where float32 might not hold that."""
    if not ((factors > 1e-19) & (factors < 1e19)).all():  # the squares of which are numbers of float32
        rows = in_float64(rows)
    return rows * (factors.astype(rows.dtype) if is_spread(rows) else like(factors, rows))


def _some(units: Sequence[str]) -> str:
    if len(units) <= 2:
        return " and ".join(units)
    return ", ".join(units[:5]) + (", ..." if len(units) > 5 else "")


def _unit(column: Column) -> float:
    return column.scale if isinstance(column, ArrayColumn) else 1.0


@lru_cache(maxsize=16)
def _identity(columns: int) -> Encoding:
    every = tuple(ArrayColumn(str(place), "numeric", 1.0) for place in range(columns))
    return Encoding(every, (), columns)


def fit_datasets(
    datasets: Sequence[Dataset],
    *,
    column_weights: Mapping[str, float] | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    reading: Reading | None = None,
    scale: str | None = None,
    text: str | None = None,
) -> Encoding:
    """Fit an encoding on datasets that are open, all of them alike; see `Encoding.fit`."""
    refuse_summaries(*datasets)
    require_same_kinds(datasets)
    if scale is not None:
        choice(scale, "scale", ("robust",))
    if text is not None:
        choice(text, "text", ("hashed",))
    first = datasets[0]
    plain = column_weights is None and columns is None and exclude is None and scale is None
    if not first.is_table and plain:
        require_same_columns(datasets, [])
        return Encoding.identity(first.width)
    said = Reading.of(reading)
    found = fitted_columns(datasets, column_weights, columns, exclude, said, scale, text is not None)
    return Encoding(found.columns, found.left_out, found.array_columns, said, found.remarks)
