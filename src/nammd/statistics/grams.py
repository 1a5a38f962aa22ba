"""Kernel values between units that stand for a sample, scaled for the terms of higher order: `Grams`.

Small samples stand for themselves, and of larger ones the cost stays a small constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.engines.blas import single_threaded_blas
from nammd.statistics.atoms import Atoms
from nammd.statistics.side import DENSE_ROWS, NO_TRACE, by_lanczos, top_eigenvalue


class StandIns(Protocol):
    """Units that stand for a sample, and the sums of kernel values between them."""

    @property
    def chosen(self) -> NDArray[np.intp]:
        """Which units of the sample these are."""

    @property
    def values(self) -> FloatArray:
        """The sums between these; on the diagonal those within a unit, a row with itself included."""

    @property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator of a unit of the effective size."""

    def between(self, other: Any) -> FloatArray:
        """Return the sums with the units that stand for another sample."""


@dataclass(frozen=True, eq=False)
class Grams:
    """How influences meet through the kernel, by units that stand for each sample; a `SecondOrder`.

    Sums are scaled so that a mean over units is one over pairs of rows. The mean kernel value times the sizes
    of two groups is taken off. Influences add up to zero, so that over *all* pairs this changes nothing; over
    pairs of distinct groups it takes off a bias of the order of one group. Of single rows, of which there are
    many, nothing is taken off. `repeats` is how many units each of those that stand for a sample stands for,
    where that differs.
    """

    stand_ins: tuple[StandIns, StandIns]
    atoms: tuple[Atoms, Atoms]
    common: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None
    joint: bool = True
    repeats: tuple[FloatArray | None, FloatArray | None] = (None, None)

    def apart(self) -> Grams:
        """Return the same as if units that are in both samples did not vary together."""
        return replace(self, joint=False)

    @single_threaded_blas
    def form(self, side: int, g: FloatArray) -> FloatArray:
        """Return the means of ``g_i k(i, j) g_j`` over pairs of distinct units of a sample."""
        some = self._repeated(side, g[self.stand_ins[side].chosen])
        product, diagonal = self._within(side, some)
        found: FloatArray = (some.T @ product - (some * diagonal[:, None]).T @ some) / self._distinct(side)
        return found

    @single_threaded_blas
    def felt(self, g: FloatArray) -> FloatArray:
        """Return, for the units that stand for x, the means of ``k(i, j) g_j`` over the units of y."""
        some = self._repeated(1, g[self.stand_ins[1].chosen])
        found: FloatArray = self._across(some) / self._count(1)
        return found

    @single_threaded_blas
    def mean(self, g: FloatArray, felt: FloatArray) -> FloatArray:
        """Return the means of the products of influences of x and what is felt there."""
        found: FloatArray = self._repeated(0, g[self.stand_ins[0].chosen]).T @ felt / self._count(0)
        return found

    def _repeated(self, side: int, values: FloatArray) -> FloatArray:
        """Return values of the units that stand for a sample, by how many each of them stands for."""
        repeats = self.repeats[side]
        return values if repeats is None else repeats[:, None] * values

    def _count(self, side: int) -> float:
        repeats = self.repeats[side]
        return float(len(self.stand_ins[side].chosen) if repeats is None else repeats.sum())

    def _distinct(self, side: int) -> float:
        """Return how many pairs of distinct units there are."""
        repeats, count = self.repeats[side], self._count(side)
        return count * (count - 1) if repeats is None else count**2 - float(repeats @ repeats)

    @cached_property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators, of units of the effective size."""
        x, y = (one.eigenvalue * atoms.lift for one, atoms in zip(self.stand_ins, self.atoms, strict=True))
        if self.common is None or not self.joint:
            return x, y
        # Groups that are in both move both mean embeddings: as far as these go together, nothing moves.
        apart = x / self.atoms[0].effective + y / self.atoms[1].effective
        share = self._joint_eigenvalue() / apart if apart > 0 else 1.0
        return x * share, y * share

    def _sizes(self, side: int) -> FloatArray:
        sizes, chosen = self.atoms[side].sizes, self.stand_ins[side].chosen
        return sizes[chosen] if isinstance(sizes, np.ndarray) else np.full(len(chosen), sizes)

    def _numbers(self, side: int) -> NDArray[np.intp]:
        numbers, chosen = self.atoms[side].numbers, self.stand_ins[side].chosen
        return chosen if numbers is None else numbers[chosen]

    @cached_property
    def _plain(self) -> bool:
        return all(atoms.plain for atoms in self.atoms) and self.common is None

    def _within(self, side: int, some: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return products of the values within a sample with some columns, and their diagonal."""
        values, atoms = self.stand_ins[side].values, self.atoms[side]
        product, diagonal = _product(values, some), np.diagonal(values)
        if self._plain:
            return product, diagonal
        s, mean = self._sizes(side), atoms.mean
        if not atoms.reach:  # no unit but itself is near
            sized = self._repeated(side, s[:, None])[:, 0]
            scale = self._distinct(side) / (sized.sum() ** 2 - float(sized @ sized))
            return scale * (product - mean * np.outer(s, s @ some)), scale * (diagonal - mean * s * s)
        numbers, pairs = self._numbers(side), np.outer(s, s)
        found = values - mean * pairs
        near = np.abs(numbers[:, None] - numbers) <= atoms.reach
        # The diagonal stays: whoever takes a mean over distinct groups takes it off.
        kept = np.where(near & ~np.eye(len(values), dtype=bool), 0.0, found)
        every = self._repeated(side, self._repeated(side, np.where(near, 0.0, pairs)).T).sum()
        kept *= self._distinct(side) / every
        return kept @ some, np.diagonal(kept)

    def _across(self, some: FloatArray) -> FloatArray:
        """Return products of the values between units of x and units of y with some columns.

        For a unit that is in both the value is zero.
        """
        one, two = self.stand_ins
        values = one.between(two)
        if self._plain:
            return _product(values, some)
        s, t, mean = self._sizes(0), self._sizes(1), self.atoms[0].cross_mean
        count = self._count(0) * self._count(1)
        if self.common is None:
            every = self._repeated(0, s[:, None]).sum() * self._repeated(1, t[:, None]).sum()
            centred: FloatArray = count / every * (_product(values, some) - mean * np.outer(s, t @ some))
            return centred
        pairs = np.outer(s, t)
        found = values - mean * pairs
        same = self._numbers(0)[:, None] == self._numbers(1)
        found[same] = pairs[same] = 0.0
        every = self._repeated(0, self._repeated(1, pairs.T).T).sum()
        apart: FloatArray = count / every * (found @ some)
        return apart

    @single_threaded_blas
    def _joint_eigenvalue(self) -> float:
        """Return the largest eigenvalue of the covariance of the difference of the mean embeddings."""
        one, two = self.stand_ins
        across = one.between(two)
        gram = np.block([[one.values, across], [across.T, two.values]])
        s, t = self._sizes(0), self._sizes(1)
        centred = np.block([[_centring(s), np.zeros(across.shape)], [np.zeros(across.T.shape), _centring(t)]])
        numbers = np.r_[self._numbers(0), self._numbers(1)]
        parts = np.r_[np.full(len(s), 1.0), np.full(len(t), -1.0)]
        for atoms, place, count in (
            (self.atoms[0], slice(0, len(s)), len(s)),
            (self.atoms[1], slice(len(s), None), len(t)),
        ):
            parts[place] *= math.sqrt(atoms.count / count) / atoms.weight
        groups, where = np.unique(numbers, return_inverse=True)
        joined = np.zeros((len(groups), len(numbers)))
        joined[where.reshape(-1), np.arange(len(numbers))] = parts
        moved = joined @ centred
        form = moved @ gram @ moved.T
        return top_eigenvalue((form + form.T) / 2, float(np.trace(form)))


