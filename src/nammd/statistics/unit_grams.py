"""Gram matrices of groups that stand for a sample, scaled for the terms of higher order: `UnitGrams`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.engines.blas import single_threaded_blas
from nammd.engines.units import Labels, Units
from nammd.statistics.skewness import top_eigenvalue
from nammd.statistics.units import UnitSide


class GroupGram(Protocol):
    """Sums of kernel values between groups that stand for a sample."""

    @property
    def units(self) -> Units:
        """All groups of the sample."""

    @property
    def chosen(self) -> NDArray[np.intp]:
        """Which of them stand for it."""

    @property
    def sizes(self) -> FloatArray:
        """The sizes of these."""

    @property
    def values(self) -> FloatArray:
        """The sums between these; on the diagonal those within a group, a row with itself included."""

    @property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator of a group of the effective size."""

    def between(self, other: Any) -> FloatArray:
        """Return the sums with the groups that stand for another sample."""


def group_eigenvalue(gram: FloatArray, s: FloatArray, units: Units) -> float:
    """Return the largest eigenvalue of the covariance operator of a group of the effective size.

    From the sums between groups of the sizes `s` that stand for the units of a sample.
    """
    means = gram.sum(axis=0) / s.sum()
    centred = gram - np.outer(s, means) - np.outer(means, s) + np.outer(s, s) * (means.sum() / s.sum())
    top = top_eigenvalue(centred, float(np.trace(gram)))
    sizes, groups = units.sizes, len(units) / len(s)
    effective = sizes.sum() ** 2 / (sizes @ sizes)
    return float(effective * top * groups / sizes.sum() ** 2)


@dataclass(frozen=True, eq=False)
class UnitGrams:
    """Gram matrices of groups, scaled so that a mean over groups is one over pairs of rows.

    The mean kernel value times the sizes of two groups is taken off. Influences add up to zero, so that over
    *all* pairs this changes nothing; over pairs of distinct groups it takes off a bias of the order of one
    group. Of single rows, of which there are many, nothing is taken off, as nothing is without groups.
    """

    own_x: GroupGram
    own_y: GroupGram
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
        found = one.between(two)
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
        across = one.between(two)
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

    def _within(self, own: GroupGram, side: UnitSide) -> FloatArray:
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
    def _own(self) -> tuple[GroupGram, GroupGram]:
        return self.own_x, self.own_y


def _centring(own: GroupGram) -> FloatArray:
    """Return the matrix that takes off the mean embedding times the size of each group."""
    matrix: FloatArray = (
        np.eye(len(own.sizes)) - np.outer(own.sizes, np.ones(len(own.sizes))) / own.sizes.sum()
    )
    return matrix
