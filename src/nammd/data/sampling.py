"""Random samples of rows: in one pass and in little memory, or by position.

Every row draws a random key, and the rows with the smallest keys are the sample. The keys depend on the
position of a row alone, so the same rows are drawn from a CSV and a Parquet file of the same data, and
whatever the size of the batches.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Batch = TypeVar("Batch")
Positions = NDArray[np.intp]

_CHUNK = 1 << 16

REPRESENTATIVES = 1024
"""So many rows stand for a whole sample where an average over pairs of rows need not be exact."""


PAIRED_ROWS = 16_384
"""So many rows, or groups of them, tell of pairs of all of them, where sums are made of features."""


class Reservoir(Generic[Batch]):
    """Keeps a uniform sample of the rows it is given, in the order they came.

    Parameters
    ----------
    size : int
        How many rows to keep.
    rng : int, numpy.random.Generator or None
        Where the keys come from.
    take : callable
        ``take(batch, positions)`` returns a copy of those rows of a batch.
    join : callable
        ``join(batches)`` returns batches as one.

    Examples
    --------
    >>> import numpy as np
    >>> reservoir = Reservoir(3, 0, lambda batch, rows: batch[rows], np.concatenate)
    >>> for start in range(0, 100, 10):
    ...     reservoir.add(np.arange(start, start + 10), 10)
    >>> len(reservoir.sample()), reservoir.seen
    (3, 100)
    """

    def __init__(
        self,
        size: int,
        rng: Any,
        take: Callable[[Batch, Positions], Batch],
        join: Callable[[list[Batch]], Batch],
    ) -> None:
        self.size = size
        self.seen = 0
        self._rng = np.random.default_rng(rng)
        self._take = take
        self._join = join
        self._kept: list[Batch] = []
        self._keys: list[NDArray[np.float64]] = []
        self._bar = np.inf  # no row with a larger key can be in the sample

    def add(self, batch: Batch, rows: int) -> None:
        """Offer a batch of rows."""
        keys = self._rng.random(rows)
        near = np.flatnonzero(keys < self._bar)
        self.seen += rows
        if len(near):
            self._kept.append(self._take(batch, near))
            self._keys.append(keys[near])
        # Joining costs as much as what is kept, so wait until that has doubled.
        if sum(map(len, self._keys)) > 2 * self.size:
            self._prune()

    def sample(self) -> Batch:
        """Return the sample of all rows seen so far."""
        self._prune()
        return self._kept[0]

    def _prune(self) -> None:
        keys = np.concatenate(self._keys)
        rows = self._join(self._kept)
        if len(keys) > self.size:
            best = np.sort(np.argpartition(keys, self.size - 1)[: self.size])
            rows, keys = self._take(rows, best), keys[best]
            self._bar = float(keys.max())
        self._kept, self._keys = [rows], [keys]


def sample_positions(total: int, size: int, rng: Any) -> Positions:
    """Return the positions that a `Reservoir` would keep of `total` rows, without the rows.

    Examples
    --------
    >>> sample_positions(5, 10, 0)
    array([0, 1, 2, 3, 4])
    """
    positions: Reservoir[Positions] = Reservoir(size, rng, lambda batch, rows: batch[rows], np.concatenate)
    for start in range(0, total, _CHUNK):
        chunk = np.arange(start, min(total, start + _CHUNK))
        positions.add(chunk, len(chunk))
    return positions.sample()


def representatives(rows: int, most: int = REPRESENTATIVES) -> Positions:
    """Return the positions of rows that stand for a sample: all of them, or a random choice, always the same.

    >>> representatives(3)
    array([0, 1, 2])
    """
    if rows <= most:
        return np.arange(rows)
    # Not evenly spaced ones: data may have a period.
    return np.sort(np.random.default_rng(0).choice(rows, most, replace=False))


def shuffled(rows: int, most: int) -> Positions:
    """Return the positions of rows drawn at random, always the same; those of fewer are among them.

    >>> set(shuffled(100, 5)) < set(shuffled(100, 10))
    True
    """
    return _shuffled(rows, most).copy()


@lru_cache(maxsize=8)  # every scale asks for the same, and all rows are shuffled for a few of them
def _shuffled(rows: int, most: int) -> Positions:
    return np.sort(np.random.default_rng(0).permutation(rows)[:most])
