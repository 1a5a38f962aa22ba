"""What the figures were measured on and with."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = (
    "nammd",
    "numpy",
    "scipy",
    "threadpoolctl",
    "torch",
    "pandas",
    "evidently",
    "alibi-detect",
    "river",
)


def environment() -> dict[str, Any]:
    return {
        "cpu": _cpu_name(),
        "cpus": _cpus(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _PACKAGES},
    }


def environment_line() -> str:
    here = environment()
    versions = ", ".join(f"{name} {number or 'missing'}" for name, number in here["versions"].items())
    return f"{here['cpu']}, {here['cpus']} CPUs; Python {here['python']}, {versions}\n"


def _cpus() -> int:
    """Return how many CPUs this process may use, which can be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(package: str) -> str | None:
    try:  # the metadata tells it without importing, which takes seconds for torch
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()
