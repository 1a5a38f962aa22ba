"""What is known of a pair of samples from the sums of their rows: `RowEvidence`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from nammd.data.advice import Caution
from nammd.data.arrays import Array, FloatArray, to_numpy
from nammd.engines.blas import single_threaded_blas
from nammd.engines.sums import KernelSums
from nammd.evidence.cautions import few_rows
from nammd.kernels import Kernel
from nammd.spaces import Sample
from nammd.statistics.difference import RowMeans
from nammd.statistics.moments import CrossPairs, Moments
from nammd.statistics.skewness import Skewness, largest_eigenvalue


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
    """

    x: Sample
    y: Sample
    sums: KernelSums = field(repr=False)
    cross: CrossPairs
    computed_by: str
    spread: None = field(default=None, init=False, repr=False)
    approximation: str = field(default="", init=False, repr=False)

    @cached_property
    def moments(self) -> Moments:
        """The first and second moments."""
        return Moments.of(self.sums, self.cross)

    @cached_property
    def higher_order(self) -> Skewness:
        """What is of higher order; the kernel is evaluated, on some rows, when it is asked for."""
        (chosen_x, rows_x), (chosen_y, rows_y) = self.x.representatives, self.y.representatives
        return Skewness.of(self.sums, (chosen_x, chosen_y), RowGrams(self.x.space.kernel, rows_x, rows_y))

    @property
    def constant(self) -> bool:
        """Whether each sample is one row repeated."""
        return self.x.constant and self.y.constant

    @property
    def cross_means(self) -> RowMeans:
        """The mean kernel value of every row of x with the rows of y."""
        return RowMeans(self.sums.xy_rows / self.sums.n)

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What to know: few rows."""
        return few_rows(self.x.size, self.y.size)


@dataclass(frozen=True, eq=False)
class RowGrams:
    """Gram matrices of some rows of each sample, evaluated once, when they are asked for."""

    kernel: Kernel
    rows_x: Array = field(repr=False)
    rows_y: Array = field(repr=False)

    @cached_property
    def x(self) -> FloatArray:
        """The kernel values between rows of x."""
        return to_numpy(self.kernel(self.rows_x, self.rows_x))

    @cached_property
    def y(self) -> FloatArray:
        """The kernel values between rows of y."""
        return to_numpy(self.kernel(self.rows_y, self.rows_y))

    @property
    def cross(self) -> FloatArray:
        """The kernel values between rows of x and rows of y."""
        return to_numpy(self.kernel(self.rows_x, self.rows_y))

    @cached_property
    def eigenvalues(self) -> tuple[float, float]:
        """The largest eigenvalues of the two covariance operators."""
        with single_threaded_blas:  # many small products: more threads would mostly wait for each other
            return largest_eigenvalue(self.x), largest_eigenvalue(self.y)
