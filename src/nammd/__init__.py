"""Tell whether two datasets are close enough, with statistical significance.

>>> import numpy as np
>>> import nammd
>>> rng = np.random.default_rng(0)
>>> x, y = rng.normal(size=(500, 2)), rng.normal(loc=0.1, size=(500, 2))
>>> nammd.closeness_test(x, y, epsilon=0.02, alternative="less").rejected
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nammd import datasets as datasets
    from nammd import paper as paper
    from nammd import selection as selection
    from nammd import tables as tables
    from nammd import testing as testing
    from nammd.data.blocks_in_time import TimeBlocks
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
    from nammd.errors.seal_key import seal_key
    from nammd.kernels import Deep, Gaussian, Kernel, Laplace, Mahalanobis, RandomFeatures
    from nammd.monitor import BatchVerdict, Monitor
    from nammd.questions.closeness import ClosenessResult, closeness_test
    from nammd.questions.comparison import PairComparison, compare_pairs
    from nammd.questions.distance import Estimate, distance
    from nammd.questions.near_copies import NearCopies, near_copies
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

__version__ = "0.2.0"

# Where each name lives. It is imported when it is first asked for, so that importing nammd takes no time, and
# commands load what they use. Type checkers read the same from the imports above; a test compares them.
_HOMES = {
    "BatchVerdict": "nammd.monitor",
    "Caution": "nammd.results",
    "ClosenessResult": "nammd.questions.closeness",
    "Cluster": "nammd.engines",
    "CrossSums": "nammd.engines.sums",
    "Cuda": "nammd.engines",
    "Decision": "nammd.tolerances.decision",
    "Deep": "nammd.kernels",
    "Engine": "nammd.engines",
    "Estimate": "nammd.questions.distance",
    "Gate": "nammd.tolerances.gate",
    "Gaussian": "nammd.kernels",
    "Groups": "nammd.data.group_labels",
    "Kernel": "nammd.kernels",
    "KernelSums": "nammd.engines.sums",
    "Laplace": "nammd.kernels",
    "LongComputationWarning": "nammd.engines",
    "Mahalanobis": "nammd.kernels",
    "Monitor": "nammd.monitor",
    "NearCopies": "nammd.questions.near_copies",
    "OnDevice": "nammd.engines",
    "PairComparison": "nammd.questions.comparison",
    "Plan": "nammd.questions.planning",
    "RandomFeatures": "nammd.kernels",
    "Ranking": "nammd.questions.ranking",
    "Sketch": "nammd.sketches",
    "Space": "nammd.spaces",
    "Tiles": "nammd.engines",
    "TimeBlocks": "nammd.data.blocks_in_time",
    "Tolerance": "nammd.tolerances.tolerance",
    "TwoSampleResult": "nammd.questions.two_sample",
    "Verdict": "nammd.tolerances.verdict",
    "Verdicts": "nammd.tolerances.verdicts",
    "WithinSums": "nammd.engines.sums",
    "closeness_test": "nammd.questions.closeness",
    "compare_pairs": "nammd.questions.comparison",
    "distance": "nammd.questions.distance",
    "kernel_sums": "nammd.engines",
    "near_copies": "nammd.questions.near_copies",
    "plan": "nammd.questions.planning",
    "rank": "nammd.questions.ranking",
    "seal_key": "nammd.errors.seal_key",
    "two_sample_test": "nammd.questions.two_sample",
}

__all__ = [
    "BatchVerdict",
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
    "NearCopies",
    "OnDevice",
    "PairComparison",
    "Plan",
    "RandomFeatures",
    "Ranking",
    "Sketch",
    "Space",
    "Tiles",
    "TimeBlocks",
    "Tolerance",
    "TwoSampleResult",
    "Verdict",
    "Verdicts",
    "WithinSums",
    "closeness_test",
    "compare_pairs",
    "distance",
    "kernel_sums",
    "near_copies",
    "plan",
    "rank",
    "seal_key",
    "two_sample_test",
]


# Modules that need not be imported by themselves: `nammd.paper.closeness_test` works after `import nammd`.
_MODULES = ("datasets", "paper", "selection", "tables", "testing")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"nammd.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'nammd' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
