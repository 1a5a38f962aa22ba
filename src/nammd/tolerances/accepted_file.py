"""Accepted data as plain values, for the file of a tolerance."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.row_units import RowUnits
from nammd.engines.sums import CrossSums, WithinSums
from nammd.evidence.accepted import Sums
from nammd.tolerances.accepted import (
    MOST_ROWS,
    QUANTILES,
    AcceptedDataset,
    AcceptedSet,
    ColumnMap,
    Quantiles,
    placed,
)
from nammd.tolerances.pair_file import finite, packed, unpacked


def accepted_to_dict(accepted: AcceptedSet) -> dict[str, Any]:
    """Return accepted data as plain values."""
    return {
        "datasets": [_dataset_to_dict(each) for each in accepted.datasets],
        "home": [
            {"slot": each.slot, "flag": each.flag, "unit": each.unit, "values": packed(each.values)}
            for each in accepted.home
        ],
        "within": [
            {"of": k, "rows": packed(sums.rows), "squares": sums.squares}
            for k, sums in sorted(accepted.within.items())
        ],
        "between": [
            {"of": list(both), "rows": packed(s.rows), "cols": packed(s.cols), "squares": s.squares}
            for both, s in sorted(accepted.between.items())
        ],
    }


def accepted_from_dict(stored: Mapping[str, Any]) -> AcceptedSet:
    """Return the accepted data that plain values describe; a ValueError says what is wrong with them."""
    datasets = tuple(_dataset_from_dict(each) for each in stored["datasets"])
    sizes = [len(each.points) for each in datasets]
    within, between = dict[int, WithinSums](), Sums()
    for each in stored["within"]:
        k = int(each["of"])
        within[k] = WithinSums(_sums(each["rows"], sizes[k]), finite(each["squares"], "squares"))
    for each in stored["between"]:
        a, b = map(int, each["of"])
        rows, cols = _sums(each["rows"], sizes[a]), _sums(each["cols"], sizes[b])
        between[a, b] = CrossSums(rows, cols, finite(each["squares"], "squares"), None)
    count = 0 if any(each.units is not None for each in datasets) else len(datasets)
    if len(within) != count or len(between) != count * (count - 1) // 2:
        raise ValueError("what the accepted datasets know of each other is not complete")
    home = tuple(
        Quantiles(
            int(e["slot"]), int(e["flag"]), finite(e["unit"], "unit"), _sums(e["values"], len(QUANTILES))
        )
        for e in stored["home"]
    )
    return AcceptedSet(datasets, home, within, between)


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
        "points": base64.b64encode(zlib.compress(numbers)).decode("ascii"),
        "units": None if dataset.units is None else _units_to_dict(dataset.units),
        "maps": [
            {"slot": each.slot, "flag": each.flag, "before": packed(each.before), "after": packed(each.after)}
            for each in dataset.maps
        ],
    }


def _dataset_from_dict(stored: Mapping[str, Any]) -> AcceptedDataset:
    center = unpacked(stored["center"])
    width, unit = len(center), unpacked(stored["unit"])
    raw = zlib.decompressobj().decompress(
        base64.b64decode(stored["points"], validate=True), 4 * width * MOST_ROWS
    )
    points = placed(np.frombuffer(raw, dtype="<f4").reshape(-1, width), center, unit)
    if len(points) < 4 or not np.isfinite(points).all():
        raise ValueError("the rows of an accepted dataset are not numbers")
    maps = []
    for each in stored["maps"]:
        before, after = unpacked(each["before"]), unpacked(each["after"])
        slot, flag = int(each["slot"]), int(each["flag"])
        if len(before) != len(after) or not 0 <= slot < width or not -1 <= flag < width:
            raise ValueError("the columns of an accepted dataset are not those of its rows")
        maps.append(ColumnMap(slot, flag, before, after))
    return AcceptedDataset(
        str(stored["label"]),
        int(stored["rows"]),
        points,
        center,
        unit,
        tuple(maps),
        str(stored["added"]),
        str(stored["reason"]),
        None if stored["units"] is None else _units_from_dict(stored["units"], len(points)),
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


def _units_from_dict(stored: Mapping[str, Any], rows: int) -> RowUnits:
    codes = _sums(stored["codes"], rows).astype(np.intp)
    names = None if stored["names"] is None else tuple(map(str, stored["names"]))
    weights = None if stored["weights"] is None else _sums(stored["weights"], rows)
    if codes.min() < 0 or (names is not None and codes.max() >= len(names)):
        raise ValueError("the groups of an accepted dataset are not those of its rows")
    return RowUnits(
        codes,
        names,
        weights,
        int(stored["reach"]),
        length=int(stored["length"]),
        period=int(stored["period"]),
        too_long=bool(stored["too_long"]),
    )


def _sums(text: str, rows: int) -> FloatArray:
    found = unpacked(text)
    if len(found) != rows:
        raise ValueError("the sums of an accepted dataset are not those of its rows")
    return found
