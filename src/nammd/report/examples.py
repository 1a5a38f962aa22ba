"""The rows of each dataset that the other lacks most: those with the largest witness values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.report.model import Contributions, ExampleRow, Examples
from nammd.report.profiles import shortened
from nammd.report.source import ReportedData, Source, Variable

ROWS = 5
COLUMNS = 12
CELL_LENGTH = 80

IDENTIFIERS = 3
"""So many columns that tell rows apart are shown."""

COMPONENTS = 3
"""So many components of a vector are shown."""


def examples(
    source: Source, witness_x: FloatArray, witness_y: FloatArray, parts: Contributions
) -> tuple[Examples, Examples]:
    """Return the rows of x that y lacks most, and those of y that x lacks most.

    The columns shown are the most contributing ones, in the order of the data.
    """
    wanted = {part.name for part in parts.columns[:COLUMNS]}
    shown = [variable for variable in source.variables if variable.name in wanted]
    keys = identifiers(source)
    return (
        _examples(source.x, source.y, witness_x, shown, len(source.variables), keys),
        _examples(source.y, source.x, witness_y, shown, len(source.variables), keys),
    )


def identifiers(source: Source) -> list[str]:
    """Return columns that were left out since they tell rows apart, by which people find the rows."""
    kept = [name for name, reason in source.left_out if "identif" in reason or "numbers the rows" in reason]
    return kept[:IDENTIFIERS]


def largest(witness: FloatArray, count: int = ROWS) -> NDArray[np.intp]:
    """Return the positions of the largest values, the largest first; the earlier row where equal."""
    return np.argsort(-witness, kind="stable")[:count]


def _examples(
    side: ReportedData,
    other: ReportedData,
    witness: FloatArray,
    shown: list[Variable],
    columns: int,
    keys: list[str],
) -> Examples:
    positions = largest(witness)
    cells = [_cells(side, variable, positions) for variable in shown]
    return Examples(
        dataset=side.name,
        other=other.name,
        columns=tuple(variable.name for variable in shown),
        hidden=columns - len(shown),
        rows=tuple(
            ExampleRow(int(row), float(witness[row]), tuple(column[k] for column in cells))
            for k, row in enumerate(positions)
        ),
        typical=tuple(_typical(other, variable) for variable in shown),
        identifiers=tuple((key, texts) for key in keys if (texts := side.texts(key, positions)) is not None),
    )


def _cells(side: ReportedData, variable: Variable, positions: NDArray[np.intp]) -> list[str | None]:
    values, write = side.values(variable, positions), side.writer(variable)
    if values.numbers is not None:
        return [
            None if gone else _written(row, write)
            for row, gone in zip(values.numbers, values.missing, strict=True)
        ]
    if values.labels is not None:
        return [None if label is None else shortened(label, CELL_LENGTH) for label in values.labels]
    return [None] * len(positions)


def _typical(side: ReportedData, variable: Variable) -> str | None:
    """Return the median or the commonest value of a column."""
    values = side.values(variable, side.profile_rows)
    if values.labels is not None:
        # Of equally common ones the first in the alphabet, so that the answer does not depend on order.
        counts = Counter(label for label in values.labels if label is not None)
        return shortened(min(counts, key=lambda k: (-counts[k], k)), CELL_LENGTH) if counts else None
    if values.numbers is None or values.missing.all():
        return None
    numbers = values.numbers[~values.missing]
    return _written(np.median(numbers, axis=0), side.writer(variable, float(np.ptp(numbers))))


def _written(value: FloatArray, write: Callable[[float], str]) -> str:
    """Write a number, or the first few of a vector."""
    if np.ndim(value) == 0:
        return write(float(value))
    first = ", ".join(write(float(number)) for number in value[:COMPONENTS])
    return first if len(value) <= COMPONENTS else f"{first}, … ({len(value)} numbers)"
