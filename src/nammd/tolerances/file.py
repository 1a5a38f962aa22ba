"""Tolerances as files: one JSON document, with a checksum, and checked when it is read.

What people may want to read is plain; `pair_file` has the rest.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nammd.errors.addresses import shown
from nammd.errors.advice import Caution
from nammd.errors.naming import quoted
from nammd.errors.seal import ROOM, require_seal, require_version, sealed
from nammd.errors.seal_key import current_key
from nammd.errors.writing import indented, write_bytes
from nammd.explaining.facts import FactRules
from nammd.spaces import Space
from nammd.tolerances.accepted_file import accepted_from_dict, accepted_to_dict
from nammd.tolerances.bars import Accepted, Bar, Fixed, Perturbed
from nammd.tolerances.columns import ColumnTolerances
from nammd.tolerances.grouping_spec import GroupingSpec
from nammd.tolerances.ladder import Rung
from nammd.tolerances.pair_file import finite, packed, pair_from_dict, pair_to_dict, unpacked
from nammd.tolerances.provenance import Origin
from nammd.tolerances.scale_margins import ScaleMargin

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance

FORMAT = "nammd-tolerance"
VERSION = 8
_AGAIN = "calibrate again (a number of your own is given with --epsilon, or with Tolerance.at)"


def write(tolerance: Tolerance, path: Path) -> None:
    """Write a tolerance; the file is complete or not there at all."""
    write_bytes(path, dumps(tolerance, current_key()))


def dumps(tolerance: Tolerance, key: bytes | None = None) -> bytes:
    """Return what the file of a tolerance holds."""
    return sealed(rendered(to_dict(tolerance)), key)


def read(path: Path) -> Tolerance:
    """Read a tolerance, or say in a sentence what is wrong with the file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no tolerance file {shown(path)}") from None
    return loads(content, path, current_key())


def loads(content: bytes, path: Path, key: bytes | None = None) -> Tolerance:
    """Return the tolerance in what a file holds; `path` is for messages."""
    try:
        stored = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # also of a number of too many digits
        raise ValueError(f"{path} is not a tolerance file: it is not valid JSON ({error})") from None
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise ValueError(f"{path} is not a tolerance file written by nammd")
    what = f"the tolerance file {path}"
    require_version(stored.get("version"), VERSION, what, "calibrate again", oldest=VERSION)
    require_seal(_with_plain_lines(content), what, _AGAIN, key)
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
        "facts": tolerance.fact_rules.to_dict(),
    }


def to_dict(tolerance: Tolerance) -> dict[str, Any]:
    """Return all of a tolerance as plain values."""
    columns = None if tolerance.columns is None else tolerance.columns.to_dict()
    bars = [_bar_to_dict(bar) for bar in tolerance.bars]
    accepted = None if tolerance.accepted is None else accepted_to_dict(tolerance.accepted)
    scales = [_scale_to_dict(each) for each in tolerance.scales]
    return summary(tolerance) | {"bars": bars, "columns": columns, "accepted": accepted, "scales": scales}


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
    rules = FactRules.from_dict(stored["facts"])
    accepted = None if stored["accepted"] is None else accepted_from_dict(stored["accepted"])
    space = Space.from_dict(stored)
    scales = tuple(_scale_from_dict(each) for each in stored["scales"])
    if [each.scale for each in scales] != sorted({each.scale for each in scales}, reverse=True):
        raise ValueError("its scales are not in order")
    tolerance = Tolerance(space, bars, Origin(**origin), columns, rules, grouping_spec, accepted, scales)
    if accepted is not None and any(d.points.shape[1] != space.encoding.width for d in accepted.datasets):
        raise ValueError("the rows of accepted datasets are not points of its space")
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
        return {"kind": "accepted", "label": bar.label, "pair": pair_to_dict(bar.pair)}
    pilot = None if bar.pilot is None else pair_to_dict(bar.pilot)
    if isinstance(bar, Perturbed):
        return {
            "kind": "perturbed",
            "label": bar.label,
            "value": bar.value,
            "variance": bar.variance,
            "influences": None if bar.influences is None else packed(bar.influences),
            "pilot": pilot,
        }
    assert isinstance(bar, Fixed)
    return {"kind": "fixed", "label": bar.label, "value": bar.value, "pilot": pilot}


def _scale_to_dict(margin: ScaleMargin) -> dict[str, Any]:
    accepted = [_bar_to_dict(bar) for bar in margin.accepted]
    return {"scale": margin.scale, "share": margin.share, "made": margin.made, "accepted": accepted}


def _scale_from_dict(stored: dict[str, Any]) -> ScaleMargin:
    bars = [_bar_from_dict(each) for each in stored["accepted"]]
    scale, share, made = (finite(stored[name], name) for name in ("scale", "share", "made"))
    if not (0 < scale < 1 and 0 < share <= 1 and 0 <= made <= 1):
        raise ValueError(f"a scale of {scale:g} with a share of {share:g} and {made:g} is not possible")
    return ScaleMargin(scale, share, made, tuple(bar for bar in bars if isinstance(bar, Accepted)))


def _bar_from_dict(stored: dict[str, Any]) -> Bar:
    kind, label = stored["kind"], str(stored["label"])
    if kind == "accepted":
        return Accepted(label, pair_from_dict(stored["pair"]))
    value = finite(stored["value"], "value")
    pilot = None if stored["pilot"] is None else pair_from_dict(stored["pilot"])
    if kind == "fixed":
        return Fixed(label, value, pilot)
    if kind != "perturbed":
        raise ValueError(f"a bar of the kind {kind!r} is not known")
    influences = None if stored["influences"] is None else unpacked(stored["influences"])
    return Perturbed(label, value, finite(stored["variance"], "variance"), influences, pilot)
