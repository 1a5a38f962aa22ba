"""Alerts about whole datasets: rows that are there several times, constants and types that changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from nammd.data.dataset import Dataset, TableDataset
from nammd.data.repeats import DISTINCT, MANY, in_common
from nammd.encoding import Encoding
from nammd.encoding.choosing import CONSTANT
from nammd.explaining.alerts import Alert
from nammd.explaining.sentences import quoted
from nammd.explaining.writing import percent, readable

_SOME, _MOST = 0.01, 0.5


def row_alerts(x: Any, y: Any) -> tuple[Alert, ...]:
    """Return the alerts about the rows of two samples; none where the rows are not at hand."""
    if not (x.keeps_rows and y.keeps_rows) or x.keys is None or y.keys is None:
        return ()
    common = in_common(x.keys, y.keys)
    if (x.same_rows(y) and not x.constant) or common == x.size == y.size:
        return (Alert("same-data", "", "the candidate is the reference: all rows are the same"),)
    found = []
    shared, again, before = common / y.size, _repeated(y.keys), _repeated(x.keys)
    # Rows of few values are alike by chance, within a dataset as between two of them; that is no news.
    if shared >= max(_SOME, min(3 * max(again, before), _MOST)):
        message = f"{percent(shared)} of the candidate's rows are rows of the reference"
        found.append(Alert("rows-in-reference", "", message))
    if len(y.keys) >= MANY and before <= 1 - DISTINCT and again >= max(_SOME, 2 * before, 3 * shared):
        message = f"{percent(again)} of the candidate's rows repeat an earlier row"
        found.append(Alert("repeated-rows", "", message))
    return tuple(found)


def _repeated(keys: Any) -> float:
    return 1.0 - len(np.unique(keys)) / len(keys)


def column_fact_alerts(encoding: Encoding, reference: Dataset, candidate: Dataset) -> tuple[Alert, ...]:
    """Return the alerts about constants and types, of tables in memory also in columns that are left out."""
    found = [Alert("constant-changed", name, _other_values(name, reference, candidate, encoding))
             for name in encoding.changed_constants(reference, candidate)]  # fmt: skip
    if isinstance(reference, TableDataset) and isinstance(candidate, TableDataset):
        found += _types(encoding, reference, candidate)
    return tuple(found)


def _other_values(name: str, reference: Dataset, candidate: Dataset, encoding: Encoding) -> str:
    told = "one value in the reference, others now"
    if not isinstance(reference, TableDataset) or not isinstance(candidate, TableDataset):
        return told
    before, now = (_first_values(data, name, encoding) for data in (reference, candidate))
    new = [value for value in now if value not in before]
    if not before or not new:
        return told
    return (
        f"always {before[0]} in the reference, now " + ", ".join(new[:3]) + (" ..." if len(new) > 3 else "")
    )


def _first_values(dataset: TableDataset, name: str, encoding: Encoding) -> list[str]:
    values = encoding.values(dataset.frame, name)
    if values.codes is not None:
        return [quoted(values.categories[code]) for code in np.unique(values.codes[values.codes >= 0])]
    if values.numbers is not None and values.numbers.ndim == 1:
        return [readable(float(v)) for v in np.unique(values.numbers[~values.missing])[:100]]
    return []


def _types(encoding: Encoding, reference: TableDataset, candidate: TableDataset) -> list[Alert]:
    found = []
    ignored = {entry.column for entry in encoding.left_out if entry.reason != CONSTANT}
    for name in reference.names:
        if name not in candidate.names or reference.one_column:
            continue
        if name in ignored:
            before, now = (_dtype_kind(data, name) for data in (reference, candidate))
            if before != now:
                found.append(Alert("type-changed", name, f"{before} in the reference, {now} now"))
        elif _whole_type(reference, name) and not _whole_type(candidate, name):
            values = encoding.values(candidate.frame, name)
            numbers = values.numbers
            if numbers is not None and values.kind == "numeric":
                present = numbers[~values.missing]
                if (present != np.rint(present)).any():
                    found.append(Alert("type-changed", name, "whole numbers in the reference, fractions now"))
    return found


def _dtype_kind(dataset: TableDataset, name: str) -> str:
    dtype = dataset.frame.series(name).dtype
    if dtype.is_numeric():
        return "numbers"
    return "times" if dtype.is_temporal() else "text"


def _whole_type(dataset: TableDataset, name: str) -> bool:
    return dataset.frame.holds_whole_numbers(name)
