"""What "similar" means: kernels, their combinations and bandwidth rules."""

from nammd.kernels.base import BoundKernel, Kernel, KernelLike, as_kernel
from nammd.kernels.deep import Deep
from nammd.kernels.gaussian import Gaussian, Mahalanobis, SquaredExponential
from nammd.kernels.laplace import Laplace

__all__ = [
    "BoundKernel",
    "Deep",
    "Gaussian",
    "Kernel",
    "KernelLike",
    "Laplace",
    "Mahalanobis",
    "SquaredExponential",
    "as_kernel",
]