def _product(values: FloatArray, some: FloatArray) -> FloatArray:
    """Return a product with a few columns: one by one takes BLAS less than half of the time."""
    values = values.astype(np.float64, copy=False)
    return np.stack([values @ column for column in np.ascontiguousarray(some.T)], axis=1)


def _centring(sizes: FloatArray) -> FloatArray:
    """Return the matrix that takes off the mean embedding times the size of each group."""
    matrix: FloatArray = np.eye(len(sizes)) - np.outer(sizes, np.ones(len(sizes))) / sizes.sum()
    return matrix


@single_threaded_blas
def unit_eigenvalue(
    gram: FloatArray, sizes: FloatArray, every: FloatArray, repeats: FloatArray | None = None
) -> float:
    """Return the largest eigenvalue of the covariance operator of a unit of the effective size.

    From the sums between units of the given sizes, which stand for those of the sizes `every`; `repeats` is
    how many each of them stands for, where that differs.
    """
    total = sizes.sum() if repeats is None else repeats @ sizes
    means = (gram.sum(axis=0) if repeats is None else repeats @ gram) / total
    mean = (means.sum() if repeats is None else means @ repeats) / total
    # Centred: the sums less ``s_i means_j + means_i s_j - s_i s_j mean``.
    half = means - mean / 2 * sizes
    diagonal, own, count = np.diagonal(gram), 2 * sizes * half, float(len(sizes))
    trace, rest, roots = float(diagonal.sum()), float((diagonal - own).sum()), None
    if repeats is not None:
        trace, rest = float(repeats @ diagonal), float(repeats @ (diagonal - own))
        count, roots = float(repeats.sum()), np.sqrt(repeats)

    def product(step: FloatArray) -> FloatArray:
        """Return the product with the centred matrix, which nobody has to make."""
        step = step if roots is None else roots * step
        found: FloatArray = gram @ step
        found -= sizes * (half @ step) + half * (sizes @ step)
        return found if roots is None else roots * found

    if len(sizes) <= DENSE_ROWS or rest <= NO_TRACE * trace:
        moved = np.outer(sizes, half)
        centred = gram - moved - moved.T
        top = top_eigenvalue(centred if roots is None else roots[:, None] * centred * roots, trace)
    else:
        top = max(by_lanczos(product, len(sizes)), 0.0)
    return float(top * (len(every) / count) / (every @ every))
