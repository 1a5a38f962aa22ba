"""What a dataset is, once it has been opened: `Dataset` and its kinds.

There are tables and arrays, each in memory or spread over a cluster, and summaries, which keep no rows. What
a dataset can do is declared here, so nobody outside this room asks of what kind it is. It knows its columns,
and its number of rows where that takes no pass over them. How its rows become points is up to an `Encoding`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, to_numpy
from nammd.data.frames import Frame
from nammd.data.pieces import Pieces
from nammd.data.row_units import RowUnits


@dataclass(frozen=True)
class Source:
    """The file that a dataset came from.

    Attributes
    ----------
    path : Path or str
        The file or folder; an address where it is elsewhere.
    total_rows : int or None
        The rows that it has; more than were read where they are a sample.
    notes : tuple of str
        What the reader had to say: arrays that were flattened, images that were resized.
    words : mapping
        How often words for missing values stood among numbers and times, by column, in all of its rows; the
        reader has taken them out.
    again : callable or None
        Reads some columns of a large table once more, so that they need not be kept; None where they are.
    """

    path: Path | str
    total_rows: int | None = None
    notes: tuple[str, ...] = ()
    words: Mapping[str, Mapping[str, int]] = field(default_factory=dict, repr=False)
    again: Callable[[Sequence[str]], Any] | None = field(default=None, repr=False, compare=False)


@dataclass(eq=False)
class Dataset(ABC):
    """A dataset that has been opened and checked.

    Attributes
    ----------
    name : str
        What messages call it: "x", "the reference", or the name of its file.
    given : object
        What somebody passed.
    source : Source or None
        The file that it came from, if it did.
    units : RowUnits or None
        Which rows belong together, and how much each counts, where somebody said so.
    one_column : bool
        Whether it was given as a single column, which is compared whatever its name.
    frame : Frame or None
        The columns of a table in memory; None of any other dataset.
    array : array or None
        The rows of an array, in memory or in blocks on a cluster; None of any other dataset.
    summary : object
        What is known of rows that are not there any more; None of any other dataset.
    """

    name: str
    given: Any = field(repr=False)
    source: Source | None = field(default=None, kw_only=True)
    units: RowUnits | None = field(default=None, kw_only=True, repr=False)
    one_column: bool = field(default=False, kw_only=True)
    frame: Frame | None = field(default=None, init=False, repr=False)
    array: Array | None = field(default=None, init=False, repr=False)
    summary: Any = field(default=None, init=False, repr=False)
    _points: tuple[object, Array] | None = field(default=None, init=False, repr=False)
    _looks: dict[int, tuple[object, Any]] = field(default_factory=dict, init=False, repr=False)

    keeps_rows: ClassVar[bool] = True
    """Whether it has rows to look at."""
    on_cluster: ClassVar[bool] = False
    """Whether its rows are elsewhere: spread over a cluster of Dask or Spark, or read in batches."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the columns; none where it is no table."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of columns."""

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """The number of rows; None where only a pass over them would tell."""

    @property
    def is_table(self) -> bool:
        """Whether its columns have names, so that they are encoded."""
        return bool(self.names)

    @property
    def in_memory(self) -> bool:
        """Whether its rows are at hand."""
        return self.keeps_rows and not self.on_cluster

    def settled(self) -> Dataset:
        """Return it with its size known, where a pass is needed for that; in memory, where that is small."""
        return self

    def frame_to_fit(self) -> Frame | None:
        """Return the rows of a table that an encoding is fitted on: all, or a sample; None of no table."""
        return self.frame

    def frame_for_pairs(self) -> Frame | None:
        """Return the rows of a table that tell how its columns go together; None where nothing is told."""
        return self.frame

    def first_rows(self, least: int) -> Frame | None:
        """Return rows of a table that lie at one place, at least so many; None where there are none."""
        return self.frame if self.frame is not None and self.frame.rows >= least else None

    def each_frame(self, look: Callable[[Frame], Any]) -> list[Any]:
        """Return what a look at a table tells: at all of it, or at every piece of it that has rows."""
        raise self._is_not("a table")

    def each_block(self, look: Callable[[NDArray[Any]], Any]) -> list[Any]:
        """Return what a look at an array tells: at all of it, or at every block."""
        raise self._is_not("an array")

    def encoded(self, encode: Callable[[Frame], FloatArray], width: int) -> Array:
        """Return the rows of a table as points of so many coordinates."""
        raise self._is_not("a table")

    def renamed(self, name: str) -> Dataset:
        """Return a table of one column under another name."""
        raise self._is_not("a table")

    def in_pieces(self) -> Any:
        """Return the pieces of a dataset that is not in memory."""
        raise self._is_not("on a cluster")

    def _is_not(self, what: str) -> TypeError:
        return TypeError(f"{self.name} is not {what}")

    def points(self, maker: object, make: Callable[[], Array]) -> Array:
        """Return the rows as points, made by `make` the first time that `maker` asks for them."""
        if self._points is None or self._points[0] is not maker:
            self._points = maker, make()
        return self._points[1]

    def looked_at(self, by: object, look: Callable[[], Any]) -> Any:
        """Return what a look at the rows tells, which is taken the first time that somebody asks for it."""
        if id(by) not in self._looks:
            self._looks[id(by)] = by, look()
        return self._looks[id(by)][1]


@dataclass(eq=False)
class TableDataset(Dataset):
    """A table in memory."""

    frame: Frame = field(repr=False, kw_only=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.frame.names

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.frame.names)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.frame.rows

    def each_frame(self, look: Callable[[Frame], Any]) -> list[Any]:
        """Return what a look at the table tells, as the only entry."""
        return [look(self.frame)]

    def encoded(self, encode: Callable[[Frame], FloatArray], width: int) -> Array:
        """Return the rows as points."""
        return encode(self.frame)

    def renamed(self, name: str) -> TableDataset:
        """Return it under another name of its only column."""
        return replace(self, frame=self.frame.renamed(name))


@dataclass(eq=False)
class ArrayDataset(Dataset):
    """An array, wherever its library keeps it: two-dimensional, floating-point, finite."""

    array: Array = field(repr=False, kw_only=True)

    @property
    def names(self) -> tuple[str, ...]:
        """None: the columns of an array have no names."""
        return ()

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.array.shape[1])

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.array.shape[0])

    def each_block(self, look: Callable[[NDArray[Any]], Any]) -> list[Any]:
        """Return what a look at the array tells, as the only entry."""
        return [look(to_numpy(self.array))]


@dataclass(eq=False)
class SpreadArray(ArrayDataset):
    """A Dask array of blocks of rows; see `nammd.data.blocks`."""

    on_cluster: ClassVar[bool] = True

    def each_block(self, look: Callable[[NDArray[Any]], Any]) -> list[Any]:
        """Return what a look at every block tells, in one pass on the cluster."""
        return self.in_pieces().each(look)

    def in_pieces(self) -> Pieces:
        """Return the blocks."""
        return Pieces.of(self.array)


@dataclass(eq=False)
class SummaryDataset(Dataset):
    """A summary of rows that are not there any more, such as a sketch.

    Attributes
    ----------
    summary : object
        It tells its number of rows `n` and of columns `columns`, and makes a sample of itself in a space.
    """

    summary: Any = field(repr=False, kw_only=True)
    keeps_rows: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """None: what columns the rows had is known as a digest only."""
        return ()

    @property
    def width(self) -> int:
        """The number of columns of the rows, as points."""
        return int(self.summary.n_columns)

    @property
    def rows(self) -> int:
        """The number of rows that were summed."""
        return int(self.summary.n)
