"""The permutation test with one kernel: `NAMMDPermutation` and `MMDPermutation`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nammd.data.arrays import Array, FloatArray, is_constant, pooled_sample
from nammd.engines import Engine
from nammd.engines.progress import comparing, passes
from nammd.engines.protocol import form_work
from nammd.kernels import Gaussian, Kernel
from nammd.questions.two_sample import TwoSampleResult
from nammd.spaces import Sample
from nammd.statistics.permutations import (
    TIE,
    SignedMeans,
    permutation_pvalue,
    random_signs,
    signed_means,
    signs_at_once,
)


@dataclass(frozen=True)
class NAMMDPermutation:
    """The permutation test of NAMMD with one kernel.

    Parameters
    ----------
    kernel : Kernel, optional
        By default the Gaussian kernel with the median bandwidth of both samples together.
    permutations : int
        The number of permutations.
    """

    kernel: Kernel | None = None
    permutations: int = 999
    name: ClassVar[str] = "nammd"

    def test(
        self, x: Array, y: Array, *, alpha: float, rng: np.random.Generator, engine: Engine
    ) -> TwoSampleResult:
        """Test two checked samples."""
        kernel = Gaussian.median(x, y) if self.kernel is None else self.kernel
        m, n = int(x.shape[0]), int(y.shape[0])
        weights = [form_work(count) for count in signs_at_once(m, n, self.permutations)]
        with passes(*[1.0] * (m != n), *weights, what=comparing(m, n)):
            observed, null = self._statistics(x, y, kernel, engine, rng)
        pvalue = permutation_pvalue(null, observed, tie_of(x, y, null, engine))
        described = engine.described(x, y, kernel=kernel)
        return TwoSampleResult.by_permutations(self, observed, null, pvalue, alpha, (m, n), described, kernel)

    def _statistics(
        self, x: Array, y: Array, kernel: Kernel, engine: Engine, generator: np.random.Generator
    ) -> tuple[float, FloatArray]:
        """Return the statistic of the labels as they are, and of every permutation of them."""
        m, n = int(x.shape[0]), int(y.shape[0])
        pooled = pooled_sample(x, y)
        total, rows, statistics = math.nan, None, []
        if m != n:  # else s'K1 = Sxx - Syy cancels from all that follows
            [within] = engine.sums(kernel, (pooled,))
            rows = within.rows
        for position, count in enumerate(signs_at_once(m, n, self.permutations)):
            signs = random_signs(m, n, count, generator)
            if position == 0:
                # The first column is the data as it is, computed alongside the others, and one more, of
                # ones, gives the total.
                signs[:m, 0], signs[m:, 0] = 1.0, -1.0
                signs = np.column_stack([signs, np.ones(m + n, np.float32)])
            forms = engine.quadratic_forms(kernel, pooled, signs)
            if position == 0:
                total, forms, signs = float(forms[-1]), forms[:-1], signs[:, :-1]
            differences = 0.0 if rows is None else rows @ signs
            statistics.append(self.of_means(signed_means(forms, total, differences, (m, n)), kernel.bound))
        every = np.concatenate(statistics)
        return float(every[0]), every[1:]

    def test_groups(
        self, x: Sample, y: Sample, *, alpha: float, rng: np.random.Generator, engine: Engine
    ) -> TwoSampleResult:
        """Test two samples whose rows belong together: whole groups are relabelled."""
        from nammd.methods.group_permutation import group_test

        return group_test(self, x, y, alpha=alpha, rng=rng, engine=engine)

    def of_means(self, means: SignedMeans, bound: float) -> FloatArray:
        """Return the statistic of every relabelling from its means."""
        return means.nammd(bound)


@dataclass(frozen=True)
class MMDPermutation(NAMMDPermutation):
    """The permutation test of the squared MMD with one kernel; see `NAMMDPermutation`."""

    name: ClassVar[str] = "mmd"

    def of_means(self, means: SignedMeans, bound: float) -> FloatArray:
        """Return MMD² of every relabelling."""
        return means.mmd2


def tie_of(x: Array, y: Array, null: FloatArray, engine: Engine) -> float:
    """Return how far apart two statistics may be and still count as equal."""
    if is_constant(x) and is_constant(y) and is_constant(pooled_sample(x[:1, :], y[:1, :])):
        return math.inf  # nothing to tell apart but rounding
    return TIE[engine.precision_for(x, y)] * float(np.std(null))
