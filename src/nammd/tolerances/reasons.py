"""Why a verdict is what it is, in a few words for a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from nammd.data.arrays import is_spread, to_numpy
from nammd.spaces import Sample
from nammd.statistics.standardized import standardized_difference


def differs_most(x: Any, y: Any) -> str:
    """Name the column that differs most between two samples of a space.

    That is a description, by the largest standardized difference in location or scale, and not a test. It
    is empty where no column stands out, and where the rows are not at hand.
    """
    if not (isinstance(x, Sample) and isinstance(y, Sample)) or any(map(is_spread, (x.points, y.points))):
        return ""
    encoding = x.space.encoding
    scores = standardized_difference(to_numpy(x.points), to_numpy(y.points))
    largest = [float(np.max(scores[encoding.slots(column.name)])) for column in encoding.columns]
    if not largest or not max(largest) > 0:
        return ""
    name = encoding.columns[int(np.argmax(largest))].name
    return f"column {name} differs most" if encoding.array_columns is not None else f"{name} differs most"
