"""How long ``import nammd`` takes in a fresh interpreter, and how much of that is NumPy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from benchmarks.results import Measurement, at_most
from benchmarks.scale import Scale

_PROGRAM = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def measure(scale: Scale) -> Iterator[Measurement]:
    ours, numpy = [], []
    _seconds("nammd")  # writes the bytecode, where this is the first import after a change
    for _ in range(scale.rounds):
        ours.append(_seconds("nammd"))
        numpy.append(_seconds("numpy"))
    more = median(with_nammd - alone for with_nammd, alone in zip(ours, numpy, strict=True))
    details = {"rounds": scale.rounds, "median_seconds": {"nammd": median(ours), "numpy": median(numpy)}}
    yield Measurement("import nammd", median(ours), "s", at_most(0.3), details)
    yield Measurement("import nammd, more than import numpy takes", more, "s", None, details)


def _seconds(module: str) -> float:
    """Import a module in a new interpreter and return the seconds, without those of its start."""
    command = [sys.executable, "-c", _PROGRAM.format(module)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
