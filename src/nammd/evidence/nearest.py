"""A candidate against all that was accepted, whatever it is known from: `nearest_accepted`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nammd.data.arrays import FloatArray, like, namespace, to_numpy
from nammd.data.row_units import RowUnits
from nammd.data.sampling import representatives
from nammd.engines import Engine
from nammd.evidence.accepted import AcceptedRows, MixedStandIns
from nammd.evidence.evidence import Evidence
from nammd.evidence.gathering import gather_at
from nammd.evidence.rows import GroupEvidence, RowEvidence, with_units
from nammd.evidence.sketches import SketchEvidence, spread_of
from nammd.evidence.stand_ins import SampleStandIns
from nammd.kernels.random_features import RandomFeatures
from nammd.spaces import Sample
from nammd.statistics.atom_pair import AtomPair
from nammd.statistics.grams import Grams
from nammd.statistics.nearest import Nearest, fitted_bias, nearest_totals, nearest_weights
from nammd.statistics.totals import UnitTotals

MOST_MOVED = 2_000
"""So many rows of the reference are moved towards accepted data."""


class Kept(Protocol):
    """An accepted dataset of which rows are kept."""

    @property
    def label(self) -> str:
        """Its name."""

    @property
    def points(self) -> FloatArray:
        """The rows, as points of the space."""

    @property
    def units(self) -> RowUnits | None:
        """Which of them belong together, where that was said."""

    def copies(self, points: FloatArray) -> list[FloatArray]:
        """Return points of the reference, moved some shares of the way towards this dataset; or nothing."""


def nearest_accepted(
    scales: Sequence[float],
    every: Sequence[Evidence],
    accepted: Sequence[Kept],
    around: Sequence[AcceptedRows],
    engine: Engine | None,
) -> list[Nearest]:
    """Return the mixture of all that is accepted that is nearest to a candidate, at each of some scales.

    Parameters
    ----------
    scales : sequence of float
        The scales, the main one first.
    every : sequence of Evidence
        The reference and the candidate at each of them.
    accepted : sequence of Kept
        The accepted datasets.
    around : sequence of AcceptedRows
        What is accepted together with this reference, of plain rows, at each scale.
    engine : Engine or None
        Which engine computes.
    """
    evidence = every[0]
    if isinstance(evidence, RowEvidence):
        main = [True] + [False] * (len(every) - 1)  # at finer scales nothing is ever proven to be within
        return list(map(AcceptedRows.nearest, around, every, main))  # type: ignore[arg-type]
    if isinstance(evidence, SketchEvidence):
        return [nearest_of_sketches(each, accepted) for each in every]  # type: ignore[arg-type]
    x = evidence.x

    def beside(base: Sample, label: str, units: RowUnits | None, points: FloatArray) -> Sample:
        dataset = replace(base.dataset, name=label, units=units)
        return replace(base, dataset=dataset, points=like(points, x.points))

    samples = [beside(x, each.label, each.units, each.points) for each in accepted]
    # Rows that moved are in the groups where they were. Those of rows without a name are found by being the
    # very same units, so all of them are moved.
    named = x.units is not None and x.units.names is not None
    base = x.taken(representatives(x.size, MOST_MOVED)) if named and x.size > MOST_MOVED else x
    rows = to_numpy(base.points).astype(np.float64)
    moved = [copy for each in accepted for copy in each.copies(rows)]
    samples += [beside(base, x.name, base.units, copy) for copy in moved]
    return nearest_of_groups(scales, every, samples, engine)  # type: ignore[arg-type]


def forget_kernel_values(nearest: Nearest, evidence: Evidence) -> None:
    """Let go of the kernel values within a candidate, and within the mixture that is nearest to it.

    They are large, and a verdict may be kept for long. Those within the reference, which is the first sample
    of `evidence`, stay, and so do those within one accepted dataset alone: the next candidate needs them too.
    """
    meeting = nearest.pair.meeting
    order = meeting.second_order if isinstance(meeting, AtomPair) else None
    if not isinstance(order, Grams) or not isinstance(evidence, (RowEvidence, GroupEvidence)):
        return
    for each in order.stand_ins:
        lasting = each is evidence.stand_ins[0] or (isinstance(each, MixedStandIns) and each.lasting)
        if isinstance(each, (MixedStandIns, SampleStandIns)) and not lasting:
            each.forget()


def nearest_of_groups(
    scales: Sequence[float],
    every: Sequence[GroupEvidence],
    accepted: Sequence[Sample],
    engine: Engine | None,
) -> list[Nearest]:
    """Return the mixture that is nearest to a candidate at each scale, by its rows all together.

    The weights of the mixture multiply with those of rows. Groups of the same name are one group, whichever
    datasets their rows are in.
    """
    corners, candidate = [every[0].x, *map(with_units, accepted)], every[0].y
    pairs = [(a, b) for b in range(len(corners)) for a in range(b)]
    wanted = [(corner, candidate) for corner in corners[1:]] + [(corners[a], corners[b]) for a, b in pairs]
    known = [evidence.known_x for evidence in every]
    found: list[list[Any]] = gather_at(scales, wanted, engine=engine, known=known)
    places = UnitPlaces.of([corner.units for corner in corners])  # type: ignore[misc]
    return [
        _nearest_of_groups(scale, evidence, corners, places, pairs, own, engine)
        for scale, evidence, own in zip(scales, every, found, strict=False)
    ]


def _nearest_of_groups(
    scale: float,
    evidence: GroupEvidence,
    corners: Sequence[Sample],
    places: UnitPlaces,
    pairs: Sequence[tuple[int, int]],
    found: Sequence[Any],
    engine: Engine | None,
) -> Nearest:
    """Return the nearest mixture at one scale, from the evidence of corners and candidate, and of corners."""
    candidate, count = evidence.y, len(corners)
    across = [evidence, *found[: count - 1]]
    inner = np.diag([each.atoms[0].mean for each in across])
    for (a, b), each in zip(pairs, found[count - 1 :], strict=True):
        inner[a, b] = inner[b, a] = each.atoms[0].cross_mean
    weights = nearest_weights(inner, np.array([each.atoms[0].cross_mean for each in across]))
    used = np.flatnonzero(weights).tolist()
    codes = places.codes(used)
    among = np.unique(np.concatenate(codes)), places.count
    if used == [0]:
        return Nearest(weights, evidence.pair(), 0.0, *among)
    mixed = _pooled([corners[v] for v in used], weights[used], codes)
    [[together]] = gather_at([scale], [(mixed, candidate)], engine=engine)
    between = dict(zip(pairs, found[count - 1 :], strict=True))
    # Rows of a mixture count differently, and yet are no larger groups than they were.
    units = [each.atoms[0] for each in across]
    per_unit = sum(weights[v] * units[v].rows / units[v].effective for v in used)
    meeting: Any = together.meeting
    x, y = meeting.atoms
    meeting = replace(meeting, atoms=(replace(x, rows=per_unit * x.effective), y))
    pair = replace(together.pair(), meeting=meeting)
    covariance = _gradient_covariance(weights, across, between)
    pair = replace(pair, void=evidence.obstacle is not None)
    return Nearest(weights, pair, fitted_bias(weights, inner, covariance) / pair.scale, *among)


def nearest_of_sketches(evidence: SketchEvidence, accepted: Sequence[Kept]) -> Nearest:
    """Return the mixture that is nearest to a candidate, by totals of features."""
    features, meeting = evidence.x.sketch.features, evidence.meeting
    corners = [meeting.x, *(_totals(features, each) for each in accepted)]
    weights, mixture, bias = nearest_totals(corners, meeting.y)
    used = np.flatnonzero(weights).tolist()
    if used == [0]:
        return Nearest(weights, evidence.pair())
    rows = [meeting.rows[0], *(len(each.points) for each in accepted)]
    per_unit = sum(weights[v] * rows[v] / corners[v].effective for v in used)
    pair = replace(
        evidence.pair(),
        meeting=replace(
            meeting, x=mixture, rows=(round(per_unit * mixture.effective), meeting.rows[1]), weighted=True
        ),
        spread=spread_of(mixture, meeting.y, features.bound) if evidence.exact else None,
        alike=(False, evidence.y.constant),
    )
    return Nearest(weights, pair, bias / pair.scale)


def _totals(features: RandomFeatures, kept: Kept) -> UnitTotals:
    """Return the totals of features over the units of an accepted dataset."""
    z, units = to_numpy(features.features(kept.points)), kept.units
    if units is None:
        return UnitTotals.of_rows(len(z), z.sum(axis=0), z.T @ z, features.bound)
    each = np.ones(len(z)) if units.weights is None else units.weights
    _, codes = np.unique(units.codes, return_inverse=True)
    sums = np.zeros((int(codes.max()) + 1, z.shape[1]))
    np.add.at(sums, codes.reshape(-1), each[:, None] * z)
    return UnitTotals.of(sums, np.bincount(codes.reshape(-1), each).astype(np.float64, copy=False))


@dataclass(frozen=True, eq=False)
class UnitPlaces:
    """Where the units of several samples are among all of them.

    Units of the same name are one. Those of samples without names are one where they are the very same: rows
    that were moved.

    Attributes
    ----------
    units : sequence of RowUnits
        The units of each sample.
    starts : sequence of int
        Where those of samples without names begin.
    names : dict
        The places of names.
    count : int
        How many units there are.
    """

    units: Sequence[RowUnits]
    starts: Sequence[int]
    names: Mapping[str, int]
    count: int

    @classmethod
    def of(cls, units: Sequence[RowUnits]) -> UnitPlaces:
        """Return the places of the units of some samples."""
        every = sorted({name for each in units for name in each.names or ()})
        starts, free = dict[int, int](), len(every)
        for each in units:
            if id(each) not in starts:
                starts[id(each)] = free
                # Blocks of time of different samples are no neighbours.
                free += 0 if each.names is not None else int(each.codes.max()) + 1 + 2 * each.reach
        names = {name: place for place, name in enumerate(every)}
        return cls(units, [starts[id(each)] for each in units], names, free)

    def codes(self, samples: Sequence[int]) -> list[NDArray[np.intp]]:
        """Return, for some samples, the place of the unit of every row."""
        found = []
        for number in samples:
            own = self.units[number]
            if own.names is None:
                found.append(own.codes + self.starts[number])
            else:
                found.append(np.array([self.names[name] for name in own.names])[own.codes])
        return found


def _pooled(samples: Sequence[Sample], weights: FloatArray, codes: Sequence[NDArray[np.intp]]) -> Sample:
    """Return the rows of several samples together, each counting by its weight and that of its sample."""
    units = [sample.units for sample in samples]
    xp = namespace(samples[0].points)
    every = sum(sample.size for sample in samples)
    each, reach = [], 0
    for sample, own, weight in zip(samples, units, weights, strict=True):
        assert own is not None
        rows = np.ones(sample.size) if own.weights is None else own.weights
        each.append(rows * (weight * every / rows.sum()))
        reach = max(reach, own.reach)
    grouping = RowUnits(
        np.concatenate(codes),
        None,
        np.concatenate(each),
        reach,
        too_long=any(own is not None and own.too_long for own in units),
    )
    names = [own.names for own in units if own is not None and own.names is not None]
    if len(names) == len(units):  # groups of the candidate are found by theirs
        known, found = np.unique(grouping.codes, return_inverse=True)
        told = sorted({name for some in names for name in some})
        grouping = replace(grouping, codes=found.reshape(-1), names=tuple(told))
        assert len(known) == len(told)
    dataset: Any = replace(samples[0].dataset, units=grouping)
    return replace(samples[0], dataset=dataset, points=xp.concat([sample.points for sample in samples]))


def _gradient_covariance(
    weights: FloatArray, across: Sequence[GroupEvidence], between: Mapping[tuple[int, int], GroupEvidence]
) -> FloatArray:
    """Return the covariance of half of the gradient over the weights, by the mean kernel values of units."""
    count = len(across)
    candidate = across[0].atoms[1]
    found = _spread(np.column_stack([_means(each.atoms[1]) for each in across]), candidate.sizes)
    for v in np.flatnonzero(weights).tolist():
        own = across[v].atoms[0]
        seen = np.empty((len(own.own), count))
        for other in range(count):
            if other == v:
                seen[:, v] = own.own / own.own_pairs
            else:
                pair = between[min(v, other), max(v, other)].atoms
                seen[:, other] = _means(pair[0 if v < other else 1])
        values = weights[v] * seen
        values[:, v] += seen @ weights - _means(own)
        found = found + _spread(values, own.sizes)
    return found


def _means(atoms: Any) -> FloatArray:
    """Return the mean kernel value of each unit with the other sample."""
    means: FloatArray = atoms.other / atoms.other_pairs
    return means


def _spread(values: FloatArray, sizes: Any) -> FloatArray:
    """Return the covariance of the means of values over units of some sizes."""
    shares = np.broadcast_to(sizes, len(values)) / np.sum(np.broadcast_to(sizes, len(values)))
    centred = shares[:, None] * (values - shares @ values)
    found: FloatArray = centred.T @ centred
    return found / (1 - float(shares @ shares))
