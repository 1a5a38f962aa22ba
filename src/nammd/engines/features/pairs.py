"""Mean kernel values of a sample and of copies of it, row by row: `feature_pair_means`.

Means over pairs of rows are products of sums of features: one walk is enough, and nothing is kept of rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nammd.data.arrays import Array, FloatArray, namespace, to_numpy
from nammd.engines.features.waves import Waves
from nammd.engines.sums import PairMeans
from nammd.kernels.base import Kernel, Precision

_ROWS = 256
"""Rows at once: those of the sample are held at all scales, while all copies are gone through."""


def feature_pair_means(
    kernels: Sequence[Kernel], x: Array, copies: Sequence[Array], precision: Precision
) -> list[list[PairMeans]]:
    """Return the means of a sample with each of some copies of it, for every kernel.

    Parameters
    ----------
    kernels : sequence of RandomFeatures
        The kernels, that of the largest bandwidth first.
    x : array of shape (m, d)
        The sample.
    copies : sequence of arrays of shape (m, d)
        As many rows each; row i belongs to row i of x.
    precision : {"float32", "float64"}
        Of the features; they are added up in float64.
    """
    waves = Waves.around(kernels, x, precision)
    if waves is None:  # none is made of another: one after the other
        return [feature_pair_means([kernel], x, copies, precision)[0] for kernel in kernels]
    xp, m = namespace(x), int(x.shape[0])
    totals = np.zeros((1 + len(copies), waves.scales, waves.size))
    paired = np.zeros((len(copies), waves.scales))
    rows_at_once = _ROWS if xp is np else m
    for low in range(0, m, rows_at_once):
        rows = slice(low, min(low + rows_at_once, m))
        # Each scale uses up the one before, and all of them are needed for every copy.
        own = [1.0 * each for each in waves.of(x[rows, :])]
        totals[0] += [_summed(each) for each in own]
        for number, copy in enumerate(copies):
            for k, each in enumerate(waves.of(copy[rows, :])):
                totals[1 + number, k] += _summed(each)
                paired[number, k] += float(xp.sum(own[k] * each, dtype=xp.float64))
    totals, paired = totals * waves.scale, paired * waves.scale**2
    bound, pairs = float(kernels[0].bound), m * (m - 1)
    within = (np.einsum("skf,skf->sk", totals, totals) - m * bound) / pairs
    across = (np.einsum("kf,skf->sk", totals[0], totals[1:]) - paired) / pairs
    return [
        [
            PairMeans(float(within[0, k]), float(within[1 + c, k]), float(across[c, k]))
            for c in range(len(copies))
        ]
        for k in range(waves.scales)
    ]


def _summed(waves: Array) -> FloatArray:
    xp = namespace(waves)
    return to_numpy(xp.sum(waves, axis=0, dtype=xp.float64))
