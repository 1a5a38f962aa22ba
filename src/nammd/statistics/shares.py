"""Whether one of two shares of independent rows is larger, or one of two samples of numbers smaller."""

from __future__ import annotations

from nammd.data.arrays import FloatArray


def larger_share(found: int, rows: int, known: int, known_rows: int) -> float:
    """Return the p-value of Fisher's exact test that a share is larger than another one.

    Parameters
    ----------
    found, rows : int
        How many of so many rows have a property.
    known, known_rows : int
        How many of those that they are compared with.

    Examples
    --------
    >>> round(larger_share(5, 100, 0, 100), 4)
    0.0297
    """
    from scipy.stats import hypergeom

    return float(hypergeom.sf(found - 1, rows + known_rows, found + known, rows))


def smaller_numbers(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Return how often a number of x is below one of y, ties counting half, and the p-value of that.

    It is the test of Mann and Whitney, one-sided.

    >>> import numpy as np
    >>> below, pvalue = smaller_numbers(np.arange(50.0), np.arange(50.0) + 100)
    >>> below, pvalue < 1e-6
    (1.0, True)
    """
    from scipy.stats import mannwhitneyu

    test = mannwhitneyu(x, y, alternative="less")
    return 1.0 - float(test.statistic) / (len(x) * len(y)), float(test.pvalue)
