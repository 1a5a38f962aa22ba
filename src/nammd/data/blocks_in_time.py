"""Rows in the order of time: `TimeBlocks`, and how long a block has to be.

Rows that follow each other are alike. Cut into blocks of consecutive rows they can be treated like groups,
provided that a block is longer than the memory of the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.memory_in_time import (
    DOUBT,
    SURE,
    Decay,
    between_seasons,
    decay_of,
    period_of,
    ranked,
    without_season,
)
from nammd.errors.checks import whole

LEAST_BLOCKS = 8
"""A length that is chosen from the data leaves at least so many blocks."""

RULE = "Politis and White's rule"

LONG_MEMORY = 0.15
"""The order of fractional noise from which on an eighth of the rows may be too short a block: .2 then has
levels of .03 to .10 at .05, and .3 up to .16."""

TOO_SHORT = 2.0
"""A block is too short where one of so many times its length would be best."""


@dataclass(frozen=True)
class TimeBlocks:
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
        column asks for, and longer where their memory fades slowly.
    period : int, optional
        The rows of a season, such as 12 for months or 7 for days: a block has whole seasons. By default it is
        looked for in each dataset.

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
    >>> plain, blocked = nammd.distance(x, y), nammd.distance(x, y, groups=nammd.TimeBlocks(length=30))
    >>> bool(blocked.standard_error > plain.standard_error)
    True
    """

    time: str | None = None
    length: int | None = None
    period: int | None = None

    def __post_init__(self) -> None:
        if self.length is not None:
            whole(self.length, "length")
        if self.period is not None:
            whole(self.period, "period", least=2)
            if self.length is not None:
                raise ValueError(
                    "blocks have a length or a period, by which their length is chosen; give one"
                )


class ChosenBlocks(NamedTuple):
    """How rows in the order of time are cut.

    Attributes
    ----------
    length : int
        The rows of a block.
    period : int
        The rows of a season, of which a block has whole ones; 0 where there is none.
    too_long : bool
        Whether the memory of the data is too long for blocks of that length.
    """

    length: int
    period: int
    too_long: bool


def chosen_blocks(columns: list[FloatArray], period: int | None = None) -> ChosenBlocks:
    """Return the blocks that the columns of a series ask for.

    The length is that of `block_length`. Where there is a season it is taken off first, and a block has as
    many whole seasons as neighbouring seasons are alike; where the memory fades slowly a block is longer, up
    to an eighth of the rows.

    Parameters
    ----------
    columns : list of arrays
        The columns, in the order of time.
    period : int, optional
        The rows of a season; found from the data by default.
    """
    rows = len(columns[0])
    most = max(rows // LEAST_BLOCKS, 1)
    ranks = [column for column in map(ranked, columns) if column.any()]
    if period is None:
        period = period_of(ranks, most)
    if not period:
        decays = [decay_of(column) for column in ranks]
        return ChosenBlocks(
            _widened(block_length(columns), rows, most, decays), 0, _too_long(decays, rows, most)
        )
    left = [without_season(column, period) for column in ranks]
    likeness = [between_seasons(column, period) for column in left]
    # What lasts from season to season is known by that; here it would look like a memory without end.
    decays = [
        decay_of(column[period:] - own * column[:-period]) for column, own in zip(left, likeness, strict=True)
    ]
    short = block_length([without_season(column, period) for column in columns])
    short = _widened(short, rows, most, decays)
    alike = max(likeness, default=0.0)
    wanted = max(math.ceil(short / period), round(_best_length(alike, rows / period)), 1)
    seasons = min(wanted, max(most // period, 1))
    too_long = wanted > TOO_SHORT * seasons or _too_long(decays, rows, most)
    return ChosenBlocks(seasons * period, period, too_long)


def _best_length(correlation: float, rows: float) -> float:
    """Return the best length of a block where a row has this correlation with the one before."""
    return float((6 * correlation**2 / (1 - correlation**2) ** 2 * rows) ** (1 / 3))


def _widened(length: int, rows: int, most: int, decays: Sequence[Decay]) -> int:
    """Return a length that is nearer to the largest one the surer it is that the memory fades slowly."""
    if _outlasts(decays, rows, most):
        return max(most, length)
    evidence = max((decay.evidence for decay in decays), default=0.0) - _by_chance(decays)
    share = min(max((evidence - DOUBT) / (SURE - DOUBT), 0.0), 1.0)
    return round(float(length ** (1 - share) * max(most, length) ** share))


def _too_long(decays: Sequence[Decay], rows: int, most: int) -> bool:
    """Tell whether the memory of a column is too long for the longest blocks."""
    sure = SURE + _by_chance(decays)
    slow = any(decay.evidence > sure and decay.power >= LONG_MEMORY for decay in decays)
    return slow or _outlasts(decays, rows, most)


def _outlasts(decays: Sequence[Decay], rows: int, most: int) -> bool:
    """Tell whether a column has so much from one row to the next that no blocks are long enough for it."""
    return any(_best_length(decay.correlation, rows) > TOO_SHORT * most for decay in decays)


def _by_chance(decays: Sequence[Decay]) -> float:
    """Return how much more evidence the best of several columns has by chance."""
    return 2 * math.log(max(len(decays), 1))


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
