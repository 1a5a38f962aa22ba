"""Distributions over finitely many points, and quick tests of large samples from them.

A sample with many equal rows needs few kernel values: those between the points. Rows are then the numbers
of the points, the kernel looks its values up, and the engine sums by counting how often each point was
drawn. The tests themselves are those of nammd, unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import nammd
from nammd.engines import Summed
from nammd.engines.sums import CrossSums, WithinSums


class Lookup(nammd.Kernel):
    """The kernel between points that are named by their numbers.

    Parameters
    ----------
    gram : array of shape (k, k)
        The kernel values between the points.
    bound : float
        The bound of the kernel.
    """

    def __init__(self, gram: np.ndarray, bound: float) -> None:
        self.gram = gram
        self.bound = bound
        self.squared = gram**2

    def __call__(self, x: Any, y: Any) -> np.ndarray:
        """Look the values up; x and y have one column, of numbers of points."""
        found: np.ndarray = np.take(self.gram[_numbers(x)], _numbers(y), axis=1)  # quicker than np.ix_
        return found


class Counting(nammd.Engine):
    """An engine for `Lookup` kernels: a few products with their matrix, whatever the sizes of the samples.

    It remembers what it has summed, so that several tests of the same samples cost little more than one. Use
    a new one for new samples.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def sums(self, kernel: Any, *parts: tuple[Any, ...]) -> Summed:
        """Return the sums of several Gram matrices."""
        return Summed(tuple(self._of(kernel, part) for part in parts), "Counting()")

    def _of(self, kernel: Lookup, part: tuple[Any, ...]) -> Any:
        key = (id(kernel), *(np.asarray(sample).tobytes() for sample in part))
        if key not in self._known:
            # The kernel is kept too: another one could get the number of a kernel that is gone.
            compute = self._within if len(part) == 1 else self._cross
            self._known[key] = kernel, compute(kernel, *part)
        return self._known[key][1]

    def quadratic_forms(self, kernel: Any, z: Any, vectors: Any) -> np.ndarray:
        """Return ``v' K v`` for every column v, K the Gram matrix of z less its diagonal."""
        points = _numbers(z)
        weights = np.zeros((len(kernel.gram), vectors.shape[1]))
        np.add.at(weights, points, vectors)
        own = np.diagonal(kernel.gram)[points] @ np.square(vectors, dtype=float)
        forms: np.ndarray = np.einsum("ij,ij->j", weights, kernel.gram @ weights) - own
        return forms

    @staticmethod
    def _within(kernel: Lookup, x: Any) -> WithinSums:
        points = _numbers(x)
        counts = np.bincount(points, minlength=len(kernel.gram)).astype(float)
        own = np.diagonal(kernel.gram)[points]
        rows = (kernel.gram @ counts)[points] - own
        return WithinSums(rows, float(counts @ kernel.squared @ counts - own @ own))

    @staticmethod
    def _cross(kernel: Lookup, x: Any, y: Any) -> CrossSums:
        left, right = _numbers(x), _numbers(y)
        size = len(kernel.gram)
        counts, others = (np.bincount(z, minlength=size).astype(float) for z in (left, right))
        return CrossSums(
            (kernel.gram @ others)[left],
            (kernel.gram @ counts)[right],
            float(counts @ kernel.squared @ others),
            float(kernel.gram[left, right].sum()) if len(left) == len(right) else None,
        )


@dataclass(frozen=True, eq=False)
class FinitePair:
    """The uniform distributions over two sets of points, under one kernel.

    Attributes
    ----------
    kernel : Lookup
        The kernel, on the numbers of the points: first those of P, then those of Q.
    sizes : tuple of int
        How many points P and Q have.
    """

    kernel: Lookup
    sizes: tuple[int, int]

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, kernel: nammd.Kernel) -> FinitePair:
        """Evaluate a kernel on the points of P and of Q."""
        points = np.concatenate([x, y])
        return cls(Lookup(np.asarray(kernel(points, points)), float(kernel.bound)), (len(x), len(y)))

    @cached_property
    def norms(self) -> tuple[float, float]:
        """The squared norms of the mean embeddings."""
        cut = self.sizes[0]
        return float(self.kernel.gram[:cut, :cut].mean()), float(self.kernel.gram[cut:, cut:].mean())

    @cached_property
    def mmd2(self) -> float:
        """The exact squared MMD of P and Q."""
        cut = self.sizes[0]
        return sum(self.norms) - 2 * float(self.kernel.gram[:cut, cut:].mean())

    @cached_property
    def nammd(self) -> float:
        """The exact NAMMD of P and Q."""
        return self.mmd2 / (4 * self.kernel.bound - sum(self.norms))

    def sample(self, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw from P and from Q, with replacement: the numbers of points, as samples of one column."""
        first, second = self.sizes
        x, y = rng.integers(first, size=rows), first + rng.integers(second, size=rows)
        return x[:, None].astype(float), y[:, None].astype(float)


def _numbers(sample: Any) -> np.ndarray:
    found: np.ndarray = np.asarray(sample)[:, 0].astype(np.intp)
    return found
