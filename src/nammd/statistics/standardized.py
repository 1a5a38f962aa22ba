"""How different two samples are, column by column: a quick description, not a test."""

from __future__ import annotations

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.magnitudes import unit_of

LARGEST = 10.0
"""No difference counts for more, so that constants stay finite."""


def standardized_difference(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return, for every column, the larger of its differences in location and in scale.

    Location is the difference of the means in units of the pooled standard deviation, scale the
    logarithm of the ratio of the standard deviations. Neither exceeds 10, so that a column that is
    constant in one sample comes first and stays finite.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[-1.0, -1.0, 5.0], [1.0, 1.0, 5.0]])
    >>> y = np.array([[1.0, -2.0, 5.0], [3.0, 2.0, 5.0]])
    >>> standardized_difference(x, y).round(3)
    array([2.   , 0.693, 0.   ])
    """
    units = unit_of(x, y, axis=0)
    x, y = x / units, y / units
    spreads = np.stack([x.std(axis=0), y.std(axis=0)])
    gap = np.abs(x.mean(axis=0) - y.mean(axis=0))
    # Differences this small are rounding: a constant column of 0.1 has a spread of 1e-17.
    rounding = 1e-10 * np.maximum(np.abs(x).max(axis=0), np.abs(y).max(axis=0))
    gap[gap <= rounding] = 0.0
    spreads[spreads <= rounding] = 0.0
    pooled = np.sqrt((spreads**2).mean(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        location = np.nan_to_num(gap / pooled, nan=0.0, posinf=LARGEST)
        scale = np.nan_to_num(np.abs(np.log(spreads[0] / spreads[1])), nan=0.0, posinf=LARGEST)
    larger: FloatArray = np.minimum(np.maximum(location, scale), LARGEST)
    return larger
