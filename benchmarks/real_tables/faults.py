"""What goes wrong with data: one fault at a time, in one column, of a batch that was good.

A fault says which columns it can happen to, and changes a copy of the batch. The generator alone chooses one
of these columns, and the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from benchmarks.real_tables.sources import Frame

Rng = np.random.Generator
Change = Callable[[Frame, str, Rng], Frame | None]

ROWS = "rows"
"""What is named where a fault is about rows, and about no column."""

_FEW = 8
"""Numbers with fewer values than this are codes: nobody shifts them or adds noise."""

_NEARLY_ALWAYS = 0.95
"""Where a value has more than this share of the rows, hardly anything can go wrong that could be seen."""


@dataclass(frozen=True)
class Fault:
    """One kind of fault: its name, the columns that it happens to, and what it does to a batch.

    Where it is about rows and no column, `ROWS` is named instead of one.
    """

    name: str
    columns: Callable[[Frame], list[str]]
    change: Change
    of_rows: bool = False

    def applied(self, batch: Frame, rng: Rng) -> tuple[Frame, str] | None:
        """Return the batch with the fault, and the column; None if it cannot happen to such a batch."""
        columns = self.columns(batch)
        if not columns:
            return None
        column = str(rng.choice(columns))
        changed = self.change(batch.copy(), column, rng)
        if changed is None or _same(changed[column], batch[column]):
            return None
        return changed.reset_index(drop=True), ROWS if self.of_rows else column


def _same(one: Frame, other: Frame) -> bool:
    """Return whether two columns have the same values, be they whole numbers or not."""
    return bool(one.astype(object).equals(other.astype(object)))


def numbers(batch: Frame) -> list[str]:
    """Return the columns of numbers that are no codes."""
    return [name for name in batch.select_dtypes("number") if _varies(batch[name], _FEW)]


def labels(batch: Frame) -> list[str]:
    """Return the columns of text that has values to choose from."""
    text = [name for name in batch if pd.api.types.is_string_dtype(batch[name].dropna())]
    return [name for name in text if _varies(batch[name], 2)]


def _varies(column: Frame, values: int) -> bool:
    """Return whether a column has so many values, none of which is nearly always there."""
    shares = column.value_counts(normalize=True)
    return len(shares) >= values and shares.iloc[0] <= _NEARLY_ALWAYS


def times(batch: Frame) -> list[str]:
    """Return the columns of dates or times."""
    return list(batch.select_dtypes("datetime"))


def _hours(batch: Frame) -> list[str]:
    return [name for name in batch if name == "hour"]


def _numbers_or_labels(batch: Frame) -> list[str]:
    return numbers(batch) + labels(batch)


def _some(batch: Frame, share: float, rng: Rng) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Choose a share of the rows."""
    return rng.choice(len(batch), size=max(1, round(share * len(batch))), replace=False)


def _spread(batch: Frame, column: str) -> float:
    return float(batch[column].std())


def _by_number(
    what: Callable[[Frame, float, Rng], Frame], batch: Frame, column: str, rng: Rng
) -> Frame | None:
    """Change all values, given the standard deviation of the column."""
    batch[column] = what(batch[column].astype(float), _spread(batch, column), rng)
    return batch


def _each(what: Callable[[Frame, float, Rng], Frame]) -> Change:
    return partial(_by_number, what)


def _default(share: float, batch: Frame, column: str, rng: Rng) -> Frame:
    batch.iloc[_some(batch, share, rng), batch.columns.get_loc(column)] = rng.choice([0, -1, 999])
    return batch


def _missing(share: float, batch: Frame, column: str, rng: Rng) -> Frame:
    batch[column] = batch[column].mask(np.isin(np.arange(len(batch)), _some(batch, share, rng)))
    return batch


def _outliers(batch: Frame, column: str, rng: Rng) -> Frame:
    batch[column] = batch[column].astype(float)
    far = batch[column].max() + 10 * _spread(batch, column)
    batch.iloc[_some(batch, 0.01, rng), batch.columns.get_loc(column)] = far
    return batch


def _new_label(batch: Frame, column: str, rng: Rng) -> Frame:
    batch.iloc[_some(batch, 0.05, rng), batch.columns.get_loc(column)] = "TBD"
    return batch


def _renamed(batch: Frame, column: str, rng: Rng) -> Frame:
    label = rng.choice(batch[column].value_counts().index[:3])
    batch[column] = batch[column].replace(label, f"{label} (new)")
    return batch


