"""Samples that are spread over a Dask cluster: blocks of rows, what is known of them, and some of their rows.

A spread sample is a Dask array of known blocks, each of them all columns wide. It is made from parts (the
partitions of a dataframe, the chunks of an array, the row groups of files) in one pass, which also counts
rows and finds what is wrong with them. Dask is imported when such data are met, never before.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Key: TypeAlias = Hashable
Graph: TypeAlias = dict[Key, Any]

_KNOWN = "_nammd_known"


def is_dask(value: Any) -> bool:
    """Tell whether a value is an array, dataframe or other object of Dask, without importing it."""
    return type(value).__module__.partition(".")[0] in ("dask", "dask_expr")


def is_dask_table(value: Any) -> bool:
    """Tell whether a value is a Dask dataframe or series."""
    # Of the type: a Delayed has any attribute that it is asked for.
    return is_dask(value) and all(hasattr(type(value), name) for name in ("map_partitions", "dtypes"))


@dataclass(frozen=True, eq=False)
class Parts:
    """Pieces of a dataset, in the order of its rows; each is a Dask key that stands for an array or a table.

    Attributes
    ----------
    keys : tuple
        Where the pieces are in the graphs.
    sources : tuple
        The Dask collections whose graphs make them.
    names : tuple of str
        The names of the columns of tables; empty for arrays.
    sizes : tuple of int or None
        Their numbers of rows, where these are known without looking.
    """

    keys: tuple[Key, ...]
    sources: tuple[Any, ...]
    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] | None = None

    @classmethod
    def of(cls, data: Any) -> Parts:
        """Return the chunks of an array, each all columns wide, or the partitions of a dataframe."""
        if isinstance(data, Parts):
            return data
        if isinstance(data, _array_type()):
            whole = data if data.ndim == 1 else data.rechunk({1: -1})
            end = (0,) * (whole.ndim - 1)
            return cls(tuple((whole.name, k, *end) for k in range(whole.numblocks[0])), (whole,))
        delayed = data.to_delayed()
        names = data.columns if hasattr(data, "columns") else [data.name]
        return cls(tuple(d.key for d in delayed), tuple(delayed), tuple(map(str, names)))

    def graph(self) -> Graph:
        """Return the tasks that make the pieces."""
        distinct = {id(source.__dask_graph__()): source for source in self.sources}
        return {key: task for s in distinct.values() for key, task in dict(s.__dask_graph__()).items()}

    def each(self, function: Callable[..., Any], *arguments: Mapping[int, Any]) -> list[Any]:
        """Return what a function makes of every piece, in one pass on the cluster.

        With further arguments, which are given by the number of the piece, only of those that have some.
        """
        name, numbers = fresh_name("each"), arguments[0] if arguments else range(len(self.keys))
        tasks: Graph = {(name, k): (function, self.keys[k], *(a[k] for a in arguments)) for k in numbers}
        return fetch(self.graph() | tasks, list(tasks))

    def counted(self) -> tuple[int, ...]:
        """Return the numbers of rows of the pieces; where they are not known, by looking at them."""
        return tuple(self.each(len)) if self.sizes is None else self.sizes

    def __len__(self) -> int:
        return sum(self.counted())

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return len(self), len(self.names)


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
    """

    rows: int
    wrong: int
    first: NDArray[Any] | None
    constant: bool

    @classmethod
    def of(cls, block: NDArray[Any]) -> BlockFacts:
        """Look at a block."""
        if not len(block):
            return cls(0, 0, None, True)
        wrong = int((~np.isfinite(block)).any(axis=1).sum())
        return cls(len(block), wrong, block[0].copy(), bool((block == block[0]).all()))


@dataclass(frozen=True)
class SampleFacts:
    """What one look at all blocks tells of a sample."""

    wrong: int
    constant: bool

    @classmethod
    def of(cls, blocks: Sequence[BlockFacts]) -> SampleFacts:
        """Put together what is known of the blocks; those without rows say nothing."""
        filled = [b for b in blocks if b.first is not None]
        same = all(b.constant and np.array_equal(b.first, filled[0].first) for b in filled)  # type: ignore[arg-type]
        return cls(sum(b.wrong for b in filled), same)


def spread(parts: Parts, numbers: Callable[[Any], NDArray[Any]], width: int, dtype: Any) -> Any:
    """Return pieces of a dataset as one Dask array, after one pass over them.

    `numbers` makes an array of `width` columns of a piece. Pieces without rows are dropped.
    """
    array_of = partial(_block, numbers=numbers, width=width, dtype=np.dtype(dtype))
    facts: list[BlockFacts] = parts.each(partial(_facts_of_part, block_of=array_of))
    name = fresh_name("rows")
    filled = [(key, f.rows) for key, f in zip(parts.keys, facts, strict=True) if f.rows]
    tasks: Graph = {(name, k, 0): (array_of, key) for k, (key, _) in enumerate(filled)}
    rows = tuple(rows for _, rows in filled) or (0,)
    if not filled:
        tasks[(name, 0, 0)] = (np.empty, [0, width], np.dtype(dtype))
    return known(_array(name, tasks, parts.sources, rows, width, dtype), SampleFacts.of(facts))


