"""What units that are not to be compared have in sums of features: with themselves, neighbours, and twins.

The sum over *all* rows is one product; sums over the rows of other units are that less these. Units are gone
through some at a time, so that memory stays small whatever their number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nammd.data.arrays import Array, FloatArray
from nammd.engines.features.walks import Positions, Walks
from nammd.engines.units import Units

HELD_BYTES = 1 << 27
"""The features of units that are held at once."""


@dataclass(frozen=True, eq=False)
class Own:
    """Sums within units and with their neighbours, at every scale.

    Attributes
    ----------
    rows : sequence of arrays
        For every row: the weighted sum of kernel values with the rows of its unit, itself included, and of
        its neighbours. A number where it is the same for all.
    diagonal : sequence of arrays
        For every unit: the sum of the kernel values of its rows, each with each.
    sized : sequence of arrays
        For every unit: the same and that with its neighbours, each unit counting by its size.
    squares : array
        The sum of squared kernel sums of two neighbours.
    """

    rows: Any = field(repr=False)
    diagonal: Any = field(repr=False)
    sized: Any = field(repr=False)
    squares: FloatArray

    @classmethod
    def of_rows(cls, units: Units | None, bound: float, scales: int) -> Own:
        """Return it of single rows: each is as similar as can be to itself."""
        w: Any = 1.0 if units is None or units.weights is None else units.weights
        return cls([w * bound] * scales, [w**2 * bound] * scales, [w**3 * bound] * scales, np.zeros(scales))

    @classmethod
    def of_units(cls, walks: Walks, points: Array, units: Units) -> Own:
        """Return it of units of several rows, or of ones that have neighbours in time."""
        scales, count, reach = walks.waves.scales, len(units), units.reach
        found = cls(
            np.empty((scales, len(units.labels))),
            np.empty((scales, count)),
            np.empty((scales, count)),
            np.zeros(scales),
        )
        step = at_once(walks)
        for start in range(0, count, step):
            stop = min(start + step, count)
            around = np.arange(max(start - reach, 0), min(stop + reach, count))
            own = slice(start - int(around[0]), stop - int(around[0]))
            features = walks.unit_features(points, *rows_of(units, around))
            diagonal = np.einsum("kgd,kgd->kg", features, features)[:, own]
            near, sized = features, units.sizes[start:stop] * diagonal
            if reach:
                near, more, squares = _with_neighbours(features, units, around, own)
                sized = sized + more
                found.squares[:] += squares
            some = np.arange(start, stop)
            rows, labels, _ = rows_of(units, some)
            found.rows[:, rows] = walks.products_by_label(points, rows, labels, near[:, own])
            found.diagonal[:, some], found.sized[:, some] = diagonal, sized
        return found


def _with_neighbours(
    features: FloatArray, units: Units, around: Positions, own: slice
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return features of units with those of their neighbours, sized kernel sums, and squares of these."""
    near = features.copy()
    sized, squares = np.zeros(features.shape[:2]), np.zeros(len(features))
    for away in range(1, units.reach + 1):
        close = units.numbers[around[away:]] - units.numbers[around[:-away]] <= units.reach
        here, there = np.flatnonzero(close), np.flatnonzero(close) + away
        near[:, here] += features[:, there]
        near[:, there] += features[:, here]
        met = np.einsum("kgd,kgd->kg", features[:, here], features[:, there])
        sized[:, here] += met * units.sizes[around[there]]
        sized[:, there] += met * units.sizes[around[here]]
        mine = (here >= own.start) & (here < own.stop)  # of a pair, the first tells of it
        squares += 2 * (met[:, mine] ** 2).sum(axis=1)
    return near, sized[:, own], squares


