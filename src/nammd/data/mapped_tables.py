"""Tables that stay where they are, on Spark or in batches that are read anew: `MappedTable`.

The first pass counts the rows and brings some home, drawn at random. Where these are all there are, they are
a table in memory, and no other pass is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nammd.data.arrays import FloatArray
from nammd.data.dask_tables import SpreadTable, rows_to_fit
from nammd.data.dataset import Dataset, TableDataset
from nammd.data.frames import Frame
from nammd.data.mapped import MappedPieces
from nammd.data.mapped_points import MappedPoints

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
