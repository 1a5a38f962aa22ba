"""Peak extra memory of one call, in a process of its own.

The child imports nammd and makes the data, notes how much memory it holds, calls, and reports how
much higher its peak was. So the interpreter, NumPy and the data do not count; all that the call
allocates does, and so do the modules that it loads on first use.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.results import Measurement, at_most
from benchmarks.samples import normal_samples, typical_bandwidth
from benchmarks.scale import Scale

_ROOT = Path(__file__).resolve().parent.parent


def measure(scale: Scale) -> Iterator[Measurement]:
    rows = scale.memory_rows
    extra = _in_a_child("sums", rows, 16, 0)
    yield Measurement(
        f"sums, n = {rows}, d = 16: peak extra memory",
        extra,
        "MB",
        at_most(150.0),
        {"rows": rows, "columns": 16, "dtype": "float32", "threads": "as many as CPUs"},
    )
    rows, permutations = scale.permutation_rows, scale.permutations
    extra = _in_a_child("permutation", rows, 128, permutations)
    yield Measurement(
        f"permutation test, n = {rows}, d = 128, B = {permutations}: peak extra memory",
        extra,
        "MB",
        at_most(100.0),
        {"rows": rows, "columns": 128, "dtype": "float32", "threads": "as many as CPUs"},
    )
    fused = ((scale.permutation_rows * 4 // 5, 10, 100.0), (scale.permutation_rows * 2, 768, 300.0))
    for rows, columns, limit in fused:
        yield Measurement(
            f"fused test, n = {rows}, d = {columns}, B = {permutations}: peak extra memory",
            _in_a_child("fused", rows, columns, permutations),
            "MB",
            at_most(limit),
            {"rows": rows, "columns": columns, "dtype": "float32", "threads": "as many as CPUs"},
        )


def _in_a_child(call: str, *sizes: int) -> float:
    command = [sys.executable, "-m", "benchmarks.memory", call, *map(str, sizes)]
    output = subprocess.run(command, cwd=_ROOT, check=True, capture_output=True, text=True).stdout
    return float(json.loads(output))


def _extra_megabytes(call: str, rows: int, columns: int, permutations: int) -> float:
    """Make the call, once, and return by how much the peak exceeds what was held before."""
    import nammd

    x, y = normal_samples(rows, columns)
    kernel = nammd.Gaussian(typical_bandwidth(columns))
    calls: dict[str, Callable[[], object]] = {
        "sums": lambda: nammd.kernel_sums(x, y, kernel),
        # The default kernel too, as a user would call it: choosing its bandwidth loads scipy.
        "permutation": lambda: nammd.two_sample_test(x, y, permutations=permutations, rng=0),
        "fused": lambda: nammd.two_sample_test(x, y, method="nammd-fuse", permutations=permutations, rng=0),
    }
    before = _held()
    calls[call]()
    return (_peak() - before) / 1e6


def _held() -> int:
    """Return the bytes of memory in use now; elsewhere than on Linux, at most so far."""
    return _status("VmRSS") or _high_water()


def _peak() -> int:
    """Return the most bytes of memory in use so far.

    On Linux `getrusage` would tell a fresh process the peak of the one that started it as well;
    the kernel's own high-water mark begins anew with the program.
    """
    return _status("VmHWM") or _high_water()


def _status(key: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(key)), 0)


def _high_water() -> int:
    import resource  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    print(json.dumps(_extra_megabytes(sys.argv[1], *map(int, sys.argv[2:]))))
