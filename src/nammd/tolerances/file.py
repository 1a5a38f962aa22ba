"""Tolerances as files: one JSON document, readable by people and checked when it is read."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nammd.data.writing import write_text
from nammd.spaces import Space
from nammd.statistics.difference import RowMeans, Shared
from nammd.tolerances.ladder import Rung, Uncertainty
from nammd.tolerances.provenance import Origin

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance

FORMAT = "nammd-tolerance"
VERSION = 1


def write(tolerance: Tolerance, path: Path) -> None:
    """Write a tolerance; the file is complete or not there at all."""
    write_text(path, json.dumps(to_dict(tolerance), indent=1, allow_nan=False) + "\n")


def read(path: Path) -> Tolerance:
    """Read a tolerance, or say in a sentence what is wrong with the file."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no tolerance file {path}") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a tolerance file: it is not valid JSON ({error})") from None
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise ValueError(f"{path} is not a tolerance file written by nammd")
    version = stored.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ValueError(
            f"{path} was written by a newer nammd (file version {version}, this one reads up to "
            f"{VERSION}); upgrade nammd to use it"
        )
    try:
        return from_dict(stored)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"the tolerance file {path} is damaged: {what}") from None


def to_dict(tolerance: Tolerance) -> dict[str, Any]:
    """Return a tolerance as plain values."""
    origin = dataclasses.asdict(tolerance.origin)
    origin["columns"] = dict(tolerance.origin.columns)
    origin["versions"] = dict(tolerance.origin.versions)
    return {
        "format": FORMAT,
        "version": VERSION,
        "epsilon": tolerance.epsilon,
        "epsilon_error": tolerance.epsilon_error,
        **tolerance.space.to_dict(),
        "origin": origin,
        "uncertainty": None if tolerance.uncertainty is None else _uncertainty_to_dict(tolerance.uncertainty),
    }


def from_dict(stored: dict[str, Any]) -> Tolerance:
    """Return the tolerance that plain values describe."""
    from nammd.tolerances.tolerance import Tolerance

    epsilon = _finite(stored["epsilon"], "epsilon")
    if not 0 < epsilon < 1:
        raise ValueError(f"epsilon is {epsilon}, not between 0 and 1")
    origin = dict(stored["origin"])
    origin["columns"] = tuple(origin["columns"].items())
    origin["versions"] = tuple(origin["versions"].items())
    origin["rungs"] = tuple(Rung(**rung) for rung in origin["rungs"])
    uncertainty = stored["uncertainty"]
    return Tolerance(
        epsilon=epsilon,
        space=Space.from_dict(stored),
        uncertainty=None if uncertainty is None else _uncertainty_from_dict(uncertainty),
        origin=Origin(**origin),
    )


def _uncertainty_to_dict(uncertainty: Uncertainty) -> dict[str, Any]:
    shared = uncertainty.shared
    means: list[float] = []
    if shared is not None:
        assert isinstance(shared.cross_means, RowMeans)  # a tolerance is made from rows, not from sketches
        means = shared.cross_means.values.tolist()
    return {
        "linear": uncertainty.linear,
        "total": uncertainty.total,
        "digest": uncertainty.digest,
        "shared": None
        if shared is None
        else {
            "slope": shared.slope,
            "scale": shared.scale,
            "w": shared.w,
            "cross_means": means,
        },
    }


def _uncertainty_from_dict(stored: dict[str, Any]) -> Uncertainty:
    shared = None
    if stored["shared"] is not None:
        inner = stored["shared"]
        means = np.array(inner["cross_means"], dtype=np.float64)
        if means.ndim != 1 or not np.isfinite(means).all():
            raise ValueError("cross_means is not a list of numbers")
        slope, scale, w = (_finite(inner[name], name) for name in ("slope", "scale", "w"))
        shared = Shared(slope, scale, w, RowMeans(means))
    linear, total = (_finite(stored[name], name) for name in ("linear", "total"))
    return Uncertainty(linear, total, shared, stored["digest"])


def _finite(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name} is not a number")
    return float(value)
