"""A candidate against all that was accepted, whatever it is known from: `nearest_accepted`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from nammd.data.arrays import FloatArray, like, namespace, to_numpy
from nammd.data.row_units import RowUnits
from nammd.engines import Engine
from nammd.evidence.accepted import AcceptedRows
from nammd.evidence.evidence import Evidence
from nammd.evidence.gathering import gather
from nammd.evidence.rows import GroupEvidence, RowEvidence, with_units
from nammd.evidence.sketches import SketchEvidence, spread_of
from nammd.kernels.random_features import RandomFeatures
from nammd.spaces import Sample
from nammd.statistics.nearest import Nearest, fitted_bias, nearest_totals, nearest_weights
from nammd.statistics.totals import UnitTotals


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


def nearest_accepted(
    evidence: Evidence, accepted: Sequence[Kept], around: AcceptedRows | None, engine: Engine | None
) -> Nearest:
    """Return the mixture of all that is accepted that is nearest to a candidate.

    Parameters
    ----------
    evidence : Evidence
        The reference and the candidate.
    accepted : sequence of Kept
        The accepted datasets.
    around : AcceptedRows or None
        What is accepted together with this reference, of plain rows.
    engine : Engine or None
        Which engine computes.
    """
    if isinstance(evidence, RowEvidence):
        assert around is not None
        return around.nearest(evidence)
    if isinstance(evidence, SketchEvidence):
        return nearest_of_sketches(evidence, accepted)
    assert isinstance(evidence, GroupEvidence)
    x = evidence.x
    samples = [
        replace(
            x,
            dataset=replace(x.dataset, name=each.label, units=each.units),
            points=like(each.points, x.points),
        )
        for each in accepted
    ]
    return nearest_of_groups(evidence, samples, engine)


def nearest_of_groups(evidence: GroupEvidence, accepted: Sequence[Sample], engine: Engine | None) -> Nearest:
    """Return the mixture that is nearest to a candidate, by its rows all together.

    The weights of the mixture multiply with those of rows. Groups of the same name are one group, whichever
    datasets their rows are in.
    """
    candidate = evidence.y
    corners = [evidence.x, *map(with_units, accepted)]
    count = len(corners)
    pairs = [(a, b) for b in range(count) for a in range(b)]
    wanted = [(corner, candidate) for corner in corners[1:]] + [(corners[a], corners[b]) for a, b in pairs]
    found: list[Any] = gather(wanted, engine=engine, known=evidence.known_x)
    across = [evidence, *found[: count - 1]]
    inner = np.diag([each.meeting.moments.x.mean for each in across])
    for (a, b), each in zip(pairs, found[count - 1 :], strict=True):
        inner[a, b] = inner[b, a] = each.meeting.moments.xy
    weights = nearest_weights(inner, np.array([each.meeting.moments.xy for each in across]))
    used = np.flatnonzero(weights).tolist()
    if used == [0]:
        return Nearest(weights, evidence.pair())
    mixed = _pooled([corners[v] for v in used], weights[used])
    [together] = gather([(mixed, candidate)], engine=engine)
    between = dict(zip(pairs, found[count - 1 :], strict=True))
    # Rows of a mixture count differently, and yet are no larger groups than they were.
    units = [each.meeting.atoms[0] for each in across]
    per_unit = sum(weights[v] * units[v].rows / units[v].effective for v in used)
    meeting: Any = together.meeting
    x, y = meeting.atoms
    meeting = replace(meeting, atoms=(replace(x, rows=per_unit * x.effective), y))
    pair = replace(together.pair(), meeting=meeting)
    covariance = _gradient_covariance(weights, across, between)
    pair = replace(pair, void=evidence.obstacle is not None)
    # Which units of a mixture are which of another one's is not known.
    return Nearest(weights, pair, fitted_bias(weights, inner, covariance) / pair.scale, every=-1)


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


def _pooled(samples: Sequence[Sample], weights: FloatArray) -> Sample:
    """Return the rows of several samples together, each counting by its weight and that of its sample."""
    units = [sample.units for sample in samples]
    xp = namespace(samples[0].points)
    every = sum(sample.size for sample in samples)
    each, codes, names, start, reach = [], [], [], 0, 0
    for sample, own, weight in zip(samples, units, weights, strict=True):
        assert own is not None
        rows = np.ones(sample.size) if own.weights is None else own.weights
        each.append(rows * (weight * every / rows.sum()))
        # Blocks of time: those of different samples are no neighbours.
        codes.append(own.codes + start)
        start += int(own.codes.max()) + 1 + 2 * own.reach
        reach = max(reach, own.reach)
        if own.names is not None:
            names.append(np.array(own.names, dtype=object)[own.codes])
    grouping = RowUnits(
        np.concatenate(codes),
        None,
        np.concatenate(each),
        reach,
        too_long=any(own is not None and own.too_long for own in units),
    )
    if len(names) == len(samples):
        known, found = np.unique(np.concatenate(names).astype(str), return_inverse=True)
        grouping = replace(grouping, codes=found.reshape(-1), names=tuple(known.tolist()))
    dataset: Any = replace(samples[0].dataset, units=grouping)
    return replace(samples[0], dataset=dataset, points=xp.concat([sample.points for sample in samples]))


def _gradient_covariance(
    weights: FloatArray, across: Sequence[GroupEvidence], between: Mapping[tuple[int, int], GroupEvidence]
) -> FloatArray:
    """Return the covariance of half of the gradient over the weights, by the mean kernel values of units."""
    count = len(across)
    candidate = across[0].meeting.atoms[1]
    found = _spread(np.column_stack([_means(each.meeting.atoms[1]) for each in across]), candidate.sizes)
    for v in np.flatnonzero(weights).tolist():
        own = across[v].meeting.atoms[0]
        seen = np.empty((len(own.own), count))
        for other in range(count):
            if other == v:
                seen[:, v] = own.own / own.own_pairs
            else:
                pair = between[min(v, other), max(v, other)].meeting.atoms
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
