"""Counts as plain values for files: short, and the same numbers when they are read.

Places on the lattice are kept as the steps between them, which compress to almost nothing, and the rows at
each as 32-bit floats: 7 digits, of counts that stand for a sample; `nammd.views.counts.rounded`.
"""

from __future__ import annotations

import base64
import sys
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nammd.errors.stored import MOST, Stored
from nammd.statistics.totals import MORE, UnitTotals
from nammd.views.counts import Counts, LabelCounts, NumberCounts, scaled
from nammd.views.grouped import AspectUnits, ColumnUnits
from nammd.views.lattice import FARTHEST, STEP
from nammd.views.marks import Marks

MAX = sys.float_info.max
COUNTED = ("numbers", "labels", "cells", "words")
CLOCKS = ("", "local", "zoned", "duration", "time of day")


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


def read_counts(stored: Stored, kind: str | None = None) -> Counts:
    """Return the counts that a file describes; `kind`: of a column that is counted in this way."""
    labels = "labels" in stored
    if kind is not None and labels == (kind == "numbers"):
        raise stored.wrong(f"counts of {kind}")
    missing = stored["missing"].number(0, MOST)
    if labels:
        return LabelCounts({k: v.number(0, MOST) for k, v in stored["labels"].fields().items()}, missing)
    exact, present = stored["exact"].truth(), stored["present"].whole()
    if exact:
        places = stored["places"].unpacked(folded=True, least=-FARTHEST, most=FARTHEST)
    else:
        steps = stored["places"].unpacked(kind="<i4", folded=True)
        places = np.cumsum(steps) * STEP
        if len(places) and not (places.min() >= -FARTHEST and places.max() <= FARTHEST):
            raise stored["places"].wrong(f"places between {-FARTHEST:g} and {FARTHEST:g}")
    if len(places) > 1 and not (np.diff(places) > 0).all():
        raise stored["places"].wrong("places in ascending order")
    rows = stored["rows"].unpacked(len(places), "<f4", folded=True, least=0, most=MOST)
    if bool(rows.sum() > 0) != (present > 0):
        raise stored["present"].wrong("the number of rows at its places")
    return NumberCounts(places, scaled(rows, present), missing, exact, Marks.read(stored))


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


def read_units(stored: Stored) -> ColumnUnits:
    """Return the groups of a column that a file describes."""
    return {aspect: _read_aspect(each) for aspect, each in stored.fields().items()}


def _read_aspect(stored: Stored) -> AspectUnits:
    keys = tuple(
        each.whole(-MOST) if isinstance(each.value, int) else each.text() for each in stored["keys"].each()
    )
    if len(set(keys)) < len(keys):
        raise stored["keys"].wrong("keys that differ from one another")
    size = len(keys) + MORE
    total = stored["total"].unpacked(size, folded=True)
    products = np.zeros((size, size))
    products[np.triu_indices(size)] = stored["products"].unpacked(size * (size + 1) // 2, folded=True)
    products += np.triu(products, 1).T
    rows, groups = stored["rows"].whole(), stored["groups"].whole()
    totals = UnitTotals(groups, total, products)
    if groups:
        try:
            totals.require_sound(rows, 1.0)
        except ValueError as error:
            raise ValueError(f"{stored.said}{stored['products'].path}: {error}") from None
    elif total.any() or products.any():
        raise stored["groups"].wrong("the number of groups that its sums are of")
    return AspectUnits(keys, totals, rows)


def packed(values: ArrayLike, kind: str) -> str:
    """Return numbers as text."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(values, dtype=kind).tobytes(), 6)).decode(
        "ascii"
    )
