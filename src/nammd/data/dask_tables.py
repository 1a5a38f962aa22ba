"""Tables in pieces, on a cluster or read in batches: some rows to fit an encoding on, and rows as points.

Every piece is encoded where it is read. What comes back are counts, some rows, and the few values of columns
that should have one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.blocks import blocks_of
from nammd.data.dataset import Dataset
from nammd.data.frames import Frame
from nammd.data.mapped import MappedPieces
from nammd.data.pieces import Pieces, within_pieces
from nammd.data.sampling import sample_positions

FIT_ROWS = 100_000
"""Medians, ranges and categories of so many rows are those of all, for any purpose here."""


@dataclass(eq=False)
class SpreadTable(Dataset):
    """A table in pieces that the workers of a cluster hold, or will read."""

    pieces: Pieces | MappedPieces = field(repr=False, kw_only=True)
    on_cluster: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.pieces.names

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.pieces.names)

    @property
    def rows(self) -> int | None:
        """The number of rows, where the pieces tell their sizes."""
        return self.pieces.rows

    def frame_to_fit(self) -> Frame:
        """Return some rows drawn at random; see `rows_to_fit`."""
        return rows_to_fit(self)

    def first_rows(self, least: int) -> Frame | None:
        """Return the first piece that has so many rows; None where there is none."""
        pieces = self.pieces
        assert isinstance(pieces, Pieces)
        for k in range(len(pieces.keys)):
            if pieces.sizes is not None and pieces.sizes[k] < least:
                continue
            [piece] = pieces.each(_some_rows, {k: FIT_ROWS})
            if len(piece) >= least:
                return _frame(piece, self.name, self.names)
        return None

    def each_frame(self, look: Callable[[Frame], Any]) -> list[Any]:
        """Return what a look at every piece that has rows tells, in one pass on the cluster."""
        found = self.pieces.each(partial(_looked_at, owner=self.name, names=self.names, look=look))
        return [told for part in found for told in part]

    def encoded(self, encode: Callable[[Frame], FloatArray], width: int) -> Any:
        """Return the rows as a Dask array of points; every piece is encoded where it is read."""
        numbers = partial(_encoded_piece, owner=self.name, names=self.names, encode=encode)
        array = self._as_points(numbers, width)
        if not array.shape[0]:
            raise ValueError(f"{self.name} is empty: it has no rows")
        return array

    def _as_points(self, numbers: Callable[[Any], FloatArray], width: int) -> Any:
        assert isinstance(self.pieces, Pieces)
        return blocks_of(self.pieces, numbers, width, np.float64)

    def renamed(self, name: str) -> SpreadTable:
        """Give its only column another name, and return it."""
        self.pieces = self.pieces.renamed(name)
        return self

    def in_pieces(self) -> Any:
        """Return the pieces."""
        return self.pieces


def _looked_at(piece: Any, owner: str, names: tuple[str, ...], look: Callable[[Frame], Any]) -> list[Any]:
    """Return what a look at a piece tells, as the only entry; none where it has no rows."""
    return [look(_frame(piece, owner, names))] if len(piece) else []


def _encoded_piece(
    piece: Any, owner: str, names: tuple[str, ...], encode: Callable[[Frame], NDArray[Any]]
) -> NDArray[Any]:
    return encode(_frame(piece, owner, names))


def rows_to_fit(table: SpreadTable) -> Frame:
    """Return a table of rows drawn at random, in their order, in one pass; all where there are no more.

    Where the sizes of the pieces are known, the rows drawn are those that would be drawn in memory. Where
    they are not, every piece draws for itself while it is counted, and the draws are brought together on the
    workers; from then on the sizes are known.
    """
    pieces = table.pieces
    if pieces.sizes is None:
        draw, merge = partial(_draw_piece, rows=FIT_ROWS), partial(_merged, rows=FIT_ROWS)
        drawn = pieces.total(draw, merge) or _Draw({}, {})
        table.pieces = pieces.sized(drawn.sizes)
        found = [part for _, (part, _) in sorted(drawn.parts.items())]
    else:
        total = sum(pieces.sizes)
        chosen = within_pieces(sample_positions(total, FIT_ROWS, 0), pieces.sizes) if total else {}
        found = pieces.each(_rows, chosen) if chosen else []
    if not found:
        raise ValueError(f"{table.name} is empty: it has no rows")
    return _frame(_joined(found, pieces.names), table.name, table.names)


def _some_rows(piece: Any, most: int) -> Any:
    return piece if len(piece) <= most else _rows(piece, np.arange(most))


@dataclass(frozen=True)
class _Draw:
    """Rows drawn from some pieces, by the number of the piece: its size, the rows, and their keys."""

    sizes: Mapping[Any, int]
    parts: Mapping[Any, tuple[Any, NDArray[np.float64]]]


def _draw_piece(piece: Any, number: Any, rows: int) -> _Draw:
    keys = np.random.default_rng([0, *np.ravel(number)]).random(len(piece))
    return _kept(_Draw({number: len(piece)}, {number: (piece, keys)} if len(piece) else {}), rows)


def _merged(draws: list[_Draw], rows: int) -> _Draw:
    one, other = draws
    return _kept(_Draw({**one.sizes, **other.sizes}, {**one.parts, **other.parts}), rows)


def _kept(draw: _Draw, rows: int) -> _Draw:
    """Keep the rows with the smallest keys."""
    total = sum(len(keys) for _, keys in draw.parts.values())
    if total <= rows:
        return draw
    bar = np.partition(np.concatenate([keys for _, keys in draw.parts.values()]), rows - 1)[rows - 1]
    chosen = [(n, piece, np.flatnonzero(keys <= bar), keys) for n, (piece, keys) in draw.parts.items()]
    kept = {n: (_rows(piece, near), keys[near]) for n, piece, near, keys in chosen if len(near)}
    return _Draw(draw.sizes, kept)


def _joined(parts: Sequence[Any], names: Sequence[str]) -> Any:
    import narwhals as nw

    if type(parts[0]).__module__.startswith("pyarrow"):  # files may differ in their types
        import pyarrow as pa

        return pa.concat_tables([part.select(list(names)) for part in parts], promote_options="permissive")
    return nw.concat([nw.from_native(part) for part in map(_as_table, parts)]).to_native()


def _as_table(piece: Any) -> Any:
    import narwhals as nw

    table: Any = nw.from_native(piece, allow_series=True)
    return (table.to_frame() if isinstance(table, nw.Series) else table).to_native()


def _rows(piece: Any, positions: NDArray[np.intp]) -> Any:
    import narwhals as nw

    return nw.from_native(_as_table(piece))[positions.tolist()].to_native()


def _frame(piece: Any, owner: str, names: tuple[str, ...]) -> Frame:
    """Return a piece of a table as columns."""
    import narwhals as nw

    return Frame(nw.from_native(_as_table(piece)), owner, names)
