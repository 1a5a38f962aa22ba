"""Tests that fuse many kernels into one statistic: `NAMMDFuse` and `MMDFuse`.

A statistic is computed for each of many kernels, studentised by a quantity that permutations do not change,
and the soft maximum over the kernels is tested by permutation. The kernels and their scaling are those of
Biggs, Schrab and Gretton, "MMD-FUSE: Learning and combining kernels for two-sample testing without data
splitting" (2023); NAMMDFuse, from the paper on norm-adaptive MMD, has NAMMD in place of MMD².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import Array, FloatArray, is_torch, pooled_sample, rows_at, to_numpy
from nammd.engines import Engine
from nammd.engines.progress import comparing, passes
from nammd.engines.protocol import FamilyForms, FormTask
from nammd.errors.checks import whole_settings
from nammd.kernels import Gaussian, Kernel, Laplace
from nammd.methods.bandwidths import fuse_bandwidths
from nammd.methods.drawing import DrawSigns
from nammd.methods.permutation import tie_of
from nammd.questions.two_sample import TwoSampleResult
from nammd.statistics.permutations import (
    SignedMeans,
    permutation_pvalue,
    random_signs,
    signed_means,
    signs_at_once,
)

_BANDWIDTH_ROWS = 2048
"""The quantiles of the distances are taken over at most so many pooled rows, evenly spaced."""


@dataclass(frozen=True)
class NAMMDFuse:
    """The permutation test of a soft maximum of NAMMD over many kernels.

    Parameters
    ----------
    bandwidths : int
        The number of bandwidths for each of the two kinds of kernels, Laplace and Gaussian. They are
        spread evenly from half the 5 % quantile of the distances between pooled rows to twice the 95 %
        quantile.
    permutations : int
        The number of permutations.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) * [1.0, 1.8]
    >>> nammd.two_sample_test(x, y, method="nammd-fuse", rng=0).rejected
    True
    """

    bandwidths: int = 10
    permutations: int = 2000
    name: ClassVar[str] = "nammd-fuse"

    def __post_init__(self) -> None:
        whole_settings(self, bandwidths=1, permutations=1)

    def test(
        self, x: Array, y: Array, *, alpha: float, rng: np.random.Generator, engine: Engine
    ) -> TwoSampleResult:
        """Test two checked samples."""
        m, n = int(x.shape[0]), int(y.shape[0])
        pooled = pooled_sample(x, y)
        kernels = fuse_kernels(pooled, self.bandwidths)
        counts = signs_at_once(m, n, self.permutations)
        weights = [w for count in counts for w in engine.family_work(kernels, pooled, count)]
        scores = []
        with passes(*weights, what=comparing(m, n)):
            for position, count in enumerate(counts):
                signs = random_signs(m, n, count, rng)
                if position == 0:
                    signs[:m, 0], signs[m:, 0] = 1.0, -1.0
                scores.append(self.scores(pooled, kernels, signs, m, engine))
        return self._result(np.concatenate(scores, axis=1), kernels, (x, y), alpha, engine)

    def plan(self, x: Array, y: Array, draw: DrawSigns) -> FormTask:
        """Return what an engine must compute for two checked samples; one plan serves both fused tests."""
        pooled = pooled_sample(x, y)
        m, n = int(x.shape[0]), int(y.shape[0])
        signs = draw.permutations(m, n, self.permutations + 1)
        return FormTask(fuse_kernels(pooled, self.bandwidths), (pooled,), signs)

    def plans_as(self) -> tuple[object, ...]:
        """Return what a plan depends on."""
        return "fuse", self.bandwidths, self.permutations

    def conclude(
        self, task: FormTask, sums: FamilyForms, x: Array, y: Array, alpha: float, engine: Engine
    ) -> TwoSampleResult:
        """Return the result from what an engine computed for a plan."""
        scores = self._scores(sums, task.vectors, int(x.shape[0]))
        return self._result(scores, list(task.kernels), (x, y), alpha, engine)

    def _result(
        self,
        scores: FloatArray,
        kernels: list[Kernel],
        samples: tuple[Array, Array],
        alpha: float,
        engine: Engine,
    ) -> TwoSampleResult:
        """Return the result, the first column being that of the data as they are."""
        x, y = samples
        statistics = soft_maximum(scores)
        observed, null = float(statistics[0]), statistics[1:]
        pvalue = permutation_pvalue(null, observed, tie_of(x, y, null, engine))
        rows = int(x.shape[0]), int(y.shape[0])
        details = {"kernels": [repr(k) for k in kernels], "scores": scores[:, 0].tolist()}
        return TwoSampleResult.by_permutations(
            self, observed, null, pvalue, alpha, rows, engine.described(x), details=details
        )

    def scores(
        self, pooled: Array, kernels: list[Kernel], signs: NDArray[Any], m: int, engine: Engine
    ) -> FloatArray:
        """Return the scaled statistic of every kernel for every column of signs."""
        return self._scores(engine.family_forms(kernels, pooled, signs), signs, m)

    def _scores(self, sums: FamilyForms, signs: Any, m: int) -> FloatArray:
        n = int(signs.shape[0]) - m
        total = sums.rows.sum(axis=1, keepdims=True)
        differences = 0.0 if m == n else sums.rows @ (to_numpy(signs) if is_torch(signs) else signs)
        statistic = self._statistic(signed_means(sums.forms, total, differences, (m, n)))
        # The sum over the pooled sample does not change when rows are relabelled. The paper's own scale,
        # over pairs within the samples only, would, and the test would not be exact.
        pairs = min(m, n) * (min(m, n) - 1)
        scaled: FloatArray = pairs * np.sqrt(pairs / sums.squares)[:, None] * statistic
        return scaled

    def _statistic(self, means: SignedMeans) -> FloatArray:
        """Return NAMMD."""
        return means.nammd()


@dataclass(frozen=True)
class MMDFuse(NAMMDFuse):
    """The permutation test of a soft maximum of MMD² over many kernels; see `NAMMDFuse`."""

    name: ClassVar[str] = "mmd-fuse"

    def _statistic(self, means: SignedMeans) -> FloatArray:
        """Return MMD²."""
        return means.mmd2


def soft_maximum(scores: FloatArray) -> FloatArray:
    """Return the logarithm of the mean exponential over the kernels."""
    largest = scores.max(axis=0)
    result: FloatArray = largest + np.log(np.exp(scores - largest).mean(axis=0))
    return result


def fuse_kernels(pooled: Array, bandwidths: int) -> list[Kernel]:
    """Return the collection of kernels for a pooled sample, whatever the labels of its rows.

    The published Laplace kernel is ``exp(-sqrt(2) |x - y|_1 / b)``, which is `Laplace` of b / sqrt(2).
    """
    step = -(-pooled.shape[0] // _BANDWIDTH_ROWS)
    if is_torch(pooled):  # on a device, where distances are quick
        rows = pooled[::step]
    else:
        rows = rows_at([pooled], [np.arange(0, int(pooled.shape[0]), step)])
    laplace = [Laplace(b / np.sqrt(2)) for b in fuse_bandwidths(rows, "cityblock", bandwidths)]
    gaussian = [Gaussian(b) for b in fuse_bandwidths(rows, "euclidean", bandwidths)]
    return [*laplace, *gaussian]
