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
    """Sums over one pair of blocks, each ordered pair of rows counted as often as it is in the matrix.

    For every kernel: vectors are of shape (kernels, rows), the others of shape (kernels,).
    """

    rows: FloatArray
    columns: FloatArray
    squares: FloatArray
    diagonal: FloatArray


class BlockSums(NamedTuple):
    """Sums that belong to the rows of one block, likewise for every kernel."""

    vector: FloatArray
    squares: FloatArray
    diagonal: FloatArray


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function as in a process of its own: a task is no part of what its thread has counted so far."""
    return Context().run(function, *arguments)


Kernels = Sequence[Kernel]


def on_diagonal(kernels: Kernels, tiles: Tiles, block: Any) -> PairSums:
    """Return the sums over the pairs of distinct rows of one block."""
    nothing = np.zeros(len(kernels))
    if len(block) < 2:
        none = np.zeros((len(kernels), len(block)))
        return PairSums(none, none, nothing, nothing)
    found = [own for [own] in alone(tiles.many_sums, kernels, (block,))]
    rows = np.array([own.rows for own in found])
    return PairSums(rows, rows, np.array([own.squares for own in found]), nothing)


def off_diagonal(kernels: Kernels, tiles: Tiles, left: Any, right: Any) -> PairSums:
    """Return the sums over the pairs of rows of two blocks of one sample, which are there twice."""
    both = across(kernels, tiles, left, right, paired=False)
    return both._replace(squares=2.0 * both.squares)


def across(kernels: Kernels, tiles: Tiles, left: Any, right: Any, paired: bool) -> PairSums:
    """Return the sums over the pairs of rows of blocks of two samples; `paired`: row i belongs to row i."""
    found = [both for [both] in alone(tiles.many_sums, kernels, (left, right))]
    rows, columns = (np.array([getattr(both, name) for both in found]) for name in ("rows", "cols"))
    squares = np.array([both.squares for both in found])
    diagonal = np.array([both.diagonal if paired else 0.0 for both in found])
    return PairSums(rows, columns, squares, diagonal)


def add_pairs(pairs: Sequence[PairSums], sides: Sequence[Axis]) -> BlockSums:
    """Add up what pairs give to one block; squares and diagonal are counted with the rows."""
    counted = [pair for pair, side in zip(pairs, sides, strict=True) if side == "rows"]
    vectors = [p.rows if side == "rows" else p.columns for p, side in zip(pairs, sides, strict=True)]
    nothing = np.zeros(len(vectors[0]))
    squares, diagonal = (_added([nothing, *(p[at] for p in counted)]) for at in (2, 3))
    return BlockSums(_added(vectors), squares, diagonal)


def add_blocks(parts: Sequence[BlockSums]) -> BlockSums:
    """Add up sums that belong to one block."""
    return BlockSums(*(_added([part[at] for part in parts]) for at in range(3)))


def _added(vectors: Sequence[FloatArray]) -> FloatArray:
    total = vectors[0].copy()
    for vector in vectors[1:]:
        total += vector
    return total


def within_sums(blocks: Sequence[BlockSums], k: int = 0) -> WithinSums:
    """Put the blocks of a sample together, for the k-th kernel."""
    rows = np.concatenate([b.vector[k] for b in blocks])
    return WithinSums(rows, float(sum(b.squares[k] for b in blocks)))


def cross_sums(
    rows: Sequence[BlockSums], columns: Sequence[BlockSums], paired: bool, k: int = 0
) -> CrossSums:
    """Put the blocks of two samples together, for the k-th kernel."""
    return CrossSums(
        np.concatenate([b.vector[k] for b in rows]),
        np.concatenate([b.vector[k] for b in columns]),
        float(sum(b.squares[k] for b in rows)),
        float(sum(b.diagonal[k] for b in rows)) if paired else None,
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

    kernels: Kernels
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
        self.tasks |= {(self.name, "kernels"): list(self.kernels), (self.name, "tiles"): self.tiles}
        for number, part in enumerate(self.parts):
            self.wanted.append(self._within(number, *part) if len(part) == 1 else self._cross(number, *part))

    def keys(self) -> list[Key]:
        """Return all keys that are wanted, in order."""
        return [key for rows, columns in self.wanted for key in (*rows, *columns)]

    def assemble(self, found: Sequence[BlockSums]) -> list[list[WithinSums | CrossSums]]:
        """Return, for every kernel, the sums of every part from what the wanted keys came to."""
        values = iter(found)
        results: list[list[WithinSums | CrossSums]] = [[] for _ in self.kernels]
        for part, (rows, columns) in zip(self.parts, self.wanted, strict=True):
            by_row, by_column = ([next(values) for _ in keys] for keys in (rows, columns))
            for k, own in enumerate(results):
                alone = len(part) == 1
                own.append(
                    within_sums(by_row, k) if alone else cross_sums(by_row, by_column, _paired(*part), k)
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
        settings = (self.name, "kernels"), (self.name, "tiles")
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
