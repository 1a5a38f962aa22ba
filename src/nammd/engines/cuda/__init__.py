"""Programs that run on an NVIDIA GPU: the engine for torch tensors there."""

from nammd.engines.cuda.engine import Cuda

__all__ = ["Cuda"]