@dataclass(frozen=True, eq=False)
class Twins:
    """Units that are in two samples: what they have to do with each other, at every scale.

    Attributes
    ----------
    places : pair of arrays
        Where they are among the units of each sample.
    rows : pair of arrays
        Where their rows are in each sample.
    felt : pair of arrays of shape (scales, rows)
        The weighted sums of kernel values of those rows with the other sample's rows of their unit.
    met : array of shape (scales, units)
        The kernel sums of each unit with its twin.
    sizes : pair of arrays
        The sizes of the units in each sample.
    """

    places: tuple[Positions, Positions]
    rows: tuple[Positions, Positions]
    felt: tuple[FloatArray, FloatArray]
    met: FloatArray
    sizes: tuple[FloatArray, FloatArray]

    @classmethod
    def of(cls, walks: Walks, x: tuple[Array, Units], y: tuple[Array, Units]) -> Twins | None:
        """Return what is to be taken off sums between two samples; None where no unit is in both."""
        samples, units = (x[0], y[0]), (x[1], y[1])
        if units[0].reach or units[1].reach:  # blocks of time of different samples are never the same
            return None
        _, *places = np.intersect1d(
            units[0].numbers, units[1].numbers, assume_unique=True, return_indices=True
        )
        if not len(places[0]):
            return None
        found: list[list[Any]] = [[], [], [], [], []]
        step = at_once(walks)
        for start in range(0, len(places[0]), step):
            some = [each[start : start + step] for each in places]
            which = [rows_of(own, chosen) for own, chosen in zip(units, some, strict=True)]
            one, two = (walks.unit_features(z, *w) for z, w in zip(samples, which, strict=True))
            for side, other in ((0, two), (1, one)):
                rows, labels, _ = which[side]
                found[side].append(rows)
                found[2 + side].append(walks.products_by_label(samples[side], rows, labels, other))
            found[4].append(np.einsum("kgd,kgd->kg", one, two))
        rows_x, rows_y = (np.concatenate(each) for each in found[:2])
        felt_x, felt_y, met = (np.concatenate(each, axis=1) for each in found[2:])
        sizes = units[0].sizes[places[0]], units[1].sizes[places[1]]
        return cls((places[0], places[1]), (rows_x, rows_y), (felt_x, felt_y), met, sizes)

    def take_off(
        self, k: int, rows: FloatArray, cols: FloatArray, sized_rows: FloatArray, sized_cols: FloatArray
    ) -> float:
        """Take twins off the sums of rows and units, in place, and return their part of the squares."""
        met, (here, there), (s, t) = self.met[k], self.places, self.sizes
        rows[self.rows[0]] -= self.felt[0][k]
        cols[self.rows[1]] -= self.felt[1][k]
        sized_rows[here] -= met * t
        sized_cols[there] -= met * s
        return float(met @ met)


def at_once(walks: Walks) -> int:
    """Return how many units are gone through at once."""
    held = walks.waves.size * walks.waves.scales * np.dtype(walks.waves.precision).itemsize
    return max(HELD_BYTES // held, 2)


def rows_of(units: Units, chosen: Positions) -> tuple[Positions, Positions, FloatArray]:
    """Return the rows of some units: their places, which of these units each is of, and their weights."""
    counts = units.rows[chosen]
    labels = np.repeat(np.arange(len(chosen)), counts)
    before = np.cumsum(counts) - counts
    rows = np.arange(len(labels)) + np.repeat(units.starts[chosen] - before, counts)
    return rows, labels, units.row_weights[rows]


def outer_of_units(
    walks: Walks, points: Array, units: Units, chosen: Positions, scale: int, mean: FloatArray
) -> FloatArray:
    """Return the sum of outer products of the features of some units less their mean, at one scale."""
    found, step = np.zeros((walks.waves.size, walks.waves.size)), at_once(walks)
    for start in range(0, len(chosen), step):
        some = chosen[start : start + step]
        features = walks.unit_features(points, *rows_of(units, some), scales=scale + 1)[scale]
        centred = features - units.sizes[some][:, None] * mean
        found += centred.T @ centred
    return found
