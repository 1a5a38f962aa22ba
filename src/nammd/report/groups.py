"""What a report says about groups of rows: how many rows they have, and which of them stand out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.row_units import RowUnits
from nammd.questions.distance import Estimate
from nammd.report.model import GroupRow, Groups

SHOWN = 5


def groups_of(estimate: Estimate, names: tuple[str, str]) -> tuple[Groups, ...]:
    """Return what is known of the groups of both datasets; nothing where no rows belong together."""
    both = estimate.evidence.x.units, estimate.evidence.y.units
    if not estimate.evidence.x.keeps_rows or any(units is None or units.singles for units in both):
        return ()
    witness = estimate.witness_x, estimate.witness_y
    return tuple(
        _groups(name, other, units, values)
        for name, other, units, values in zip(names, names[::-1], both, witness, strict=True)
    )


def _groups(name: str, other: str, units: RowUnits, witness: FloatArray) -> Groups:
    codes, place = np.unique(units.codes, return_inverse=True)
    rows = np.bincount(place)
    weights = np.ones(len(place)) if units.weights is None else units.weights
    mean = np.bincount(place, weights * witness) / np.bincount(place, weights)
    first = np.argsort(-mean, kind="stable")[:SHOWN]
    return Groups(
        dataset=name,
        other=other,
        by=units.by if not units.reach else "block of time",
        count=len(codes),
        fewest=int(rows.min()),
        median=float(np.median(rows)),
        most=int(rows.max()),
        rows=tuple(
            GroupRow(
                f"block {codes[k] + 1}" if units.names is None else units.names[codes[k]],
                int(rows[k]),
                float(mean[k]),
            )
            for k in first
        ),
    )


def options_for(estimate: Estimate, *positions: NDArray[np.intp]) -> dict[str, Any]:
    """Return what the questions are to be told about some rows of the two datasets, by their positions."""
    both = estimate.evidence.x.units, estimate.evidence.y.units
    if all(units is None for units in both):
        return {}
    labels, weights = [], []
    for side, (units, rows) in enumerate(zip(both, positions, strict=True)):
        known = RowUnits.alone(int(rows.max()) + 1) if units is None else units
        codes = known.codes[rows]
        # What has no name is nobody else's.
        labels.append([f"{side}/{c}" if known.names is None else known.names[c] for c in codes])
        weights.append(np.ones(len(rows)) if known.weights is None else known.weights[rows])
    return {"groups": labels, "sample_weight": weights}
