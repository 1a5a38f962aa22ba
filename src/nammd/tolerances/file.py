"""Tolerances as files: one JSON document, with a checksum, and checked when it is read.

What people may want to read is plain. Numbers for every row of the reference are kept as the bytes of
64-bit floats in base 64, so that they are the same numbers when they are read.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.errors.advice import Caution
from nammd.errors.checks import choice, whole
from nammd.errors.naming import quoted
from nammd.errors.seal import ROOM, require_seal, require_version, sealed
from nammd.errors.writing import indented, write_bytes
from nammd.spaces import Space
from nammd.statistics.forecast import Eigenvalues, Pilot
from nammd.statistics.moments import Components, Moments
from nammd.statistics.standing import RowsOfX, SampleTerms, Standing
from nammd.tolerances.bars import Accepted, Bar, Fixed, Perturbed
from nammd.tolerances.columns import ColumnTolerances
from nammd.tolerances.grouping_spec import GroupingSpec
from nammd.tolerances.ladder import Rung
from nammd.tolerances.provenance import Origin

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance

FORMAT = "nammd-tolerance"
VERSION = 4
_ABSURD = 1e60
"""Everything in a tolerance is of the size of kernel values; cubes of larger numbers are no numbers."""
_AGAIN = "calibrate again (a number of your own is given with --epsilon, or with Tolerance.at)"


def write(tolerance: Tolerance, path: Path) -> None:
    """Write a tolerance; the file is complete or not there at all."""
    write_bytes(path, dumps(tolerance))


def dumps(tolerance: Tolerance) -> bytes:
    """Return what the file of a tolerance holds."""
    return sealed(rendered(to_dict(tolerance)))


def read(path: Path) -> Tolerance:
    """Read a tolerance, or say in a sentence what is wrong with the file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no tolerance file {path}") from None
    return loads(content, path)


def loads(content: bytes, path: Path) -> Tolerance:
    """Return the tolerance in what a file holds; `path` is for messages."""
    try:
        stored = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # also of a number of too many digits
        raise ValueError(f"{path} is not a tolerance file: it is not valid JSON ({error})") from None
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise ValueError(f"{path} is not a tolerance file written by nammd")
    what = f"the tolerance file {path}"
    require_version(stored.get("version"), VERSION, what, "calibrate again", oldest=VERSION)
    require_seal(_with_plain_lines(content), what, _AGAIN)
    try:
        return from_dict(stored)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        why = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{what} is damaged: {why[:300]}") from None


def rendered(stored: dict[str, Any]) -> bytes:
    """Return what the file holds, with room for its checksum at the end."""
    stored = {name: value for name, value in stored.items() if name != "checksum"} | {"checksum": ROOM}
    return f"{indented(stored)}\n".encode()


def _with_plain_lines(content: bytes) -> bytes:
    """Return a text whose lines all end as on Windows with plain ends: version control may change them."""
    ends = content.count(b"\r\n")
    return (
        content.replace(b"\r\n", b"\n") if ends == content.count(b"\n") == content.count(b"\r") else content
    )


def summary(tolerance: Tolerance) -> dict[str, Any]:
    """Return what people may want to read of a tolerance, as plain values."""
    origin = dataclasses.asdict(tolerance.origin)
    origin["columns"] = dict(tolerance.origin.columns)
    origin["versions"] = dict(tolerance.origin.versions)
    return {
        "format": FORMAT,
        "version": VERSION,
        "epsilon": tolerance.epsilon,
        "epsilon_error": tolerance.epsilon_error,
        **tolerance.space.to_dict(),
        "rows": dataclasses.asdict(tolerance.grouping_spec),
        "origin": origin,
        "negligible": None if tolerance.columns is None else tolerance.columns.negligible.to_dict(),
        "column_tolerances": {} if tolerance.columns is None else tolerance.columns.tolerances(),
        "fail_on": list(tolerance.fail_on),
    }


def to_dict(tolerance: Tolerance) -> dict[str, Any]:
    """Return all of a tolerance as plain values."""
    columns = None if tolerance.columns is None else tolerance.columns.to_dict()
    bars = [_bar_to_dict(bar) for bar in tolerance.bars]
    return summary(tolerance) | {"bars": bars, "columns": columns}


def from_dict(stored: dict[str, Any]) -> Tolerance:
    """Return the tolerance that plain values describe."""
    from nammd.tolerances.tolerance import Tolerance

    origin = dict(stored["origin"])
    origin["columns"] = tuple(origin["columns"].items())
    origin["versions"] = tuple(origin["versions"].items())
    origin["rungs"] = tuple(Rung(**rung) for rung in origin["rungs"])
    origin["equivalents"] = tuple((str(kind), float(level)) for kind, level in origin["equivalents"])
    origin["cautions"] = tuple(Caution(**caution) for caution in origin["cautions"])
    bars = tuple(_bar_from_dict(bar) for bar in stored["bars"])
    grouping_spec = GroupingSpec(**stored.get("rows", {}))
    columns = None if stored["columns"] is None else ColumnTolerances.from_dict(stored["columns"])
    fail_on = tuple(map(str, stored["fail_on"]))
    tolerance = Tolerance(Space.from_dict(stored), bars, Origin(**origin), columns, fail_on, grouping_spec)
    if not 0 < tolerance.epsilon < 1:
        raise ValueError(f"epsilon is {tolerance.epsilon}, not between 0 and 1")
    _require_own_columns(tolerance)
    return tolerance


