"""From samples to evidence: `gather`.

All pairs are summed in one run of the engine, and what belongs to a sample that is in several pairs is
summed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nammd.data.row_units import numbered
from nammd.engines import Engine, choose_engine
from nammd.engines.sums import KernelSums, WithinSums
from nammd.engines.units import Units, UnitSums, UnitWithin
from nammd.errors.advice import about
from nammd.errors.checks import choice
from nammd.evidence.grouped_sketches import GroupedSketchEvidence
from nammd.evidence.rows import Known, OwnGram, RowEvidence
from nammd.evidence.sketches import SketchEvidence
from nammd.evidence.unit_grams import UnitGram
from nammd.evidence.units import KnownUnits, UnitEvidence, units_of, with_units
from nammd.sketches.sample import SketchSample
from nammd.spaces import Sample
from nammd.statistics.evidence import Evidence
from nammd.statistics.moments import CrossPairs


def gather(
    pairs: Sequence[tuple[Any, Any]],
    *,
    cross: CrossPairs = "full",
    engine: Engine | None = None,
    known: Known | KnownUnits | None = None,
) -> list[Evidence]:
    """Return what each of some pairs of samples is known from.

    Parameters
    ----------
    pairs : sequence of pairs of samples
        Samples of one space, as `prepare` returns them; a sample may be in several pairs.
    cross : {"full", "off-diagonal"}
        Which pairs of a row of x and a row of y count.
    engine : Engine, optional
        Which engine computes; by default the one where the data is.
    known : Known or KnownUnits, optional
        What is within a sample, from an earlier call; it is not summed again.

    Returns
    -------
    list of Evidence
    """
    choice(cross, "cross", ("full", "off-diagonal"))
    if all(isinstance(sample, SketchSample) for pair in pairs for sample in pair):
        return [_of_sketches(x, y, cross) for x, y in pairs]
    if any(sample.units is not None for pair in pairs for sample in pair):
        return _of_units(pairs, cross, engine, known)
    if cross == "off-diagonal":
        for x, y in pairs:
            _require_paired(x, y)
    return _of_rows(pairs, cross, engine, known)


def _of_rows(
    pairs: Sequence[tuple[Sample, Sample]], cross: CrossPairs, engine: Engine | None, known: Any
) -> list[Evidence]:
    samples = {id(s.points): s for pair in pairs for s in pair}
    within: dict[int, WithinSums] = {}
    own: dict[int, OwnGram] = {}
    if known is not None and (key := id(known.sample.points)) in samples:
        within[key], own[key] = known.sums, known.gram
    kernel = pairs[0][0].space.kernel
    new = [key for key in samples if key not in within]
    parts = [(samples[key].points,) for key in new] + [(x.points, y.points) for x, y in pairs]
    with about(*(s.name for s in samples.values())):
        summed = choose_engine(engine, *(s.points for s in samples.values())).sums(kernel, *parts)
    within |= dict(zip(new, summed.parts, strict=False))
    own |= {key: OwnGram(samples[key]) for key in new}
    bound = float(kernel.bound)
    found: list[Evidence] = []
    for (x, y), across in zip(pairs, summed.parts[len(new) :], strict=True):
        one, other = id(x.points), id(y.points)
        with about(x.name, y.name):
            sums = KernelSums(within[one], within[other], across, bound)
        found.append(RowEvidence(x, y, sums, cross, summed.by, (own[one], own[other])))
    return found


def _of_units(
    pairs: Sequence[tuple[Sample, Sample]], cross: CrossPairs, engine: Engine | None, known: Any
) -> list[Evidence]:
    """Return the evidence of samples whose rows belong together; a sample of which nothing was said, too."""
    if cross != "full":
        raise ValueError(
            "cross='off-diagonal' pairs single rows, and these belong together; leave it out: no two rows of "
            "a group that is in both datasets are compared anyway"
        )
    samples = {id(s.points): with_units(s) for pair in pairs for s in pair}
    every = list(samples.values())
    numbers = numbered([sample.units for sample in every])  # type: ignore[misc]
    units = {key: units_of(s, n) for (key, s), n in zip(samples.items(), numbers, strict=True)}
    within: dict[int, UnitWithin] = {}
    own: dict[int, UnitGram] = {}
    if known is not None and (key := id(known.sample.points)) in samples:
        within[key] = known.sums
    kernel = pairs[0][0].space.kernel
    new = [key for key in samples if key not in within]
    parts: list[tuple[tuple[Any, Units], ...]] = [((samples[key].by_unit, units[key]),) for key in new]
    for x, y in pairs:
        one, other = id(x.points), id(y.points)
        parts.append(((samples[one].by_unit, units[one]), (samples[other].by_unit, units[other])))
    with about(*(s.name for s in every)):
        summed = choose_engine(engine, *(s.points for s in every)).unit_sums(kernel, *parts)
    within |= dict(zip(new, summed.parts, strict=False))
    own = {key: UnitGram(samples[key], units[key]) for key in samples}
    bound = float(kernel.bound)
    found: list[Evidence] = []
    for (x, y), across in zip(pairs, summed.parts[len(new) :], strict=True):
        one, other = id(x.points), id(y.points)
        with about(x.name, y.name):
            sums = UnitSums(within[one], within[other], across, (units[one], units[other]), bound)
        found.append(UnitEvidence(samples[one], samples[other], sums, summed.by, (own[one], own[other])))
    return found


def _of_sketches(x: SketchSample, y: SketchSample, cross: CrossPairs) -> SketchEvidence:
    if cross != "full":
        raise ValueError("cross='off-diagonal' pairs rows, and sketches keep none; use cross='full'")
    kind = SketchEvidence if x.sketch.units is None else GroupedSketchEvidence
    return kind(x, y, x.sketch.means_exact(x.space.kernel))


def _require_paired(x: Sample, y: Sample) -> None:
    if x.size != y.size:
        raise ValueError(
            f"cross='off-diagonal' pairs row i of x with row i of y, but {x.name} has {x.size} rows and "
            f"{y.name} has {y.size}; use cross='full'"
        )
