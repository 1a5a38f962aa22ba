"""ACTT: an aggregated test of samples that were compressed first, through the package goodpoints.

Rows are cut into bins, every bin is thinned to a few rows that represent it (kernel thinning), and whole
bins are permuted. That costs little more than a pass over the data, whatever its size.
"""

from __future__ import annotations

import contextlib
import io
import math
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from nammd.data.arrays import Array, FloatArray, to_numpy
from nammd.engines import Engine
from nammd.errors.checks import whole_settings
from nammd.kernels.bandwidth import drawn_rows
from nammd.methods.agg import aggregate_tests
from nammd.methods.bandwidths import fuse_bandwidths
from nammd.questions.two_sample import TwoSampleResult


@dataclass(frozen=True)
class ACTT:
    """Aggregated Compress Then Test of Domingo-Enrich, Dwivedi and Mackey.

    Gaussian kernels ``exp(-|x - y|² / b²)`` of several bandwidths, tested together as in `MMDAgg`, on samples
    compressed by the authors' package goodpoints (``pip install "nammd[baselines]"``).

    Parameters
    ----------
    bandwidths : int
        How many bandwidths; evenly spaced from half the 5 % to twice the 95 % quantile of the pooled
        distances. The weights are uniform.
    compression : int
        The compression level g: a bin of s rows is thinned to at most ``2**g * sqrt(s)`` rows.
    bins : int
        The number of bins per sample for samples of equal size; half their number in both samples.
    permutations : int
        Permutations of the bins for the quantiles.
    level_permutations : int
        Further ones for the level.
    bisections : int
        Steps of the search for the level.

    Notes
    -----
    All bins have the same number of rows: as many rows at the end as do not fill a bin are left out, and
    of a bin only the largest power of 4 of its rows can survive. `details` tells the `bin_rows`, the
    `bins` of each sample, the `rows_used` and the `rows_kept` of them after compression. Sizes of
    ``bins * 4**k`` rows lose nothing. The rows are put into random order first, since bins are runs of
    rows: sorted data would break the test.

    The statistic is MMD² with the diagonal (the V-statistic), times the squared share of the rows of a bin
    that survive. The `pvalue`, `statistic`, `threshold` and `null` are to be read as those of `MMDAgg`; as
    there, the p-value must not be held against another level than the alpha asked for.

    References
    ----------
    .. [1] C. Domingo-Enrich, R. Dwivedi, L. Mackey, "Compress Then Test: Powerful Kernel Testing in
       Near-linear Time", AISTATS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.methods.actt import ACTT
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(256, 2)), rng.normal(scale=1.5, size=(256, 2))
    >>> result = nammd.two_sample_test(x, y, method=ACTT(), rng=1)  # doctest: +SKIP
    >>> result.rejected, result.details["bins"], result.details["bin_rows"]  # doctest: +SKIP
    (True, (16, 16), 16)
    """

    bandwidths: int = 10
    compression: int = 4
    bins: int = 16
    permutations: int = 299
    level_permutations: int = 200
    bisections: int = 20
    name: ClassVar[str] = "actt"

    def __post_init__(self) -> None:
        least = {"bandwidths": 1, "compression": 0, "bins": 1, "permutations": 1}
        whole_settings(self, **least, level_permutations=1, bisections=1)

    def test(
        self, x: Array, y: Array, *, alpha: float, rng: np.random.Generator, engine: Engine
    ) -> TwoSampleResult:
        """Test two checked samples; it computes with goodpoints whatever the engine."""
        x, y = (rng.permutation(to_numpy(sample)) for sample in (x, y))
        # Of large samples 2000 rows are taken at random: all distances would cost more than the test.
        bandwidths = fuse_bandwidths(drawn_rows([x, y], []), "euclidean", self.bandwidths)
        seeds = [int(seed) for seed in rng.integers(2**32, size=2)]
        statistics, level_statistics = self.compressed_statistics(x, y, bandwidths, *seeds)
        weights = np.full(len(bandwidths), 1 / len(bandwidths))
        aggregate = aggregate_tests(statistics, level_statistics, weights, alpha, self.bisections)
        return aggregate.result(
            statistics[aggregate.best, 1:],
            method=self.name,
            m=len(x),
            n=len(y),
            bandwidths=tuple(map(float, bandwidths)),
            **self.layout(len(x), len(y)),
        )

    def compressed_statistics(
        self, x: FloatArray, y: FloatArray, bandwidths: FloatArray, null_seed: int, statistic_seed: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the statistics for the quantiles, the data's first, and those for the level.

        Rows are kernels. The decision is not taken from goodpoints: it knows no ties, which are frequent
        where there are few bins, and it keeps no p-values.
        """
        # goodpoints reports every step of its search on the standard output.
        with contextlib.redirect_stdout(io.StringIO()):
            found = _goodpoints().actt(
                np.ascontiguousarray(x),
                np.ascontiguousarray(y),
                self.compression,
                B=self.permutations,
                B_2=self.level_permutations,
                B_3=1,
                s=self.bins,
                lam=bandwidths,
                weights=np.full(len(bandwidths), 1 / len(bandwidths)),
                null_seed=null_seed,
                statistic_seed=statistic_seed,
            )
        by_kernel = [
            _data_first(np.asarray(found.estimator_values[b]), float(found.statistic_values[b]))
            for b in bandwidths
        ]
        return np.array(by_kernel), np.array([found.estimator_values_2[b] for b in bandwidths])

    def layout(self, m: int, n: int) -> dict[str, Any]:
        """Return how samples of m and n rows are cut into bins, and how many rows survive."""
        rows = min((m + n) // min(2 * self.bins, m + n), m, n)
        bins = (m // rows, n // rows)
        power = 4 ** ((rows.bit_length() - 1) // 2)  # the largest power of 4 up to the rows of a bin
        kept = min(power, 2**self.compression * math.isqrt(power))
        return {
            "bin_rows": rows,
            "bins": bins,
            "rows_used": (bins[0] * rows, bins[1] * rows),
            "rows_kept": (bins[0] * kept, bins[1] * kept),
        }


def _data_first(ordered: FloatArray, observed: float) -> FloatArray:
    """Move the statistic of the data to the front of the sorted statistics it is among."""
    return np.concatenate([[observed], np.delete(ordered, np.searchsorted(ordered, observed))])


def _goodpoints() -> Any:
    try:  # a package without types, and not always there
        return import_module("goodpoints.ctt")
    except ImportError as error:
        raise ImportError(
            'the method "actt" needs the package goodpoints: pip install "nammd[baselines]"'
        ) from error
