"""Kernel values between some groups that stand for a sample, evaluated when they are asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, take_rows, to_numpy
from nammd.data.sampling import REPRESENTATIVES, Positions, representatives
from nammd.engines.blas import single_threaded_blas
from nammd.engines.units import Labels, Units
from nammd.spaces import Sample
from nammd.statistics.skewness import top_eigenvalue
from nammd.statistics.units import UnitSide

ROWS = REPRESENTATIVES
"""About so many rows stand for a sample, spread over its groups; two at least of a group that has them."""


@dataclass(frozen=True, eq=False)
class UnitGram:
    """Sums of kernel values between groups that stand for a sample.

    Of large groups some rows stand for all; their weights are raised to the weight of the group.
    """

    sample: Sample
    units: Units = field(repr=False)

    @cached_property
    def chosen(self) -> Positions:
        """Which groups stand for the sample.

        By the order in which they are met in the data, so that rows which are groups of their own are those
        that would stand for the sample without groups.
        """
        count = len(self.units)
        most = ROWS if len(self.units.labels) < 1.5 * count else ROWS // 2
        some = representatives(count, most)
        if self.sample.units is None:
            return some
        _, met = np.unique(self.sample.units.codes, return_index=True)
        return np.sort(np.argsort(met)[some])

    @cached_property
    def rows(self) -> tuple[Array, Any, NDArray[np.intp]]:
        """Some rows of these groups, the matrix that sums by group, and how many rows each has."""
        from scipy.sparse import csr_array

        units, most = self.units, max(ROWS // len(self.chosen), 1)
        rng, places, weights, counts = np.random.default_rng(0), [], [], []
        for group in self.chosen:
            start, count = int(units.starts[group]), int(units.rows[group])
            few = np.arange(count) if count <= most else np.sort(rng.choice(count, most, replace=False))
            own = units.row_weights[start + few]
            places.append(start + few)
            weights.append(own * (units.sizes[group] / own.sum()))
            counts.append(len(few))
        every, total = np.concatenate(places), np.array(counts, dtype=np.intp)
        edges = np.r_[0, np.cumsum(total)]
        adder = csr_array(
            (np.concatenate(weights), np.arange(len(every)), edges), shape=(len(total), len(every))
        )
        order = None if self.sample.units is None else self.sample.units.order
        positions = every if order is None else order[every]
        return take_rows(self.sample.points, positions), adder, total

    @property
    def sizes(self) -> FloatArray:
        """The sizes of the groups that stand for the sample."""
        return self.units.sizes[self.chosen]

    @property
    def values(self) -> FloatArray:
        """The sums between the groups; on the diagonal those within a group, a row with itself included."""
        return self._sums[0]

    @cached_property
    def in_group(self) -> float:
        """The mean kernel value of two rows of one group; NaN where no group has two."""
        sums, itself = self._sums
        pairs = self.sizes**2 - self._squares
        several = (self.units.rows[self.chosen] > 1) & (self.rows[2] > 1)
        apart = np.diagonal(sums) - self._squares * itself
        return float(apart[several].sum() / pairs[several].sum()) if several.any() else math.nan

    @property
    def _squares(self) -> FloatArray:
        """The sum of the squared weights of the rows of each group."""
        squares: FloatArray = np.add.reduceat(self.units.row_weights**2, self.units.starts)[self.chosen]
        return squares

    @cached_property
    def _sums(self) -> tuple[FloatArray, FloatArray]:
        """The sums, and for each group the mean kernel value of a row with itself."""
        points, adder, counts = self.rows
        gram = to_numpy(self.sample.space.kernel(points, points))
        found: FloatArray = adder @ (adder @ gram.T).T
        # Of a group that only some rows stand for: how alike two of its rows are, and rows with themselves.
        first = np.r_[0, np.cumsum(counts)[:-1]]
        own = np.add.reduceat(gram, first, axis=1)[
            np.arange(len(gram)), np.repeat(np.arange(len(counts)), counts)
        ]
        own, alone = np.add.reduceat(own, first), np.add.reduceat(np.diagonal(gram), first)
        part = (counts > 1) & (counts < self.units.rows[self.chosen])
        alike = (own - alone)[part] / (counts * (counts - 1))[part]
        sizes, squares = self.sizes[part], self._squares[part]
        places = np.flatnonzero(part)
        found[places, places] = (sizes**2 - squares) * alike + squares * (alone / counts)[part]
        return found, alone / counts

    @cached_property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator of a group of the effective size."""
        gram, s = self.values, self.sizes
        means = gram.sum(axis=0) / s.sum()
        centred = gram - np.outer(s, means) - np.outer(means, s) + np.outer(s, s) * (means.sum() / s.sum())
        with single_threaded_blas:  # many small products: more threads would mostly wait for each other
            top = top_eigenvalue(centred, float(np.trace(gram)))
        sizes, groups = self.units.sizes, len(self.units) / len(self.chosen)
        effective = sizes.sum() ** 2 / (sizes @ sizes)
        return float(effective * top * groups / sizes.sum() ** 2)


