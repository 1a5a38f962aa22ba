"""Which kernel large data are compared by: `kernel_for_rows`.

Kernel values of all pairs of rows take time in proportion to the square of their number. Beyond `MOST_ROWS`
rows the kernel of a question, or of a tolerance, is one of features instead (`RandomFeatures`), with
orthogonal frequencies: bounded, shift invariant and positive definite like the Gaussian that it stands for,
so that every formula holds for it as it stands. It is a rule of sizes alone: results do not depend on the
machine.
"""

from __future__ import annotations

import math

from nammd.kernels.base import Kernel
from nammd.kernels.operations import features_of, spectrum
from nammd.kernels.orthogonal import number_of_features
from nammd.kernels.random_features import RandomFeatures

EXACT_VALUES = 4_000_000_000
"""So many kernel values are computed one by one."""

MOST_ROWS = math.isqrt(2 * EXACT_VALUES)
"""Rows of two datasets together that have so many pairs."""

FEATURES = 1024
"""At least so many features stand for a kernel; a few more where that makes whole blocks of frequencies."""


def kernel_for_rows(kernel: Kernel, columns: int, rows: int) -> Kernel:
    """Return the kernel for so many rows of two datasets: itself, or one of features.

    A kernel that has no features, such as one of a network, stays what it is.

    Parameters
    ----------
    kernel : Kernel
        The kernel that was chosen.
    columns : int
        The number of columns of the points.
    rows : int
        The rows of both datasets together.

    Examples
    --------
    >>> import nammd
    >>> kernel_for_rows(nammd.Gaussian(1.5), 20, 80_000)
    Gaussian(bandwidth=1.5)
    >>> kernel_for_rows(nammd.Gaussian(1.5), 20, 100_000)
    RandomFeatures(Gaussian(bandwidth=1.5), 1040, rng=0, orthogonal=True)
    """
    if rows <= MOST_ROWS or features_of(kernel):
        return kernel
    try:
        spectrum(kernel)
    except TypeError:
        return kernel
    return RandomFeatures(kernel, number_of_features(columns, FEATURES), orthogonal=True)
