"""How two columns go together, and whether that changed: the distance of two cross-covariances.

A row has features of either column; how the columns go together is the covariance ``C`` of these features, a
vector here. With the influence of a unit on ``C``, estimates vary by the covariance of influences, and the
squared distance of two estimates, less what both vary by, is unbiased. At a margin, in the direction that was
seen, it is a quadratic form of variables that are normal up to their third cumulants.

Many pairs of columns are worked out at once: every array has one more axis, the first, for pairs of columns
that have equally many classes and features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.statistics.tails import gamma_tails, normal_below

_ROUNDS = 10
_SYMMETRIC = 1e-3
"""Below this skewness a law is taken to be normal."""


@dataclass(frozen=True, eq=False)
class CellInfluences:
    """What a row in each cell of a table does to an estimate, by what its two classes do.

    A row in the classes a and b does ``(one[a] two[b] + first[a] + second[b]) times[a, b]``, so that averages
    of squares need no array of all cells and features, which is large.

    Attributes
    ----------
    one, two : array of shape (pairs, classes, features)
        The features of the classes of either column, less their means.
    first, second : array of shape (pairs, classes, features of one, features of two)
        What belongs to one of the two classes alone.
    times : array of shape (pairs, classes, classes), optional
        How much a row counts.
    """

    one: FloatArray = field(repr=False)
    two: FloatArray = field(repr=False)
    first: FloatArray = field(repr=False)
    second: FloatArray = field(repr=False)
    times: FloatArray | None = field(default=None, repr=False)

    def each(self) -> FloatArray:
        """Return them one by one, as an array of shape (pairs, cells, features)."""
        found = self.one[:, :, None, :, None] * self.two[:, None, :, None, :]
        found += self.first[:, :, None]
        found += self.second[:, None]
        if self.times is not None:
            found *= self.times[:, :, :, None, None]
        return found.reshape(len(found), self.one.shape[1] * self.two.shape[1], -1)

    def filled(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weights of cells, of shape (pairs, cells), and what they do; if few, of filled ones."""
        there = weights > 0
        most = int(np.count_nonzero(there, axis=1).max(initial=0))
        if 2 * most > weights.shape[1]:
            return weights, self.each()
        cells = np.argsort(~there, axis=1, kind="stable")[:, :most]
        pair, (a, b) = np.arange(len(weights))[:, None], np.divmod(cells, self.two.shape[1])
        found = self.one[pair, a][:, :, :, None] * self.two[pair, b][:, :, None, :]
        found += self.first[pair, a]
        found += self.second[pair, b]
        if self.times is not None:
            found *= self.times[pair, a, b][:, :, None, None]
        return np.take_along_axis(weights, cells, axis=1), found.reshape(*cells.shape, -1)

    def squares(self, weights: FloatArray) -> FloatArray:
        """Return the weighted sums of their squared lengths, given weights of shape (pairs, cells)."""
        w = weights.reshape(len(weights), self.one.shape[1], self.two.shape[1])
        if self.times is not None:
            w = w * self.times**2
        u, v, p, q = self.one, self.two, self.first, self.second
        rows, columns = w.sum(axis=2), w.sum(axis=1)
        lengths = [(each**2).sum(axis=tuple(range(2, each.ndim))) for each in (u, v, p, q)]
        found = np.einsum("pa,pa->p", lengths[0], (w @ lengths[1][:, :, None])[:, :, 0])
        found += (rows * lengths[2]).sum(axis=1) + (columns * lengths[3]).sum(axis=1)
        # Products, and no sums over several arrays at once: to plan those takes longer than to compute them.
        twice = ((p @ (w @ v)[:, :, :, None])[:, :, :, 0] * u).sum(axis=(1, 2))
        twice += ((q @ v[:, :, :, None])[:, :, :, 0] * (w.transpose(0, 2, 1) @ u)).sum(axis=(1, 2))
        met = w @ q.reshape(*q.shape[:2], -1)
        twice += (p.reshape(met.shape) * met).sum(axis=(1, 2))
        total: FloatArray = found + 2 * twice
        return total

    def taken(self, which: NDArray[np.bool_]) -> CellInfluences:
        """Return those of some of the pairs."""
        times = None if self.times is None else self.times[which]
        return CellInfluences(self.one[which], self.two[which], self.first[which], self.second[which], times)


