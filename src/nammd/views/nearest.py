"""One column of a candidate against all that was accepted for it, from counts: `nearest_counts`.

The corners are the column in the reference and in every accepted dataset; and, where numbers of an accepted
dataset are far from those of the reference, the reference a part of the way there, quantile by quantile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray
from nammd.statistics.hull import Corner, Hull, Met, Mixture
from nammd.statistics.nearest import Nearest
from nammd.statistics.pair import Pair
from nammd.views.counts import Counts, LabelCounts, NumberCounts
from nammd.views.lattice import STEP, cells, spread_over
from nammd.views.support import Labels, Lattice, Support, Values

FAR_COLUMN = 0.5
"""From so many standard deviations on, there is something between the reference and an accepted column."""

STEPS = (0.25, 0.5, 0.75)
"""How far the reference is moved."""

_DENSE = 1024
"""Up to so many places the kernel between them is a matrix."""

_QUANTILES = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True, eq=False)
class Placed:
    """Rows of one column by their places.

    Attributes
    ----------
    places : array
        Where the rows are: of labels, their numbers.
    rows : array
        How many are there.
    sample : int
        Whose rows they are: of the reference that was moved, still those of the reference.
    counts : Counts or None
        The same as counts, where every value has a place of its own.
    """

    places: FloatArray = field(repr=False)
    rows: FloatArray = field(repr=False)
    sample: int
    counts: Counts | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Places:
    """The places of several samples of one column, one after another, and the kernel between them."""

    samples: tuple[Placed, ...]
    labels: bool

    @cached_property
    def every(self) -> FloatArray:
        """All places."""
        return np.concatenate([sample.places for sample in self.samples])

    @cached_property
    def ends(self) -> list[int]:
        """Where the places of each sample end."""
        found: list[int] = np.cumsum([len(sample.places) for sample in self.samples]).tolist()
        return found

    def part(self, number: int) -> slice:
        """Return where the places of a sample are among all."""
        return slice(self.ends[number - 1] if number else 0, self.ends[number])

    @cached_property
    def _support(self) -> Support:
        if self.labels:
            return Labels({str(k): k for k in range(int(self.every.max(initial=0.0)))})
        if len(self.every) <= _DENSE:
            return Values(self.every)
        start = int(np.floor(self.every.min() / STEP))
        return Lattice(start, int(np.ceil(self.every.max() / STEP)) - start + 2)

    def sums(self, values: FloatArray, *squared: bool) -> list[FloatArray]:
        """Return, for every place, the sums of values times kernel values, or times their squares."""
        support = self._support
        if isinstance(support, Labels):
            where = self.every.astype(np.intp)
            added = np.zeros((support.size, values.shape[1]))
            np.add.at(added, where, values)
            return [support.apply(added, each)[where] for each in squared]
        if not isinstance(support, Lattice):
            return [support.apply(values, each) for each in squared]
        _, cell, share = self._cells
        spread = np.zeros((support.size, values.shape[1]))
        for number, column in enumerate(values.T):
            rows = spread_over(cell, share, column)
            spread[: len(rows), number] = rows
        return [self._at_places(support.apply(spread, each)) for each in squared]

    @cached_property
    def _cells(self) -> tuple[int, NDArray[np.int64], FloatArray]:
        return cells(self.every)

    def _at_places(self, seen: FloatArray) -> FloatArray:
        """Return what is seen at all places from what is at the points of the lattice around them."""
        start, cell, _ = self._cells
        found = seen[cell]
        slopes = (seen[cell + 1] - found) / STEP
        slopes *= (self.every - (cell + start) * STEP)[:, None]
        found += slopes
        return found

    def alone(self, one: int, two: int) -> FloatArray:
        """Return the kernel values between rows of one sample and the same rows in another."""
        if self.labels or one == two:
            return np.ones(len(self.samples[one].places))
        apart = self.samples[one].places - self.samples[two].places
        found: FloatArray = np.exp(-0.5 * apart**2)
        return found


def nearest_counts(reference: Counts, accepted: Sequence[Counts], candidate: Counts) -> Nearest:
    """Return the mixture of what was accepted for a column that is nearest to it in a candidate."""
    found = nearest_mixture(reference, accepted, candidate)
    return Nearest(found.mixture.weights, found.pair, found.mixture.bias / found.pair.scale)


@dataclass(frozen=True, eq=False)
class NearestMixture:
    """The mixture of what was accepted for a column that is nearest to it in a candidate."""

    places: Places
    mixture: Mixture

    @cached_property
    def alone(self) -> Counts | None:
        """The one corner that the mixture is, where both are known value by value; else None."""
        [first, *others] = self.mixture.used
        known = not others and self.places.samples[-1].counts is not None
        return self.places.samples[first].counts if known else None

    @cached_property
    def pair(self) -> Pair:
        """The mixture and the candidate as a pair."""
        *corners, theirs = self.places.samples
        alike = _constant([corners[v] for v in self.mixture.used]), _constant([theirs])
        return self.mixture.pair(MixedOrder(self.places, self.mixture), alike)


def nearest_mixture(reference: Counts, accepted: Sequence[Counts], candidate: Counts) -> NearestMixture:
    """Return the same, of which the pair is worked out when somebody asks."""
    labels = isinstance(reference, LabelCounts)
    if labels:
        *corners, theirs = _numbered([reference, *accepted, candidate])
    else:
        corners, theirs = _corners(reference, accepted), _placed(candidate, -1)
    places = Places((*corners, theirs), labels)
    count = len(corners)
    rows = np.zeros((len(places.every), count + 1))
    for number, sample in enumerate(places.samples):
        rows[places.part(number), number] = sample.rows
    seen, squared = places.sums(rows, False, True)
    found, squares = [], np.empty((count + 1, count + 1))
    for number, sample in enumerate(places.samples):
        own, own_squared = seen[places.part(number)], squared[places.part(number)]
        for other, there in enumerate(places.samples):
            if there.sample == sample.sample:
                alone = places.alone(number, other)
                own[:, other] -= alone
                own_squared[:, other] -= alone**2
        squares[number] = sample.rows @ own_squared
        found.append(Corner(sample.sample, own[:, :count], sample.rows))
    hull = Hull(tuple(found[:-1]), squares[:count, :count])
    own = seen[places.part(count)][:, count]
    across = [seen[places.part(number)][:, count] for number in range(count)]
    met = Met(across, squares[:count, count], found[-1], own, float(squares[count, count]))
    return NearestMixture(places, hull.nearest(met))


@dataclass(frozen=True, eq=False)
class MixedOrder:
    """How influences of rows of a mixture, and of a candidate, meet through the kernel; `SecondOrder`."""

    places: Places
    mixture: Mixture

    @property
    def eigenvalues(self) -> tuple[float, float]:
        """Nobody asks: they are for proofs of "within"."""
        return float("nan"), float("nan")

    def apart(self) -> MixedOrder:
        """Return the same: no rows are in both."""
        return self

    def form(self, side: int, g: FloatArray) -> FloatArray:
        """Return the means of ``g_i k(i, j) g_j`` over pairs of distinct units of a sample."""
        atoms = self.mixture.meeting.atoms[side]
        assert atoms.counts is not None
        weighted = atoms.counts[:, None] * g
        found = weighted.T @ self._felt(side, side, weighted) - weighted.T @ (self._alone(side)[:, None] * g)
        if isinstance(atoms.sizes, np.ndarray):  # what is due to sizes alone
            sized = weighted.T @ atoms.sizes
            found -= atoms.mean * (np.outer(sized, sized) - weighted.T @ (atoms.sizes[:, None] ** 2 * g))
        scaled: FloatArray = found / atoms.all_pairs[0]
        return scaled

    def felt(self, g: FloatArray) -> FloatArray:
        """Return, for every unit of x, the means of ``k(i, j) g_j`` over the rows of y."""
        x, y = self.mixture.meeting.atoms
        assert y.counts is not None
        found: FloatArray = self._felt(0, 1, y.counts[:, None] * g) / y.count
        return found * (x.count / x.weight)

    def mean(self, g: FloatArray, felt: FloatArray) -> FloatArray:
        """Return the means over the rows of x of influences times what is felt."""
        x = self.mixture.meeting.atoms[0]
        assert x.counts is not None
        found: FloatArray = (x.counts[:, None] * g).T @ felt / x.count
        return found

    def _felt(self, side: int, other: int, values: FloatArray) -> FloatArray:
        """Return, for units of one side, the sums of values of units of the other, by their kernel sums."""
        at = np.zeros((len(self.places.every), values.shape[1]))
        for part, units, weight in self._points(other):
            at[part] += weight * values[units]
        [seen] = self.places.sums(at, False)
        found = np.zeros((len(self.mixture.meeting.atoms[side].own), values.shape[1]))
        for part, units, weight in self._points(side):
            found[units] += weight * seen[part]
        return found

    def _alone(self, side: int) -> FloatArray:
        """Return the kernel sum of each unit with itself."""
        if side == 1:
            return np.ones(len(self.mixture.meeting.atoms[1].own))
        mixture = self.mixture
        found = np.zeros(len(mixture.meeting.atoms[0].own))
        for one in mixture.used:
            for two in mixture.used:
                if mixture.hull.corners[one].sample == mixture.hull.corners[two].sample:
                    both = mixture.row_weights[one] * mixture.row_weights[two]
                    found[self._units(one)] += both * self.places.alone(one, two)
        return found

    def _points(self, side: int) -> list[tuple[slice, slice, float]]:
        """Return where places of a side are among all, of which units they are, and how these count."""
        if side == 1:
            return [(self.places.part(len(self.places.samples) - 1), slice(None), 1.0)]
        weights = self.mixture.row_weights
        return [(self.places.part(v), self._units(v), float(weights[v])) for v in self.mixture.used]

    def _units(self, v: int) -> slice:
        start = 0
        for sample, places in self.mixture.places.items():
            if sample == self.mixture.hull.corners[v].sample:
                return slice(start, start + len(places))
            start += len(places)
        raise KeyError(v)


def _constant(samples: Sequence[Placed]) -> bool:
    """Tell whether all rows are at one place."""
    filled = np.concatenate([sample.places[sample.rows > 0] for sample in samples])
    return bool(filled.size and np.ptp(filled) == 0)


def _corners(reference: Counts, accepted: Sequence[Counts]) -> list[Placed]:
    home, *others = (_placed(each, k) for k, each in enumerate([reference, *accepted]))
    return [home, *others, *(moved for other in others for moved in _between(home, other))]


def _numbered(samples: Sequence[Counts]) -> list[Placed]:
    """Return samples of labels by the numbers of these; that of missing ones is the last."""
    every = [sample for sample in samples if isinstance(sample, LabelCounts)]
    names = {label: k for k, label in enumerate(dict.fromkeys(label for s in every for label in s.rows))}
    missing = float(len(names))
    found = []
    for k, sample in enumerate(every):
        places = np.array([*(names[label] for label in sample.rows), missing], dtype=np.float64)
        found.append(Placed(places, np.array([*sample.rows.values(), sample.missing]), k, sample))
    return found


def _placed(counts: Counts, sample: int) -> Placed:
    assert isinstance(counts, NumberCounts)
    return Placed(counts.places, counts.rows, sample, counts if counts.exact else None)


def _between(home: Placed, other: Placed) -> list[Placed]:
    """Return the reference moved towards an accepted sample, where that is far."""
    before, after = (_quantiles(sample) for sample in (home, other))
    if not np.abs(after - before).mean() > FAR_COLUMN:
        return []
    knots, where = np.unique(before, return_inverse=True)
    way = np.interp(home.places, knots, np.bincount(where, after - before) / np.bincount(where))
    return [_moved(home, share * way) for share in STEPS]


def _moved(home: Placed, way: FloatArray) -> Placed:
    places = home.places + way
    counts = None
    if home.counts is not None and (np.diff(places) > 0).all():
        counts = NumberCounts(places, home.rows, 0.0, True)
    return Placed(places, home.rows, home.sample, counts)


def _quantiles(sample: Placed) -> FloatArray:
    reached = np.cumsum(sample.rows)
    wanted = np.searchsorted(reached, _QUANTILES * reached[-1])
    found: FloatArray = sample.places[np.minimum(wanted, len(sample.places) - 1)]
    return found