def between(one: UnitGram, two: UnitGram) -> FloatArray:
    """Return the sums of kernel values between the groups that stand for two samples."""
    (points, adder, _), (others, lower, _) = one.rows, two.rows
    gram = to_numpy(one.sample.space.kernel(points, others))
    found: FloatArray = adder @ (lower @ gram.T).T
    return found


@dataclass(frozen=True, eq=False)
class UnitGrams:
    """Gram matrices of groups, scaled so that a mean over groups is one over pairs of rows.

    The mean kernel value times the sizes of two groups is taken off. Influences add up to zero, so that over
    *all* pairs this changes nothing; over pairs of distinct groups it takes off a bias of the order of one
    group. Of single rows, of which there are many, nothing is taken off, as nothing is without groups.
    """

    own_x: UnitGram
    own_y: UnitGram
    sides: tuple[UnitSide, UnitSide]
    common: tuple[Labels, Labels]

    @cached_property
    def x(self) -> FloatArray:
        """The values between groups of x."""
        return self._within(self.own_x, self.sides[0])

    @cached_property
    def y(self) -> FloatArray:
        """The values between groups of y."""
        return self._within(self.own_y, self.sides[1])

    @cached_property
    def cross(self) -> FloatArray:
        """The values between groups of x and groups of y; zero for a group that is in both."""
        one, two = self.own_x, self.own_y
        pairs = np.outer(one.sizes, two.sizes)
        found = between(one, two)
        if not self._plain:
            found -= self.sides[0].cross_mean * pairs
        if len(self.common[0]):
            same = one.units.numbers[one.chosen][:, None] == two.units.numbers[two.chosen]
            found[same] = pairs[same] = 0.0
        scaled: FloatArray = found * (found.size / pairs.sum())
        return scaled

    @cached_property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators."""
        x, y = (own.eigenvalue * side.lifted for own, side in zip(self._own, self.sides, strict=True))
        if not len(self.common[0]):
            return x, y
        # Groups that are in both move both mean embeddings: as far as these go together, nothing moves.
        apart = x / self.sides[0].effective + y / self.sides[1].effective
        share = self._joint_eigenvalue() / apart if apart > 0 else 1.0
        return x * share, y * share

    def _joint_eigenvalue(self) -> float:
        """Return the largest eigenvalue of the covariance of the difference of the mean embeddings."""
        one, two = self.own_x, self.own_y
        across = between(one, two)
        gram = np.block([[one.values, across], [across.T, two.values]])
        centred = np.block(
            [[_centring(one), np.zeros(across.shape)], [np.zeros(across.T.shape), _centring(two)]]
        )
        numbers = np.r_[one.units.numbers[one.chosen], two.units.numbers[two.chosen]]
        parts = np.r_[np.full(len(one.chosen), 1.0), np.full(len(two.chosen), -1.0)]
        for own, place in ((one, slice(0, len(one.chosen))), (two, slice(len(one.chosen), None))):
            parts[place] *= math.sqrt(len(own.units) / len(own.chosen)) / own.units.sizes.sum()
        groups, where = np.unique(numbers, return_inverse=True)
        joined = np.zeros((len(groups), len(numbers)))
        joined[where.reshape(-1), np.arange(len(numbers))] = parts
        moved = joined @ centred
        form = moved @ gram @ moved.T
        with single_threaded_blas:
            return top_eigenvalue((form + form.T) / 2, float(np.trace(form)))

    def _within(self, own: UnitGram, side: UnitSide) -> FloatArray:
        s, numbers = own.sizes, own.units.numbers[own.chosen]
        pairs = np.outer(s, s)
        found = own.values if self._plain else own.values - side.mean * pairs
        near = np.abs(numbers[:, None] - numbers) <= own.units.reach
        pairs = np.where(near, 0.0, pairs)
        count = len(s)
        # The diagonal stays: whoever takes a mean over distinct groups takes it off.
        kept = np.where(near & ~np.eye(count, dtype=bool), 0.0, found)
        scaled: FloatArray = kept * (count * (count - 1) / pairs.sum())
        return scaled

    @property
    def _plain(self) -> bool:
        return all(own.units.plain for own in self._own) and not len(self.common[0])

    @property
    def _own(self) -> tuple[UnitGram, UnitGram]:
        return self.own_x, self.own_y


def _centring(own: UnitGram) -> FloatArray:
    """Return the matrix that takes off the mean embedding times the size of each group."""
    matrix: FloatArray = (
        np.eye(len(own.sizes)) - np.outer(own.sizes, np.ones(len(own.sizes))) / own.sizes.sum()
    )
    return matrix