@dataclass(frozen=True, eq=False)
class Units:
    """What the units of one sample do to an estimate: rows by their cells, or groups one by one.

    Attributes
    ----------
    share : float, or array of shape (pairs,)
        How much of a mixture the sample is.
    weights : array of shape (pairs, units)
        How much each unit counts; their sum is one.
    given : CellInfluences, or array of shape (pairs, units, features)
        What it does, on average zero.
    size : array of shape (pairs,)
        How many units there are; with weights that stand for cells, how many rows.
    """

    share: float | FloatArray
    weights: FloatArray = field(repr=False)
    given: FloatArray | CellInfluences = field(repr=False)
    size: FloatArray = field(repr=False)

    @cached_property
    def _each(self) -> tuple[FloatArray, FloatArray]:
        """How much each unit counts, and what it does."""
        if isinstance(self.given, CellInfluences):
            return self.given.filled(self.weights)
        return self.weights, self.given

    @property
    def _scale(self) -> FloatArray:
        found: FloatArray = self.share**2 / np.maximum(self.size - 1, 1.0)
        return found

    @cached_property
    def covariance(self) -> FloatArray:
        """How much an estimate varies by them."""
        weights, influences = self._each
        weighted = (influences * weights[:, :, None]).transpose(0, 2, 1)
        found: FloatArray = weighted @ influences * self._scale[:, None, None]
        return found

    @cached_property
    def noise(self) -> FloatArray:
        """The expected squared error of an estimate by them: the trace of their covariance."""
        if isinstance(self.given, CellInfluences):
            return self.given.squares(self.weights) * self._scale
        return _trace(self.covariance)

    def taken(self, which: NDArray[np.bool_]) -> Units:
        """Return those of some of the pairs."""
        share = self.share[which] if isinstance(self.share, np.ndarray) else self.share
        given = self.given.taken(which) if isinstance(self.given, CellInfluences) else self.given[which]
        return Units(share, self.weights[which], given, self.size[which])

    def third(self, direction: FloatArray) -> FloatArray:
        """Return the third cumulant of an estimate along a direction."""
        weights, influences = self._each
        along = (influences @ direction[:, :, None])[:, :, 0]
        found: FloatArray = self.share**3 * (weights * along**3).sum(axis=1) / self.size**2
        return found


@dataclass(frozen=True, eq=False)
class Relation:
    """How two columns go together in a sample, or in a mixture of samples; of several pairs of columns.

    Attributes
    ----------
    value : array of shape (pairs, features)
        The cross-covariance of the features, estimated without bias.
    parts : sequence of Units
        What it varies by.
    rows : array of shape (pairs,)
        How many rows it is known from.
    """

    value: FloatArray = field(repr=False)
    parts: Sequence[Units] = field(repr=False)
    rows: FloatArray = field(repr=False)

    @cached_property
    def covariance(self) -> FloatArray:
        """How much the estimate varies."""
        found: FloatArray = sum((part.covariance for part in self.parts[1:]), self.parts[0].covariance)
        return found

    @cached_property
    def noise(self) -> FloatArray:
        """The expected squared error of the estimate."""
        return sum((part.noise for part in self.parts[1:]), self.parts[0].noise)

    @property
    def squared(self) -> FloatArray:
        """The squared size of the relation, without bias."""
        found: FloatArray = (self.value**2).sum(axis=1) - self.noise
        return found

    def taken(self, which: NDArray[np.bool_]) -> Relation:
        """Return some of the pairs."""
        if which.all():
            return self
        found = Relation(self.value[which], [part.taken(which) for part in self.parts], self.rows[which])
        if "noise" in vars(self):
            vars(found)["noise"] = self.noise[which]
        return found

    def third(self, direction: FloatArray) -> FloatArray:
        """Return the third cumulant of the estimate along a direction."""
        return sum((part.third(direction) for part in self.parts), np.zeros(len(self.value)))


