"""Sketches of whole populations: what is left of the error is that of the frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

import nammd
from tests.laws import Mixture

ROWS = 10**9
"""So many that nothing is due to rows."""


def sketch_of_normal(mean: Any, features: nammd.RandomFeatures, variance: float = 1.0) -> nammd.Sketch:
    """Return the sketch of a normal law with independent columns, as of very many rows."""
    frequencies = features.frequencies(len(mean))

    def wave(lengths: Any, phases: Any) -> Any:  # the mean of exp(i w'x)
        return np.exp(-variance * lengths / 2 + 1j * phases)

    squares, phases = (frequencies * frequencies).sum(axis=1), frequencies @ np.asarray(mean)
    products = frequencies @ frequencies.T
    lengths = squares[:, None] + squares[None, :]
    sums = wave(lengths + 2 * products, phases[:, None] + phases[None, :])
    differences = wave(lengths - 2 * products, phases[:, None] - phases[None, :])
    cosines, sines = differences.real + sums.real, differences.real - sums.real
    mixed = sums.imag - differences.imag  # cosine of the row, sine of the column
    outer = np.block([[cosines, mixed], [mixed.T, sines]]) / 2
    means = wave(squares, phases)
    total = np.concatenate([means.real, means.imag]) * features.scale
    return nammd.Sketch(features, ROWS, len(mean), ROWS * total, ROWS * features.scale**2 * outer)


def nammd_under(features: nammd.RandomFeatures, p: Mixture, q: Mixture) -> float:
    """Return the NAMMD of two mixtures of normals under features themselves."""
    one, two = _mean_features(p, features), _mean_features(q, features)
    return float((one - two) @ (one - two) / (4 * features.bound - one @ one - two @ two))


def _mean_features(law: Mixture, features: nammd.RandomFeatures) -> Any:
    frequencies = features.frequencies(len(law.means[0]))
    waves: Any = 0
    for weight, mean, covariance in zip(law.weights, law.means, law.covariances, strict=True):
        spread = np.einsum("jk,kl,jl->j", frequencies, covariance, frequencies)
        waves = waves + weight * np.exp(1j * frequencies @ np.array(mean) - spread / 2)
    return np.concatenate([waves.real, waves.imag]) * features.scale


def nammd_of_normals(shift: Any, kernel: nammd.Gaussian | nammd.Laplace, variance: float = 1.0) -> float:
    """Return the NAMMD of N(0, I) and N(shift, variance I) under the exact kernel."""
    mean_kernel = _laplace if isinstance(kernel, nammd.Laplace) else _gaussian
    centre, shift = np.zeros(len(shift)), np.asarray(shift, float)
    xx, yy = (mean_kernel(centre, 2 * v, kernel.bandwidth) for v in (1.0, variance))
    xy = mean_kernel(shift, 1 + variance, kernel.bandwidth)
    return (xx + yy - 2 * xy) / (4 - xx - yy)


def _gaussian(shift: Any, variance: float, bandwidth: float) -> float:
    scale = bandwidth**2 + variance
    return float(np.prod(bandwidth / np.sqrt(scale) * np.exp(-(shift**2) / (2 * scale))))


def _laplace(shift: Any, variance: float, bandwidth: float) -> float:
    s, b = np.sqrt(variance), bandwidth
    one = np.exp(-shift / b) * ndtr(shift / s - s / b) + np.exp(shift / b) * ndtr(-shift / s - s / b)
    return float(np.prod(np.exp(variance / (2 * b * b)) * one))
