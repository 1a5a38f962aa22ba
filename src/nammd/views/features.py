"""The kernel of one column as a product of features, so that a group of rows is known from their sum.

Of numbers: the Gaussian kernel is the integral of the product of two Gaussians of half its variance, and a
sum over points that are `GAP` apart gives that integral to 1e-10. So each point is a feature, and a number
has some twenty of them, those near it. Of labels: two different ones have the kernel value `APART`, which is
one feature of all rows, and a label has one more of its own. Features are told by their keys, so that those
of two samples are found to be the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.values import Values
from nammd.views.measure import Measure
from nammd.views.support import APART

Key: TypeAlias = int | str
"""Of numbers the number of a point, of labels the label."""

GAP = 0.45
"""How far the points are apart, in robust standard deviations."""

REACH = 11
"""A number has so many features on each side of it; farther ones are below 1e-12."""

ALL, MISSING, OTHERS = "\0all", "\0missing", "\0others"
"""The features that all rows have, those without a label, and those with one of very many labels."""

MOST_LABELS, CELLS = 1024, 512
"""So many labels have a feature of their own, the commonest ones; cells of labels are fewer still."""


@dataclass(frozen=True, eq=False)
class ColumnRows:
    """A column row by row.

    Attributes
    ----------
    places : array or None
        Of numbers: where each is on the scale of the column, NaN where there is none.
    codes, labels : array of int and tuple of str, or None
        Of labels: which of them, -1 where there is none.
    """

    places: FloatArray | None = field(default=None, repr=False)
    codes: NDArray[np.intp] | None = field(default=None, repr=False)
    labels: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, measure: Measure, values: Values) -> ColumnRows:
        """Take a column as its measure counts it."""
        rows = len(values.missing)
        if measure.counted == "numbers":
            places = np.full(rows, np.nan)
            there = ~values.missing
            if values.numbers is not None and there.any():
                places[there] = measure.places(values.numbers[there])
            return cls(places=places)
        if values.codes is None:
            return cls(codes=np.full(rows, -1, dtype=np.intp))
        names = [measure.key_of(each) for each in values.categories]
        if measure.in_cells:
            names = [f"{int(cell, 16) % CELLS:03x}" for cell in names]
        labels, where = np.unique(np.array([*names, ""], dtype=str), return_inverse=True)
        codes = np.where(values.codes < 0, -1, where.reshape(-1)[values.codes])
        return cls(codes=codes.astype(np.intp), labels=tuple(map(str, labels)))

    @property
    def aspects(self) -> tuple[str, ...]:
        """What there is to compare in the column."""
        return ("labels",) if self.places is None else ("values", "missing")

    @classmethod
    def joined(cls, parts: Sequence[ColumnRows]) -> ColumnRows:
        """Return the rows of several parts of a column."""
        places = [part.places for part in parts if part.places is not None]
        if len(places) == len(parts):
            return cls(places=np.concatenate(places))
        labels = dict.fromkeys(label for part in parts for label in part.labels)
        numbers = {label: k for k, label in enumerate(labels)}
        codes = []
        for part in parts:
            assert part.codes is not None
            moved = np.array([*(numbers[label] for label in part.labels), -1], dtype=np.intp)
            codes.append(moved[part.codes])
        return cls(codes=np.concatenate(codes), labels=tuple(labels))

    def taken(self, rows: NDArray[np.intp]) -> ColumnRows:
        """Return some of the rows."""
        places = None if self.places is None else self.places[rows]
        return ColumnRows(places, None if self.codes is None else self.codes[rows], self.labels)


@dataclass(frozen=True, eq=False)
class UnitFeatures:
    """The sums of the features of the rows of each of some groups.

    Attributes
    ----------
    keys : tuple
        Which features these are.
    z : array of shape (groups, features)
        The sums.
    sizes : array of shape (groups,)
        The sum of the weights of the rows of each.
    numbers : array of int of shape (groups,)
        The numbers of the groups: those without any row in this aspect of the column are not there.
    """

    keys: tuple[Key, ...]
    z: FloatArray = field(repr=False)
    sizes: FloatArray = field(repr=False)
    numbers: NDArray[np.intp] = field(repr=False)


def unit_features(
    column: ColumnRows, aspect: str, groups: NDArray[np.intp], weights: FloatArray | None, count: int
) -> UnitFeatures:
    """Sum the features of the rows of each group, in one aspect of a column."""
    rows = np.ones(len(groups)) if weights is None else weights
    sizes: FloatArray
    if column.places is None or aspect == "missing":
        keys, z = _of_labels(*_as_labels(column), groups, rows, count)
        sizes = np.bincount(groups, rows, count).astype(np.float64)
    else:
        there = ~np.isnan(column.places)
        keys, z = _of_numbers(column.places[there], groups[there], rows[there], count)
        sizes = np.bincount(groups[there], rows[there], count).astype(np.float64)
    kept = np.flatnonzero(sizes > 0)
    return UnitFeatures(keys, z[kept], sizes[kept], kept)


def aligned(keys: Sequence[Key], wanted: Mapping[Key, int]) -> NDArray[np.intp]:
    """Return where features are among others."""
    return np.array([wanted[key] for key in keys], dtype=np.intp)


def united(*several: Sequence[Key]) -> dict[Key, int]:
    """Return all features that occur, in order, with their places."""
    every: Any = {key for keys in several for key in keys}
    return {key: place for place, key in enumerate(sorted(every))}


def _of_numbers(
    places: FloatArray, groups: NDArray[np.intp], rows: FloatArray, count: int
) -> tuple[tuple[Key, ...], FloatArray]:
    if not len(places):
        return (), np.zeros((count, 0))
    nearest = np.rint(places / GAP).astype(np.intp)
    apart = places - nearest * GAP
    # Only points near some number are features: a number far out does not add all that are on the way.
    points, where = np.unique(nearest, return_inverse=True)
    keys = np.unique((points[:, None] + np.arange(-REACH, REACH + 1)).ravel())
    column = np.searchsorted(keys, points)[where.reshape(-1)]
    z = np.zeros(count * len(keys))
    start = groups * len(keys) + column
    for step in range(-REACH, REACH + 1):
        # Between a point and its neighbours no key is missing, so the place of the neighbour is known.
        z += np.bincount(start + step, rows * np.exp(-((apart - step * GAP) ** 2)), len(z))
    factor = math.sqrt(GAP * math.sqrt(2 / math.pi))
    return tuple(keys.tolist()), factor * z.reshape(count, len(keys))


def _of_labels(
    codes: NDArray[np.intp],
    labels: Sequence[str],
    groups: NDArray[np.intp],
    rows: FloatArray,
    count: int,
) -> tuple[tuple[Key, ...], FloatArray]:
    found = np.bincount(codes + 1, minlength=len(labels) + 1)
    names = [MISSING, *labels]
    kept = [k for k in range(len(names)) if found[k]]
    if len(kept) > MOST_LABELS:
        kept = sorted(sorted(kept, key=lambda k: (-found[k], names[k]))[:MOST_LABELS])
    keys = [*(names[k] for k in kept), OTHERS]
    place = np.full(len(names), len(kept))
    place[kept] = np.arange(len(kept))
    size = len(keys)
    z = np.bincount(groups * size + place[codes + 1], rows, count * size).reshape(count, size)
    total = z.sum(axis=1)
    if not z[:, -1].any():
        keys, z = keys[:-1], z[:, :-1]
    every = np.column_stack([math.sqrt(1 - APART) * z, math.sqrt(APART) * total])
    return (*keys, ALL), every


def _as_labels(column: ColumnRows) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    if column.places is not None:
        return np.where(np.isnan(column.places), -1, 0).astype(np.intp), ("present",)
    assert column.codes is not None
    return column.codes, column.labels
