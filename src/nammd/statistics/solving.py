"""Two small problems that are solved in every check: a root in a bracket, and least squares without minus.

SciPy has both; importing the room where they are takes longer than all that they are needed for here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nammd.data.arrays import FloatArray

_EPSILON = float(np.finfo(np.float64).eps)
_NOTHING = 1e-18
"""A root nearer to zero need not be known better."""


def root_between(
    function: Callable[[float], float],
    low: tuple[float, float],
    high: tuple[float, float],
    accuracy: float = 1e-14,
) -> float:
    """Return where a function changes its sign, by the method of Chandrupatla (1997).

    It always keeps a bracket, so a function that jumps has a root where it jumps.

    Parameters
    ----------
    function : callable
        The function.
    low, high : pair of float
        Two places and the function there, of different signs.
    accuracy : float
        Of the result, relative.

    Examples
    --------
    >>> round(root_between(lambda x: x * x - 2.0, (0.0, -2.0), (2.0, 2.0)), 12)
    1.414213562373
    """
    (b, fb), (a, fa) = low, high
    c, fc, share = a, fa, 0.5
    while True:
        at = a + share * (b - a)
        value = function(at)
        if (value > 0) == (fa > 0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = at, value
        best, least = (a, fa) if abs(fa) < abs(fb) else (b, fb)
        nearest = (accuracy * abs(best) + _NOTHING) / abs(b - a) if b != a else 1.0
        if nearest > 0.5 or least == 0:
            return best
        along, risen = (a - b) / (c - b), (fa - fb) / (fc - fb)
        share = 0.5
        if risen**2 < along and (1 - risen) ** 2 < 1 - along:  # a curve through three points goes up or down
            share = fa / (fb - fa) * fc / (fb - fc)
            share += (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        share = min(max(share, nearest), 1 - nearest)


def nonnegative_least_squares(matrix: FloatArray, target: FloatArray) -> FloatArray:
    """Return the vector of no number below zero for which a product is nearest to a target.

    By the method of Lawson and Hanson (1974): numbers that would be below zero are zero, the others solve
    the equations.

    Examples
    --------
    >>> import numpy as np
    >>> nonnegative_least_squares(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -1.0]))
    array([2., 0.])
    """
    count = matrix.shape[1]
    found, free = np.zeros(count), np.zeros(count, dtype=bool)
    nothing = 10 * max(matrix.shape) * _EPSILON * float(np.abs(matrix).sum(axis=0).max())
    for _ in range(3 * count):
        slope = matrix.T @ (target - matrix @ found)
        slope[free] = 0.0
        if not slope.max() > nothing:
            break
        free[np.argmax(slope)] = True
        while free.any():
            solved = np.zeros(count)
            solved[free] = np.linalg.lstsq(matrix[:, free], target, rcond=None)[0]
            below = free & (solved <= 0)
            if not below.any():
                found = solved
                break
            # As far towards the solution as no number falls below zero; the one that stops it is zero then.
            way = float(np.min(found[below] / (found[below] - solved[below])))
            found += way * (solved - found)
            free &= found > _EPSILON * found.max(initial=0.0)
            found[~free] = 0.0
    return found
