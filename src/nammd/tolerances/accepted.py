"""What was accepted, as a tolerance keeps it: `AcceptedSet`.

A candidate may be like the reference, like any dataset that was accepted, or like a mixture of them.
Half-way counts too: where a column of numbers of an accepted dataset is far from the reference, the
reference may also have come a part of that way. Between N(0, 1) and N(3, 1) lies N(1.5, 1), and no mixture
of the two is like that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from nammd.data.arrays import Array, FloatArray, is_spread, like, take_rows, to_numpy
from nammd.data.magnitudes import deviation, unit_of
from nammd.data.repeats import Keys, row_keys
from nammd.data.row_units import RowUnits
from nammd.data.sampling import representatives
from nammd.engines import Engine
from nammd.engines.progress import aside
from nammd.engines.sums import WithinSums
from nammd.evidence.accepted import AcceptedRows, Rows, Sums, SumsBetween
from nammd.evidence.nearest import MOST_MOVED
from nammd.evidence.rows import Known
from nammd.kernels import Kernel
from nammd.kernels.operations import features_of
from nammd.spaces import Sample, Space
from nammd.tolerances.kept_sums import KeptSums, can_keep
from nammd.views.nearest import STEPS

MOST_ROWS = 10_000
"""So many rows of an accepted dataset are kept."""

FINE_ROWS, MOST_FINE, _LEAST_FINE = 3_000, 20_000, 1_000
"""Rows of a dataset that are compared in pairs at finer scales, of all accepted ones, and the least of each.

Fine structure is found in fewer rows than that: what more of them tell costs more than all the rest.
"""

FINE_FEATURE_ROWS = 100_000
"""The same where the kernel has features."""

MOVED_COLUMN = 0.1
"""From so many standard deviations on, there is something between the reference and an accepted column.

Mixtures of the two are next to it at the main scale, and far from it at finer ones: tight clusters that moved
half of the way are at neither end.
"""

QUANTILES = np.linspace(0.0, 1.0, 101)
"""Where columns are looked at, to tell how far they moved."""


def fine_rows(kernel: Kernel) -> int:
    """Return how many rows of a dataset are compared at finer scales."""
    return FINE_ROWS if features_of(kernel) is None else FINE_FEATURE_ROWS


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """Where the numbers of a column of the reference go in an accepted dataset, quantile by quantile.

    Attributes
    ----------
    slot, flag : int
        Where in a point the number is, and where it says that there is none; -1 where it never says so.
    before, after : array
        Quantiles of the reference, ascending, and those of the accepted dataset.
    """

    slot: int
    flag: int
    before: FloatArray = field(repr=False)
    after: FloatArray = field(repr=False)

    def move(self, points: FloatArray, share: float) -> None:
        """Move points a share of the way, in place."""
        present = np.ones(len(points), bool) if self.flag < 0 else points[:, self.flag] == 0
        values = points[present, self.slot]
        points[present, self.slot] = values + share * np.interp(values, self.before, self.after - self.before)


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Where the numbers of a column of the reference are.

    Attributes
    ----------
    slot, flag : int
        As of a `ColumnMap`.
    unit : float
        Their standard deviation.
    values : array
        Their quantiles.
    """

    slot: int
    flag: int
    unit: float
    values: FloatArray = field(repr=False)

    @classmethod
    def of(cls, reference: Sample) -> tuple[Quantiles, ...]:
        """Return those of all columns of numbers and times."""
        encoding, points = reference.space.encoding, _some(reference)
        columns = [column for column in encoding.columns if column.kind in ("numeric", "datetime")]
        places, units = [], []
        for column in columns:
            slots = encoding.slots(column.name)
            places.append((slots.start, slots.stop - 1 if column.labels[-1] == "missing" else -1))
            arrays = encoding.array_columns is not None
            units.append(float(deviation(_present(points, *places[-1]))) if arrays else column.weight)
        return tuple(
            cls(*place, unit, values)
            for place, unit, (count, values) in zip(places, units, _quantiles(points, places), strict=True)
            if count > 1 and unit > 0
        )

    @staticmethod
    def ways_to(accepted: FloatArray, home: Sequence[Quantiles]) -> tuple[ColumnMap, ...]:
        """Return where the numbers of columns go in an accepted dataset, of those columns that are far."""
        if not home:
            return ()
        found, theirs = [], list(_quantiles(accepted, [(one.slot, one.flag) for one in home]))
        steps = np.array([after for _, after in theirs]) - np.array([one.values for one in home])
        moved_by = np.abs(steps, out=steps).mean(axis=1).tolist()
        for one, (count, after), far in zip(home, theirs, moved_by, strict=True):
            least = max(MOVED_COLUMN, 2 / math.sqrt(max(count, 1)))  # of few rows, chance moves the quantiles
            if count < 2 or not far > least * one.unit:
                continue
            knots, where = np.unique(one.values, return_inverse=True)
            # At an atom of the reference there is more than one quantile: it goes to their mean.
            moved = np.bincount(where, after) / np.bincount(where)
            found.append(ColumnMap(one.slot, one.flag, knots, moved))
        return tuple(found)


