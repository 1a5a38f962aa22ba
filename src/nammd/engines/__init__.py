"""Who computes the sums of the Gram matrix."""

from nammd.engines.base import Engine, check_kernel, choose_engine, engine_words, kernel_sums, pair_sums
from nammd.engines.cluster.engine import Cluster
from nammd.engines.cuda.engine import Cuda
from nammd.engines.progress import LongComputationWarning, Progress
from nammd.engines.tiles.engine import Tiles

__all__ = [
    "Cluster",
    "Cuda",
    "Engine",
    "LongComputationWarning",
    "Progress",
    "Tiles",
    "check_kernel",
    "choose_engine",
    "engine_words",
    "kernel_sums",
    "pair_sums",
]
