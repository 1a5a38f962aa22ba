"""Distance to what was accepted: to the nearest mixture of the laws of some samples, `Hull`.

Accepted data say in which direction a drift is fine, and not only how far. So a candidate Q is held against
the convex hull of the laws P_0 (the reference), P_1, ..., P_k that were accepted:

    D(Q) = min over weights w (w >= 0, sum 1) of NAMMD(sum_v w_v P_v, Q).

Given w, the mixture is all rows together, each counting ``w_v`` over the rows of its corner, and the test of
a margin is the usual one, of units of different sizes. The weights are fitted. To first order that does not
matter (the envelope theorem), and the minimum is never above the value at the true weights, so that "beyond"
stays honest. For "within" the minimum is too small by about ``tr(H^-1 S)``: H is how the squared distance
curves over the weights, and S the covariance of its gradient.

A corner may be made of the units of another one, moved: such units are drawn once, and vary together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.statistics.atom_pair import AtomPair, SecondOrder
from nammd.statistics.atoms import Atoms, Places
from nammd.statistics.nearest import fitted_bias, nearest_weights
from nammd.statistics.pair import Pair

_BLOCK = 65_536
"""So many units are looked at at once, where all of them would take much memory."""


@dataclass(frozen=True, eq=False)
class Corner:
    """One of the laws that were accepted, by the units of a sample.

    Attributes
    ----------
    sample : int
        Which sample the units are drawn with; that of another corner, where they are its units, moved.
    seen : array of shape (units, corners)
        For every unit: the sums of kernel values with each corner, of other units than itself.
    counts : array or None
        How many units of each kind there are; None where every one is by itself.
    units : array of int, or None
        Which units of the sample these are; None for all of them.
    """

    sample: int
    seen: FloatArray = field(repr=False)
    counts: FloatArray | None = field(default=None, repr=False)
    units: Places | None = field(default=None, repr=False)

    @cached_property
    def size(self) -> float:
        """The number of units."""
        return float(len(self.seen)) if self.counts is None else float(self.counts.sum())

    def total(self, values: FloatArray) -> FloatArray:
        """Return the sums of values over all units."""
        found: FloatArray = values.sum(axis=0) if self.counts is None else self.counts @ values
        return found

    def mixed(self, weights: FloatArray) -> FloatArray:
        """Return, for every unit, the sums of kernel values with corners that count so much."""
        used = np.flatnonzero(weights)
        if len(used) == 1 and len(self.seen) > _BLOCK:  # without a copy, where that is large
            return times(self.seen[:, used[0]], float(weights[used[0]]))
        found: FloatArray = self.seen @ weights
        return found

    def covariance(self, values: Callable[[slice], FloatArray]) -> FloatArray:
        """Return the covariance matrix of values of units, which are asked for some units at a time."""
        blocks = [slice(k, k + _BLOCK) for k in range(0, len(self.seen), _BLOCK)]
        counts = [1.0 if self.counts is None else self.counts[block, None] for block in blocks]
        every = list(zip(blocks, counts, strict=True))
        mean = np.sum([(count * values(block)).sum(axis=0) for block, count in every], axis=0) / self.size
        found = np.zeros((len(mean), len(mean)))
        for block, count in every:
            centred = values(block) - mean
            found += (count * centred).T @ centred
        return found / max(self.size - 1, 1.0)


@dataclass(frozen=True, eq=False)
class Hull:
    """What was accepted: some laws, and what their samples know of each other.

    Attributes
    ----------
    corners : tuple of Corner
        The laws; the first is that of the reference.
    squares : array of shape (corners, corners)
        The sums of squared kernel values between the units of two corners, but for a unit with itself.
    bound : float
        The bound of the kernel.
    """

    corners: tuple[Corner, ...]
    squares: FloatArray = field(repr=False)
    bound: float = 1.0

    @cached_property
    def inner(self) -> FloatArray:
        """The mean kernel value between rows of two corners, of different units."""
        found = np.empty((len(self.corners), len(self.corners)))
        for one, corner in enumerate(self.corners):
            pairs = [corner.size * other.size - self._common(corner, other) for other in self.corners]
            found[one] = corner.total(corner.seen) / np.array(pairs)
        symmetric: FloatArray = (found + found.T) / 2
        return symmetric

    @staticmethod
    def _common(one: Corner, two: Corner) -> float:
        """Return how many units are in both corners."""
        if one.sample != two.sample:
            return 0.0
        if one.units is None or one.units is two.units or two.units is None:
            return min(one.size, two.size)
        return float(np.isin(one.units, two.units, assume_unique=True).sum())

    def expected_bias(self, rows: float, reference: float) -> float:
        """Return by how much a fitted squared distance is too small for candidates like one of the corners.

        Of so many rows each, and with a reference of so many; for that of the corners for which it is most.
        At a corner a weight can move in one of two ways only, so half of what it would be in the middle of
        the hull.
        """
        found = [0.0]
        for corner in self.corners:
            own = reference if corner.sample == self.corners[0].sample else corner.size
            noise = corner.covariance(partial(self.means, corner)) * (1 / rows + 1 / own)
            found.append(fitted_bias(np.ones(len(self.corners)), self.inner, noise) / 2)
        return max(found)

    def means(self, corner: Corner, some: slice) -> FloatArray:
        """Return the mean kernel values of some units of a corner with each, not of a unit with itself."""
        others = [each.size - (each.sample == corner.sample) for each in self.corners]
        found: FloatArray = corner.seen[some] / np.array(others)
        return found

    def nearest(self, met: Met) -> Mixture:
        """Return the mixture that is nearest to a candidate."""
        across = np.array([c.total(each) for c, each in zip(self.corners, met.across, strict=True)])
        sizes = np.array([corner.size for corner in self.corners])
        weights = nearest_weights(self.inner, across / (sizes * met.candidate.size))
        return Mixture(self, weights, met)


@dataclass(frozen=True, eq=False)
class Met:
    """How a candidate meets the corners of a hull.

    Attributes
    ----------
    across : sequence of arrays
        For every unit of each corner: the sum of kernel values with the candidate.
    squares : array of shape (corners,)
        The sums of squared kernel values between the units of each corner and the candidate's.
    candidate : Corner
        The units of the candidate; `seen` are the sums with each corner.
    own : array
        For every unit of the candidate: the sum of kernel values with its other units.
    own_squares : float
        The sum of squared kernel values of two units of the candidate.
    """

    across: Sequence[FloatArray] = field(repr=False)
    squares: FloatArray = field(repr=False)
    candidate: Corner
    own: FloatArray = field(repr=False)
    own_squares: float


@dataclass(frozen=True, eq=False)
class Blend:
    """Corners of a hull, by how much there is of each.

    Attributes
    ----------
    hull : Hull
        The corners.
    weights : array of shape (corners,)
        How much of each corner there is.
    """

    hull: Hull
    weights: FloatArray

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The corners of which there is something."""
        return tuple(np.flatnonzero(self.weights).tolist())

    @cached_property
    def row_weights(self) -> FloatArray:
        """How much a row of each corner counts; one, where there is one corner alone."""
        sizes = np.array([corner.size for corner in self.hull.corners])
        found: FloatArray = self.weights / sizes
        return found * self._units

    @cached_property
    def _units(self) -> float:
        """How many units the mixture is made of."""
        samples = {self.hull.corners[v].sample for v in self.used}
        return sum(
            max(c.size for c in (self.hull.corners[v] for v in self.used) if c.sample == sample)
            for sample in samples
        )

    @cached_property
    def places(self) -> dict[int, Places]:
        """For each sample that is used: which of its units are, in the order of the mixture's units."""
        found: dict[int, Places] = {}
        for v in self.used:
            corner = self.hull.corners[v]
            before, units = found.get(corner.sample), corner.units
            if units is None:  # all of them, whatever else is used
                found[corner.sample] = np.arange(len(corner.seen))
            elif before is None:
                found[corner.sample] = units
            elif not _contiguous(before) or len(before) <= units[-1]:
                found[corner.sample] = np.union1d(before, units)
        return found

    @cached_property
    def _by_sample(self) -> dict[int, list[int]]:
        """The corners that are used, by the sample whose units they are."""
        found: dict[int, list[int]] = {}
        for v in self.used:
            found.setdefault(self.hull.corners[v].sample, []).append(v)
        return found

    def _joined(self, values: Callable[[int], FloatArray]) -> FloatArray:
        """Return a number for every unit of the mixture, added up from what each corner has for its own."""
        return self._end_to_end([self._added(sample, values) for sample in self.places])

    def _added(self, sample: int, values: Callable[[int], FloatArray | float]) -> FloatArray | float:
        [first, *others] = self._by_sample[sample]
        if not others:  # its units are those of the corner
            return values(first)
        total = np.zeros(len(self.places[sample]))
        for v in (first, *others):
            total[self._where(v)] += values(v)
        return total

    def _end_to_end(self, values: Sequence[FloatArray | float]) -> FloatArray:
        """Return numbers of the units of each sample as one array."""
        every = zip(values, self.places.values(), strict=True)
        filled = [np.broadcast_to(each, len(places)) for each, places in every]
        return filled[0] if len(filled) == 1 else np.concatenate(filled)

    def _where(self, v: int) -> Places:
        corner = self.hull.corners[v]
        units = np.arange(len(corner.seen)) if corner.units is None else corner.units
        places = self.places[corner.sample]
        return units if _contiguous(places) else np.searchsorted(places, units)

    def _multiple(self, counts: FloatArray | None, sample: int) -> FloatArray:
        places = self.places[sample]
        return np.ones(len(places)) if counts is None else counts[places]

    @cached_property
    def sizes(self) -> FloatArray | float:
        """How much each unit counts; one number where that is the same for all of them."""
        every = list(self._sizes.values())
        same = not any(isinstance(each, np.ndarray) or each != every[0] for each in every)
        return every[0] if same else self._end_to_end(every)

    @cached_property
    def _sizes(self) -> dict[int, FloatArray | float]:
        """How much each unit counts, by sample; one number where that is the same for all of them."""
        found = {sample: self._added(sample, self.row_weights.item) for sample in self.places}
        return {
            sample: each if not isinstance(each, np.ndarray) or np.ptp(each) else float(each[0])
            for sample, each in found.items()
        }


