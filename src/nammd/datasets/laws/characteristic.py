"""Laws on the line by their characteristic functions, and mean kernel values by quadrature.

A shift-invariant kernel is the characteristic function of its spectral law, so the mean kernel value of
independent draws x and y is the mean of ``Re(phi_P(w) conj(phi_Q(w)))`` over frequencies w of that law. A
one-dimensional integral therefore serves every law whose characteristic function is known, heavy tails
and counts included. Independent columns multiply.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.kernels import Gaussian, Laplace
from nammd.kernels.operations import scaled_distance

PANELS, ORDER = 100, 20


@dataclass(frozen=True)
class Columns:
    """Independent columns, each of the same law on the line.

    Attributes
    ----------
    phi : callable
        The characteristic function of a column, over an array of frequencies.
    draw : callable
        ``draw(rng, shape)``: independent values.
    columns : int
        How many.
    """

    phi: Callable[[FloatArray], np.ndarray]
    draw: Callable[[np.random.Generator, tuple[int, int]], FloatArray]
    columns: int = 1

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw rows."""
        return self.draw(rng, (size, self.columns))


@cache
def frequencies(kernel: Gaussian | Laplace, panels: int = PANELS) -> tuple[FloatArray, FloatArray]:
    """Return positive frequencies and weights that average over the spectral law of a kernel."""
    points, shares = np.polynomial.legendre.leggauss(ORDER)
    unit = ((np.arange(panels)[:, None] + (points + 1) / 2) / panels).ravel()
    weights = np.tile(shares / (2 * panels), panels)
    if scaled_distance(kernel).metric == "sqeuclidean":
        w = 10 * unit  # a normal law has less than 1e-22 beyond ten deviations
        return w / kernel.bandwidth, 10 * weights * math.sqrt(2 / math.pi) * np.exp(-w * w / 2)
    # The spectral law of exp(-|d|) is Cauchy, and the tangent of a uniform angle is Cauchy.
    return np.tan(math.pi / 2 * unit) / kernel.bandwidth, weights


def inner(p: Columns, q: Columns, kernel: Gaussian | Laplace, panels: int = PANELS) -> float:
    """Return the mean kernel value of a draw from p and a draw from q."""
    w, weights = frequencies(kernel, panels)
    column = float(weights @ np.real(p.phi(w) * np.conj(q.phi(w))))
    return column**p.columns


def nammd_of(p: Columns, q: Columns, kernel: Gaussian | Laplace, panels: int = PANELS) -> float:
    """Return the exact NAMMD of two laws."""
    pp, qq, pq = inner(p, p, kernel, panels), inner(q, q, kernel, panels), inner(p, q, kernel, panels)
    return (pp + qq - 2 * pq) / (4 - pp - qq)


def _moved(phi: Callable[[FloatArray], np.ndarray], shift: float) -> Callable[[FloatArray], np.ndarray]:
    return lambda w: np.exp(1j * w * shift) * phi(w)


def normal(shift: float, deviation: float, columns: int = 1) -> Columns:
    """Return the normal law."""
    return Columns(
        _moved(lambda w: np.exp(-((deviation * w) ** 2) / 2), shift),
        lambda rng, shape: shift + deviation * rng.standard_normal(shape),
        columns,
    )


def uniform(start: float) -> Columns:
    """Return the uniform law on an interval of length 1."""
    return Columns(
        _moved(lambda w: np.sinc(w / (2 * math.pi)), start + 0.5),
        lambda rng, shape: start + rng.random(shape),
    )


def laplace(shift: float, scale: float) -> Columns:
    """Return the Laplace law."""
    return Columns(
        _moved(lambda w: 1 / (1 + (scale * w) ** 2), shift),
        lambda rng, shape: rng.laplace(shift, scale, shape),
    )


def student(shift: float, scale: float) -> Columns:
    """Return Student's law with three degrees of freedom: it has a variance, but no third moment."""
    rate = math.sqrt(3) * scale
    return Columns(
        _moved(lambda w: (1 + rate * w) * np.exp(-rate * w), shift),
        lambda rng, shape: shift + scale * rng.standard_t(3, shape),
    )


def cauchy(shift: float, scale: float) -> Columns:
    """Return the Cauchy law, which has no mean."""
    return Columns(
        _moved(lambda w: np.exp(-scale * w), shift),
        lambda rng, shape: shift + scale * rng.standard_cauchy(shape),
    )


def exponential(scale: float) -> Columns:
    """Return the exponential law."""
    return Columns(lambda w: 1 / (1 - 1j * scale * w), lambda rng, shape: rng.exponential(scale, shape))


def poisson(rate: float) -> Columns:
    """Return the Poisson law of counts."""
    return Columns(
        lambda w: np.exp(rate * np.expm1(1j * w)), lambda rng, shape: rng.poisson(rate, shape).astype(float)
    )
