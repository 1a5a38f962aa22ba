"""Lazy tables of Polars and relations of DuckDB: rows that are computed when they are asked for, in batches.

Up to `HELD` bytes are held in memory, and are a table like any other. More are read anew for every pass, and
only some pieces of them are in memory at a time.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from nammd.data.arrays import library_of
from nammd.data.mapped import PIECE_ROWS, Made, MappedPieces, Mapper, Merge, Number, cut, merged
from nammd.data.pieces import Whereabouts

HELD = 1 << 30
"""Bytes of Arrow's that are held in memory; where there are more, rows are read when they are needed."""

_PLACE = "read in batches"
_WHEREABOUTS = {
    "polars": Whereabouts(_PLACE, "x.gather_every(100)", keep="x.collect(), where it fits into memory"),
    "duckdb": Whereabouts(
        _PLACE, "duckdb.sql('from x using sample 80000 rows')", keep="order its rows, or x.to_arrow_table()"
    ),
}


def held_or_pieces(data: Any, name: str) -> Any:
    """Return the rows of a lazy table as an Arrow table, or, where they are too many, as pieces.

    None where it is no lazy table that comes in batches.
    """
    found = _parts_of(data)
    if found is None:
        return None
    parts, join, size_of = found
    held: list[Any] = []
    size = 0
    for part in parts():
        held.append(part)
        size += size_of(part)
        if size > HELD:
            [first, *_] = cut(_arrow_batches(held[0]), name)
            return MappedPieces(StreamMapper(parts, name, library_of(data)), tuple(first.column_names))
    return join(held) if held else None


@dataclass(frozen=True, eq=False)
class StreamMapper(Mapper):
    """Maps over batches in this process: some pieces at a time, in threads.

    Attributes
    ----------
    parts : callable
        Gives the rows in parts, from the first.
    owner : str
        What messages call the table.
    library : str
        Whose table it is.
    """

    parts: Callable[[], Iterable[Any]]
    owner: str
    library: str

    @property
    def whereabouts(self) -> Whereabouts:
        """Where the rows are, and what somebody can do with them."""
        return _WHEREABOUTS[self.library.lstrip("_")]

    def each(self, function: Made) -> list[tuple[Number, Any]]:
        """Return what a function makes of every piece."""
        return list(self._found(function))

    def total(self, function: Made, merge: Merge, *, whole: bool = False, small: bool = False) -> Any:
        """Return the same merged, in the order of the pieces."""
        return merged(merge, (value for _, value in self._found(function, whole)))

    def _batches(self) -> Iterator[Any]:
        return chain.from_iterable(map(_arrow_batches, self.parts()))

    def _found(self, function: Made, whole: bool = False) -> Iterator[tuple[Number, Any]]:
        threads = os.cpu_count() or 1
        waiting: deque[tuple[Number, Future[Any]]] = deque()
        with ThreadPoolExecutor(threads) as pool:
            for place, piece in enumerate(cut(self._batches(), self.owner, whole)):
                waiting.append(((0, place), pool.submit(function, piece, (0, place))))
                del piece
                if len(waiting) > threads:  # so many pieces are in memory, and one that is being read
                    number, future = waiting.popleft()
                    yield number, future.result()
            for number, future in waiting:
                yield number, future.result()


def _parts_of(data: Any) -> tuple[Callable[[], Iterable[Any]], Callable[..., Any], Callable[..., int]] | None:
    """Return what gives a lazy table in parts, each time; what joins them; and what tells their bytes."""
    kind = type(data).__name__
    if library_of(data) == "polars" and kind == "LazyFrame" and hasattr(data, "collect_batches"):
        import polars as pl

        parts = partial(data.collect_batches, chunk_size=PIECE_ROWS, maintain_order=True)
        return parts, pl.concat, lambda part: int(part.estimated_size())
    if library_of(data) in ("duckdb", "_duckdb") and kind == "DuckDBPyRelation":
        import pyarrow as pa

        reader = getattr(data, "to_arrow_reader", None) or data.fetch_record_batch
        return partial(reader, PIECE_ROWS), pa.Table.from_batches, lambda part: int(part.nbytes)
    return None


def _arrow_batches(part: Any) -> Iterable[Any]:
    """Return a part of a lazy table as Arrow batches."""
    return part.to_arrow().to_batches() if library_of(part) == "polars" else [part]