def _merged(batch: Frame, column: str, rng: Rng) -> Frame:
    first, second = batch[column].value_counts().index[:2]
    batch[column] = batch[column].replace(second, first)
    return batch


def _other_case(batch: Frame, column: str, rng: Rng) -> Frame:
    upper = batch[column].str.upper()
    batch[column] = upper if not upper.equals(batch[column]) else batch[column].str.lower()
    return batch


def _one_hour_off(batch: Frame, column: str, rng: Rng) -> Frame:
    batch[column] = (batch[column] + 1) % 24
    return batch


def _day_for_month(batch: Frame, column: str, rng: Rng) -> Frame:
    time = batch[column]
    parts = {"year": time.dt.year, "month": time.dt.day, "day": time.dt.month}
    swapped = pd.to_datetime(parts, errors="coerce") + (time - time.dt.normalize())
    batch[column] = swapped.fillna(time)
    return batch


def _stale(batch: Frame, column: str, rng: Rng) -> Frame:
    batch[column] = batch[column].min()
    return batch


def _page_thrice(batch: Frame, column: str, rng: Rng) -> Frame:
    size = len(batch) // 10
    start = int(rng.integers(len(batch) - size))
    page = batch.sort_values(column, kind="stable").iloc[start : start + size]
    return pd.concat([batch, page, page])


def _half_a_group(batch: Frame, column: str, rng: Rng) -> Frame:
    group = batch.index[batch[column] == batch[column].value_counts().index[0]]
    return batch.drop(index=rng.choice(group, size=len(group) // 2, replace=False))


def _biased(batch: Frame, column: str, rng: Rng) -> Frame:
    rank = batch[column].rank(pct=True).fillna(0.5)
    return batch[rng.random(len(batch)) < 0.2 + 0.8 * rank]


def _shuffled(batch: Frame, column: str, rng: Rng) -> Frame:
    batch[column] = rng.permutation(batch[column])
    return batch


def _swapped(batch: Frame, column: str, rng: Rng) -> Frame | None:
    others = [name for name in numbers(batch) if name != column]
    if not others:
        return None
    other = rng.choice(others)
    batch[[column, other]] = batch[[other, column]].to_numpy()
    return batch


FAULTS: tuple[Fault, ...] = (
    Fault("unit: a thousand times larger", numbers, _each(lambda x, sd, rng: 1000 * x)),
    Fault("unit: cents instead of units", numbers, _each(lambda x, sd, rng: 100 * x)),
    Fault("shifted by 0.25 standard deviations", numbers, _each(lambda x, sd, rng: x + 0.25 * sd)),
    Fault("shifted by 0.5 standard deviations", numbers, _each(lambda x, sd, rng: x + 0.5 * sd)),
    Fault(
        "noise of 0.5 standard deviations",
        numbers,
        _each(lambda x, sd, rng: x + rng.normal(0, 0.5 * sd, len(x))),
    ),
    Fault("stuck at one value", numbers, _each(lambda x, sd, rng: x * 0 + x.median())),
    Fault("a default value in 5 % of rows", numbers, partial(_default, 0.05)),
    Fault("a default value in 20 % of rows", numbers, partial(_default, 0.2)),
    Fault("5 % more missing", _numbers_or_labels, partial(_missing, 0.05)),
    Fault("20 % more missing", _numbers_or_labels, partial(_missing, 0.2)),
    Fault("clipped above the upper tenth", numbers, _each(lambda x, sd, rng: x.clip(upper=x.quantile(0.9)))),
    Fault("sign flipped", numbers, _each(lambda x, sd, rng: -x)),
    Fault("rounded to one standard deviation", numbers, _each(lambda x, sd, rng: (x / sd).round() * sd)),
    Fault("outliers in 1 % of rows", numbers, _outliers),
    Fault("a new category in 5 % of rows", labels, _new_label),
    Fault("a category renamed", labels, _renamed),
    Fault("two categories merged", labels, _merged),
    Fault("upper and lower case changed", labels, _other_case),
    Fault("clock one hour off", _hours, _one_hour_off),
    Fault("day and month swapped", times, _day_for_month),
    Fault("stale dates", times, _stale),
    Fault("a page of rows thrice", numbers, _page_thrice, of_rows=True),
    Fault("half the rows of a group missing", labels, _half_a_group),
    Fault("sampled by one column", numbers, _biased),
    Fault("join broken: a column shuffled", _numbers_or_labels, _shuffled),
    Fault("two columns swapped", numbers, _swapped),
)
"""All kinds of faults, as people meet them."""
