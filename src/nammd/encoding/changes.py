"""What became of the columns that are left out: another type, or values that could be compared now."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from nammd.data.dataset import Dataset
from nammd.encoding.choosing import CONSTANT, MIN_IDENTIFIER_ROWS
from nammd.encoding.columns import Column, LeftOut
from nammd.encoding.fitting import fit_alone
from nammd.reading.text_formats.options import Reading

TYPE_CHANGED = "columns that are not compared changed their type: {}; calibrate again if they should count"
NOW_USABLE = "columns that are not compared could be now: {}; calibrate again if they should count"
UNKNOWN = "columns that the tolerance does not know were ignored: {}"


class Changes(NamedTuple):
    """Columns left out that are something else now, with what, and those that are usable now, with words."""

    types: Mapping[str, str] = MappingProxyType({})
    usable: tuple[str, ...] = ()


def changes(left_out: tuple[LeftOut, ...], reading: Reading, dataset: Dataset) -> Changes:
    """Look at the columns that a reference left out, without being asked to, in another dataset.

    Of a table on a cluster the first piece tells, which has the types of all; a sketch has noticed it when it
    was made.
    """
    if dataset.summary is not None:
        noticed = dataset.summary.noticed
        return Changes(noticed.types, noticed.usable)
    looked = [entry for entry in left_out if entry.holds]  # at the others nobody looked: they were left out
    frame = dataset.first_rows(MIN_IDENTIFIER_ROWS) if looked else None
    if frame is None:
        return Changes()
    types, usable, there = dict[str, str](), [], set(frame.names)
    for entry in looked:
        if entry.column not in there:
            continue
        now = fit_alone(frame, entry.column, reading)
        holds = now.holds if isinstance(now, LeftOut) else now.expected.holds
        if isinstance(now, LeftOut) and holds.startswith("missing"):
            continue  # nothing but missing values fits everywhere
        if holds != entry.holds and not entry.holds.startswith("missing"):
            types[entry.column] = f"{entry.holds} in the reference, {holds} now"
        elif isinstance(now, Column) and entry.reason != CONSTANT:  # which is a fact of its own
            usable.append(f"{entry.column!r} ({entry.reason} in the reference)")
    return Changes(types, tuple(usable))
