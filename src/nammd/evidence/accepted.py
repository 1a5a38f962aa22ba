"""A candidate against all that was accepted, by rows: `AcceptedRows`.

Rows of the reference and of accepted datasets are the corners of a hull (`nammd.statistics.hull`). What they
know of each other is summed once; a candidate is then met by all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from nammd.data.arrays import Array, FloatArray, is_constant, take_rows, to_numpy
from nammd.data.sampling import REPRESENTATIVES, Positions, representatives
from nammd.engines import Engine, choose_engine
from nammd.engines.sums import CrossSums, WithinSums
from nammd.evidence.rows import Known, RowEvidence
from nammd.evidence.stand_ins import SampleStandIns, kernel_values
from nammd.kernels import Kernel
from nammd.kernels.operations import row_by_row
from nammd.statistics.grams import Grams, unit_eigenvalue
from nammd.statistics.hull import Blend, Corner, Hull, Met, Mixture
from nammd.statistics.nearest import Nearest
from nammd.statistics.pair import Pair

_LEAST = 32
"""At least so many rows stand for a sample that has part in a mixture."""

Sums = dict[tuple[int, int], CrossSums]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that are a corner.

    Attributes
    ----------
    points : array of shape (rows, width)
        The rows, as points.
    sample : int
        The corner whose units they are: their own, or, of rows that were moved, that of the rows where they
        were.
    units : array of int, or None
        Which of those units; None for all.
    """

    points: Array = field(repr=False)
    sample: int
    units: Positions | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class AcceptedRows:
    """The rows of all that was accepted, and what they know of each other.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    corners : tuple of Rows
        The reference first.
    hull : Hull
        The corners, as the statistics see them.
    sizes : tuple of int
        How many units each sample has.
    """

    kernel: Kernel
    corners: tuple[Rows, ...]
    hull: Hull
    sizes: tuple[int, ...]

    @classmethod
    def of(
        cls, kernel: Kernel, corners: Sequence[Rows], sizes: Sequence[int], sums: SumsBetween
    ) -> AcceptedRows:
        """Return it from all sums between the corners.

        `sizes` are how many units each sample has, also where not all of them are used.
        """
        count = len(corners)
        # One column after the other in memory: each is written as a whole.
        seen = [np.empty((count, corner.points.shape[0])).T for corner in corners]
        squares = np.empty((count, count))
        for v in range(count):
            seen[v][:, v], squares[v, v] = sums.within[v].rows, sums.within[v].squares
        for (a, b), across in sums.between.items():
            rows, cols, total = across.rows, across.cols, across.squares
            if corners[a].sample == corners[b].sample:
                rows, cols, total = _apart(kernel, corners[a], corners[b], across)
            seen[a][:, b], seen[b][:, a], squares[a, b], squares[b, a] = rows, cols, total, total
        found = tuple(
            Corner(corner.sample, own, units=corner.units) for corner, own in zip(corners, seen, strict=True)
        )
        return cls(kernel, tuple(corners), Hull(found, squares, float(kernel.bound)), tuple(sizes))

    @property
    def others(self) -> list[Array]:
        """The points of all corners but the reference."""
        return [corner.points for corner in self.corners[1:]]

    @cached_property
    def with_themselves(self) -> FloatArray:
        """The mean kernel values between all rows of corners, also of a unit with itself."""
        return of_all_pairs(self.kernel, self.corners, self.hull.inner)

    def known(self, stand_ins: SampleStandIns) -> Known:
        """Return what is within the reference, of which these rows are, for pairs with it."""
        own = WithinSums(self.hull.corners[0].seen[:, 0], float(self.hull.squares[0, 0]))
        return Known(stand_ins.sample, own, stand_ins)

    def nearest(self, evidence: RowEvidence, within: bool = True) -> Nearest:
        """Return the mixture that is nearest to a candidate.

        `evidence` is of the reference, which is the first corner, and of the candidate, gathered beside the
        others. What fitting costs is for proofs of "within", and unknown where nobody wants one.
        """
        own = evidence.kernel_sums.y
        across = [evidence.kernel_sums.cross, *evidence.beside[: len(self.corners) - 1]]
        met = Met(
            across=[sums.rows for sums in across],
            squares=np.array([sums.squares for sums in across]),
            candidate=Corner(-1, np.array([sums.cols for sums in across]).T),
            own=own.rows,
            own_squares=own.squares,
        )
        mixture = self.hull.nearest(met)
        pair = self._pair(mixture, evidence)
        bias = mixture.bias / pair.scale if within else math.nan
        return Nearest(mixture.weights, pair, bias, *self._among_all(mixture))

    def _among_all(self, mixture: Mixture) -> tuple[Positions | slice, int]:
        """Return the places of the units of a mixture among those of all samples, and how many these are."""
        starts = np.cumsum([0, *self.sizes])
        places = [starts[sample] + own for sample, own in mixture.places.items()]
        if len(places) == 1 and len(places[0]) == self.sizes[next(iter(mixture.places))]:
            return slice(int(places[0][0]), int(places[0][-1]) + 1), int(starts[-1])
        return np.concatenate(places), int(starts[-1])

    def _pair(self, mixture: Mixture, evidence: RowEvidence) -> Pair:
        if mixture.used == (0,):  # the reference alone, which the candidate was compared with
            return evidence.pair()
        meeting = mixture.meeting
        stand_ins = self._stand_ins(mixture)
        repeats = stand_ins.repeats, None
        grams = Grams((stand_ins, evidence.stand_ins[1]), meeting.atoms, repeats=repeats)
        alike = self._constant(mixture), evidence.y.constant
        pair = mixture.pair(grams, alike)
        return Pair(pair.meeting, "nammd", alike, None, evidence.obstacle is not None)

    def _stand_ins(self, mixture: Mixture) -> MixedStandIns:
        """Return what stands for a mixture; one corner alone is the same for every candidate."""
        if len(mixture.used) > 1:
            return MixedStandIns(self, mixture)
        [corner] = mixture.used
        found = self._alone.get(corner)
        if found is None:
            for other in list(self._alone.values()):  # those of one corner are kept, since they are large
                other.forget()
            self._alone.clear()
            found = self._alone[corner] = MixedStandIns(self, Blend(self.hull, mixture.weights), lasting=True)
        return found

    @cached_property
    def _alone(self) -> dict[int, MixedStandIns]:
        """What stands for the last corner that was a mixture by itself."""
        return {}

    def _constant(self, mixture: Mixture) -> bool:
        """Tell whether all rows of a mixture are equal."""
        [first, *rest] = [self.corners[v].points for v in mixture.used]
        if not is_constant(first):
            return False
        row = to_numpy(first[:1, :])
        return all(is_constant(points) and bool((to_numpy(points[:1, :]) == row).all()) for points in rest)


