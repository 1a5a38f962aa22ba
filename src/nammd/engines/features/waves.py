"""The features of blocks of rows, at one scale or several: `Waves`.

Frequencies of half of the bandwidth are twice as long. So the waves at a finer scale follow from those before
it, by ``cos 2p = 2 cos² p - 1`` and ``sin 2p = 2 sin p cos p``. With twice the cosines and sines that is two
products and a difference, a quarter of another cosine and sine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from nammd.data.arrays import Array, FloatArray, like, namespace, take_rows, to_numpy
from nammd.data.sampling import representatives
from nammd.engines.tiles.pool import Buffers
from nammd.kernels.base import Precision
from nammd.kernels.random_features import (
    FLOAT32_FREQUENCIES,
    FLOAT32_PHASE,
    RandomFeatures,
    longest_row,
    require_phases,
)

_PHASES = ("phases", "turns")
"""The buffers of phases that float32 does not hold."""


@dataclass(frozen=True, eq=False)
class Waves:
    """Cosines and sines of rows, for kernels whose frequencies are multiples of the first one's.

    Attributes
    ----------
    frequencies : array of shape (J, columns)
        The frequencies of the first kernel.
    doublings : tuple of int
        How often they are doubled for each kernel, ascending; the first is 0.
    centre : array of shape (columns,)
        What is taken off every row first. Kernel values are the same with any; phases are short with a row
        from the middle.
    factor : float
        What cosines and sines are multiplied by to be features.
    precision : {"float32", "float64"}
        Of the waves.
    """

    frequencies: FloatArray = field(repr=False)
    doublings: tuple[int, ...]
    centre: FloatArray = field(repr=False)
    factor: float
    precision: Precision
    _buffers: Buffers = field(default_factory=Buffers, repr=False)

    @classmethod
    def of_kernels(
        cls, kernels: Sequence[RandomFeatures], centre: FloatArray, precision: Precision
    ) -> Waves | None:
        """Return the waves of some kernels; None where their frequencies are no doubles of the first ones."""
        first, *others = (kernel.frequencies(len(centre)) for kernel in kernels)
        doublings = [0]
        for each in others:
            at = np.argmax(np.abs(first))
            times = each.flat[at] / first.flat[at]
            step = round(math.log2(times)) if times > 0 else -1
            if step <= doublings[-1] or not np.array_equal(each, first * 2.0**step):
                return None
            doublings.append(step)
        return cls(first, tuple(doublings), centre, kernels[0].scale, precision)

    @classmethod
    def around(cls, kernels: Sequence[Any], sample: Array, precision: Precision) -> Waves | None:
        """Return the same, with the middle of some rows of a sample for a centre."""
        some = take_rows(sample, representatives(int(sample.shape[0])))
        return cls.of_kernels(kernels, np.median(to_numpy(some).astype(np.float64), axis=0), precision)

    def __reduce__(self) -> Any:
        return Waves, (self.frequencies, self.doublings, self.centre, self.factor, self.precision)

    @property
    def size(self) -> int:
        """The number of features."""
        return 2 * len(self.frequencies)

    @property
    def scales(self) -> int:
        """The number of kernels."""
        return len(self.doublings)

    @property
    def scale(self) -> float:
        """What waves are multiplied by to be features; those of several scales are twice as high."""
        return self.factor if self.scales == 1 else self.factor / 2

    def of(self, rows: Array, scales: int | None = None) -> Iterator[Array]:
        """Yield the waves of some rows at each scale, all cosines first; each uses up the one before."""
        wanted = self.doublings[:scales]
        return self._of_numpy(rows, wanted) if isinstance(rows, np.ndarray) else self._of_any(rows, wanted)

    def _of_numpy(self, rows: FloatArray, doublings: Sequence[int]) -> Iterator[FloatArray]:
        half = len(self.frequencies)
        # A feature after the other, so that all cosines are one piece of memory: in pieces they take twice as
        # long.
        values = self._buffers.tile(2 * half, len(rows), self.precision)
        cosines, sines = values[:half], values[half:]
        moved = rows - self.centre  # in float64: a large offset costs no digits
        longest = self._longest * longest_row(moved)
        require_phases(longest)
        if self.precision == "float64" or self._short(longest):
            # Where no row has anything, as a flag of missing values, there is nothing to multiply.
            some = moved.any(axis=0)
            frequencies = self._rounded if some.all() else self._rounded[:, some]
            np.matmul(frequencies, moved[:, some].astype(self.precision).T, out=cosines)
        else:
            # Whole turns are taken off in three steps, which take a tenth of the time of a remainder.
            phases, turns = (self._buffers.tile(half, len(rows), "float64", name) for name in _PHASES)
            np.matmul(self.frequencies, moved.T, out=phases)
            np.floor(np.divide(phases, 2 * math.pi, out=turns), out=turns)
            turns *= 2 * math.pi
            np.subtract(phases, turns, out=cosines, casting="same_kind")
        np.sin(cosines, out=sines)
        np.cos(cosines, out=cosines)
        if self.scales > 1:
            values += values
        at = 0
        for doubling in doublings:
            while at < doubling:
                sines *= cosines
                cosines *= cosines
                cosines -= 2
                at += 1
            yield values.T

    def _of_any(self, rows: Array, doublings: Sequence[int]) -> Iterator[Array]:
        xp = namespace(rows)
        moved = xp.astype(rows, xp.float64) - like(self.centre, rows, xp.float64)
        longest = self._longest * longest_row(moved)
        require_phases(longest)
        dtype = getattr(xp, self.precision)
        if self._short(longest):
            phases = xp.astype(moved, dtype) @ like(self._rounded, rows, dtype).T
        else:
            exact = xp.remainder(moved @ like(self.frequencies.T, rows, xp.float64), 2 * math.pi)
            phases = xp.astype(exact, dtype)
        cosines, sines, at = xp.cos(phases), xp.sin(phases), 0
        if self.scales > 1:
            cosines, sines = 2 * cosines, 2 * sines
        for doubling in doublings:
            while at < doubling:
                cosines, sines = cosines * cosines - 2, sines * cosines
                at += 1
            yield xp.concat([cosines, sines], axis=1)

    def _short(self, longest: float) -> bool:
        """Tell whether float32 holds phases of at most this length, and what they are made of."""
        low, high = FLOAT32_FREQUENCIES
        return longest <= FLOAT32_PHASE and low < self._longest < high

    @cached_property
    def _longest(self) -> float:
        return longest_row(self.frequencies)

    @cached_property
    def _rounded(self) -> FloatArray:
        with np.errstate(over="ignore"):  # such frequencies are never used in float32
            return self.frequencies.astype(self.precision)
