"""Accepted data as plain values, for the file of a tolerance."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.row_units import RowUnits
from nammd.engines.sums import CrossSums, WithinSums
from nammd.errors.stored import LARGEST, Stored
from nammd.evidence.accepted import Sums
from nammd.evidence.nearest import MOST_MOVED
from nammd.tolerances.accepted import (
    FINE_ROWS,
    MOST_ROWS,
    QUANTILES,
    AcceptedDataset,
    AcceptedSet,
    ColumnMap,
    Quantiles,
    placed,
)
from nammd.tolerances.former_file import read_former_home, read_former_maps
from nammd.tolerances.kept_sums import KeptSums
from nammd.tolerances.pair_file import packed
from nammd.views.nearest import STEPS
from nammd.views.serial import packed as folded


def accepted_to_dict(accepted: AcceptedSet) -> dict[str, Any]:
    """Return accepted data as plain values."""
    return {
        "datasets": [_dataset_to_dict(each) for each in accepted.datasets],
        "home": {
            "slots": folded([each.slot for each in accepted.home], "<i4"),
            "flags": folded([each.flag for each in accepted.home], "<i4"),
            "units": packed([each.unit for each in accepted.home]),
            "values": packed([each.values for each in accepted.home]),
        },
        **_sums_to_dict(accepted.within, accepted.between),
        "kept": _kept_to_dict(accepted.kept) if accepted.kept else None,
    }


def _kept_to_dict(kept: Mapping[float, KeptSums]) -> dict[str, Any]:
    every = {
        scale: {"reference": each.reference, **_sums_to_dict(each.within, each.between)}
        for scale, each in kept.items()
    }
    return {**every[1.0], "finer": [{"scale": s, **each} for s, each in every.items() if s != 1.0]}


def _sums_to_dict(within: Mapping[int, WithinSums], between: Sums) -> dict[str, Any]:
    return {
        "within": [
            {"of": k, "rows": packed(sums.rows), "squares": sums.squares}
            for k, sums in sorted(within.items())
        ],
        "between": [
            {"of": list(both), "rows": packed(s.rows), "cols": packed(s.cols), "squares": s.squares}
            for both, s in sorted(between.items())
        ],
    }


def read_accepted(stored: Stored, bound: float, width: int, rows: int) -> AcceptedSet:
    """Return the accepted data that a file describes.

    Parameters
    ----------
    stored : Stored
        What stands there.
    bound : float
        That of the kernel.
    width : int
        How many coordinates points have.
    rows : int
        How many rows the reference has.
    """
    home = _read_home(stored["home"], width)
    datasets = tuple(_read_dataset(each, width, home) for each in stored["datasets"].each())
    if len({each.label for each in datasets}) < len(datasets):
        raise stored["datasets"].wrong("datasets with labels that differ from one another")
    sizes = [len(each.points) for each in datasets]
    within, between = _read_sums(stored, sizes, bound)
    alone = any(each.units is not None for each in datasets)
    numbers = range(0 if alone else len(datasets))
    if set(within) != set(numbers):
        raise stored["within"].wrong("sums for each of the accepted datasets")
    if set(between) != {(a, b) for a in numbers for b in numbers if a < b}:
        raise stored["between"].wrong("sums for each two of the accepted datasets")
    found = AcceptedSet(datasets, home, within, between)
    here = stored.get("kept")
    return replace(found, kept=_read_kept(here, found, rows, bound)) if here.there else found


def _read_kept(stored: Stored, accepted: AcceptedSet, rows: int, bound: float) -> dict[float, KeptSums]:
    def corners(most: int, each_most: int, moved: int) -> list[int]:
        """Return how many rows every corner has."""
        own, copies = min(rows, most), sum(len(STEPS) for each in accepted.datasets if each.maps)
        sizes = [min(len(each.points), each_most) for each in accepted.datasets]
        return [own, *sizes, *[min(own, moved)] * copies]

    def read(one: Stored, sizes: Sequence[int]) -> KeptSums:
        return KeptSums(one["reference"].text(), *_read_sums(one, sizes, bound))

    kept, fine = {1.0: read(stored, corners(rows, MOST_ROWS, MOST_MOVED))}, dict[float, KeptSums]()
    if (finer := stored.get("finer")).there:
        sizes = corners(FINE_ROWS, accepted.fine_rows, MOST_MOVED // 2)
        for each in finer.each():
            fine[each["scale"].number(0, 1)] = read(each, sizes)
        parts = [(set(each.within), set(each.between)) for each in fine.values()]
        if any(part != parts[0] for part in parts):
            raise finer.wrong("sums of the same parts at every scale")
    return kept | fine


def _read_sums(stored: Stored, sizes: Sequence[int], bound: float) -> tuple[dict[int, WithinSums], Sums]:
    """Return the sums within samples of some sizes, and between each two of them, by their numbers."""
    last, within, between = len(sizes) - 1, dict[int, WithinSums](), Sums()
    for each in stored["within"].each():
        k = each["of"].whole(0, last)
        rows = _sums(each["rows"], sizes[k], bound * sizes[k])
        within[k] = WithinSums(rows, each["squares"].number(0, (bound * sizes[k]) ** 2))
    for each in stored["between"].each():
        one, other = each["of"].pair()
        a = one.whole(0, last)
        b = other.whole(a + 1, last)
        rows = _sums(each["rows"], sizes[a], bound * sizes[b])
        cols = _sums(each["cols"], sizes[b], bound * sizes[a])
        if abs(rows.sum() - cols.sum()) > 1e-6 * bound * sizes[a] * sizes[b]:
            raise each["cols"].wrong(f"sums that add up to those of {each['rows'].path}")
        squares = each["squares"].number(0, bound**2 * sizes[a] * sizes[b])
        between[a, b] = CrossSums(rows, cols, squares, None)
    return within, between


def _dataset_to_dict(dataset: AcceptedDataset) -> dict[str, Any]:
    kept = (dataset.points - dataset.center) / dataset.unit
    numbers = np.ascontiguousarray(kept, dtype="<f4").tobytes()
    return {
        "label": dataset.label,
        "rows": dataset.rows,
        "added": dataset.added,
        "reason": dataset.reason,
        "center": packed(dataset.center),
        "unit": packed(dataset.unit),
        "points": base64.b64encode(zlib.compress(numbers, 1)).decode("ascii"),
        "units": None if dataset.units is None else _units_to_dict(dataset.units),
        "maps": {
            "slots": folded([each.slot for each in dataset.maps], "<i4"),
            "after": packed(np.concatenate([np.empty(0), *[each.after for each in dataset.maps]])),
        },
    }


def _read_dataset(stored: Stored, width: int, home: Sequence[Quantiles]) -> AcceptedDataset:
    center = stored["center"].unpacked(width)
    unit = stored["unit"].unpacked(width, least=1 / LARGEST)
    kept = stored["points"].unpacked(kind="<f4", folded=True)
    rows = stored["rows"].whole(4)
    if len(kept) != width * min(rows, MOST_ROWS):
        raise stored["points"].wrong(f"{min(rows, MOST_ROWS)} rows of {width} numbers")
    points = placed(kept.reshape(-1, width), center, unit)
    if not np.abs(points).max() <= LARGEST:
        raise stored["points"].wrong("numbers that are finite")
    return AcceptedDataset(
        stored["label"].text(),
        rows,
        points,
        center,
        unit,
        _read_maps(stored["maps"], width, home),
        stored["added"].text(),
        stored["reason"].text(),
        _read_units(stored["units"], len(points)) if stored["units"].there else None,
    )


def _read_home(stored: Stored, width: int) -> tuple[Quantiles, ...]:
    if isinstance(stored.value, list):
        return read_former_home(stored, width)
    slots = stored["slots"].unpacked(kind="<i4", folded=True, least=0, most=width - 1)
    flags = stored["flags"].unpacked(len(slots), "<i4", folded=True, least=-1, most=width - 1)
    units = stored["units"].unpacked(len(slots), least=1 / LARGEST)
    values = stored["values"].unpacked(len(slots) * len(QUANTILES)).reshape(-1, len(QUANTILES))
    if (np.diff(values) < 0).any():
        raise stored["values"].wrong("numbers in ascending order for each column")
    places = zip(slots.astype(int).tolist(), flags.astype(int).tolist(), units.tolist(), strict=True)
    return tuple(Quantiles(*place, one) for place, one in zip(places, values, strict=True))


def _read_maps(stored: Stored, width: int, home: Sequence[Quantiles]) -> tuple[ColumnMap, ...]:
    """Return where the numbers of columns go; before, they are where the reference has them."""
    if isinstance(stored.value, list):
        return read_former_maps(stored, width)
    known = {each.slot: each for each in home}
    slots = stored["slots"].unpacked(kind="<i4", folded=True)
    if len(slots) > len(known) or not known.keys() >= set(slots.tolist()):
        raise stored["slots"].wrong("those of columns of the reference")
    moved = [known[slot] for slot in slots.astype(int).tolist()]
    before = [np.unique(each.values) for each in moved]
    ends = np.cumsum([0, *map(len, before)])
    after = np.split(stored["after"].unpacked(int(ends[-1])), ends[1:-1])
    return tuple(
        ColumnMap(one.slot, one.flag, knots, there)
        for one, knots, there in zip(moved, before, after, strict=False)
    )


def _units_to_dict(units: RowUnits) -> dict[str, Any]:
    return {
        "codes": packed(units.codes.astype(np.float64)),
        "names": None if units.names is None else list(units.names),
        "weights": None if units.weights is None else packed(units.weights),
        "reach": units.reach,
        "length": units.length,
        "period": units.period,
        "too_long": units.too_long,
    }


def _read_units(stored: Stored, rows: int) -> RowUnits:
    names = stored["names"].texts() if stored["names"].there else None
    most = MOST_ROWS * 1_000_000 if names is None else len(names) - 1
    codes = stored["codes"].unpacked(rows, least=0, most=most).astype(np.intp)
    if names is not None and len(set(names)) < len(names):
        raise stored["names"].wrong("names that differ from one another")
    if names is not None and len(np.unique(codes)) < len(names):
        raise stored["codes"].wrong("the numbers of all its names")
    weights = stored["weights"].unpacked(rows, least=1e-12, most=1e12) if stored["weights"].there else None
    return RowUnits(
        codes,
        names,
        weights,
        stored["reach"].whole(0, 1),
        length=stored["length"].whole(),
        period=stored["period"].whole(),
        too_long=stored["too_long"].truth(),
    )


def _sums(stored: Stored, rows: int, most: float) -> FloatArray:
    return stored.unpacked(rows, least=-most * (1 + 1e-6), most=most * (1 + 1e-6))