@dataclass(frozen=True, eq=False)
class Cells:
    """The rows of a sample by the classes of two columns; of several pairs of columns.

    Attributes
    ----------
    table : array of shape (pairs, classes, classes)
        The share of rows in every cell; the sum of a table is one.
    size : array of shape (pairs,)
        How many rows there are.
    one, two : array of shape (pairs, classes, features)
        The features of the classes of either column.
    ranks : tuple of int
        How many classes of either column are ranks within the sample, and depend on all its rows.
    share : float, or array of shape (pairs,)
        How much of a mixture the sample is.
    seen : array of shape (pairs, classes, classes), optional
        The share of rows that were seen in every cell, where `table` is another one, in which they count more
        or less.
    """

    table: FloatArray = field(repr=False)
    size: FloatArray = field(repr=False)
    one: FloatArray = field(repr=False)
    two: FloatArray = field(repr=False)
    ranks: tuple[int, int] = (0, 0)
    share: float | FloatArray = 1.0
    seen: FloatArray | None = field(default=None, repr=False)

    @cached_property
    def counts_as(self) -> FloatArray:
        """How much a row of every cell counts."""
        if self.seen is None:
            return np.ones_like(self.table)
        return np.divide(self.table, self.seen, out=np.zeros_like(self.table), where=self.seen > 0)


def difference(x: Relation, y: Relation) -> FloatArray:
    """Return the squared distance of two relations, without bias."""
    found: FloatArray = ((y.value - x.value) ** 2).sum(axis=1) - x.noise - y.noise
    return found


def relation_of(samples: Sequence[Cells]) -> Relation:
    """Return how two columns go together in a sample, or in a mixture of several."""
    value, influences = _influences(samples)
    parts = []
    for sample, each in zip(samples, influences, strict=True):
        seen = sample.table if sample.seen is None else sample.seen
        if sample.seen is not None:
            each = replace(each, times=sample.counts_as)
        parts.append(Units(sample.share, seen.reshape(len(value), -1), each, sample.size))
    return Relation(value, parts, sum((sample.size for sample in samples), np.zeros(len(value))))


def relation_of_groups(
    sample: Cells, cells: NDArray[np.intp], groups: NDArray[np.intp], weights: FloatArray | None = None
) -> Relation:
    """Return how the columns of one pair go together where rows belong together.

    Parameters
    ----------
    sample : Cells
        The rows by their cells.
    cells, groups : array of int of shape (rows,)
        The cell and the group of every row.
    weights : array of shape (rows,), optional
        How much each row counts.
    """
    value, [found] = _influences([sample])
    influences = replace(found, times=sample.counts_as).each()
    each = influences[0, cells] if weights is None else influences[0, cells] * weights[:, None]
    count = int(groups.max()) + 1
    sums: FloatArray = np.column_stack([np.bincount(groups, column, count) for column in each.T])
    sums *= count / (len(cells) if weights is None else float(weights.sum()))
    units = Units(1.0, np.full((1, count), 1.0 / count), sums[None], np.full(1, float(count)))
    return Relation(value, [units], sample.size)