def wrapped(sample: NDArray[Any], rows: int = 8192) -> Any:
    """Return a sample in memory as a Dask array of blocks."""
    import dask.array as da

    return known(da.from_array(sample, chunks=(rows, -1)), SampleFacts.of([BlockFacts.of(sample)]))


def known(array: Any, facts: SampleFacts) -> Any:
    """Note on a Dask array of ours what is known of it, so that nobody has to look again."""
    setattr(array, _KNOWN, facts)
    return array


def facts_of(array: Any) -> SampleFacts | None:
    """Return what is known of a Dask array; None where it has not been looked at."""
    found: SampleFacts | None = getattr(array, _KNOWN, None)
    return found


def some_rows(array: Any, rows: NDArray[Any]) -> NDArray[Any]:
    """Return some rows of a spread sample as a NumPy array; only these leave the workers."""
    rows = np.asarray(rows)
    order = np.argsort(rows, kind="stable")
    name = fresh_name("some")
    tasks: Graph = {}
    for block, local in within_pieces(rows[order], array.chunks[0]).items():
        tasks[(name, block)] = (np.take, (array.name, block, 0), local, 0)
    found = np.empty((len(rows), array.shape[1]), array.dtype)
    if len(rows):
        found[order] = np.concatenate(fetch(graph_of([array]) | tasks, list(tasks)))
    return found


def within_pieces(rows: NDArray[Any], sizes: Sequence[int]) -> dict[int, NDArray[Any]]:
    """Return where ascending rows are within pieces of the given sizes, by the number of the piece."""
    edges = np.cumsum([0, *sizes])
    cuts = np.searchsorted(rows, edges)
    return {k: rows[a:b] - edges[k] for k, (a, b) in enumerate(pairwise(cuts)) if b > a}


def graph_of(arrays: Sequence[Any]) -> Graph:
    """Return the tasks of several Dask arrays."""
    return {key: task for array in arrays for key, task in dict(array.__dask_graph__()).items()}


def fetch(
    graph: Graph,
    keys: list[Key],
    work: Mapping[Key, float] | None = None,
    done: Callable[[float], None] = lambda amount: None,
    coarse: Mapping[Key, float] | None = None,
) -> list[Any]:
    """Compute keys of a graph: on the cluster of the active client, else as Dask is set, else in threads.

    `done` is called, in this thread, with the work of each key of `work` that has been computed. A cluster
    keeps whatever is watched, so there it is the keys of `coarse`, which are fewer.
    """
    from dask.base import get_scheduler
    from dask.threaded import get as in_threads

    graph = _needed(graph, keys)
    get = get_scheduler() or in_threads
    work = work or {}
    if not hasattr(getattr(get, "__self__", None), "gather"):
        with _watched(work, done):
            return list(get(graph, keys))
    from distributed import as_completed

    client = get.__self__
    watched = coarse or work
    futures = get(graph, [*keys, *watched], sync=False)
    try:
        if watched:
            amounts = dict(zip(futures[len(keys) :], watched.values(), strict=True))
            for future in as_completed(amounts):
                if future.status != "finished":
                    break  # gathering below says what went wrong
                done(amounts[future])
        return list(client.gather(futures[: len(keys)]))
    except BaseException:
        client.cancel(futures)  # the workers would go on with what nobody waits for
        raise


@contextmanager
def _watched(work: Mapping[Key, float], done: Callable[[float], None]) -> Iterator[None]:
    from dask.callbacks import Callback

    with Callback(posttask=lambda key, *more: done(work[key]) if key in work else None):
        yield


def _needed(graph: Graph, keys: Sequence[Key]) -> Graph:
    """Leave out tasks that nothing asks for."""
    from dask.optimization import cull

    return dict(cull(graph, list(keys))[0])


def fresh_name(what: str) -> str:
    """Return a name for tasks that no other has; Dask shows it without the end."""
    return f"nammd-{what}-{uuid.uuid4().hex}"


def _array(
    name: str, tasks: Graph, sources: Sequence[Any], rows: tuple[int, ...], width: int, dtype: Any
) -> Any:
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    distinct = list({id(source.__dask_graph__()): source for source in sources}.values())
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=distinct)
    return da.Array(graph, name, chunks=(rows, (width,)), dtype=dtype, meta=np.empty((0, 0), dtype))


def _array_type() -> Any:
    import dask.array as da

    return da.Array


def _block(part: Any, numbers: Callable[[Any], NDArray[Any]], width: int, dtype: Any) -> NDArray[Any]:
    if not len(part):
        return np.empty((0, width), dtype)
    return np.ascontiguousarray(numbers(part), dtype=dtype)


def _facts_of_part(part: Any, block_of: Callable[[Any], NDArray[Any]]) -> BlockFacts:
    return BlockFacts.of(block_of(part))
