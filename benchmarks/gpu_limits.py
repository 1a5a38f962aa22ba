"""How many exponentials a second a GPU can compute when it does nothing else."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from benchmarks.gpu_timing import seconds


@triton.jit
def _exponentials(out, rounds, BLOCK: tl.constexpr):
    values = tl.arange(0, BLOCK).to(tl.float32) * -1e-3
    for _ in range(rounds):
        values = tl.exp2(values) * -0.5
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), values)


def exponentials_per_second() -> float:
    """Return the rate, from a program that keeps its numbers in registers."""
    programs, block, rounds = 132 * 32, 1024, 2000
    out = torch.empty(programs * block, device="cuda")
    options = {"num_warps": 4, "enable_fp_fusion": True}
    took = seconds(lambda: _exponentials[(programs,)](out, rounds, BLOCK=block, **options))
    return programs * block * rounds / took