def aligned(x: Sequence[Cells], y: Cells) -> tuple[list[Cells], Cells]:
    """Return samples in which columns alone are alike, where classes of one of them are no ranks.

    Classes that one of them does not have are left out, and rows of `y` count so much that its margins are
    those of `x`: a category that became more common is a change of its column, and of no pair.
    """
    if all(y.ranks):
        return list(x), y
    whole = sum((_spread(s.share) * s.table for s in x), np.zeros_like(y.table))
    kept = np.ones_like(y.table)
    for _ in range(2):
        for axis in (1, 2):
            for table in (whole, y.table):
                kept = kept * ((table * kept).sum(axis=axis, keepdims=True) > 0)
        if kept.all():
            break  # else leaving out a class may leave out the last row of another one
    goal = whole * kept
    goal /= np.maximum(goal.sum(axis=(1, 2), keepdims=True), 1e-300)
    left = [(s.table * kept).sum(axis=(1, 2)) for s in x]
    total = sum((s.share * mass for s, mass in zip(x, left, strict=True)), np.zeros(len(kept)))
    before = [
        replace(
            s,
            table=s.table * kept / _spread(np.maximum(mass, 1e-300)),
            size=np.maximum(s.size * mass, 2.0),
            share=s.share * mass / np.maximum(total, 1e-300),
        )
        for s, mass in zip(x, left, strict=True)
    ]
    mass = (y.table * kept).sum(axis=(1, 2))
    seen = y.table * kept / _spread(np.maximum(mass, 1e-300))
    rows, columns = goal.sum(axis=2, keepdims=True), goal.sum(axis=1, keepdims=True)
    first = np.ones(rows.shape)
    for _ in range(_ROUNDS):  # by what rows and columns are multiplied with: tables are larger
        second = _over(columns, first.transpose(0, 2, 1) @ seen)
        first = _over(rows, seen @ second.transpose(0, 2, 1))
    table = seen * first * second
    return before, replace(y, table=table, seen=seen, size=np.maximum(y.size * mass, 2.0))


def _over(wanted: FloatArray, there: FloatArray) -> FloatArray:
    """Return by what each class is multiplied to be as frequent as wanted, in place; zero where none is."""
    found: FloatArray = np.divide(wanted, there, out=there, where=there > 0)
    return found


def _spread(values: float | FloatArray) -> FloatArray:
    """Return numbers for pairs as those of all cells of their tables."""
    return np.asarray(values).reshape(-1, 1, 1)


def _influences(samples: Sequence[Cells]) -> tuple[FloatArray, list[CellInfluences]]:
    """Return the cross-covariance, and what a row in each cell of every sample does to it."""
    margins = [(s.table.sum(axis=2)[:, None], s.table.sum(axis=1)[:, None]) for s in samples]
    mean_one = sum(_spread(s.share) * (rows @ s.one) for s, (rows, _) in zip(samples, margins, strict=True))
    mean_two = sum(_spread(s.share) * (cols @ s.two) for s, (_, cols) in zip(samples, margins, strict=True))
    pairs = len(samples[0].table)
    value, found = np.zeros((pairs, samples[0].one.shape[2] * samples[0].two.shape[2])), []
    for sample, (rows, cols) in zip(samples, margins, strict=True):
        one, two = sample.one - mean_one, sample.two - mean_two
        own = one.transpose(0, 2, 1) @ sample.table @ two
        # The means are estimated too: what their errors have in common is missing from the covariance.
        bias = own - (rows @ one).transpose(0, 2, 1) * (cols @ two)
        unseen = sample.share**2 / np.maximum(sample.size - 1, 1.0)
        value += (_spread(sample.share) * own + _spread(unseen) * bias).reshape(pairs, -1)
        features = one.shape[2], two.shape[2]
        lifts = [np.zeros((pairs, each.shape[1], *features)) for each in (one, two)]
        first, second = sample.ranks
        if first:
            lifts[0][:, :first] = _of_ranks(sample.table, one, two, first)
        if second:
            lifted = _of_ranks(sample.table.transpose(0, 2, 1), two, one, second)
            lifts[1][:, :second] = lifted.transpose(0, 1, 3, 2)
        mean = own.copy()
        for margin, lift in zip((rows, cols), lifts, strict=True):
            mean += (margin @ lift.reshape(pairs, lift.shape[1], -1)).reshape(mean.shape)
        lifts[0] -= mean[:, None]
        found.append(CellInfluences(one, two, lifts[0], lifts[1]))
    return value, found


