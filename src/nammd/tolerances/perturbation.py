"""Controlled perturbations of a dataset, and the distance that each makes.

They work on encoded data, where all columns have a common scale: noise is measured in standard deviations
of a numeric column, flips and missing values in shares of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.magnitudes import deviation
from nammd.encoding import Column, Encoding
from nammd.engines.progress import comparing, passes
from nammd.errors.checks import choice, positive
from nammd.evidence.rows import Known
from nammd.questions.distance import Estimate
from nammd.tolerances.ladder import Rung

DEFAULT_LEVELS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
KINDS = ("noise", "flips", "missing")

Change: TypeAlias = Callable[[FloatArray, float, np.random.Generator], None]
"""Perturbs some columns of a copy of the data at a level."""

Perturbation: TypeAlias = Callable[[float, np.random.Generator], FloatArray]
"""Returns a copy of the data perturbed at a level."""

_CELLS = 1 << 16
"""So many cells are perturbed at once."""


def noise_rungs(
    x: FloatArray,
    encoding: Encoding,
    distance_to_copy: Callable[[FloatArray, Known | None], Estimate],
    level: float,
    levels: Sequence[float],
    kind: str | None,
    rng: Any,
) -> tuple[tuple[Rung, ...], dict[str, Estimate], str]:
    """Return the ladders of all kinds that apply, their estimates, and the kind that sets epsilon.

    Every row is compared with the perturbed copies of the other rows, not with its own: such a distance
    is unbiased, and since the rows and their copies vary together it is far more precise than one
    between two halves of the data. What is within the data is summed once.
    """
    steps = sorted({positive(v, "a level") for v in (*levels, level)})
    kinds = [k for k in KINDS if any(applies(k, c) for c in encoding.columns)]
    if kind is None:
        kind = kinds[0]
    choice(kind, "kind", KINDS)
    if kind not in kinds:
        raise ValueError(f"no column can be perturbed by {kind!r}; the columns allow {', '.join(kinds)}")
    if kind != "noise" and level > 1:
        raise ValueError(f"level is a share of the rows for {kind!r}, at most 1, not {level:g}")
    generator = np.random.default_rng(rng)
    rungs, estimates, known = [], {}, None
    ladder = [(each, step) for each in kinds for step in steps if each == "noise" or step <= 1]
    perturbed = {each: perturbation(x, encoding, each) for each in kinds}
    # Of the four quarters of a first pass one is within the data.
    with passes(1.0, *[0.75] * (len(ladder) - 1), what=comparing(len(x), len(x))):
        for each, step in ladder:
            label = f"{each} {step:g}"
            estimate = distance_to_copy(perturbed[each](step, generator), known)
            estimates[label], known = estimate, estimate.evidence.known_x
            rungs.append(Rung.paired(label, estimates[label], each, step))
    return tuple(rungs), estimates, kind


def perturbation(x: FloatArray, encoding: Encoding, kind: str) -> Perturbation:
    """Return what perturbs every column of encoded data to which a perturbation applies.

    What is the same for all levels is worked out once.
    """
    columns = [column for column in encoding.columns if applies(kind, column)]
    made = {"noise": _noise, "flips": _flips, "missing": _gaps}[kind]
    # Of many columns, some at a time; one after the other where rows are many, or several numbers are a cell.
    one_by_one = kind == "flips" or any(column.kind == "vector" for column in columns)
    at_once = 1 if one_by_one else max(_CELLS // len(x), 1)
    changes = [
        made(x, encoding, columns[start : start + at_once]) for start in range(0, len(columns), at_once)
    ]

    def perturbed(level: float, rng: np.random.Generator) -> FloatArray:
        changed = x.copy()
        for change in changes:
            change(changed, level, rng)
        return changed

    return perturbed


def _noise(x: FloatArray, encoding: Encoding, columns: Sequence[Column]) -> Change:
    """Add noise where there is a value, column by column."""
    slots = [encoding.slots(column.name) for column in columns]
    if columns[0].kind == "vector":
        return _noise_of_cells(x[:, slots[0]], slots[0], columns[0].labels[-1] == "missing")
    flagged = np.array([column.labels[-1] == "missing" for column in columns])
    there = (x[:, [own.stop - 1 for own in slots]].T == 0) | ~flagged[:, None]
    first = [own.start for own in slots]
    spreads = [
        column.weight if flag else float(deviation(x[:, place]))
        for column, flag, place in zip(columns, flagged, first, strict=True)
    ]

    def change(changed: FloatArray, level: float, rng: np.random.Generator) -> None:
        noise = np.zeros(there.shape)
        noise[there] = rng.standard_normal(int(there.sum()))
        changed[:, first] += (level * np.array(spreads)[:, None] * noise).T

    return change


def _noise_of_cells(values: FloatArray, slots: slice, flagged: bool) -> Change:
    """Add noise to cells of several numbers."""
    present = values[:, -1] == 0 if flagged else np.ones(len(values), bool)
    spread = deviation(values[present, :-1], axis=0)

    def change(changed: FloatArray, level: float, rng: np.random.Generator) -> None:
        noise = rng.standard_normal((int(present.sum()), len(spread)))
        changed[:, slots][present, :-1] += level * spread * noise

    return change


def _flips(x: FloatArray, encoding: Encoding, columns: Sequence[Column]) -> Change:
    """Change some categories of a column to any one that occurs, all alike.

    Drawing from the data's own mix would keep the mix.
    """
    [column] = columns
    slots = encoding.slots(column.name)
    categories, _ = distinct_rows(x[x[:, slots.stop - 1] == 0, slots])

    def change(changed: FloatArray, level: float, rng: np.random.Generator) -> None:
        chosen = np.flatnonzero(rng.random(len(changed)) < level)
        changed[chosen, slots] = categories[rng.integers(0, len(categories), len(chosen))]

    return change


def _gaps(x: FloatArray, encoding: Encoding, columns: Sequence[Column]) -> Change:
    """Take out some values, column by column."""
    slots = [encoding.slots(column.name) for column in columns]
    of_slots = np.repeat(np.arange(len(slots)), [own.stop - own.start for own in slots])
    every = np.concatenate([np.arange(own.start, own.stop) for own in slots])
    flags, weights = [own.stop - 1 for own in slots], np.array([column.weight for column in columns])

    def change(changed: FloatArray, level: float, rng: np.random.Generator) -> None:
        chosen = rng.random((len(columns), len(changed))) < level
        changed[:, every] = np.where(chosen[of_slots].T, 0.0, changed[:, every])
        changed[:, flags] = np.where(chosen.T, weights, changed[:, flags])

    return change


def distinct_rows(rows: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return the different rows of a matrix in their order, and which of these each row is.

    As ``numpy.unique`` does, which takes several times as long for a column of a few rows.

    >>> distinct_rows(np.array([[2.0, 1.0], [0.0, 3.0], [2.0, 1.0]]))
    (array([[0., 3.],
           [2., 1.]]), array([1, 0, 1]))
    """
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    number = np.empty(len(rows), dtype=np.intp)
    number[order] = np.cumsum(new) - 1
    return ordered[new], number


def applies(kind: str, column: Column) -> bool:
    """Tell whether a perturbation can be made to a column."""
    if kind == "noise":
        return column.kind in ("numeric", "datetime", "vector")
    if kind == "flips":
        return column.kind in ("categorical", "boolean")
    return column.labels[-1] == "missing"
