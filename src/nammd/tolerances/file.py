"""Tolerances as files: one JSON document, with a checksum, and checked when it is read.

What people may want to read is plain; `pair_file` has the rest.
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nammd.errors.addresses import shown
from nammd.errors.advice import Caution
from nammd.errors.naming import quoted
from nammd.errors.seal import ROOM, require_seal, require_version, sealed
from nammd.errors.seal_key import current_key
from nammd.errors.stored import Stored
from nammd.errors.writing import indented, write_bytes
from nammd.explaining.facts import FactRules
from nammd.spaces import Space
from nammd.tolerances.accepted_file import accepted_to_dict, read_accepted
from nammd.tolerances.bars import Accepted, Bar, Fixed, Perturbed
from nammd.tolerances.columns import ColumnTolerances
from nammd.tolerances.grouping_spec import GroupingSpec
from nammd.tolerances.ladder import Rung
from nammd.tolerances.pair_file import packed, pair_to_dict, read_pair
from nammd.tolerances.perturbation import KINDS
from nammd.tolerances.provenance import WORDS, Origin
from nammd.tolerances.scale_margins import ScaleMargin

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance

FORMAT = "nammd-tolerance"
VERSION, _OLDEST = 9, 8
"""That of files that are written, and that of the former layout, `former_file`, which is read as well."""

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
    require_version(stored.get("version"), VERSION, what, "calibrate again", oldest=_OLDEST)
    require_seal(_with_plain_lines(content), what, _AGAIN, key)
    try:
        return from_dict(stored)
    except ValueError as error:
        raise ValueError(f"{what} is damaged: {str(error)[:300]}") from None


def rendered(stored: dict[str, Any]) -> bytes:
    """Return what the file holds, with room for its checksum at the end."""
    stored = {name: value for name, value in stored.items() if name != "checksum"} | {"checksum": ROOM}
    return f"{indented(stored)}\n".encode()


def _with_plain_lines(content: bytes) -> bytes:
    """Return a text whose lines all end as on Windows with plain ends: version control may change them."""
    if b"\r" not in content:  # as nearly always, and quickly seen
        return content
    ends = content.count(b"\r\n")
    return (
        content.replace(b"\r\n", b"\n") if ends == content.count(b"\n") == content.count(b"\r") else content
    )


def summary(tolerance: Tolerance) -> dict[str, Any]:
    """Return what people may want to read of a tolerance, as plain values."""
    # Copied item by item otherwise, ten thousand columns.
    origin = dataclasses.asdict(dataclasses.replace(tolerance.origin, columns=(), versions=()))
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
        "negligible": None
        if tolerance.column_tolerances is None
        else tolerance.column_tolerances.negligible.to_dict(),
        "column_tolerances": {}
        if tolerance.column_tolerances is None
        else tolerance.column_tolerances.tolerances(),
        "facts": tolerance.fact_rules.to_dict(),
    }


def to_dict(tolerance: Tolerance) -> dict[str, Any]:
    """Return all of a tolerance as plain values."""
    columns = None if tolerance.column_tolerances is None else tolerance.column_tolerances.to_dict()
    bars = [_bar_to_dict(bar) for bar in tolerance.bars]
    accepted = None if tolerance.accepted is None else accepted_to_dict(tolerance.accepted)
    scales = [_scale_to_dict(each) for each in tolerance.scales]
    return summary(tolerance) | {"bars": bars, "columns": columns, "accepted": accepted, "scales": scales}


def from_dict(content: dict[str, Any]) -> Tolerance:
    """Return the tolerance that plain values describe; a ValueError names the field that is wrong."""
    from nammd.tolerances.tolerance import Tolerance

    stored = Stored(content)
    space = Space.from_dict(stored)
    origin = _read_origin(stored["origin"])
    bars = tuple(_read_bar(bar) for bar in stored["bars"].each())
    if not bars:
        raise stored["bars"].wrong("a list of at least one bar")
    columns = ColumnTolerances.read(stored["columns"]) if stored["columns"].there else None
    accepted = None
    if stored["accepted"].there:
        bound, width = float(space.kernel.bound), space.encoding.width
        accepted = read_accepted(stored["accepted"], bound, width, origin.rows)
    scales = tuple(_read_scale(each) for each in stored["scales"].each())
    if [each.scale for each in scales] != sorted({each.scale for each in scales}, reverse=True):
        raise stored["scales"].wrong("scales in descending order")
    rules, rows = FactRules.read(stored["facts"]), _read_grouping(stored["rows"])
    tolerance = Tolerance(space, bars, origin, columns, rules, rows, accepted, scales)
    stored["epsilon"].number(0, 1, above=0)
    for name in ("epsilon", "epsilon_error"):
        known = getattr(tolerance, name)
        if not math.isclose(stored[name].number(), known, rel_tol=1e-9, abs_tol=1e-15):
            raise stored[name].wrong(f"{known:.10g}, as its bars say")
    _require_units(tolerance, stored)
    _require_own_columns(tolerance)
    return tolerance


def _read_origin(stored: Stored) -> Origin:
    equivalents = (each.pair() for each in stored["equivalents"].each())
    return Origin(
        how=stored["how"].one_of(*WORDS),
        rows=stored["rows"].whole(),
        columns=tuple((name, each.text()) for name, each in stored["columns"].fields().items()),
        digest=stored["digest"].text(),
        created=stored["created"].text(),
        versions=tuple((name, each.text()) for name, each in stored["versions"].fields().items()),
        rungs=tuple(_read_rung(each) for each in stored["rungs"].each()),
        chosen=stored["chosen"].text(),
        equivalents=tuple((kind.one_of(*KINDS), level.number(0)) for kind, level in equivalents),
        cautions=tuple(Caution(e["code"].text(), e["message"].text()) for e in stored["cautions"].each()),
        batch=stored["batch"].whole(),
    )


def _read_rung(stored: Stored) -> Rung:
    value, error, low, high = (
        stored[name].number(-2, 2) for name in ("value", "standard_error", "low", "high")
    )
    level = stored["level"].number(0) if stored["level"].there else None
    kind = stored["kind"].one_of("accepted", *KINDS, "random", "block")
    return Rung(stored["label"].text(), value, error, low, high, kind, level)


def _read_grouping(stored: Stored) -> GroupingSpec:
    kind = stored["kind"].one_of("", "column", "labels", "blocks")
    column = stored["column"].text() if stored["column"].there else None
    if kind == "column" and column is None:
        raise stored["column"].wrong("the column of the groups")
    length, period = (stored[name].whole(1) if stored[name].there else None for name in ("length", "period"))
    weights = stored["sample_weight"].text() if stored["sample_weight"].there else None
    return GroupingSpec(
        kind, column, length, period, weights, stored["missing"].one_of("error", "own", "drop")
    )


def _require_units(tolerance: Tolerance, stored: Stored) -> None:
    """Refuse numbers for every row of a reference that has other rows."""
    if tolerance.grouping_spec.said:  # how many groups there are, a check tells
        return
    rows = tolerance.origin.rows
    for bar, place in zip(tolerance.bars, stored["bars"].each(), strict=True):
        if isinstance(bar, Perturbed) and bar.influences is not None and len(bar.influences) != rows:
            raise place["influences"].wrong(f"{rows} numbers, one for each row of the reference")


def _require_own_columns(tolerance: Tolerance) -> None:
    """Refuse limits of columns that are not compared, or of one column twice."""
    limits = () if tolerance.column_tolerances is None else tolerance.column_tolerances.limits or ()
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
    return {
        "scale": margin.scale,
        "share": margin.share,
        "made": margin.made,
        "accepted": accepted,
        "contacts": margin.contacts if math.isfinite(margin.contacts) else None,
    }


def _read_scale(stored: Stored) -> ScaleMargin:
    scale, share = stored["scale"].number(0, 0.999, above=0), stored["share"].number(0, 1, above=0)
    bars = [_read_bar(each, "accepted") for each in stored["accepted"].each()]
    made, contacts = stored["made"].number(0, 1), stored.get("contacts")
    return ScaleMargin(
        scale,
        share,
        made,
        tuple(bar for bar in bars if isinstance(bar, Accepted)),
        contacts.number(0) if contacts.there else math.inf,
    )


def _read_bar(stored: Stored, *kinds: str) -> Bar:
    kind, label = (
        stored["kind"].one_of(*(kinds or ("accepted", "perturbed", "fixed"))),
        stored["label"].text(),
    )
    if kind == "accepted":
        return Accepted(label, read_pair(stored["pair"]))
    value = stored["value"].number(0, 1, above=0)
    pilot = read_pair(stored["pilot"]) if stored["pilot"].there else None
    if kind == "fixed":
        return Fixed(label, value, pilot)
    influences = stored["influences"].unpacked(least=-1, most=1) if stored["influences"].there else None
    return Perturbed(label, value, stored["variance"].number(0, 1), influences, pilot)
