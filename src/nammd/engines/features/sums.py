"""All sums of a kernel with features, from two walks over the rows of each sample: `feature_sums`.

The mean kernel value of a row with a sample is the product of its features with the sum of the sample's. So
one walk sums the features, and a second one gives the sums for every row. Sums over *pairs* of rows, of
squared kernel values, need the outer products of features. These enter the statistics in terms of second
order only, and some rows do for them: with features less the mean of *all* rows, what is left to chance is
some 0.2 % of the part of the variance that is due to pairs (docs/statistics.md, "Large data").

Rows that belong together are units, and the formulas are those of units: with F the sum of the features of a
unit's rows, each times its weight, two units have the kernel sum ``K = F'F``. Single rows are units of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from nammd.data.arrays import Array, FloatArray, namespace, to_numpy
from nammd.data.sampling import PAIRED_ROWS, shuffled
from nammd.engines.features.own_units import Own, Twins, outer_of_units
from nammd.engines.features.walks import Positions
from nammd.engines.features.waves import Waves
from nammd.engines.sums import CrossSums, WithinSums
from nammd.engines.units import UnitCross, Units, UnitWithin
from nammd.kernels.base import Kernel, Precision
from nammd.kernels.operations import features_of

SECOND_ORDER_ROWS, FINER_ROWS = PAIRED_ROWS, 4_096
"""So many units tell of pairs of units: at the first scale, and at finer ones."""

LARGE_ROWS = 65_536
"""From so many rows on, features are float32 whatever the data are."""


def by_features(kernels: Sequence[Kernel], parts: Sequence[tuple[Any, ...]]) -> bool:
    """Tell whether the sums of some parts are made of features: kernels have them, and rows are many."""
    each = [features_of(kernel) for kernel in kernels]
    return all(each) and rows_of_parts(parts) > 4 * each[0].n_features  # type: ignore[union-attr]


def rows_of_parts(parts: Sequence[tuple[Any, ...]]) -> int:
    """Return the rows of all samples in some parts."""
    every = [each[0] if isinstance(each, tuple) else each for part in parts for each in part]
    return sum({id(points): int(points.shape[0]) for points in every}.values())


@dataclass(eq=False)
class SummedSample:
    """A sample, and what is known of it so far; arrays have a first axis of scales.

    Where it is a part of a larger one, its rows are those `among` the points.
    """

    points: Array
    units: Units | None
    among: Positions | None = None
    total: FloatArray = field(init=False)  # S: the sum of features
    sized: FloatArray = field(init=False)  # T: the same, every unit counting by its size once more
    places: dict[int, int] = field(default_factory=dict)  # of other samples among the products
    products: Any = field(init=False)  # by scale and place
    own: Own = field(init=False)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.points.shape[0]) if self.among is None else len(self.among)

    def rows_of(self, chosen: Positions) -> Positions:
        """Return where some of its rows are among the points."""
        return chosen if self.among is None else self.among[chosen]

    @property
    def weights(self) -> list[FloatArray | None]:
        """The weights of rows in S, and in T where that differs."""
        units = self.units
        if units is None:
            return [None]
        weights = units.weights
        if self.same_sizes:
            return [weights]
        return [weights, units.row_weights * np.repeat(units.sizes, units.rows)]

    @cached_property
    def sizes(self) -> Any:
        """The sizes of units; one number where every row is a unit."""
        return 1.0 if self.units is None else self.units.sizes

    @cached_property
    def same_sizes(self) -> bool:
        """Whether all units have one size."""
        return self.units is None or bool(np.all(self.units.sizes == self.units.sizes[0]))

    @property
    def count(self) -> int:
        """The number of units."""
        return self.rows if self.units is None else len(self.units)

    @cached_property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self.rows if self.units is None else self.units.sizes.sum())

    @cached_property
    def squared_sizes(self) -> float:
        """The sum of the squared sizes of units."""
        return float(self.rows if self.units is None else self.units.sizes @ self.units.sizes)

    def by_unit(self, values: FloatArray) -> FloatArray:
        """Return weighted sums of values of rows over units."""
        return values if self.units is None else self.units.totals(values)

    def summed(self, totals: FloatArray) -> None:
        """Take S and T."""
        self.total = totals[:, 0]
        self.sized = totals[:, 1] if totals.shape[1] > 1 else totals[:, 0] * float(np.ravel(self.sizes)[0])

    def mean(self, k: int) -> FloatArray:
        """Return the mean features."""
        found: FloatArray = self.total[k] / self.weight
        return found

    def centred_sized(self, k: int) -> FloatArray:
        """Return the sum of sizes times features less their mean: zero where all sizes are the same."""
        centred: FloatArray = self.sized[k] - self.squared_sizes / self.weight * self.total[k]
        return centred

    def felt(self, k: int, other: SummedSample, sized: bool = False) -> FloatArray:
        """Return the products of every row with S of a sample, or with its T."""
        at, size = self.places[id(other)], 1.0
        if sized and other.same_sizes:
            size = float(np.ravel(other.sizes)[0])
        found: FloatArray = self.products[k][at + (sized and not other.same_sizes)]
        return found if size == 1 else size * found


def feature_sums(
    kernels: Sequence[Kernel],
    parts: Sequence[tuple[Any, ...]],
    walking: Any,
    precision: Precision,
) -> list[list[Any]]:
    """Return the sums of parts for every kernel: `WithinSums` and `CrossSums`, or those of units.

    Parameters
    ----------
    kernels : sequence of RandomFeatures
        The kernels, that of the largest bandwidth first.
    parts : sequence of tuples
        Samples as `Engine.many_sums` takes them, or pairs of samples and units.
    walking : callable
        Makes the walks of an engine from `Waves`; see `Walks`.
    precision : {"float32", "float64"}
        Of the features. Of many rows they are float32 in any case: the error is 1e-7 of a standard error.
    """
    if rows_of_parts(parts) > LARGE_ROWS:
        precision = "float32"
    # The x of a pair, whatever else is asked for: the same sums have the same bits.
    first = max(parts, key=len)[0]
    first = first[0] if isinstance(first, tuple) else first
    waves = Waves.around(kernels, first, precision)
    if waves is None:  # none is made of another: one after the other
        return [feature_sums([kernel], parts, walking, precision)[0] for kernel in kernels]
    walks = walking(waves)
    samples: dict[int, SummedSample] = {}
    keyed: list[tuple[SummedSample, ...]] = []
    for part in parts:
        keyed.append(tuple(_sample(each, samples) for each in part))
    every = list(samples.values())
    for sample, totals in zip(
        every, walks.totals([s.points for s in every], [s.weights for s in every]), strict=True
    ):
        sample.summed(totals)
    vectors = [_partners(sample, keyed) for sample in every]
    for sample, found in zip(every, walks.products([s.points for s in every], vectors), strict=True):
        sample.products = found
    bound = float(kernels[0].bound)
    for sample in every:
        sample.own = _own(walks, sample, bound)
    twins: dict[Any, Twins | None] = {
        part: Twins.of(walks, (part[0].points, part[0].units), (part[1].points, part[1].units))
        for part in keyed
        if len(part) == 2 and part[0].units is not None and part[1].units is not None
    }
    summed: list[list[Any]] = []
    for k in range(len(kernels)):
        order = SecondOrder.of(walks, every, k)  # at one scale after the other: these are large
        summed.append(
            [
                within_of(part[0], k, order)
                if len(part) == 1
                else cross_of(part[0], part[1], k, order, twins.get(part))
                for part in keyed
            ]
        )
        del order  # before the next ones are made
    return summed


def _own(walks: Any, sample: SummedSample, bound: float) -> Own:
    units = sample.units
    if units is None or (len(units) == sample.rows and not units.reach):
        return Own.of_rows(units, bound, walks.waves.scales)
    return Own.of_units(walks, sample.points, units)


def _sample(given: Any, samples: dict[int, SummedSample]) -> SummedSample:
    points, units = given if isinstance(given, tuple) else (given, None)
    return samples.setdefault(id(points), SummedSample(points, units))


def _partners(sample: SummedSample, parts: Sequence[tuple[SummedSample, ...]]) -> FloatArray:
    """Return S and T of all samples that one meets, and remember where each is."""
    vectors: list[FloatArray] = []
    for part in parts:
        if not any(each is sample for each in part):
            continue
        other = part[0] if part[-1] is sample else part[-1]
        for each in (sample, other):
            if id(each) not in sample.places:
                sample.places[id(each)] = len(vectors)
                vectors += [each.total] if each.same_sizes else [each.total, each.sized]
    return np.stack(vectors, axis=2)


@dataclass(eq=False)
class SecondOrder:
    """Outer products of the features of some units, less the mean of all rows, at one scale.

    Attributes
    ----------
    k : int
        The scale.
    chosen : dict
        The units of each sample.
    outer : dict
        The sums of their outer products.
    """

    k: int
    chosen: dict[int, Positions] = field(default_factory=dict)
    outer: dict[int, FloatArray] = field(default_factory=dict)

    @classmethod
    def of(cls, walks: Any, samples: Sequence[SummedSample], k: int) -> SecondOrder:
        """Find those of some samples."""
        found, plain = cls(k), list[SummedSample]()
        for sample in samples:
            units, most = sample.units, SECOND_ORDER_ROWS if k == 0 else FINER_ROWS
            chosen = found.chosen[id(sample)] = shuffled(sample.count, most)
            if units is None or (len(units) == sample.rows and units.weights is None):
                plain.append(sample)
            else:
                outer = outer_of_units(walks, sample.points, units, chosen, k, sample.mean(k))
                found.outer[id(sample)] = outer
        if not plain:
            return found
        rows = [each.rows_of(found.chosen[id(each)]) for each in plain]
        means = [each.mean(k) for each in plain]
        every = walks.second_order([each.points for each in plain], rows, k, means)
        found.outer |= {id(each): outer for each, outer in zip(plain, every, strict=True)}
        return found

    def product(self, x: SummedSample, y: SummedSample) -> float:
        """Return the sum of squared kernel sums of the chosen units of two samples, each with each."""
        one, two = self.outer[id(x)], self.outer[id(y)]
        if type(one) is not type(two):  # single rows, and units that were added up here
            one, two = to_numpy(one), to_numpy(two)
        return float(np.vdot(one, two) if isinstance(one, np.ndarray) else namespace(one).sum(one * two))


def within_of(x: SummedSample, k: int, order: SecondOrder) -> Any:
    """Return the sums over pairs of distinct units of a sample."""
    own = x.own
    rows = x.felt(k, x) - own.rows[k]
    mean = x.mean(k)
    c, s, turned = float(mean @ mean), x.sizes, x.centred_sized(k)
    similar = x.by_unit(x.felt(k, x))  # F'S
    u = _beyond_mean(similar, x.weight, s, c)
    diagonal = own.diagonal[k]
    centred = 2 * s * u
    np.subtract(diagonal, centred, out=centred)
    centred -= s * s * c  # of a unit with itself, less the mean
    chosen, count = order.chosen[id(x)], x.count
    r, pairs = len(chosen), order.product(x, x) - _squares(centred, chosen)
    squares = pairs * (count * (count - 1) / (r * (r - 1))) + _squares(centred, None, count)
    q, su, uu = x.squared_sizes, _times_sizes(s, u), float(u @ u)
    squares += 2 * q * uu + 2 * su * su + c * c * q * q + 4 * c * q * su
    if not x.same_sizes:
        across = x.by_unit(x.felt(k, x, sized=True)) - q / x.weight * similar - s * float(mean @ turned)
        squares += 4 * float(u @ across) + 2 * c * float(turned @ turned)
    squares -= _squares(diagonal, None, count) + own.squares[k]
    squares = max(float(squares), 0.0)
    if x.units is None:
        return WithinSums(rows, squares, x.total[k])
    sized = x.by_unit(x.felt(k, x, sized=True)) - own.sized[k]
    return UnitWithin(rows, sized, squares, x.total[k])


def cross_of(x: SummedSample, y: SummedSample, k: int, order: SecondOrder, twins: Twins | None) -> Any:
    """Return the sums over pairs of a unit of x and one of y, less units that are in both."""
    rows, cols = x.felt(k, y), y.felt(k, x)
    one, two = x.mean(k), y.mean(k)
    c, s, t = float(one @ two), x.sizes, y.sizes
    similar, others = x.by_unit(rows), y.by_unit(cols)
    u, v = _beyond_mean(similar, y.weight, s, c), _beyond_mean(others, x.weight, t, c)
    qx, qy = x.squared_sizes, y.squared_sizes
    su, tv = _times_sizes(s, u), _times_sizes(t, v)
    scale = x.count * y.count / (len(order.chosen[id(x)]) * len(order.chosen[id(y)]))
    squares = scale * order.product(x, y)
    squares += qy * float(u @ u) + qx * float(v @ v) + c * c * qx * qy
    squares += 2 * su * tv + 2 * c * (qy * su + qx * tv)
    sized_rows, sized_cols = x.by_unit(x.felt(k, y, sized=True)), y.by_unit(y.felt(k, x, sized=True))
    if not (x.same_sizes and y.same_sizes):
        left, right = x.centred_sized(k), y.centred_sized(k)
        by_x = sized_rows - qy / y.weight * similar - s * float(one @ right)
        by_y = sized_cols - qx / x.weight * others - t * float(two @ left)
        squares += 2 * (float(u @ by_x) + float(v @ by_y) + c * float(left @ right))
    if x.units is None or y.units is None:
        return CrossSums(rows, cols, max(float(squares), 0.0), None)
    if twins is not None:
        rows, cols, sized_rows, sized_cols = (a.copy() for a in (rows, cols, sized_rows, sized_cols))
        squares -= twins.take_off(k, rows, cols, sized_rows, sized_cols)
    return UnitCross(rows, cols, sized_rows, sized_cols, max(float(squares), 0.0))


def _beyond_mean(sums: FloatArray, weight: float, sizes: Any, c: float) -> FloatArray:
    """Return mean kernel sums of units, less what their sizes alone make of the mean of all."""
    found: FloatArray = sums / weight
    found -= sizes * c  # in place: there may be many rows
    return found


def _times_sizes(sizes: Any, values: FloatArray) -> float:
    """Return the sum of values of units times their sizes; one number where all of these are one."""
    return float(np.sum(sizes * values if isinstance(sizes, np.ndarray) else values))


def _squares(values: Any, chosen: Positions | None, count: int = 1) -> float:
    """Return the sum of squares of values of units, all or some; one number is the same for all."""
    if not isinstance(values, np.ndarray):
        return float(values) ** 2 * (count if chosen is None else len(chosen))
    some = values if chosen is None else values[chosen]
    return float(some @ some)
