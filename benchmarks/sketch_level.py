"""The level of tests on sketches, with pairs of laws exactly at the margin.

Run ``python -m benchmarks.sketch_level`` to measure again; it writes
``benchmarks/results/sketch_level.json``. First, sketches of whole populations, two normal laws: all that
varies are the frequencies. Then sketches of some hundred rows, with epsilon meant under the features
themselves, which are the same all the time, and under the exact kernel, with new ones each time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from tests import laws
from tests.sketches.populations import nammd_of_normals, nammd_under, sketch_of_normal

import nammd
from nammd.questions.closeness import closeness_of

OUTPUT = Path(__file__).parent / "results" / "sketch_level.json"
SHIFT, ALPHA = 1.5, 0.05
KERNELS = (
    (nammd.Gaussian(1.5), 1),
    (nammd.Gaussian(3.0), 5),
    (nammd.Gaussian(6.0), 20),
    (nammd.Laplace(5.6), 5),
    (nammd.Laplace(22.0), 20),
    (nammd.Laplace(5.6), 20),
    (nammd.Laplace(113.0), 100),
    (nammd.Laplace(28.0), 100),
)
"""Kernels, each with a bandwidth near the median distance, and two with a quarter of it; and columns."""
REPETITIONS = {16: 1000, 64: 1000, 256: 1000, 1024: 300}
"""For each number of features."""


PAIRS = (
    *(("shifted normal", 0.05), ("shifted normal", 0.2), ("concentrated normal", 0.2)),
    *(("concentrated normal", 0.7), ("scaled normal", 0.1), ("five columns", 0.2), ("contaminated", 0.02)),
    *(("contaminated", 0.3), ("two points", 0.1), ("uneven spread", 0.3), ("rare stray", 0.3)),
)
SAMPLES, SAMPLE_FEATURES = 500, 128


def main() -> None:
    """Measure everything and write the file."""
    rows = [_one(kernel, columns, size) for kernel, columns in KERNELS for size in REPETITIONS]
    settings = (("own", 200), ("own", 1000), ("exact", 500), ("exact, nothing added", 500))
    samples = [
        {"meant": meant, "rows": size, "laws": [_sampled(*pair, meant, size) for pair in PAIRS]}
        for meant, size in settings
    ]
    stored = {"alpha": ALPHA, "shift": SHIFT, "settings": rows, "samples": samples}
    stored |= {"repetitions of samples": SAMPLES, "features of samples": SAMPLE_FEATURES}
    OUTPUT.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def _one(kernel: Any, columns: int, size: int) -> dict[str, Any]:
    shift = np.zeros(columns)
    shift[0] = SHIFT
    eps = nammd_of_normals(shift, kernel)
    found = []
    for seed in range(REPETITIONS[size]):
        features = nammd.RandomFeatures(kernel, size, rng=seed)
        x, y = sketch_of_normal(np.zeros(columns), features), sketch_of_normal(shift, features)
        estimate = nammd.distance(x, y)
        far, close = (
            closeness_of(estimate, eps, alternative, ALPHA, "corrected").rejected
            for alternative in ("greater", "less")
        )
        noted = any(caution.code == "few-frequencies" for caution in estimate.warnings)
        found.append([far, close, noted, close and not noted])
    far, close, noted, unnoted = np.mean(found, axis=0).tolist()
    row = {"kernel": type(kernel).__name__, "bandwidth": kernel.bandwidth, "columns": columns}
    row |= {"features": size, "epsilon": eps}
    row |= {"repetitions": len(found), "too far": far, "close": close}
    row |= {"cautioned": noted, "close, not cautioned": unnoted}
    print(row, flush=True)
    return row


def _sampled(family: str, eps: float, meant: str, size: int) -> dict[str, Any]:
    """Return the level of sketches of samples; `meant` says under which kernel epsilon is."""
    p, q = laws.pair_at(family, eps)
    rng = np.random.default_rng([size, round(eps * 1000)])
    kernel = nammd.Gaussian(1.0)
    found = []
    for seed in range(SAMPLES):
        features = nammd.RandomFeatures(kernel, SAMPLE_FEATURES, rng=1 if meant == "own" else seed)
        margin = nammd_under(features, p, q) if meant == "own" else eps
        x, y = (nammd.Sketch.of(law.sample(rng, size), features) for law in (p, q))
        estimate = nammd.distance(x, y, kernel=None if meant == "exact" else features)
        found.append(
            [
                closeness_of(estimate, margin, alternative, ALPHA, "corrected").rejected
                for alternative in ("greater", "less")
            ]
        )
    far, close = np.mean(found, axis=0).tolist()
    row = {"laws": family, "epsilon": eps, "too far": far, "close": close}
    print(meant, size, row, flush=True)
    return row


if __name__ == "__main__":
    main()
