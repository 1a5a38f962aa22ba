"""A reference made ready, and distances in its space: `Reference`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nammd.data.arrays import FloatArray, is_spread, to_numpy
from nammd.data.opening import open_dataset, refuse_summaries, require_rows
from nammd.data.row_grouping import NO_GROUPING, RowGrouping, dataset_with_grouping
from nammd.data.sampling import Positions
from nammd.engines import Engine, workers_read_files
from nammd.engines.progress import aside
from nammd.errors.advice import Advice, refusal
from nammd.evidence import MIN_ROWS, gather, prepare
from nammd.questions.distance import Estimate
from nammd.spaces import Sample, Space
from nammd.statistics.moments import CrossPairs
from nammd.tolerances.equivalents import equivalents


@dataclass(frozen=True, eq=False)
class Reference:
    """A reference in its space, and the engine that measures distances there.

    Attributes
    ----------
    reference : Sample
        The reference.
    engine : Engine or None
        Which engine computes; None for the one where the data is.
    """

    reference: Sample
    engine: Engine | None

    @classmethod
    def of(
        cls, x: Any, how: Mapping[str, Any], engine: Engine | None, grouping: RowGrouping = NO_GROUPING
    ) -> Reference:
        """Open a reference, and settle its space; `how` are the options of `Space.fit`, or a space."""
        by_workers = workers_read_files(engine)
        options = {name: value for name, value in how.items() if value is not None}
        space = options.pop("space", None)
        if space is not None and options:
            raise TypeError(f"a space is fixed already; give either space or {', '.join(options)}, not both")
        written = options.get("reading") if space is None else space.encoding.for_files
        dataset = open_dataset(x, "the reference", by_workers=by_workers, reading=written)
        refuse_summaries(dataset)
        require_rows(dataset, MIN_ROWS)
        dataset = dataset_with_grouping(dataset, grouping)
        if space is None:
            space = Space.fit(dataset, **options)
        return cls(space.sample(dataset, digest=True), engine)

    @property
    def space(self) -> Space:
        """The space."""
        return self.reference.space

    @property
    def points(self) -> FloatArray:
        """The rows of the reference as points."""
        points: FloatArray = self.reference.points
        return points

    def in_memory(self, constructor: str) -> Reference:
        """Return the same with points that can be perturbed and divided."""
        if is_spread(self.reference.points):
            raise refusal(
                TypeError,
                f"Tolerance.{constructor} perturbs or divides the reference in memory, and this one is "
                "spread over a Dask cluster",
                Advice(
                    "give a sample of its rows, such as x.sample(frac=0.01).compute(), or use "
                    "Tolerance.from_reference",
                    "add --sample N to look at N rows of each file, or leave --engine out",
                ),
            )
        return replace(self, reference=replace(self.reference, points=to_numpy(self.reference.points)))

    def equivalents(self, epsilon: float) -> tuple[tuple[str, float], ...]:
        """Return which perturbations of the reference are about as far as epsilon; see `units`."""
        if is_spread(self.reference.points):
            return ()
        # A few rows, wherever they come from, and each for itself: this is about how far, not how certain.
        alone = replace(self.reference, dataset=replace(self.reference.dataset, units=None))
        here = replace(self, engine=None, reference=alone)
        points = to_numpy(self.reference.points)
        with aside():
            return equivalents(points, self.space.encoding, here.paired_distance, epsilon)

    def distances(
        self, others: Mapping[str, Any], grouping: RowGrouping = NO_GROUPING
    ) -> dict[str, Estimate]:
        """Estimate the distances of other datasets to the reference, all in one run.

        `grouping` is of the reference and of all the others, in this order.
        """
        by_workers = workers_read_files(self.engine)
        written = self.space.encoding.for_files
        opened = {
            name: open_dataset(data, name, by_workers=by_workers, reading=written)
            for name, data in others.items()
        }
        refuse_summaries(*opened.values())
        for number, name in enumerate(opened):
            opened[name] = dataset_with_grouping(opened[name], grouping.part(number + 1, len(opened) + 1))
        named = {"the reference": self.reference.dataset, **opened}
        reference, *samples = prepare(named, space=self.space, engine=self.engine)
        found = gather([(reference, sample) for sample in samples], engine=self.engine)
        return {name: Estimate.of(evidence) for name, evidence in zip(others, found, strict=True)}

    def distance_between(self, one: Positions, other: Positions) -> Estimate:
        """Estimate the distance of some rows of the reference to others."""
        pair = self.reference.taken(one), self.reference.taken(other)
        [evidence] = gather([pair], engine=self.engine)
        return Estimate.of(evidence)

    def paired_distance(self, one: FloatArray, other: FloatArray) -> Estimate:
        """Estimate the distance of points to copies of them: no row is compared with its own copy.

        Nor with that of another row of its group, where rows belong together.
        """
        pair = replace(self.reference, points=one), replace(self.reference, points=other)
        cross: CrossPairs = "off-diagonal" if self.reference.units is None else "full"
        [evidence] = gather([pair], cross=cross, engine=self.engine)
        return Estimate.of(evidence)
