"""How the columns of one dataset go together, two by two: counted once, as a table for every pair.

::

    values ── Classes.cut ──> classes of rows ── tables ──> SampleRelations ──> Relation (nammd.statistics)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.data.row_units import RowUnits
from nammd.data.values import Values
from nammd.statistics.relation import Cells, Relation, relation_of, relation_of_groups
from nammd.views.classes import MOST, Classes
from nammd.views.measure import Measure

Pairs: TypeAlias = tuple[tuple[str, str], ...]
Shape: TypeAlias = tuple[int, int, bool]
_Shapes: TypeAlias = tuple[Shape, Shape]

SIZE = MOST + 1
"""So many classes there are at most, that of missing values included."""

MOST_PAIRS = 2000
"""Of more pairs those are looked at that depend on each other most in the reference."""

LEAST = 20
"""With fewer rows, or groups of rows, nothing is said about pairs."""

_AT_ONCE = 1 << 21
"""So many numbers are worked on at once: features of cells, or their covariances."""

_LITTLE = 1 << 17
"""With so few numbers pairs of different shapes are worked on together."""

_COLUMNS_AT_ONCE = 64
_ROWS_AT_ONCE = 1 << 16
"""Rows whose cells are counted at a time: small arrays are made again and again in the same memory."""

_SOME = 5000

_MANY = 16
"""Never fewer columns are multiplied: a product of few may be rounded in another way."""

_LEADING = 2
"""So many features of a column tell how much it depends on another one, where there are many columns."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a reference, cut into classes, and which pairs of them are looked at.

    Attributes
    ----------
    classes : mapping of str to Classes
        The columns.
    pairs : tuple of (str, str)
        The pairs.
    """

    classes: Mapping[str, Classes] = field(default_factory=dict, repr=False)
    pairs: Pairs = ()


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows that belong together, by the classes of their columns."""

    codes: Mapping[str, NDArray[np.uint8]]
    groups: NDArray[np.intp]
    weights: FloatArray | None

    @cached_property
    def count(self) -> int:
        """How many groups there are."""
        return int(self.groups.max()) + 1


