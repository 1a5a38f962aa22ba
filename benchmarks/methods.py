"""What each two-sample test costs and detects: the figures of the page on how to choose.

Run ``python -m benchmarks.methods`` to measure again; it writes ``benchmarks/results/methods.json``. Each
method meets the same draws, of the sizes at which the published comparisons become interesting.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nammd
from benchmarks.environment import environment
from nammd.datasets import blob
from nammd.methods.deep import MMDDeep
from nammd.selecting.bandwidth import select_bandwidth

OUTPUT = Path(__file__).parent / "results" / "methods.json"


def shift(n: int, *, alternative: bool, rng: int) -> tuple[Any, Any]:
    """Return normal samples of five columns, one of them moved by a sixth of a standard deviation."""
    generator = np.random.default_rng(rng)
    x, y = generator.normal(size=(2, n, 5))
    return x, y + (1 / 6 if alternative else 0.0)


SETTINGS: dict[str, tuple[Callable[..., Any], int]] = {"blob": (blob, 400), "shift": (shift, 200)}


class Selected:
    """NAMMD with a bandwidth chosen on one half of the rows, tested on the other."""

    name = "nammd, selected bandwidth"

    def test(self, x: Any, y: Any, *, alpha: float, rng: np.random.Generator, engine: Any) -> Any:
        """Choose on the first half, test on the second."""
        half = len(x) // 2
        kernel = select_bandwidth(x[:half], y[:half]).kernel
        return nammd.two_sample_test(x[half:], y[half:], kernel=kernel, alpha=alpha, rng=rng, engine=engine)


METHODS: list[Any] = [
    "nammd", Selected(), "nammd-fuse", "mmd-fuse", "mmd-agg", "actt", "me-mabid", "auto-tst",
    MMDDeep(epochs=300),
]  # fmt: skip


def main(repetitions: int) -> None:
    """Measure everything and write the file."""
    rows = []
    for method in METHODS:
        name = method if isinstance(method, str) else method.name
        row: dict[str, Any] = {"method": name}
        for data, (draw, size) in SETTINGS.items():
            for kind, alternative in (("level", False), ("power", True)):
                rejected, seconds = [], []
                for seed in range(repetitions):
                    x, y = draw(size, alternative=alternative, rng=seed)
                    start = time.process_time()
                    rejected.append(nammd.two_sample_test(x, y, method=method, rng=seed).rejected)
                    seconds.append(time.process_time() - start)
                row[f"{data} {kind}"] = float(np.mean(rejected))
                row[f"{data} seconds"] = float(np.median(seconds))
        rows.append(row)
        print(row, flush=True)
    document = {
        "about": "share of rejections at level 0.05, and median CPU seconds of one test",
        "repetitions": repetitions,
        "rows per sample": {name: size for name, (_, size) in SETTINGS.items()},
        "environment": environment(),
        "methods": rows,
    }
    OUTPUT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
