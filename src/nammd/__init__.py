"""Tell whether two datasets are close enough, with statistical significance.

>>> import numpy as np
>>> import nammd
>>> rng = np.random.default_rng(0)
>>> x, y = rng.normal(size=(500, 2)), rng.normal(loc=0.1, size=(500, 2))
>>> nammd.closeness_test(x, y, epsilon=0.02, alternative="less").rejected
True
"""

from nammd.closeness import ClosenessResult, closeness_test
from nammd.comparison import PairComparison, compare_pairs
from nammd.engines import Engine, Tiles, kernel_sums
from nammd.estimate import Estimate, distance
from nammd.kernels import Gaussian, Kernel, Laplace, Mahalanobis
from nammd.results import Caution
from nammd.sums import CrossSums, KernelSums, WithinSums
from nammd.two_sample import TwoSampleResult, two_sample_test

__version__ = "0.1.0"

__all__ = [
    "Caution",
    "ClosenessResult",
    "CrossSums",
    "Engine",
    "Estimate",
    "Gaussian",
    "Kernel",
    "KernelSums",
    "Laplace",
    "Mahalanobis",
    "PairComparison",
    "Tiles",
    "TwoSampleResult",
    "WithinSums",
    "closeness_test",
    "compare_pairs",
    "distance",
    "kernel_sums",
    "two_sample_test",
]
