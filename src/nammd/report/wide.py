"""For data with very many columns, such as embeddings: those that differ most, by a quick measure."""

from __future__ import annotations

import numpy as np

from nammd.report.source import Source, Variable
from nammd.statistics.standardized import standardized_difference

WIDE_DRAWN = 12


def most_different(source: Source) -> list[Variable]:
    """Return the columns with the largest standardized difference, the largest first."""
    scores = standardized_difference(source.x.encoded, source.y.encoded)
    by_column = np.array([scores[variable.slots].max() for variable in source.variables])
    return [source.variables[k] for k in np.argsort(-by_column, kind="stable")[:WIDE_DRAWN]]
