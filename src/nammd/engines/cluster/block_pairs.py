"""The tasks of the cluster engine: pairs of blocks, and a tree that adds up what they give.

A task is the tile engine on one pair of blocks of rows. It returns row sums and column sums, two short
vectors, which are all that moves afterwards. Of the matrix within a sample only the pairs on or above the
diagonal are computed: a pair (i, j) adds its row sums to block i and its column sums to block j.

For every block of rows the vectors are added up in a tree of fixed shape and order, so the bits of a result
depend on the blocks alone, and not on who computed what when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.pieces import Graph, Key, fresh_name, graph_of, tree
from nammd.engines.sums import CrossSums, WithinSums
from nammd.engines.tiles.engine import Tiles
from nammd.kernels.base import Kernel

FAN_IN = 16
"""How many vectors a task adds up: few enough to start early, many enough to be few tasks."""

Axis = Literal["rows", "columns"]


class PairSums(NamedTuple):
    """Sums over one pair of blocks, each ordered pair of rows counted as often as it is in the matrix."""

    rows: FloatArray
    columns: FloatArray
    squares: float
    diagonal: float


class BlockSums(NamedTuple):
    """Sums that belong to the rows of one block."""

    vector: FloatArray
    squares: float
    diagonal: float


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function as in a process of its own: a task is no part of what its thread has counted so far."""
    return Context().run(function, *arguments)


def on_diagonal(kernel: Kernel, tiles: Tiles, block: Any) -> PairSums:
    """Return the sums over the pairs of distinct rows of one block."""
    if len(block) < 2:
        return PairSums(np.zeros(len(block)), np.zeros(len(block)), 0.0, 0.0)
    [own] = alone(tiles.sums, kernel, (block,))
    return PairSums(own.rows, own.rows, own.squares, 0.0)


def off_diagonal(kernel: Kernel, tiles: Tiles, left: Any, right: Any) -> PairSums:
    """Return the sums over the pairs of rows of two blocks of one sample, which are there twice."""
    [both] = alone(tiles.sums, kernel, (left, right))
    return PairSums(both.rows, both.cols, 2.0 * both.squares, 0.0)


def across(kernel: Kernel, tiles: Tiles, left: Any, right: Any, paired: bool) -> PairSums:
    """Return the sums over the pairs of rows of blocks of two samples; `paired`: row i belongs to row i."""
    [both] = alone(tiles.sums, kernel, (left, right))
    diagonal = both.diagonal if paired else 0.0
    assert diagonal is not None
    return PairSums(both.rows, both.cols, both.squares, diagonal)


def add_pairs(pairs: Sequence[PairSums], sides: Sequence[Axis]) -> BlockSums:
    """Add up what pairs give to one block; squares and diagonal are counted with the rows."""
    counted = [pair for pair, side in zip(pairs, sides, strict=True) if side == "rows"]
    vectors = [p.rows if side == "rows" else p.columns for p, side in zip(pairs, sides, strict=True)]
    return BlockSums(_added(vectors), sum(p.squares for p in counted), sum(p.diagonal for p in counted))


def add_blocks(parts: Sequence[BlockSums]) -> BlockSums:
    """Add up sums that belong to one block."""
    return BlockSums(
        _added([p.vector for p in parts]), sum(p.squares for p in parts), sum(p.diagonal for p in parts)
    )


def _added(vectors: Sequence[FloatArray]) -> FloatArray:
    total = vectors[0].copy()
    for vector in vectors[1:]:
        total += vector
    return total


def within_sums(blocks: Sequence[BlockSums]) -> WithinSums:
    """Put the blocks of a sample together."""
    return WithinSums(np.concatenate([b.vector for b in blocks]), float(sum(b.squares for b in blocks)))


def cross_sums(rows: Sequence[BlockSums], columns: Sequence[BlockSums], paired: bool) -> CrossSums:
    """Put the blocks of two samples together."""
    return CrossSums(
        np.concatenate([b.vector for b in rows]),
        np.concatenate([b.vector for b in columns]),
        float(sum(b.squares for b in rows)),
        float(sum(b.diagonal for b in rows)) if paired else None,
    )


