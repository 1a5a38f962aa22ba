"""Laws under random features: sketches of whole populations, and the NAMMD that features themselves see.

The mean of ``exp(i w'x)`` over a normal law is known, and with it the mean of every random feature and of
every product of two. So a sketch can be that of a law and not of a sample: nothing is left to vary but the
frequencies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nammd.data.arrays import FloatArray
from nammd.datasets.laws.mixtures import Mixture
from nammd.kernels import Gaussian, Laplace, RandomFeatures
from nammd.kernels.operations import scaled_distance
from nammd.sketches.sketch import Sketch

ROWS = 10**9
"""The rows that the sketch of a law claims: so many that nothing is due to rows."""


def sketch_of_normal(mean: ArrayLike, features: RandomFeatures, variance: float = 1.0) -> Sketch:
    """Return the sketch of a normal law with independent columns, as of very many rows.

    Parameters
    ----------
    mean : array of shape (columns,)
        The means of the columns.
    features : RandomFeatures
        The features that are summed.
    variance : float
        The variance of every column.

    Returns
    -------
    Sketch
        As of `ROWS` rows whose sums are exactly the expected ones.

    Examples
    --------
    >>> import nammd
    >>> features = nammd.RandomFeatures(nammd.Gaussian(1.0), 1024, rng=0)
    >>> x, y = sketch_of_normal([0.0], features), sketch_of_normal([1.0], features)
    >>> exact = nammd_of_normals([1.0], nammd.Gaussian(1.0))
    >>> bool(abs(nammd.distance(x, y).value - exact) < 0.01)
    True
    """
    centre = np.asarray(mean, float)
    frequencies = features.frequencies(len(centre))

    def wave(lengths: FloatArray, phases: FloatArray) -> NDArray[np.complex128]:  # the mean of exp(i w'x)
        return np.exp(-variance * lengths / 2 + 1j * phases)

    squares, phases = (frequencies * frequencies).sum(axis=1), frequencies @ centre
    products = frequencies @ frequencies.T
    lengths = squares[:, None] + squares[None, :]
    sums = wave(lengths + 2 * products, phases[:, None] + phases[None, :])
    differences = wave(lengths - 2 * products, phases[:, None] - phases[None, :])
    cosines, sines = differences.real + sums.real, differences.real - sums.real
    mixed = sums.imag - differences.imag  # cosine of the row, sine of the column
    outer = np.block([[cosines, mixed], [mixed.T, sines]]) / 2
    means = wave(squares, phases)
    total = np.concatenate([means.real, means.imag]) * features.scale
    return Sketch(features, ROWS, len(centre), ROWS * total, ROWS * features.scale**2 * outer)


def nammd_under(features: RandomFeatures, p: Mixture, q: Mixture) -> float:
    """Return the NAMMD of two mixtures of normals under features themselves, which are a kernel too.

    Parameters
    ----------
    features : RandomFeatures
        The kernel.
    p, q : Mixture
        The laws.

    Returns
    -------
    float
        The exact distance.
    """
    one, two = _mean_features(p, features), _mean_features(q, features)
    return float((one - two) @ (one - two) / (4 * features.bound - one @ one - two @ two))


def _mean_features(law: Mixture, features: RandomFeatures) -> FloatArray:
    frequencies = features.frequencies(len(law.means[0]))
    waves = np.zeros(len(frequencies), dtype=complex)
    for weight, mean, covariance in zip(law.weights, law.means, law.covariances, strict=True):
        spread = np.einsum("jk,kl,jl->j", frequencies, covariance, frequencies)
        waves += weight * np.exp(1j * frequencies @ np.array(mean) - spread / 2)
    means: FloatArray = np.concatenate([waves.real, waves.imag]) * features.scale
    return means


def nammd_of_normals(shift: ArrayLike, kernel: Gaussian | Laplace, variance: float = 1.0) -> float:
    """Return the NAMMD of N(0, I) and N(shift, variance I) under the exact kernel.

    Parameters
    ----------
    shift : array of shape (columns,)
        The mean of the second law.
    kernel : Gaussian or Laplace
        The kernel.
    variance : float
        The variance of every column of the second law.

    Returns
    -------
    float
        The exact distance.

    Examples
    --------
    >>> import nammd
    >>> round(nammd_of_normals([1.5, 0.0], nammd.Gaussian(2.0)), 4)
    0.0855
    """
    mean_kernel = {"sqeuclidean": _gaussian, "cityblock": _laplace}[scaled_distance(kernel).metric]
    moved = np.asarray(shift, float)
    xx, yy = (mean_kernel(np.zeros_like(moved), 2 * v, kernel.bandwidth) for v in (1.0, variance))
    xy = mean_kernel(moved, 1 + variance, kernel.bandwidth)
    return (xx + yy - 2 * xy) / (4 - xx - yy)


def _gaussian(shift: FloatArray, variance: float, bandwidth: float) -> float:
    """Return the mean kernel value of rows whose difference is normal: a product over columns."""
    scale = bandwidth**2 + variance
    return float(np.prod(bandwidth / np.sqrt(scale) * np.exp(-(shift**2) / (2 * scale))))


def _laplace(shift: FloatArray, variance: float, bandwidth: float) -> float:
    """Return the same for the other kernel, by completing the square on either side of zero."""
    from scipy.special import ndtr

    s, b = np.sqrt(variance), bandwidth
    one = np.exp(-shift / b) * ndtr(shift / s - s / b) + np.exp(shift / b) * ndtr(-shift / s - s / b)
    return float(np.prod(np.exp(variance / (2 * b * b)) * one))
