"""From samples to evidence: `gather`, and `gather_at` for several scales.

All pairs are summed in one run of the engine, and what belongs to a sample that is in several pairs is
summed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nammd.data.row_units import numbered
from nammd.encoding.farthest import naming_the_farthest
from nammd.engines import Engine, choose_engine
from nammd.engines.protocol import Split, Summed
from nammd.engines.sums import KernelSums
from nammd.engines.units import Units, UnitSums, UnitWithin
from nammd.errors.advice import about
from nammd.errors.checks import choice
from nammd.evidence.evidence import Evidence
from nammd.evidence.rows import GroupEvidence, Known, RowEvidence, units_of, with_units
from nammd.evidence.sketches import SketchEvidence
from nammd.evidence.stand_ins import SampleStandIns
from nammd.kernels import Kernel
from nammd.kernels.operations import at_scale, row_by_row
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
    known_there = None if known is None else [known]
    return gather_at((1.0,), pairs, cross=cross, engine=engine, known=known_there, beside=beside)[0]


def gather_splits(
    sample: Sample, splits: Sequence[Split], *, engine: Engine | None = None
) -> Iterator[Evidence]:
    """Yield what each of some divisions of a sample into two parts is known from.

    A division is the positions of the rows of both parts, which together are all rows. Of large data they
    share the walks over the rows; of rows that belong together each is a pair of its own.
    """
    if sample.units is not None:
        for one, other in splits:
            yield from gather([(sample.taken(one), sample.taken(other))], engine=engine)
        return
    kernel = sample.space.kernel
    with about(sample.name), naming_the_farthest({sample.name: sample.points}, sample.space.encoding):
        every = choose_engine(engine, sample.points).split_sums(kernel, sample.points, splits)
        for positions, summed in zip(splits, every, strict=True):
            x, y = (sample.taken(part) for part in positions)
            stand_ins = SampleStandIns(x, kernel), SampleStandIns(y, kernel)
            within_x, within_y, across = summed
            sums = KernelSums(within_x, within_y, across, float(kernel.bound))
            yield RowEvidence(x, y, summed.by, stand_ins, sums)


def gather_at(
    scales: Sequence[float],
    pairs: Sequence[tuple[Any, Any]],
    *,
    cross: CrossPairs = "full",
    engine: Engine | None = None,
    known: Sequence[Known] | None = None,
    beside: Sequence[Any] = (),
    among: Sequence[tuple[Any, ...]] = (),
) -> list[list[Evidence]]:
    """Return the same at several scales: multiples of the bandwidth, the largest first.

    `known` is then what is within a sample at each of them. Of sketches, the scales are those that all keep.
    `among` are further parts that are summed in the same run, of plain rows; theirs follow those `beside`.
    """
    choice(cross, "cross", ("full", "off-diagonal"))
    if all(isinstance(sample, SketchSample) for pair in pairs for sample in pair):
        kept = [scale for scale in scales if all(scale in s.scales for pair in pairs for s in pair)]
        return [[_of_sketches(x.at(scale), y.at(scale), cross) for x, y in pairs] for scale in kept]
    grouped = any(sample.units is not None for pair in pairs for sample in pair)
    if cross == "off-diagonal":
        for x, y in pairs:
            _require_paired(x, y, grouped)
    # Where rows belong together, a sample of which nothing was said has units of one row each.
    samples = {id(s.points): with_units(s) if grouped else s for pair in pairs for s in pair}
    units = _units(samples) if grouped else {}
    # Sums over rows are none over units, nor the other way round.
    if known is not None and (
        grouped != isinstance(known[0].sums, UnitWithin) or id(known[0].sample.points) not in samples
    ):
        known = None
    kernels = kernels_at(pairs[0][0].space.kernel, scales)
    new = [key for key in samples if known is None or key != id(known[0].sample.points)]

    def part(key: int) -> Any:
        return (samples[key].by_unit, units[key]) if grouped else samples[key].points

    parts = [(part(key),) for key in new] + [(part(id(x.points)), part(id(y.points))) for x, y in pairs]
    parts += [(points, part(id(pairs[0][1].points))) for points in beside] + list(among)
    points = {sample.name: sample.points for sample in samples.values()}
    with about(*points), naming_the_farthest(points, pairs[0][0].space.encoding):
        chosen = choose_engine(engine, *(sample.points for sample in samples.values()))
        every = (chosen.many_unit_sums if grouped else chosen.many_sums)(kernels, *parts)
    found: list[list[Any]] = []
    for number, (kernel, summed) in enumerate(zip(kernels, every, strict=True)):
        within: dict[int, Any] = dict(zip(new, summed.parts, strict=False))
        own: dict[int, SampleStandIns] = {}
        if known is not None:
            key = id(known[number].sample.points)
            within[key] = known[number].sums
            if not grouped:  # groups have other numbers, by the names in the other sample
                own[key] = known[number].stand_ins
        for key, sample in samples.items():
            if key not in own:
                own[key] = SampleStandIns(sample, kernel, units.get(key))
        own_found = _evidence(pairs, samples, units, within, own, summed, len(new), cross)
        if number and scales[0] == 1:
            own_found = [replace(each, main=main) for each, main in zip(own_found, found[0], strict=True)]
        found.append(own_found)
    return found


def _evidence(
    pairs: Sequence[tuple[Any, Any]],
    samples: Mapping[int, Sample],
    units: Mapping[int, Units],
    within: Mapping[int, Any],
    own: Mapping[int, SampleStandIns],
    summed: Summed,
    first: int,
    cross: CrossPairs,
) -> list[Any]:
    """Return the evidence of each pair from the sums of one kernel; those across begin with the `first`."""
    crossed, found = summed.parts[first:], list[Evidence]()
    more = tuple(crossed[len(pairs) :])
    for (x, y), across in zip(pairs, crossed, strict=False):
        one, two = id(x.points), id(y.points)
        both, by, stand_ins = (samples[one], samples[two]), summed.by, (own[one], own[two])
        bound = float(own[one].kernel.bound)
        with about(x.name, y.name):
            if units:
                sums = UnitSums(within[one], within[two], across, (units[one], units[two]), bound)
                found.append(GroupEvidence(*both, by, stand_ins, sums))
            else:
                if cross == "off-diagonal" and across.diagonal is None:  # not known where it costs more
                    values = row_by_row(own[one].kernel, *(sample.points for sample in both))
                    across = replace(across, diagonal=float(values.sum()))
                rows = KernelSums(within[one], within[two], across, bound)
                found.append(RowEvidence(*both, by, stand_ins, rows, cross, more))
    return found


def kernels_at(kernel: Kernel, scales: Sequence[float]) -> list[Kernel]:
    """Return a kernel at several multiples of its bandwidth; of one without a bandwidth, at one alone."""
    found = [kernel if scale == 1 else at_scale(kernel, scale) for scale in scales]
    return [each for each in found if each is not None]


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
