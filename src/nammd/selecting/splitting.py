"""An honest split of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from nammd.data.opening import row_taker
from nammd.errors.checks import between


def train_test_split(
    x: Any, y: Any, *others: Any, test_size: float = 0.5, rng: Any = None
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Split two datasets, or more, at random into a part to learn a kernel from and a part to test it on.

    Each dataset is split by itself, and no row is in both parts, so the test on the second part is as
    exact as with a kernel that was fixed beforehand.

    Parameters
    ----------
    x, y, others : array or table
        The datasets; their sizes may differ. Others are accepted data, say.
    test_size : float
        The share of the rows that goes into the part for testing.
    rng : int, numpy.random.Generator or None
        Generator for the split.

    Returns
    -------
    (x_train, y_train, ...), (x_test, y_test, ...)
        In the types that the datasets have.

    Examples
    --------
    >>> import numpy as np
    >>> from nammd.selection import train_test_split
    >>> train, test = train_test_split(np.arange(10.0), np.arange(6.0), rng=0)
    >>> [len(part) for part in (*train, *test)]
    [5, 3, 5, 3]
    """
    share, generator = between(test_size, "test_size"), np.random.default_rng(rng)
    parts = []
    for name, data in (("x", x), ("y", y), *((f"dataset {k}", each) for k, each in enumerate(others, 3))):
        take, rows = row_taker(data)
        if rows < 2:
            raise ValueError(f"{name} has {rows} row{'s' * (rows != 1)}; a split needs at least 2")
        order = generator.permutation(rows)
        cut = min(max(rows - round(share * rows), 1), rows - 1)
        parts.append((take(np.sort(order[:cut])), take(np.sort(order[cut:]))))
    return tuple(train for train, _ in parts), tuple(test for _, test in parts)
