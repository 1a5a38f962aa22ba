"""Engines: they compute the sums of Gram matrices, each in its own place.

================  ==========================================================================
`protocol`        `Engine`: all that an engine can do, with defaults
`sums`            what it returns: row sums, column sums and squares
`choice`          which engine computes by default; `kernel_sums`
`progress`        how far a computation is, and a warning where it will take long
`tiles`           `Tiles`: arrays in memory, in threads, or wherever their library keeps them
`cluster`         `Cluster`: Dask collections
`cuda`            `Cuda`: float32 tensors on an NVIDIA GPU
`on_device`       `OnDevice`: arrays in memory, computed on a device of torch
================  ==========================================================================

Kernels and engines know arrays, and nothing of statistics.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nammd.engines.choice import choose_engine, kernel_sums, workers_read_files
from nammd.engines.progress import LongComputationWarning
from nammd.engines.protocol import Engine, Summed
from nammd.engines.tiles import Tiles

if TYPE_CHECKING:
    from nammd.engines.cluster import Cluster
    from nammd.engines.cuda import Cuda
    from nammd.engines.on_device import OnDevice

__all__ = [
    "Cluster",
    "Cuda",
    "Engine",
    "LongComputationWarning",
    "OnDevice",
    "Summed",
    "Tiles",
    "choose_engine",
    "kernel_sums",
    "workers_read_files",
]

# Most computations need none of these.
_ELSEWHERE = {"Cluster": "cluster", "Cuda": "cuda", "OnDevice": "on_device"}


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'nammd.engines' has no attribute {name!r}")
    return vars(import_module(f"nammd.engines.{_ELSEWHERE[name]}"))[name]
