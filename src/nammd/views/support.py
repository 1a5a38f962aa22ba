"""Kernels between the places of a column, as products with vectors: `Support`.

The kernel of one column is the Gaussian of the encoded space with a bandwidth of one unit: one robust
standard deviation of the reference. Two labels are ``sqrt 2`` apart, and a missing value among them is one
more label. All that is ever asked are products ``K v`` and ``K² v`` (of its squared values) with vectors over
the places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.views.counts import Counts, LabelCounts, NumberCounts
from nammd.views.lattice import STEP

APART = math.exp(-1.0)
"""The kernel value of two different labels."""


class Support(Protocol):
    """Some places, and the kernel between them."""

    @property
    def size(self) -> int:
        """The number of places."""

    def apply(self, vectors: FloatArray, squared: bool = False) -> FloatArray:
        """Return the products of the kernel, or of its squared values, with the columns of a matrix.

        Of many columns of a table at once there is a matrix for each.
        """

    def weights(self, counts: Counts) -> FloatArray:
        """Return counts as a vector over the places."""

    def around(self, rows: FloatArray) -> tuple[Support, FloatArray]:
        """Return a smaller support on which all of some rows are, and the rows there."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels, all of them equally far apart: a constant and a diagonal."""

    labels: dict[str, int] = field(repr=False)

    @property
    def size(self) -> int:
        """The number of labels, and one for missing values."""
        return len(self.labels) + 1

    def apply(self, vectors: FloatArray, squared: bool = False) -> FloatArray:
        """Return the products, in linear time."""
        apart = APART * APART if squared else APART
        found: FloatArray = apart * vectors.sum(axis=-2, keepdims=True) + (1.0 - apart) * vectors
        return found

    def weights(self, counts: Counts) -> FloatArray:
        """Return the rows of every label."""
        assert isinstance(counts, LabelCounts)
        found = np.zeros(self.size)
        for label, rows in counts.rows.items():
            found[self.labels[label]] = rows
        found[-1] = counts.missing
        return found

    def around(self, rows: FloatArray) -> tuple[Support, FloatArray]:
        """Return the labels that occur; that of missing values stays."""
        kept = [label for label, place in self.labels.items() if rows[place] > 0]
        places = [*(self.labels[label] for label in kept), -1]
        return Labels({label: k for k, label in enumerate(kept)}), rows[places]


@dataclass(frozen=True, eq=False)
class Values:
    """Few numbers, each by itself: the kernel as a matrix."""

    places: FloatArray = field(repr=False)

    @property
    def size(self) -> int:
        """The number of values."""
        return int(self.places.shape[-1])

    @property
    def _gaps(self) -> FloatArray:
        gaps: FloatArray = self.places[..., None] - self.places[..., None, :]
        return gaps

    @cached_property
    def _matrix(self) -> FloatArray:
        matrix = self._gaps  # in place, here and below: there may be many matrices
        matrix *= matrix
        matrix *= -0.5
        return np.exp(matrix, out=matrix)

    @cached_property
    def _squared(self) -> FloatArray:
        return self._matrix**2

    def apply(self, vectors: FloatArray, squared: bool = False) -> FloatArray:
        """Return the products."""
        matrix = self._squared if squared else self._matrix
        found: FloatArray = matrix @ vectors
        return found

    def weights(self, counts: Counts) -> FloatArray:
        """Return the rows at every value."""
        assert isinstance(counts, NumberCounts)
        found = np.zeros(self.size)
        found[np.searchsorted(self.places, counts.places)] = counts.rows
        return found

    def around(self, rows: FloatArray) -> tuple[Support, FloatArray]:
        """Return the values that occur."""
        there = rows > 0
        return replace(self, places=self.places[there]), rows[there]


@dataclass(frozen=True, eq=False)
class Points(Values):
    """A few points of the lattice, as many as the rows of a short column have: the kernel as a matrix."""

    @cached_property
    def _matrix(self) -> FloatArray:
        return _binned_kernel(self._gaps, 1.0)

    @cached_property
    def _squared(self) -> FloatArray:
        return _binned_kernel(self._gaps, 2.0)


