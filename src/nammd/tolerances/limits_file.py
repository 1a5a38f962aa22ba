"""Limits of columns as plain values for files: an array for each field, see `nammd.views.serial_columns`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nammd.errors.stored import Stored
from nammd.views.grouped import ColumnUnits
from nammd.views.limits import ColumnLimit, aspects
from nammd.views.measure import Measure
from nammd.views.serial import CLOCKS, COUNTED, MAX, packed, read_units, units_to_dict
from nammd.views.serial_columns import coded, columns_to_dict, read_coded, read_columns

_ASPECTS = ("values", "missing", "labels")


def limits_to_dict(limits: Sequence[ColumnLimit]) -> dict[str, Any]:
    """Return limits as plain values."""
    measures = [limit.measure for limit in limits]
    labels = [label for label, _ in limits[0].accepted] if limits else []
    accepted = [columns_to_dict([limit.accepted[k][1] for limit in limits]) for k in range(len(labels))]
    return {
        "names": [each.name for each in measures],
        "kinds": coded(each.kind for each in measures),
        "counted": coded(each.counted for each in measures),
        "clocks": coded(each.clock for each in measures),
        "of_array": coded(each.of_array for each in measures),
        "center": packed([each.center for each in measures], "<f8"),
        "scale": packed([each.scale for each in measures], "<f8"),
        "negligible": _by_aspect([limit.negligible for limit in limits]),
        "fixed": _by_aspect([limit.fixed for limit in limits]),
        "reference": columns_to_dict([limit.reference for limit in limits]),
        "accepted": [{"label": label, **each} for label, each in zip(labels, accepted, strict=True)],
        "groups": None
        if all(limit.units is None for limit in limits)
        else [_groups_to_dict(limit.units, limit.accepted_units) for limit in limits],
    }


def read_limits(stored: Stored) -> tuple[ColumnLimit, ...]:
    """Return the limits that a file describes."""
    measures = _read_measures(stored)
    of_numbers = [each.counted == "numbers" for each in measures]
    reference = read_columns(stored["reference"], of_numbers)
    if any(counts.size < 1 for counts in reference):
        raise stored["reference"].wrong("counts of at least one row of each column")
    named = [(each["label"].text(), read_columns(each, of_numbers)) for each in stored["accepted"].each()]
    accepted = [tuple((label, counts[k]) for label, counts in named) for k in range(len(measures))]
    known = [aspects(counts) for counts in reference]
    allowed, fixed = (_read_by_aspect(stored[name], known) for name in ("negligible", "fixed"))
    limits = tuple(map(ColumnLimit, measures, reference, allowed, accepted, fixed))
    if not stored["groups"].there:
        return limits
    groups = stored["groups"].each()
    if len(groups) != len(limits):
        raise stored["groups"].wrong("one entry for each column")
    return tuple(
        with_units(limit, each["reference"], each["accepted"]) if each.there else limit
        for limit, each in zip(limits, groups, strict=True)
    )


def with_units(limit: ColumnLimit, reference: Stored, accepted: Stored) -> ColumnLimit:
    """Return a limit with the groups that a file describes, those of the reference and of accepted data."""
    units, groups = read_units(reference), tuple(map(read_units, accepted.each()))
    wanted = set(aspects(limit.reference))
    for found, each in zip((units, *groups), (reference, *accepted.each()), strict=True):
        if set(found) != wanted:
            raise each.wrong(f"the groups of {' and '.join(sorted(wanted))}")
    if len(groups) != len(limit.accepted):
        raise accepted.wrong("one entry for each accepted dataset")
    return replace(limit, units=units, accepted_units=groups)


def _groups_to_dict(units: ColumnUnits | None, accepted: Sequence[ColumnUnits]) -> dict[str, Any] | None:
    if units is None:
        return None
    return {"reference": units_to_dict(units), "accepted": [units_to_dict(each) for each in accepted]}


def _read_measures(stored: Stored) -> list[Measure]:
    names = stored["names"].texts()
    count = len(names)
    center = stored["center"].unpacked(count, folded=True, least=-MAX, most=MAX).tolist()
    scale = stored["scale"].unpacked(count, folded=True, least=math.ulp(0.0), most=MAX).tolist()
    return list(
        map(
            Measure,
            names,
            read_coded(stored["kinds"], count, Stored.text),
            read_coded(stored["counted"], count, lambda each: each.one_of(*COUNTED)),
            center,
            scale,
            read_coded(stored["clocks"], count, lambda each: each.one_of(*CLOCKS)),
            read_coded(stored["of_array"], count, Stored.truth),
        )
    )


def _by_aspect(numbers: Sequence[Mapping[str, float]]) -> dict[str, str]:
    """Return numbers for aspects of columns; NaN where a column has none."""
    there = [aspect for aspect in _ASPECTS if any(aspect in each for each in numbers)]
    return {aspect: packed([each.get(aspect, math.nan) for each in numbers], "<f8") for aspect in there}


def _read_by_aspect(stored: Stored, known: Sequence[tuple[str, ...]]) -> Iterator[dict[str, float]]:
    """Yield such numbers for every column; `known` are the aspects that it can have."""
    arrays = {
        aspect: each.unpacked(len(known), folded=True, gaps=True, least=0, most=1).tolist()
        for aspect, each in stored.only(*_ASPECTS).fields().items()
    }
    for k, possible in enumerate(known):
        found = {aspect: each[k] for aspect, each in arrays.items() if each[k] == each[k]}
        if not found.keys() <= set(possible):
            raise stored.wrong(f"numbers for {' and '.join(possible)} of column {k} (counted from 0)")
        yield found
