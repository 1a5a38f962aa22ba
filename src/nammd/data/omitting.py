"""What is done with NaN in arrays: `nan_policy`, as in scipy.stats.

Tables need none: a missing value is a value there, imputed and marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import is_foreign_array, is_spread, take_rows, to_numpy
from nammd.data.blocks_in_time import TimeBlocks
from nammd.data.row_grouping import RowGrouping
from nammd.data.several import is_array
from nammd.errors.advice import Caution
from nammd.errors.checks import choice, counted

NanPolicy: TypeAlias = Literal["raise", "omit"]
"""What is done with NaN in arrays."""


def without_nan(
    data: Mapping[str, Any], grouping: RowGrouping, nan_policy: NanPolicy
) -> tuple[dict[str, Any], RowGrouping, tuple[Caution, ...]]:
    """Return arrays without the rows that have a NaN, where that was asked for.

    Parameters
    ----------
    data : mapping of str to dataset
        The datasets, by the names that messages give them; one that is there twice stays one.
    grouping : RowGrouping
        Which rows belong together, and how much each counts; arrays lose the same rows.
    nan_policy : {"raise", "omit"}
        With ``"raise"`` nothing is done: what opens the data refuses them.

    Returns
    -------
    tuple
        The data, the grouping, and cautions that say how many rows were left out.
    """
    choice(nan_policy, "nan_policy", ("raise", "omit"))
    if nan_policy == "raise":
        return dict(data), grouping, ()
    kept = {name: _rows_without_nan(value, name) for name, value in data.items()}
    made: dict[int, Any] = {}
    for name, value in data.items():
        rows = kept[name]
        if id(value) not in made:
            made[id(value)] = value if rows is None else _taken(value, rows)
    cautions = [
        Caution("rows-omitted", f"{counted(len(data[name]) - len(rows), 'row')} of {name} with NaN left out")
        for name, rows in kept.items()
        if rows is not None
    ]
    without = {name: made[id(value)] for name, value in data.items()}
    sizes = {name: len(value) for name, value in data.items()}
    return without, _grouping_of(grouping, sizes, list(kept.values())), tuple(cautions)


def _rows_without_nan(value: Any, name: str) -> NDArray[np.intp] | None:
    """Return the rows that have no NaN; None where that is all of them."""
    if is_spread(value) or not is_array(value):
        raise TypeError(
            f"nan_policy='omit' leaves rows of arrays in memory out, and {name} is none; in a table a "
            "missing value is a value, which is compared: drop these rows first if they should not count"
        )
    try:
        array = to_numpy(value) if is_foreign_array(value) else np.asarray(value)
    except ValueError:
        return None  # rows of different lengths, which what opens them refuses
    if array.dtype.kind not in "fc" or array.ndim == 0:
        return None
    good = ~np.isnan(array).reshape(len(array), -1).any(axis=1)
    if good.all():
        return None
    if not good.any():
        raise ValueError(f"every row of {name} has a NaN, so that nothing is left to compare")
    return np.flatnonzero(good)


def _taken(value: Any, rows: NDArray[np.intp]) -> Any:
    return take_rows(value, rows) if is_foreign_array(value) else np.asarray(value)[rows]


def _grouping_of(
    grouping: RowGrouping, sizes: Mapping[str, int], kept: list[NDArray[np.intp] | None]
) -> RowGrouping:
    """Return what was said of the rows that are left."""
    parts = [grouping.part(number, len(kept)) for number in range(len(kept))]
    changed: dict[str, Any] = {}
    for option in ("groups", "sample_weight"):
        given = [getattr(part, option) for part in parts]
        if any(each is None or isinstance(each, (str, TimeBlocks)) for each in given):
            continue  # said of columns, or of the order of rows
        changed[option] = []
        for each, rows, (name, size) in zip(given, kept, sizes.items(), strict=True):
            if len(each) != size:
                raise ValueError(f"{option} of {name} has {len(each)} entries, but {name} has {size} rows")
            changed[option].append(each if rows is None else np.asarray(each)[rows])
    return replace(grouping, **changed)
