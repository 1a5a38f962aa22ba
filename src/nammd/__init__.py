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
from nammd.engines import Cluster, Cuda, Engine, LongComputationWarning, Tiles, kernel_sums
from nammd.estimate import Estimate, distance
from nammd.gate import Gate
from nammd.kernels import Deep, Gaussian, Kernel, Laplace, Mahalanobis, RandomFeatures
from nammd.planning import Plan, plan
from nammd.ranking import Ranking, rank
from nammd.results import Caution
from nammd.sketches import Sketch
from nammd.sums import CrossSums, KernelSums, WithinSums
from nammd.tolerance import Tolerance
from nammd.two_sample import TwoSampleResult, two_sample_test
from nammd.verdict import Decision, Verdict

__version__ = "0.1.0"

__all__ = [
    "Caution",
    "ClosenessResult",
    "Cluster",
    "CrossSums",
    "Cuda",
    "Decision",
    "Deep",
    "Engine",
    "Estimate",
    "Gate",
    "Gaussian",
    "Kernel",
    "KernelSums",
    "Laplace",
    "LongComputationWarning",
    "Mahalanobis",
    "PairComparison",
    "Plan",
    "RandomFeatures",
    "Ranking",
    "Sketch",
    "Tiles",
    "Tolerance",
    "TwoSampleResult",
    "Verdict",
    "WithinSums",
    "closeness_test",
    "compare_pairs",
    "distance",
    "kernel_sums",
    "plan",
    "rank",
    "two_sample_test",
]
