"""Facts about rows: those that are there several times, and those that are rows of the reference, or nearly.

Rows that have a twin by chance, as in a table of a few categories, have so in the reference too; that tells
how many to expect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray, in_one_place, namespace, take_rows
from nammd.data.dataset import Dataset
from nammd.data.ordering import stable_order
from nammd.data.repeats import MANY, Keys
from nammd.data.row_units import RowUnits
from nammd.data.sampling import sample_positions
from nammd.explaining.chance import Counted, Share, Together, above_chance, much_more
from nammd.explaining.facts import Fact
from nammd.explaining.sentences import quoted
from nammd.explaining.writing import percent

LOOKED_AT = 400
"""Of so many rows it is looked for the nearest one in the reference."""

WORK = 1 << 21
"""So many differences are taken for that at most."""

NEAR = 0.02
"""A row is a near copy if the nearest one is nearer than this part of what is usual in the reference."""

MORE_REPEATS = 1.5
"""Where rows have twins by chance, a small change of a column makes a few more of them."""

GONE = 20
"""A group is missed where so many rows of it are expected."""

KEPT = 0.9
"""And where at least this share of the groups that are expected is there: else groups come and go."""


def row_facts(x: Any, y: Any, accepted: Iterable[Keys], together: Together) -> tuple[Fact, ...]:
    """Return the facts about the rows of two samples; none where the rows are not at hand.

    Parameters
    ----------
    x, y : Sample
        The reference, and the candidate.
    accepted : iterable of array
        The keys of the rows of accepted datasets, in ascending order.
    together : Together
        How many rows belong together.
    """
    if not (x.keeps_rows and y.keeps_rows) or x.sorted_keys is None or y.sorted_keys is None:
        return ()
    if not x.constant and (x.points is y.points or x.has_rows_of(y)):
        return (Fact("same-data", "", "the candidate is the reference: all rows are the same"),)
    found = [
        *repeated_rows([x.sorted_keys, *accepted], y.sorted_keys, together),
        *rows_in_reference(x.sorted_keys, y.sorted_keys, together),
    ]
    host = all(isinstance(each.points, np.ndarray) for each in (x, y))
    if host and not any(fact.code == "rows-in-reference" for fact in found):
        # Of a reference that many candidates meet, once.
        found += near_copies(x.looked_at("neighbours", Neighbours.of), y.points)
    if x.units is not None and y.units is not None:
        found += vanished_groups(x.units, y.units)
    return tuple(found)


def rows_together(dataset: Dataset) -> float:
    """Return how many rows belong together, where that was said: the group of a row, on average."""
    units = dataset.units
    if units is None or units.all_alike:
        kept = getattr(dataset.summary, "units", None)
        return 1.0 if kept is None else max(dataset.summary.n / max(kept.count, 1), 1.0)
    return float((units.rows.astype(np.float64) ** 2).sum() / units.rows.sum())


def repeated_rows(known: Sequence[Keys], now: Keys, together: Together) -> list[Fact]:
    """Tell of rows that are there several times, more than in as many rows of what is known.

    All keys are in ascending order; the reference is the first that is known.
    """
    size = min(len(known[0]), len(now))
    here = _repeats(now, size)
    if here.size - here.rows < MANY:
        return []  # of so few different rows repetitions may be chance
    before = max((_repeats(keys, size) for keys in known), key=lambda share: share.value)
    counted = Counted(here.per(together.now), before.per(together.known).at_most())
    if here.value < MORE_REPEATS * before.value or not above_chance(*counted[:2]):
        return []
    told = f"{percent(_repeats(now, len(now)).value)} of rows repeat an earlier row"
    message, more = f"{told}, {percent(before.value)} before", here.value - before.value
    return [Fact("repeated-rows", "", message, more, counted=counted)]


def _repeats(keys: Keys, size: int) -> Share:
    """Return how many of some rows repeat an earlier one: in many rows more do so than in few."""
    some = keys if len(keys) <= size else take_rows(keys, np.sort(sample_positions(len(keys), size, 0)))
    return Share(float((some[1:] == some[:-1]).sum()), len(some))


def rows_in_reference(x: Keys, y: Keys, together: Together) -> list[Fact]:
    """Tell of rows of the candidate that are rows of the reference, more than are twins of others there.

    The keys are in ascending order.
    """
    here, theirs = in_one_place(x, y)
    xp = namespace(here)
    there = here[xp.clip(xp.searchsorted(here, theirs), 0, len(x) - 1)] == theirs
    now = Share(float(there.sum()), len(y))
    expected = max(_twins(x), _twins(y), key=lambda share: share.value)
    if not above_chance(now.per(together.now), expected.per(together.known).at_most()):
        return []
    message = f"{percent(now.value)} of the candidate's rows are rows of the reference"
    return [Fact("rows-in-reference", "", message, now.value - expected.value)]


def _twins(keys: Keys) -> Share:
    """Return how many rows have a twin among the others."""
    same = keys[1:] == keys[:-1]
    inside, ends = (same[1:] | same[:-1]).sum(), same[:1].sum() + same[-1:].sum()
    return Share(float(inside + ends), len(keys))


def near_copies(known: Neighbours, y: FloatArray) -> list[Fact]:
    """Tell of rows that are those of the reference but for tiny changes, by some rows of both."""
    apart = known.usual[known.usual > 0]
    if len(apart) < MANY:
        return []
    near = NEAR * float(np.median(apart))
    found = known.nearest(y[sample_positions(len(y), LOOKED_AT, 2)])
    now, before = (Share(float((each <= near).sum()), len(each)) for each in (found, known.usual))
    if not much_more(now, before):
        return []
    message = f"about {percent(now.value)} of the candidate's rows are almost rows of the reference"
    return [Fact("near-copies", "", message, now.value - before.value)]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The rows of a reference, and their order along a line.

    Of many rows those are looked at that are next to a row there. A copy is, however many rows there are, and
    of other rows as many are missed in the reference as in the candidate.
    """

    known: FloatArray
    direction: FloatArray
    order: NDArray[np.intp]
    line: FloatArray

    @classmethod
    def of(cls, known: FloatArray) -> Neighbours:
        """Order the rows of a reference."""
        direction: FloatArray = np.random.default_rng(0).standard_normal(known.shape[1:])
        line = np.asarray(known @ direction, dtype=np.float64)
        order = stable_order(line)
        return cls(known, direction, order, line[order])

    @cached_property
    def usual(self) -> FloatArray:
        """How far some rows of the reference are from the nearest other one."""
        some = sample_positions(len(self.known), LOOKED_AT, 1)
        return self.nearest(self.known[some], itself=some)

    def nearest(self, rows: FloatArray, itself: NDArray[np.intp] | None = None) -> FloatArray:
        """Return how far each row is from the nearest one, `itself` apart."""
        size, width = self.known.shape
        reach = min(size, max(WORK // (len(rows) * width), 8))
        if reach == size:
            from scipy.spatial.distance import cdist

            every: FloatArray = cdist(rows, self.known, "sqeuclidean")
            if itself is not None:
                every[np.arange(len(rows)), itself] = np.inf
            least: FloatArray = np.sqrt(every.min(axis=1))
            return least
        start = np.searchsorted(self.line, rows @ self.direction) - reach // 2
        start = np.clip(start, 0, size - reach)
        found = np.empty(len(rows))
        with np.errstate(over="ignore"):  # that far is far enough
            for number, (row, first) in enumerate(zip(rows, start.tolist(), strict=True)):
                beside = self.order[first : first + reach]
                apart = self.known[beside]  # `take` would copy all rows first, where columns lie together
                apart -= row
                gaps = np.einsum("ij,ij->i", apart, apart)
                if itself is not None:
                    gaps[beside == itself[number]] = np.inf
                found[number] = gaps.min()
        return np.sqrt(found)


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