@dataclass(frozen=True, eq=False)
class Lattice:
    """A stretch of the lattice: products by fast Fourier transforms.

    Attributes
    ----------
    start, length : int
        The number of the first point, and how many there are.
    """

    start: int
    length: int

    @property
    def size(self) -> int:
        """The number of points."""
        return self.length

    def apply(self, vectors: FloatArray, squared: bool = False) -> FloatArray:
        """Return the products."""
        padded, spectra = _transforms(self.length)
        waves = np.fft.rfft(vectors, padded, axis=-2)
        product = np.fft.irfft(waves * spectra[int(squared)], padded, axis=-2)
        found: FloatArray = product[..., : self.length, :]
        return found

    def weights(self, counts: Counts) -> FloatArray:
        """Return the rows at every point."""
        assert isinstance(counts, NumberCounts)
        placed = counts.on_lattice()
        found = np.zeros(self.size)
        if placed.places.size:
            found[np.rint(placed.places / STEP).astype(np.int64) - self.start] = placed.rows
        return found

    def around(self, rows: FloatArray) -> tuple[Support, FloatArray]:
        """Return the stretch from the first row to the last."""
        there = np.flatnonzero(rows > 0)
        first, last = int(there[0]), int(there[-1])
        return Lattice(self.start + first, last - first + 1), rows[first : last + 1]


def _binned_kernel(gaps: FloatArray, power: float) -> FloatArray:
    """Return a power of the kernel between points of the lattice.

    Linear binning widens the kernel: a value between two points has, on average over its place between them,
    the kernel ``k + (STEP² / 12) k''`` on either side. So ``(STEP² / 6) k''`` is taken off, which leaves an
    error of fourth order in the step.
    """
    squared = gaps * gaps
    squared *= power
    kernel: FloatArray = -0.5 * squared
    np.exp(kernel, out=kernel)
    squared -= 1.0
    squared *= STEP**2 / 6 * power
    squared *= kernel
    kernel -= squared
    return kernel


@lru_cache(maxsize=64)  # the columns of a table have stretches of a few lengths
def _transforms(length: int) -> tuple[int, tuple[FloatArray, FloatArray]]:
    """Return how long a stretch is with its padding, and the transforms of the kernel and of its squares."""
    padded = _quick_length(2 * length)
    gaps = np.arange(length, dtype=np.float64) * STEP
    spectra = []
    for power in (1.0, 2.0):
        kernel = _binned_kernel(gaps, power)
        whole = np.zeros(padded)
        whole[:length] = kernel
        whole[padded - length + 1 :] = kernel[:0:-1]
        spectra.append(np.fft.rfft(whole).real[:, None])
    return padded, (spectra[0], spectra[1])


def _quick_length(least: int) -> int:
    """Return the smallest length from `least` on that has no factor but 2, 3 and 5."""
    threes = [int(3**b * 5**c) for b in range(20) for c in range(14) if 3**b * 5**c <= 2 * least]
    return min(odd << max((-(-least // odd) - 1).bit_length(), 0) for odd in threes)


def support_of(samples: Sequence[Counts]) -> Support:
    """Return a support on which all of some samples of one column are."""
    if isinstance(samples[0], LabelCounts):
        names = dict.fromkeys(label for s in samples if isinstance(s, LabelCounts) for label in s.rows)
        return Labels({label: k for k, label in enumerate(names)})
    numbers = [sample for sample in samples if isinstance(sample, NumberCounts)]
    if all(sample.exact for sample in numbers):
        return Values(np.unique(np.concatenate([sample.places for sample in numbers])))
    placed = [sample.on_lattice() for sample in numbers]
    filled = [sample.places for sample in placed if sample.places.size]
    start = round(min(float(places[0]) for places in filled) / STEP)
    end = round(max(float(places[-1]) for places in filled) / STEP)
    return Lattice(start, end - start + 1)
