"""Tables on a cluster: a sample of their rows to fit an encoding on, and their rows as points.

Every piece is encoded where it is read. What comes back are counts, some rows, and the few values of columns
that should have one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.blocks import blocks_of
from nammd.data.dataset import Dataset, SpreadArray, SpreadTable
from nammd.data.frames import Frame
from nammd.data.pieces import Graph, Key, Pieces, fetch, fresh_name, within_pieces
from nammd.data.sampling import sample_positions

FIT_ROWS = 100_000
"""Medians, ranges and categories of so many rows are those of all, for any purpose here."""

_MANY = 100


def pieces_of(dataset: Dataset) -> Pieces:
    """Return the pieces of a dataset on a cluster: those of a table, or the blocks of an array."""
    if isinstance(dataset, SpreadTable):
        return dataset.pieces
    assert isinstance(dataset, SpreadArray)
    return Pieces.of(dataset.array)


def encoded(table: SpreadTable, encode: Callable[[Frame], NDArray[Any]], width: int) -> Any:
    """Return a table on a cluster as a Dask array of points."""
    numbers = partial(_encoded_piece, owner=table.name, names=table.names, encode=encode)
    array = blocks_of(table.pieces, numbers, width, np.float64)
    if not array.shape[0]:
        raise ValueError(f"{table.name} is empty: it has no rows")
    return array


def _encoded_piece(
    piece: Any, owner: str, names: tuple[str, ...], encode: Callable[[Frame], NDArray[Any]]
) -> NDArray[Any]:
    return encode(frame_of_piece(piece, owner, names))


def rows_to_fit(table: SpreadTable, rows: int = FIT_ROWS, rng: Any = 0) -> Frame:
    """Return a table of rows drawn at random, in their order, in one pass; all where there are no more.

    Where the sizes of the pieces are known, the rows drawn are those that would be drawn in memory. Where
    they are not, every piece draws for itself while it is counted, and the draws are brought together on the
    workers; from then on the sizes are known.
    """
    pieces = table.pieces
    if pieces.sizes is None:
        drawn = _drawn_while_counting(pieces, rows)
        table.pieces = replace(pieces, sizes=drawn.sizes)
        found = [part for _, part, _ in drawn.parts]
    else:
        total = sum(pieces.sizes)
        chosen = within_pieces(sample_positions(total, rows, rng), pieces.sizes) if total else {}
        found = pieces.each(_rows, chosen) if chosen else []
    if not found:
        raise ValueError(f"{table.name} is empty: it has no rows")
    return frame_of_piece(_joined(found, pieces.names), table.name, table.names)


def first_rows(table: SpreadTable, least: int) -> Frame | None:
    """Return the first piece that has so many rows; None where there is none."""
    pieces = table.pieces
    for k in range(len(pieces.keys)):
        if pieces.sizes is not None and pieces.sizes[k] < least:
            continue
        [piece] = pieces.each(_some_rows, {k: FIT_ROWS})
        if len(piece) >= least:
            return frame_of_piece(piece, table.name, table.names)
    return None


def _some_rows(piece: Any, most: int) -> Any:
    return piece if len(piece) <= most else _rows(piece, np.arange(most))


@dataclass(frozen=True)
class _Draw:
    """Rows drawn from some pieces: for each, its number, the rows, and the keys that they drew."""

    sizes: tuple[int, ...]
    parts: tuple[tuple[int, Any, NDArray[np.float64]], ...]


def _drawn_while_counting(pieces: Pieces, rows: int) -> _Draw:
    name = fresh_name("draw")
    level: list[Key] = [(name, 0, k) for k in range(len(pieces.keys))]
    tasks: Graph = {
        key: (partial(_draw_piece, number=k, rows=rows), pieces.keys[k]) for k, key in enumerate(level)
    }
    depth = 0
    while len(level) > 1:  # a tree: no worker ever holds more than two draws
        depth += 1
        pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
        level = [(name, depth, k) if len(pair) == 2 else pair[0] for k, pair in enumerate(pairs)]
        merge = partial(_merged, rows=rows)
        tasks |= {key: (merge, *pair) for key, pair in zip(level, pairs, strict=True) if len(pair) == 2}
    [drawn] = fetch(pieces.graph() | tasks, level)
    found: _Draw = drawn
    return found


def _draw_piece(piece: Any, number: int, rows: int) -> _Draw:
    keys = np.random.default_rng([0, number]).random(len(piece))
    return _kept(_Draw((len(piece),), ((number, piece, keys),) if len(piece) else ()), rows)


def _merged(one: _Draw, other: _Draw, rows: int) -> _Draw:
    return _kept(_Draw(one.sizes + other.sizes, one.parts + other.parts), rows)


def _kept(draw: _Draw, rows: int) -> _Draw:
    """Keep the rows with the smallest keys."""
    total = sum(len(keys) for _, _, keys in draw.parts)
    if total <= rows:
        return draw
    bar = np.partition(np.concatenate([keys for _, _, keys in draw.parts]), rows - 1)[rows - 1]
    chosen = [(number, piece, np.flatnonzero(keys <= bar), keys) for number, piece, keys in draw.parts]
    kept = tuple((n, _rows(piece, near), keys[near]) for n, piece, near, keys in chosen if len(near))
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


def frame_of_piece(piece: Any, owner: str, names: tuple[str, ...]) -> Frame:
    """Return a piece of a table as columns."""
    import narwhals as nw

    return Frame(nw.from_native(_as_table(piece)), owner, names)


def distinct_values(
    table: SpreadTable, names: Sequence[str], look: Callable[[Frame, str], set[Any]]
) -> list[set[Any]]:
    """Return the different values of some columns, as far as they are few."""
    every = partial(_distinct_of_piece, owner=table.name, own=table.names, names=list(names), look=look)
    found = table.pieces.each(every)
    return [set[Any]().union(*(part[k] for part in found)) for k in range(len(names))]


def _distinct_of_piece(
    piece: Any, owner: str, own: tuple[str, ...], names: list[str], look: Callable[[Frame, str], set[Any]]
) -> list[set[Any]]:
    if not len(piece):
        return [set() for _ in names]
    frame = frame_of_piece(piece, owner, own)
    return [set(list(look(frame, name))[:_MANY]) for name in names]
