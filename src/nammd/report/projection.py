"""Both samples in two dimensions, by principal components."""

from __future__ import annotations

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.report.model import Map, Witness
from nammd.report.source import Source, evenly

POINTS = 1500


def projection(source: Source, witness: Witness) -> Map | None:
    """Return a map of evenly spaced rows of both samples; None where they have but one dimension."""
    at = [evenly(side.rows, POINTS) for side in source.sides]
    parts = [side.encoded[rows] for side, rows in zip(source.sides, at, strict=True)]
    coordinates, shares = principal(np.concatenate(parts))
    if coordinates is None:
        return None
    split = len(parts[0])
    return Map(
        x=coordinates[:split],
        y=coordinates[split:],
        witness_x=witness.x[at[0]],
        witness_y=witness.y[at[1]],
        shares=shares,
    )


def principal(rows: FloatArray) -> tuple[FloatArray | None, tuple[float, float]]:
    """Return the first two principal components of the rows, and their shares of the variance.

    None where the rows do not vary in two dimensions. The sign of a component is arbitrary; it is
    fixed by making its largest loading positive, so that the same data give the same picture.
    """
    centred = rows - rows.mean(axis=0)
    scale = float(np.abs(centred).max())
    if rows.shape[1] < 2 or scale == 0:
        return None, (1.0, 0.0)
    _, singular, loadings = np.linalg.svd(centred / scale, full_matrices=False)
    if len(singular) < 2 or singular[1] <= 1e-9 * singular[0]:
        return None, (1.0, 0.0)
    axes = loadings[:2]
    signs = np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])
    share = singular[:2] ** 2 / (singular**2).sum()
    return centred @ (axes * signs[:, None]).T, (float(share[0]), float(share[1]))
