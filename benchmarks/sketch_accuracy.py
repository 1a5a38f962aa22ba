"""How close distances of sketches come to those of the exact kernel, as the number of features grows.

Run ``python -m benchmarks.sketch_accuracy`` to measure again; it writes
``benchmarks/results/sketch_accuracy.json``, from which ``python -m benchmarks.tables`` makes the table and
the figure of the documentation.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import nammd

OUTPUT = Path(__file__).parent / "results" / "sketch_accuracy.json"
ROWS, COLUMNS, SHIFT, SEEDS = 4000, 5, 0.3, 40
SIZES = (32, 64, 128, 256, 512, 1024, 2048)
KERNELS = {"Gaussian": nammd.Gaussian(3.0), "Laplace": nammd.Laplace(6.0)}


def main() -> None:
    """Measure everything and write the file."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(ROWS, COLUMNS)), rng.normal(loc=SHIFT, size=(ROWS, COLUMNS))
    kernels = [_one(name, kernel, x, y) for name, kernel in KERNELS.items()]
    stored = {"rows": ROWS, "columns": COLUMNS, "seeds": SEEDS, "kernels": kernels}
    OUTPUT.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def _one(name: str, kernel: nammd.Kernel, x: Any, y: Any) -> dict[str, Any]:
    exact = nammd.distance(x, y, kernel=kernel)
    sizes = []
    for size in SIZES:
        errors, stated = [], []
        for seed in range(SEEDS):
            features = nammd.RandomFeatures(kernel, size, rng=seed)
            estimate = nammd.distance(nammd.Sketch.of(x, features), nammd.Sketch.of(y, features))
            errors.append(estimate.value - exact.value)
            stated.append(estimate.pair.approximation(estimate.value) / estimate.pair.scale**2)
        row = {
            "features": size,
            "error": float(np.sqrt(np.mean(np.square(errors)))),
            "stated": float(np.sqrt(np.mean(stated))),
        }
        print(name, row, flush=True)
        sizes.append(row)
    return {"kernel": name, "value": exact.value, "standard_error": exact.standard_error, "sizes": sizes}


if __name__ == "__main__":
    main()
