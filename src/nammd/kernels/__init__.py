"""What "similar" means: kernels, their combinations and bandwidth rules."""

from nammd.kernels.base import BoundKernel, Kernel, KernelLike, as_kernel
from nammd.kernels.deep import Deep
from nammd.kernels.gaussian import Gaussian, Mahalanobis, SquaredExponential
from nammd.kernels.laplace import Laplace
from nammd.kernels.named import named_kernel
from nammd.kernels.random_features import RandomFeatures

__all__ = [
    "BoundKernel",
    "Deep",
    "Gaussian",
    "Kernel",
    "KernelLike",
    "Laplace",
    "Mahalanobis",
    "RandomFeatures",
    "SquaredExponential",
    "as_kernel",
    "named_kernel",
]
