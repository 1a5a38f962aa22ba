"""What became of the columns that are left out: another type, or values that could be compared now."""

from __future__ import annotations

from typing import NamedTuple

from nammd.data.dataset import Dataset, TableDataset
from nammd.data.encoding.choosing import CONSTANT, MIN_IDENTIFIER_ROWS
from nammd.data.encoding.columns import Column, LeftOut
from nammd.data.encoding.fitting import fit_alone
from nammd.data.written.reading import Reading


class Changes(NamedTuple):
    """Columns left out that are something else now, and those that are usable now, each with words."""

    types: tuple[str, ...]
    usable: tuple[str, ...]


def changes(left_out: tuple[LeftOut, ...], reading: Reading, dataset: Dataset) -> Changes:
    """Look at the columns that a reference left out, without being asked to, in another dataset."""
    types, usable = [], []
    if not isinstance(dataset, TableDataset) or dataset.rows < MIN_IDENTIFIER_ROWS:
        return Changes((), ())
    there = set(dataset.names)
    for entry in left_out:
        if not entry.holds or entry.column not in there:
            continue  # nobody looked at it, because somebody asked for that
        now = fit_alone(dataset.frame, entry.column, reading)
        holds = now.holds if isinstance(now, LeftOut) else now.expected.holds
        if isinstance(now, LeftOut) and holds.startswith("missing"):
            continue  # nothing but missing values fits everywhere
        if holds != entry.holds and not entry.holds.startswith("missing"):
            types.append(f"{entry.column!r} ({entry.holds} in the reference, {holds} now)")
        elif isinstance(now, Column) and entry.reason != CONSTANT:  # which has a caution of its own
            usable.append(f"{entry.column!r} ({entry.reason} in the reference)")
    return Changes(tuple(types), tuple(usable))
