"""The level of closeness tests whose bandwidth is the median distance of the tested rows themselves.

Run ``python -m benchmarks.median_level`` to measure again; it writes
``benchmarks/results/median_level.json``. The margin is the exact NAMMD of the two laws under the kernel that
the sample chose, so every test is at its boundary.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from tests import laws

import nammd
from nammd.questions.closeness import closeness_of

OUTPUT = Path(__file__).parent / "results" / "median_level.json"
PAIRS = (
    ("shifted normal", 0.05),
    ("scaled normal", 0.1),
    ("concentrated normal", 0.2),
    ("contaminated", 0.3),
)
REPETITIONS = 1000


def main() -> None:
    """Measure everything and write the file."""
    rows = [_one(family, value, size) for family, value in PAIRS for size in (50, 200)]
    OUTPUT.write_text(
        json.dumps({"alpha": 0.05, "repetitions": REPETITIONS, "settings": rows}, indent=1) + "\n",
        encoding="utf-8",
    )


def _one(family: str, value: float, size: int) -> dict[str, Any]:
    p, q = laws.pair_at(family, value)
    rng = np.random.default_rng([size, 7])
    rejected = []
    for _ in range(REPETITIONS):
        x, y = p.sample(rng, size), q.sample(rng, size)
        kernel = nammd.Gaussian.median(x, y)
        margin = laws.nammd_of(p, q, kernel.bandwidth)
        estimate = nammd.distance(x, y, kernel=kernel)
        rejected.append(
            [
                closeness_of(estimate, margin, "greater", 0.05, "corrected").rejected,
                closeness_of(estimate, margin, "less", 0.05, "corrected").rejected,
            ]
        )
    far, close = np.mean(rejected, axis=0).tolist()
    row = {"laws": family, "rows": size, "too far": far, "close": close}
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
