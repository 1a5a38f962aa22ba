"""From samples to evidence: `gather`.

All pairs are summed in one run of the engine, and what belongs to a sample that is in several pairs is
summed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nammd.data.row_units import numbered
from nammd.engines import Engine, choose_engine
from nammd.engines.sums import KernelSums
from nammd.engines.units import Units, UnitSums, UnitWithin
from nammd.errors.advice import about
from nammd.errors.checks import choice
from nammd.evidence.evidence import Evidence
from nammd.evidence.rows import GroupEvidence, Known, RowEvidence, units_of, with_units
from nammd.evidence.sketches import SketchEvidence
from nammd.evidence.stand_ins import SampleStandIns
from nammd.sketches.sample import SketchSample
from nammd.spaces import Sample
from nammd.statistics.moments import CrossPairs


def gather(
    pairs: Sequence[tuple[Any, Any]],
    *,
    cross: CrossPairs = "full",
    engine: Engine | None = None,
    known: Known | None = None,
    beside: Sequence[Any] = (),
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
    known : Known, optional
        What is within a sample, from an earlier call; it is not summed again.
    beside : sequence of arrays
        Points that the y of the first pair is compared with too, in the same run; of plain rows only.

    Returns
    -------
    list of Evidence
    """
    choice(cross, "cross", ("full", "off-diagonal"))
    if all(isinstance(sample, SketchSample) for pair in pairs for sample in pair):
        return [_of_sketches(x, y, cross) for x, y in pairs]
    grouped = any(sample.units is not None for pair in pairs for sample in pair)
    if cross == "off-diagonal":
        for x, y in pairs:
            _require_paired(x, y, grouped)
    # Where rows belong together, a sample of which nothing was said has units of one row each.
    samples = {id(s.points): with_units(s) if grouped else s for pair in pairs for s in pair}
    units = _units(samples) if grouped else {}
    within: dict[int, Any] = {}
    own: dict[int, SampleStandIns] = {}
    # Sums over rows are none over units, nor the other way round.
    fits = known is not None and grouped == isinstance(known.sums, UnitWithin)
    if known is not None and fits and (key := id(known.sample.points)) in samples:
        within[key] = known.sums
        if not grouped:  # groups have other numbers, by the names in the other sample
            own[key] = known.stand_ins
    kernel = pairs[0][0].space.kernel
    new = [key for key in samples if key not in within]

    def part(key: int) -> Any:
        return (samples[key].by_unit, units[key]) if grouped else samples[key].points

    parts = [(part(key),) for key in new] + [(part(id(x.points)), part(id(y.points))) for x, y in pairs]
    parts += [(points, part(id(pairs[0][1].points))) for points in beside]
    with about(*(sample.name for sample in samples.values())):
        chosen = choose_engine(engine, *(sample.points for sample in samples.values()))
        summed = (chosen.unit_sums if grouped else chosen.sums)(kernel, *parts)
    within |= dict(zip(new, summed.parts, strict=False))
    own |= {key: SampleStandIns(s, units.get(key)) for key, s in samples.items() if key not in own}
    bound, found = float(kernel.bound), list[Evidence]()
    crossed = summed.parts[len(new) :]
    more = tuple(crossed[len(pairs) :])
    for (x, y), across in zip(pairs, crossed, strict=False):
        one, two = id(x.points), id(y.points)
        both, by, stand_ins = (samples[one], samples[two]), summed.by, (own[one], own[two])
        with about(x.name, y.name):
            if grouped:
                sums = UnitSums(within[one], within[two], across, (units[one], units[two]), bound)
                found.append(GroupEvidence(*both, by, stand_ins, sums))
            else:
                rows = KernelSums(within[one], within[two], across, bound)
                found.append(RowEvidence(*both, by, stand_ins, rows, cross, more))
    return found


def _units(samples: dict[int, Sample]) -> dict[int, Units]:
    """Return the units of samples; those of the same name have the same number."""
    numbers = numbered([sample.units for sample in samples.values()])  # type: ignore[misc]
    return {key: units_of(s, n) for (key, s), n in zip(samples.items(), numbers, strict=True)}


def _of_sketches(x: SketchSample, y: SketchSample, cross: CrossPairs) -> SketchEvidence:
    if cross != "full":
        raise ValueError("cross='off-diagonal' pairs rows, and sketches keep none; use cross='full'")
    return SketchEvidence(x, y, x.sketch.means_exact(x.space.kernel))


def _require_paired(x: Sample, y: Sample, grouped: bool) -> None:
    if grouped:
        raise ValueError(
            "cross='off-diagonal' pairs single rows, and these belong together; leave it out: no two rows of "
            "a group that is in both datasets are compared anyway"
        )
    if x.size != y.size:
        raise ValueError(
            f"cross='off-diagonal' pairs row i of x with row i of y, but {x.name} has {x.size} rows and "
            f"{y.name} has {y.size}; use cross='full'"
        )
