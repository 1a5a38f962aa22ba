"""Walks over rows that are spread over a Dask cluster: `ClusterWalks`.

A task walks over one block of rows; what travels are sums of features, and a few numbers for every row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray, take_rows
from nammd.data.pieces import Graph, Key, fresh_name, graph_of, tree
from nammd.engines.cluster.block_pairs import alone
from nammd.engines.features import Walks
from nammd.engines.features.walks import Positions
from nammd.engines.features.waves import Waves

Computed = Callable[[Graph, list[Key], dict[Key, float]], list[Any]]


@dataclass(frozen=True, eq=False)
class ClusterWalks:
    """What `Walks` do, for samples in blocks.

    Attributes
    ----------
    waves : Waves
        Makes the features.
    computed : callable
        Computes keys of a graph, of which some tasks have known work.
    """

    waves: Waves
    computed: Computed
    _home: dict[str, tuple[Positions, Any]] = field(default_factory=dict, init=False, repr=False)

    def totals(self, samples: Sequence[Any], weights: Sequence[Sequence[None]]) -> list[FloatArray]:
        """Return, for each sample, the sums of features."""
        each = partial(_totals, Walks(self.waves, 1, False))
        graph, leaves, work = self._tasks(samples, [each] * len(samples))
        keys = []
        for number, own in enumerate(leaves):
            tasks, whole = tree((*own[0][:1], "sum", number), own, partial(reduce, add))
            graph |= tasks
            keys.append(whole)
        return self.computed(graph, keys, work)

    def products(self, samples: Sequence[Any], vectors: Sequence[FloatArray]) -> list[FloatArray]:
        """Return the inner products of every row's features with some vectors, for each sample."""
        walks = Walks(self.waves, 1, False)
        graph, leaves, work = self._tasks(samples, [partial(_products, walks, each) for each in vectors])
        found = iter(self.computed(graph, [key for own in leaves for key in own], work))
        return [np.concatenate([next(found) for _ in own], axis=2) for own in leaves]

    def second_order(
        self, samples: Sequence[Any], rows: Sequence[Positions], scale: int, means: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """Return, for each sample, the sum of outer products of features over some rows, which come here."""
        found, chosen = [], []
        for sample, some in zip(samples, rows, strict=True):
            places, here = self._home.get(sample.name, (some[:0], None))
            if here is None or not np.isin(some, places).all():
                places, here = self._home[sample.name] = some, np.asarray(take_rows(sample, some))
            found.append(here)
            chosen.append(np.searchsorted(places, some))
        return Walks(self.waves).second_order(found, chosen, scale, means)

    def _tasks(
        self, samples: Sequence[Any], functions: Sequence[Any]
    ) -> tuple[Graph, list[list[tuple[Any, ...]]], dict[Key, float]]:
        """Return a task for every block of each sample, and how many features each makes."""
        name, graph, leaves, work = fresh_name("walk"), graph_of(samples), [], dict[Key, float]()
        for number, (sample, function) in enumerate(zip(samples, functions, strict=True)):
            # A task of its own, so that vectors travel once to each worker.
            graph[(name, "function", number)] = function
            own: list[tuple[Any, ...]] = []
            for k, rows in enumerate(sample.chunks[0]):
                key = (name, number, k)
                graph[key] = (_called, (name, "function", number), (sample.name, k, 0))
                work[key] = float(rows * self.waves.size)
                own.append(key)
            leaves.append(own)
        return graph, leaves, work


def _called(function: Any, block: Any) -> Any:
    return alone(function, np.asarray(block))


def _totals(walks: Walks, block: FloatArray) -> Any:
    return walks.totals([block], [[None]])[0]


def _products(walks: Walks, vectors: FloatArray, block: FloatArray) -> FloatArray:
    return np.array(walks.products([block], [vectors])[0])
