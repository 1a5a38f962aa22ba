"""Rows that belong together, of laws whose distance is known.

Rows of a group are made dependent without changing their law: each is, with probability sqrt(correlation),
the draw that its group has in common, and else a draw of its own. A series stays where it is with the
probability of its correlation from one row to the next. So the distance of the laws is the one that is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.datasets.laws.families import KnownPair

SIZES = {"equal": (5, 6), "unequal": (1, 31), "uneven": (1, 6)}
"""The rows of a group, from and up to; one of uneven groups has as many as all others together."""

_POOL = 10_000

Groups = NDArray[np.intp]


class Grouped(NamedTuple):
    """Two samples, the groups of their rows (a pair of arrays, or blocks of time), and weights, if any."""

    x: FloatArray
    y: FloatArray
    groups: Any
    weights: tuple[FloatArray, FloatArray] | None = None


def labels(rng: np.random.Generator, count: int, sizes: str) -> Groups:
    """Draw the groups of rows."""
    low, high = SIZES[sizes]
    rows = rng.integers(low, high, size=count)
    if sizes == "uneven":
        rows[0] = rows[1:].sum()
    return np.repeat(np.arange(count), rows)


def draw(law: Any, rng: np.random.Generator, groups: Groups, correlation: float) -> FloatArray:
    """Draw rows of a law that go together within groups."""
    common, own = law.sample(rng, int(groups.max()) + 1), law.sample(rng, len(groups))
    kept = rng.random(len(groups)) < np.sqrt(correlation)
    return _where(kept, np.asarray(common)[groups], np.asarray(own))


def series(law: Any, rng: np.random.Generator, rows: int, memory: float) -> FloatArray:
    """Draw a stationary series of a law: each row is the one before with the probability of its memory."""
    fresh = rng.random(rows) >= memory
    fresh[0] = True
    drawn: FloatArray = np.asarray(law.sample(rng, rows))[
        np.maximum.accumulate(np.where(fresh, np.arange(rows), 0))
    ]
    return drawn


def in_groups(
    pair: KnownPair, rng: np.random.Generator, count: int, sizes: str, correlation: float
) -> Grouped:
    """Draw two samples of different groups."""
    gx, gy = labels(rng, count, sizes), labels(rng, count, sizes)
    x, y = draw(pair.p, rng, gx, correlation), draw(pair.q, rng, gy, correlation)
    return Grouped(x, y, (gx, gy + count))


def in_both(pair: KnownPair, rng: np.random.Generator, count: int, sizes: str, correlation: float) -> Grouped:
    """Draw two samples of the same groups, whose common draws go together: of one rank in many draws."""
    gx, gy = labels(rng, count, sizes), labels(rng, count, sizes)
    ranks, found = rng.choice(_POOL, count, replace=False), []
    for law, groups in ((pair.p, gx), (pair.q, gy)):
        common, own = np.asarray(law.sample(rng, _POOL)), np.asarray(law.sample(rng, len(groups)))
        common = common[np.argsort(common if common.ndim == 1 else common[:, 0])][ranks]
        kept = rng.random(len(groups)) < np.sqrt(correlation)
        found.append(_where(kept, common[groups], own))
    return Grouped(found[0], found[1], (gx, gy))


def weighted(full: Grouped, rng: np.random.Generator) -> Grouped:
    """Leave out rows by what is in their first column, and mend that by weights."""
    found = []
    for rows, groups in ((full.x, full.groups[0]), (full.y, full.groups[1])):
        column = rows if rows.ndim == 1 else rows[:, 0]
        chance = np.where(column > np.median(column), 1.0, 0.4)
        kept = rng.random(len(rows)) < chance
        found.append((rows[kept], groups[kept], 1 / chance[kept]))
    (x, gx, wx), (y, gy, wy) = found
    return Grouped(x, y, (gx, gy), (wx, wy))


def _where(kept: NDArray[np.bool_], one: FloatArray, other: FloatArray) -> FloatArray:
    return np.where(kept[:, None] if one.ndim == 2 else kept, one, other)