@dataclass(frozen=True, eq=False)
class SampleRelations:
    """How the columns of one sample go together.

    Attributes
    ----------
    columns : Columns
        The columns and the pairs, of the reference.
    quantiles : mapping of str to array
        Of columns whose classes are ranks: where these are.
    counts : array of shape (pairs, classes, classes)
        How many rows, or how much weight, is in every cell.
    sizes : array of shape (pairs,)
        How many rows there are; where they belong together, how many by themselves would tell as much.
    grouped : GroupedRows or None
        The rows, where they belong together and are at hand.
    """

    columns: Columns
    quantiles: Mapping[str, FloatArray] = field(repr=False)
    counts: FloatArray = field(repr=False)
    sizes: FloatArray = field(repr=False)
    grouped: GroupedRows | None = field(default=None, repr=False)

    @property
    def enough(self) -> bool:
        """Whether there are enough rows, or groups, to say something."""
        if self.grouped is not None and self.grouped.count < LEAST:
            return False
        return len(self.sizes) > 0 and float(self.sizes.max()) >= LEAST

    @cached_property
    def tables(self) -> FloatArray:
        """The share of rows in every cell."""
        found: FloatArray = self.counts / np.maximum(self.counts.sum(axis=(1, 2), keepdims=True), 1e-300)
        return found

    def both(self, pair: int) -> tuple[Classes, Classes]:
        """Return the two columns of a pair."""
        one, two = self.columns.pairs[pair]
        return self.columns.classes[one], self.columns.classes[two]

    @cached_property
    def unit(self) -> FloatArray:
        """What changes of every pair are measured in, squared: how much its columns vary by themselves."""
        return np.array([one.spread * two.spread for one, two in map(self.both, range(len(self.counts)))])

    def table(self, pair: int) -> FloatArray:
        """Return the share of rows in every cell of a pair."""
        one, two = self.both(pair)
        return self.tables[pair, : one.count + 1, : two.count + 1]

    def cells(self, pairs: Sequence[int]) -> Cells:
        """Return the rows by the classes of some pairs of one stack."""
        asked = tuple(pairs)
        if asked not in self._cells:
            [self._cells[asked]] = mixed([self], [1.0], pairs)
        return self._cells[asked]

    @cached_property
    def _cells(self) -> dict[tuple[int, ...], Cells]:
        """What was asked for: every candidate asks the reference for the same."""
        return {}

    def relation(self, pairs: Sequence[int], cells: Cells | None = None) -> Relation:
        """Return how the columns of some pairs of one stack go together; of one pair with groups."""
        own = self.cells(pairs)
        if self.grouped is not None or (cells is not None and cells is not own):
            return self._relation(pairs, cells or own)
        asked = tuple(pairs)
        if asked not in self._relations:
            self._relations[asked] = self._relation(pairs, own)
        return self._relations[asked]

    def _relation(self, pairs: Sequence[int], cells: Cells) -> Relation:
        rows = self.grouped
        if rows is None:
            return relation_of([cells])
        one, two = (rows.codes[name].astype(np.intp) for name in self.columns.pairs[pairs[0]])
        return relation_of_groups(cells, one * cells.table.shape[2] + two, rows.groups, rows.weights)

    @cached_property
    def _relations(self) -> dict[tuple[int, ...], Relation]:
        """What was asked for of all rows as they are, likewise."""
        return {}

    @cached_property
    def stacks(self) -> list[list[int]]:
        """The pairs in portions that are worked out at once; see `_joined`."""
        alike: dict[_Shapes, list[int]] = {}
        for pair in range(len(self.columns.pairs)):
            one, two = self.both(pair)
            alike.setdefault((one.shape, two.shape), []).append(pair)
        found = []
        for shapes, pairs in _joined(alike):
            most = 1 if self.grouped is not None else max(_AT_ONCE // _size(shapes), 1)
            found += [pairs[k : k + most] for k in range(0, len(pairs), most)]
        return found

    def kept(self) -> SampleRelations:
        """Return what a tolerance keeps: no rows, and as many as would tell as much by themselves."""
        if self.grouped is None:
            return self
        alone = replace(self, grouped=None)
        noise = [(alone.relation([k]).noise[0], self.relation([k]).noise[0]) for k in range(len(self.sizes))]
        shrunk = [min(rows / groups, 1.0) if groups > 0 else 1.0 for rows, groups in noise]
        return replace(alone, sizes=self.sizes * np.array(shrunk))


def _size(shapes: _Shapes) -> int:
    """Return how many numbers are worked on for one pair: features of cells, or their covariances."""
    cells, features = (math.prod(shape[k] for shape in shapes) for k in (0, 1))
    return features * max(cells, features)


def _room_for(shapes: Iterable[Shape]) -> Shape:
    classes, features, ranked = map(max, zip(*shapes, strict=True))
    return int(classes), int(features), bool(ranked)


def _joined(alike: Mapping[_Shapes, list[int]]) -> Iterator[tuple[_Shapes, list[int]]]:
    """Yield pairs by their shapes; few of them together, with room for the largest.

    Steps take longer to call than to compute then. Ranks depend on each other, so these keep their shape.
    """
    several: dict[tuple[Shape | None, ...], list[_Shapes]] = {}
    for shapes in alike:
        several.setdefault(tuple(shape if shape[2] else None for shape in shapes), []).append(shapes)
    for group in several.values():
        one, two = zip(*group, strict=True)
        largest = _room_for(one), _room_for(two)
        every = [pair for shapes in group for pair in alike[shapes]]
        if len(every) * _size(largest) <= _LITTLE:
            yield largest, every
        else:
            yield from ((shapes, alike[shapes]) for shapes in group)


def mixed(samples: Sequence[SampleRelations], shares: Sequence[float], pairs: Sequence[int]) -> list[Cells]:
    """Return the rows of a mixture of samples by the classes of some pairs of one stack.

    Where classes are ranks, they are at their ranks within the mixture.
    """
    parts = [(share, sample) for share, sample in zip(shares, samples, strict=True) if share > 0]
    columns = list(zip(*map(samples[0].both, pairs), strict=True))
    shapes = [_room_for(column.shape for column in each) for each in columns]
    ranks = [each[0].count if each[0].ranked else 0 for each in columns]
    found = []
    for share, sample in parts:
        features = []
        for some, (classes, count, _) in zip(columns, shapes, strict=True):
            different = {column.measure.name: column for column in some}
            places = {name: k for k, name in enumerate(different)}
            every = np.zeros((len(different), classes, count))
            for place, column in zip(every, different.values(), strict=True):
                own = _features(column, sample, parts)
                place[: own.shape[0], : own.shape[1]] = own
            features.append(every[[places[column.measure.name] for column in some]])
        table = sample.tables[pairs, : shapes[0][0], : shapes[1][0]]
        found.append(Cells(table, sample.sizes[pairs], features[0], features[1], (ranks[0], ranks[1]), share))
    return found


def _features(
    column: Classes, sample: SampleRelations, parts: Sequence[tuple[float, SampleRelations]]
) -> FloatArray:
    if len(parts) == 1 or not column.ranked:
        return column.own_features
    name = column.measure.name
    others = [(share, other.quantiles[name]) for share, other in parts]
    return column.mixed_features(sample.quantiles[name], others)


class RelationCounter:
    """Counts how the columns of a dataset go together, while they are read, also in several threads.

    Parameters
    ----------
    columns : Columns or None
        Those of the reference; None for the reference itself, whose columns are cut on the way.
    units : RowUnits or None
        Which rows belong together, and how much each counts.
    """

    def __init__(self, columns: Columns | None, units: RowUnits | None) -> None:
        self._columns = columns
        self._units = None if units is None or units.all_alike else units
        self._made: dict[str, Classes] = {}
        self._codes: dict[str, NDArray[np.uint8]] = {}
        self._quantiles: dict[str, FloatArray] = {}

    def add(self, measure: Measure, values: Values, made: Classes | None = None) -> Classes | None:
        """Take the values of a column, with its classes where these are known; return the classes."""
        return self.add_all([(measure, values)], {} if made is None else {measure.name: made})[0]

    def add_all(
        self, columns: Sequence[tuple[Measure, Values]], made: Mapping[str, Classes] | None = None
    ) -> list[Classes | None]:
        """Take the values of several columns, which is quicker where each has a few rows."""
        known = made or ({} if self._columns is None else self._columns.classes)
        old = [(known[measure.name], values) for measure, values in columns if measure.name in known]
        new = [each for each in columns if self._columns is None and _can_go_together(each[0])]
        new = [each for each in new if each[0].name not in known]
        found = {one.measure.name: one for one, _ in old}
        cuts = dict(zip(found, Classes.cut(old), strict=True))
        for one, codes, quantiles in Classes.of(new):
            found[one.measure.name], cuts[one.measure.name] = one, (codes, quantiles)
        found = {name: one for name, one in found.items() if one.count >= 2}
        for measure, _ in columns:
            name = measure.name
            if name in found:
                self._made[name], self._codes[name] = found[name], cuts[name][0]
                if found[name].ranked:
                    self._quantiles[name] = cuts[name][1]
        return [found.get(measure.name) for measure, _ in columns]

    def in_order(self, measures: Sequence[Measure]) -> None:
        """Put the columns that were taken, in whatever order, into that of measures: pairs follow it."""
        self._made = {m.name: self._made[m.name] for m in measures if m.name in self._made}

    def found(self, columns: Columns | None = None) -> SampleRelations:
        """Return how they go together; `columns` where they were not known before."""
        columns = columns or self._columns or Columns(self._made, self._chosen())
        rows, units = self.rows, self._units
        weights = None if units is None else units.weights
        grouped = None
        if units is not None and rows:
            groups = units.codes if units.names is not None else np.arange(rows)
            grouped = GroupedRows(self._codes, groups, weights)
        sizes = np.full(len(columns.pairs), float(rows))
        return SampleRelations(
            columns, self._quantiles, self._counted(columns.pairs, weights), sizes, grouped
        )

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self._codes.values()), ()))

    def _chosen(self) -> Pairs:
        """Return all pairs, or, of too many, those that depend on each other most in some rows."""
        if len(self._made) * (len(self._made) - 1) // 2 <= MOST_PAIRS:
            return tuple(combinations(self._made, 2))
        return _most_dependent(self._made, self._some(max(self.rows // _SOME, 1)))

    def _some(self, step: int) -> Mapping[str, NDArray[np.uint8]]:
        """Return the classes of every so many rows."""
        return {name: codes[::step] for name, codes in self._codes.items()}

    def _counted(self, pairs: Pairs, weights: FloatArray | None) -> FloatArray:
        """Return how many rows, or how much weight, is in every cell of some pairs."""
        counts = np.zeros((len(pairs), SIZE * SIZE))
        step = _ROWS_AT_ONCE if weights is None else max(self.rows, 1)  # weights are added up in one order
        for start in range(0, self.rows, step):
            some = {name: codes[start : start + step] for name, codes in self._codes.items()}
            for k, (one, two) in enumerate(pairs):
                cells = some[one].astype(np.int16) * np.int16(SIZE) + some[two]
                counts[k] += np.bincount(cells, weights, SIZE * SIZE)
        return counts.reshape(len(pairs), SIZE, SIZE)


def _can_go_together(measure: Measure) -> bool:
    """Tell whether a column is looked at with others: not where it has thousands of labels."""
    return not measure.in_cells


def _most_dependent(made: Mapping[str, Classes], codes: Mapping[str, NDArray[np.uint8]]) -> Pairs:
    """Return the pairs that depend on each other most in some rows, given their classes."""
    names = list(made)
    features = np.zeros((_LEADING, len(codes[names[0]]), len(names)))
    for place, name in enumerate(names):
        own = made[name].own_features[:, -_LEADING:] / np.sqrt(made[name].spread)
        features[: own.shape[1], :, place] = own.T[:, codes[name]]
    features -= features.mean(axis=1, keepdims=True)
    return tuple((names[i], names[j]) for i, j in _largest(features))


def _largest(features: FloatArray) -> list[tuple[int, int]]:
    """Return the pairs of columns with the largest covariances, in the order of the columns.

    There may be many millions of pairs, so some columns are looked at with all others at a time: in float32,
    and exactly only those where that leaves it open whether they are among the largest.
    """
    columns = features.shape[2]
    sizes, pairs, least = np.empty(0), np.empty((0, 2), np.intp), -1.0
    roughly, error = features.astype(np.float32), _error_of_float32(features)
    for start in range(0, columns, _COLUMNS_AT_ONCE):
        here = slice(start, start + _COLUMNS_AT_ONCE)
        near, others = np.arange(start, columns), features[:, :, start:]
        if least > 2 * error:  # or it would be open for too many
            some = _sizes(roughly[:, :, here], roughly[:, :, start:]).max(axis=0) > least - error
            some[:_MANY] = True
            near, others = near[some], others[:, :, some]
        size = _sizes(features[:, :, here], others)
        size[near <= start + np.arange(len(size))[:, None]] = -1.0  # each pair once, and no column alone
        i, j = np.nonzero(size > least)
        sizes = np.append(sizes, size[i, j])
        pairs = np.concatenate([pairs, np.column_stack([start + i, near[j]])])
        if len(sizes) > MOST_PAIRS:
            least = float(np.partition(sizes, -MOST_PAIRS)[-MOST_PAIRS])
            kept = np.flatnonzero(sizes >= least)
            kept = np.sort(kept[np.argsort(-sizes[kept], kind="stable")[:MOST_PAIRS]])
            sizes, pairs = sizes[kept], pairs[kept]
    return [(int(i), int(j)) for i, j in pairs]


def _sizes(here: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """Return the sizes of the covariances of some columns with others."""
    size = np.zeros((here.shape[2], others.shape[2]), here.dtype)
    part = np.empty_like(size)
    for one in here:
        for two in others:  # in place: a new matrix each time would take longer than the products
            np.matmul(one.T, two, out=part)
            part *= part
            size += part
    return size


def _error_of_float32(features: FloatArray) -> float:
    """Return more than the sizes of covariances are wrong by, where they are worked out in float32."""
    largest: float = np.einsum("ijk,ijk->ik", features, features).max(initial=0.0) ** 2
    terms = len(features) ** 2 * (features.shape[1] + 4)
    return float(4 * terms * largest * np.finfo(np.float32).eps)
