"""Kernels that differ in their bandwidth only: the distance of two rows serves them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nammd.data.arrays import Array, FloatArray
from nammd.kernels.base import Kernel
from nammd.kernels.gaussian import Gaussian, Mahalanobis
from nammd.kernels.laplace import Laplace
from nammd.kernels.operations import row_by_row, scaled_distance


@dataclass(frozen=True, eq=False)
class BoundFamily:
    """Kernels of one kind bound to two samples.

    Attributes
    ----------
    distances : callable
        ``distances(rows, columns)`` returns, in float64, the distances between two slices of the samples:
        squared Euclidean ones for Gaussian kernels, city-block ones for Laplace kernels.
    factors : tuple of float
        The kernel values are ``exp(factor * distance)``, with a factor for each kernel.
    """

    distances: Callable[[slice, slice], FloatArray]
    factors: tuple[float, ...]

    def fill(self, k: int, distances: Array, out: Array) -> Array:
        """Write the values of the k-th kernel, for given distances, and return them."""
        np.multiply(distances, distances.dtype.type(self.factors[k]), out=out)
        return np.exp(out, out=out)


def of_distances(kernel: Kernel) -> bool:
    """Tell whether a kernel is the exponential of a distance, and may be one of a family."""
    return isinstance(kernel, (Gaussian, Laplace))


def families(kernels: Sequence[Kernel]) -> list[list[int]]:
    """Group kernels that share a distance; return their positions."""
    groups: dict[str, list[int]] = {}
    for position, kernel in enumerate(kernels):
        groups.setdefault(scaled_distance(kernel).metric, []).append(position)
    return list(groups.values())


def bind_family(kernels: Sequence[Kernel], x: FloatArray, y: FloatArray) -> BoundFamily:
    """Bind kernels of one kind to two NumPy samples."""
    from scipy.spatial.distance import cdist

    u, v = x.astype(np.float64, copy=False), y.astype(np.float64, copy=False)
    each = [scaled_distance(kernel) for kernel in kernels]
    metric = each[0].metric
    return BoundFamily(
        lambda rows, columns: cdist(u[rows], v[columns], metric), tuple(one.factor for one in each)
    )


def paired_values(kernels: Sequence[Kernel], x: Array, y: Array) -> FloatArray:
    """Return k(x_i, y_i) for every kernel and every i."""
    return np.array([row_by_row(kernel, x, y) for kernel in kernels])


def powers_of(kernels: Sequence[Kernel]) -> tuple[int, ...] | None:
    """Return which powers of two of the first one's values the others have, in ascending order; else None.

    >>> from nammd import Gaussian, Laplace
    >>> powers_of([Gaussian(2.0), Gaussian(1.0), Gaussian(0.5)]), powers_of([Laplace(2.0), Laplace(1.0)])
    ((1, 4, 16), (1, 2))
    >>> powers_of([Gaussian(2.0), Gaussian(1.9)]) is None
    True
    """
    first, powers = kernels[0], [1]
    for kernel in kernels[1:]:
        sharpness = _sharpness(kernel, first)
        power = round(sharpness) if 1 < sharpness < 2**20 else 0
        if power <= powers[-1] or power & (power - 1) or abs(sharpness / power - 1) > 1e-12:
            return None
        powers.append(power)
    return tuple(powers)


def _sharpness(kernel: Kernel, than: Kernel) -> float:
    """Return of which power of another kernel a kernel has the values; zero where of none."""
    if type(kernel) is not type(than) or not isinstance(kernel, (Gaussian, Laplace, Mahalanobis)):
        return 0.0
    if isinstance(kernel, Mahalanobis) and not np.array_equal(kernel.matrix, than.matrix):  # type: ignore[attr-defined]
        return 0.0
    ratio: float = than.bandwidth / kernel.bandwidth  # type: ignore[attr-defined]
    return ratio if isinstance(kernel, Laplace) else ratio**2
