"""Tables whose rows come as Arrow batches, here or on executors: pieces, and who maps functions over them.

A `Mapper` knows where the batches are. It calls a function with every piece of the rows, a few ten thousand
at a time, and brings home what comes of it, piece by piece or merged. All else is the same for Spark, Polars
and DuckDB, and is what data on a Dask cluster can do as well (`nammd.data.pieces`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from nammd.data.digest import DIGEST_ROWS
from nammd.data.nested import flat
from nammd.data.pieces import Whereabouts

PIECE_ROWS = DIGEST_ROWS
"""Rows of a piece: as many as a digest is made of, so that streams have the digests of tables in memory."""

Number: TypeAlias = tuple[int, int]
"""Which piece it is: the partition, and the piece within it."""

Made: TypeAlias = Callable[[Any, Number], Any]
"""What a function makes of a piece and its number."""

Merge: TypeAlias = Callable[[list[Any]], Any]


class Mapper(ABC):
    """Calls functions with the pieces of a table, in one pass over its rows.

    A function gets a piece, which is an Arrow table, and its number. Numbers and pieces are the same in every
    pass, if the table gives its rows in the same order.
    """

    @abstractmethod
    def each(self, function: Made) -> list[tuple[Number, Any]]:
        """Return what a function makes of every piece that has rows, in their order."""

    @abstractmethod
    def total(self, function: Made, merge: Merge, *, whole: bool = False, small: bool = False) -> Any:
        """Return the same merged, two at a time; None where there are no rows.

        With `whole` a piece is all of a partition: rows that belong together stay together. What has no more
        than some kilobytes is `small`, and may be merged here.
        """

    @property
    @abstractmethod
    def whereabouts(self) -> Whereabouts:
        """Where the rows are, and what somebody can do with them, for messages."""


@dataclass(frozen=True, eq=False)
class MappedPieces:
    """Pieces of a table that a mapper goes over; what `Pieces` are on a Dask cluster.

    Attributes
    ----------
    mapper : Mapper
        Who calls functions with them.
    names : tuple of str
        The names of the columns.
    numbers : tuple
        The numbers of the pieces, where they are known.
    sizes : tuple of int or None
        Their numbers of rows, where these are known.
    """

    mapper: Mapper
    names: tuple[str, ...]
    numbers: tuple[Number, ...] = ()
    sizes: tuple[int, ...] | None = None

    def each(self, function: Callable[..., Any], *arguments: Mapping[int, Any]) -> list[Any]:
        """Return what a function makes of every piece, in one pass.

        With further arguments, which are given by the number of the piece, only of those that have some.
        """
        if not arguments:
            return [found for _, found in self.mapper.each(partial(_called, function))]
        chosen = {self.numbers[k]: [each[k] for each in arguments] for k in arguments[0]}
        found = self.mapper.each(partial(_called_with, function, chosen))
        return [told for _, [*part] in found for told in part]

    def total(self, function: Callable[[Any, Any], Any], merge: Merge, **how: bool) -> Any:
        """Return what a function makes of every piece and its number, merged in one pass; see `Mapper`."""
        return self.mapper.total(function, merge, **how)

    def sized(self, sizes: Mapping[Any, int]) -> MappedPieces:
        """Return the same with what a pass told: the rows of every piece, by its number."""
        ordered = dict(sorted(sizes.items()))
        return replace(self, numbers=tuple(ordered), sizes=tuple(ordered.values()))

    def renamed(self, name: str) -> MappedPieces:
        """Return pieces of one column under another name."""
        return replace(self, names=(name,))

    @property
    def whereabouts(self) -> Whereabouts:
        """Where the rows are, and what somebody can do with them, for messages."""
        return self.mapper.whereabouts

    @property
    def rows(self) -> int | None:
        """The number of rows, where it is known without a pass."""
        return None if self.sizes is None else sum(self.sizes)


def cut(batches: Iterable[Any], owner: str, whole: bool = False) -> Iterator[Any]:
    """Yield Arrow batches as tables of `PIECE_ROWS` rows, the last one shorter; or all of them as one.

    >>> import pyarrow as pa
    >>> batches = [pa.record_batch({"a": range(50_000)})] * 3
    >>> [len(piece) for piece in cut(batches, "x")]
    [65536, 65536, 18928]
    """
    import pyarrow as pa

    held: list[Any] = []
    rows = 0
    for batch in batches:
        if not len(batch):
            continue
        held.append(flat(pa.Table.from_batches([batch]), owner))
        rows += len(batch)
        while rows >= PIECE_ROWS and not whole:
            table = pa.concat_tables(held, promote_options="permissive")
            yield table[:PIECE_ROWS]
            held, rows = [table[PIECE_ROWS:]], rows - PIECE_ROWS
    if rows:
        yield pa.concat_tables(held, promote_options="permissive")


def merged(merge: Merge, parts: Iterable[Any]) -> Any:
    """Merge parts, one after the other; None where there are none."""
    whole: Any = None
    for part in parts:
        whole = part if whole is None else merge([whole, part])
    return whole


def in_order(found: Sequence[tuple[Number, Any]]) -> list[tuple[Number, Any]]:
    """Return what pieces came to in the order of the pieces."""
    return sorted(found, key=lambda each: each[0])


def _called(function: Callable[[Any], Any], piece: Any, number: Number) -> Any:
    return function(piece)


def _called_with(
    function: Callable[..., Any], chosen: Mapping[Number, Sequence[Any]], piece: Any, number: Number
) -> list[Any]:
    return [function(piece, *chosen[number])] if number in chosen else []
