"""Whether one column of an array drowns the others: the caution `one-column-dominates`.

Arrays are taken as they are. Where a column of incomes stands beside one of ages, distances between rows are
differences in income, and nothing else counts. A few rows tell: those that stand for the sample, which are
at hand wherever the data are.
"""

from __future__ import annotations

import numpy as np

from nammd.data.arrays import FloatArray, to_numpy
from nammd.errors.advice import Caution
from nammd.kernels.operations import alike_in_columns
from nammd.spaces import Sample

DOMINATES = 0.9
"""Share of the mean squared distance between rows from which on a column leaves nothing to the others."""


def one_column_dominates(*samples: Sample) -> tuple[Caution, ...]:
    """Return a caution where nearly all of the distance between rows is that in one column of arrays.

    Tables are scaled column by column. Kernels that weigh columns by themselves are not asked either.
    """
    space = samples[0].space
    columns, arrays = space.encoding.columns, space.encoding.array_columns is not None
    if not arrays or len(columns) < 2 or not alike_in_columns(space.kernel):
        return ()
    shares = _shares(samples)
    largest = int(np.argmax(shares))
    if not shares[largest] > DOMINATES:
        return ()
    others = "one hardly counts" if len(columns) == 2 else f"{len(columns) - 1} hardly count"
    share = min(100 * float(shares[largest]), 99.99)
    return (
        Caution(
            "one-column-dominates",
            f"column {columns[largest].name} makes {share:.4g} % of the squared distance between rows, so "
            f"the other {others}; if columns have units of their own, scale them with "
            "space=Space.fit(..., scale='robust') (--scale robust)",
        ),
    )


def _shares(samples: tuple[Sample, ...]) -> FloatArray:
    """Return how much of the mean squared distance between rows each column makes."""
    rows = np.concatenate([to_numpy(sample.representatives[1]) for sample in samples]).astype(np.float64)
    rows = rows - rows.mean(axis=0)
    largest = float(np.abs(rows).max(initial=0.0))
    spreads = ((rows / largest) ** 2).mean(axis=0) if 0 < largest < np.inf else np.zeros(rows.shape[1])
    total = float(spreads.sum())
    found: FloatArray = spreads / total if total > 0 else spreads
    return found