@dataclass(eq=False)
class PairGraph:
    """Tasks for the sums of several parts, over samples in blocks.

    Attributes
    ----------
    tasks : dict
        The tasks, those that make the samples among them.
    wanted : list of (list of keys, list of keys)
        For every part the sums of its blocks of rows, and of columns where it has two samples.
    work : dict
        How many kernel values every pair has.
    rows_work : dict
        The same for the tasks that add up pairs of a row of blocks.
    """

    kernel: Kernel
    tiles: Tiles
    parts: Sequence[tuple[Any, ...]]
    name: str = field(default_factory=lambda: fresh_name("pairs"))
    tasks: Graph = field(default_factory=dict)
    wanted: list[tuple[list[Key], list[Key]]] = field(default_factory=list)
    work: dict[Key, float] = field(default_factory=dict)
    rows_work: dict[Key, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        samples = {sample.name: sample for part in self.parts for sample in part}
        self.tasks |= graph_of(list(samples.values()))
        # Tasks of their own, so that a network of a kernel travels once to each worker.
        self.tasks |= {(self.name, "kernel"): self.kernel, (self.name, "tiles"): self.tiles}
        for number, part in enumerate(self.parts):
            self.wanted.append(self._within(number, *part) if len(part) == 1 else self._cross(number, *part))

    def keys(self) -> list[Key]:
        """Return all keys that are wanted, in order."""
        return [key for rows, columns in self.wanted for key in (*rows, *columns)]

    def assemble(self, found: Sequence[BlockSums]) -> list[WithinSums | CrossSums]:
        """Return the sums of every part from what the wanted keys came to."""
        values, results = iter(found), list[WithinSums | CrossSums]()
        for part, (rows, columns) in zip(self.parts, self.wanted, strict=True):
            by_row, by_column = ([next(values) for _ in keys] for keys in (rows, columns))
            results.append(
                within_sums(by_row) if len(part) == 1 else cross_sums(by_row, by_column, _paired(*part))
            )
        return results

    def delayed(self) -> list[Any]:
        """Return one Delayed for the sums of every part."""
        from dask.delayed import Delayed
        from dask.highlevelgraph import HighLevelGraph

        name, found = fresh_name("sums"), list[Any]()
        for number, (part, (rows, columns)) in enumerate(zip(self.parts, self.wanted, strict=True)):
            self.tasks[(name, number)] = (
                (within_sums, rows) if len(part) == 1 else (cross_sums, rows, columns, _paired(*part))
            )
        graph = HighLevelGraph.from_collections(name, self.tasks, dependencies=[])
        for number in range(len(self.parts)):
            found.append(Delayed((name, number), graph, layer=name))
        return found

    def _within(self, part: int, x: Any) -> tuple[list[Key], list[Key]]:
        sizes = x.chunks[0]
        for i in range(len(sizes)):
            self._pair(part, i, i, on_diagonal, (x.name, i, 0))
            for j in range(i + 1, len(sizes)):
                self._pair(part, i, j, off_diagonal, (x.name, i, 0), (x.name, j, 0))
        lines = []
        for i, height in enumerate(sizes):
            before = [((self.name, part, j, i), "columns", 0.0) for j in range(i)]
            after = [
                ((self.name, part, i, j), "rows", height * (sizes[j] if j > i else height / 2))
                for j in range(i, len(sizes))
            ]
            lines.append(self._tree((part, "rows", i), [*before, *after]))
        return lines, []

    def _cross(self, part: int, x: Any, y: Any) -> tuple[list[Key], list[Key]]:
        heights, widths, paired = x.chunks[0], y.chunks[0], _paired(x, y)
        for i in range(len(heights)):
            for j in range(len(widths)):
                self._pair(part, i, j, across, (x.name, i, 0), (y.name, j, 0), paired and i == j)
        rows = [
            self._tree(
                (part, "rows", i),
                [((self.name, part, i, j), "rows", height * width) for j, width in enumerate(widths)],
            )
            for i, height in enumerate(heights)
        ]
        columns = [
            self._tree(
                (part, "columns", j), [((self.name, part, i, j), "columns", 0.0) for i in range(len(heights))]
            )
            for j in range(len(widths))
        ]
        return rows, columns

    def _pair(self, part: int, i: int, j: int, function: Any, *arguments: Any) -> None:
        settings = (self.name, "kernel"), (self.name, "tiles")
        self.tasks[(self.name, part, i, j)] = (function, *settings, *arguments)

    def _tree(self, where: tuple[Any, ...], leaves: Sequence[tuple[Key, Any, float]]) -> Key:
        """Add tasks that add up leaves, a few at a time, and return the key of their sum."""
        level: list[Key] = []
        for k, start in enumerate(range(0, len(leaves), FAN_IN)):
            keys, sides, work = zip(*leaves[start : start + FAN_IN], strict=True)
            key = (f"{self.name}-add", *where, 0, k)
            self.tasks[key] = (add_pairs, list(keys), list(sides))
            if sum(work):
                self.rows_work[key] = sum(work)
                self.work |= {leaf: own for leaf, own in zip(keys, work, strict=True) if own}
            level.append(key)
        sums, whole = tree((f"{self.name}-add", *where), level, add_blocks, FAN_IN)
        self.tasks |= sums
        return whole


def _paired(x: Any, y: Any) -> bool:
    """Tell whether row i of x belongs to row i of y; blocks are then alike."""
    return bool(x.shape[0] == y.shape[0])
