"""Tables that stay where they are, on Spark or in batches that are read anew: `MappedTable`, `MappedPoints`.

The first pass counts the rows and brings some home, drawn at random. Where these are all there are, they are
a table in memory, and no other pass is made. Else a pass over the points makes them anew, piece by piece, and
lets go of them. What comes home are sums, a few numbers for every row, and some of the rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.blocks import BlockFacts, Known
from nammd.data.dask_tables import SpreadTable, rows_to_fit
from nammd.data.dataset import Dataset, TableDataset
from nammd.data.digest import digest_of_digests, digest_of_rows, heads
from nammd.data.frames import Frame
from nammd.data.mapped import MappedPieces, Merge
from nammd.data.pieces import within_pieces
from nammd.data.sampling import PAIRED_ROWS, representatives, shuffled

HOME_ROWS = 89_442
"""Rows that come home: `nammd.kernels.large.MOST_ROWS`, since so many are compared in pairs."""


@dataclass(eq=False)
class MappedTable(SpreadTable):
    """A table whose rows somebody maps over; see `nammd.data.mapped`."""

    pieces: MappedPieces = field(repr=False, kw_only=True)
    _drawn: Frame | None = field(default=None, init=False, repr=False)

    def settled(self) -> Dataset:
        """Return a table in memory, where the rows are few; else itself, which knows its size from now on."""
        drawn = self.frame_to_fit()
        if drawn.rows < (self.rows or 0) or drawn.rows > HOME_ROWS:
            return self
        return TableDataset(self.name, self.given, source=self.source, frame=drawn)

    def frame_to_fit(self) -> Frame:
        """Return some rows drawn at random, always the same."""
        if self._drawn is None:
            self._drawn = rows_to_fit(self)
        return self._drawn

    def frame_for_pairs(self) -> Frame:
        """Return the same rows."""
        return self.frame_to_fit()

    def first_rows(self, least: int) -> Frame | None:
        """Return the same rows, where there are so many."""
        found = self.frame_to_fit()
        return found if found.rows >= least else None

    def _as_points(self, numbers: Callable[[Any], FloatArray], width: int) -> Any:
        self.frame_to_fit()  # which tells how large the pieces are
        return MappedPoints(self.pieces, numbers, width, self.name)


@dataclass(eq=False)
class MappedPoints:
    """Rows of a table as points, made wherever the rows are, whenever somebody goes over them.

    Attributes
    ----------
    pieces : MappedPieces
        The pieces, with their sizes.
    numbers : callable
        Makes points of a piece.
    width : int
        The number of coordinates.
    owner : str
        What messages call the table.
    marks : dict
        A check sum of the points of every piece, by its place, as it was found the first time.
    known : Known
        What is known of them.
    """

    pieces: MappedPieces
    numbers: Callable[[Any], FloatArray] = field(repr=False)
    width: int
    owner: str
    marks: dict[int, int] = field(default_factory=dict, repr=False)
    known: Known = field(default_factory=Known, repr=False)
    is_mapped: ClassVar[bool] = True
    dtype: ClassVar[Any] = np.dtype(np.float64)
    ndim: ClassVar[int] = 2

    @property
    def sizes(self) -> tuple[int, ...]:
        """The rows of every piece."""
        assert self.pieces.sizes is not None
        return self.pieces.sizes

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of coordinates."""
        return sum(self.sizes), self.width

    def each(self, function: Callable[..., Any], *arguments: Mapping[int, Any]) -> list[Any]:
        """Return what a function makes of the points of every piece; see `MappedPieces.each`."""
        found = self.pieces.each(partial(_with_mark, self.numbers, function), *arguments)
        places = list(arguments[0] if arguments else range(len(self.sizes)))
        self._require_same(places, [each[:2] for each in found])
        return [told for *_, told in found]

    def total(self, function: Callable[[FloatArray], Any], merge: Merge) -> Any:
        """Return what a function makes of the points of every piece, merged; it has to be small."""
        marks, found = self.pieces.total(
            partial(_marked, self.numbers, function), partial(_merged_marks, merge), small=True
        )
        self._require_same(range(len(self.sizes)), [each for _, each in sorted(marks.items())])
        return found

    def look(self, wanted: NDArray[np.intp] | None) -> None:
        """Learn what is not known yet, in one pass: what is wrong, rows that will be asked for, a digest.

        Beside a pass a digest costs nothing, so it is always made.
        """
        rows, size = representatives(self.shape[0]), self.shape[0]
        rows = np.union1d(rows, np.union1d(shuffled(size, PAIRED_ROWS), [] if wanted is None else wanted))
        rows = rows.astype(np.intp)
        if self.known.wrong is not None and self.known.has(rows):
            return
        local, whole = within_pieces(rows, self.sizes), heads(self.shape)[0]
        none = np.empty(0, np.intp)
        asked = {k: local.get(k, none) for k in range(len(self.sizes))}
        found = self.each(_looked_at, asked)
        self.known.note([facts for facts, *_ in found])
        self.known.positions, self.known.rows = rows, np.concatenate([some for _, some, _ in found])
        self.known.digest = digest_of_digests(whole, [part for *_, part in found])

    def _require_same(self, places: Sequence[int], found: Sequence[tuple[int, int]]) -> None:
        """Refuse rows that are not those of the first time, or in another order."""
        if len(places) == len(found) and all(
            rows == self.sizes[place] and self.marks.setdefault(place, mark) == mark
            for place, (rows, mark) in zip(places, found, strict=True)
        ):
            return
        raise ValueError(
            f"{self.owner} gave other rows, or the same in another order, when it was read again; make it "
            f"give the same rows each time: {self.pieces.whereabouts.keep}"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        known = self.pieces.whereabouts
        raise TypeError(
            f"{self.owner} is {known.place}, and this needs all of its {self.shape[0]} rows in memory; give "
            f"a sample of them, such as {known.sample}. Distances and tolerances by kernels with features, "
            "without exact=True, and sketches take all rows"
        )


def _mark(points: FloatArray) -> tuple[int, int]:
    """Return the number of rows, and a check sum that depends on their order."""
    return len(points), zlib.crc32(np.ascontiguousarray(points).data)


def _with_mark(
    numbers: Callable[[Any], FloatArray], function: Callable[..., Any], piece: Any, *arguments: Any
) -> tuple[int, int, Any]:
    points = numbers(piece)
    return (*_mark(points), function(points, *arguments))


def _marked(
    numbers: Callable[[Any], FloatArray], function: Callable[[FloatArray], Any], piece: Any, number: Any
) -> tuple[dict[Any, tuple[int, int]], Any]:
    points = numbers(piece)
    return {number: _mark(points)}, function(points)


def _merged_marks(merge: Merge, parts: list[tuple[dict[Any, tuple[int, int]], Any]]) -> Any:
    (marks, one), (more, other) = parts
    return marks | more, merge([one, other])


def _looked_at(points: FloatArray, rows: NDArray[np.intp]) -> tuple[BlockFacts, FloatArray, bytes]:
    return BlockFacts.of(points), points[rows], digest_of_rows(points, b"")