@dataclass(frozen=True, eq=False)
class Mixture(Blend):
    """A mixture of the corners of a hull, and a candidate.

    Attributes
    ----------
    met : Met
        How the candidate meets them.
    """

    met: Met

    def pair(self, second_order: SecondOrder | None, alike: tuple[bool, bool]) -> Pair:
        """Return the mixture and the candidate as a pair."""
        return Pair(replace(self.meeting, second_order=second_order), alike=alike)

    @cached_property
    def meeting(self) -> AtomPair:
        """The two samples, as the statistics see them; without terms of higher order."""
        hull, met, c = self.hull, self.met, self.row_weights
        sizes = self._sizes
        # How large a unit of a corner is on average, with what else is of the same unit. Exact where units
        # are of one corner each, and a bound of squared sums by the sums of squares where they are of
        # several.
        mean = np.zeros(len(hull.corners))
        for v in self.used:
            corner, own = hull.corners[v], sizes[hull.corners[v].sample]
            if isinstance(own, np.ndarray):
                own = float(corner.total(own[self._where(v)])) / corner.size
            mean[v] = own
        sized = c * mean
        counts = {hull.corners[v].sample: hull.corners[v].counts for v in self.used}
        multiple = None
        if any(each is not None for each in counts.values()):
            multiple = np.concatenate([self._multiple(counts[sample], sample) for sample in self.places])
        candidate, alike = met.candidate, np.array_equal(sized, c)
        own = self._joined(lambda v: times(hull.corners[v].mixed(c), c[v]))
        other = self._joined(lambda v: times(met.across[v], c[v]))
        x = Atoms(
            sizes=self.sizes,
            own=own,
            other=other,
            own_sized=own if alike else self._joined(lambda v: times(hull.corners[v].mixed(sized), c[v])),
            other_sized=other,
            squares=float(sized @ hull.squares @ sized),
            partners=candidate.size,
            rows=0,
            counts=multiple,
        )
        # Rows of a mixture count differently, and yet are no groups: each is a unit, and all of them are
        # told apart.
        x = replace(x, rows=x.effective)
        seen = candidate.mixed(c)
        y = Atoms(
            sizes=1.0,
            own=met.own,
            other=seen,
            own_sized=met.own,
            other_sized=seen if alike else candidate.mixed(sized),
            squares=met.own_squares,
            partners=x.weight,
            rows=candidate.size,
            counts=candidate.counts,
        )
        return AtomPair((x, y), float(sized @ met.squares), hull.bound)

    @cached_property
    def bias(self) -> float:
        """By how much the squared distance of the fitted mixture is too small, on average."""
        return fitted_bias(self.weights, self.hull.inner, self._gradient_covariance)

    @cached_property
    def _gradient_covariance(self) -> FloatArray:
        """The covariance of ``G w - b``, which is half of the gradient over the weights."""
        met, corners = self.met, self.hull.corners
        candidate = met.candidate
        found = candidate.covariance(partial(self.hull.means, candidate)) / candidate.size

        def moved(v: int, some: slice) -> FloatArray:
            seen = self.hull.means(corners[v], some)
            values: FloatArray = self.weights[v] * seen
            values[:, v] += seen @ self.weights - met.across[v][some] / candidate.size
            return values

        for v in self.used:
            found = found + corners[v].covariance(partial(moved, v)) / corners[v].size
        return found


def times(values: FloatArray, factor: float) -> FloatArray:
    """Return values times a factor; themselves, where that is one."""
    return values if factor == 1.0 else factor * values


def _contiguous(places: Places) -> bool:
    """Tell whether ascending places are 0, 1, 2 and so on."""
    return len(places) > 0 and bool(places[-1] == len(places) - 1)
