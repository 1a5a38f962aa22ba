"""Two benchmark laws that differ in covariance only: `blob` and `hdgm`."""

from __future__ import annotations

from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.errors.checks import whole

_BLOB_VARIANCE = 0.03
_BLOB_COVARIANCES = (-0.020, -0.022, -0.024, -0.026, 0.0, 0.020, 0.022, 0.024, 0.026)
"""The covariance of the two columns in each cell of Q; zero in all cells of P."""

_HDGM_CENTRES = (0.0, 0.5)
_HDGM_CORRELATIONS = (0.5, -0.5)


def blob(n: int, *, alternative: bool = True, rng: Any = None) -> tuple[FloatArray, FloatArray]:
    """Draw from two mixtures of nine normal laws on a 3 x 3 grid, which differ in correlation only.

    Both put equal weight on the cells {0, 1, 2} x {0, 1, 2} and have variance 0.03 in every
    direction of the axes. In P the two columns are uncorrelated within every cell; in Q their
    covariance is -0.02 to -0.026 in the first four cells, 0 in the middle one and 0.02 to 0.026 in the
    last four. Means and variances agree, so a kernel must look at the scale of a single cell.

    Parameters
    ----------
    n : int
        The number of rows of each sample.
    alternative : bool
        If False, the second sample comes from P too.
    rng : int, numpy.random.Generator or None
        Generator.

    Returns
    -------
    x, y : array of shape (n, 2)
        Independent samples of P and of Q.

    References
    ----------
    .. [1] Liu, Xu, Lu, Zhang, Gretton, Sutherland (2020). Learning deep kernels for non-parametric
       two-sample tests. ICML.

    Examples
    --------
    >>> from nammd.datasets import blob
    >>> x, y = blob(400, rng=0)
    >>> x.shape, y.shape
    ((400, 2), (400, 2))
    """
    rows, generator = whole(n, "n"), np.random.default_rng(rng)
    flat = np.zeros(len(_BLOB_COVARIANCES))
    second = np.array(_BLOB_COVARIANCES) if alternative else flat
    return _blob(rows, flat, generator), _blob(rows, second, generator)


def _blob(n: int, covariances: FloatArray, rng: np.random.Generator) -> FloatArray:
    cell = rng.integers(len(covariances), size=n)
    covariance = covariances[cell]
    noise = rng.normal(size=(n, 2))
    # The Cholesky factor of [[v, c], [c, v]], row by row.
    first = np.sqrt(_BLOB_VARIANCE) * noise[:, 0]
    slope = covariance / _BLOB_VARIANCE
    second = slope * first + np.sqrt(_BLOB_VARIANCE * (1 - slope**2)) * noise[:, 1]
    return np.column_stack([cell // 3 + first, cell % 3 + second])


def hdgm(
    n: int, *, dimension: int = 10, alternative: bool = True, rng: Any = None
) -> tuple[FloatArray, FloatArray]:
    """Draw from two mixtures of two normal laws in many columns, which differ in one correlation.

    The clusters are centred at 0 and at 0.5 in every column, with unit variances. In P the columns
    are independent within a cluster; in Q the first two have correlation 0.5 in the first cluster and
    -0.5 in the second. The more columns, the harder the difference is to see.

    Parameters
    ----------
    n : int
        The number of rows of each sample. Half of them come from each cluster, in random order;
        where n is odd, one more from the first.
    dimension : int
        The number of columns, at least 2.
    alternative : bool
        If False, the second sample comes from P too.
    rng : int, numpy.random.Generator or None
        Generator.

    Returns
    -------
    x, y : array of shape (n, dimension)
        Independent samples of P and of Q.

    References
    ----------
    .. [1] Liu, Xu, Lu, Zhang, Gretton, Sutherland (2020). Learning deep kernels for non-parametric
       two-sample tests. ICML.

    Examples
    --------
    >>> from nammd.datasets import hdgm
    >>> x, y = hdgm(1000, rng=0)
    >>> x.shape, y.shape
    ((1000, 10), (1000, 10))
    """
    rows, columns = whole(n, "n"), whole(dimension, "dimension", 2)
    generator = np.random.default_rng(rng)
    second = _HDGM_CORRELATIONS if alternative else (0.0, 0.0)
    return _hdgm(rows, columns, (0.0, 0.0), generator), _hdgm(rows, columns, second, generator)


def _hdgm(n: int, dimension: int, correlations: tuple[float, float], rng: np.random.Generator) -> FloatArray:
    second = rng.permutation(np.arange(n) >= (n + 1) // 2)  # which rows belong to the second cluster
    sample = rng.normal(size=(n, dimension))
    correlation = np.where(second, correlations[1], correlations[0])
    sample[:, 1] = correlation * sample[:, 0] + np.sqrt(1 - correlation**2) * sample[:, 1]
    sample += np.where(second, _HDGM_CENTRES[1], _HDGM_CENTRES[0])[:, None]
    return sample
