"""What is negligible in a column of rows that belong together, by groups: the distance to what they would be.

The same as in `nammd.views.negligible`, but a row is compared with no row of its own group, nor with what
becomes of one: of few groups that would make a change look larger than it is.
"""

from __future__ import annotations

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.row_units import RowUnits
from nammd.views.features import MISSING, ColumnRows, UnitFeatures, aligned, unit_features, united
from nammd.views.grouped import MOST_KEPT
from nammd.views.lattice import bent, straight
from nammd.views.negligible import Changes, distance_to_mixture
from nammd.views.support import APART


def negligible_by_groups(column: ColumnRows, units: RowUnits, changes: Changes) -> dict[str, float]:
    """Return what is negligible in each aspect of a column; nothing where single rows tell as much.

    That is, where every row is a group of its own, or there are so many groups that pairs within one hardly
    count.
    """
    if units.reach or not 4 <= units.count <= MOST_KEPT:
        return {}
    if units.all_alike:
        return {}
    codes = units.codes if units.names is not None else np.arange(len(units.codes))
    count = int(codes.max()) + 1
    found = {}
    for aspect in column.aspects:
        own = unit_features(column, aspect, codes, units.weights, count)
        if len(own.sizes) < 4:
            continue
        if aspect != "values":
            found[aspect] = _of_labels(own, aspect, changes)
            continue
        assert column.places is not None
        moved = ColumnRows(places=bent(straight(column.places) + changes.shift))
        found[aspect] = _between(own, unit_features(moved, aspect, codes, units.weights, count))
    return found


def _between(own: UnitFeatures, moved: UnitFeatures) -> float:
    """Return the distance of groups to the same ones after a change."""
    wanted = united(own.keys, moved.keys)
    z = []
    for each in (own, moved):
        on = np.zeros((len(each.z), len(wanted)))
        on[:, aligned(each.keys, wanted)] = each.z
        z.append(on)
    xx, yy, xy = (_mean(one, two, own.sizes) for one, two in ((z[0], z[0]), (z[1], z[1]), (z[0], z[1])))
    return (xx + yy - 2 * xy) / (4.0 - xx - yy)


def _of_labels(own: UnitFeatures, aspect: str, changes: Changes) -> float:
    mean, size = _mean(own.z, own.z, own.sizes), float(own.sizes.sum())
    gone = 0.0
    if MISSING in own.keys:
        gone = float(own.z[:, own.keys.index(MISSING)].sum()) / (size * np.sqrt(1 - APART))
    lost = distance_to_mixture(mean, APART + (1 - APART) * gone, changes.missing)
    return lost if aspect == "missing" else max(lost, distance_to_mixture(mean, APART, changes.categories))


def _mean(one: FloatArray, two: FloatArray, sizes: FloatArray) -> float:
    """Return the mean kernel value of two rows of different groups."""
    pairs = float(sizes.sum()) ** 2 - float(sizes @ sizes)
    return float(one.sum(axis=0) @ two.sum(axis=0) - np.einsum("ij,ij->", one, two)) / pairs
