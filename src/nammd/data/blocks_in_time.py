"""Rows in the order of time: `Blocks`, and how long a block has to be.

Rows that follow each other are alike. Cut into blocks of consecutive rows they can be treated like groups,
provided that a block is longer than the memory of the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.errors.checks import whole

LEAST_BLOCKS = 8
"""A length that is chosen from the data leaves at least so many blocks."""

RULE = "Politis and White's rule"


@dataclass(frozen=True)
class Blocks:
    """Rows in the order of time, in blocks of consecutive rows that belong together.

    Give it as ``groups=`` where rows follow each other in time and have no groups of their own. Pairs of rows
    in one block, and in neighbouring blocks, are left out of the distance, and variances are those of blocks.

    Parameters
    ----------
    time : str, optional
        The column that tells the time, by which rows are ordered; it is then left out of the comparison.
        By default the rows are in the order of time as they are.
    length : int, optional
        The rows of a block. By default it is chosen for each dataset from its columns, by the rule of
        Politis and White (2004) with the correction of Patton, Politis and White (2009): the longest that any
        column asks for.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> def series(rows, level):
    ...     noise, value, found = rng.normal(size=rows), 0.0, []
    ...     for step in noise:
    ...         value = 0.6 * value + step
    ...         found.append(value + level)
    ...     return np.array(found)
    >>> x, y = series(600, 0.0), series(600, 0.1)
    >>> plain, blocked = nammd.distance(x, y), nammd.distance(x, y, groups=nammd.Blocks(length=30))
    >>> bool(blocked.standard_error > plain.standard_error)
    True
    """

    time: str | None = None
    length: int | None = None

    def __post_init__(self) -> None:
        if self.length is not None:
            whole(self.length, "length")


def block_length(columns: list[FloatArray]) -> int:
    """Return the rows of a block that the columns of a series ask for.

    The rule of Politis and White (2004), as corrected by Patton, Politis and White (2009), for the circular
    block bootstrap; of several columns the longest, and at most an eighth of the rows.
    """
    rows = len(columns[0])
    wanted = max((_politis_white(column) for column in columns), default=1.0)
    return int(min(max(math.ceil(wanted), 1), max(rows // LEAST_BLOCKS, 1)))


def _politis_white(series: FloatArray) -> float:
    """Return the optimal length of a block for the mean of a series."""
    n = len(series)
    centred = series - series.mean()
    variance = float(centred @ centred) / n
    if not variance > 0 or n < 8:
        return 1.0
    most = math.ceil(math.sqrt(n)) + max(5, math.ceil(math.log10(n)))
    most = min(most, n - 1)
    covariances = np.array([float(centred[: n - k] @ centred[k:]) / n for k in range(most + 1)])
    correlations = covariances / variance
    # The first lag after which so many correlations in a row are no more than chance.
    needed, bar = max(5, math.ceil(math.sqrt(math.log10(n)))), 2 * math.sqrt(math.log10(n) / n)
    small = np.abs(correlations[1:]) < bar
    last = next((k for k in range(most - needed + 1) if small[k : k + needed].all()), None)
    if last is None:
        big = np.flatnonzero(~small)
        last = int(big[-1]) + 1 if len(big) else 1
    reach = min(2 * max(last, 1), most)
    lags = np.arange(-reach, reach + 1)
    window = np.clip(2 * (1 - np.abs(lags) / reach), 0.0, 1.0)  # flat in the middle, then a slope
    weighted = window * covariances[np.abs(lags)]
    spread, level = float(np.abs(lags) @ weighted), float(weighted.sum())
    if level <= 0:
        return 1.0
    return float((2 * spread**2 / (4 / 3 * level**2)) ** (1 / 3) * n ** (1 / 3))


def cut(rows: int, length: int) -> NDArray[np.intp]:
    """Return the number of each row's block; the last rows join the last whole block.

    >>> cut(7, 3).tolist()
    [0, 0, 0, 1, 1, 1, 1]
    """
    return np.minimum(np.arange(rows) // length, max(rows // length - 1, 0))
