"""The labels that say which rows belong together, and what is done with rows that have none: `Groups`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import digest_of, take_rows
from nammd.data.dataset import ArrayDataset, Dataset, TableDataset
from nammd.data.row_weights import one_dimensional
from nammd.errors.advice import Advice, refusal
from nammd.errors.checks import choice, counted

Missing: TypeAlias = Literal["error", "own", "drop"]
MISSING: tuple[Missing, ...] = ("error", "own", "drop")

_OWN = "\uffff"
"""How the name of a group of a row without a label begins; nobody writes that."""


@dataclass(frozen=True)
class Groups:
    """Which rows belong together, and what is done with rows of which nobody says it.

    Give it as ``groups=`` where some labels are missing; else the column or the labels alone will do.

    Parameters
    ----------
    by : str or sequence of arrays
        The column that tells which rows belong together, or an array of labels for each dataset.
    missing : {"error", "own", "drop"}
        What is done with rows without a label: refuse them, take each as a group of its own, or leave them
        out. The result says how many there were. A tolerance remembers it.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> labels = [None, *(f"customer {k}" for k in rng.integers(0, 30, size=99))]
    >>> x, y = rng.normal(size=(100, 2)), rng.normal(size=(100, 2))
    >>> others = [f"other {k}" for k in rng.integers(0, 30, size=100)]
    >>> found = nammd.distance(x, y, groups=nammd.Groups((labels, others), missing="drop"))
    >>> dict(found.lines())["rows without a group"]
    '1 and 0, left out'
    """

    by: Any
    missing: Missing = "error"

    def __post_init__(self) -> None:
        choice(self.missing, "missing", MISSING)


class AllLeftOut(ValueError):
    """No row has a label, and such rows are left out."""


def labels_of(dataset: Dataset, groups: Any, rows: int) -> tuple[list[str], NDArray[np.bool_]]:
    """Return the label of each row, as text, and which rows have none."""
    if isinstance(groups, str):
        assert isinstance(dataset, TableDataset)
        raw, missing = _label_column(dataset, groups)
    else:
        raw = one_dimensional(groups, rows, f"groups of {dataset.name}", "label")
        missing = _missing(raw)
    return _texts(raw), missing


def refuse_missing(dataset: Dataset, missing: NDArray[np.bool_]) -> None:
    """Refuse rows of which nobody says which they belong to."""
    if missing.any():
        raise refusal(
            ValueError,
            f"the group of {counted(int(missing.sum()), 'row')} of {dataset.name} is missing",
            Advice(
                "take each of these rows as a group of its own with groups=nammd.Groups(..., missing='own'), "
                "or leave them out with missing='drop'",
                "take each of these rows as a group of its own with --group-missing own, or leave them out "
                "with --group-missing drop",
            ),
        )


def with_own_labels(dataset: Dataset, labels: list[str], missing: NDArray[np.bool_]) -> list[str]:
    """Return labels of which those that were missing are nobody else's, in any other dataset either."""
    stamp = _stamp(dataset)
    named = enumerate(zip(labels, missing, strict=True))
    return [f"{_OWN}{row:012d} {stamp}" if gone else label for row, (label, gone) in named]


def rows_of(dataset: Dataset, rows: NDArray[np.intp]) -> Dataset:
    """Return some rows of a dataset in memory."""
    if isinstance(dataset, TableDataset):
        return replace(dataset, frame=dataset.frame.take(rows))
    assert isinstance(dataset, ArrayDataset)
    return replace(dataset, array=take_rows(dataset.array, rows))


def _stamp(dataset: Dataset) -> str:
    """Return what tells the rows of a dataset from those of others: the same for the same rows."""
    if isinstance(dataset, ArrayDataset):
        return f"{dataset.name} {digest_of(dataset.array)}"
    assert isinstance(dataset, TableDataset)
    content = hashlib.sha256(dataset.name.encode())
    for name in dataset.names:
        values = dataset.frame.values(name)
        content.update(repr((name, values.trouble, values.categories)).encode())
        for part in (values.missing, values.numbers, values.codes):
            content.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
    return content.hexdigest()


def _label_column(dataset: TableDataset, column: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the labels in a column, and where there are none."""
    series = dataset.frame.series(column)
    if str(series.dtype).startswith(("Int", "UInt")):
        # As they are: long numbers of accounts and the like do not fit into a float.
        missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
        return np.asarray(series.fill_null(0).to_numpy() if missing.any() else series.to_numpy()), missing
    values = dataset.frame.values(column)
    if values.trouble or values.kind == "vector":
        held = values.trouble or "lists"
        raise TypeError(f"the column {column!r} of {dataset.name} holds {held}, which name no groups")
    if values.codes is not None:
        return np.array([*values.categories, ""], dtype=object)[values.codes], values.missing
    return (values.missing if values.numbers is None else values.numbers), values.missing


def _texts(labels: Any) -> list[str]:
    """Return labels as text; whole numbers look the same whatever their type."""
    if labels.dtype.kind in "iu":
        return [str(int(label)) for label in labels]
    found = []
    for label in labels.tolist():
        whole = isinstance(label, float) and label.is_integer()
        found.append(str(int(label)) if whole else str(label))
    return found


def _missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        missing: NDArray[np.bool_] = np.isnan(labels)
        return missing
    if labels.dtype.kind != "O":
        return np.zeros(len(labels), dtype=bool)
    return np.array([label is None or label != label for label in labels], dtype=bool)
