"""How columns go together, in a file: `limits_to_dict` and back, each part checked when it is read."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.errors.stored import MOST as MOST_ROWS
from nammd.errors.stored import Stored
from nammd.views.classes import LEVELS, MOST, Classes
from nammd.views.measure import Measure
from nammd.views.relation_limits import RelationLimits
from nammd.views.relations import Columns, SampleRelations
from nammd.views.serial import MAX, packed

_SIZE = MOST + 1


def limits_to_dict(limits: RelationLimits) -> dict[str, Any]:
    """Return limits as plain values."""
    columns = limits.reference.columns
    names = list(columns.classes)
    return {
        "columns": [
            {
                "name": name,
                "edges": each.edges.tolist(),
                "labels": list(each.labels),
                "ranked": each.ranked,
                "shares": each.shares.tolist(),
            }
            for name, each in columns.classes.items()
        ],
        "pairs": [[names.index(one), names.index(two)] for one, two in columns.pairs],
        "negligible": packed(limits.negligible, "<f8"),
        "reference": _sample_to_dict(limits.reference),
        "accepted": [{"label": label, **_sample_to_dict(each)} for label, each in limits.accepted],
    }


def read_limits(stored: Stored, measures: Mapping[str, Measure]) -> RelationLimits:
    """Return the limits that a file describes; `measures` are the columns that there are."""
    classes = {}
    for each in stored["columns"].each():
        name = each["name"].text()
        if name not in measures or name in classes:
            raise each["name"].wrong("a column that has a limit, and each one once")
        classes[name] = _classes(each, measures[name])
    names, pairs = list(classes), dict[tuple[str, str], None]()
    for each in stored["pairs"].each():
        one, two = (k.whole(0, len(names) - 1) for k in each.pair())
        if one == two or (names[one], names[two]) in pairs:
            raise each.wrong("two columns, and each two once")
        pairs[names[one], names[two]] = None
    columns = Columns(classes, tuple(pairs))
    negligible = stored["negligible"].unpacked(len(pairs), folded=True, least=sys.float_info.min)
    accepted = tuple(
        (each["label"].text(), _read_sample(each, columns)) for each in stored["accepted"].each()
    )
    return RelationLimits(_read_sample(stored["reference"], columns), negligible, accepted)


def _classes(stored: Stored, measure: Measure) -> Classes:
    edges = stored["edges"].numbers(least=-MAX, most=MAX)
    if len(edges) > 1 and (np.diff(edges) < 0).any():
        raise stored["edges"].wrong("numbers in ascending order")
    made = Classes(measure, edges, stored["labels"].texts(), stored["ranked"].truth(), np.empty(0))
    if not 2 <= made.count <= MOST or (made.ranked and not made.ordered):
        raise stored["edges" if made.ordered else "labels"].wrong(f"those of 2 to {MOST} classes")
    shares = stored["shares"].numbers(made.count + 1, least=0.0, most=1.0)
    if abs(shares.sum() - 1) > 1e-6:
        raise stored["shares"].wrong("shares that add up to 1")
    return replace(made, shares=shares)


def _sample_to_dict(sample: SampleRelations) -> dict[str, Any]:
    whole = bool((sample.counts == np.rint(sample.counts)).all() and (sample.counts < 2**32).all())
    return {
        "quantiles": {name: each.tolist() for name, each in sample.quantiles.items()},
        "whole": whole,
        "counts": packed(sample.counts, "<u4" if whole else "<f8"),
        "sizes": packed(sample.sizes, "<f8"),
    }


def _read_sample(stored: Stored, columns: Columns) -> SampleRelations:
    count = len(columns.pairs)
    kind = "<u4" if stored["whole"].truth() else "<f8"
    counts = stored["counts"].unpacked(count * _SIZE * _SIZE, kind, folded=True, least=0, most=MOST_ROWS)
    sizes = stored["sizes"].unpacked(count, folded=True, least=0, most=MOST_ROWS)
    quantiles = {name: _read_quantiles(each) for name, each in stored["quantiles"].fields().items()}
    if set(quantiles) != {name for name, each in columns.classes.items() if each.ranked}:
        raise stored["quantiles"].wrong("those of the columns whose classes are ranks")
    counts = counts.reshape(count, _SIZE, _SIZE)
    if count and (counts.sum(axis=(1, 2)) <= 0).any():
        raise stored["counts"].wrong("tables with rows")
    return SampleRelations(columns, quantiles, counts, sizes)


def _read_quantiles(stored: Stored) -> FloatArray:
    found = stored.numbers(*LEVELS.shape, least=-MAX, most=MAX)
    if (np.diff(found) < 0).any():
        raise stored.wrong("numbers in ascending order")
    return found
