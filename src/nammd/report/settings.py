"""What was computed from what."""

from __future__ import annotations

import platform

import numpy as np

from nammd.results import NAMES, Reportable


def settings_of(result: Reportable, columns: int) -> tuple[tuple[str, str], ...]:
    """Return the settings of a result as labels and values."""
    from nammd import __version__

    estimate = result.measured
    first, second = result.datasets
    x, y = estimate.evidence.x, estimate.evidence.y
    rows = [
        ("rows", f"{estimate.m:,} in the {first}, {estimate.n:,} in the {second}"),
        *estimate.describe_groups(),
        ("columns", f"{columns:,} compared"),
        ("distance", f"{NAMES[estimate.statistic]}, {_cross(estimate.cross)}"),
        ("kernel", str(estimate.kernel)),
        ("computed", _by(estimate.engine)),
        (f"digest of the {first}", x.digest[:16]),
        (f"digest of the {second}", y.digest[:16]),
        *result.settings(),
    ]
    now = (("nammd", __version__), ("numpy", np.__version__), ("python", platform.python_version()))
    return (*rows, ("this report made with", ", ".join(f"{name} {version}" for name, version in now)))


_BY = {
    "tiles": "on the cores of this machine",
    "cluster": "on a Dask cluster",
    "cuda": "on a GPU",
    "sketch": "from sketches",
}


def _by(engine: str) -> str:
    """Say who computed it, in words; the engine's own name where there are none."""
    return next((words for name, words in _BY.items() if name in engine.lower()), engine)


def _cross(cross: str) -> str:
    return "all pairs of rows" if cross == "full" else "all pairs of rows but those of the same number"
