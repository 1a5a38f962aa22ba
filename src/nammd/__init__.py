"""Tell whether two datasets are close enough, with statistical significance.

>>> import numpy as np
>>> import nammd
>>> rng = np.random.default_rng(0)
>>> x, y = rng.normal(size=(500, 2)), rng.normal(loc=0.1, size=(500, 2))
>>> nammd.closeness_test(x, y, epsilon=0.02, alternative="less").rejected
True
"""

from nammd.data.blocks_in_time import Blocks
from nammd.data.group_labels import Groups
from nammd.engines import (
    Cluster,
    Cuda,
    Engine,
    LongComputationWarning,
    OnDevice,
    Tiles,
    kernel_sums,
)
from nammd.engines.sums import CrossSums, KernelSums, WithinSums
from nammd.kernels import Deep, Gaussian, Kernel, Laplace, Mahalanobis, RandomFeatures
from nammd.monitor import BatchVerdict, Monitor
from nammd.questions.closeness import ClosenessResult, closeness_test
from nammd.questions.comparison import PairComparison, compare_pairs
from nammd.questions.distance import Estimate, distance
from nammd.questions.planning import Plan, plan
from nammd.questions.ranking import Ranking, rank
from nammd.questions.two_sample import TwoSampleResult, two_sample_test
from nammd.results import Caution
from nammd.sketches import Sketch
from nammd.spaces import Space
from nammd.tolerances.decision import Decision
from nammd.tolerances.gate import Gate
from nammd.tolerances.tolerance import Tolerance
from nammd.tolerances.verdict import Verdict
from nammd.tolerances.verdicts import Verdicts

__version__ = "0.1.0"

__all__ = [
    "BatchVerdict",
    "Blocks",
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
    "Groups",
    "Kernel",
    "KernelSums",
    "Laplace",
    "LongComputationWarning",
    "Mahalanobis",
    "Monitor",
    "OnDevice",
    "PairComparison",
    "Plan",
    "RandomFeatures",
    "Ranking",
    "Sketch",
    "Space",
    "Tiles",
    "Tolerance",
    "TwoSampleResult",
    "Verdict",
    "Verdicts",
    "WithinSums",
    "closeness_test",
    "compare_pairs",
    "distance",
    "kernel_sums",
    "plan",
    "rank",
    "two_sample_test",
]