def _present(points: FloatArray, slot: int, flag: int) -> FloatArray:
    found: FloatArray = points[:, slot] if flag < 0 else points[points[:, flag] == 0, slot]
    return found


def _quantiles(points: FloatArray, places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, FloatArray]]:
    """Yield for columns how many numbers there are, and their quantiles; without a gap all at once.

    There may be thousands of columns, and NumPy looks at its arguments for longer than a short one takes.
    """
    filled = np.logical_or.reduce(points, axis=0).tolist()
    whole = [flag < 0 or not filled[flag] for _, flag in places]
    slots = [slot for (slot, _), every in zip(places, whole, strict=True) if every]
    # In order, they are found in a fraction of the time.
    ordered = np.sort(points[:, slots].T, axis=1)
    together = iter(np.quantile(ordered, QUANTILES, axis=1).T if slots else ())
    for place, every in zip(places, whole, strict=True):
        if every:
            yield len(points), next(together)
        else:
            values = _present(points, *place)
            yield len(values), np.quantile(values, QUANTILES) if len(values) else np.zeros(len(QUANTILES))


@dataclass(frozen=True, eq=False)
class AcceptedDataset:
    """One dataset that was accepted.

    Attributes
    ----------
    label : str
        Its name.
    rows : int
        How many rows it had.
    points : array of shape (kept, width)
        The rows that are kept, as points of the space; what is beside `center` has the digits of 32 bits.
    center, unit : array of shape (width,)
        What is taken off every row, and the power of two that it is divided by, before it is rounded.
    maps : tuple of ColumnMap
        The columns that are far from the reference.
    added : str
        When it was accepted, in UTC.
    reason : str
        Why, in the words of whoever accepted it.
    units : RowUnits or None
        Which of the rows belong together, and how much each counts, where that was said.
    """

    label: str
    rows: int
    points: FloatArray = field(repr=False)
    center: FloatArray = field(repr=False)
    unit: FloatArray = field(repr=False)
    maps: tuple[ColumnMap, ...] = field(default=(), repr=False)
    added: str = ""
    reason: str = ""
    units: RowUnits | None = field(default=None, repr=False)

    @classmethod
    def of(cls, label: str, sample: Sample, home: Sequence[Quantiles], reason: str = "") -> AcceptedDataset:
        """Keep a dataset that is accepted; `home` is where the columns of the reference are."""
        exact = _some(sample)
        center = np.median(exact, axis=0)
        unit = _unit(exact, center)
        points = _rounded(exact, center, unit)
        if not np.isfinite(points).all():
            kept, column = (int(each[0]) for each in np.nonzero(~np.isfinite(points)))
            row = representatives(sample.size, MOST_ROWS)[kept]
            raise ValueError(
                f"{label!r} has {exact[kept, column]:.4g} in row {row}, column {column} (counted from 0), so "
                "far from its other rows that a file of 32 bits cannot keep them all; leave the row out"
            )
        maps = Quantiles.ways_to(points, home)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        units = sample.units
        if units is not None:
            units = units.take(representatives(sample.size, MOST_ROWS))
        return cls(label, sample.size, points, center, unit, maps, now, reason, units)

    @cached_property
    def sorted_keys(self) -> Keys:
        """A number for every row that is kept, the same for the same rows, in ascending order."""
        keys = row_keys(self.points)
        assert keys is not None
        found: Keys = np.sort(keys)
        return found

    def is_made_of(self, sample: Sample) -> bool:
        """Tell whether a sample has the rows of this dataset, in their order."""
        if sample.size != self.rows:
            return False
        return bool(np.array_equal(_rounded(_some(sample), self.center, self.unit), self.points))

    def copies(self, points: FloatArray) -> list[FloatArray]:
        """Return points of the reference, moved some shares of the way; nothing where no column is far."""
        found = [points.copy() for _ in STEPS] if self.maps else []
        for copy, share in zip(found, STEPS, strict=False):
            for each in self.maps:
                each.move(copy, share)
        return found


