"""Counts as plain values for files: short, and the same numbers when they are read.

Places on the lattice are kept as the steps between them, which compress to almost nothing, and the rows at
each as 32-bit floats: 7 digits, of counts that stand for a sample; `nammd.views.counts.rounded`.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.totals import MORE, UnitTotals
from nammd.views.counts import Counts, LabelCounts, NumberCounts, scaled
from nammd.views.grouped import AspectUnits, ColumnUnits
from nammd.views.lattice import STEP
from nammd.views.marks import Marks
from nammd.views.measure import Measure


def counts_to_dict(counts: Counts) -> dict[str, Any]:
    """Return counts as plain values."""
    if isinstance(counts, LabelCounts):
        return {"labels": dict(counts.rows), "missing": counts.missing}
    if counts.exact:
        places = packed(counts.places, "<f8")
    else:
        places = packed(np.diff(np.rint(counts.places / STEP), prepend=0.0), "<i4")
    return {
        "exact": counts.exact,
        "places": places,
        "rows": packed(counts.rows, "<f4"),
        "present": counts.present,
        "missing": counts.missing,
        **counts.marks.to_dict(),
    }


def counts_from_dict(stored: Mapping[str, Any]) -> Counts:
    """Return the counts that plain values describe."""
    missing = float(stored["missing"])
    if "labels" in stored:
        return LabelCounts({str(k): float(v) for k, v in stored["labels"].items()}, missing)
    exact = bool(stored["exact"])
    places = unpacked(stored["places"], "<f8" if exact else "<i4")
    places = places if exact else np.cumsum(places) * STEP
    rows = scaled(unpacked(stored["rows"], "<f4"), int(stored["present"]))
    if len(rows) != len(places) or not np.isfinite(rows).all() or not np.isfinite(places).all():
        raise ValueError("the counts of a column are not numbers")
    return NumberCounts(places, rows, missing, exact, Marks.from_dict(stored))


def units_to_dict(units: ColumnUnits) -> dict[str, Any]:
    """Return what is kept of the groups of a column as plain values."""
    return {
        aspect: {
            "keys": list(each.keys),
            "rows": each.rows,
            "groups": each.totals.count,
            "total": packed(each.totals.total, "<f8"),
            "products": packed(each.totals.products[np.triu_indices(len(each.totals.total))], "<f8"),
        }
        for aspect, each in units.items()
    }


def units_from_dict(stored: Mapping[str, Any]) -> ColumnUnits:
    """Return the groups of a column that plain values describe."""
    return {str(aspect): _aspect_from_dict(each) for aspect, each in stored.items()}


def _aspect_from_dict(stored: Mapping[str, Any]) -> AspectUnits:
    keys = tuple(key if isinstance(key, int) else str(key) for key in stored["keys"])
    total, upper = (unpacked(stored[name], "<f8") for name in ("total", "products"))
    size = len(keys) + MORE
    if len(total) != size or len(upper) != size * (size + 1) // 2:
        raise ValueError("the sums of the groups of a column are not those of its features")
    if not (np.isfinite(total).all() and np.isfinite(upper).all()):
        raise ValueError("the sums of the groups of a column are not numbers")
    products = np.zeros((size, size))
    products[np.triu_indices(size)] = upper
    products += np.triu(products, 1).T
    rows, groups = int(stored["rows"]), int(stored["groups"])
    totals = UnitTotals(groups, total, products)
    if groups:
        totals.require_sound(rows, 1.0)
    return AspectUnits(keys, totals, rows)


def measure_to_dict(measure: Measure) -> dict[str, Any]:
    """Return how a column is counted, as plain values."""
    return {
        "name": measure.name,
        "kind": measure.kind,
        "counted": measure.counted,
        "center": measure.center,
        "scale": measure.scale,
        "clock": measure.clock,
        "of_array": measure.of_array,
    }


def measure_from_dict(stored: Mapping[str, Any]) -> Measure:
    """Return the measure that plain values describe."""
    center, scale = float(stored["center"]), float(stored["scale"])
    if not scale > 0 or not math.isfinite(center) or stored["counted"] not in ("numbers", "labels", "cells"):
        raise ValueError(f"the unit of the column {stored['name']!r} is not valid")
    name, kind, clock = (str(stored[key]) for key in ("name", "kind", "clock"))
    return Measure(name, kind, stored["counted"], center, scale, clock, bool(stored["of_array"]))


def packed(values: FloatArray, kind: str) -> str:
    """Return numbers as text."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(values, dtype=kind).tobytes(), 6)).decode(
        "ascii"
    )


def unpacked(text: str, kind: str) -> FloatArray:
    """Return the numbers that a text stands for."""
    try:
        content = zlib.decompress(base64.b64decode(text, validate=True))
    except zlib.error as error:
        raise ValueError(f"the counts of a column are damaged ({error})") from None
    values: FloatArray = np.frombuffer(content, dtype=kind).astype(np.float64)
    return values
