"""Kernels by name."""

from __future__ import annotations

from typing import Any

from nammd.errors.checks import choice
from nammd.kernels.gaussian import Gaussian
from nammd.kernels.laplace import Laplace

_NAMED = {"gaussian": Gaussian, "rbf": Gaussian, "laplace": Laplace, "laplacian": Laplace}
"""The two kernels, as they are called here and in scikit-learn."""


def named_kernel(kernel: Any) -> Any:
    """Return the class of kernels that a name stands for, and what is no name as it is.

    >>> named_kernel("rbf")
    <class 'nammd.kernels.gaussian.Gaussian'>
    """
    if not isinstance(kernel, str):
        return kernel
    choice(kernel, "kernel", tuple(_NAMED))
    return _NAMED[kernel]