@dataclass(frozen=True, eq=False)
class MixedStandIns:
    """Units that stand for a mixture, and sums of kernel values between them; `StandIns`.

    Of each sample there are as many as it has part in the mixture. Sums that are `lasting` are needed by the
    next candidate too.
    """

    accepted: AcceptedRows
    mixture: Blend
    lasting: bool = False

    @cached_property
    def _parts(self) -> list[tuple[int, Positions]]:
        """For each sample in the mixture: which of its units stand for it, by their places there."""
        hull, mixture, found = self.accepted.hull, self.mixture, []
        for sample, places in mixture.places.items():
            own = [mixture.weights[v] for v in mixture.used if hull.corners[v].sample == sample]
            # A unit that is in several corners has as many rows: so fewer of them stand for the sample.
            wanted = max(math.ceil(REPRESENTATIVES * sum(own) / len(own)), _LEAST)
            found.append((sample, representatives(len(places), wanted)))
        return found

    @cached_property
    def chosen(self) -> Positions:
        """Which units of the mixture these are."""
        starts = np.cumsum([0, *(len(places) for places in self.mixture.places.values())])
        return np.concatenate([start + some for start, (_, some) in zip(starts, self._parts, strict=False)])

    @cached_property
    def repeats(self) -> FloatArray | None:
        """How many units each of these stands for; None where all stand for one."""
        counts = [len(places) / len(some) for places, (_, some) in self._each()]
        if all(count == counts[0] for count in counts):
            return None
        return np.concatenate(
            [np.full(len(some), count) for count, (_, some) in zip(counts, self._parts, strict=True)]
        )

    def _each(self) -> list[tuple[Positions, tuple[int, Positions]]]:
        return list(zip(self.mixture.places.values(), self._parts, strict=True))

    @cached_property
    def rows(self) -> tuple[FloatArray, FloatArray, list[Positions]]:
        """Their rows corner by corner, how much each counts, and the units of those of each corner."""
        points, weights, units, start = [], [], [], 0
        for places, (sample, some) in self._each():
            wanted = places[some]
            for v in self.mixture.used:
                corner = self.accepted.corners[v]
                if self.accepted.hull.corners[v].sample != sample:
                    continue
                own = np.arange(corner.points.shape[0]) if corner.units is None else corner.units
                there = np.flatnonzero(np.isin(wanted, own))
                points.append(to_numpy(take_rows(corner.points, np.searchsorted(own, wanted[there]))))
                weights.append(np.full(len(there), self.mixture.row_weights[v]))
                units.append(start + there)
            start += len(some)
        return np.concatenate(points), np.concatenate(weights), units

    def _by_unit(self, values: FloatArray) -> FloatArray:
        """Return the weighted sums over the rows of each unit, of a matrix whose rows are these rows."""
        _, weights, units = self.rows
        if len(values) == len(self.chosen):  # a unit is one row, and they stand in the same order
            values *= weights[:, None]
            return values
        values, found = values.astype(np.float64, copy=False), np.zeros((len(self.chosen), values.shape[1]))
        start = 0
        for own in units:  # no unit is in a corner twice
            if len(own):
                part = values[start : start + len(own)]
                part *= weights[start]  # that of their corner
                together = own[-1] - own[0] + 1 == len(own)
                found[slice(own[0], own[-1] + 1) if together else own] += part
                start += len(own)
        return found

    @cached_property
    def values(self) -> FloatArray:
        """The sums between these; on the diagonal those within a unit, a row with itself included."""
        points, _, _ = self.rows
        return self._by_unit(self._by_unit(kernel_values(self.accepted.kernel, points, points)).T)

    @cached_property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of the covariance operator of a unit of the effective size."""
        sizes, count = self.mixture.sizes, sum(map(len, self.mixture.places.values()))
        every = sizes if isinstance(sizes, np.ndarray) else np.full(count, sizes)
        return unit_eigenvalue(self.values, every[self.chosen], every, self.repeats)

    def forget(self) -> None:
        """Let go of the sums between these; they are evaluated again where they are asked for."""
        vars(self).pop("values", None)

    def between(self, other: Any) -> FloatArray:
        """Return the sums with rows that stand for another sample."""
        points, _, _ = self.rows
        return self._by_unit(kernel_values(self.accepted.kernel, points, to_numpy(other.rows[0])))


@dataclass(frozen=True, eq=False)
class SumsBetween:
    """The sums within some samples and between each two of them, as far as they are known.

    Attributes
    ----------
    samples : sequence of arrays
        The samples.
    within, between : mapping
        What is known: by the numbers of samples, the smaller number first.
    """

    samples: Sequence[Array]
    within: Mapping[int, WithinSums] = field(default_factory=dict)
    between: Sums = field(default_factory=dict)

    @property
    def parts(self) -> list[tuple[Array, ...]]:
        """What is to be summed."""
        alone, pairs = self.unknown
        return [(self.samples[v],) for v in alone] + [(self.samples[a], self.samples[b]) for a, b in pairs]

    def completed(self, sums: Sequence[Any]) -> SumsBetween:
        """Return it with the sums of all parts."""
        alone, pairs = self.unknown
        within = {**self.within, **dict(zip(alone, sums, strict=False))}
        return SumsBetween(
            self.samples, within, {**self.between, **dict(zip(pairs, sums[len(alone) :], strict=True))}
        )

    def at(self, kernels: Sequence[Kernel], engine: Engine | None) -> list[SumsBetween]:
        """Return it complete, for every one of some kernels; what is known is of the first of them."""
        if len(kernels) > 1:  # those of the others are needed all the same, and cost no less without it
            return SumsBetween(self.samples)._summed(kernels, engine)
        return self._summed(kernels, engine) if self.parts else [self]

    def _summed(self, kernels: Sequence[Kernel], engine: Engine | None) -> list[SumsBetween]:
        every = choose_engine(engine, *self.samples).many_sums(kernels, *self.parts)
        return [self.completed(summed.parts) for summed in every]

    @property
    def unknown(self) -> tuple[list[int], list[tuple[int, int]]]:
        """The numbers of samples, and of pairs of them, that are not summed yet."""
        every = range(len(self.samples))
        pairs = [(a, b) for b in every for a in range(b) if (a, b) not in self.between]
        return [v for v in every if v not in self.within], pairs


def _apart(kernel: Kernel, one: Rows, two: Rows, sums: CrossSums) -> tuple[FloatArray, FloatArray, float]:
    """Return sums between corners of the same units, without those of a unit with itself."""
    here, there = same_units(one, two)
    values = row_by_row(kernel, take_rows(one.points, here), take_rows(two.points, there))
    rows, cols = sums.rows.copy(), sums.cols.copy()
    rows[here] -= values
    cols[there] -= values
    return rows, cols, sums.squares - float(values @ values)


def of_all_pairs(kernel: Kernel, corners: Sequence[Rows], inner: FloatArray) -> FloatArray:
    """Return the mean kernel values between all rows of corners, also of a unit with itself.

    `inner` are those between rows of different units.
    """
    found = inner.copy()
    for a, one in enumerate(corners):
        for b, two in enumerate(corners):
            if one.sample == two.sample:
                here, there = same_units(one, two)
                values = row_by_row(kernel, take_rows(one.points, here), take_rows(two.points, there))
                pairs = float(one.points.shape[0] * two.points.shape[0])
                found[a, b] = (inner[a, b] * (pairs - len(here)) + float(np.sum(values))) / pairs
    return found


def same_units(one: Rows, two: Rows) -> tuple[Positions, Positions]:
    """Return the places in two corners of one sample where they have the same units."""
    mine, theirs = (np.arange(each.points.shape[0]) for each in (one, two))
    if one.units is None:  # its units are their places
        return mine if two.units is None else two.units, theirs
    if two.units is None or one.units is two.units:
        return mine, one.units if two.units is None else mine
    _, here, there = np.intersect1d(one.units, two.units, assume_unique=True, return_indices=True)
    return here, there
