"""Rows that have weights and are units of their own: what the programs for rows are given, and give back.

A weight is an exponent more of its row. The sums weighted by the sizes of units, which are the weights
themselves, come with those of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.engines.cuda.fetching import UnderWay
from nammd.engines.cuda.launch import Ladder
from nammd.engines.cuda.operands import Operands, prepare
from nammd.engines.units import UnitCross, Units, UnitWithin
from nammd.kernels.base import Exponential

LIGHTEST = -30.0
"""The smallest weight of a row beside the largest one, as a power of two: float32 holds products of two."""

SIZED = Ladder(sized=True)


@dataclass(frozen=True, eq=False)
class Weighted:
    """A sample of rows with weights, ready for the programs.

    Attributes
    ----------
    operands : Operands
        The rows.
    weights : torch.Tensor
        The weights, divided by the largest one.
    heaviest : float
        The largest one.
    """

    operands: Operands
    weights: Any
    heaviest: float


def only_weights(parts: Sequence[tuple[tuple[Any, Units], ...]]) -> bool:
    """Tell whether all units are single rows, and none is in two samples."""
    every = {id(units): units for part in parts for _, units in part}
    alone = all(len(units) == len(units.labels) and not units.reach for units in every.values())
    return alone and not any(_in_common(part[0][1], part[1][1]) for part in parts if len(part) == 2)


def _in_common(one: Units, other: Units) -> bool:
    a, b = one.numbers, other.numbers
    apart = a[-1] < b[0] or b[-1] < a[0]  # as those of two datasets mostly are
    return not apart and len(np.intersect1d(a, b, assume_unique=True)) > 0


def weighted(
    samples: Sequence[tuple[Any, Units]], terms: Sequence[Exponential], extra: int, two: bool
) -> list[Weighted] | None:
    """Return samples as the programs need them, centred alike; None where weights are too unlike."""
    import torch

    heaviest = [float(units.row_weights.max()) for _, units in samples]
    light = [units.row_weights / most for (_, units), most in zip(samples, heaviest, strict=True)]
    if any(math.log2(float(each.min())) < LIGHTEST for each in light):
        return None
    there = [torch.asarray(each, device=rows.device) for (rows, _), each in zip(samples, light, strict=True)]
    ready = prepare([rows for rows, _ in samples], terms, extra, two, log_weights=[w.log2() for w in there])
    found = []
    for one, weights, most in zip(ready, there, heaviest, strict=True):
        filled = torch.zeros(one.padded, dtype=torch.float32, device=weights.device)
        filled[: one.rows] = weights
        found.append(Weighted(replace(one, sizes=filled), weights, most))
    return found


def within(one: Weighted, rows: Any, columns: Any, squares: Any) -> UnderWay:
    """Go on to the sums over pairs of rows of one sample, from those that the programs leave behind."""
    most, (by_row, sized) = one.heaviest, (rows + columns)[:, : one.operands.rows]

    def found(by_row: FloatArray, sized: FloatArray, squares: FloatArray) -> UnitWithin:
        return UnitWithin(by_row, sized, float(squares))

    return UnderWay(found, by_row / one.weights * most, sized * most**3, squares[0] * most**4)


def cross(one: Weighted, other: Weighted, rows: Any, columns: Any, squares: Any) -> UnderWay:
    """Go on to the sums over pairs of a row of one sample and a row of the other, likewise."""
    both = one.heaviest * other.heaviest
    by_row, sized_rows = rows[:, : one.operands.rows]
    by_column, sized_columns = columns[:, : other.operands.rows]

    def found(
        rows: FloatArray,
        cols: FloatArray,
        sized_rows: FloatArray,
        sized_cols: FloatArray,
        squares: FloatArray,
    ) -> UnitCross:
        return UnitCross(rows, cols, sized_rows, sized_cols, float(squares))

    return UnderWay(
        found,
        by_row / one.weights * other.heaviest,
        by_column / other.weights * one.heaviest,
        sized_rows * both * other.heaviest,
        sized_columns * both * one.heaviest,
        squares[0] * both**2,
    )
