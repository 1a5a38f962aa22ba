"""Samples on a cluster: Dask arrays of blocks of rows, and what one look at the blocks tells of them.

A look is one pass over the data. It counts rows, finds what is wrong with them, and brings home the few rows
that somebody will ask for, and a digest if one is wanted; so everybody who will ask should say so beforehand.
What is known of an array is noted on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.digest import DIGEST_ROWS, digest_of_digests, digest_of_rows, heads
from nammd.data.magnitudes import first_beyond, too_large, within_limits
from nammd.data.pieces import Graph, Key, Pieces, fetch, fresh_name, graph_of, is_mapped, within_pieces
from nammd.data.sampling import representatives
from nammd.errors.checks import not_finite

_NOTE = "_nammd_known"

Numbers = Callable[[Any], NDArray[Any]]


@dataclass(frozen=True)
class BlockFacts:
    """What one look at a block of rows tells.

    Attributes
    ----------
    rows, wrong : int
        The number of rows, and how many of them hold NaN or infinity.
    first : array or None
        The first row.
    constant : bool
        Whether all rows are like it.
    beyond : tuple or None
        The row, the column and the value of the first number that is too large.
    """

    rows: int
    wrong: int
    first: NDArray[Any] | None
    constant: bool
    beyond: tuple[int, int, float] | None = None

    @classmethod
    def of(cls, block: NDArray[Any]) -> BlockFacts:
        """Look at a block."""
        if not len(block):
            return cls(0, 0, None, True)
        wrong, beyond = 0, None
        if not within_limits(block):
            wrong, beyond = int((~np.isfinite(block)).any(axis=1).sum()), first_beyond(block)
        return cls(len(block), wrong, block[0].copy(), bool((block == block[0]).all()), beyond)


@dataclass
class Known:
    """What is known of a Dask array.

    Attributes
    ----------
    wrong : int or None
        How many rows hold NaN or infinity; None before the first look.
    constant : bool
        Whether all rows are the same.
    positions, rows : array
        Rows that are at home, and where they are in the sample.
    digest : str
        A digest of the rows; empty until it is asked for.
    beyond : tuple or None
        The row, the column and the value of the first number that is too large.
    """

    wrong: int | None = None
    constant: bool = False
    positions: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    rows: NDArray[Any] | None = None
    digest: str = ""
    beyond: tuple[int, int, float] | None = None

    def note(self, facts: Sequence[BlockFacts]) -> None:
        """Put together what is known of the blocks; those without rows say nothing."""
        filled = [b for b in facts if b.first is not None]
        self.wrong = sum(b.wrong for b in filled)
        starts = accumulate((b.rows for b in filled), initial=0)
        beyond = [
            (start + b.beyond[0], *b.beyond[1:]) for start, b in zip(starts, filled, strict=False) if b.beyond
        ]
        self.beyond = beyond[0] if beyond else None
        self.constant = all(b.constant and np.array_equal(b.first, filled[0].first) for b in filled)  # type: ignore[arg-type]

    def has(self, positions: NDArray[np.intp]) -> bool:
        """Tell whether rows are at home."""
        return bool(np.isin(positions, self.positions).all())


def known(array: Any) -> Known:
    """Return what is known of an array of blocks, or of rows of a table in pieces."""
    if is_mapped(array):
        of_rows: Known = array.known
        return of_rows
    found: Known | None = getattr(array, _NOTE, None)
    if found is None:
        found = Known()
        setattr(array, _NOTE, found)
    return found


def blocks_of(pieces: Pieces, numbers: Numbers, width: int, dtype: Any) -> Any:
    """Return pieces of a dataset as one Dask array; `numbers` makes rows of `width` columns of a piece.

    Nothing is computed, unless the sizes of the pieces are not known: then they are looked at. Pieces without
    rows are dropped.
    """
    array_of = partial(_block, numbers=numbers, width=width, dtype=np.dtype(dtype))
    facts: list[BlockFacts] | None = None
    if pieces.sizes is None:
        facts = pieces.each(partial(_facts_of_piece, array_of=array_of))
    sizes = [f.rows for f in facts] if facts is not None else pieces.sizes
    filled = [(key, rows) for key, rows in zip(pieces.keys, sizes, strict=True) if rows]  # type: ignore[arg-type]
    name = fresh_name("rows")
    tasks: Graph = {(name, k, 0): (array_of, key) for k, (key, _) in enumerate(filled)}
    if not filled:
        tasks[(name, 0, 0)] = (np.empty, [0, width], np.dtype(dtype))
    array = _array(name, tasks, pieces.sources, tuple(rows for _, rows in filled) or (0,), width, dtype)
    if facts is not None:
        known(array).note(facts)
    return array


def in_blocks(sample: NDArray[Any]) -> Any:
    """Return a sample in memory as a Dask array of blocks."""
    import dask.array as da

    array = da.from_array(sample, chunks=(8192, -1))
    found = known(array)
    found.note([BlockFacts.of(sample)])
    found.positions, found.rows = np.arange(len(sample)), sample
    return array


def with_type(array: Any, dtype: Any) -> Any:
    """Return an array of blocks in another floating-point type; what is known of it stays known."""
    if array.dtype == dtype:
        return array
    changed, before = array.astype(dtype), known(array)
    rows = None if before.rows is None else before.rows.astype(dtype)
    setattr(changed, _NOTE, replace(before, rows=rows, digest=""))
    return changed


def look(
    arrays: Sequence[Any], wanted: Sequence[NDArray[np.intp]] | None = None, digest: bool = False
) -> None:
    """Look at arrays of blocks, all of them in one pass, as far as they are not known yet.

    Parameters
    ----------
    arrays : sequence of arrays
        Arrays of blocks; or rows of tables in pieces, each of which is a pass of its own.
    wanted : sequence of arrays, optional
        For each of them the positions of rows to bring home, besides those that stand for the sample.
    digest : bool
        Whether digests are wanted too.
    """
    graph: Graph = {}
    orders: list[_Order] = []
    for number, array in enumerate(arrays):
        if is_mapped(array):
            array.look(None if wanted is None else wanted[number])
            continue
        rows = representatives(int(array.shape[0]))
        if wanted is not None:
            rows = np.union1d(rows, wanted[number])
        order = _Order(array, rows, digest)
        if order.tasks:
            graph |= graph_of([array]) | order.tasks
            orders.append(order)
    if not orders:
        return
    found = iter(fetch(graph, [key for order in orders for key in order.keys]))
    for order in orders:
        order.take([next(found) for _ in order.keys])


class _Order:
    """What is still to be learned of one array."""

    def __init__(self, array: Any, rows: NDArray[np.intp], digest: bool) -> None:
        self.array, self.known, self.rows = array, known(array), rows
        self.tasks: Graph = {}
        name, blocks = fresh_name("look"), range(len(array.chunks[0]))
        self.facts: list[Key] = []
        if self.known.wrong is None:
            self.tasks |= {(name, "facts", k): (BlockFacts.of, (array.name, k, 0)) for k in blocks}
            self.facts = list(self.tasks)
        self.taken: list[Key] = []
        if not self.known.has(rows):
            for k, local in within_pieces(rows, array.chunks[0]).items():
                self.tasks[(name, "some", k)] = (np.take, (array.name, k, 0), local, 0)
                self.taken.append((name, "some", k))
        self.digests: list[Key] = []
        if digest and not self.known.digest:
            cut = array.rechunk((DIGEST_ROWS, -1))
            _, first = heads(array.shape)
            hashed = {
                (name, "digest", k): (partial(digest_of_rows, first=first), (cut.name, k, 0))
                for k in range(len(cut.chunks[0]))
            }
            self.tasks |= graph_of([cut]) | hashed
            self.digests = list(hashed)

    @property
    def keys(self) -> list[Key]:
        return [*self.facts, *self.taken, *self.digests]

    def take(self, found: list[Any]) -> None:
        """Note what was learned."""
        results = iter(found)
        if self.facts:
            self.known.note([next(results) for _ in self.facts])
        if self.taken:
            self.known.rows = np.concatenate([next(results) for _ in self.taken])
            self.known.positions = self.rows
        if self.digests:
            whole, _ = heads(self.array.shape)
            self.known.digest = digest_of_digests(whole, [next(results) for _ in self.digests])


def require_finite_blocks(array: Any, name: str, digest: bool = False) -> None:
    """Refuse an array of blocks with NaN, infinity or numbers that are too large in it, after one look."""
    look([array], digest=digest)
    found = known(array)
    if found.wrong:
        raise not_finite(name, found.wrong, int(array.shape[0]))
    if found.beyond:
        raise too_large(name, *found.beyond)


def some_rows(array: Any, rows: NDArray[Any]) -> NDArray[Any]:
    """Return some rows of an array of blocks as a NumPy array; only these leave the workers."""
    rows = np.asarray(rows)
    found = known(array)
    if not len(rows):
        return np.empty((0, array.shape[1]), array.dtype)
    if not found.has(rows):
        look([array], [np.unique(rows)])
    assert found.rows is not None
    return found.rows[np.searchsorted(found.positions, rows)]


def _array(
    name: str, tasks: Graph, sources: Sequence[Any], rows: tuple[int, ...], width: int, dtype: Any
) -> Any:
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    distinct = list({id(source.__dask_graph__()): source for source in sources}.values())
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=distinct)
    return da.Array(graph, name, chunks=(rows, (width,)), dtype=dtype, meta=np.empty((0, 0), dtype))


def _block(piece: Any, numbers: Numbers, width: int, dtype: Any) -> NDArray[Any]:
    if not len(piece):
        return np.empty((0, width), dtype)
    return np.ascontiguousarray(numbers(piece), dtype=dtype)


def _facts_of_piece(piece: Any, array_of: Numbers) -> BlockFacts:
    return BlockFacts.of(array_of(piece))
