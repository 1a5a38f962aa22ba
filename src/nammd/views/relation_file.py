"""How columns go together, in a file: `limits_to_dict` and back, each part checked when it is read."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.errors.stored import MOST as MOST_ROWS
from nammd.errors.stored import Stored
from nammd.views.classes import LEVELS, MOST, Classes
from nammd.views.former_relations import former_classes, former_pairs, former_quantiles
from nammd.views.measure import Measure
from nammd.views.relation_limits import RelationLimits
from nammd.views.relations import MOST_PAIRS, Columns, SampleRelations
from nammd.views.serial import MAX, packed
from nammd.views.serial_columns import coded, joined, parts, read_coded, steps_within, sums_within

_SIZE = MOST + 1


def limits_to_dict(limits: RelationLimits) -> dict[str, Any]:
    """Return limits as plain values."""
    columns = limits.reference.columns
    places = {name: place for place, name in enumerate(columns.classes)}
    return {
        "columns": _classes_to_dict(columns.classes),
        "pairs": packed([(places[one], places[two]) for one, two in columns.pairs], "<u4"),
        "negligible": packed(limits.negligible, "<f8"),
        "reference": _sample_to_dict(limits.reference),
        "accepted": [{"label": label, **_sample_to_dict(each)} for label, each in limits.accepted],
    }


def read_limits(stored: Stored, measures: Mapping[str, Measure]) -> RelationLimits:
    """Return the limits that a file describes; `measures` are the columns that there are."""
    former = isinstance(stored["columns"].value, list)
    read_them, read_pairs = (former_classes, former_pairs) if former else (_read_classes, _read_pairs)
    classes = read_them(stored["columns"], measures)
    names, pairs = list(classes), dict[tuple[str, str], None]()
    for one, two in read_pairs(stored["pairs"], len(names)):
        if one == two or (names[one], names[two]) in pairs:
            raise stored["pairs"].wrong("two columns each, and each two once")
        pairs[names[one], names[two]] = None
    columns = Columns(classes, tuple(pairs))
    negligible = stored["negligible"].unpacked(len(pairs), folded=True, least=sys.float_info.min)
    accepted = tuple(
        (each["label"].text(), _read_sample(each, columns)) for each in stored["accepted"].each()
    )
    return RelationLimits(_read_sample(stored["reference"], columns), negligible, accepted)


def _classes_to_dict(classes: Mapping[str, Classes]) -> dict[str, Any]:
    every = list(classes.values())
    return {
        "names": list(classes),
        "cuts": packed([len(each.edges) for each in every], "<u1"),
        "edges": packed(joined(each.edges for each in every), "<f8"),
        "labels": [list(each.labels) for each in every if not each.ordered],
        "ranked": coded(each.ranked for each in every),
        "shares": packed(joined(each.shares for each in every), "<f8"),
    }


def _read_classes(stored: Stored, measures: Mapping[str, Measure]) -> dict[str, Classes]:
    names = stored["names"].texts()
    if len(set(names)) < len(names) or not set(names) <= measures.keys():
        raise stored["names"].wrong("columns that have a limit, and each one once")
    own = [measures[name] for name in names]
    ordered = np.array([measure.counted == "numbers" for measure in own], bool)
    cuts = stored["cuts"].unpacked(len(names), "<u1", folded=True).astype(np.intp)
    edges = stored["edges"].unpacked(int(cuts.sum()), folded=True, least=-MAX, most=MAX)
    if (steps_within(edges, cuts) < 0).any():
        raise stored["edges"].wrong("numbers in ascending order for each column")
    listed = [each.texts() for each in stored["labels"].each()]
    if len(listed) != np.count_nonzero(~ordered):
        raise stored["labels"].wrong("one entry for each column of labels")
    labels: list[tuple[str, ...]] = [()] * len(names)
    for place, each in zip(np.flatnonzero(~ordered).tolist(), listed, strict=True):
        labels[place] = each
    ranked = read_coded(stored["ranked"], len(names), Stored.truth)
    counts = 1 + np.where(ordered, cuts, [len(each) for each in labels])
    if not ((counts >= 2) & (counts <= MOST) & (ordered | ~np.array(ranked, bool))).all():
        raise stored.wrong(f"those of 2 to {MOST} classes for each column")
    shares = stored["shares"].unpacked(int(counts.sum()) + len(names), folded=True, least=0, most=1)
    if (np.abs(sums_within(shares, counts + 1) - 1) > 1e-6).any():
        raise stored["shares"].wrong("shares that add up to 1 for each column")
    made = (edges[part] for part in parts(cuts)), (shares[part] for part in parts(counts + 1))
    return dict(zip(names, map(Classes, own, made[0], labels, ranked, made[1]), strict=True))


def _read_pairs(stored: Stored, columns: int) -> list[list[int]]:
    found = stored.unpacked(kind="<u4", folded=True, most=columns - 1)
    if len(found) > 2 * MOST_PAIRS:  # before each of them takes the room of an object
        raise stored.wrong(f"at most {MOST_PAIRS} pairs of columns")
    if len(found) % 2:
        raise stored.wrong("two columns each, and each two once")
    each: list[list[int]] = found.astype(int).reshape(-1, 2).tolist()
    return each


def _sample_to_dict(sample: SampleRelations) -> dict[str, Any]:
    whole = bool((sample.counts == np.rint(sample.counts)).all() and (sample.counts < 2**32).all())
    return {
        "quantiles": packed(joined(sample.quantiles[name] for name in _ranked(sample.columns)), "<f8"),
        "whole": whole,
        "counts": packed(sample.counts, "<u4" if whole else "<f8"),
        "sizes": packed(sample.sizes, "<f8"),
    }


def _read_sample(stored: Stored, columns: Columns) -> SampleRelations:
    count = len(columns.pairs)
    kind = "<u4" if stored["whole"].truth() else "<f8"
    counts = stored["counts"].unpacked(count * _SIZE * _SIZE, kind, folded=True, least=0, most=MOST_ROWS)
    sizes = stored["sizes"].unpacked(count, folded=True, least=0, most=MOST_ROWS)
    ranked, place = _ranked(columns), stored["quantiles"]
    if isinstance(place.value, dict):
        quantiles = former_quantiles(place, ranked)
    else:
        quantiles = dict(zip(ranked, _read_quantiles(place, len(ranked)), strict=True))
    counts = counts.reshape(count, _SIZE, _SIZE)
    if count and (counts.sum(axis=(1, 2)) <= 0).any():
        raise stored["counts"].wrong("tables with rows")
    return SampleRelations(columns, quantiles, counts, sizes)


def _ranked(columns: Columns) -> list[str]:
    """Return the columns whose classes are ranks."""
    return [name for name, each in columns.classes.items() if each.ranked]


def _read_quantiles(stored: Stored, columns: int) -> FloatArray:
    found = stored.unpacked(columns * len(LEVELS), folded=True, least=-MAX, most=MAX)
    found = found.reshape(columns, len(LEVELS))
    if (np.diff(found) < 0).any():
        raise stored.wrong("numbers in ascending order for each column")
    return found