@dataclass(frozen=True, eq=False)
class AcceptedSet:
    """All datasets that were accepted beside the reference, and what they know of each other.

    Attributes
    ----------
    datasets : tuple of AcceptedDataset
        The datasets.
    home : tuple of Quantiles
        Where the columns of the reference are.
    within, between : mapping
        Sums over the pairs of rows of each of them, and of each two, by their numbers.
    kept : mapping of float to KeptSums
        The same with the reference, by scale, as far as it is kept.
    """

    datasets: tuple[AcceptedDataset, ...]
    home: tuple[Quantiles, ...] = field(default=(), repr=False)
    within: Mapping[int, WithinSums] = field(default_factory=dict, repr=False)
    between: Sums = field(default_factory=dict, repr=False)
    kept: Mapping[float, KeptSums] = field(default_factory=dict, repr=False)

    def accepting(self, samples: Mapping[str, Sample], space: Space, reason: str = "") -> AcceptedSet:
        """Return the set with more datasets; those that are known already are not summed again."""
        for label in samples:
            if label in self.labels or label == "reference":
                raise ValueError(f"{label!r} is accepted already; give another name")
        added = [AcceptedDataset.of(label, sample, self.home, reason) for label, sample in samples.items()]
        datasets = (*self.datasets, *added)
        if any(each.units is not None for each in datasets):  # groups are summed with those of a candidate
            return AcceptedSet(datasets, self.home)
        points = [each.points for each in datasets]
        with aside():
            [sums] = SumsBetween(points, self.within, self.between).at([space.kernel], None)
        # With more datasets, finer scales have other rows of each.
        kept = {s: k.after(len(self.datasets), len(added)) for s, k in self.kept.items() if s == 1.0}
        return AcceptedSet(datasets, self.home, sums.within, sums.between, kept)

    def keeping(
        self, reference: Sample, known: Known | None, engine: Engine | None, finer: Sequence[float]
    ) -> AcceptedSet:
        """Return the set with what it and its reference know of each other, where every check needs that.

        `known` is what is within the reference, and `finer` are the scales at which some of the rows are
        compared. Of few rows nothing is kept: they are compared at all scales at once. Nor of a kernel with
        features, which compares none in pairs.
        """
        sizes = [reference.size, *(len(each.points) for each in self.datasets)]
        many = len(sizes) > 1 and max(sizes) > FINE_ROWS and reference.size <= MOST_ROWS
        grouped = any(each.units is not None for each in self.datasets)
        if not many or grouped or not can_keep(reference, engine) or features_of(reference.space.kernel):
            return self
        own = known.sums if known is not None and known.sample.points is reference.points else None
        assert own is None or isinstance(own, WithinSums)
        corners, _ = self.corners(reference, (1.0,))
        kept = KeptSums.at((1.0,), reference, self.sums_between(corners), own)
        if finer:
            some = reference.at_most(FINE_ROWS)
            corners, _ = self.corners(some, finer)
            kept |= KeptSums.at(finer, some, SumsBetween([corner.points for corner in corners]))
        return replace(self, kept=kept)

    def same_as(self, sample: Any) -> str:
        """Return the name of the dataset that a sample is, row by row; empty where it is none."""
        if not sample.keeps_rows or is_spread(sample.points):
            return ""
        return next((each.label for each in self.datasets if each.is_made_of(sample)), "")

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the datasets."""
        return tuple(each.label for each in self.datasets)

    @property
    def fine_rows(self) -> int:
        """How many rows of each dataset finer scales have.

        What the datasets know of each other there takes long, where no file keeps it.
        """
        return max(min(MOST_FINE // max(len(self.datasets), 1), FINE_ROWS), _LEAST_FINE)

    @property
    def few(self) -> bool:
        """Whether finer scales have all rows of each dataset."""
        return all(len(each.points) <= self.fine_rows for each in self.datasets)

    def around(self, reference: Sample) -> AcceptedRows:
        """Return all that is accepted together with a reference, ready for candidates."""
        corners, sizes = self.corners(reference, (1.0,))
        kernel = reference.space.kernel
        [sums] = self.sums_between(corners).at([kernel], None)
        return AcceptedRows.of(kernel, corners, sizes, sums)

    def sums_between(self, corners: Sequence[Rows], kept: KeptSums | None = None) -> SumsBetween:
        """Return what is known of corners; with what is `kept` of the reference, where these are its rows."""
        points = [corner.points for corner in corners]
        within = {k + 1: sums for k, sums in self.within.items()}
        between = {(a + 1, b + 1): sums for (a, b), sums in self.between.items()}
        if kept is not None:
            within, between = {**within, **kept.within}, {**between, **kept.between}
        return SumsBetween(points, within, between)

    def known(
        self, reference: Sample, corners: Sequence[Rows], scales: Sequence[float], engine: Engine | None
    ) -> list[SumsBetween]:
        """Return what is known of corners at scales that are summed together: of each the same parts."""
        kept = [self.kept[scale] for scale in scales if scale in self.kept]
        if len(kept) < len(scales) or not all(each.hold_for(reference, engine) for each in kept):
            kept = []
        if tuple(scales) == (1.0,):
            return [self.sums_between(corners, *kept)]
        points = [corner.points for corner in corners]
        if not kept:
            return [SumsBetween(points)] * len(scales)
        return [SumsBetween(points, each.within, each.between) for each in kept]

    def corners(self, reference: Sample, scales: Sequence[float]) -> tuple[list[Rows], list[int]]:
        """Return the rows of all that is accepted, the reference first, and how many units each dataset has.

        At finer scales there may be fewer of them.
        """
        most = MOST_ROWS if 1.0 in scales else self.fine_rows
        points, drawn = reference.points, reference.positions
        corners, sizes = [Rows(points, 0, drawn)], [reference.drawn_from or reference.size]
        for k, each in enumerate(self.datasets, 1):
            kept = len(each.points)
            own = None if kept <= most else representatives(kept, most)
            corners.append(Rows(like(each.points if own is None else each.points[own], points), k, own))
            sizes.append(kept)
        some = representatives(reference.size, MOST_MOVED if 1.0 in scales else MOST_MOVED // 2)
        base = to_numpy(take_rows(points, some)).astype(np.float64)
        for each in self.datasets:
            moved = some if drawn is None else drawn[some]
            corners += [Rows(like(copy, points), 0, moved) for copy in each.copies(base)]
        return corners, sizes

    def shares(self, weights: FloatArray) -> tuple[tuple[str, float], ...]:
        """Return how much of a mixture is like the reference and each dataset; half-way counts for both."""
        count = len(self.datasets)
        found = np.array(weights[: count + 1])
        moved = iter(weights[count + 1 :])
        for k, each in enumerate(self.datasets, 1):
            for share in STEPS if each.maps and len(weights) > count + 1 else ():
                weight = next(moved)
                found[0] += (1 - share) * weight
                found[k] += share * weight
        return tuple(zip(("reference", *self.labels), found.tolist(), strict=True))


def _some(sample: Sample) -> FloatArray:
    points: Array = take_rows(sample.points, representatives(sample.size, MOST_ROWS))
    kept: FloatArray = to_numpy(points).astype(np.float64)
    return kept


def _unit(points: FloatArray, center: FloatArray) -> FloatArray:
    """Return a power of two near the usual deviation of every column: there, 32 bits reach farthest."""
    apart = np.sort(np.abs(points - center), axis=0)
    first = np.minimum((apart == 0).sum(axis=0), len(apart) - 1)  # that is above zero, if any is
    middle, every = (first + len(apart) - 1) / 2, np.arange(apart.shape[1])
    usual = (apart[np.floor(middle).astype(int), every] + apart[np.ceil(middle).astype(int), every]) / 2
    unit: FloatArray = unit_of(usual[None], axis=0)
    return unit


def _rounded(points: FloatArray, center: FloatArray, unit: FloatArray) -> FloatArray:
    """Return points as a file keeps them."""
    with np.errstate(over="ignore"):
        return placed(((points - center) / unit).astype(np.float32), center, unit)


def placed(kept: Any, center: FloatArray, unit: FloatArray) -> FloatArray:
    """Return the points that numbers of 32 bits stand for."""
    found: FloatArray = center + kept.astype(np.float64) * unit
    return found
