"""The rows of a dataset as points of a space: `Sample`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nammd.data.arrays import (
    Array,
    FloatArray,
    aligned,
    digest_of,
    in_one_place,
    is_constant,
    take_rows,
)
from nammd.data.dataset import Dataset
from nammd.data.ordering import ascending
from nammd.data.repeats import KeyCounts, Keys, row_keys
from nammd.data.row_units import RowUnits
from nammd.data.sampling import Positions, representatives

if TYPE_CHECKING:
    from nammd.spaces.space import Space


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows of a dataset as points of a space.

    Attributes
    ----------
    dataset : Dataset
        Where they came from.
    space : Space
        The space.
    points : array of shape (rows, width)
        The points, wherever they are: in memory, on a device, or in blocks on a cluster.
    drawn_from : int or None
        Of how many rows these were drawn at random; None where they are all.
    positions : array of int, or None
        Which of those rows they are.
    """

    dataset: Dataset
    space: Space
    points: Array = field(repr=False)
    drawn_from: int | None = None
    positions: Positions | None = field(default=None, repr=False)
    keeps_rows: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.dataset.name

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.points.shape[0])

    @property
    def units(self) -> RowUnits | None:
        """Which rows belong together, where somebody said so."""
        return self.dataset.units

    @cached_property
    def by_unit(self) -> Array:
        """The points in the order of their groups."""
        order = None if self.units is None else self.units.order
        return self.points if order is None else take_rows(self.points, order)

    def in_order(self, values: FloatArray) -> FloatArray:
        """Return values for the rows in the order of their groups, in the order of the rows."""
        order = None if self.units is None else self.units.order
        if order is None:
            return values
        found = np.empty_like(values)
        found[order] = values
        return found

    @cached_property
    def constant(self) -> bool:
        """Whether all rows are the same."""
        return is_constant(self.points)

    @cached_property
    def sorted_keys(self) -> Keys | None:
        """A number for every row, the same for the same rows, where they are, in ascending order.

        None if the rows are not at hand.
        """
        keys = row_keys(self.points)
        return None if keys is None else ascending(keys)

    @cached_property
    def key_counts(self) -> KeyCounts | None:
        """The different ones of these, and how often each is there."""
        return None if self.sorted_keys is None else KeyCounts.of(self.sorted_keys)

    def has_rows_of(self, other: Sample) -> bool:
        """Tell whether another sample has the same rows in some order, as often each; and not by chance."""
        if self.size != other.size or self.sorted_keys is None or other.sorted_keys is None:
            return False
        assert self.key_counts is not None
        mine, theirs = in_one_place(self.sorted_keys, other.sorted_keys)
        return bool((mine == theirs).all()) and not self.key_counts.may_be_chance

    def same_rows(self, other: Sample) -> bool:
        """Tell whether another sample has the same rows in the same order."""
        if self is other or self.points is other.points:
            return True
        if not self.has_rows_of(other):
            return False
        mine, theirs = in_one_place(row_keys(self.points), row_keys(other.points))
        return bool((mine == theirs).all())

    @cached_property
    def digest(self) -> str:
        """A digest of the points, in their order, and of how they belong together."""
        digest = digest_of(self.points)
        if self.units is None:
            return digest
        weights = b"" if self.units.weights is None else self.units.weights.tobytes()
        return hashlib.sha256(digest.encode() + self.units.codes.tobytes() + weights).hexdigest()

    @cached_property
    def _looks(self) -> dict[str, Any]:
        return {}

    def looked_at(self, name: str, look: Callable[[Array], Any]) -> Any:
        """Return what a look at the points tells, which is taken the first time that somebody asks for it."""
        looks = self._looks
        if name not in looks:
            looks[name] = look(self.points)
        return looks[name]

    def taken(self, rows: Positions) -> Sample:
        """Return some of the rows as a sample."""
        dataset = self.dataset
        if dataset.units is not None:
            dataset = replace(dataset, units=dataset.units.take(rows))
        return replace(self, dataset=dataset, points=take_rows(self.points, rows))

    def at_most(self, rows: int) -> Sample:
        """Return so many of the rows, drawn at random and always the same; or all, if there are not more."""
        if self.size <= rows:
            return self
        chosen = representatives(self.size, rows)
        positions = chosen if self.positions is None else self.positions[chosen]
        return replace(self.taken(chosen), drawn_from=self.drawn_from or self.size, positions=positions)

    @cached_property
    def representatives(self) -> tuple[Positions, Array]:
        """Some rows that stand for all of them, with their positions."""
        chosen = representatives(self.size)
        # A copy: what the caller does to the data later must not change an interval.
        return chosen, take_rows(self.points, chosen)


def together(samples: Sequence[Any]) -> list[Any]:
    """Return samples whose points are of one library and type, so that they can be compared."""
    if not all(sample.keeps_rows for sample in samples):
        return list(samples)
    points = aligned([s.points for s in samples], [s.name for s in samples])
    return [s if s.points is p else replace(s, points=p) for s, p in zip(samples, points, strict=True)]
