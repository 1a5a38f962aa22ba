"""Skewness, and terms for comparisons, of samples whose rows belong together.

The same averages as over rows, taken over units of the effective number; see `nammd.statistics.units`.
"""

from __future__ import annotations

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.skewness import CarefulSkewness, Grams, Influences
from nammd.statistics.standing import Rows, RowsOfX, SampleTerms, UnitScale, form_of
from nammd.statistics.units import UnitSide


def unit_skewness(
    sides: tuple[UnitSide, UnitSide], chosen: tuple[Rows, Rows], grams: tuple[Grams, Grams]
) -> CarefulSkewness:
    """Return what is of higher order, from the influences of units and the Gram matrices of some."""
    x, y = (_influences(side, some) for side, some in zip(sides, chosen, strict=True))
    return CarefulSkewness(x, y, *grams)


def unit_terms(
    sides: tuple[UnitSide, UnitSide],
    chosen: tuple[Rows, Rows],
    grams: Grams,
    scaling: tuple[float, float, bool],
    common: tuple[Rows, Rows],
) -> tuple[SampleTerms, SampleTerms, float, RowsOfX]:
    """Return the terms of both samples, how they meet, and the units of x; see `standing.row_terms`.

    `common` are the places, in x and in y, of the units that are in both.
    """
    slope, scale, normed = scaling
    phi = [2 * (slope * p - q) / scale for p, q in (side.influences for side in sides)]
    eta = [2 * side.influences[0] / scale * normed for side in sides]
    some = [influence[units] for influence, units in zip(phi, chosen, strict=True)]
    felt: FloatArray = grams.cross @ some[1] / len(some[1])
    terms = [
        SampleTerms(
            size=side.effective,
            second=float(influence @ influence) / side.effective,
            third=float(np.sum(influence**3)) / side.effective,
            bias=float(influence @ norm) / side.effective,
            form=form_of(gram, few),
        )
        for side, influence, norm, gram, few in zip(sides, phi, eta, (grams.x, grams.y), some, strict=True)
    ]
    crossed = float(np.mean(some[0] * felt))
    p, q = sides[0].influences
    joint = len(common[0]) > 0
    if joint:  # a unit moves the distance from both sides
        q, (other_p, other_q) = q.copy(), sides[1].influences
        moved = (slope * other_p - other_q)[common[1]]
        q[common[0]] -= moved * sides[0].effective / sides[1].effective
    units = RowsOfX(slope, scale, normed, q, felt, p, chosen[0], grams.x, _scale(sides[0]), joint)
    return terms[0], terms[1], crossed, units


def _scale(side: UnitSide) -> UnitScale:
    """Return what turns products of influences into the covariance by the jackknife."""
    share = side.units.sizes / side.units.sizes.sum()
    return UnitScale(side.effective, (len(share) - 1) / len(share) / (1 - share) ** 2, side.units.reach)


def _influences(side: UnitSide, chosen: Rows) -> Influences:
    p, q = side.influences
    return Influences.summed(p, q, chosen, side.effective)
