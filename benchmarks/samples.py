"""The data that all measurements share."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Sample = NDArray[np.float32]


def normal_samples(rows: int, columns: int) -> tuple[Sample, Sample]:
    """Return two standard normal samples, drawn as float32 so that nothing larger ever exists."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, columns), dtype=np.float32)
    y = rng.standard_normal((rows, columns), dtype=np.float32)
    return x, y


def typical_bandwidth(columns: int) -> float:
    """Return about the median distance between rows of `normal_samples`."""
    return math.sqrt(2.0 * columns)
