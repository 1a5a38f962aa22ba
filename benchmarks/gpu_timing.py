"""Samples on a GPU, and how long something takes there."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any


def samples(rows: int, columns: int, shift: float = 0.05) -> tuple[Any, Any]:
    """Return two normal samples on the device."""
    import torch

    generator = torch.Generator(device="cuda").manual_seed(0)
    x, y = torch.randn((2, rows, columns), device="cuda", generator=generator)
    return x, y + shift


def seconds(run: Callable[[], object], rounds: int = 3) -> float:
    """Return the median seconds of some runs after one that compiles."""
    import torch

    run()
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return median(times)
