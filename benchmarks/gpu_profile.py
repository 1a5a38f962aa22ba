"""Where whole calls on a GPU spend their time: ``python -m benchmarks.gpu_profile [rows]``."""

from __future__ import annotations

import cProfile
import pstats
import sys
from collections.abc import Callable

import nammd
from benchmarks.gpu_timing import samples, seconds

_COLUMNS = 64
_SHOWN = 25


def profiled(what: str, call: Callable[[], object]) -> None:
    """Print how long a call takes, and in which functions; the GPU is waited for."""
    import torch

    print(f"{what}: {seconds(call):.3f} s", flush=True)
    profile = cProfile.Profile()
    torch.cuda.synchronize()
    profile.enable()
    call()
    torch.cuda.synchronize()
    profile.disable()
    pstats.Stats(profile).strip_dirs().sort_stats("tottime").print_stats(_SHOWN)


def main(rows: int = 50_000) -> None:
    """Profile what a tolerance does: making it, and a check with columns, pairs and scales."""
    x, y = samples(rows, _COLUMNS)
    profiled(f"calibrate, {rows:,} rows, d = {_COLUMNS}", lambda: nammd.Tolerance.from_reference(x))
    tolerance = nammd.Tolerance.from_reference(x)
    profiled(f"check, {rows:,} rows, d = {_COLUMNS}", lambda: tolerance.check(x, y))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
