"""What somebody says about rows: which belong together, and how much each counts.

`with_grouping` takes it from columns of a table, which are then left out of the comparison, or from arrays,
and gives datasets that carry it. Everything further in finds it there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray, to_numpy
from nammd.data.blocks_in_time import RULE, ChosenBlocks, TimeBlocks, chosen_blocks, cut
from nammd.data.dataset import ArrayDataset, Dataset, SummaryDataset, TableDataset
from nammd.data.group_labels import (
    AllLeftOut,
    Groups,
    Missing,
    labels_of,
    refuse_missing,
    rows_of,
    with_own_labels,
)
from nammd.data.mapped import MappedPieces
from nammd.data.opening import open_content
from nammd.data.row_units import RowUnits
from nammd.data.row_weights import numbers_in, row_weights_of
from nammd.data.values import Values
from nammd.errors.advice import Advice, refusal
from nammd.errors.checks import counted
from nammd.errors.naming import listed, quoted

LEAST_GROUPS = 4
"""With fewer groups nothing can be said about how they vary."""


GATHERED = 200_000
"""So many rows of a Dask collection are brought to memory to be put into groups."""


@dataclass(frozen=True)
class RowGrouping:
    """What somebody said about the rows of the datasets of a question.

    Attributes
    ----------
    groups : str, TimeBlocks, sequence of arrays, or None
        The column that tells which rows belong together; blocks of time; or labels for each dataset.
    sample_weight : str, sequence of arrays, or None
        The column that tells how much each row counts; or numbers for each dataset.
    missing : {"error", "own", "drop"}
        What is done with rows without a label; `Groups` say it.
    """

    groups: Any = None
    sample_weight: Any = None
    missing: Missing = "error"

    def __post_init__(self) -> None:
        if isinstance(self.groups, Groups):
            object.__setattr__(self, "missing", self.groups.missing)
            object.__setattr__(self, "groups", self.groups.by)

    def __bool__(self) -> bool:
        return self.groups is not None or self.sample_weight is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is taken from."""
        time = self.groups.time if isinstance(self.groups, TimeBlocks) else self.groups
        return tuple(name for name in (time, self.sample_weight) if isinstance(name, str))

    @property
    def options(self) -> dict[str, Any]:
        """What was said, by the names that questions have for it."""
        groups = self.groups if self.missing == "error" else Groups(self.groups, self.missing)
        return {"groups": groups, "sample_weight": self.sample_weight}

    def part(self, number: int, of: int) -> RowGrouping:
        """Return what was said of one of several datasets."""
        return RowGrouping(
            _part(self.groups, number, of, "groups"),
            _part(self.sample_weight, number, of, "sample_weight"),
            self.missing,
        )


NO_GROUPING = RowGrouping()


def with_grouping(datasets: Sequence[Dataset], grouping: RowGrouping) -> list[Dataset]:
    """Return datasets that know which of their rows belong together, and how much each counts.

    Parameters
    ----------
    datasets : sequence of Dataset
        The datasets of a question; one that is there twice is put into groups once.
    grouping : RowGrouping
        What somebody said of them.

    Returns
    -------
    list of Dataset
        Without the columns that it was taken from.
    """
    if not grouping:
        return list(datasets)
    done: dict[int, Dataset] = {}
    for number, dataset in enumerate(datasets):
        if id(dataset) not in done:
            done[id(dataset)] = dataset_with_grouping(dataset, grouping.part(number, len(datasets)))
    return [done[id(dataset)] for dataset in datasets]


def _part(value: Any, number: int, of: int, option: str) -> Any:
    """Return what was said of one dataset: the same of all, or the one entry that belongs to it."""
    if value is None or isinstance(value, (str, TimeBlocks)):
        return value
    if isinstance(value, Mapping):
        value = list(value.values())
    if of == 1 and not (isinstance(value, (list, tuple)) and len(value) == 1 and np.ndim(value[0]) == 1):
        return value
    if not isinstance(value, (list, tuple)) or len(value) != of:
        several = "a pair of arrays" if of == 2 else f"{of} arrays"
        given = type(value).__name__
        if isinstance(value, (list, tuple)):
            given = f"a {given} of {len(value)}"
        raise TypeError(
            f"{option} must be the name of a column, or {several}, one for each dataset with an entry for "
            f"every row, not {given}"
        )
    return value[number]


def dataset_with_grouping(dataset: Dataset, grouping: RowGrouping, least: int = LEAST_GROUPS) -> Dataset:
    """Return a dataset that knows what was said of it; it must have so many groups."""
    if not grouping:
        return dataset
    if dataset.units is not None:
        return dataset  # it was said before, when it was opened
    if isinstance(dataset, SummaryDataset):
        _require_same(dataset, grouping)
        return dataset
    if dataset.on_cluster:
        dataset = _gathered(dataset)
    _require_columns(dataset, grouping.columns)
    rows = dataset.rows
    assert rows is not None
    weights = (
        None if grouping.sample_weight is None else row_weights_of(dataset, grouping.sample_weight, rows)
    )
    units, kept = _units(dataset, grouping, rows, least)
    if kept is not None:
        dataset = rows_of(dataset, kept)
        weights = None if weights is None else weights[kept]
    if weights is not None:
        mean = float(weights.mean())  # they matter in proportion only
        by = _word(grouping.sample_weight, "row weights")
        units = replace(units, weights=weights / mean, weights_by=by, weight_unit=mean)
    return _without(dataset, grouping.columns, units)