def _require_own_columns(tolerance: Tolerance) -> None:
    """Refuse limits of columns that are not compared, or of one column twice."""
    limits = () if tolerance.columns is None else tolerance.columns.limits or ()
    known = {column.name for column in tolerance.space.encoding.columns}
    for limit in limits:
        if limit.name not in known:
            raise ValueError(f"the column {quoted(limit.name)} has a limit, and is not compared, or has two")
        known.remove(limit.name)


def _bar_to_dict(bar: Bar) -> dict[str, Any]:
    if isinstance(bar, Accepted):
        return {"kind": "accepted", "label": bar.label, **_standing_to_dict(bar.standing)}
    pilot = None if bar.pilot is None else _pilot_to_dict(bar.pilot)
    if isinstance(bar, Perturbed):
        return {
            "kind": "perturbed",
            "label": bar.label,
            "value": bar.value,
            "variance": bar.variance,
            "influences": None if bar.influences is None else _packed(bar.influences),
            "pilot": pilot,
        }
    assert isinstance(bar, Fixed)
    return {"kind": "fixed", "label": bar.label, "value": bar.value, "pilot": pilot}


def _bar_from_dict(stored: dict[str, Any]) -> Bar:
    kind, label = stored["kind"], str(stored["label"])
    if kind == "accepted":
        return Accepted(label, _standing_from_dict(stored))
    value = _finite(stored["value"], "value")
    pilot = None if stored["pilot"] is None else _pilot_from_dict(stored["pilot"])
    if kind == "fixed":
        return Fixed(label, value, pilot)
    if kind != "perturbed":
        raise ValueError(f"a bar of the kind {kind!r} is not known")
    influences = None if stored["influences"] is None else _unpacked(stored["influences"])
    return Perturbed(label, value, _finite(stored["variance"], "variance"), influences, pilot)


def _pilot_to_dict(pilot: Pilot) -> dict[str, Any]:
    return {"moments": dataclasses.asdict(pilot.moments), "eigenvalues": list(pilot.eigenvalues)}


def _pilot_from_dict(stored: dict[str, Any]) -> Pilot:
    return Pilot(_moments_from_dict(stored["moments"]), _eigenvalues(stored), normed=True)


def _standing_to_dict(standing: Standing) -> dict[str, Any]:
    seen = standing.seen
    assert isinstance(seen, RowsOfX)  # a tolerance is made from rows, not from sketches
    return {
        "moments": dataclasses.asdict(standing.moments),
        "eigenvalues": list(standing.operators.eigenvalues),
        "x": dataclasses.asdict(standing.x),
        "y": dataclasses.asdict(standing.y),
        "crossed": standing.crossed,
        "alike": list(standing.alike),
        "rows": {"across": _packed(seen.across), "felt": _packed(seen.felt), "joint": seen.joint},
    }


def _standing_from_dict(stored: dict[str, Any]) -> Standing:
    x, y = (SampleTerms(**_finite_values(stored[name])) for name in ("x", "y"))
    standing = Standing(
        moments=_moments_from_dict(stored["moments"]),
        normed=True,
        x=x,
        y=y,
        crossed=_finite(stored["crossed"], "crossed"),
        operators=Eigenvalues(_eigenvalues(stored)),
        alike=_alike(stored),
    )
    rows = stored["rows"]
    across, felt = _unpacked(rows["across"]), _unpacked(rows["felt"])
    joint = bool(rows.get("joint", False))
    seen = RowsOfX(standing.slope, standing.scale, True, across, felt, joint=joint)
    return dataclasses.replace(standing, seen=seen)


def _moments_from_dict(stored: dict[str, Any]) -> Moments:
    x, y = (Components(**_finite_values(stored[name])) for name in ("x", "y"))
    xy, dxy, bound = (_finite(stored[name], name) for name in ("xy", "dxy", "bound"))
    groups: dict[str, Any] = {
        name: tuple(_finite(value, name) for value in stored[name])
        for name in ("freedom", "between", "per_unit")
        if stored.get(name) is not None
    }
    cross = choice(stored["cross"], "cross", ("full", "off-diagonal"))
    moments = Moments(x, y, xy, dxy, bound, cross, **groups)
    if not (bound > 0 and moments.denominator > 0):
        raise ValueError("its moments are not those of a kernel with that bound")
    return moments


def _alike(stored: dict[str, Any]) -> tuple[bool, bool]:
    x, y = stored["alike"]
    return bool(x), bool(y)


def _eigenvalues(stored: dict[str, Any]) -> tuple[float, float]:
    first, second = (_finite(value, "eigenvalues") for value in stored["eigenvalues"])
    return first, second


def _packed(values: FloatArray) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode("ascii")


def _unpacked(text: str) -> FloatArray:
    values: FloatArray = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("a number for a row of the reference is not finite")
    return values


def _finite_values(stored: dict[str, Any]) -> dict[str, Any]:
    return {name: _size(value) if name == "size" else _finite(value, name) for name, value in stored.items()}


def _size(value: Any) -> float:
    """Return a number of rows, or an effective number of groups, which need not be whole."""
    if isinstance(value, float) and value >= 2:
        return _finite(value, "size")
    return whole(value, "size", 2)


def _finite(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name} is not a number")
    if abs(value) > _ABSURD:
        raise ValueError(f"{name} is out of all proportion")
    return float(value)
