"""How columns go together, in a file: `limits_to_dict` and back, each part checked when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.views.classes import LEVELS, MOST, Classes
from nammd.views.measure import Measure
from nammd.views.relation_limits import RelationLimits
from nammd.views.relations import Columns, SampleRelations
from nammd.views.serial import packed, unpacked

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


def limits_from_dict(stored: Mapping[str, Any], measures: Mapping[str, Measure]) -> RelationLimits:
    """Return the limits that plain values describe; `measures` are the columns that there are."""
    unknown = [str(each["name"]) for each in stored["columns"] if str(each["name"]) not in measures]
    if unknown:
        raise ValueError(f"the column {unknown[0]!r} has classes, and no limit")
    classes = {str(each["name"]): _classes(each, measures[str(each["name"])]) for each in stored["columns"]}
    names = list(classes)
    pairs = tuple((names[int(one)], names[int(two)]) for one, two in stored["pairs"])
    if any(one == two for one, two in pairs) or len(set(pairs)) != len(pairs):
        raise ValueError("the pairs of columns are not pairs")
    columns = Columns(classes, pairs)
    negligible = unpacked(stored["negligible"], "<f8")
    if negligible.shape != (len(pairs),) or not (negligible > 0).all():
        raise ValueError("what is negligible for pairs of columns is not a number for each")
    accepted = tuple((str(each["label"]), _sample_from_dict(each, columns)) for each in stored["accepted"])
    return RelationLimits(_sample_from_dict(stored["reference"], columns), negligible, accepted)


def _classes(stored: Mapping[str, Any], measure: Measure) -> Classes:
    edges = np.array([float(edge) for edge in stored["edges"]])
    shares = np.array([float(share) for share in stored["shares"]])
    made = Classes(measure, edges, tuple(map(str, stored["labels"])), bool(stored["ranked"]), shares)
    sound = np.isfinite(edges).all() and (np.diff(edges) >= 0).all() and (shares >= 0).all()
    if not sound or not 2 <= made.count <= MOST or shares.shape != (made.count + 1,) or not shares.sum() > 0:
        raise ValueError(f"the classes of the column {measure.name!r} are not valid")
    return made


def _sample_to_dict(sample: SampleRelations) -> dict[str, Any]:
    whole = bool((sample.counts == np.rint(sample.counts)).all() and (sample.counts < 2**32).all())
    return {
        "quantiles": {name: each.tolist() for name, each in sample.quantiles.items()},
        "whole": whole,
        "counts": packed(sample.counts, "<u4" if whole else "<f8"),
        "sizes": packed(sample.sizes, "<f8"),
    }


def _sample_from_dict(stored: Mapping[str, Any], columns: Columns) -> SampleRelations:
    count = len(columns.pairs)
    counts = unpacked(stored["counts"], "<u4" if stored["whole"] else "<f8")
    sizes = unpacked(stored["sizes"], "<f8")
    if counts.shape != (count * _SIZE * _SIZE,) or sizes.shape != (count,):
        raise ValueError("the tables of pairs of columns are not those of its pairs")
    if not (np.isfinite(counts).all() and (counts >= 0).all() and np.isfinite(sizes).all()):
        raise ValueError("the tables of pairs of columns are not numbers of rows")
    quantiles = {str(name): _quantiles(each) for name, each in stored["quantiles"].items()}
    if set(quantiles) != {name for name, each in columns.classes.items() if each.ranked}:
        raise ValueError("the quantiles of columns are not those of its classes")
    return SampleRelations(columns, quantiles, counts.reshape(count, _SIZE, _SIZE), sizes)


def _quantiles(stored: Any) -> FloatArray:
    found = np.array([float(value) for value in stored])
    if found.shape != LEVELS.shape or not np.isfinite(found).all() or (np.diff(found) < 0).any():
        raise ValueError("the quantiles of a column are not numbers in order")
    return found