def grouping_of_summary(dataset: Dataset) -> RowGrouping:
    """Return what was said of the rows of a summary when it was made; nothing of other datasets."""
    units = getattr(dataset.summary, "units", None) if isinstance(dataset, SummaryDataset) else None
    if units is None:
        return NO_GROUPING
    by, weights_by = units.said
    # Labels and numbers that came with the data are not there any more: that they were given is known.
    return RowGrouping(
        () if by == "group" else by or None, () if weights_by == "row weights" else weights_by or None
    )


def _require_same(dataset: SummaryDataset, grouping: RowGrouping) -> None:
    """Refuse a sketch that was made with other groups or weights than those asked for, or with none."""
    if isinstance(grouping.groups, TimeBlocks):
        raise refusal(
            TypeError,
            f"{dataset.name} is a sketch, which does not keep the order of rows that blocks of time need",
            Advice("compare the data themselves", "compare the files themselves"),
        )
    known, asked = _in_words(grouping_of_summary(dataset)), _in_words(grouping)
    if known == asked:
        return
    python = [
        f"{name}={value!r}" if isinstance(given, str) else f"{name}=..."
        for (name, value), given in zip(asked.options.items(), grouping.options.values(), strict=True)
        if value is not None
    ]
    shell = {"--group": asked.groups, "--sample-weight": asked.sample_weight}
    raise refusal(
        ValueError,
        f"{dataset.name} is a sketch that was made {_words(known)}, and not {_words(asked)}; a sketch cannot "
        "be put into groups afterwards",
        Advice(
            f"make it again with Sketch.of(data, ..., {', '.join(python)})",
            f"make it again with 'nammd sketch' and "
            f"{' '.join(f'{option} {value}' for option, value in shell.items() if value is not None)}",
        ),
    )


def _in_words(grouping: RowGrouping) -> RowGrouping:
    """Return what was said with a word for labels and numbers that came with the data."""
    return RowGrouping(
        None if grouping.groups is None else _word(grouping.groups, "group"),
        None if grouping.sample_weight is None else _word(grouping.sample_weight, "row weights"),
    )


def _words(grouping: RowGrouping) -> str:
    """Say what was said, in a few words."""
    by = "" if grouping.groups == "group" else f" by {grouping.groups}"
    groups = f"with groups{by}" if grouping.groups is not None else "without groups"
    return (
        groups
        if grouping.sample_weight is None
        else f"{groups} and with row weights by {grouping.sample_weight}"
    )


def _gathered(dataset: Dataset) -> Dataset:
    """Return a dataset of a cluster in memory: rows of one group may lie in several partitions."""
    given, pieces = dataset.given, dataset.in_pieces()
    if isinstance(pieces, MappedPieces):
        raise TypeError(
            f"{dataset.name} is {pieces.whereabouts.place}, where rows of one group may lie apart, and its "
            f"{dataset.rows} rows are not brought together; give a table in memory, of some of its groups, "
            "or sketch it with groups"
        )
    if hasattr(given, "compute") and len(given) <= GATHERED:
        return open_content(given.compute(), dataset.name, dataset.source)
    raise refusal(
        TypeError,
        f"{dataset.name} is spread over a Dask cluster, where rows of one group may lie in several "
        f"partitions, and more than {GATHERED} rows, or files, are not brought together",
        Advice(
            "bring it to memory with .compute(), or a sample of its groups",
            "leave --engine out; add --sample N if the files are too large for memory",
        ),
    )


def _units(
    dataset: Dataset, grouping: RowGrouping, rows: int, least: int
) -> tuple[RowUnits, NDArray[np.intp] | None]:
    """Return the units of a dataset, and which of its rows are kept; None for all."""
    if grouping.groups is None:
        return RowUnits.alone(rows), None
    if isinstance(grouping.groups, TimeBlocks):
        return _blocks(dataset, grouping.groups, grouping.columns, rows), None
    labels, missing = labels_of(dataset, grouping.groups, rows)
    gone, kept = int(missing.sum()), None
    if gone and grouping.missing == "own":
        labels = with_own_labels(dataset, labels, missing)
    elif gone and grouping.missing == "drop":
        kept = np.flatnonzero(~missing)
        labels = [labels[row] for row in kept]
        if not labels:
            raise AllLeftOut(f"no row of {dataset.name} has a group, so all would be left out")
    else:
        refuse_missing(dataset, missing)
    names, codes = np.unique(np.array(labels, dtype=str), return_inverse=True)
    known = tuple(str(name) for name in names)
    units = RowUnits(
        codes.reshape(-1).astype(np.intp),
        known,
        by=_word(grouping.groups, "group"),
        unlabelled=gone,
        missing=grouping.missing,
    )
    if units.count == 1 and least > 1:
        raise ValueError(
            f"all {len(labels)} rows of {dataset.name} are in one group ({known[0]!r}), so nothing can be "
            f"said about how groups vary; at least {least} groups are needed"
        )
    if units.count < least:
        raise ValueError(
            f"the rows of {dataset.name} are in {units.count} groups; at least {least} are needed"
        )
    return units, kept