def _of_ranks(table: FloatArray, one: FloatArray, two: FloatArray, classes: int) -> FloatArray:
    """Return what a row does to the classes of the others, where these are ranks.

    A row below a threshold lifts those that are at it.
    """
    near = table[:, : classes - 1] + table[:, 1:classes]
    mean = near @ two / np.maximum(near.sum(axis=2), 1e-12)[:, :, None]
    shares = table[:, :classes].sum(axis=2)
    below = np.cumsum(shares, axis=1)[:, :-1] / np.maximum(shares.sum(axis=1), 1e-12)[:, None]
    lifts = (np.arange(classes)[:, None] <= np.arange(classes - 1)) - below[:, None]
    steps = np.diff(one[:, :classes], axis=1)[:, :, :, None] * mean[:, :, None, :]
    lifted: FloatArray = lifts @ steps.reshape(len(table), classes - 1, -1)
    return lifted.reshape(len(table), classes, one.shape[2], two.shape[2])


def beyond(x: Relation, y: Relation, margin: FloatArray) -> FloatArray:
    """Return the p-values of "the squared distance is above a margin".

    Parameters
    ----------
    x : Relation
        The reference, or a mixture with it.
    y : Relation
        The candidate.
    margin : array of shape (pairs,)
        The squared distance that is negligible, above 0.
    """
    # Nearer than that even before the noise is taken off: then nothing is to be proven.
    far = ((y.value - x.value) ** 2).sum(axis=1) > margin
    found = np.ones(len(far))
    if far.any():
        found[far] = _beyond(x.taken(far), y.taken(far), margin[far])
    return found


def _beyond(x: Relation, y: Relation, margin: FloatArray) -> FloatArray:
    """Return the same of pairs whose estimates are farther apart than the margin."""
    apart = y.value - x.value
    square = (apart**2).sum(axis=1)
    (own_x, for_y), (own_y, for_x) = _borrowed(x, y), _borrowed(y, x)
    noise = _spread(own_x + for_x) * x.covariance + _spread(own_y + for_y) * y.covariance
    along = apart * np.sqrt(margin / np.maximum(square, 1e-300))[:, None]
    moved, twice = (noise @ along[:, :, None])[:, :, 0], noise @ noise
    second = 4 * (along * moved).sum(axis=1) + 2 * _trace(twice)
    third = 8 * ((twice * noise).sum(axis=(1, 2)) + 3 * (moved**2).sum(axis=1))
    third += 8 * (y.third(along) - x.third(along))
    second = np.maximum(second, 1e-60)  # nothing varies where a single cell is left
    return _tail((square - x.noise - y.noise - margin) / np.sqrt(second), third / second**1.5)


def _borrowed(own: Relation, other: Relation) -> tuple[FloatArray, FloatArray]:
    """Return how much the covariances of a sample and of the other one count in what the sample varies by.

    Where rare rows may be missing in it, that is the covariance of both together.
    """
    mine, theirs = own.noise * own.rows, other.noise * other.rows
    share = np.where(mine >= theirs, 0.0, other.rows / (own.rows + other.rows))
    return 1 - share, share * other.rows / own.rows


def _trace(matrices: FloatArray) -> FloatArray:
    found: FloatArray = np.trace(matrices, axis1=1, axis2=2)
    return found


def _tail(standardized: FloatArray, skewness: FloatArray) -> FloatArray:
    """Return the upper tail of a gamma law with mean 0, variance 1 and a skewness."""
    flat = np.abs(skewness) < _SYMMETRIC
    shape = 4 / np.where(flat, 1.0, skewness) ** 2
    place = np.maximum(shape + standardized * np.sqrt(shape) * np.sign(skewness), 0.0)
    below, above = gamma_tails(shape, place)
    tail = np.where(skewness > 0, above, below)
    found: FloatArray = np.where(flat, normal_below(-standardized), tail)
    return found
