"""What is known of a pair of samples from the sums of their rows: `RowEvidence`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from nammd.data.arrays import FloatArray, to_numpy
from nammd.engines.blas import single_threaded_blas
from nammd.engines.sums import KernelSums, WithinSums
from nammd.errors.advice import Caution
from nammd.evidence.cautions import (
    copied_rows,
    few_rows,
    group_like,
    rows_in_common,
    same_rows,
    unread,
)
from nammd.spaces import Sample
from nammd.statistics.evidence import Terms
from nammd.statistics.moments import CrossPairs, Moments
from nammd.statistics.skewness import Skewness, largest_eigenvalue
from nammd.statistics.standing import row_terms


@dataclass(frozen=True, eq=False)
class RowEvidence:
    """Sums of kernel values over the rows of two samples.

    Attributes
    ----------
    x, y : Sample
        The samples.
    sums : KernelSums
        The sums.
    cross : {"full", "off-diagonal"}
        Which pairs of a row of x and a row of y count.
    computed_by : str
        Which engine computed them.
    own : tuple of two OwnGram
        The Gram matrices within each sample, which other pairs with the same sample use too.
    """

    x: Sample
    y: Sample
    sums: KernelSums = field(repr=False)
    cross: CrossPairs
    computed_by: str
    own: tuple[OwnGram, OwnGram] = field(repr=False)
    spread: None = field(default=None, init=False, repr=False)
    approximation: str = field(default="", init=False, repr=False)

    @cached_property
    def moments(self) -> Moments:
        """The first and second moments."""
        return Moments.of(self.sums, self.cross)

    @cached_property
    def higher_order(self) -> Skewness:
        """What is of higher order; the kernel is evaluated, on some rows, when it is asked for."""
        chosen = self.x.representatives[0], self.y.representatives[0]
        return Skewness.of(self.sums, chosen, self._grams)

    @cached_property
    def _grams(self) -> RowGrams:
        return RowGrams(*self.own)

    @property
    def known_x(self) -> Known:
        """What is within x, for further pairs with it."""
        return Known(self.x, self.sums.x, self.own[0])

    @property
    def alike(self) -> tuple[bool, bool]:
        """Whether all rows of x are equal, and all rows of y."""
        return self.x.constant, self.y.constant

    def terms(self, slope: float, scale: float, normed: bool) -> Terms:
        """Return how the rows take part in a distance of that slope and scale."""
        chosen = self.x.representatives[0], self.y.representatives[0]
        return row_terms(self.sums, chosen, self._grams, (slope, scale, normed))

    @cached_property
    def obstacle(self) -> Caution | None:
        """Why there is nothing to test with: the same rows on both sides, or copies of rows."""
        return same_rows(self.x, self.y) or copied_rows(self.x) or copied_rows(self.y)

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What to know: few rows, rows in common, or nothing to test with."""
        cells = unread(*dict.fromkeys([self.x, self.y]))
        if self.obstacle is not None:
            return (self.obstacle, *cells)
        found = few_rows(self.x.size, self.y.size) + rows_in_common(self.x, self.y)
        return found + cells + group_like(self.x.dataset, self.y.dataset)


class Known(NamedTuple):
    """What is within a sample, for further pairs with it."""

    sample: Sample
    sums: WithinSums
    gram: OwnGram


@dataclass(frozen=True, eq=False)
class OwnGram:
    """The Gram matrix of some rows that stand for a sample, evaluated once, when it is asked for."""

    sample: Sample

    @cached_property
    def values(self) -> FloatArray:
        """The kernel values between the rows."""
        rows = self.sample.representatives[1]
        return to_numpy(self.sample.space.kernel(rows, rows))

    @cached_property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator."""
        with single_threaded_blas:  # many small products: more threads would mostly wait for each other
            return largest_eigenvalue(self.values)


@dataclass(frozen=True, eq=False)
class RowGrams:
    """Gram matrices of some rows of each sample, evaluated once, when they are asked for."""

    own_x: OwnGram
    own_y: OwnGram

    @property
    def x(self) -> FloatArray:
        """The kernel values between rows of x."""
        return self.own_x.values

    @property
    def y(self) -> FloatArray:
        """The kernel values between rows of y."""
        return self.own_y.values

    @cached_property
    def cross(self) -> FloatArray:
        """The kernel values between rows of x and rows of y."""
        x, y = self.own_x.sample, self.own_y.sample
        return to_numpy(x.space.kernel(x.representatives[1], y.representatives[1]))

    @property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators."""
        return self.own_x.eigenvalue, self.own_y.eigenvalue
