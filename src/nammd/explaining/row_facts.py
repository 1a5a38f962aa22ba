"""Facts about rows: those that are there several times, and those that are rows of the reference, or nearly.

Rows that have a twin by chance, as in a table of a few categories, have so in the reference too; that tells
how many to expect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.repeats import MANY, Keys, may_be_chance, row_keys
from nammd.data.row_units import RowUnits
from nammd.data.sampling import sample_positions
from nammd.explaining.chance import Share, above_chance, much_more
from nammd.explaining.facts import Fact
from nammd.explaining.sentences import quoted
from nammd.explaining.writing import percent

LOOKED_AT = 400
"""Of so many rows it is looked for the nearest one in the reference."""

WORK = 1 << 26
"""So many products are made for that at most: a fraction of a second."""

NEAR = 0.02
"""A row is a near copy if the nearest one is nearer than this part of what is usual in the reference."""

MORE_REPEATS = 1.5
"""Where rows have twins by chance, a small change of a column makes a few more of them."""

GONE = 20
"""A group is missed where so many rows of it are expected."""

KEPT = 0.9
"""And where at least this share of the groups that are expected is there: else groups come and go."""


def row_facts(x: Any, y: Any, accepted: Sequence[FloatArray]) -> tuple[Fact, ...]:
    """Return the facts about the rows of two samples; none where the rows are not at hand.

    Parameters
    ----------
    x, y : Sample
        The reference, and the candidate.
    accepted : sequence of array
        Rows of accepted datasets, as points of the space.
    """
    if not (x.keeps_rows and y.keeps_rows) or x.keys is None or y.keys is None:
        return ()
    if _same(x, y):
        return (Fact("same-data", "", "the candidate is the reference: all rows are the same"),)
    found = [*repeated_rows(x.keys, y.keys, accepted), *rows_in_reference(x.keys, y.keys)]
    host = all(isinstance(each.points, np.ndarray) for each in (x, y))
    if host and not any(fact.code == "rows-in-reference" for fact in found):
        found += near_copies(x.points, y.points)
    if x.units is not None and y.units is not None:
        found += vanished_groups(x.units, y.units)
    return tuple(found)


def _same(x: Any, y: Any) -> bool:
    if x.constant:
        return False
    if x.same_rows(y):
        return True
    alike = x.size == y.size and np.array_equal(np.sort(x.keys), np.sort(y.keys))
    return bool(alike) and not may_be_chance(x.keys)


def repeated_rows(x: Keys, y: Keys, accepted: Sequence[FloatArray]) -> list[Fact]:
    """Tell of rows that are there several times, more than in as many rows of what is known."""
    size = min(len(x), len(y))
    now = _repeats(y, size)
    if now.size - now.rows < MANY:
        return []  # of so few different rows repetitions may be chance
    known = [x, *(keys for points in accepted if (keys := row_keys(points)) is not None)]
    before = max((_repeats(keys, size) for keys in known), key=lambda share: share.value)
    if now.value < MORE_REPEATS * before.value or not above_chance(now, before.at_most):
        return []
    told = f"{percent(_repeats(y, len(y)).value)} of rows repeat an earlier row"
    return [Fact("repeated-rows", "", f"{told}, {percent(before.value)} before", now.value - before.value)]


def _repeats(keys: Keys, size: int) -> Share:
    """Return how many of some rows repeat an earlier one: in many rows more do so than in few."""
    some = keys if len(keys) <= size else keys[sample_positions(len(keys), size, 0)]
    return Share(float(len(some) - len(np.unique(some))), len(some))


def rows_in_reference(x: Keys, y: Keys) -> list[Fact]:
    """Tell of rows of the candidate that are rows of the reference, more than are twins of others there."""
    now = Share(float(np.isin(y, x).sum()), len(y))
    expected = max(_twins(x), _twins(y), key=lambda share: share.value)
    if not above_chance(now, expected.at_most):
        return []
    message = f"{percent(now.value)} of the candidate's rows are rows of the reference"
    return [Fact("rows-in-reference", "", message, now.value - expected.value)]


def _twins(keys: Keys) -> Share:
    """Return how many rows have a twin among the others."""
    times = np.unique(keys, return_counts=True)[1]
    return Share(float(times[times > 1].sum()), len(keys))


def near_copies(x: FloatArray, y: FloatArray) -> list[Fact]:
    """Tell of rows that are those of the reference but for tiny changes, by some rows of both."""
    most = max(WORK // (2 * LOOKED_AT * x.shape[1]), 1000)
    known = x if len(x) <= most else x[sample_positions(len(x), most, 0)]
    mine = np.arange(len(known)) if len(known) <= LOOKED_AT else sample_positions(len(known), LOOKED_AT, 1)
    theirs = y if len(y) <= LOOKED_AT else y[sample_positions(len(y), LOOKED_AT, 2)]
    usual = _nearest(known[mine], known, itself=mine)
    apart = usual[usual > 0]
    if len(apart) < MANY:
        return []
    near = NEAR * float(np.median(apart))
    found = _nearest(theirs, known)
    now, before = (Share(float((each <= near).sum()), len(each)) for each in (found, usual))
    if not much_more(now, before):
        return []
    # Of the rows of the reference some were looked at, so as many more copies are there.
    share = min(1.0, (now.value - before.value) * len(x) / len(known))
    message = f"about {percent(share)} of the candidate's rows are almost rows of the reference"
    return [Fact("near-copies", "", message, share)]


def _nearest(rows: FloatArray, known: FloatArray, itself: Any = None) -> FloatArray:
    """Return the distance of each row to the nearest of those that are known, `itself` apart."""
    center = known.mean(axis=0)
    rows, known = (np.asarray(each, dtype=np.float64) - center for each in (rows, known))
    gaps = (known**2).sum(axis=1)[None, :] - 2 * rows @ known.T
    if itself is not None:
        gaps[np.arange(len(rows)), itself] = np.inf
    nearest = known[np.argmin(gaps, axis=1)]
    found: FloatArray = np.sqrt(((rows - nearest) ** 2).sum(axis=1))
    return found


def vanished_groups(x: RowUnits, y: RowUnits) -> list[Fact]:
    """Tell of groups that are not there any more, where nearly all others are."""
    if x.names is None or y.names is None:
        return []
    sizes, there = np.bincount(x.codes, minlength=len(x.names)), set(y.names)
    expected = np.flatnonzero(sizes * (len(y.codes) / len(x.codes)) >= GONE)
    gone = [int(k) for k in expected if x.names[k] not in there]
    if not gone or len(gone) > (1 - KEPT) * len(expected):
        return []
    share = float(sizes[gone].sum()) / len(x.codes)
    named = ", ".join(quoted(x.names[k]) for k in gone[:3]) + (
        f" and {len(gone) - 3} more" if len(gone) > 3 else ""
    )
    return [
        Fact("vanished-groups", x.by, f"no row of {named} any more, {percent(share)} of rows before", share)
    ]