def _blocks(dataset: Dataset, blocks: TimeBlocks, columns: tuple[str, ...], rows: int) -> RowUnits:
    """Return blocks of rows that follow each other in time."""
    order = None if blocks.time is None else np.argsort(_times(dataset, blocks.time), kind="stable")
    if blocks.length is None:
        series = _series(dataset, columns)
        found = chosen_blocks([c if order is None else c[order] for c in series], blocks.period)
    else:
        found = ChosenBlocks(blocks.length, 0, False)
    numbers = cut(rows, found.length)
    count = int(numbers[-1]) + 1
    if count < LEAST_GROUPS:
        what, advice = ("block", ": make blocks shorter") if blocks.period is None else ("season", "")
        raise ValueError(
            f"the {rows} rows of {dataset.name} are {counted(count, what)} of {found.length}; at least "
            f"{LEAST_GROUPS} are needed{advice}"
        )
    codes = numbers
    if order is not None:
        codes = np.empty(rows, np.intp)
        codes[order] = numbers
    by = RULE if blocks.length is None else "time"
    return RowUnits(
        codes, None, reach=1, by=by, length=found.length, period=found.period, too_long=found.too_long
    )


def _times(dataset: Dataset, column: str) -> FloatArray:
    assert isinstance(dataset, TableDataset)
    values = dataset.frame.values(column)
    what = f"the column {column!r} of {dataset.name}"
    if values.missing.any():
        gone = counted(int(values.missing.sum()), "row")
        raise ValueError(f"{what}, which tells the time, is missing in {gone}; leave these rows out")
    if values.numbers is not None and values.numbers.ndim == 1:
        return values.numbers
    if values.kind != "categorical" or values.codes is None:
        raise TypeError(f"{what} does not tell a time; give dates, times or numbers")
    numbers = numbers_in(values)
    if numbers is not None:
        return numbers
    return np.array([_moment(text, what) for text in values.categories])[values.codes]


def _moment(text: str, what: str) -> float:
    try:
        return float(np.datetime64(text.strip().replace(" ", "T").removesuffix("Z"), "us").astype(np.int64))
    except ValueError:
        raise ValueError(
            f"{what} does not tell a time: {text!r} is no date such as 2024-05-31 or 2024-05-31 12:00:00"
        ) from None


def _series(dataset: Dataset, without: tuple[str, ...]) -> list[FloatArray]:
    """Return the columns of a dataset as numbers, for their memory to be measured."""
    if isinstance(dataset, TableDataset):
        found = []
        for name in dataset.names:
            column = None if name in without else _as_numbers(dataset.frame.values(name))
            if column is not None:
                found.append(column)
        return found or [np.zeros(dataset.rows)]
    assert isinstance(dataset, ArrayDataset)
    points = to_numpy(dataset.array)
    return [points[:, k] for k in range(points.shape[1])]


def _as_numbers(values: Values) -> FloatArray | None:
    if values.numbers is not None and values.numbers.ndim == 1:
        mean = float(np.nanmean(values.numbers)) if not values.missing.all() else math.nan
        return None if math.isnan(mean) else np.where(values.missing, mean, values.numbers)
    if values.codes is None or not len(values.categories):
        return None
    most = np.bincount(values.codes[~values.missing]).argmax()
    numbers: FloatArray = (values.codes == most).astype(np.float64)
    return numbers


def _require_columns(dataset: Dataset, columns: tuple[str, ...]) -> None:
    for column in columns:
        if column in dataset.names:
            continue
        shown = column[:80]  # a damaged file may say anything
        if not dataset.is_table:
            raise refusal(
                TypeError,
                f"{dataset.name} is an array, whose columns have no names, so there is no column "
                + quoted(shown),
                Advice("give an array with one entry for every row instead", "give a table"),
            )
        raise ValueError(f"{dataset.name} has no column {quoted(shown)}; it has {listed(dataset.names)}")


def _without(dataset: Dataset, columns: tuple[str, ...], units: RowUnits) -> Dataset:
    """Return a dataset that carries its units, and not the columns that they came from."""
    if not columns or not isinstance(dataset, TableDataset):
        return replace(dataset, units=units)
    return replace(dataset, units=units, frame=dataset.frame.without(columns))


def _word(value: Any, otherwise: str) -> str:
    return value if isinstance(value, str) else otherwise
