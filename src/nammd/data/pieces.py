"""Data on a Dask cluster: pieces of a dataset, and whatever is to be computed from them in one pass.

Dask is imported when such data are met, never before.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

Key: TypeAlias = Hashable
Graph: TypeAlias = dict[Key, Any]


@dataclass(frozen=True)
class Whereabouts:
    """Where the rows of a dataset are, and what to do in Python where something cannot be done there.

    Attributes
    ----------
    place : str
        Where they are: "spread over a Dask cluster".
    sample : str
        How to take some of them at random.
    regroup : str
        How to bring the rows of a group together; with a place for the name of the column.
    keep : str
        How to make sure that the same rows come in the same order again.
    """

    place: str
    sample: str
    regroup: str = ""
    keep: str = ""


def is_dask(value: Any) -> bool:
    """Tell whether a value is an array, dataframe or other object of Dask, without importing it."""
    return type(value).__module__.partition(".")[0] in ("dask", "dask_expr")


def is_mapped(value: Any) -> bool:
    """Tell whether a value is rows of a table that stays where it is; see `nammd.data.mapped_tables`."""
    # Not by its class, which is made of what is here.
    return getattr(type(value), "is_mapped", False) is True


def is_dask_table(value: Any) -> bool:
    """Tell whether a value is a Dask dataframe or series."""
    # Of the type: a Delayed has any attribute that it is asked for.
    return is_dask(value) and all(hasattr(type(value), name) for name in ("map_partitions", "dtypes"))


@dataclass(frozen=True, eq=False)
class Pieces:
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
    whereabouts: ClassVar[Whereabouts] = Whereabouts(
        "spread over a Dask cluster", "x.sample(frac=0.01).compute()", "x.shuffle({!r})"
    )

    @classmethod
    def of(cls, data: Any) -> Pieces:
        """Return the chunks of an array, each all columns wide, or the partitions of a dataframe."""
        if isinstance(data, Pieces):
            return data
        if isinstance(data, _array_type()):
            whole = data if data.ndim == 1 else data.rechunk({1: -1})
            end, sizes = (0,) * (whole.ndim - 1), whole.chunks[0]
            known = None if any(size != size for size in sizes) else tuple(map(int, sizes))  # NaN: unknown
            keys = tuple((whole.name, k, *end) for k in range(whole.numblocks[0]))
            return cls(keys, (whole,), sizes=known)
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

    def total(self, function: Callable[[Any, Any], Any], merge: Callable[[list[Any]], Any]) -> Any:
        """Return what a function makes of every piece and its number, merged by the workers."""
        name = fresh_name("total")
        tasks: Graph = {(name, 0, k): (function, key, k) for k, key in enumerate(self.keys)}
        merges, whole = tree((name,), list(tasks), merge)
        return fetch(self.graph() | tasks | merges, [whole])[0]

    def sized(self, sizes: Mapping[Any, int]) -> Pieces:
        """Return the same with what a pass told: the rows of every piece, by its number."""
        return replace(self, sizes=tuple(sizes[k] for k in range(len(self.keys))))

    def renamed(self, name: str) -> Pieces:
        """Return pieces of one column under another name."""
        return replace(self, names=(name,))

    @property
    def rows(self) -> int | None:
        """The number of rows, where it is known without looking."""
        return None if self.sizes is None else sum(self.sizes)


def within_pieces(rows: NDArray[Any], sizes: Sequence[int]) -> dict[int, NDArray[Any]]:
    """Return where ascending rows are within pieces of the given sizes, by the number of the piece."""
    edges = np.cumsum([0, *sizes])
    cuts = np.searchsorted(rows, edges)
    return {k: rows[a:b] - edges[k] for k, (a, b) in enumerate(pairwise(cuts)) if b > a}


def tree(
    name: tuple[Any, ...], leaves: Sequence[Key], merge: Callable[[list[Any]], Any], together: int = 2
) -> tuple[Graph, Key]:
    """Return tasks that merge what leaves come to, some neighbours at a time, and the key of the whole.

    The shape of the tree and its order depend on the number of leaves alone, so the bits of a sum do not
    depend on who computed what when; and no worker ever holds more than so many parts.

    Parameters
    ----------
    name : tuple
        What the keys of the tasks begin with.
    leaves : sequence of keys
        What is to be merged; at least one.
    merge : callable
        Makes one of a list of neighbours, in their order.
    together : int
        How many a task merges.

    Examples
    --------
    >>> tasks, whole = tree(("add",), ["a", "b", "c"], sum)
    >>> tasks
    {('add', 1, 0): (<built-in function sum>, ['a', 'b']),
     ('add', 2, 0): (<built-in function sum>, [('add', 1, 0), 'c'])}
    >>> whole
    ('add', 2, 0)
    """
    tasks: Graph = {}
    level, depth = list(leaves), 0
    while len(level) > 1:
        depth += 1
        groups = [level[k : k + together] for k in range(0, len(level), together)]
        # One that is left over goes up as it is.
        level = [(*name, depth, k) if len(group) > 1 else group[0] for k, group in enumerate(groups)]
        tasks |= {key: (merge, group) for key, group in zip(level, groups, strict=True) if len(group) > 1}
    return tasks, level[0]


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


def _array_type() -> Any:
    import dask.array as da

    return da.Array
