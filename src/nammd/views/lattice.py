"""Numbers on a fine lattice: where a value is on the scale of its column, and linear binning.

The scale of a column is that of the encoding: the median of the reference is 0 and one robust standard
deviation is 1. Beyond eight of them it bends to a logarithm, so that two numbers far out differ by their
ratio: values that are a hundred times too large are as far from everything as a bounded kernel can tell, and
still apart from those that are a thousand times too large. Beyond a billion it bends once more, so that any
number is at most 200 away: a lattice has a hundred thousand points at most, whatever the values are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray, namespace

STEP = 1.0 / 256
"""How far the points of the lattice are apart, in robust standard deviations."""

BEND = 8.0
"""From here on the scale is logarithmic."""

BEND_AGAIN = 160.0
"""From this place on, that of values a billion standard deviations out, it is the logarithm of that."""

FARTHEST = 200.0
"""No place is farther out."""


def bent(scaled: Any) -> Any:
    """Return where scaled values are; those beyond the bend come nearer, in their order."""
    xp = namespace(scaled)
    size = xp.abs(scaled)
    if 0 in size.shape or size.max() <= BEND:
        return scaled
    placed = 1.0 * scaled
    far = size > BEND
    out = BEND * (1.0 + xp.log(size[far] / BEND))
    again = out > BEND_AGAIN
    out[again] = BEND_AGAIN + BEND * xp.log(out[again] / BEND_AGAIN)
    placed[far] = xp.sign(scaled[far]) * out
    return placed


def straight(placed: FloatArray) -> FloatArray:
    """Return the scaled values of places: the inverse of `bent`."""
    size = np.abs(placed)
    if not size.size or size.max() <= BEND:
        return placed
    scaled: FloatArray = placed.copy()
    far = size > BEND
    out = size[far]
    again = out > BEND_AGAIN
    out[again] = BEND_AGAIN * np.exp((out[again] - BEND_AGAIN) / BEND)
    with np.errstate(over="ignore"):  # a little beyond the largest number, by rounding
        scaled[far] = np.sign(placed[far]) * np.nan_to_num(BEND * np.exp(out / BEND - 1.0))
    return scaled


def cells_there(places: Any) -> tuple[Any, Any, Any]:
    """Return the same as `cells` of the places of several columns, one in each row, where they are."""
    xp = namespace(places)
    position = places * (1.0 / STEP)
    start = xp.floor(xp.min(position, axis=1))
    position = position - start[:, None]
    cell = xp.astype(position, xp.int64)
    return start, cell, position - cell


def cells(places: FloatArray) -> tuple[int, NDArray[np.int64], FloatArray]:
    """Return the number of the first lattice point, and for each place its cell from there and its share.

    A place between two lattice points belongs to both; its share is what the upper one gets.
    """
    position = places * (1.0 / STEP)
    start = int(np.floor(position.min())) if position.size else 0
    position -= start
    cell = position.astype(np.int64)
    position -= cell
    return start, cell, position


def binned(places: FloatArray, weights: FloatArray | None = None) -> tuple[int, FloatArray]:
    """Return the rows at each point of the lattice, by linear binning, and the number of the first point."""
    start, cell, share = cells(places)
    return start, spread_over(cell, share, weights)


def spread_over(cell: NDArray[np.int64], share: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Divide rows between the two lattice points around each of them."""
    size = int(cell.max()) + 2 if cell.size else 1
    upper = share if weights is None else share * weights
    above = np.bincount(cell, upper, size).astype(np.float64, copy=False)
    return divided(np.bincount(cell, weights, size), above)


def divided(rows: NDArray[Any], above: FloatArray) -> FloatArray:
    """Return the rows at lattice points, given how many are in each cell, and what the upper points get."""
    found: FloatArray = rows - above
    found[1:] += above[:-1]
    return found
