"""Where a report finds its data: encoded samples, columns with names, and original values.

A result brings the datasets that were compared, and the space between them and their points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray, is_spread, to_numpy
from nammd.data.dataset import Dataset
from nammd.data.frames import Frame
from nammd.data.pieces import is_mapped
from nammd.data.values import Values
from nammd.encoding import Encoding
from nammd.explaining.writing import MANY_DAYS, day, duration, moment, readable
from nammd.results import Reportable

PROFILE_ROWS = 20_000
"""Histograms and shares are read off at most so many rows of each dataset, evenly spaced."""


@dataclass(frozen=True)
class Variable:
    """A column as the report sees it.

    Attributes
    ----------
    name : str
        What to call it.
    kind : {"numeric", "categorical", "boolean", "datetime"}
        What it holds.
    slots : slice
        Where it is in the encoded rows.
    key : str or None
        Its name in the tables; None where the data are arrays.
    weight : float
        What its encoded values were multiplied by.
    """

    name: str
    kind: str
    slots: slice
    key: str | None = None
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class ReportedData:
    """One of the two datasets.

    Attributes
    ----------
    name : str
        What to call it.
    encoded : array of shape (rows, slots)
        What the kernel compared.
    frame : Frame or None
        The table it came from; None for arrays.
    encoding : Encoding or None
        How its columns were read.
    """

    name: str
    encoded: FloatArray = field(repr=False)
    frame: Frame | None = field(repr=False)
    encoding: Encoding | None = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.encoded)

    def values(self, variable: Variable, positions: NDArray[np.intp]) -> Values:
        """Return the original values of a column in the given rows."""
        if self.frame is None or variable.key is None:
            numbers = self.encoded[positions, variable.slots][:, 0] / variable.weight
            return Values("numeric", np.zeros(len(numbers), dtype=bool), numbers=numbers)
        kept = self.frame.read.get(variable.key)
        if kept is not None:  # text that was read as something else
            return kept[1].take(positions)
        part = self._part(positions)
        return (
            part.values(variable.key) if self.encoding is None else self.encoding.values(part, variable.key)
        )

    def texts(self, name: str, positions: NDArray[np.intp]) -> tuple[str | None, ...] | None:
        """Return the values of a column that takes no part, as text; None where it is not at hand."""
        if self.frame is None or name not in self.frame.names:
            return None
        found = self.frame.take(positions).series(name).to_list()
        return tuple(None if value is None else str(value)[:80] for value in found)

    def writer(self, variable: Variable, span: float = 0.0) -> Callable[[float], str]:
        """Return a function that writes a number of this column for people.

        Where the values span more than a few days, say so by `span`: then the hour says nothing.
        """
        if self.frame is None or variable.key is None or variable.kind != "datetime":
            return readable
        clock = "" if self.encoding is None else getattr(self.encoding.column(variable.key), "clock", "")
        write = duration if clock == "time of day" else _time_writer(self.frame, variable.key)
        return day if write is moment and span > MANY_DAYS else write

    @cached_property
    def profile_rows(self) -> NDArray[np.intp]:
        """The rows that histograms and shares are read off."""
        return evenly(self.rows, PROFILE_ROWS)

    def _part(self, positions: NDArray[np.intp]) -> Frame:
        assert self.frame is not None
        if len(positions) == self.rows:
            return self.frame
        return self.frame.take(positions)


@dataclass(frozen=True, eq=False)
class Source:
    """Both datasets and their columns."""

    x: ReportedData
    y: ReportedData
    variables: tuple[Variable, ...]
    left_out: tuple[tuple[str, str], ...]

    @property
    def sides(self) -> tuple[ReportedData, ReportedData]:
        """The two datasets."""
        return self.x, self.y


def reportable(result: Any) -> Reportable:
    """Return what a report is made of, of a verdict its details, or say which results have one."""
    found = getattr(result, "details", result)
    if isinstance(found, Reportable):
        return found
    raise TypeError(
        "a report needs the result of distance, closeness_test or a tolerance's check, not "
        f"{type(result).__name__}"
    )


def source_of(result: Any) -> Source:
    """Find the data of a result."""
    result = reportable(result)
    estimate = result.estimate
    for points in filter(is_mapped, estimate.data):
        np.asarray(points)  # says that rows are needed here, and what to do
    if any(map(is_spread, estimate.data)):
        raise TypeError(
            "a report looks at single rows, and these are spread over a Dask cluster; make the result from a "
            "sample of the rows in memory, and the report from that"
        )
    encoding = estimate.space.encoding
    tables = encoding.array_columns is None
    variables = tuple(
        Variable(
            c.name if tables else f"column {c.name}",
            c.kind,
            encoding.slots(c.name),
            c.name if tables else None,
            c.weight,
        )
        for c in encoding.columns
    )
    samples = estimate.evidence.x, estimate.evidence.y
    x, y = (
        ReportedData(name, to_numpy(sample.points), _frame(sample.dataset, variables), encoding)
        for name, sample in zip(result.datasets, samples, strict=True)
    )
    return Source(x, y, variables, tuple((entry.column, entry.reason) for entry in encoding.left_out))


def _frame(dataset: Dataset, variables: tuple[Variable, ...]) -> Frame | None:
    """Return the table that a dataset is; None where it is an array."""
    if dataset.frame is None:
        return None
    one = dataset.one_column and len(variables) == 1
    return dataset.frame.renamed(variables[0].name) if one else dataset.frame


def evenly(rows: int, most: int) -> NDArray[np.intp]:
    """Return the positions of at most `most` evenly spaced rows.

    Examples
    --------
    >>> evenly(10, 4).tolist(), evenly(3, 4).tolist()
    ([0, 3, 6, 9], [0, 1, 2])
    """
    if rows <= most:
        return np.arange(rows)
    return np.linspace(0, rows - 1, most).round().astype(np.intp)


def _time_writer(frame: Frame, key: str) -> Callable[[float], str]:
    """Return how the seconds that a column of times was turned into are written.

    Dates, durations and times of day are all seconds once they are numbers; the table still knows.
    """
    import narwhals as nw

    series = frame.series(key)
    kind = series.dtype
    if kind in (nw.Duration, nw.Time):
        return duration
    if kind == nw.Date:
        return day
    if kind == nw.Datetime:
        return moment
    first = series.drop_nulls()[0] if len(series.drop_nulls()) else None
    return {"timedelta": duration, "time": duration, "date": day}.get(type(first).__name__, moment)
